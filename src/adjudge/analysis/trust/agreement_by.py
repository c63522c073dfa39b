"""Agreement with people in parts of the items: by system, length or a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import DataError
from ...stats import PartAgreement, agreement_in_parts
from ..labels.join import as_float
from ..labels.labelled import LabelledTable

MOST_PARTS = 12
"""Different values up to which each is a part; numbers with more are cut into thirds."""


def agreement_by(table: LabelledTable, fields: Sequence[str]) -> dict[str, dict[str, PartAgreement]]:
    """Agreement by system, by length of the response, and by
    each of these fields; only where there are two parts.
    """
    rows = [row for row in table.labelled() if row.answer is not None]
    length = "longer" if table.kind == "choices" else "length"
    columns: dict[str, list[str | None]] = {
        "system": [" - ".join(row.systems) if table.kind == "choices" else row.system for row in rows],
        "length": _parts([row.attributes.get(length) for row in rows], "length"),
    }
    for name in fields:
        if name not in columns:
            values = [row.group if name == "group" else row.attributes.get(name) for row in rows]
            columns[name] = _parts(values, name)
    limits = table.scale.limits if table.scale is not None and table.is_same_scale else None
    by = {}
    for name, parts in columns.items():
        if len({part for part in parts if part is not None}) < 2:
            continue
        found = agreement_in_parts(
            [row.answer for row in rows], [row.label for row in rows], parts, table.groups(rows),
            is_choices=table.kind == "choices", width=None if limits is None else limits[1] - limits[0],
        )  # fmt: skip
        by[name] = {str(part): found[part] for part in sorted(found, key=_place)}
    return by


def _parts(values: Sequence[float | str | None], name: str) -> list[str | None]:
    """The part of each value: itself, or its third where there are many different numbers."""
    distinct = {value for value in values if value is not None}
    if len(distinct) <= MOST_PARTS:
        return [
            None if value is None else f"{value:g}" if isinstance(value, float) else value for value in values
        ]
    if any(as_float(value) is None for value in distinct):
        raise DataError(
            f"--by {name}: the labelled items have {len(distinct)} different values of '{name}'. "
            f"Use a field with at most {MOST_PARTS} values, or with numbers, which are cut into thirds."
        )
    ordered = sorted(number for value in values if (number := as_float(value)) is not None)
    low, high = ordered[len(ordered) // 3], ordered[2 * len(ordered) // 3]

    def third(value: float | str | None) -> str | None:
        number = as_float(value)
        if number is None:
            return None
        return (
            f"below {low:g}"
            if number < low
            else f"{low:g} to {high:g}"
            if number <= high
            else f"above {high:g}"
        )

    return [third(value) for value in values]


def _place(part: object) -> tuple[int, str]:
    """Thirds from low to high; other parts by their names."""
    text = str(part)
    return next(
        (place for place, word in enumerate(("below ", "", "above ")) if word and text.startswith(word)), 1
    ), text


def check_fields(fields: Sequence[str], tables: Mapping[str, LabelledTable]) -> None:
    """Refuse fields that no labelled item has."""
    known = {
        name
        for table in tables.values()
        for row in table.labelled()
        for name in (*row.attributes, "system", *(("group",) if row.group is not None else ()))
    }
    missing = [name for name in fields if name not in known]
    if missing:
        raise DataError(
            f"--by {missing[0]}: no labelled item has a field '{missing[0]}'. "
            f"Use a field of the items, or a column of the scores; spelled exactly as there."
        )
