"""Means and differences of systems corrected with human labels (PPI++), pass shares and calibration.

The labels must be a random sample of the items, or carry the probability with which each item was drawn. For a pair, a
system scores 1 for a win, one half for a tie, 0 for a loss.

Widens the numbers of a judge card for replies that were misread.

A check by hand (`adjudge sample --replies`) bounds the share of wrong readings. Each kind of estimate is widened by the
effect that this share can have:

    means, distances   a wrong reading moves one score by at most the width of the scale
    shares             a wrong reading changes one item, and every pair of items that contains it
    coefficients       a share e of random readings shrinks a coefficient by the factor 1 - e: the true one may be
                       larger by that factor, or smaller if those readings agreed by chance
    corrected means    no effect: the labels correct wrong readings, too
    people alone       no effect

The first two bounds hold for any misread replies, the third on average.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path

from msgspec import Struct, structs

from ..data.encoding import BrokenFileError
from ..data.table import Problems, Table
from ..records import Estimate, Scale
from ..stats import (
    AltTest,
    Bounds,
    Confidence,
    Corrected,
    PartAgreement,
    Plan,
    Retest,
    TieCalibration,
    TwoJudges,
    calibrate,
    corrected_share,
    difference_by_group,
    difference_of,
    halved,
    labels_needed,
    ppi_difference,
    ppi_mean,
    ppi_stratified,
    simultaneous,
    wilson,
    worth,
)
from ..stats.arrays import AnyEstimate, make_estimate, no_interval, with_caution, with_remark, within
from ..words import listed, percent, share
from .human_agreement import (
    adjusted_sentences,
    levels_of,
    replacement_verdict,
    two_judges_sentence,
    undefined_items,
    with_failures,
)
from .label_join import Answer, LabelledItem, LabelledTable, number_or_none
from .result_types import (
    BestJudge,
    Card,
    ChosenJudge,
    CorrectedMean,
    CriterionCard,
    JudgePair,
    PeopleCeiling,
    Quality,
    SystemFailures,
)
from .run_view import as_number, cluster_of
from .trust_words import OF_SYSTEMS, opening, sentences

MOST_SYSTEMS = 30
"""Up to this many systems, all differences are given; with more, those from the best and those of neighbours."""
MOST_VALUES = 25
"""An ordinal calibration is given up to this many different labels; means of three raters on five levels have 13."""


class Entry(Struct, frozen=True):
    """One item as a number for one system."""

    row: LabelledItem
    judge: float | None
    label: float | None


def entries_by_system(table: LabelledTable) -> dict[str, list[Entry]]:
    """The items of each system, in their order; a pair belongs to both of its systems."""
    by_system: dict[str, list[Entry]] = defaultdict(list)
    for row in table.rows:
        if table.classes:
            places = [
                None if answer is None else float(table.classes.index(str(answer)))
                for answer in (row.answer, row.label)
            ]
            by_system[row.system].append(Entry(row, *places))
            continue
        if table.kind == "scores":
            by_system[row.system].append(Entry(row, number_or_none(row.answer), number_or_none(row.label)))
            continue
        for system, side in zip(row.systems, ("a", "b"), strict=True):
            by_system[system].append(Entry(row, _share_won(row.answer, side), _share_won(row.label, side)))
    return dict(by_system)


def _share_won(answer: Answer | None, side: str) -> float | None:
    """What the system on one side gets: 1 for a win, 0 for a loss, one half for a tie."""
    if not isinstance(answer, str):
        return None
    return as_number(answer) if side == "a" else 1 - as_number(answer)


def bias(table: LabelledTable) -> Estimate:
    """Judge - people over all items, weighted by the design of the draw. Above 0 the judge's scores are higher."""
    rows = table.labelled()
    if not table.is_same_scale:
        return undefined_items("the labels are on a different scale", len(rows))
    if table.kind == "choices":
        return undefined_items("choices have no bias in points", len(rows))
    n_failed = sum(row.answer is None for row in rows)
    if n_failed == len(rows):
        return undefined_items("no item has both a score and a label", 0, n_failed)
    overall = structs.replace(within(_over_all_systems(table).bias, _gap_limits(table)), n_failed=n_failed)
    by_system = entries_by_system(table)
    unknown = _without_labels(by_system)
    if not unknown or len(unknown) == len(by_system):
        return overall
    known = [system for system in by_system if system not in unknown]
    return with_caution(overall, f"{OF_SYSTEMS}{listed(known)}: fewer than two labels of {listed(unknown)}")


def _gap_limits(table: LabelledTable) -> tuple[float, float] | None:
    """How far judge and people can be apart: by the width of the scale."""
    limits = limits_of(table)
    return None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])


def corrected(table: LabelledTable) -> dict[str, CorrectedMean]:
    """The corrected mean of each system that has a label."""
    limits = limits_of(table)
    return {
        system: _corrected_mean(_ppi(table, entries, limits), table)
        for system, entries in entries_by_system(table).items()
        if any(entry.label is not None for entry in entries)
    }


def pooled(table: LabelledTable) -> CorrectedMean | None:
    """The corrected mean over all systems; none for choices, where it would be one half, or for a single system.

    Labels drawn by system are more frequent where a system has few items, so systems are weighted by their items. Where
    items had different probabilities, each label is weighted instead. Where a system has fewer than two labels, nothing
    is known of its part, so there is none.
    """
    by_system = entries_by_system(table)
    if table.kind == "choices" or len(by_system) < 2 or not table.labelled() or _without_labels(by_system):
        return None
    return _corrected_mean(_over_all_systems(table), table)


def _without_labels(by_system: Mapping[str, Sequence[Entry]]) -> list[str]:
    """The systems of which fewer than two items have a label."""
    return [
        system
        for system, entries in by_system.items()
        if sum(entry.label is not None for entry in entries) < 2
    ]


def _over_all_systems(table: LabelledTable) -> Corrected:
    """All systems together; where some have fewer than two labels, the others."""
    every = entries_by_system(table)
    unknown = _without_labels(every)
    by_system = {system: entries for system, entries in every.items() if system not in unknown} or every
    entries = [entry for system_entries in by_system.values() for entry in system_entries]
    n_labels = [
        sum(entry.label is not None for entry in system_entries) for system_entries in by_system.values()
    ]
    is_even = all(probabilities_of(system_entries) is None for system_entries in by_system.values())
    can_divide = is_even and min(n_labels) >= 2 and sum(n_labels) >= len(n_labels) + 2
    if len(by_system) < 2 or not can_divide:
        return _ppi(table, entries, limits_of(table))
    return ppi_stratified(
        [entry.label for entry in entries],
        [entry.judge for entry in entries],
        [entry.row.system for entry in entries],
        clusters=table.groups([entry.row for entry in entries]),
        limits=limits_of(table),
        is_finite=table.about == "these-items",
    )


def _ppi(table: LabelledTable, entries: Sequence[Entry], limits: tuple[float, float] | None) -> Corrected:
    return ppi_mean(
        [entry.label for entry in entries],
        [entry.judge for entry in entries],
        clusters=table.groups([entry.row for entry in entries]),
        probabilities=probabilities_of(entries),
        limits=limits,
        is_finite=table.about == "these-items",
    )


def probabilities_of(entries: Sequence[Entry]) -> list[float | None] | None:
    """The probability of each labelled item to be drawn; none where it is the same for all items."""
    drawn = [entry.row.probability for entry in entries if entry.label is not None]
    if None in drawn or len(set(drawn)) < 2:
        return None
    return [entry.row.probability if entry.label is not None else None for entry in entries]


def limits_of(table: LabelledTable) -> tuple[float, float] | None:
    """The ends of the scale that judge and people share; none where there is none."""
    if table.kind == "choices":
        return 0.0, 1.0
    return table.scale.limits if table.scale is not None and table.is_same_scale else None


def _corrected_mean(ppi: Corrected, table: LabelledTable) -> CorrectedMean:
    other_unit = undefined_items("the labels are on a different scale", ppi.bias.n)
    return CorrectedMean(
        **structs.asdict(ppi.corrected), judge_only=ppi.judge_only, labels_only=ppi.labels_only,
        bias=within(ppi.bias, _gap_limits(table)) if table.is_same_scale else other_unit,
        power=ppi.power, effective_labels=ppi.effective_labels, is_thin=ppi.is_thin,
    )  # fmt: skip


def differences(table: LabelledTable, means: dict[str, CorrectedMean]) -> dict[str, CorrectedMean]:
    """First - second: paired on the inputs that both answered once; of independent items where they share none.

    The intervals hold together for all pairs of systems, shown or not, so that it does no harm to pick out the best
    system or the largest difference. Win rates of pairs are not independent, so they are left to `rank`.
    """
    if table.kind == "choices":
        return {}
    by_system = {system: entries for system, entries in entries_by_system(table).items() if system in means}
    n_pairs = math.comb(len(by_system), 2)
    n_labelled = {system: _n_labelled(entries) for system, entries in by_system.items()}
    corrected_differences = {}
    for first, second in _system_pairs(list(by_system), means):
        found = _difference(table, by_system[first], by_system[second])
        df = (found or means[first]).n - 2
        if found is None:
            found = _independent(means[first], means[second])
            df = min(n_labelled[first], n_labelled[second]) - 2
        corrected_differences[f"{first} - {second}"] = _simultaneous(
            found, n_pairs, max(1, df), limits_of(table)
        )
    return corrected_differences


def _difference(
    table: LabelledTable, first: Sequence[Entry], second: Sequence[Entry]
) -> CorrectedMean | None:
    """The difference of two systems by their common groups; none where they share none.

    Systems that answered each common input once are compared on these inputs. Otherwise (dialogue turns, repeats)
    the groups are compared as a whole.
    """
    sides = [
        {entry.row.group: entry for entry in entries if entry.row.group is not None}
        for entries in (first, second)
    ]
    shared = [group for group in sides[0] if group in sides[1]]
    if not shared:
        return None
    limits = limits_of(table)
    if (
        all(len(side) == len(entries) for side, entries in zip(sides, (first, second), strict=True))
        and len(shared) >= 3
    ):
        a, b = ([side[group] for group in shared] for side in sides)
        drawn = probabilities_of(a), probabilities_of(b)
        difference = ppi_difference(
            [entry.label for entry in a], [entry.judge for entry in a],
            [entry.label for entry in b], [entry.judge for entry in b],
            probabilities=None if drawn == (None, None) else (drawn[0] or [1.0] * len(a), drawn[1] or [1.0] * len(b)),
            limits=limits,
            is_finite=table.about == "these-items",
        )  # fmt: skip
    else:
        difference = difference_by_group(
            _side(first), _side(second), limits=limits, is_finite=table.about == "these-items"
        )
    return _corrected_mean(difference, table)


def _side(
    entries: Sequence[Entry],
) -> tuple[list[float | None], list[float | None], list[str], list[float | None] | None]:
    """Labels, scores, groups and probabilities of a system's items; an item without a group is one of its own."""
    return (
        [entry.label for entry in entries],
        [entry.judge for entry in entries],
        [str(cluster_of(entry.row.group, entry.row.item)) for entry in entries],
        probabilities_of(entries),
    )


def _n_labelled(entries: Sequence[Entry]) -> int:
    """The independent observations with a label: groups, and items without a group."""
    return len({cluster_of(entry.row.group, entry.row.item) for entry in entries if entry.label is not None})


def _simultaneous(
    difference: CorrectedMean, n_pairs: int, df: int, limits: tuple[float, float] | None
) -> CorrectedMean:
    """The difference with intervals that hold for all pairs together."""
    width = None if limits is None else limits[1] - limits[0]
    ends = None if width is None else (-width, width)
    return structs.replace(
        simultaneous(difference, n_pairs, df, ends),
        judge_only=simultaneous(difference.judge_only, n_pairs, max(1, difference.judge_only.n - 1), ends),
        labels_only=simultaneous(difference.labels_only, n_pairs, df, ends),
        bias=simultaneous(difference.bias, n_pairs, df),
    )


def _independent(first: CorrectedMean, second: CorrectedMean) -> CorrectedMean:
    """The difference of two systems that answered different inputs."""

    def difference(first_mean: Estimate, second_mean: Estimate) -> Estimate:
        return difference_of(first_mean, second_mean, "difference of independent means")

    mean, labels_only = difference(first, second), difference(first.labels_only, second.labels_only)
    return CorrectedMean(
        **structs.asdict(mean),
        judge_only=difference(first.judge_only, second.judge_only),
        labels_only=labels_only,
        bias=difference(first.bias, second.bias),
        effective_labels=worth(mean, labels_only, first.judge_only.n + second.judge_only.n),
    )  # fmt: skip


def _system_pairs(systems: Sequence[str], means: dict[str, CorrectedMean]) -> list[tuple[str, str]]:
    """All pairs; of very many systems those with the best one, and neighbours in the order of the means."""
    if len(systems) <= MOST_SYSTEMS:
        return list(combinations(systems, 2))
    order = sorted(
        (system for system in systems if means[system].value is not None),
        key=lambda system: -(means[system].value or 0.0),
    )
    return (
        list(dict.fromkeys([*((order[0], system) for system in order[1:]), *pairwise(order)]))
        if order
        else []
    )


def pass_shares(table: LabelledTable) -> dict[str, Estimate]:
    """On a scale of two levels: the share that people would pass, corrected as by Rogan and Gladen."""
    levels = levels_of(table.scale)
    if table.kind != "scores" or levels is None or len(levels) != 2 or not table.is_same_scale:
        return {}
    good = levels[0] if table.scale is not None and table.scale.direction < 0 else levels[1]

    def passed(values: Sequence[float | None]) -> list[float | None]:
        # Raters who disagree on two levels have a mean midway: half a pass.
        levels_by_item = halved(values, levels)
        return [
            None if levels_of_item is None else sum(level == good for level in levels_of_item) / 2
            for levels_of_item in levels_by_item
        ]

    return {
        system: corrected_share(
            passed([entry.label for entry in entries]),
            passed([entry.judge for entry in entries]),
            table.groups([entry.row for entry in entries]),
            probabilities_of(entries),
        )
        for system, entries in entries_by_system(table).items()
        if any(entry.label is not None for entry in entries)
    }


def calibration(table: LabelledTable, seed: int) -> dict[str, Estimate]:
    """Mean absolute error of the scores on held-out items, before and after calibration.

    `after` is isotonic, `ordinal` an ordinal regression, which is more stable with few labels. `error_…` is the
    calibration error of each: the distance of the mean label from the score.
    """
    if table.kind != "scores" or not table.is_same_scale or not table.labelled():
        return {}
    rows = table.labelled()
    labels, scores = [number_or_none(row.label) for row in rows], [number_or_none(row.answer) for row in rows]
    n_failed = sum(row.answer is None for row in rows)
    groups, gaps = table.groups(rows), _gap_limits(table)
    limits = None if gaps is None else (0.0, gaps[1])
    isotonic = calibrate(labels, scores, clusters=groups, limits=limits, seed=seed)
    estimates = {
        "before": with_failures(isotonic.mae_before, n_failed),
        "after": with_failures(isotonic.mae_after, n_failed),
        "error_before": _calibration_error(isotonic.ece_before, isotonic.mae_before, n_failed),
        "error_after": _calibration_error(isotonic.ece_after, isotonic.mae_after, n_failed),
    }
    if len(set(labels)) > MOST_VALUES:
        return estimates
    ordinal = calibrate(labels, scores, "ordinal", clusters=groups, limits=limits, seed=seed)
    estimates["ordinal"] = with_failures(ordinal.mae_after, n_failed)
    estimates["error_ordinal"] = _calibration_error(ordinal.ece_after, ordinal.mae_after, n_failed)
    return estimates


def _calibration_error(value: float | None, error: Estimate, n_failed: int) -> Estimate:
    """A calibration error as an estimate, without an interval."""
    if value is None:
        return undefined_items(error.reason, error.n, n_failed)
    interval = no_interval("it exceeds 0 by chance alone")
    return make_estimate(
        value, interval, "calibration error over ten bins of the scores", n=error.n, n_failed=n_failed
    )


def plans(table: LabelledTable, width: float | None) -> dict[str, Plan]:
    """System → labels needed for an interval of `width` around its corrected mean; empty without a width."""
    if width is None:
        return {}
    return {
        system: labels_needed(
            [entry.label for entry in entries],
            [entry.judge for entry in entries],
            width,
            table.groups([entry.row for entry in entries]),
        )
        for system, entries in entries_by_system(table).items()
    }


_YES = ("yes", "y", "true", "1", "right")
_NO = ("no", "n", "false", "0", "wrong")


def misread_share(path: str | Path) -> Estimate:
    """The share of wrong readings in a file checked by hand, with Wilson's interval; empty rows are not counted.

    Several readings of one reply (one per criterion) go wrong together, so the interval counts replies.
    """
    table = Table(path)
    problems = Problems(table)
    n_right = n_wrong = 0
    replies: set[object] = set()
    try:
        for row_number, row in table.rows(problems.add):
            # A Boolean in JSON, or text that a person typed into a spreadsheet.
            answer = str(row["right"]).strip().lower() if row.get("right") is not None else ""
            if answer in _YES:
                n_right += 1
            elif answer in _NO:
                n_wrong += 1
            elif answer:
                problems.add(row_number, f"right is '{answer:.40}'. Write yes or no, or leave it empty.")
            if answer:
                reply_id = row.get("item"), row.get("order"), row.get("reply")
                replies.add(row_number if reply_id == (None, None, None) else tuple(map(str, reply_id)))
    except BrokenFileError as broken:
        if not problems:
            raise
        problems.add(0, broken.problem)
    n = n_right + n_wrong
    if not problems and n == 0:
        problems.add(0, "no row is checked. Write yes or no into the column 'right'.")
    if problems:
        raise problems.error()
    estimate = wilson(n_wrong / n * len(replies), len(replies))
    return structs.replace(estimate, value=n_wrong / n, n=n, unit=f"reply (n={len(replies)})")


def with_misread(card: Card, misread: Estimate) -> Card:
    """The card with every interval widened for misread replies, and its sentences rewritten."""
    upper = 1.0 if misread.high is None else misread.high
    cards = {name: _widen_criterion(criterion_card, upper) for name, criterion_card in card.criteria.items()}
    widened = [_widen_judges(pair, upper) for pair in card.judges]
    by_criterion: dict[str, list[JudgePair]] = defaultdict(list)
    for pair in widened:
        by_criterion[pair.criterion].append(pair)
    judges = tuple(pair for pairs in by_criterion.values() for pair in adjusted_sentences(pairs))
    note = (
        f"Of {misread.n} readings checked by hand, {round((misread.value or 0) * misread.n)} were wrong ({percent(misread)}): "
        f"every interval allows for up to {share(upper)} misread replies."
    )
    return structs.replace(
        card,
        summary=opening(cards, judges),
        criteria=cards,
        judges=judges,
        best=tuple(_widen_best(best, upper) for best in card.best),
        misread=misread,
        notes=(*card.notes, note),
    )


def _widen_criterion(card: CriterionCard, upper: float) -> CriterionCard:
    allowance = _Allowance(upper, card.scale, is_choices=card.kind == "choices")
    wider = structs.replace(
        card,
        item={name: allowance.agreement(name, estimate, card.item) for name, estimate in card.item.items()},
        group={
            name: allowance.agreement(name, estimate, card.group) for name, estimate in card.group.items()
        },
        system={
            name: allowance.agreement(name, estimate, card.system) for name, estimate in card.system.items()
        },
        pairwise=None if card.pairwise is None else allowance.pairs(card.pairwise),
        ceiling=None if card.ceiling is None else allowance.ceiling(card.ceiling),
        alt_test=None if card.alt_test is None else allowance.alt_test(card.alt_test),
        bias=allowance.mean(card.bias, limits=allowance.gaps),
        corrected={name: allowance.corrected(estimate) for name, estimate in card.corrected.items()},
        pooled=None if card.pooled is None else allowance.corrected(card.pooled),
        differences={
            name: allowance.corrected(estimate, times=2) for name, estimate in card.differences.items()
        },
        pass_share={
            name: allowance.corrected_by_labels(estimate) for name, estimate in card.pass_share.items()
        },
        calibration={name: allowance.distance(estimate) for name, estimate in card.calibration.items()},
        confidence=None if card.confidence is None else allowance.confidence(card.confidence),
        quality=allowance.quality(card.quality),
        by={
            name: {part: allowance.part(own, card.kind == "choices") for part, own in parts.items()}
            for name, parts in card.by.items()
        },
    )
    verdict = replacement_verdict(wider.alt_test, wider.ceiling)
    wider = structs.replace(wider, verdict=verdict)
    return structs.replace(wider, sentences=sentences(wider))


class _Allowance:
    """Widens each kind of estimate for a share of wrong readings."""

    def __init__(self, upper: float, scale: Scale | None, *, is_choices: bool) -> None:
        self.upper = upper
        self.text = f"up to {share(upper)} misread"
        self.limits = (0.0, 1.0) if is_choices else scale.limits if scale is not None else None

    @property
    def width(self) -> float | None:
        return None if self.limits is None else self.limits[1] - self.limits[0]

    @property
    def gaps(self) -> tuple[float, float] | None:
        """How far judge and people can be apart."""
        return None if self.width is None else (-self.width, self.width)

    def shifted(
        self, estimate: AnyEstimate, by: float, low: float | None = None, high: float | None = None
    ) -> AnyEstimate:
        """Both ends of the interval moved outwards by `by`, within `low` and `high`."""
        if estimate.value is None:
            return estimate
        if estimate.low is None or estimate.high is None:
            return with_remark(estimate, f"{self.text}, not included")
        ends = estimate.low - by, estimate.high + by
        # An interval that reaches beyond the scale already must not become narrower.
        least = ends[0] if low is None else max(ends[0], min(low, estimate.low))
        most = ends[1] if high is None else min(ends[1], max(high, estimate.high))
        wider = structs.replace(estimate, low=least, high=most)
        return with_remark(wider, f"widened by {by:.2g} for {self.text}")

    def stretched(self, estimate: AnyEstimate) -> AnyEstimate:
        """A coefficient with both ends stretched by the factor of random readings."""
        if estimate.value is None:
            return estimate
        if estimate.low is None or estimate.high is None:
            return with_remark(estimate, f"{self.text}, not included")
        kept = max(1e-9, 1 - self.upper)
        low = min(estimate.low * kept, estimate.low / kept)
        high = max(estimate.high * kept, estimate.high / kept)
        wider = structs.replace(estimate, low=max(-1.0, low), high=min(1.0, high))
        return with_remark(wider, f"stretched by {kept:.3g} for {self.text}")

    def corrected_by_labels(self, estimate: AnyEstimate) -> AnyEstimate:
        """A number that needs no widening, because labels correct for misread replies."""
        if estimate.value is None:
            return estimate
        return with_remark(estimate, f"the labels correct for {self.text}")

    def mean(
        self, estimate: AnyEstimate, times: int = 1, limits: tuple[float, float] | None = None
    ) -> AnyEstimate:
        """A mean of scores, or of values that each depend on `times` scores."""
        if estimate.value is None:
            return estimate
        if self.width is None:
            remark = f"{self.text}, whose effect is unbounded on an unbounded scale"
            return with_remark(estimate, remark)
        return self.shifted(estimate, times * self.upper * self.width, *(limits or (None, None)))

    def distance(self, estimate: AnyEstimate) -> AnyEstimate:
        return self.mean(estimate, limits=None if self.width is None else (0.0, self.width))

    def fraction(self, estimate: AnyEstimate, times: float = 1.0) -> AnyEstimate:
        return self.shifted(estimate, times * self.upper, 0.0, 1.0)

    def agreement(self, name: str, estimate: Estimate, estimates: dict[str, Estimate]) -> Estimate:
        if name in ("exact", "both_orders"):
            return self.fraction(estimate)
        if name == "decided":
            # All wrong readings could be among the decided items.
            return self.fraction(estimate, estimates["exact"].n / max(1, estimate.n))
        return self.stretched(estimate)

    def pairs(self, calibration: TieCalibration) -> TieCalibration:
        plain, best, held_out = (
            self.fraction(share, 2) for share in (calibration.plain, calibration.best, calibration.held_out)
        )
        return TieCalibration(plain, best, held_out, calibration.eps)

    def ceiling(self, people: PeopleCeiling) -> PeopleCeiling:
        judge = self.stretched(people.judge)
        ratio = people.share
        if ratio.value is not None and ratio.low is not None and ratio.high is not None:
            kept = max(1e-9, 1 - self.upper)
            low, high = min(ratio.low * kept, ratio.low / kept), max(ratio.high * kept, ratio.high / kept)
            wider = structs.replace(ratio, low=low, high=high)
            ratio = with_remark(wider, f"stretched by {kept:.3g} for {self.text}")
        corrected = None if people.corrected is None else self.stretched(people.corrected)
        return structs.replace(people, judge=judge, share=ratio, corrected=corrected)

    def part(self, part: PartAgreement, is_choices: bool) -> PartAgreement:
        agreement = self.fraction(part.agreement) if is_choices else self.stretched(part.agreement)
        return PartAgreement(agreement, None if part.bias is None else self.mean(part.bias, limits=self.gaps))

    def alt_test(self, test: AltTest) -> AltTest:
        if test.winning_rate.value is None:
            return test
        caution = f"{self.text}: the test assumes that every reading is right"
        return structs.replace(
            test, advantage=self.fraction(test.advantage), cautions=(*test.cautions, caution)
        )

    def corrected(self, mean: CorrectedMean, times: int = 1) -> CorrectedMean:
        limits = self.limits if times == 1 else None
        return structs.replace(
            self.corrected_by_labels(mean),
            judge_only=self.mean(mean.judge_only, times, limits),
            bias=self.mean(mean.bias, times),
        )

    def confidence(self, confidence: Confidence) -> Confidence:
        return structs.replace(
            confidence,
            error=self.fraction(confidence.error),
            brier=self.fraction(confidence.brier),
            excess=self.shifted(confidence.excess, self.upper, -1.0, 1.0),
        )

    def quality(self, quality: Quality) -> Quality:
        return structs.replace(
            quality,
            retest=None if quality.retest is None else self._retest(quality.retest),
            failures={name: self._failures(failures) for name, failures in quality.failures.items()},
        )

    def _retest(self, retest: Retest) -> Retest:
        return structs.replace(retest, single=self.stretched(retest.single), mean=self.stretched(retest.mean))

    def _failures(self, failures: SystemFailures) -> SystemFailures:
        bounds = failures.bounds
        if bounds is not None and self.limits is not None and self.width is not None:
            by = self.upper * self.width
            bounds = Bounds(max(self.limits[0], bounds.low - by), min(self.limits[1], bounds.high + by))
        return structs.replace(failures, failed=self.fraction(failures.failed), bounds=bounds)


def _widen_best(best: BestJudge, upper: float) -> BestJudge:
    """Many judges: every difference may move by the allowance of both."""
    is_choices = best.kind == "choices"
    allowance = _Allowance(upper, None, is_choices=is_choices)
    highest = max((abs(estimate.value or 0.0) for estimate in best.agreement.values()), default=0.0)
    by = 2 * upper if is_choices else 2 * highest * (1 / max(1e-9, 1 - upper) - 1)
    limit = 1.0 if is_choices else 2.0

    def agreement(estimate: Estimate) -> Estimate:
        return allowance.fraction(estimate) if is_choices else allowance.stretched(estimate)

    def lead(estimate: Estimate) -> Estimate:
        return allowance.shifted(estimate, by, -limit, limit)

    over_first = {name: lead(estimate) for name, estimate in best.over_first.items()}
    behind_best = {name: lead(estimate) for name, estimate in best.behind_best.items()}
    chosen = best.held_out
    return structs.replace(
        best,
        agreement={name: agreement(estimate) for name, estimate in best.agreement.items()},
        over_first=over_first,
        behind_best=behind_best,
        improved=significantly_above(over_first),
        leading=tuple(name for name in best.agreement if name not in significantly_above(behind_best)),
        held_out=None
        if chosen is None
        else ChosenJudge(chosen.judge, agreement(chosen.agreement), lead(chosen.lead)),
    )


def significantly_above(leads: Mapping[str, Estimate]) -> tuple[str, ...]:
    """The names whose interval is above 0."""
    return tuple(name for name, lead in leads.items() if lead.low is not None and lead.low > 0)


def _widen_judges(judges: JudgePair, upper: float) -> JudgePair:
    """Two judges: the difference may move by the allowance of each."""
    allowance = _Allowance(upper, None, is_choices=judges.mcnemar is not None)
    versus = judges.result
    if judges.mcnemar is not None:
        first, second = allowance.fraction(versus.first), allowance.fraction(versus.second)
        difference = allowance.shifted(versus.difference, 2 * upper, -1.0, 1.0)
    else:
        first, second = allowance.stretched(versus.first), allowance.stretched(versus.second)
        kept = max(1e-9, 1 - upper)
        shift = (abs(versus.first.value or 0.0) + abs(versus.second.value or 0.0)) * (1 / kept - 1)
        difference = allowance.shifted(versus.difference, shift, -2.0, 2.0)
    wider = structs.replace(
        judges, result=TwoJudges(first, second, difference, versus.permutation, versus.williams)
    )
    return structs.replace(wider, sentence=two_judges_sentence(wider))
