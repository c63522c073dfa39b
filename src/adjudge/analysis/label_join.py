"""Joins a judge's results with human labels, item by item. Nothing is estimated here.

Several raters of an item become one label: the mean of numbers, the majority of choices (a tie where there is none).
Items without a label stay in the table, because corrected means need them. Reviews of disagreements change labels here.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct, structs

from ..combine import Kind, majority
from ..data import LabelFile, read_labels
from ..engine import protocols_of
from ..errors import DataError, listed
from ..records import Choice, Label, Result, Review, Scale, Status, Subject
from ..store import open_store
from .result_types import ReviewTally
from .run_view import Attributes, CellKey, RunView, SampleKey, as_number, cluster_of, criterion_names
from .tally import systems_of_pair

Answer = float | str
FEW_OFF_SCALE = 0.05
"""Up to this share, labels off the scale count as typing errors; above it, as labels on another scale."""


class LabelledItem(Struct, frozen=True):
    """One judged item with its labels."""

    item: str
    subject: Subject | None
    system: str
    systems: tuple[str, str]
    """for a pair: the systems behind a and b"""
    group: str | None
    status: Status
    answer: Answer | None
    """the judge's score or choice; none where it failed"""
    ratings: tuple[Answer | None, ...] = ()
    """one for each rater; none where the rater did not rate the item"""
    label: Answer | None = None
    probability: float | None = None
    confidence: float | None = None
    probabilities: Mapping[str, float] = {}
    """answer → probability; empty where the judge gives none"""
    spread: float | None = None
    samples: tuple[float, ...] = ()
    """the single values behind `answer`, where the item was judged several times; for choices see `as_number`"""
    n_samples: int = 0
    n_samples_failed: int = 0
    has_order_conflict: bool = False
    """whether the choice is a tie because it changed with the order shown"""
    attributes: Mapping[str, float | str] = {}
    """what agreement can be shown by: fields of the item, the `length` of the response, which response is `longer`"""


About = Literal["new-inputs", "these-items"]
"""What a number is about: inputs like these, known through the groups; or these items, of which the labels are a sample."""


class LabelledTable(Struct, frozen=True):
    """All items of one judge and criterion."""

    criterion: str
    protocol: str
    model: str
    kind: Kind
    scale: Scale | None
    raters: tuple[str, ...]
    rows: tuple[LabelledItem, ...]
    n_unknown: int
    """labelled items that were not judged"""
    is_same_scale: bool
    """whether a judge's 4 and a person's 4 mean the same"""
    notes: tuple[str, ...]
    classes: tuple[str, ...] = ()
    """the names of classes without an order; answers and labels are then names, and `kind` is choices"""
    about: About = "new-inputs"
    """what corrected means and differences are about"""

    def labelled(self) -> list[LabelledItem]:
        return [row for row in self.rows if row.label is not None]

    def rated(self) -> list[LabelledItem]:
        """The items that people have rated. A class needs a majority to be the label of an item; numbers always have a mean."""
        return [row for row in self.rows if any(rating is not None for rating in row.ratings)]

    def has_groups(self) -> bool:
        return any(row.group is not None for row in self.rows)

    def groups(self, rows: Sequence[LabelledItem]) -> list[str] | None:
        """The cluster of each row, or none where all items are independent."""
        return [cluster_of(row.group, row.item) for row in rows] if self.has_groups() else None


def number_or_none(answer: Answer | None) -> float | None:
    """A score as a number; none for a choice or a missing answer."""
    return None if answer is None or isinstance(answer, str) else float(answer)


def numbers(answers: Iterable[Answer | None]) -> list[float | None]:
    """The scores as numbers; none for choices and missing answers."""
    return [number_or_none(answer) for answer in answers]


def choices(answers: Iterable[Answer | None]) -> list[str | None]:
    """The choices; none for scores and missing answers."""
    return [answer if isinstance(answer, str) else None for answer in answers]


def with_criterion(view: RunView, labels: Sequence[Label]) -> Sequence[Label]:
    """The labels; those of a file without a column `criterion` get the name of the only criterion that was judged."""
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
    return tables


def read_labels_for(
    views: Sequence[RunView], path: str | Path, renames: Mapping[str, str] | None = None
) -> LabelFile:
    """The labels of a file about these runs, whose classes it may name."""
    scales = [scale for view in views for scale in view.scales.values() if scale is not None]
    return read_labels(
        path, renames, tuple(dict.fromkeys(name for scale in scales for name in scale.classes))
    )


def read_labels_of_store(store: Path, path: Path) -> LabelFile:
    """The labels of a file about any run of a store."""
    with open_store(store, write=False) as opened:
        protocols = [protocol for run in opened.runs() for protocol in protocols_of(opened, run).values()]
    scales = [scale for protocol in protocols for scale in protocol.criteria.values() if scale is not None]
    return read_labels(path, classes=tuple(dict.fromkeys(name for scale in scales for name in scale.classes)))


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
    usable, is_same_scale, scale_notes = _on_scale(usable, scale)
    if scale is None and kind == "scores" and (note := _other_range(results, usable)):
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
            _attributes_of_row(attributes.get(result.item, {}), result.subject, kind),
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


def _on_scale(labels: list[Label], scale: Scale | None) -> tuple[list[Label], bool, list[str]]:
    """The usable labels, whether they are on the judge's scale, and notes on the others."""
    if scale is None or not labels:
        return labels, True, []
    if scale.low is None or scale.high is None:
        note = (
            "The judge's scores are unbounded (likelihoods), and the labels are on a different scale: correlations and "
            "corrected means are valid, in the unit of the labels; agreement, kappa and bias have no meaning."
        )
        return labels, False, [note]
    low, high = scale.low, scale.high
    off_scale = [
        label for label in labels if not isinstance(label.value, str) and not low <= label.value <= high
    ]
    if not off_scale:
        return labels, True, []
    ends = f"{low:g} to {high:g}"
    if len(off_scale) <= FEW_OFF_SCALE * len(labels):
        shown = ", ".join(f"{label.item} = {label.value}" for label in off_scale[:3])
        note = f"{len(off_scale)} of {len(labels)} labels are off the scale {ends} and not used ({shown}). Correct them."
        return [label for label in labels if label not in off_scale], True, [note]
    note = (
        f"{len(off_scale)} of {len(labels)} labels are off the scale {ends}, so the labels are assumed to be on a different scale. "
        "Correlations and corrected means are valid, in the unit of the labels; agreement, kappa and bias have no meaning."
    )
    return labels, False, [note]


def _other_range(results: Sequence[Result], labels: Sequence[Label]) -> str:
    """Why scores of an unknown scale cannot be on that of the labels; empty where they may be."""
    scores = [result.value for result in results if result.value is not None]
    values = [label.value for label in labels if not isinstance(label.value, str)]
    if not scores or not values or not _are_apart(scores, values):
        return ""
    return (
        f"The scores lie between {min(scores):g} and {max(scores):g}, the labels between {min(values):g} and {max(values):g}: "
        "two different scales. Correlations and corrected means are valid, in the unit of the labels; agreement, kappa and "
        "bias are not computed. If it is one scale, give it: --scale LOW,HIGH. To rescale the scores, add --label-scale LOW,HIGH."
    )


_TIMES = 2.0
"""How many times as far as the one the other range must reach to be on another scale."""
_TIMES_OF_FEW = 3.0
"""The same with few values: two of them may use only the lower half of 1 to 5."""
_MANY = 20


def _are_apart(scores: Sequence[float], labels: Sequence[float]) -> bool:
    small, large = sorted((scores, labels), key=max)
    if max(small) <= 1:
        # A scale from 1 may have been used at its lowest end alone.
        return max(large) >= _TIMES and min(small) < 1
    times = _TIMES if min(len(scores), len(labels)) >= _MANY else _TIMES_OF_FEW
    return max(large) >= times * max(small)


def _result_key(result: Result) -> tuple[str, str, str, str, Subject | None]:
    return result.protocol, result.criterion, result.model, result.item, result.subject


Repeated = dict[tuple[str, str | None], tuple[float, ...]]


def _one_per_item(results: Sequence[Result]) -> tuple[list[Result], Repeated, list[str]]:
    """One result per item and subject. Scores from elsewhere may have several: their mean counts, the values are kept."""
    by_item: dict[tuple[str, str | None], list[Result]] = defaultdict(list)
    for result in results:
        by_item[result.item, result.subject].append(result)
    duplicates = {key: rows for key, rows in by_item.items() if len(rows) > 1}
    if not duplicates:
        return list(results), {}, []
    problems = [
        f"item '{item}' belongs to systems {', '.join(sorted({row.system for row in rows}))}: a label of it could "
        "mean either. Give each output its own id."
        for (item, _), rows in duplicates.items()
        if len({row.system for row in rows}) > 1
    ]
    if problems:
        raise DataError(listed("scores", problems))
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
    ratings = tuple(labels[rater].value if rater in labels else None for rater in raters)
    probabilities = {label.probability for label in labels.values()}
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
        label=label_of([rating for rating in ratings if rating is not None]),
        probability=probabilities.pop() if len(probabilities) == 1 else None,
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
) -> dict[str, float | str]:
    """The attributes of one row: the length of the response that it is about; of a choice, which response is longer."""
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


# -- Reviews: what counts as the truth of a labelled item
#
# A review is about what a label is about: an item, a criterion, and for a pair one response. It changes a label, never which
# items are labelled, so that the labelled items stay the sample that was drawn: a review of an item without a label is
# not used.

Cell = tuple[str, str, Subject | None]
"""item, criterion, subject"""


REVIEW_COLUMNS: dict[str, type] = {
    "item": str, "criterion": str, "subject": str, "protocol": str, "model": str, "judge": str, "people": str,
    "verdict": str, "reviewer": str, "reason": str, "note": str, "made": str,
}  # fmt: skip
"""The columns of exported reviews. `judge` and `people` are the answers that the reviewer saw."""


def review_row(review: Review) -> dict[str, str | None]:
    """A review under the names of the export format; an answer is a text, since it may be a score or a choice."""

    def text(answer: Answer | None) -> str | None:
        return f"{answer:g}" if isinstance(answer, float | int) else answer

    row = {name: getattr(review, name, None) for name in REVIEW_COLUMNS}
    return {**row, "judge": text(review.answer), "people": text(review.label)}


_UNCLEAR = object()


def with_reviews(table: LabelledTable, reviews: Sequence[Review]) -> tuple[LabelledTable, ReviewTally | None]:
    """The table with reviewed labels in place of people's, and what changed; none where no review is about this criterion."""
    of_cell: dict[Cell, list[Review]] = defaultdict(list)
    for review in reviews:
        if review.criterion == table.criterion and _is_of_kind(review, table.kind):
            of_cell[review.item, review.criterion, review.subject].append(review)
    if not of_cell:
        return table, None
    counts: Counter[str] = Counter()
    rows = []
    for row in table.rows:
        found = of_cell.pop((row.item, table.criterion, row.subject), [])
        if not found:
            rows.append(row)
        elif row.label is None:
            counts["unlabelled"] += len(found)
            rows.append(row)
        else:
            settled, outcome = _settled(found, row.label, is_same_scale=table.is_same_scale)
            counts.update((outcome, "reviewed"))
            if any(review.reason == RANDOM for review in found):
                counts["random"] += 1
                counts["random_changed"] += outcome in ("changed", "unclear")
            rows.append(structs.replace(row, label=settled))
    tally = ReviewTally(
        n_labels=len(table.labelled()),
        n_reviewed=counts["reviewed"],
        n_changed=counts["changed"],
        n_confirmed=counts["confirmed"],
        n_unclear=counts["unclear"],
        n_split=counts["split"],
        n_unusable=counts["unusable"],
        n_unlabelled=counts["unlabelled"],
        n_random=counts["random"],
        n_random_changed=counts["random_changed"],
    )
    return structs.replace(table, rows=tuple(rows)) if tally.n_reviewed else table, tally


RANDOM = "random"
"""The reason of a review of a label that was drawn at random, whether judge and people agree or not."""


def _is_of_kind(review: Review, kind: Kind) -> bool:
    """Whether a review is of a score or of a choice, as the table is."""
    known = review.answer if review.answer is not None else review.label
    return known is None or isinstance(known, str) == (kind == "choices")


def _settled(reviews: Sequence[Review], label: Answer, *, is_same_scale: bool) -> tuple[Answer | None, str]:
    """The label after review, none where the item is unclear; and what happened. Most reviewers decide."""
    votes: Counter[object] = Counter()
    n_unusable = 0
    for review in reviews:
        if review.verdict == "unclear":
            votes[_UNCLEAR] += 1
        elif review.verdict != "judge":
            votes[label] += 1
        elif review.answer is None or not is_same_scale:
            n_unusable += 1
        else:
            votes[review.answer] += 1
    if not votes:
        return label, "unusable"
    (winner, most), *others = votes.most_common()
    if others and others[0][1] == most:
        return label, "split"
    if winner is _UNCLEAR:
        return None, "unclear"
    return (label, "confirmed") if winner == label else (cast("Answer", winner), "changed")


def _unmatched_notes(
    rows: Sequence[LabelledItem], labels: Mapping[tuple[str, str | None], object], n_unknown: int
) -> list[str]:
    """Notes on labelled items that were not judged."""
    if not n_unknown:
        return []
    if n_unknown < len(labels):
        return [f"{n_unknown} of {len(labels)} labelled items were not judged: their labels are not used."]
    (item, subject), row = next(iter(labels)), rows[0]
    if any(row.item == item for row in rows):
        subjects = "a subject (a or b)" if row.subject is not None else "no subject"
        return [f"No label matches a judged item: the judge's scores have {subjects}, unlike the labels."]
    label_item = f"'{item}'" + (f" ({subject})" if subject else "")
    none_of = f"None of the {len(labels)} labelled items" if len(labels) > 1 else "The only labelled item"
    verb = "was judged" if len(labels) > 1 else "was not judged"
    return [
        f"{none_of} {verb}: the labels name items like {label_item}, but the judged items are like '{row.item}'. "
        "Use the same ids in both: judge with --map id=COLUMN, or change the labels."
    ]
