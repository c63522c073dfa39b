"""Stores every run, call, reply and judgment in one SQLite file, so that nothing is lost or paid for
twice."""

from .assemble import RunPart
from .batches import BatchLine, BatchRow, Settled
from .calls import Claim
from .invitations import Invitation, InvitationKind
from .owners import Owner
from .reading import AskedCall, Judged
from .rows import CallSpec
from .runs import CASCADE, ENDS, LEFT_OUT, N_WITHOUT_ID, PROMPT_CACHE, TUNING, RunRow, RunStatus
from .store import Store, open_store
from .totals import ModelSeen, Totals

__all__ = [
    "CASCADE",
    "ENDS",
    "LEFT_OUT",
    "N_WITHOUT_ID",
    "PROMPT_CACHE",
    "TUNING",
    "AskedCall",
    "BatchLine",
    "BatchRow",
    "CallSpec",
    "Claim",
    "Invitation",
    "InvitationKind",
    "Judged",
    "ModelSeen",
    "Owner",
    "RunPart",
    "RunRow",
    "RunStatus",
    "Settled",
    "Store",
    "Totals",
    "open_store",
]
