"""Where the judge is uncertain: the weights by which such items are drawn more often."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import pstdev

from ...errors import DataError
from ...records import Result, Scale, Subject
from ...results.combine import CallJudgment
from ...results.manifest import protocols_of
from ...results.stored_results import judged_items
from ...store import RunRow, Store
from ..run_view.result_facts import as_number

_CERTAIN_SHARE = 0.5
"""The part of the draw that ignores uncertainty, so that no
item is drawn less than half as often as by chance alone.
"""


def uncertainty(store: Store, run: RunRow) -> dict[str, float]:
    """How uncertain the judge is on each item, from 0 to 1: the largest of the signs that the run has.

    The spread of repeated samples, the spread of the probabilities of the levels and what they leave out,
    stated confidence, orders of a pair that conflict, judges of a panel that differ, and answers that could
    not be read.
    """
    protocols = protocols_of(store, run)
    found: dict[str, float] = {}
    for judged in judged_items(store.judgments(run), protocols):
        by_cell: dict[tuple[str, Subject | None, str], list[float]] = defaultdict(list)
        signs = [0.0]
        for result, kind, calls in judged.results:
            scale = protocols[result.protocol].criteria.get(result.criterion) if kind == "scores" else None
            half = _half_range(scale)
            value = as_number(result.choice) if result.choice is not None else result.value
            if value is None:
                signs.append(1.0)
                continue
            by_cell[result.criterion, result.subject, kind].append(
                value if kind == "choices" else value / half
            )
            if "order_conflict" in result.flags:
                signs.append(1.0)
            if result.spread is not None:
                signs.append(result.spread / half)
            if result.confidence is not None:
                signs.append(1 - result.confidence)
            signs += _doubts(result, calls, half)
        signs += [2 * pstdev(values) for values in by_cell.values() if len(values) > 1]
        found[judged.item.id] = min(1.0, max(0.0, *signs))
    return found


def _half_range(scale: Scale | None) -> float:
    """The largest standard deviation that scores on a scale can have."""
    limits = None if scale is None else scale.limits
    return 1.0 if limits is None or limits[1] <= limits[0] else (limits[1] - limits[0]) / 2


def _doubts(result: Result, calls: Sequence[CallJudgment], half: float) -> Iterator[float]:
    """What the probabilities of the levels say about a score."""
    for call in calls:
        for score in call.judgment.scores:
            if (score.criterion, score.subject) != (
                result.criterion,
                result.subject,
            ) or not score.distribution:
                continue
            mass = math.fsum(score.distribution.values())
            if mass > 0:
                levels = {float(level): chance / mass for level, chance in score.distribution.items()}
                mean = math.fsum(level * chance for level, chance in levels.items())
                yield math.sqrt(math.fsum(chance * (x - mean) ** 2 for x, chance in levels.items())) / half
            if score.caught_mass is not None:
                yield 1 - score.caught_mass


def weights_of(signs: Mapping[str, float], ids: Sequence[str], run: str) -> list[float]:
    """The weight of each item in a draw by uncertainty; 1 is the mean."""
    values = [signs.get(name, 0.0) for name in ids]
    mean = math.fsum(values) / len(values)
    if mean <= 0:
        raise DataError(
            f"--where uncertain: {run} shows no uncertainty of the judge on any item. Judge with "
            "--samples N, with log-probabilities (--estimator probability), in both orders or by "
            "several models; or leave --where out."
        )
    return [_CERTAIN_SHARE + (1 - _CERTAIN_SHARE) * value / mean for value in values]
