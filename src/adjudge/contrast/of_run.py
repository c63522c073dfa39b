"""`adjudge.compare`: two runs, or results from anywhere, held against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..engine import Run
from ..records import Result, Scale
from .build import contrast
from .shapes import Comparison
from .sides import side_of


def compare(
    first: Run | Iterable[Result],
    second: Run | Iterable[Result],
    *,
    scales: Mapping[str, Scale] | None = None,
    names: tuple[str, str] = ("first", "second"),
    seed: int = 0,
) -> Comparison:
    """The same items judged twice: paired differences (second - first), rank agreement, and whether a conclusion changes.

    The scales of a run are known; for other results `scales` gives them by criterion, and `names` says how to speak of them.
    """
    return contrast(side_of(first, names[0], scales), side_of(second, names[1], scales), seed)
