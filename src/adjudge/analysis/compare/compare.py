"""`adjudge.compare`: the same items in two runs, or in any
two sets of results; every difference is second - first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from ...data import LabelFile
from ...engine import Run
from ...errors import DataError
from ...records import Label, Result, Scale
from ...stats import adjusted
from ...store import open_store
from ...words import count
from ..about import about_note
from ..labels.in_store import labels_in_store
from ..labels.join import with_criterion
from ..labels.judged_texts import of_judged_texts, other_texts_note
from ..labels.labelled import number_or_none
from ..labels.read import read_labels_for
from ..run_view.criteria import by_criterion
from ..run_view.given_results import view_of_results
from ..run_view.run_view import RunView, fake_note
from ..run_view.tabulate import tabulate
from .comparison import Comparison, CriterionComparison
from .conclusion import conclusion_of
from .equivalence import check_margin, with_equivalence
from .match import ComparisonTable, match
from .moved_items import Labels, labels_by_cell, moved_items, people_side
from .paired_scores import by_system, compare_system, rank_agreement, score_pairs
from .run_changes import changed_texts, judging_changes, text_changes
from .same_input import with_ids_of_inputs
from .scaling import Scaling, choose_scaling
from .sentences import Runs, criterion_sentences, summary
from .system_order import system_order
from .these_items import comparison_of_these_items


def _comparable(
    first: RunView, second: RunView, more_notes: Sequence[str]
) -> tuple[dict[str, ComparisonTable], list[str]]:
    """The criteria that both runs scored, and notes on what is left out."""
    tables, notes = match(first, second)
    notes += [note for note in more_notes if note]
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
    different_texts: bool = False,
    matched: Collection[str] = (),
    margin: float | None = None,
    labels_note: str = "",
) -> Comparison:
    """Compare two runs, criterion by criterion; with labels also whose side people take.

    `different_texts` pairs items without an id in their file that have the same input; `matched` are those
    that the caller has paired so. `margin`: see `compare`. `labels_note` says how many labels were left out.
    """
    check_margin(margin)
    first, second = _with_own_names(first, second)
    if different_texts:
        second, matched = with_ids_of_inputs(second, first)
    else:
        _refuse_line_numbers(first, second, matched)
    about = about_note("Means and differences") if is_finite else ""
    tables, notes = _comparable(first, second, (labels_note, about))
    n_differs, fields = changed_texts(first.contents, second.contents)
    changed = judging_changes(first, second, tables)
    runs = Runs(first.name, second.name, bool(n_differs), any(change.is_of_judging for change in changed))
    # Texts that differ have different labels, and a label does not say which text it is of.
    by_cell = {} if n_differs or not labels else labels_by_cell(with_criterion(first, labels))
    if n_differs and labels:
        notes.append("Human labels are not used: the texts differ, and a label belongs to one of two texts.")
    cards = {name: _criterion(table, runs, seed, by_cell) for name, table in tables.items()}
    cards = {name: comparison_of_these_items(card) if is_finite else card for name, card in cards.items()}
    cards = _with_sentences(with_equivalence(_with_adjusted_p(cards), margin), runs)
    ids = [{result.item for result in side.results} for side in (first, second)]
    return Comparison(
        summary=(*_other_texts(runs, n_differs, len(ids[0] & ids[1]), bool(matched)), *summary(cards, runs)),
        first=first.name,
        second=second.name,
        criteria=cards,
        changed=tuple(
            change.text for change in (*changed, *text_changes(n_differs, fields, len(ids[0] & ids[1])))
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


def _with_own_names(first: RunView, second: RunView) -> tuple[RunView, RunView]:
    if first.name != second.name:
        return first, second
    return (
        structs.replace(first, name=f"{first.name} (1)"),
        structs.replace(second, name=f"{second.name} (2)"),
    )


def _refuse_line_numbers(first: RunView, second: RunView, matched: Collection[str]) -> None:
    """`DataError` where a line number stands for different texts: the file may have been sorted anew."""
    by_line = (first.line_ids | second.line_ids) - set(matched)
    before, after = first.contents or {}, second.contents or {}
    differing = [name for name in before if name in by_line and after.get(name, before[name]) != before[name]]
    if not differing:
        return
    run = first.name if differing[0] in first.line_ids else second.name
    raise DataError(
        f"{first.name} and {second.name} cannot be paired: the items of {run} are named by their lines, and"
        f" {count(len(differing), 'item')} with the same line {'has' if len(differing) == 1 else 'have'}"
        f" different texts (item '{differing[0]}').\nJudge the items with ids (--map id=COLUMN), or pair"
        " items that have the same input: --different-texts."
    )


def _other_texts(runs: Runs, n_differs: int | None, n_items: int, is_by_input: bool) -> tuple[str, ...]:
    """The first sentence where the runs judged different texts."""
    if not n_differs:
        return ()
    names, n_common = f"{runs.first} and {runs.second}", count(n_items, "common item")
    if is_by_input:
        return (f"{names} judged different texts, paired by input: {n_differs:,} of {n_common} differ.",)
    return (f"{names} judged different texts under the same ids: {n_differs:,} of {n_common} differ.",)


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
        agreement=rank_agreement(table, scaling, pairs),
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
        concluded = structs.replace(card, conclusion=conclusion_of(card))
        with_sentences[name] = structs.replace(
            concluded, sentences=criterion_sentences(name, concluded, runs)
        )
    return with_sentences


def _item_notes(ids: list[set[str]], first: RunView, second: RunView) -> list[str]:
    only = [(first.name, len(ids[0] - ids[1])), (second.name, len(ids[1] - ids[0]))]
    return [
        (
            f"{count(n, 'item')} of {name} is not in the other run and not compared."
            if n == 1
            else f"{n:,} items of {name} are not in the other run and not compared."
        )
        for name, n in only
        if n
    ]


def _no_common_item(first: RunView, second: RunView) -> str:
    first_id, second_id = first.results[0].item, second.results[0].item
    advice = "Items are matched by id: give two versions of one text the same id."
    if first.input_keys and second.input_keys:
        advice = (
            "Items without an id are named by their content, so another text is another item. To pair two "
            "outputs for the same input: --different-texts."
        )
    return (
        f"{first.name} and {second.name} have no item in common: {first.name} judged items like "
        f"'{first_id}', {second.name} items like '{second_id}'.\n{advice}"
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
        f"{name} has labels without an order, so there are no differences: {same} of {len(both)} "
        f"items have the same label in both runs, {failed} failed in one of them."
    )


def compare(
    first: Run | Iterable[Result],
    second: Run | Iterable[Result],
    *,
    scales: Mapping[str, Scale] | None = None,
    names: tuple[str, str] = ("first", "second"),
    labels: str | Path | Sequence[Label] | None = None,
    seed: int = 0,
    different_texts: bool = False,
    margin: float | None = None,
) -> Comparison:
    """The same items judged twice: paired differences (second - first), rank agreement, and whether a
    conclusion changes.

    The scales of a run are known; for other results `scales` gives them by criterion, and `names` gives them
    names. `labels` say whose side people take: a file or a list; for runs the default is the labels in their
    stores. `different_texts` pairs two outputs for the same input where the items have no ids. `margin`
    is the difference that does not matter, for the verdict on equivalence.
    """
    views = [_view(source, name, scales) for source, name in zip((first, second), names, strict=True)]
    known = _labels_about([source for source in (first, second) if isinstance(source, Run)], views, labels)
    return compare_views(
        views[0],
        views[1],
        seed,
        known.labels,
        different_texts=different_texts,
        margin=margin,
        labels_note=other_texts_note(known),
    )


def _labels_about(
    runs: Sequence[Run], views: Sequence[RunView], given: str | Path | Sequence[Label] | None
) -> LabelFile:
    """The given labels, or those in the stores of the runs, without labels of texts that were not judged."""
    if isinstance(given, str | Path):
        labels = read_labels_for(views, given)
    elif given is not None:
        labels = LabelFile(tuple(given))
    else:
        stored: dict[Label, None] = {}
        for run in runs:
            with open_store(run.store, write=False) as store:
                stored |= dict.fromkeys(labels_in_store(store, store.run(run.name)))
        labels = LabelFile(tuple(stored))
    for run in runs:
        with open_store(run.store, write=False) as store:
            labels = of_judged_texts(store, [store.run(run.name)], labels)
    return labels


def _view(source: Run | Iterable[Result], name: str, scales: Mapping[str, Scale] | None) -> RunView:
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            return tabulate(store, store.run(source.name), for_comparison=True)
    if isinstance(source, str):
        raise DataError(
            f"'{source}' is a string. Give a Run, or results: adjudge.compare(run_a, run_b).\n"
            f"Runs in a store are compared by their names on the command line: adjudge compare {source} RUN_B"
        )
    return view_of_results(source, by_criterion(scales), name, with_tally=False)
