"""The models that the runs of a store name: a store that came from others may have chosen the hosts that a
cascade or a tuning asks.

Hosts that the user has asked with this store, from this account, need no question.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..confirmed import Confirm, check_confirmed
from ..models.destinations import names_outside


def check_stored_models(store: Path, models: Sequence[str], confirm: Confirm | None = None) -> None:
    """Raise where models of a stored run are at hosts or files that the user has neither used with this
    store nor confirmed; `confirm` asks."""
    check_confirmed(store, names_outside(models, store), confirm, "has runs of models that are not yours yet")
