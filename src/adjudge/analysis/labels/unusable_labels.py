"""Labels of which none can be used: an error, because every number about people would silently be missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...data.item_ids import is_content_id
from ...data.label_scales import LabelScales
from ...did_you_mean import did_you_mean
from ...errors import DataError, problem_list
from ...records import Label
from ...words import count
from .labelled import LabelledTable


def check_matches(tables: Mapping[str, LabelledTable], labels: Sequence[Label]) -> None:
    """An error where there are labels, and none belongs to an answer of the judge."""
    if not labels or any(table.rated() for table in tables.values()):
        return
    judged = sorted({table.criterion for table in tables.values()})
    reasons = [
        f"The labels are about '{name}'; the judge's criteria are {', '.join(judged)}. "
        f"{did_you_mean(name, judged, 'Rename it in the label file if it means the same.')}"
        for name in sorted({label.criterion for label in labels} - set(judged))
    ]
    reasons += dict.fromkeys(note for table in tables.values() for note in table.notes)
    raise DataError("\n".join(("No label matches a score of the judge.", *reasons)))


def unknown_criteria_note(labels: Sequence[Label], judged: Collection[str]) -> str:
    """Which criteria of labels were not judged; empty where all were."""
    unknown = sorted({label.criterion for label in labels} - {*judged, ""})
    if not unknown:
        return ""
    n = sum(label.criterion in unknown for label in labels)
    return (
        f"{count(n, 'label')} of {', '.join(unknown)} {'is' if n == 1 else 'are'} not used: the judge's "
        f"criteria are {', '.join(sorted(judged))}. Rename them in the label file if they mean the same."
    )


def how_ids_differ(label_item: str, judged_item: str) -> str:
    """What to do where labels name items that were not judged; labels may name lines of a file."""
    if label_item.isdecimal() and is_content_id(judged_item):
        return (
            "The labels name lines; the id of an item without a column 'id' is a hash of its content, so "
            "that a "
            "label stays with its text. Label items of this run (adjudge sample), or judge with the ids that "
            "the labels use: --map id=COLUMN."
        )
    return "Use the same ids in both: judge with --map id=COLUMN, or change the labels."


def check_scales(labels: Sequence[Label], scales: LabelScales) -> None:
    """An error that lists the labels of a caller's list that are off their scale."""
    problems = [
        f"label {number} (item '{label.item}'): {problem}"
        for number, label in enumerate(labels, 1)
        if (problem := scales.problem(label))
    ]
    if problems:
        raise DataError(problem_list("labels", problems) + (f"\n{scales.advice}" if scales.advice else ""))
