"""Whether the probabilities of a judge can be believed under each form of the same question.

The event is the same for every form, so that their calibration errors can be compared: the label lies above
the middle of the scale; of a pair, people prefer response a, and ties are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import structs

from ...probes import FORM, REPEAT, UNCHANGED, split_id
from ...records import Estimate, Label, Result, Scale
from ...stats import probability_quality
from ..labels.join import join
from ..labels.labelled import LabelledTable
from ..labels.unusable_labels import check_matches, unknown_criteria_note
from ..run_view.result_facts import cluster_of
from ..run_view.run_view import RunView
from .audit import Audit, AuditedCriterion

Errors = Mapping[str, Estimate]
"""probe → the calibration error of the judge's probabilities under it"""


def with_form_calibration(
    audit: Audit, view: RunView, labels: Sequence[Label], *, are_given: bool = False
) -> Audit:
    """The audit with the calibration error of each form of the question, and of the re-run.

    `DataError` for labels that the user gave and that match no score.
    """
    tables = join(_unchanged(view), labels)
    if are_given:
        check_matches(tables, labels)
        if note := unknown_criteria_note(labels, {table.criterion for table in tables.values()}):
            audit = structs.replace(audit, notes=(*audit.notes, note))
    errors = _errors(view, tables)

    def with_errors(judge: str, name: str, part: AuditedCriterion) -> AuditedCriterion:
        return structs.replace(part, calibration=dict(errors.get((judge, name), {})))

    judges = {
        judge: structs.replace(
            audited,
            criteria={name: with_errors(judge, name, part) for name, part in audited.criteria.items()},
        )
        for judge, audited in audit.judges.items()
    }
    return structs.replace(audit, judges=judges)


def _errors(view: RunView, tables: Mapping[str, LabelledTable]) -> dict[tuple[str, str], Errors]:
    """(judge, criterion) → its calibration errors; none where the judge gives no probabilities."""
    by_probe: dict[tuple[str, str], dict[str, dict[str, Result]]] = defaultdict(lambda: defaultdict(dict))
    for result in view.results:
        item, probe = split_id(result.item)
        if result.subject is None and _is_form(probe):
            by_probe[result.model, result.criterion][probe][item] = result
    return {
        (table.model, table.criterion): {
            probe: error
            for probe, results in by_probe[table.model, table.criterion].items()
            if (error := _error(table, results)) is not None
        }
        for table in tables.values()
    }


def _unchanged(view: RunView) -> RunView:
    """The scores of the items as they are, in the form of the run."""
    unchanged = [
        (result, kind)
        for result, kind in zip(view.results, view.kinds, strict=True)
        if split_id(result.item)[1] == UNCHANGED and result.subject is None
    ]
    return structs.replace(
        view, results=tuple(result for result, _ in unchanged), kinds=tuple(kind for _, kind in unchanged)
    )


def _is_form(probe: str) -> bool:
    return probe in (UNCHANGED, REPEAT) or probe.startswith(f"{FORM}/")


def _error(table: LabelledTable, results: Mapping[str, Result]) -> Estimate | None:
    """The calibration error of the answers to one form; none where they have no probabilities."""
    if not table.is_same_scale or table.classes:
        return None
    shares: list[float] = []
    happened: list[bool | None] = []
    clusters: list[str] = []
    for row in table.labelled():
        result = results.get(row.item)
        share = None if result is None else _share_of_event(result.probabilities, table.scale)
        if result is not None and share is not None:
            shares.append(share)
            happened.append(_has_happened(row.label, table.scale))
            clusters.append(cluster_of(row.group, row.item))
    if not shares:
        return None
    return probability_quality(shares, happened, clusters=clusters).error


def _share_of_event(probabilities: Mapping[str, float], scale: Scale | None) -> float | None:
    """The probability of the event; that of a tie, or of the middle level, counts half."""
    if not probabilities:
        return None
    if "a" in probabilities or "b" in probabilities:
        a, b = probabilities.get("a", 0.0), probabilities.get("b", 0.0)
        return a / (a + b) if a + b > 0 else 0.5
    middle = _middle(scale)
    if middle is None:
        return None
    parts = [share * _half(float(level), middle) for level, share in probabilities.items()]
    return min(1.0, sum(parts))


def _half(value: float, middle: float) -> float:
    return 1.0 if value > middle else 0.5 if value == middle else 0.0


def _has_happened(label: float | str | None, scale: Scale | None) -> bool | None:
    if isinstance(label, str):
        return None if label == "tie" else label == "a"
    middle = _middle(scale)
    return None if label is None or middle is None or label == middle else label > middle


def _middle(scale: Scale | None) -> float | None:
    return None if scale is None or scale.limits is None else sum(scale.limits) / 2
