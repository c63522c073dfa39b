"""Brings a judge's results and people's labels together, item by item.

Several raters of an item become one label: the mean of numbers, the majority of choices (a tie where there is
none). An item without a label stays, because the corrected mean needs it. Nothing is estimated here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from msgspec import Struct, structs

from ..combine import Kind, majority
from ..errors import DataError, listed
from ..records import Choice, Label, Result, Scale, Status, Subject
from .run_view import Cell, RunView, SampleKey, as_number

Answer = float | str
FEW_OFF_SCALE = 0.05
"""Up to this share, labels off the scale are taken for slips; beyond it, for labels on another scale."""


class Row(Struct, frozen=True):
    """One judged item with what people said of it."""

    item: str
    subject: Subject | None
    system: str
    systems: tuple[str, str]
    """of a pair: who wrote a and who wrote b"""
    group: str | None
    status: Status
    answer: Answer | None
    """of the judge; none where it failed"""
    ratings: tuple[Answer | None, ...] = ()
    """one place for each rater"""
    label: Answer | None = None
    probability: float | None = None
    confidence: float | None = None
    spread: float | None = None
    samples: tuple[float, ...] = ()
    """the single values behind `answer`, where the item was judged several times; a choice of a is 1, of b 0"""
    n_samples: int = 0
    n_samples_failed: int = 0


class Joined(Struct, frozen=True):
    """All items of one judge and criterion."""

    criterion: str
    protocol: str
    model: str
    kind: Kind
    scale: Scale | None
    raters: tuple[str, ...]
    rows: tuple[Row, ...]
    n_unknown: int
    """labelled items that were not judged"""
    is_same_scale: bool
    """whether a judge's 4 and a person's 4 mean the same"""
    notes: tuple[str, ...]

    def labelled(self) -> list[Row]:
        return [row for row in self.rows if row.label is not None]

    def has_groups(self) -> bool:
        return any(row.group is not None for row in self.rows)

    def groups(self, rows: Sequence[Row]) -> list[str] | None:
        """What belongs together, or none where every item stands alone."""
        if not self.has_groups():
            return None
        return [f"g {row.group}" if row.group is not None else f"i {row.item}" for row in rows]


def numbers(answers: Iterable[Answer | None]) -> list[float | None]:
    """The answers that are numbers, none for the others."""
    return [answer if isinstance(answer, float | int) else None for answer in answers]


def choices(answers: Iterable[Answer | None]) -> list[str | None]:
    """The answers that are choices, none for the others."""
    return [answer if isinstance(answer, str) else None for answer in answers]


def join(view: RunView, labels: Sequence[Label]) -> dict[str, Joined]:
    """One table for each judge and criterion, by the name under which the card shows it."""
    cells: dict[tuple[Cell, str], list[Result]] = {}
    for cell, results in view.cells().items():
        for result in results:
            cells.setdefault((cell, result.model), []).append(result)
    if not cells:
        raise DataError("There is no result to hold against labels. Check that the run has judged something.")
    n_protocols = len({cell.protocol for cell, _ in cells})
    n_models = len({model for _, model in cells})
    tables = {}
    for (cell, model), results in cells.items():
        name = f"{cell.protocol.partition('@')[0]}/{cell.criterion}" if n_protocols > 1 else cell.criterion
        if cell.kind == "choices" and (cell._replace(kind="scores"), model) in cells:
            name += " (choice)"
        if n_models > 1:
            name += f" · {model}"
        scale = view.scale(cell.protocol, cell.criterion) if cell.kind == "scores" else None
        of_criterion = [label for label in labels if label.criterion == cell.criterion]
        tables[name] = _joined(results, of_criterion, cell.kind, scale, view.samples)
    return tables


def _joined(
    results: Sequence[Result],
    labels: Sequence[Label],
    kind: Kind,
    scale: Scale | None,
    samples: Mapping[SampleKey, tuple[float, ...]],
) -> Joined:
    first = results[0]
    usable = [label for label in labels if isinstance(label.value, str) == (kind == "choices")]
    notes = []
    if len(usable) < len(labels) and not usable:
        given = "choices (a, b, tie)" if kind == "scores" else "numbers"
        notes.append(f"The labels are {given}, the judge gave {kind}: they cannot be compared.")
    usable, is_same_scale, more = _on_scale(usable, scale)
    raters = tuple(sorted({label.rater for label in usable}))
    judged, repeated, merged = _merged(results)
    said: dict[tuple[str, str | None], dict[str, Label]] = defaultdict(dict)
    for label in usable:
        said[label.item, label.subject][label.rater] = label
    rows = tuple(
        _row(
            result,
            said.get((result.item, result.subject), {}),
            raters,
            repeated.get((result.item, result.subject)) or samples.get((*_result_key(result), kind), ()),
        )
        for result in judged
    )
    known = {(row.item, row.subject) for row in rows}
    n_unknown = len(said.keys() - known)
    notes += [*more, *merged, *_about_ids(rows, said, n_unknown)]
    if raters and kind == "choices" and len(raters) > 1:
        notes.append("The label of a pair is the majority of its raters, a tie where there is none.")
    return Joined(
        first.criterion, first.protocol, first.model, kind, scale, raters, rows, n_unknown, is_same_scale,
        tuple(notes),
    )  # fmt: skip


def _on_scale(labels: list[Label], scale: Scale | None) -> tuple[list[Label], bool, list[str]]:
    """The labels that can be used, whether they share the judge's scale, and what to say of the others."""
    if scale is None or not labels:
        return labels, True, []
    if scale.low is None or scale.high is None:
        note = (
            "The judge's scores have no ends (a likelihood), the labels are on a scale of their own: correlations and "
            "corrected means stand, in the labels' own unit; agreement, kappa and bias have no meaning."
        )
        return labels, False, [note]
    low, high = scale.low, scale.high
    off = [label for label in labels if not isinstance(label.value, str) and not low <= label.value <= high]
    if not off:
        return labels, True, []
    ends = f"{low:g} to {high:g}"
    if len(off) <= FEW_OFF_SCALE * len(labels):
        shown = ", ".join(f"{label.item} = {label.value}" for label in off[:3])
        note = f"{len(off)} of {len(labels)} labels are off the scale {ends} and left out ({shown}). Correct them."
        return [label for label in labels if label not in off], True, [note]
    note = (
        f"{len(off)} of {len(labels)} labels are off the scale {ends}: they are taken to be on a scale of their own. "
        "Correlations and corrected means stand, in the labels' own unit; agreement, kappa and bias have no meaning."
    )
    return labels, False, [note]


def _result_key(result: Result) -> tuple[str, str, str, str, Subject | None]:
    return result.protocol, result.criterion, result.model, result.item, result.subject


Repeated = dict[tuple[str, str | None], tuple[float, ...]]


def _merged(results: Sequence[Result]) -> tuple[list[Result], Repeated, list[str]]:
    """One result per item and subject; where scores made elsewhere have several, their mean and the single ones."""
    found: dict[tuple[str, str | None], list[Result]] = defaultdict(list)
    for result in results:
        found[result.item, result.subject].append(result)
    twice = {key: rows for key, rows in found.items() if len(rows) > 1}
    if not twice:
        return list(results), {}, []
    problems = [
        f"item '{item}' belongs to systems {', '.join(sorted({row.system for row in rows}))}: a label of it could "
        "mean either. Give each output an id of its own."
        for (item, _), rows in twice.items()
        if len({row.system for row in rows}) > 1
    ]
    if problems:
        raise DataError(listed("scores", problems))
    merged = [_mean_of(rows) if len(rows) > 1 else rows[0] for rows in found.values()]
    repeated = {
        key: tuple(
            as_number(answer)
            for row in rows
            if (answer := row.choice if row.choice is not None else row.value) is not None
        )
        for key, rows in twice.items()
    }
    told = f"{len(twice)} items have several scores of one judge: their mean (or majority) counts."
    return merged, repeated, [told]


def _mean_of(rows: Sequence[Result]) -> Result:
    values = [row.value for row in rows if row.value is not None]
    given = [row.choice for row in rows if row.choice is not None]
    failed = sum(row.n_failed for row in rows)
    middle = math.fsum(values) / len(values) if values else None
    choice = majority(given) if given else None
    return structs.replace(
        rows[0],
        value=middle,
        choice=choice,
        status="ok" if values or given else rows[0].status,
        n_samples=sum(row.n_samples for row in rows),
        n_failed=failed,
    )


def _row(result: Result, said: Mapping[str, Label], raters: Sequence[str], samples: tuple[float, ...]) -> Row:
    ratings = tuple(said[rater].value if rater in said else None for rater in raters)
    chances = {label.probability for label in said.values()}
    # Two responses of one pair are not two independent items.
    group = result.group if result.group is not None or result.subject is None else f"pair {result.item}"
    return Row(
        item=result.item,
        subject=result.subject,
        system=result.system,
        systems=(result.system_a or "a", result.system_b or "b"),
        group=group,
        status=result.status,
        answer=result.choice if result.choice is not None else result.value,
        ratings=ratings,
        label=label_of([rating for rating in ratings if rating is not None]),
        probability=chances.pop() if len(chances) == 1 else None,
        confidence=result.confidence,
        spread=result.spread,
        samples=samples,
        n_samples=result.n_samples,
        n_samples_failed=result.n_failed,
    )


def label_of(given: Sequence[Answer]) -> Answer | None:
    """What people say of an item: the mean of numbers, the majority of choices."""
    if not given:
        return None
    choices = [cast("Choice", answer) for answer in given if isinstance(answer, str)]
    if choices:
        return majority(choices)
    # Equal means must be equal whatever the order of the sum, or ranks would tell them apart.
    return round(math.fsum(answer for answer in given if not isinstance(answer, str)) / len(given), 12)


def _about_ids(
    rows: Sequence[Row], said: Mapping[tuple[str, str | None], object], n_unknown: int
) -> list[str]:
    """What to say where labelled items were not judged."""
    if not n_unknown:
        return []
    if n_unknown < len(said):
        return [f"{n_unknown} of {len(said)} labelled items were not judged: their labels are not used."]
    (item, subject), row = next(iter(said)), rows[0]
    if any(row.item == item for row in rows):
        place = "a subject (a or b)" if row.subject is not None else "no subject"
        return [
            f"No label fits a judged item: the judge's scores have {place}, the labels do not agree with that."
        ]
    mine = f"'{item}'" + (f" ({subject})" if subject else "")
    none = f"None of the {len(said)} labelled items" if len(said) > 1 else "The only labelled item"
    verb = "was judged" if len(said) > 1 else "was not judged"
    return [
        f"{none} {verb}: the labels name items like {mine}, the judge items like '{row.item}'. Use the same ids in both."
    ]
