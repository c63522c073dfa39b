"""What a report must be told about a run, because no result holds it.

Every field has a default that means "not known"; a caller fills what it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ..records import Estimator, ReaderName, Scale
from ..stats import PositionBias


class ModelFacts(Struct, frozen=True):
    """One judge, as it was asked for and as it showed itself."""

    spec: str
    """what `Result.model` holds"""
    names: dict[str, int] = {}
    """the model's own names of itself, with the number of replies under each"""
    fingerprints: dict[str, int] = {}
    is_fake: bool = False


class ProtocolFacts(Struct, frozen=True):
    """One protocol, by its id and the digest of all that it says."""

    id: str
    digest: str = ""
    reader: ReaderName | None = None
    """`likelihood` where the model is asked for no reply"""


class RunFacts(Struct, frozen=True):
    """What the engine and the store know of a run."""

    run: str = ""
    started: str = ""
    status: str = ""
    version: str = ""
    models: tuple[ModelFacts, ...] = ()
    protocols: tuple[ProtocolFacts, ...] = ()
    scales: Mapping[tuple[str, str], Scale | None] = {}
    """(protocol, criterion) → scale; the protocol as in `Result.protocol`, or its id alone"""
    estimator: Estimator | None = None
    parameters: dict[str, Any] = {}
    tokens_in: int = 0
    tokens_out: int = 0
    n_unpriced: int = 0
    """replies whose cost is not known, and not in `cost_usd`"""
    cost_usd: float | None = None
    """none where no price is known"""
    seconds: float = 0.0
    n_calls: int = 0
    n_cached: int = 0
    """calls that were answered from the store and cost nothing"""
    n_planned: int | None = None
    """items that the run was given; fewer are judged where it was stopped"""
    n_left_out: int = 0
    """bad lines of the items' file that were left out on request"""
    call_errors: dict[str, int] = {}
    """kind of error → calls that brought no reply"""
    n_reasks_failed: int = 0
    """those among them that put a question again: their item stays unread, and is not asked anew"""
    adjustments: tuple[str, ...] = ()
    """what was asked of a model and is not sent, because the model refuses it"""
    flags: dict[str, int] = {}
    """flag → items; counted from the results where it is not given"""
    rungs: dict[str, dict[str, int]] = {}
    """model → rung → replies; counted from the results where it is not given"""
    orders: Mapping[str, Mapping[str, PositionBias]] = {}
    """criterion (as in `pairs` or `criteria`) → model → how its choices go with the place shown; over single
    replies, before the two orders are combined. The model "" stands for all of them together"""
