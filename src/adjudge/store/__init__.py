"""Keeps every run, call, reply and judgment in one file, so that nothing is lost or paid for twice."""

from .calls import Claim
from .owners import Owner
from .reading import Asked, Judged, ModelSeen, Totals
from .rows import Slot
from .runs import RunRow, RunStatus
from .store import Store, open_store

__all__ = [
    "Asked",
    "Claim",
    "Judged",
    "ModelSeen",
    "Owner",
    "RunRow",
    "RunStatus",
    "Slot",
    "Store",
    "Totals",
    "open_store",
]
