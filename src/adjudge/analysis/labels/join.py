"""Joins a judge's results with human labels, item by item. Nothing is estimated here."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import structs

from ...errors import DataError, problem_list
from ...records import Choice, Label, Result, Scale, Subject
from ...results.combine import Kind, majority
from ..run_view.criteria import criterion_names
from ..run_view.result_facts import as_number, systems_of_pair
from ..run_view.run_view import Attributes, CellKey, PanelScores, RunView, SampleKey
from .labelled import Answer, LabelledItem, LabelledTable
from .other_scale import on_scale, other_range
from .unusable_labels import how_ids_differ

_NONE: Mapping[str, float | str] = {}
"""one for all items without attributes"""


def with_criterion(view: RunView, labels: Sequence[Label]) -> Sequence[Label]:
    """The labels; those of a file without a column `criterion`
    get the name of the only criterion that was judged.
    """
    if all(label.criterion for label in labels):
        return labels
    names = sorted({result.criterion for result in view.results})
    if len(names) != 1:
        raise DataError(
            f"The labels name no criterion, and the judge has {len(names)}: {', '.join(names)}. "
            "Add a column 'criterion' to the file of labels."
        )
    return [label if label.criterion else structs.replace(label, criterion=names[0]) for label in labels]


def join(view: RunView, labels: Sequence[Label]) -> dict[str, LabelledTable]:
    """One table for each judge and criterion, by the name that the card shows."""
    labels = with_criterion(view, labels)
    results_by_judge: dict[tuple[CellKey, str], list[Result]] = {}
    for cell, results in view.cells().items():
        for result in results:
            results_by_judge.setdefault((cell, result.model), []).append(result)
    if not results_by_judge:
        raise DataError(
            "There are no results to compare with labels. Check that the run has judged something."
        )
    names = criterion_names((cell.protocol, cell.criterion) for cell, _ in results_by_judge)
    n_models = len({model for _, model in results_by_judge})
    tables = {}
    for (cell, model), results in results_by_judge.items():
        name = names[cell.protocol, cell.criterion]
        if cell.kind == "choices" and (cell._replace(kind="scores"), model) in results_by_judge:
            name += " (choice)"
        if n_models > 1:
            name += f" · {model}"
        scale = view.scale(cell.protocol, cell.criterion) if cell.kind == "scores" else None
        criterion_labels = [label for label in labels if label.criterion == cell.criterion]
        if scale is not None and scale.is_nominal:
            tables[name] = _class_table(results, criterion_labels, scale, view.attributes)
            continue
        tables[name] = _labelled_table(
            results, criterion_labels, cell.kind, scale, view.samples, view.attributes
        )
        if view.panel:
            tables[name] = _with_judges(tables[name], view.panel)
    return tables


def _with_judges(table: LabelledTable, panel: PanelScores) -> LabelledTable:
    """The table with the score of each judge of a panel."""
    key = table.protocol, table.criterion

    def scores(row: LabelledItem) -> Mapping[str, float | None]:
        return panel.get((*key, row.item, row.subject, table.kind), {})

    rows = tuple(structs.replace(row, by_judge=scores(row)) for row in table.rows)
    return structs.replace(table, rows=rows)


def _class_table(
    results: Sequence[Result], labels: Sequence[Label], scale: Scale, attributes: Attributes
) -> LabelledTable:
    """The table of a criterion whose values are classes: answers and labels by their names."""
    first = results[0]
    named = [
        structs.replace(label, value=name)
        for label in labels
        if (name := _class_name(label.value, scale)) is not None
    ]
    notes = []
    if len(named) < len(labels):
        n_unknown = len(labels) - len(named)
        notes.append(
            f"{n_unknown} of {len(labels)} labels are none of {', '.join(scale.classes)}, and not used."
        )
    raters = tuple(sorted({label.rater for label in named}))
    labels_of_item: dict[tuple[str, str | None], dict[str, Label]] = defaultdict(dict)
    for label in named:
        labels_of_item[label.item, label.subject][label.rater] = label
    rows = []
    for result in results:
        of_item = labels_of_item.get((result.item, result.subject), {})
        row = _labelled_item(result, of_item, raters, (), attributes.get(result.item, {}))
        rows.append(structs.replace(row, answer=result.label, label=_class_label(row.ratings)))
    n_split = sum(row.label is None and any(row.ratings) for row in rows)
    if n_split:
        notes.append(f"{n_split} items have no label, because two classes have as many raters.")
    n_unknown = len(labels_of_item.keys() - {(row.item, row.subject) for row in rows})
    notes += _unmatched_notes(rows, labels_of_item, n_unknown)
    return LabelledTable(
        first.criterion, first.protocol, first.model, "choices", scale, raters, tuple(rows), n_unknown, True,
        tuple(notes), scale.classes,
    )  # fmt: skip


def _class_name(value: Answer, scale: Scale) -> str | None:
    """The class that a label names, or whose number it is."""
    if not isinstance(value, str):
        return scale.names.get(value)
    return next((name for name in scale.classes if name.casefold() == value.strip().casefold()), None)


def _class_label(ratings: Sequence[Answer | None]) -> str | None:
    """The class that most raters chose; none where two have as many."""
    counts = Counter(rating for rating in ratings if isinstance(rating, str)).most_common(2)
    is_tied = len(counts) == 2 and counts[0][1] == counts[1][1]
    return counts[0][0] if counts and not is_tied else None


def _labelled_table(
    results: Sequence[Result],
    labels: Sequence[Label],
    kind: Kind,
    scale: Scale | None,
    samples: Mapping[SampleKey, tuple[float, ...]],
    attributes: Attributes,
) -> LabelledTable:
    first = results[0]
    usable = [label for label in labels if isinstance(label.value, str) == (kind == "choices")]
    notes = []
    if len(usable) < len(labels) and not usable:
        label_kind = "choices (a, b, tie)" if kind == "scores" else "numbers"
        notes.append(f"The labels are {label_kind}, but the judge gave {kind}: they cannot be compared.")
    usable, is_same_scale, scale_notes = on_scale(usable, scale)
    if scale is None and kind == "scores" and (note := other_range(results, usable)):
        is_same_scale, scale_notes = False, [note]
    raters = tuple(sorted({label.rater for label in usable}))
    single, repeated, merge_notes = _one_per_item(results)
    labels_of_item: dict[tuple[str, str | None], dict[str, Label]] = defaultdict(dict)
    for label in usable:
        labels_of_item[label.item, label.subject][label.rater] = label
    rows = tuple(
        _labelled_item(
            result,
            labels_of_item.get((result.item, result.subject), {}),
            raters,
            repeated.get((result.item, result.subject)) or samples.get((*_result_key(result), kind), ()),
            _attributes_of_row(attributes.get(result.item, _NONE), result.subject, kind),
        )
        for result in single
    )
    judged = {(row.item, row.subject) for row in rows}
    n_unknown = len(labels_of_item.keys() - judged)
    notes += [*scale_notes, *merge_notes, *_unmatched_notes(rows, labels_of_item, n_unknown)]
    if raters and kind == "choices" and len(raters) > 1:
        notes.append("The label of a pair is the majority of its raters, or a tie if there is none.")
    return LabelledTable(
        first.criterion, first.protocol, first.model, kind, scale, raters, rows, n_unknown, is_same_scale,
        tuple(notes),
    )  # fmt: skip


def _result_key(result: Result) -> tuple[str, str, str, str, Subject | None]:
    return result.protocol, result.criterion, result.model, result.item, result.subject


Repeated = dict[tuple[str, str | None], tuple[float, ...]]


def _one_per_item(results: Sequence[Result]) -> tuple[list[Result], Repeated, list[str]]:
    """One result per item and subject. Scores from elsewhere
    may have several: their mean counts, the values are kept.
    """
    by_item: dict[tuple[str, str | None], list[Result]] = defaultdict(list)
    for result in results:
        by_item[result.item, result.subject].append(result)
    duplicates = {key: rows for key, rows in by_item.items() if len(rows) > 1}
    if not duplicates:
        return list(results), {}, []
    problems = [
        f"item '{item}' belongs to systems {', '.join(sorted({row.system for row in rows}))}: a "
        "label of it could mean either. Give each output its own id."
        for (item, _), rows in duplicates.items()
        if len({row.system for row in rows}) > 1
    ]
    if problems:
        raise DataError(problem_list("scores", problems))
    single = [_pooled_samples(rows) if len(rows) > 1 else rows[0] for rows in by_item.values()]
    repeated = {
        key: tuple(
            as_number(answer)
            for row in rows
            if (answer := row.choice if row.choice is not None else row.value) is not None
        )
        for key, rows in duplicates.items()
    }
    note = f"{len(duplicates)} items have several scores from one judge: their mean (or majority) counts."
    return single, repeated, [note]


def _pooled_samples(rows: Sequence[Result]) -> Result:
    values = [row.value for row in rows if row.value is not None]
    choices = [row.choice for row in rows if row.choice is not None]
    failed = sum(row.n_failed for row in rows)
    mean = math.fsum(values) / len(values) if values else None
    choice = majority(choices) if choices else None
    return structs.replace(
        rows[0],
        value=mean,
        choice=choice,
        status="ok" if values or choices else rows[0].status,
        n_samples=sum(row.n_samples for row in rows),
        n_failed=failed,
    )


def _labelled_item(
    result: Result,
    labels: Mapping[str, Label],
    raters: Sequence[str],
    samples: tuple[float, ...],
    attributes: Mapping[str, float | str],
) -> LabelledItem:
    ratings: tuple[Answer | None, ...] = (None,) * len(raters)
    label, probability = None, None
    if labels:  # most items have none
        ratings = tuple(labels[rater].value if rater in labels else None for rater in raters)
        label = label_of([rating for rating in ratings if rating is not None])
        probabilities = {label.probability for label in labels.values()}
        probability = probabilities.pop() if len(probabilities) == 1 else None
    # The two responses of a pair are not independent.
    group = result.group if result.group is not None or result.subject is None else f"pair {result.item}"
    return LabelledItem(
        item=result.item,
        subject=result.subject,
        system=result.system,
        systems=systems_of_pair(result),
        group=group,
        status=result.status,
        answer=result.choice if result.choice is not None else result.value,
        ratings=ratings,
        label=label,
        probability=probability,
        confidence=result.confidence,
        probabilities=result.probabilities,
        spread=result.spread,
        samples=samples,
        n_samples=result.n_samples,
        n_samples_failed=result.n_failed,
        has_order_conflict="order_conflict" in result.flags,
        attributes=attributes,
    )


def _attributes_of_row(
    attributes: Mapping[str, float | str], subject: Subject | None, kind: Kind
) -> Mapping[str, float | str]:
    """The attributes of one row: the length of the response
    that it is about; of a choice, which response is longer.
    """
    if "length_a" not in attributes and "length_b" not in attributes:
        return attributes
    lengths = {side: attributes.get(f"length_{side}") for side in ("a", "b")}
    row = {name: value for name, value in attributes.items() if name not in ("length_a", "length_b")}
    if subject is not None and (length := lengths[subject]) is not None:
        row["length"] = length
    first, second = (as_float(lengths[side]) for side in ("a", "b"))
    if kind == "choices" and first is not None and second is not None:
        row["longer"] = "same length" if first == second else "a" if first > second else "b"
    return row


def as_float(value: float | str | None) -> float | None:
    """A number, or a text that is one; none for other texts."""
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def label_of(ratings: Sequence[Answer]) -> Answer | None:
    """The label of an item from its ratings: the mean of numbers, the majority of choices."""
    if not ratings:
        return None
    choices = [cast("Choice", answer) for answer in ratings if isinstance(answer, str)]
    if choices:
        return majority(choices)
    # Rounded, because equal means must not differ by the order of the sum: they would get different ranks.
    return round(math.fsum(answer for answer in ratings if not isinstance(answer, str)) / len(ratings), 12)


def _unmatched_notes(
    rows: Sequence[LabelledItem], labels: Mapping[tuple[str, str | None], object], n_unknown: int
) -> list[str]:
    """Notes on labelled items that were not judged."""
    if not n_unknown:
        return []
    (item, subject), row = next(iter(labels)), rows[0]
    if n_unknown < len(labels):
        return [f"{n_unknown} of {len(labels)} labelled items were not judged: their labels are not used."]
    if any(row.item == item for row in rows):
        subjects = "a subject (a or b)" if row.subject is not None else "no subject"
        return [f"No label matches a judged item: the judge's scores have {subjects}, unlike the labels."]
    label_item = f"'{item}'" + (f" ({subject})" if subject else "")
    none_of = f"None of the {len(labels)} labelled items" if len(labels) > 1 else "The only labelled item"
    verb = "was judged" if len(labels) > 1 else "was not judged"
    return [
        f"{none_of} {verb}: the labels name items like {label_item}, but the judged items are like "
        f"'{row.item}'. {how_ids_differ(item, row.item)}"
    ]
