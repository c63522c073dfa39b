"""Stores every run, call, reply and judgment in one SQLite file, so that nothing is lost or paid for twice."""

from .batches import BatchLine, BatchRow, Settled
from .calls import Claim
from .invitations import Invitation, InvitationKind
from .owners import Owner
from .reading import Asked, Judged
from .rows import CallSpec
from .runs import N_WITHOUT_ID, RunRow, RunStatus
from .store import Store, open_store
from .totals import ModelSeen, Totals

__all__ = [
    "N_WITHOUT_ID",
    "Asked",
    "BatchLine",
    "BatchRow",
    "CallSpec",
    "Claim",
    "Invitation",
    "InvitationKind",
    "Judged",
    "ModelSeen",
    "Owner",
    "RunRow",
    "RunStatus",
    "Settled",
    "Store",
    "Totals",
    "open_store",
]
