"""One score as a platform is sent it, and what a target of scores must be able to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

SCORE_ID, DIGEST = "adjudge.score_id", "adjudge.digest"
"""The keys of the metadata by which a score is found again, and by which a change of it is seen."""


class PlatformScore(Struct, frozen=True):
    """The score of one item on one criterion, with everything that says how it came about."""

    id: str
    """the same for the same item, protocol, criterion, subject and model of a run"""
    digest: str
    """a hash of all that is sent"""
    trace: str
    """the id of the trace that was judged"""
    name: str
    """the criterion; of one of two responses CRITERION.a or CRITERION.b"""
    value: float | str | None
    """the score or the choice; none where the judgment failed"""
    explanation: str
    error: str
    """why there is no value: the status of the judgment; empty where there is one"""
    model: str
    metadata: dict[str, str]


class Target(Protocol):
    """Where scores are written. A plug-in's `open_target(address)` gives such an object."""

    async def present(self, scores: Sequence[PlatformScore]) -> dict[str, str | None]:
        """Which of these scores are there: id → the digest that was written; none where the trace does not
        exist. A score that is not there yet is left out."""
        ...

    async def write(self, scores: Sequence[PlatformScore]) -> None:
        """Write scores that are not there, and replace those that are there with another digest."""
        ...

    async def close(self) -> None:
        """Close connections and files."""
        ...


Record = dict[str, Any]
