"""`adjudge.compare`: the same items in two runs, or in any two sets of results; every difference is second - first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple, cast

from msgspec import Struct, structs

from ..data import read_labels
from ..engine import Run
from ..errors import DataError
from ..records import Choice, Estimate, Label, Result, Scale
from ..stats import (
    Test,
    adjusted,
    choice_agreement,
    clustered_share,
    correlate,
    mcnemar_of,
    mean_interval,
    paired_difference,
    score_differences,
    spearman,
)
from ..stats.arrays import make_estimate, no_interval, undefined, with_caution
from ..stats.resample import N_RESAMPLES
from ..store import Store, open_store
from ..words import count, listed
from .compare_words import Runs, criterion_sentences, summary
from .human_agreement import FEW_SYSTEMS, two_judges, with_failures
from .label_join import Answer, LabelledItem, LabelledTable, label_of, number_or_none, with_criterion
from .match import (
    Change,
    ComparedItem,
    Comparison,
    ComparisonTable,
    Conclusion,
    CriterionComparison,
    MovedItem,
    PeopleSide,
    Scaling,
    Side,
    SystemComparison,
    SystemOrder,
    SystemPair,
    choose_scaling,
    match,
    swapped,
)
from .result_types import SIGNIFICANCE, Resampling
from .run_view import Contents, RunView, as_number, by_criterion, fake_note, tabulate, view_of_results

MOST_SYSTEMS = 30
"""Up to this many systems, every two are compared; with more, only pairs with a winner of either run."""
_MOST_WORK = 50_000_000
"""items times resamples of the correlation of the systems' orders"""
_FEWEST_RESAMPLES = 400
SAME = "both runs have the same calls and the same replies, so it is 0 by construction"


class ScorePair(Struct, frozen=True):
    """One item with both answers as numbers in the unit of the comparison; none where the judge failed."""

    row: ComparedItem
    first: float | None
    second: float | None


def score_pairs(table: ComparisonTable, scaling: Scaling) -> list[ScorePair]:
    """The items in the unit that the scales allow; a choice counts 1 for the system named first, one half for a tie."""
    if table.kind == "choices":
        return [ScorePair(row, _share(row.first), _share(row.second)) for row in table.rows]
    scales = table.scales if scaling.unit == "normalized" else (None, None)
    return [
        ScorePair(row, _number(row.first, scales[0]), _number(row.second, scales[1])) for row in table.rows
    ]


def _share(choice: Answer | None) -> float | None:
    return as_number(choice) if choice is not None else None


def _number(answer: Answer | None, scale: Scale | None) -> float | None:
    value = number_or_none(answer)
    return value if value is None or scale is None else scale.normalized(value)


def by_system(rows: Sequence[ScorePair]) -> dict[str, list[ScorePair]]:
    """The items of each system."""
    pairs_of: dict[str, list[ScorePair]] = defaultdict(list)
    for pair in rows:
        pairs_of[pair.row.system].append(pair)
    return dict(pairs_of)


def compare_system(table: ComparisonTable, scaling: Scaling, pairs: Sequence[ScorePair]) -> SystemComparison:
    """One system in both runs. The p-value is adjusted later, over all criteria."""
    first, second = [pair.first for pair in pairs], [pair.second for pair in pairs]
    both = [pair for pair in pairs if pair.first is not None and pair.second is not None]
    n_both_failed = sum(pair.first is None and pair.second is None for pair in pairs)
    limits = (0.0, 1.0) if table.kind == "choices" else scaling.limits
    all_groups = table.groups([pair.row for pair in pairs])
    paired = paired_difference(first, second, all_groups, limits=limits)
    test: Test = paired.test
    has_ties = any(value == 0.5 for pair in both for value in (pair.first, pair.second))
    is_independent = all_groups is None or len(set(all_groups)) == len(all_groups)
    # McNemar's test ignores ties and groups; the test must be of the difference that is shown.
    if table.kind == "choices" and not has_ties and is_independent:
        test = mcnemar_of([_is_won(value) for value in first], [_is_won(value) for value in second])
    difference = paired.difference
    if scaling.unit == "rank":
        why = "the scales cannot be subtracted from each other"
        difference = undefined(why, n=len(both), n_failed=difference.n_failed, unit=difference.unit)
        test = Test(None, None, len(both), "none", why)
    n_same = sum(pair.row.is_same for pair in pairs)
    is_same = n_same == len(pairs)
    if is_same and difference.value is not None:
        difference = make_estimate(
            0.0, no_interval(SAME), "mean of paired differences", n=difference.n, n_failed=difference.n_failed,
            n_undefined=difference.n_undefined, unit=difference.unit,
        )  # fmt: skip
        test = Test(None, None, len(both), "none", SAME)
    groups = table.groups([pair.row for pair in both])
    limits_by_run = [limits, limits]
    if scaling.unit == "rank":
        limits_by_run = [scale.limits if scale is not None else None for scale in table.scales]
    missing = len(pairs) - len(both)
    means = []
    for pick, run_limits in zip((_first, _second), limits_by_run, strict=True):
        values = [value for pair in both if (value := pick(pair)) is not None]
        means.append(
            # The same win rate as in a ranking.
            clustered_share(values, groups, missing, unit="pair")
            if table.kind == "choices"
            else mean_interval(values, groups, missing, limits=run_limits)
        )
    return SystemComparison(
        first=means[0],
        second=means[1],
        difference=difference,
        p=test.p,
        p_adjusted=None,
        test=f"{test.method}: {test.why}" if test.why else test.method,
        n_items=len(pairs),
        n_failed_first=sum(value is None for value in first) - n_both_failed,
        n_failed_second=sum(value is None for value in second) - n_both_failed,
        n_failed_both=n_both_failed,
        bounds=paired.bounds if missing and scaling.unit != "rank" and not is_same else None,
        minimum_detectable=paired.minimum_detectable if scaling.unit != "rank" else None,
        system_first=pairs[0].row.systems[0],
        system_second=pairs[0].row.systems[1],
        n_same=n_same,
    )


def _first(pair: ScorePair) -> float | None:
    return pair.first


def _second(pair: ScorePair) -> float | None:
    return pair.second


def _is_won(value: float | None) -> bool | None:
    return None if value is None else value == 1.0


def agreement(table: ComparisonTable, scaling: Scaling, pairs: Sequence[ScorePair]) -> dict[str, Estimate]:
    """Rank correlation over items; for pairs, agreement of the choices."""
    n_failed = sum(pair.first is None or pair.second is None for pair in pairs)
    groups = table.groups([pair.row for pair in pairs])
    if table.kind == "choices":
        first = [row.first if isinstance(row.first, str) else None for row in table.rows]
        second = [row.second if isinstance(row.second, str) else None for row in table.rows]
        agreements = choice_agreement(first, second, groups)
        estimates = {"exact": agreements.exact, "decided": agreements.decided, "kappa": agreements.kappa}
        return {name: with_failures(estimate, n_failed) for name, estimate in estimates.items()}
    both = [pair for pair in pairs if pair.first is not None and pair.second is not None]
    of_both = table.groups([pair.row for pair in both])
    signs = scaling.signs
    spearman_estimate = spearman(
        [signs[0] * value for pair in both if (value := pair.first) is not None],
        [signs[1] * value for pair in both if (value := pair.second) is not None],
        None if of_both is None else len(set(of_both)),
    )
    return {"spearman": structs.replace(spearman_estimate, n_failed=n_failed)}


def system_order(
    table: ComparisonTable, scaling: Scaling, pairs: Sequence[ScorePair], seed: int
) -> SystemOrder | None:
    """The order of the systems in both runs, and their significant differences; none for one system."""
    both = [pair for pair in pairs if pair.first is not None and pair.second is not None]
    systems = by_system(both)
    if table.kind == "choices" or len(systems) < 2:
        return None
    sides = [_RunSystems(table, systems, which, scaling.signs[which]) for which in (0, 1)]
    orders = [tuple(sorted(systems, key=lambda name: -side.means[name])) for side in sides]
    kendall = correlate(
        [scaling.signs[0] * (pair.first or 0.0) for pair in both],
        [scaling.signs[1] * (pair.second or 0.0) for pair in both],
        "kendall",
        "system",
        groups=table.groups([pair.row for pair in both]),
        systems=[pair.row.system for pair in both],
        n_resamples=max(_FEWEST_RESAMPLES, min(N_RESAMPLES, _MOST_WORK // len(both))),
        seed=seed,
    )
    if kendall.value is not None and kendall.n < FEW_SYSTEMS:
        kendall = with_caution(kendall, f"a correlation over {kendall.n} systems is unreliable")
    system_pairs = _pairs(sides, _system_pairs(orders))
    winners = [_winners(side) for side in sides]
    return SystemOrder(
        orders[0], orders[1], winners[0], winners[1], kendall, system_pairs, _n_flipped(sides, systems)
    )


def _winners(side: _RunSystems) -> tuple[str, ...]:
    best = max(side.means.values())
    return tuple(name for name, mean in side.means.items() if mean > best - 1e-9)


class _RunSystems:
    """The systems of one run: their means, and the paired differences of every two."""

    def __init__(
        self, table: ComparisonTable, systems: dict[str, list[ScorePair]], which: int, sign: int
    ) -> None:
        pick = (_first, _second)[which]
        values_of = {name: [sign * (pick(pair) or 0.0) for pair in pairs] for name, pairs in systems.items()}
        self.means = {name: sum(values) / len(values) for name, values in values_of.items()}
        rows: Sequence[Sequence[float | None]] = list(values_of.values())
        if table.has_groups:
            rows = _by_input(table, systems, values_of)
        names = list(systems)
        self.differences: dict[tuple[str, str], tuple[Estimate, float | None]] = {}
        for difference in score_differences(rows, is_paired=table.has_groups):
            first, second = names[difference.first], names[difference.second]
            self.differences[first, second] = difference.difference, difference.p
            self.differences[second, first] = _negated(difference.difference), difference.p


def _by_input(
    table: ComparisonTable, systems: dict[str, list[ScorePair]], values_of: Mapping[str, Sequence[float]]
) -> list[list[float | None]]:
    """A row for each system with its mean on each input, in one order of the inputs."""
    place: dict[str, int] = {}
    sums_of: list[dict[int, tuple[float, int]]] = []
    for name, pairs in systems.items():
        sums: dict[int, tuple[float, int]] = {}
        groups = table.groups([pair.row for pair in pairs]) or []
        for group, value in zip(groups, values_of[name], strict=True):
            index = place.setdefault(group, len(place))
            total, n = sums.get(index, (0.0, 0))
            sums[index] = total + value, n + 1
        sums_of.append(sums)
    return [
        [sums[index][0] / sums[index][1] if index in sums else None for index in range(len(place))]
        for sums in sums_of
    ]


def _negated(difference: Estimate) -> Estimate:
    value, low, high = (
        None if end is None else -end for end in (difference.value, difference.high, difference.low)
    )
    return structs.replace(difference, value=value, low=low, high=high)


def _system_pairs(orders: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    pairs = list(combinations(orders[0], 2))
    if len(orders[0]) <= MOST_SYSTEMS:
        return pairs
    winners = {order[0] for order in orders}
    return [pair for pair in pairs if winners & set(pair)]


def _pairs(sides: Sequence[_RunSystems], pairs: Sequence[tuple[str, str]]) -> tuple[SystemPair, ...]:
    differences = [[side.differences[pair] for pair in pairs] for side in sides]
    p_values = [adjusted([p_first for _, p_first in run_differences]) for run_differences in differences]
    return tuple(
        SystemPair(pair, first, second, p_first, p_second, _change(first, p_first, second, p_second))
        for pair, (first, _), (second, _), p_first, p_second in zip(
            pairs, differences[0], differences[1], p_values[0], p_values[1], strict=True
        )
    )


def _change(first: Estimate, p_first: float | None, second: Estimate, p_second: float | None) -> Change:
    is_first, is_second = (p is not None and p <= SIGNIFICANCE for p in (p_first, p_second))
    if is_first and is_second:
        return "same" if (first.value or 0.0) * (second.value or 0.0) > 0 else "reversed"
    if is_first:
        return "only first"
    return "only second" if is_second else "open"


def _n_flipped(sides: Sequence[_RunSystems], systems: dict[str, list[ScorePair]]) -> int:
    first, second = sides[0].means, sides[1].means
    return sum(
        (first[system] - first[opponent]) * (second[system] - second[opponent]) < 0
        for system, opponent in combinations(systems, 2)
    )


# -- Items that moved, and whose side people take

MOST_MOVED = 20
Labels = Mapping[tuple[str, str, str | None], Answer]
"""(item, criterion, subject) → the label of people"""


def labels_by_cell(labels: Iterable[Label]) -> dict[tuple[str, str, str | None], Answer]:
    """One label for several raters: the mean of numbers, the majority of choices."""
    ratings: dict[tuple[str, str, str | None], list[Answer]] = defaultdict(list)
    for label in labels:
        ratings[label.item, label.criterion, label.subject].append(label.value)
    return {cell: value for cell, values in ratings.items() if (value := label_of(values)) is not None}


def _label(table: ComparisonTable, row: ComparedItem, labels: Labels) -> Answer | None:
    """The label of an item, of a pair in the frame of its name; none where it is of another kind than the answers."""
    label = labels.get((row.item, table.criterion, row.subject))
    if label is None or isinstance(label, str) != (table.kind == "choices"):
        return None
    return swapped(cast("Choice", label), row.is_swapped) if isinstance(label, str) else label


def moved_items(
    table: ComparisonTable, scaling: Scaling, pairs: Sequence[ScorePair], labels: Labels
) -> tuple[int, tuple[MovedItem, ...]]:
    """How many items have another answer in the second run, and those with the largest difference."""
    if scaling.unit == "rank":
        return 0, ()
    differing = [
        (pair, pair.second - pair.first)
        for pair in pairs
        if pair.first is not None and pair.second is not None and pair.first != pair.second
    ]
    largest = sorted(differing, key=lambda each: -abs(each[1]))[:MOST_MOVED]
    items = []
    for pair, difference in largest:
        row = pair.row
        label = _label(table, row, labels)
        assert row.first is not None
        assert row.second is not None
        items.append(
            MovedItem(
                row.item, row.system, row.subject, row.first, row.second, difference, label,
                _nearer(row.first, row.second, label) if _is_comparable(table, scaling) else None,
            )
        )  # fmt: skip
    return len(differing), tuple(items)


def _is_comparable(table: ComparisonTable, scaling: Scaling) -> bool:
    """Whether a distance from a label means the same in both runs."""
    return table.kind == "choices" or (scaling.unit == "points" and table.scales[0] is not None)


def _nearer(first: Answer, second: Answer, label: Answer | None) -> Side | None:
    if label is None:
        return None
    gaps = [abs(as_number(answer) - as_number(label)) for answer in (first, second)]
    if abs(gaps[0] - gaps[1]) < 1e-9:
        return "both"
    return "first" if gaps[0] < gaps[1] else "second"


def people_side(
    table: ComparisonTable, scaling: Scaling, labels: Labels, runs: Runs, seed: int
) -> PeopleSide | None:
    """The test of `trust --versus` on the labelled items of this comparison, and how many labels are nearer to which run."""
    labelled = [(row, label) for row in table.rows if (label := _label(table, row, labels)) is not None]
    if not labelled:
        return None
    tables = {
        f"{table.criterion} · {run}": LabelledTable(
            criterion=table.criterion, protocol=table.protocols[which], model=run, kind=table.kind,
            scale=table.scales[which], raters=("people",), n_unknown=0, is_same_scale=True, notes=(),
            rows=tuple(_labelled(row, label, (row.first, row.second)[which]) for row, label in labelled),
        )
        for which, run in enumerate((runs.first, runs.second))
    }  # fmt: skip
    n_resamples = max(_FEWEST_RESAMPLES, min(N_RESAMPLES, _MOST_WORK // len(labelled)))
    (pair,) = two_judges(tables, Resampling("inputs", n_resamples, seed))
    sides = Counter(
        _nearer(row.first, row.second, label)
        for row, label in labelled
        if row.first is not None and row.second is not None
    )
    if not _is_comparable(table, scaling):
        sides = Counter(dict.fromkeys((None,), sides.total()))
    return PeopleSide(sides.total(), sides["first"], sides["second"], sides["both"], pair)


def _labelled(row: ComparedItem, label: Answer, answer: Answer | None) -> LabelledItem:
    return LabelledItem(
        row.item, row.subject, row.system, row.systems, row.group, "ok" if answer is not None else "unparsed",
        answer, (label,), label,
    )  # fmt: skip


# -- The comparison of two views


ChangeKind = Literal["protocol", "judge", "recording", "setting", "texts"]


class RunChange(NamedTuple):
    """One difference between two runs apart from their scores."""

    kind: ChangeKind
    text: str

    @property
    def is_of_judging(self) -> bool:
        """Whether the judge changed: other texts or another recording do not change the judge."""
        return self.kind not in ("recording", "texts")


def _about_these_items(card: CriterionComparison) -> CriterionComparison:
    """Differences of these items: all were judged, so they are known but for the items that failed."""
    return structs.replace(
        card, systems={name: _exact(comparison) for name, comparison in card.systems.items()}
    )


def _exact(comparison: SystemComparison) -> SystemComparison:
    difference = comparison.difference
    if difference.value is None:
        return comparison
    n_failed = comparison.n_failed_first + comparison.n_failed_second + comparison.n_failed_both
    ends: tuple[float | None, float | None] = (difference.value, difference.value)
    if n_failed:
        ends = (None, None) if comparison.bounds is None else (comparison.bounds.low, comparison.bounds.high)
    is_known = ends[0] is not None and ends[1] is not None and not ends[0] <= 0 <= ends[1]
    method = "difference of these items, all judged; failures at either end of the scale"
    return structs.replace(
        comparison,
        difference=structs.replace(difference, low=ends[0], high=ends[1], method=method),
        p=0.0 if is_known else 1.0,
        test="known for these items",
        minimum_detectable=None,
    )


def _comparable(first: RunView, second: RunView) -> tuple[dict[str, ComparisonTable], list[str]]:
    """The criteria that both runs scored, and notes on those that cannot be compared."""
    tables, notes = match(first, second)
    nominal = {name: table for name, table in tables.items() if _is_nominal(table)}
    class_notes = [_classes_note(name, table) for name, table in nominal.items()]
    notes += class_notes
    tables = {name: table for name, table in tables.items() if name not in nominal}
    if nominal and not tables:
        raise DataError("\n".join([*class_notes, "There is no other criterion to compare."]))
    if not any(table.rows for table in tables.values()):
        raise DataError(_no_common_item(first, second))
    notes += [
        f"{name} cannot be compared: {'; '.join(table.notes) or 'no item in common'}."
        for name, table in tables.items()
        if not table.rows
    ]
    return {name: table for name, table in tables.items() if table.rows}, notes


def compare_views(
    first: RunView,
    second: RunView,
    seed: int = 0,
    labels: Sequence[Label] = (),
    *,
    is_finite: bool = False,
) -> Comparison:
    """Compare two runs, criterion by criterion; with labels also whose side people take."""
    if first.name == second.name:
        first, second = (
            structs.replace(first, name=f"{first.name} (1)"),
            structs.replace(second, name=f"{second.name} (2)"),
        )
    tables, notes = _comparable(first, second)
    n_differs, fields = _changed_texts(first.contents, second.contents)
    changed = _judging_changes(first, second, tables)
    runs = Runs(first.name, second.name, bool(n_differs), any(change.is_of_judging for change in changed))
    # Texts that differ have different labels, and a label does not say which text it is of.
    by_cell = {} if n_differs or not labels else labels_by_cell(with_criterion(first, labels))
    if n_differs and labels:
        notes.append("Human labels are not used: the texts differ, and a label belongs to one of two texts.")
    cards = _with_sentences(
        _with_adjusted_p(
            {
                name: _about_these_items(card) if is_finite else card
                for name, card in (
                    (name, _criterion(table, runs, seed, by_cell)) for name, table in tables.items()
                )
            }
        ),
        runs,
    )
    ids = [{result.item for result in side.results} for side in (first, second)]
    return Comparison(
        summary=summary(cards, runs),
        first=first.name,
        second=second.name,
        criteria=cards,
        changed=tuple(
            change.text for change in (*changed, *_text_changes(n_differs, fields, len(ids[0] & ids[1])))
        ),
        judging_changes=tuple(change.text for change in changed if change.is_of_judging),
        n_items=len(ids[0] & ids[1]),
        n_only_first=len(ids[0] - ids[1]),
        n_only_second=len(ids[1] - ids[0]),
        n_content_differs=n_differs,
        fields_that_differ=fields,
        notes=(
            *dict.fromkeys(fake_note(spec) for view in (first, second) for spec in view.fake_models()),
            *first.status_notes(),
            *second.status_notes(),
            *_item_notes(ids, first, second),
            *notes,
        ),
        seed=seed,
        is_fake=bool(first.fake_models() or second.fake_models()),
    )


def _criterion(table: ComparisonTable, runs: Runs, seed: int, labels: Labels) -> CriterionComparison:
    scaling = (
        Scaling("points", (0.0, 1.0), 1, (1, 1))
        if table.kind == "choices"
        else choose_scaling(*table.scales, (runs.first, runs.second))
    )
    pairs = score_pairs(table, scaling)
    systems = {
        name: compare_system(table, scaling, system_pairs) for name, system_pairs in by_system(pairs).items()
    }
    n_moved, moved = moved_items(table, scaling, pairs, labels)
    return CriterionComparison(
        criterion=table.criterion,
        kind=table.kind,
        protocols=table.protocols,
        models=table.models,
        scales=table.scales,
        unit=scaling.unit,
        direction=scaling.direction,
        sentences=(),
        notes=(*((scaling.note,) if scaling.note else ()), *table.notes),
        conclusion="undefined",
        n_items=len(pairs),
        n_only_first=table.n_only_first,
        n_only_second=table.n_only_second,
        systems=systems,
        order=system_order(table, scaling, pairs, seed),
        agreement=agreement(table, scaling, pairs),
        n_moved=n_moved,
        moved=moved,
        people=people_side(table, scaling, labels, runs, seed),
    )


def _with_adjusted_p(cards: Mapping[str, CriterionComparison]) -> dict[str, CriterionComparison]:
    """The same with p-values adjusted for all differences of the comparison (Holm)."""
    keys = [(name, system) for name, card in cards.items() for system in card.systems]
    p_values = adjusted([cards[name].systems[system].p for name, system in keys])
    adjusted_of = dict(zip(keys, p_values, strict=True))
    return {
        name: structs.replace(
            card,
            systems={
                system: structs.replace(comparison, p_adjusted=adjusted_of[name, system])
                for system, comparison in card.systems.items()
            },
        )
        for name, card in cards.items()
    }


def _with_sentences(cards: Mapping[str, CriterionComparison], runs: Runs) -> dict[str, CriterionComparison]:
    with_sentences = {}
    for name, card in cards.items():
        concluded = structs.replace(card, conclusion=_conclusion(card))
        with_sentences[name] = structs.replace(
            concluded, sentences=criterion_sentences(name, concluded, runs)
        )
    return with_sentences


def _conclusion(card: CriterionComparison) -> Conclusion:
    if card.kind == "choices":
        return _choice_conclusion(card.systems)
    if card.order is not None:
        return _order_conclusion(card.order)
    comparisons = [
        comparison for comparison in card.systems.values() if comparison.difference.value is not None
    ]
    if not comparisons:
        return "undefined"
    return "shifted" if any(comparison.is_shown for comparison in comparisons) else "not shown"


def _order_conclusion(order: SystemOrder) -> Conclusion:
    changes = {pair.change for pair in order.pairs}
    if "reversed" in changes:
        return "reversed"
    if changes & {"only first", "only second"}:
        return "differs"
    return "holds" if "same" in changes else "not shown"


def _choice_conclusion(systems: Mapping[str, SystemComparison]) -> Conclusion:
    """By which system wins significantly more than half of a pair, in each run."""
    verdicts = set()
    for comparison in systems.values():
        winners = [_winner(estimate.low, estimate.high) for estimate in (comparison.first, comparison.second)]
        if winners[0] * winners[1] < 0:
            return "reversed"
        verdicts.add((abs(winners[0]), abs(winners[1])))
    if verdicts & {(0, 1), (1, 0)}:
        return "differs"
    return "holds" if (1, 1) in verdicts else "not shown"


def _winner(low: float | None, high: float | None) -> int:
    if low is None or high is None or low <= 0.5 <= high:
        return 0
    return 1 if low > 0.5 else -1


def _changed_texts(first: Contents | None, second: Contents | None) -> tuple[int | None, dict[str, int]]:
    """How many common items have different texts, and in which fields."""
    if first is None or second is None:
        return None, {}
    fields: Counter[str] = Counter()
    n = 0
    for item, first_texts in first.items():
        second_texts = second.get(item)
        if second_texts is None or second_texts == first_texts:
            continue
        n += 1
        fields.update(
            name
            for name in {**first_texts, **second_texts}
            if first_texts.get(name) != second_texts.get(name)
        )
    return n, dict(fields.most_common())


def _text_changes(n: int | None, fields: Mapping[str, int], n_items: int) -> tuple[RunChange, ...]:
    if not n:
        return ()
    named = listed([f"{name} on {times}" for name, times in fields.items()])
    return (RunChange("texts", f"the texts of {n:,} of {count(n_items, 'common item')} (field {named})"),)


_COMPARED_SETTINGS = ("samples", "estimator", "temperature")


def _judging_changes(
    first: RunView, second: RunView, tables: Mapping[str, ComparisonTable]
) -> tuple[RunChange, ...]:
    """Differences of protocol, judge and settings."""
    protocols = dict.fromkeys(
        table.protocols for table in tables.values() if table.protocols[0] != table.protocols[1]
    )
    changes = [RunChange("protocol", f"the protocol: {before} → {after}") for before, after in protocols]
    models = dict.fromkeys(table.models for table in tables.values() if table.models[0] != table.models[1])
    for before, after in models:
        # Two recordings may be of the same judge; the file names do not show it.
        if _are_recorded(before, after):
            changes.append(RunChange("recording", f"the recording: {before} → {after}"))
        else:
            changes.append(RunChange("judge", f"the judge: {before} → {after}"))
    if first.run is not None and second.run is not None:
        settings = [view.run.manifest["settings"] for view in (first, second) if view.run is not None]
        changes += [
            RunChange("setting", f"{key}: {_setting(before)} → {_setting(after)}")
            for key in _COMPARED_SETTINGS
            if (before := settings[0].get(key)) != (after := settings[1].get(key))
        ]
    return tuple(changes)


def _are_recorded(*models: str) -> bool:
    return all(model.startswith("replay:") for model in models)


def _setting(value: object) -> str:
    return "default" if value is None else str(value)


def _item_notes(ids: list[set[str]], first: RunView, second: RunView) -> list[str]:
    only = [(first.name, len(ids[0] - ids[1])), (second.name, len(ids[1] - ids[0]))]
    return [
        f"{count(n, 'item')} of {name} is not in the other run and not compared."
        if n == 1
        else f"{n:,} items of {name} are not in the other run and not compared."
        for name, n in only
        if n
    ]


def _no_common_item(first: RunView, second: RunView) -> str:
    first_id, second_id = first.results[0].item, second.results[0].item
    return (
        f"{first.name} and {second.name} have no item in common: {first.name} judged items like '{first_id}', {second.name} items "
        f"like '{second_id}'.\nItems are matched by id: give two versions of one text the same id."
    )


def _is_nominal(table: ComparisonTable) -> bool:
    return any(scale is not None and scale.is_nominal for scale in table.scales)


def _classes_note(name: str, table: ComparisonTable) -> str:
    """How many items have the same class in both runs: classes have no differences."""
    both = [row for row in table.rows if row.first is not None and row.second is not None]
    names = [scale.names if scale is not None else {} for scale in table.scales]
    same = sum(
        names[0].get(number_or_none(row.first) or 0.0) == names[1].get(number_or_none(row.second) or 0.0)
        for row in both
    )
    failed = len(table.rows) - len(both)
    return (
        f"{name} has labels without an order, so there are no differences: {same} of {len(both)} items have the same label in "
        f"both runs, {failed} failed in one of them."
    )


def compare(
    first: Run | Iterable[Result],
    second: Run | Iterable[Result],
    *,
    scales: Mapping[str, Scale] | None = None,
    names: tuple[str, str] = ("first", "second"),
    labels: str | Path | Sequence[Label] | None = None,
    seed: int = 0,
) -> Comparison:
    """The same items judged twice: paired differences (second - first), rank agreement, and whether a conclusion changes.

    The scales of a run are known; for other results `scales` gives them by criterion, and `names` gives them names.
    `labels` say whose side people take: a file or a list; for runs the default is the labels in their stores.
    """
    views = [_view(source, name, scales) for source, name in zip((first, second), names, strict=True)]
    if labels is None:
        known: Sequence[Label] = _stored([source for source in (first, second) if isinstance(source, Run)])
    else:
        known = read_labels(labels).labels if isinstance(labels, str | Path) else labels
    return compare_views(views[0], views[1], seed, known)


def _stored(runs: Sequence[Run]) -> list[Label]:
    labels: dict[Label, None] = {}
    for run in runs:
        with open_store(run.store, write=False) as store:
            labels |= dict.fromkeys(labels_of_runs(store, [run.name]))
    return list(labels)


def labels_of_runs(store: Store, names: Sequence[str]) -> list[Label]:
    """The stored labels of several runs; one that is in both counts once."""
    unique: dict[tuple[object, ...], Label] = {}
    for name in names:
        for label in store.labels(store.run(name)):
            unique.setdefault((label.item, label.criterion, label.subject, label.rater), label)
    return list(unique.values())


def _view(source: Run | Iterable[Result], name: str, scales: Mapping[str, Scale] | None) -> RunView:
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            return tabulate(store, store.run(source.name), for_comparison=True)
    if isinstance(source, str):
        raise DataError(
            f"'{source}' is a string. Give a Run, or results: adjudge.compare(run_a, run_b).\n"
            f"Runs in a store are compared by their names on the command line: adjudge compare {source} RUN_B"
        )
    return view_of_results(source, by_criterion(scales), name)
