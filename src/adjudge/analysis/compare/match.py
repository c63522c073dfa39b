"""Matches two runs criterion by criterion and item by item. Nothing is estimated here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from ...errors import DataError
from ...records import Choice, Result, Scale, Subject
from ...results.combine import Kind
from ..labels.labelled import Answer
from ..run_view.criteria import protocol_id
from ..run_view.panel import pooled_result
from ..run_view.result_facts import cluster_of, results_by_model, systems_of_pair
from ..run_view.run_view import RunView
from .scaling import inferred

Cells = dict[tuple[str, Kind], dict[str, list[Result]]]
"""(criterion, kind) → protocol → results"""


_SWAPPED: dict[Choice, Choice] = {"a": "b", "b": "a", "tie": "tie"}


class ComparedItem(Struct, frozen=True, gc=False):
    """One item in both runs. For a pair, `a` is the system that its name puts first."""

    item: str
    system: str
    """its system; where the runs name it differently: first → second"""
    systems: tuple[str, str]
    group: str | None
    first: Answer | None
    """none where the judge failed"""
    second: Answer | None
    subject: Subject | None = None
    is_swapped: bool = False
    """whether the item calls b what the name of the pair puts first"""
    is_same: bool = False
    """whether both runs have the same calls and the same
    replies, which makes the answers equal by construction
    """


class ComparisonTable(Struct, frozen=True):
    """The common items of one criterion."""

    criterion: str
    kind: Kind
    protocols: tuple[str, str]
    models: tuple[str, str]
    scales: tuple[Scale | None, Scale | None]
    rows: tuple[ComparedItem, ...]
    n_only_first: int
    n_only_second: int
    notes: tuple[str, ...]
    has_groups: bool
    """whether an item has a group; otherwise all items are independent"""

    def groups(self, rows: Sequence[ComparedItem]) -> list[str] | None:
        """The cluster of each row, or none where all items are independent."""
        if not self.has_groups:
            return None
        return [cluster_of(row.group, row.item) for row in rows]


def match(first: RunView, second: RunView) -> tuple[dict[str, ComparisonTable], list[str]]:
    """The tables by the names that the comparison shows, and notes on what could not be matched."""
    for view in (first, second):
        if not view.results:
            raise DataError(f"{view.name} has judged nothing yet. Run it first, or compare another run.")
    of_first, of_second = _by_criterion(first), _by_criterion(second)
    common = [cell for cell in of_first if cell in of_second]
    if not common:
        raise DataError(_no_common_criterion(first.name, of_first, second.name, of_second))
    different = _different_texts(first, second, {criterion for criterion, _ in common})
    common = [cell for cell in common if cell[0] not in different]
    if not common:
        raise DataError(_only_different(first.name, second.name, different))
    notes = [
        f"{', '.join(missing)} is judged only in {name} and not compared."
        for name, first_cells, second_cells in (
            (first.name, of_first, of_second),
            (second.name, of_second, of_first),
        )
        if (missing := _missing(first_cells, second_cells))
    ]
    notes += [
        f"{criterion} is not compared: {first.name} judges “{texts[0]}”, {second.name} judges “{texts[1]}”."
        for criterion, texts in different.items()
    ]
    tables: dict[str, ComparisonTable] = {}
    for criterion, kind in common:
        first_cells, second_cells = of_first[criterion, kind], of_second[criterion, kind]
        protocol_pairs, unmatched = _protocol_pairs(first_cells, second_cells)
        if unmatched:
            notes.append(f"{criterion}: {unmatched}")
        suffix = " (choice)" if kind == "choices" and (criterion, "scores") in common else ""
        for protocols in protocol_pairs:
            prefix = f"{protocol_id(protocols[0])}/" if len(protocol_pairs) > 1 else ""
            for name, table in _tables_by_model(
                criterion, kind, protocols, (first, second), (first_cells, second_cells)
            ):
                tables[f"{prefix}{criterion}{suffix}{name}"] = table
    return tables, notes


def _by_criterion(view: RunView) -> Cells:
    """The results by criterion and kind, then by protocol."""
    cells: Cells = defaultdict(dict)
    for cell, results in view.cells().items():
        cells[cell.criterion, cell.kind][cell.protocol] = results
    return dict(cells)


def _different_texts(first: RunView, second: RunView, criteria: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Criteria that the users left without a name, and whose
    texts differ: they only share the protocol's name.
    """
    different = {}
    for criterion in criteria:
        texts = _unnamed_texts(first, criterion), _unnamed_texts(second, criterion)
        if texts[0] and texts[1] and not set(texts[0]) & set(texts[1]):
            different[criterion] = (texts[0][0], texts[1][0])
    return different


def _unnamed_texts(view: RunView, criterion: str) -> list[str]:
    return [
        protocol.words_of(criterion)
        for protocol in view.protocols.values()
        if criterion in protocol.criteria and protocol.words_of(criterion) and not protocol.is_named
    ]


def _only_different(first: str, second: str, different: dict[str, tuple[str, str]]) -> str:
    criterion, texts = next(iter(different.items()))
    return (
        f"{first} and {second} have no criterion in common: both call it '{criterion}', but {first} judges "
        f"“{texts[0]}” and {second} judges “{texts[1]}”.\n"
        "Where both mean the same, give it the same name in both runs: --criterion NAME=TEXT."
    )


def _missing(cells: Cells, other_cells: Cells) -> list[str]:
    names = {criterion for criterion, _ in other_cells}
    return list(dict.fromkeys(criterion for criterion, _ in cells if criterion not in names))


def _no_common_criterion(first: str, first_cells: Cells, second: str, second_cells: Cells) -> str:
    def criteria(cells: Cells) -> str:
        return ", ".join(f"{criterion} ({kind})" for criterion, kind in cells)

    return (
        f"{first} and {second} have no criterion in common: {first} judged {criteria(first_cells)}; "
        f"{second} judged {criteria(second_cells)}.\nCriteria are matched by name. Rename one in its "
        "protocol or rubric, if they mean the same."
    )


def _protocol_pairs(
    first: dict[str, list[Result]], second: dict[str, list[Result]]
) -> tuple[list[tuple[str, str]], str]:
    """The protocols to compare with each other, and a note on those without a counterpart."""
    by_id = {protocol_id(name): name for name in second}
    pairs = [(name, by_id[protocol_id(name)]) for name in first if protocol_id(name) in by_id]
    rest_first = [name for name in first if name not in {pair[0] for pair in pairs}]
    rest_second = [name for name in second if name not in {pair[1] for pair in pairs}]
    if len(rest_first) == len(rest_second) == 1:
        return [*pairs, (rest_first[0], rest_second[0])], ""
    unmatched = [protocol_id(name) for name in (*rest_first, *rest_second)]
    if not pairs and unmatched:
        raise DataError(
            f"One criterion is judged by several protocols ({', '.join(unmatched)}), and none is in "
            "both runs: it is not clear which to compare with which. Compare runs of one protocol "
            "each."
        )
    return (
        pairs,
        f"{', '.join(unmatched)} has no counterpart in the other run and is not compared."
        if unmatched
        else "",
    )


def _tables_by_model(
    criterion: str,
    kind: Kind,
    protocols: tuple[str, str],
    views: tuple[RunView, RunView],
    cells: tuple[dict[str, list[Result]], dict[str, list[Result]]],
) -> list[tuple[str, ComparisonTable]]:
    """A table for each model in both runs, or a single table of each run's only or pooled judge."""
    first_models, second_models = (
        results_by_model(cell[name]) for name, cell in zip(protocols, cells, strict=True)
    )
    known = [view.scale(name, criterion) for view, name in zip(views, protocols, strict=True)]
    scales = known[0] or inferred(cells[0][protocols[0]]), known[1] or inferred(cells[1][protocols[1]])
    common = [model for model in first_models if model in second_models]
    if len(first_models) == len(second_models) == 1 or not common:
        table = _comparison_table(criterion, kind, protocols, scales, views, (first_models, second_models))
        return [("", table)]
    unmatched = [model for model in (*first_models, *second_models) if model not in common]
    notes = (f"{', '.join(unmatched)} judged in only one run and is not compared.",) if unmatched else ()
    tables = []
    for model in common:
        table = _comparison_table(
            criterion,
            kind,
            protocols,
            scales,
            views,
            ({model: first_models[model]}, {model: second_models[model]}),
        )
        name = f" · {model}" if len(common) > 1 else ""
        tables.append((name, structs.replace(table, notes=(*table.notes, *notes))))
    return tables


def _comparison_table(
    criterion: str,
    kind: Kind,
    protocols: tuple[str, str],
    scales: tuple[Scale | None, Scale | None],
    views: tuple[RunView, RunView],
    models: tuple[dict[str, list[Result]], dict[str, list[Result]]],
) -> ComparisonTable:
    notes: list[str] = []
    results = [[row for rows in by_model.values() for row in rows] for by_model in models]
    is_shared = any(_shares_ids(rows) for rows in results)
    judged = [_one_per_item(rows, with_system=is_shared) for rows in results]
    for view, by_model, (_, n_partial) in zip(views, models, judged, strict=True):
        if len(by_model) > 1:
            how = "mean" if kind == "scores" else "majority"
            partial_note = f"; not all of them answered on {n_partial} items" if n_partial else ""
            notes.append(
                f"{view.name} counts as the {how} of its judges {', '.join(by_model)}{partial_note}."
            )
    (first, _), (second, _) = judged
    shared = [key for key in first if key in second]
    rows = (
        _compared_choices(first, second, shared)
        if kind == "choices"
        else [_compared_scores(first[key], second[key]) for key in shared]
    )
    if views[0].digests and views[1].digests:
        rows = [
            structs.replace(row, is_same=_has_same_replies(row.item, views, protocols, models))
            for row in rows
        ]
    subjects = [{row.subject is not None for row in rows_of_run} for rows_of_run in results]
    if not shared and subjects[0] != subjects[1]:
        notes.append("one run has a score for each response of a pair, the other has one for both together")
    renamed = sum(row.systems[0] != row.systems[1] for row in rows)
    if renamed and kind == "scores":
        notes.append(
            f"{renamed} of {len(rows)} items have a different system name in {views[1].name}: items "
            "are matched by id, not by system."
        )
    names = [next(iter(by_model)) if len(by_model) == 1 else f"{len(by_model)} judges" for by_model in models]
    return ComparisonTable(
        criterion, kind, protocols, (names[0], names[1]), scales, tuple(rows), len(first) - len(shared),
        len(second) - len(shared), tuple(notes), any(row.group is not None for row in rows),
    )  # fmt: skip


def _has_same_replies(
    item: str,
    views: tuple[RunView, RunView],
    protocols: tuple[str, str],
    models: tuple[Iterable[str], Iterable[str]],
) -> bool:
    """Whether the compared models got the same calls and gave the same replies."""
    digests = []
    for view, name, compared in zip(views, protocols, models, strict=True):
        digests_by_model = view.digests.get((item, name), {})
        # A pooled judge has no digest under its name: then all models count.
        digests.append(
            {model: digests_by_model[model] for model in compared if model in digests_by_model}
            or dict(digests_by_model)
        )
    return bool(digests[0]) and digests[0] == digests[1]


def _shares_ids(results: Sequence[Result]) -> bool:
    """Whether an id is used for the outputs of several systems, as in scores from elsewhere."""
    keys = {(row.item, row.subject) for row in results}
    return len(keys) < len(results) and len(keys) < len(
        {(row.item, row.subject, row.system) for row in results}
    )


ItemKey = tuple[str, Subject | None, str]
"""item, subject, and the system where systems share ids"""


def _one_per_item(results: Sequence[Result], *, with_system: bool) -> tuple[dict[ItemKey, Result], int]:
    """One result for each item, pooled where it has several, and on how many not all judges answered."""
    keys = [(row.item, row.subject, row.system if with_system else "") for row in results]
    single = dict(zip(keys, results, strict=True))
    if len(single) == len(results):
        return single, 0
    by_item: dict[ItemKey, list[Result]] = defaultdict(list)
    for key, row in zip(keys, results, strict=True):
        by_item[key].append(row)
    n_partial = sum(len({row.status == "ok" for row in rows}) > 1 for rows in by_item.values())
    return {key: pooled_result(rows) for key, rows in by_item.items()}, n_partial


def _compared_scores(first: Result, second: Result) -> ComparedItem:
    systems = first.system, second.system
    return ComparedItem(
        first.item,
        systems[0] if systems[0] == systems[1] else f"{systems[0]} → {systems[1]}",
        systems,
        _group(first, second),
        first.value,
        second.value,
        first.subject,
    )


def _group(first: Result, second: Result) -> str | None:
    group = second.group if second.group is not None else first.group
    # The two responses of a pair are not independent.
    return f"pair {first.item}" if group is None and first.subject is not None else group


def _compared_choices(
    first: dict[ItemKey, Result],
    second: dict[ItemKey, Result],
    shared: Iterable[ItemKey],
) -> list[ComparedItem]:
    """Pairs of the same two systems in one order, whichever of the two an item calls a."""
    frames: dict[frozenset[str], tuple[str, str]] = {}
    rows = []
    for key in shared:
        first_result, second_result = first[key], second[key]
        first_pair, second_pair = systems_of_pair(first_result), systems_of_pair(second_result)
        if set(first_pair) != set(second_pair):
            # The names differ, so only a and b can be compared.
            names = f"{first_pair[0]} vs {first_pair[1]}", f"{second_pair[0]} vs {second_pair[1]}"
            rows.append(
                ComparedItem(
                    first_result.item,
                    " → ".join(names),
                    names,
                    _group(first_result, second_result),
                    first_result.choice,
                    second_result.choice,
                )
            )
            continue
        frame = frames.setdefault(frozenset(first_pair), first_pair)
        name = f"{frame[0]} vs {frame[1]}"
        answers = (
            swapped(first_result.choice, first_pair != frame),
            swapped(second_result.choice, second_pair != frame),
        )
        rows.append(
            ComparedItem(
                first_result.item,
                name,
                (name, name),
                _group(first_result, second_result),
                *answers,
                is_swapped=first_pair != frame,
            )
        )
    return rows


def swapped(choice: Choice | None, is_swapped: bool) -> Choice | None:
    return _SWAPPED[choice] if choice is not None and is_swapped else choice
