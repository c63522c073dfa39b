"""What people would have said on average: each system's mean corrected by its labels, and differences of systems.

The labels must be a random part of the items, or have the probability with which each item was drawn. Of a pair, the
value of a system is 1 where it wins, one half for a tie, 0 where it loses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from msgspec import Struct, structs

from ..records import Estimate
from ..stats import (
    Corrected,
    Plan,
    calibrate,
    corrected_share,
    difference_of,
    halved,
    labels_needed,
    mean_interval,
    ppi_difference,
    ppi_mean,
    ppi_stratified,
    worth,
)
from ..stats.arrays import make_estimate, no_interval
from .human_agreement import counted, levels_of, without
from .label_join import Answer, Joined, Row
from .result_types import CorrectedMean

MOST_SYSTEMS = 5
"""Systems of which all differences are given; of more, only those from the best."""


MOST_VALUES = 25
"""Different labels up to which an ordinal calibration is given: the means of three raters on five levels have 13."""


class Entry(Struct, frozen=True):
    """One item as a number for one system."""

    row: Row
    judge: float | None
    label: float | None


def entries(joined: Joined) -> dict[str, list[Entry]]:
    """The items of each system, in their order; a pair belongs to both."""
    found: dict[str, list[Entry]] = defaultdict(list)
    for row in joined.rows:
        if joined.kind == "scores":
            found[row.system].append(Entry(row, _number(row.answer), _number(row.label)))
            continue
        for system, side in zip(row.systems, ("a", "b"), strict=True):
            found[system].append(Entry(row, _won(row.answer, side), _won(row.label, side)))
    return dict(found)


def _number(answer: Answer | None) -> float | None:
    return None if answer is None or isinstance(answer, str) else float(answer)


def _won(answer: Answer | None, side: str) -> float | None:
    if not isinstance(answer, str):
        return None
    return 0.5 if answer == "tie" else float(answer == side)


def bias(joined: Joined) -> Estimate:
    """Judge - people over all labelled items. Above 0 the judge gives more."""
    rows = joined.labelled()
    if not joined.is_same_scale:
        return without("the labels are on a scale of their own", len(rows))
    if joined.kind == "choices":
        return without("a choice has no size", len(rows))
    both = [row for row in rows if row.answer is not None]
    apart = [
        row.answer - row.label
        for row in both
        if not isinstance(row.answer, str) and not isinstance(row.label, str)
        and row.answer is not None and row.label is not None
    ]  # fmt: skip
    return mean_interval(apart, joined.groups(both), len(rows) - len(both))


def corrected(joined: Joined) -> dict[str, CorrectedMean]:
    """The mean of each system that has a label, three ways."""
    limits = _limits(joined)
    return {
        system: _shown(_ppi(joined, own, limits), joined)
        for system, own in entries(joined).items()
        if any(entry.label is not None for entry in own)
    }


def pooled(joined: Joined) -> CorrectedMean | None:
    """The mean over the items of all systems; none for choices, where it would be one half, or a single system.

    Labels drawn by system are more frequent where a system has few items, so each system counts by its items. Where
    a system has fewer than two labels, or its own items had different chances, each label counts by its chance.
    """
    by_system = entries(joined)
    own = [entry for found in by_system.values() for entry in found]
    if joined.kind == "choices" or len(by_system) < 2 or not any(entry.label is not None for entry in own):
        return None
    n_labels = [sum(entry.label is not None for entry in found) for found in by_system.values()]
    is_even = all(_probabilities(found) is None for found in by_system.values())
    if not (is_even and min(n_labels) >= 2 and sum(n_labels) >= len(n_labels) + 2):
        return _shown(_ppi(joined, own, _limits(joined)), joined)
    found = ppi_stratified(
        [entry.label for entry in own],
        [entry.judge for entry in own],
        [entry.row.system for entry in own],
        clusters=joined.groups([entry.row for entry in own]),
        limits=_limits(joined),
    )
    return _shown(found, joined)


def _ppi(joined: Joined, own: Sequence[Entry], limits: tuple[float, float] | None) -> Corrected:
    return ppi_mean(
        [entry.label for entry in own],
        [entry.judge for entry in own],
        clusters=joined.groups([entry.row for entry in own]),
        probabilities=_probabilities(own),
        limits=limits,
    )


def _probabilities(own: Sequence[Entry]) -> list[float | None] | None:
    """With which chance each item was drawn, where that differs between items; none where it does not."""
    drawn = [entry.row.probability for entry in own if entry.label is not None]
    if None in drawn or len(set(drawn)) < 2:
        return None
    return [entry.row.probability if entry.label is not None else None for entry in own]


def _limits(joined: Joined) -> tuple[float, float] | None:
    if joined.kind == "choices":
        return 0.0, 1.0
    scale = joined.scale
    if scale is None or scale.low is None or scale.high is None or not joined.is_same_scale:
        return None
    return scale.low, scale.high


def _shown(found: Corrected, joined: Joined) -> CorrectedMean:
    other_unit = without("the labels are on a scale of their own", found.bias.n)
    return CorrectedMean(
        **structs.asdict(found.corrected), judge_only=found.judge_only, labels_only=found.labels_only,
        bias=found.bias if joined.is_same_scale else other_unit,
        power=found.power, effective_labels=found.effective_labels,
    )  # fmt: skip


def differences(joined: Joined, means: dict[str, CorrectedMean]) -> dict[str, CorrectedMean]:
    """First - second: on the inputs that both answered, one response each; of independent items otherwise.

    Win rates of pairs are not independent and have no difference here: `rank` compares systems by pairs.
    """
    if joined.kind == "choices":
        return {}
    own = {system: found for system, found in entries(joined).items() if system in means}
    by_group = {
        system: {entry.row.group: entry for entry in found if entry.row.group is not None}
        for system, found in own.items()
    }
    found = {}
    for first, second in _couples(list(own), means):
        shared = [group for group in by_group[first] if group in by_group[second]]
        is_single = all(len(by_group[system]) == len(own[system]) for system in (first, second))
        if not shared:
            found[f"{first} - {second}"] = _independent(means[first], means[second])
        elif is_single and len(shared) >= 3:
            a, b = ([by_group[system][group] for group in shared] for system in (first, second))
            difference = ppi_difference(
                [entry.label for entry in a], [entry.judge for entry in a],
                [entry.label for entry in b], [entry.judge for entry in b],
                limits=_limits(joined),
            )  # fmt: skip
            found[f"{first} - {second}"] = _shown(difference, joined)
    return found


def _independent(first: CorrectedMean, second: CorrectedMean) -> CorrectedMean:
    """The difference of two systems that answered inputs of their own."""

    def apart(one: Estimate, other: Estimate) -> Estimate:
        return difference_of(one, other, "difference of independent means")

    own, alone = apart(first, second), apart(first.labels_only, second.labels_only)
    return CorrectedMean(
        **structs.asdict(own),
        judge_only=apart(first.judge_only, second.judge_only),
        labels_only=alone,
        bias=apart(first.bias, second.bias),
        effective_labels=worth(own, alone, first.judge_only.n + second.judge_only.n),
    )  # fmt: skip


def _couples(systems: Sequence[str], means: dict[str, CorrectedMean]) -> list[tuple[str, str]]:
    if len(systems) <= MOST_SYSTEMS:
        return list(combinations(systems, 2))
    known = [system for system in systems if means[system].value is not None]
    if not known:
        return []
    best = max(known, key=lambda system: means[system].value or 0.0)
    return [(best, system) for system in systems if system != best]


def pass_shares(joined: Joined) -> dict[str, Estimate]:
    """Where a criterion has two levels: the share at the good end that people would give, by Rogan and Gladen."""
    levels = levels_of(joined.scale)
    if joined.kind != "scores" or levels is None or len(levels) != 2 or not joined.is_same_scale:
        return {}
    scale = joined.scale
    good = levels[0] if scale is not None and scale.best in (levels[0], "low") else levels[1]

    def passed(values: Sequence[float | None]) -> list[float | None]:
        # Raters who differ on two levels are midway: half a pass, whichever end is the good one.
        both = halved(values, levels)
        return [None if one is None else sum(level == good for level in one) / 2 for one in both]

    return {
        system: corrected_share(passed([one.label for one in own]), passed([one.judge for one in own]))
        for system, own in entries(joined).items()
        if any(one.label is not None for one in own)
    }


def calibration(joined: Joined, seed: int) -> dict[str, Estimate]:
    """How far the scores are from people's on items that the calibration has not seen, before it and after.

    `after` is isotonic, `ordinal` an ordinal regression, which is steadier for few labels; `error_` is each one's
    calibration error: how far the mean label is from the score that was given.
    """
    if joined.kind != "scores" or not joined.is_same_scale or not joined.labelled():
        return {}
    rows = joined.labelled()
    labels, scores = [_number(row.label) for row in rows], [_number(row.answer) for row in rows]
    n_failed = sum(row.answer is None for row in rows)
    isotonic = calibrate(labels, scores, seed=seed)
    found = {
        "before": counted(isotonic.mae_before, n_failed),
        "after": counted(isotonic.mae_after, n_failed),
        "error_before": _calibration_error(isotonic.ece_before, isotonic.mae_before, n_failed),
        "error_after": _calibration_error(isotonic.ece_after, isotonic.mae_after, n_failed),
    }
    if len(set(labels)) > MOST_VALUES:
        return found
    ordinal = calibrate(labels, scores, "ordinal", seed=seed)
    found["ordinal"] = counted(ordinal.mae_after, n_failed)
    found["error_ordinal"] = _calibration_error(ordinal.ece_after, ordinal.mae_after, n_failed)
    return found


def _calibration_error(value: float | None, beside: Estimate, n_failed: int) -> Estimate:
    """A calibration error as an estimate; it has no interval of its own."""
    if value is None:
        return without(beside.reason, beside.n, n_failed)
    name, interval = (
        "calibration error over ten bins of the scores",
        no_interval("chance alone makes it larger than 0"),
    )
    return make_estimate(value, interval, name, n=beside.n, n_failed=n_failed)


def plans(joined: Joined, width: float | None) -> dict[str, Plan]:
    """For each system the labels at which its corrected mean is known to `width`; none where none was asked for."""
    if width is None:
        return {}
    return {
        system: labels_needed([one.label for one in own], [one.judge for one in own], width)
        for system, own in entries(joined).items()
    }
