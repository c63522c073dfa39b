"""Agreement on labels without an order, class by class: precision and recall, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UnsetType

from ...sections import SHARES, Column, Section
from ...stats import ClassAgreement, clustered_share
from ...words import percent, percent_cell
from ..labels.labelled import LabelledTable


def by_class(table: LabelledTable) -> dict[str, ClassAgreement]:
    """For each class: how often people agree where the judge chose it (precision), and the reverse
    (recall)."""
    rows = table.labelled()
    found = {}
    for name in table.classes:
        chosen = [row for row in rows if row.answer == name]
        right = [row for row in rows if row.label == name]
        answered = [row for row in right if row.answer is not None]
        n_failed = len(right) - len(answered)
        found[name] = ClassAgreement(
            precision=clustered_share(
                [float(row.label == name) for row in chosen], table.groups(chosen), unit="item"
            ),
            recall=clustered_share(
                [float(row.answer == name) for row in answered], table.groups(answered), n_failed, unit="item"
            ),
            n_judge=len(chosen),
            n_human=len(right),
        )
    return found


def classes_section(classes: Mapping[str, ClassAgreement]) -> Section:
    """The precision and recall of each label."""
    about = (
        "Precision: of the items that the judge gave this label, the share that people gave it, too. "
        "Recall: of those that people gave it, the share that the judge gave it; items on which the "
        "judge failed are not counted."
    )
    rows = tuple(
        (
            name,
            percent_cell(found.precision),
            percent_cell(found.recall),
            str(found.n_judge),
            str(found.n_human),
            str(found.recall.n_failed),
            "; ".join(dict.fromkeys(one.reason for one in (found.precision, found.recall) if one.reason)),
        )
        for name, found in classes.items()
    )
    columns = (
        "label",
        Column("precision [95 % CI]", SHARES),
        Column("recall [95 % CI]", SHARES),
        "judge",
        "people",
        "failed",
        "remark",
    )
    return Section("Labels", (about,), columns, rows, 3)


def classes_sentence(classes: Mapping[str, ClassAgreement] | UnsetType) -> str:
    """The label that the judge finds worst."""
    known = {
        name: found.recall
        for name, found in (classes.items() if not isinstance(classes, UnsetType) else ())
        if found.recall.value is not None
    }
    if not known:
        return "How well it finds each label is unknown: no item has a label."
    worst = min(known, key=lambda name: (known[name].value or 0.0, name))
    if (known[worst].value or 0.0) >= 1:
        return "The judge finds every label that people gave."
    return f"Lowest recall: {worst}, {percent(known[worst])} of the items that people gave this label."
