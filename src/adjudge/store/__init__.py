"""Keeps every run, call, reply and judgment in one file, so that nothing is lost or paid for twice."""

from adjudge.store.calls import Claim
from adjudge.store.owners import Owner
from adjudge.store.reading import Asked, Judged, ModelSeen, Totals
from adjudge.store.rows import Slot
from adjudge.store.runs import RunRow, RunStatus
from adjudge.store.store import Store, open_store

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
