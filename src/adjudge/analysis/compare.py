"""`adjudge.compare`: two runs, or results from anywhere, held against each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

from msgspec import Struct, structs

from ..engine import Run
from ..errors import DataError
from ..records import Estimate, Result, Scale
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
from ..store import open_store
from ..words import count, listed
from .compare_words import Runs, criterion_sentences, summary
from .match import ComparedItem, Scaling, Table, match, scaling
from .result_types import (
    Change,
    Comparison,
    Conclusion,
    CriterionContrast,
    SystemContrast,
    SystemOrder,
    SystemPair,
)
from .run_view import Contents, RunView, by_criterion, fake_note, tabulate, view_of_results

# The numbers of one criterion in two runs: differences by system, agreement of the items, the order of the systems.


MOST_SYSTEMS = 30
"""Systems of which every two are held against each other; of more, only those with a winner of either run."""
FEW_SYSTEMS = 5
"""Systems below which a correlation over their means comes out near 1 or -1 by chance."""
SHOWN = 0.05
SAME = "both runs have the same calls and the same replies, so that it is 0 by construction"


class Numbered(Struct, frozen=True):
    """A row with both answers as numbers in the unit of the comparison; none where the judge failed."""

    row: ComparedItem
    first: float | None
    second: float | None


def numbered(table: Table, scaling: Scaling) -> list[Numbered]:
    """The rows in the unit that the scales allow; of a pair 1 where the system named first wins, one half for a tie."""
    if table.kind == "choices":
        return [Numbered(row, _won(row.first), _won(row.second)) for row in table.rows]
    scales = table.scales if scaling.unit == "normalized" else (None, None)
    return [
        Numbered(row, _number(row.first, scales[0]), _number(row.second, scales[1])) for row in table.rows
    ]


def _won(choice: float | str | None) -> float | None:
    return {"a": 1.0, "b": 0.0, "tie": 0.5}.get(choice) if isinstance(choice, str) else None


def _number(value: float | str | None, scale: Scale | None) -> float | None:
    if value is None or isinstance(value, str):
        return None
    return float(value) if scale is None else scale.normalized(value)


def by_system(rows: Sequence[Numbered]) -> dict[str, list[Numbered]]:
    found: dict[str, list[Numbered]] = defaultdict(list)
    for one in rows:
        found[one.row.system].append(one)
    return dict(found)


def system_contrast(table: Table, scaling: Scaling, own: Sequence[Numbered], seed: int) -> SystemContrast:
    """One system in both runs. The p-value is not yet adjusted: that takes all criteria."""
    first, second = [one.first for one in own], [one.second for one in own]
    both = [one for one in own if one.first is not None and one.second is not None]
    n_both_failed = sum(one.first is None and one.second is None for one in own)
    limits = (0.0, 1.0) if table.kind == "choices" else scaling.limits
    found = paired_difference(first, second, table.groups([one.row for one in own]), limits=limits, seed=seed)
    test: Test = found.test
    has_ties = any(value == 0.5 for one in both for value in (one.first, one.second))
    # McNemar's test knows wins alone; with ties, the test must be one of the difference that is shown.
    if table.kind == "choices" and not has_ties:
        test = mcnemar_of([_is_won(value) for value in first], [_is_won(value) for value in second])
    difference = found.difference
    if scaling.unit == "rank":
        why = "the scales cannot be subtracted from each other"
        difference = undefined(why, n=len(both), n_failed=difference.n_failed, unit=difference.unit)
        test = Test(None, None, len(both), "none", why)
    n_same = sum(one.row.is_same for one in own)
    is_same = n_same == len(own)
    if is_same and difference.value is not None:
        difference = make_estimate(
            0.0, no_interval(SAME), "mean of paired differences", n=difference.n, n_failed=difference.n_failed,
            n_undefined=difference.n_undefined, unit=difference.unit,
        )  # fmt: skip
        test = Test(None, None, len(both), "none", SAME)
    groups = table.groups([one.row for one in both])
    ends = (
        (limits, limits)
        if scaling.unit != "rank"
        else (_ends_of_interval(table.scales[0]), _ends_of_interval(table.scales[1]))
    )
    missing = len(own) - len(both)
    means = []
    for pick, end in zip((_first, _second), ends, strict=True):
        values = [value for one in both if (value := pick(one)) is not None]
        means.append(
            # The win rate is the one that a ranking prints.
            clustered_share(values, groups, missing, unit="pair")
            if table.kind == "choices"
            else mean_interval(values, groups, missing, limits=end)
        )
    return SystemContrast(
        first=means[0],
        second=means[1],
        difference=difference,
        p=test.p,
        p_adjusted=None,
        test=f"{test.method}: {test.why}" if test.why else test.method,
        n_items=len(own),
        n_failed_first=sum(value is None for value in first) - n_both_failed,
        n_failed_second=sum(value is None for value in second) - n_both_failed,
        n_failed_both=n_both_failed,
        bounds=found.bounds if missing and scaling.unit != "rank" and not is_same else None,
        minimum_detectable=found.minimum_detectable if scaling.unit != "rank" else None,
        system_first=own[0].row.systems[0],
        system_second=own[0].row.systems[1],
        n_same=n_same,
    )


def _first(one: Numbered) -> float | None:
    return one.first


def _second(one: Numbered) -> float | None:
    return one.second


def _is_won(value: float | None) -> bool | None:
    return None if value is None else value == 1.0


def _ends_of_interval(scale: Scale | None) -> tuple[float, float] | None:
    return None if scale is None or scale.low is None or scale.high is None else (scale.low, scale.high)


def agreement(table: Table, scaling: Scaling, rows: Sequence[Numbered]) -> dict[str, Estimate]:
    """Whether the runs order the items alike; of pairs, whether they choose alike."""
    n_failed = sum(one.first is None or one.second is None for one in rows)
    groups = table.groups([one.row for one in rows])
    if table.kind == "choices":
        first = [row.first if isinstance(row.first, str) else None for row in table.rows]
        second = [row.second if isinstance(row.second, str) else None for row in table.rows]
        alike = choice_agreement(first, second, groups)
        each = {"exact": alike.exact, "decided": alike.decided, "kappa": alike.kappa}
        return {
            name: structs.replace(one, n_failed=n_failed, n_undefined=max(0, one.n_undefined - n_failed))
            for name, one in each.items()
        }
    both = [one for one in rows if one.first is not None and one.second is not None]
    of_both = table.groups([one.row for one in both])
    one, other = scaling.signs
    found = spearman(
        [one * value for each in both if (value := each.first) is not None],
        [other * value for each in both if (value := each.second) is not None],
        None if of_both is None else len(set(of_both)),
    )
    return {"spearman": structs.replace(found, n_failed=n_failed)}


def system_order(table: Table, scaling: Scaling, rows: Sequence[Numbered], seed: int) -> SystemOrder | None:
    """Who wins in either run, and which claims about two systems hold in both; none for one system."""
    both = [one for one in rows if one.first is not None and one.second is not None]
    systems = by_system(both)
    if table.kind == "choices" or len(systems) < 2:
        return None
    sides = [_Side(table, systems, which, scaling.signs[which]) for which in (0, 1)]
    orders = [tuple(sorted(systems, key=lambda name: -side.means[name])) for side in sides]
    kendall = correlate(
        [scaling.signs[0] * (one.first or 0.0) for one in both],
        [scaling.signs[1] * (one.second or 0.0) for one in both],
        "kendall",
        "system",
        groups=table.groups([one.row for one in both]),
        systems=[one.row.system for one in both],
        seed=seed,
    )
    if kendall.value is not None and kendall.n < FEW_SYSTEMS:
        kendall = with_caution(kendall, f"a correlation over {kendall.n} systems says little")
    pairs = _pairs(sides, _couples(orders))
    winners = [_winners(side) for side in sides]
    return SystemOrder(
        orders[0], orders[1], winners[0], winners[1], kendall, pairs, _n_flipped(sides, systems)
    )


def _winners(side: _Side) -> tuple[str, ...]:
    best = max(side.means.values())
    return tuple(name for name, mean in side.means.items() if mean > best - 1e-9)


class _Side:
    """The systems in one run: their means, and any two of them on the inputs that they share."""

    def __init__(self, table: Table, systems: dict[str, list[Numbered]], which: int, sign: int) -> None:
        pick = (_first, _second)[which]
        inputs: dict[str, dict[str, list[float]]] = {}
        self.means = {}
        for name, own in systems.items():
            values = [sign * (pick(one) or 0.0) for one in own]
            self.means[name] = sum(values) / len(values)
            # Without groups no two systems share an input, and their means are independent.
            groups = table.groups([one.row for one in own]) or [f"i {one.row.item} {name}" for one in own]
            for group, value in zip(groups, values, strict=True):
                inputs.setdefault(group, {}).setdefault(name, []).append(value)
        names = list(systems)
        rows = [[_mean(by_name.get(name)) for by_name in inputs.values()] for name in names]
        self.differences: dict[tuple[str, str], tuple[Estimate, float | None]] = {}
        for found in score_differences(rows):
            one, other = names[found.first], names[found.second]
            self.differences[one, other] = found.difference, found.p
            self.differences[other, one] = _turned(found.difference), found.p


def _mean(values: Sequence[float] | None) -> float | None:
    return sum(values) / len(values) if values else None


def _turned(found: Estimate) -> Estimate:
    value, low, high = (None if end is None else -end for end in (found.value, found.high, found.low))
    return structs.replace(found, value=value, low=low, high=high)


def _couples(orders: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    couples = list(combinations(orders[0], 2))
    if len(orders[0]) <= MOST_SYSTEMS:
        return couples
    winners = {order[0] for order in orders}
    return [couple for couple in couples if winners & set(couple)]


def _pairs(sides: Sequence[_Side], couples: Sequence[tuple[str, str]]) -> tuple[SystemPair, ...]:
    found = [[side.differences[couple] for couple in couples] for side in sides]
    p_values = [adjusted([p for _, p in each]) for each in found]
    return tuple(
        SystemPair(couple, one, other, p, q, _change(one, p, other, q))
        for couple, (one, _), (other, _), p, q in zip(
            couples, found[0], found[1], p_values[0], p_values[1], strict=True
        )
    )


def _change(first: Estimate, p_first: float | None, second: Estimate, p_second: float | None) -> Change:
    is_first, is_second = (p is not None and p <= SHOWN for p in (p_first, p_second))
    if is_first and is_second:
        return "same" if (first.value or 0.0) * (second.value or 0.0) > 0 else "reversed"
    if is_first:
        return "only first"
    return "only second" if is_second else "open"


def _n_flipped(sides: Sequence[_Side], systems: dict[str, list[Numbered]]) -> int:
    first, second = sides[0].means, sides[1].means
    return sum(
        (first[one] - first[other]) * (second[one] - second[other]) < 0
        for one, other in combinations(systems, 2)
    )


# Puts a comparison together: two sides in, one `Comparison` out. No store, no model.


ChangeKind = Literal["protocol", "judge", "recording", "setting", "texts"]


class RunChange(NamedTuple):
    """One thing that differs between two runs."""

    kind: ChangeKind
    text: str

    @property
    def is_of_judging(self) -> bool:
        """Whether it makes another judge: other texts do not, nor does the name of a recording."""
        return self.kind not in ("recording", "texts")


def compare_views(first: RunView, second: RunView, seed: int = 0) -> Comparison:
    """Compare two runs, criterion by criterion."""
    if first.name == second.name:
        first, second = (
            structs.replace(first, name=f"{first.name} (1)"),
            structs.replace(second, name=f"{second.name} (2)"),
        )
    tables, notes = match(first, second)
    if not any(table.rows for table in tables.values()):
        raise DataError(_no_common_item(first, second))
    notes += [
        f"{name} cannot be compared: {'; '.join(table.notes) or 'no item in common'}."
        for name, table in tables.items()
        if not table.rows
    ]
    tables = {name: table for name, table in tables.items() if table.rows}
    n_differs, fields = _content(first.contents, second.contents)
    changed = _changed(first, second, tables)
    runs = Runs(first.name, second.name, bool(n_differs), any(change.is_of_judging for change in changed))
    cards = _with_sentences(
        _adjusted({name: _criterion(table, runs, seed) for name, table in tables.items()}), runs
    )
    ids = [{result.item for result in side.results} for side in (first, second)]
    return Comparison(
        summary=summary(cards, runs),
        first=first.name,
        second=second.name,
        criteria=cards,
        changed=tuple(
            change.text for change in (*changed, *_about_content(n_differs, fields, len(ids[0] & ids[1])))
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
            *_about_items(ids, first, second),
            *notes,
        ),
        seed=seed,
        is_fake=bool(first.fake_models() or second.fake_models()),
    )


def _criterion(table: Table, runs: Runs, seed: int) -> CriterionContrast:
    way = (
        Scaling("points", (0.0, 1.0), 1, (1, 1))
        if table.kind == "choices"
        else scaling(*table.scales, (runs.first, runs.second))
    )
    rows = numbered(table, way)
    systems = {name: system_contrast(table, way, own, seed) for name, own in by_system(rows).items()}
    return CriterionContrast(
        criterion=table.criterion,
        kind=table.kind,
        protocols=table.protocols,
        models=table.models,
        scales=table.scales,
        unit=way.unit,
        direction=way.direction,
        sentences=(),
        notes=(*((way.note,) if way.note else ()), *table.notes),
        conclusion="undefined",
        n_items=len(rows),
        n_only_first=table.n_only_first,
        n_only_second=table.n_only_second,
        systems=systems,
        order=system_order(table, way, rows, seed),
        agreement=agreement(table, way, rows),
    )


def _adjusted(cards: Mapping[str, CriterionContrast]) -> dict[str, CriterionContrast]:
    """The p-values corrected for all differences that the comparison makes."""
    places = [(name, system) for name, one in cards.items() for system in one.systems]
    p_values = adjusted([cards[name].systems[system].p for name, system in places])
    found = dict(zip(places, p_values, strict=True))
    return {
        name: structs.replace(
            one,
            systems={
                system: structs.replace(each, p_adjusted=found[name, system])
                for system, each in one.systems.items()
            },
        )
        for name, one in cards.items()
    }


def _with_sentences(cards: Mapping[str, CriterionContrast], runs: Runs) -> dict[str, CriterionContrast]:
    told = {}
    for name, one in cards.items():
        concluded = structs.replace(one, conclusion=_conclusion(one))
        told[name] = structs.replace(concluded, sentences=criterion_sentences(name, concluded, runs))
    return told


def _conclusion(one: CriterionContrast) -> Conclusion:
    if one.kind == "choices":
        return _of_choices(one.systems)
    if one.order is not None:
        return _of_order(one.order)
    known = [found for found in one.systems.values() if found.difference.value is not None]
    if not known:
        return "undefined"
    return "shifted" if any(found.is_shown for found in known) else "not shown"


def _of_order(order: SystemOrder) -> Conclusion:
    changes = {pair.change for pair in order.pairs}
    if "reversed" in changes:
        return "reversed"
    if changes & {"only first", "only second"}:
        return "differs"
    return "holds" if "same" in changes else "not shown"


def _of_choices(systems: Mapping[str, SystemContrast]) -> Conclusion:
    """By who is shown to win more than half of a pair of systems, in either run."""
    verdicts = set()
    for found in systems.values():
        sides = [_side(one.low, one.high) for one in (found.first, found.second)]
        if sides[0] * sides[1] < 0:
            return "reversed"
        verdicts.add((abs(sides[0]), abs(sides[1])))
    if verdicts & {(0, 1), (1, 0)}:
        return "differs"
    return "holds" if (1, 1) in verdicts else "not shown"


def _side(low: float | None, high: float | None) -> int:
    if low is None or high is None or low <= 0.5 <= high:
        return 0
    return 1 if low > 0.5 else -1


def _content(first: Contents | None, second: Contents | None) -> tuple[int | None, dict[str, int]]:
    """How many common items have other texts, and in which fields."""
    if first is None or second is None:
        return None, {}
    fields: Counter[str] = Counter()
    n = 0
    for item, own in first.items():
        other = second.get(item)
        if other is None or other == own:
            continue
        n += 1
        fields.update(name for name in {**own, **other} if own.get(name) != other.get(name))
    return n, dict(fields.most_common())


def _about_content(n: int | None, fields: Mapping[str, int], n_items: int) -> tuple[RunChange, ...]:
    if not n:
        return ()
    named = listed([f"{name} on {times}" for name, times in fields.items()])
    return (RunChange("texts", f"the texts of {n:,} of {count(n_items, 'common item')} (field {named})"),)


_COMPARED_SETTINGS = ("samples", "estimator", "temperature")


def _changed(first: RunView, second: RunView, tables: Mapping[str, Table]) -> tuple[RunChange, ...]:
    """What differs in the way of judging."""
    protocols = dict.fromkeys(
        table.protocols for table in tables.values() if table.protocols[0] != table.protocols[1]
    )
    changes = [RunChange("protocol", f"the protocol: {before} → {after}") for before, after in protocols]
    models = dict.fromkeys(table.models for table in tables.values() if table.models[0] != table.models[1])
    for before, after in models:
        # Two recordings may be of one judge: the names of their files do not tell.
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


def _about_items(ids: list[set[str]], first: RunView, second: RunView) -> list[str]:
    only = [(first.name, len(ids[0] - ids[1])), (second.name, len(ids[1] - ids[0]))]
    return [
        f"{count(n, 'item')} of {name} is not in the other run and not compared."
        if n == 1
        else f"{n:,} items of {name} are not in the other run and not compared."
        for name, n in only
        if n
    ]


def _no_common_item(first: RunView, second: RunView) -> str:
    own, other = first.results[0].item, second.results[0].item
    return (
        f"{first.name} and {second.name} have no item in common: {first.name} judged items like '{own}', {second.name} items "
        f"like '{other}'.\nItems are matched by id: give two versions of one text the same id."
    )


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
    views = [_view(source, name, scales) for source, name in zip((first, second), names, strict=True)]
    return compare_views(views[0], views[1], seed)


def _view(source: Run | Iterable[Result], name: str, scales: Mapping[str, Scale] | None) -> RunView:
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            return tabulate(store, store.run(source.name), for_comparison=True)
    if isinstance(source, str):
        raise DataError(
            f"'{source}' is a text. Give a Run, or results: adjudge.compare(run_a, run_b).\n"
            f"Runs in a store are compared by their names on the command line: adjudge compare {source} RUN_B"
        )
    return view_of_results(source, by_criterion(scales), name)
