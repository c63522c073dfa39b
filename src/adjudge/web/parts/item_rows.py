"""The items table with one row for each item: its judged text, and a cell for each criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from msgspec import Struct

from ...records import Item, Protocol, Scale
from ...words import score_text, signed
from ..items.field_text import searched_text
from .charts.svg import line, picture_of_text, rect
from .marks import snippet

LONGEST_TEXT = 160

MOST_CRITERIA = 8
"""Of a run with more criteria each result has a separate row."""

_BAR_WIDTH, _BAR_HEIGHT = 48.0, 12.0

IndexedRow = dict[str, Any]


class ScoreCell(Struct, frozen=True):
    """What the judges said of an item on one criterion."""

    texts: tuple[str, ...] = ()
    """one for each judge, or for each response of a pair"""
    failed: tuple[tuple[str, str], ...] = ()
    """the statuses of those that failed, and each in words"""
    bar: Markup | None = None
    """judge − people"""
    gap: str = ""
    people: str = ""


class ItemRow(Struct, frozen=True):
    """One item."""

    seq: int
    item: str
    system: str
    url: str
    text: str
    place: str
    """the field in which a searched text stands; empty for the judged text"""
    cells: tuple[ScoreCell, ...]
    flags: tuple[str, ...]
    results: tuple[IndexedRow, ...]

    @property
    def has_bar(self) -> bool:
        return any(cell.bar is not None for cell in self.cells)


def item_rows(
    groups: Sequence[tuple[int, Sequence[IndexedRow]]],
    items: Mapping[int, Item],
    protocols: Mapping[str, Protocol],
    criteria: Sequence[str],
    query: str,
    searched: str,
) -> list[ItemRow]:
    """The rows of a page; each group has the id of the row that a filter found, and all rows of the item."""
    rows = []
    for found, of_item in groups:
        first = of_item[0]
        item = items.get(first["seq"])
        place, text = _text_of(item, protocols, searched)
        is_pair = first["system_b"] is not None
        rows.append(
            ItemRow(
                first["seq"],
                first["item"],
                f"{first['system_a']} – {first['system_b']}" if is_pair else first["system"],
                f"/item?{query}&{urlencode({'n': first['seq'], 'row': found})}",
                text,
                place,
                tuple(
                    _cell([row for row in of_item if row["criterion"] == name], protocols)
                    for name in criteria
                ),
                tuple(dict.fromkeys(flag for row in of_item for flag in row["flags"].split())),
                tuple(of_item),
            )
        )
    return rows


def _text_of(item: Item | None, protocols: Mapping[str, Protocol], searched: str) -> tuple[str, str]:
    """The beginning of the judged text, or where a searched text stands."""
    if item is None:
        return "", ""
    if searched:
        for name, value in item.fields.items():
            if found := snippet(searched_text(value), searched):
                return name, found
    names = [
        field
        for protocol in protocols.values()
        for name in protocol.judged_inputs
        if (field := protocol.field_for(name, item.fields)) is not None
    ]
    texts = [searched_text(item.fields[name]) for name in dict.fromkeys(names)] or [
        searched_text(value) for value in item.fields.values()
    ]
    text = " ".join(texts[0][: 2 * LONGEST_TEXT].split()) if texts else ""
    return "", text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _cell(rows: Sequence[IndexedRow], protocols: Mapping[str, Protocol]) -> ScoreCell:
    if not rows:
        return ScoreCell()
    chosen = [row for row in rows if row["choice"] is not None] or rows
    texts = tuple(_answer(row) for row in chosen if row["status"] == "ok")
    failures = ((row["status"], row["status_text"]) for row in chosen if row["status"] != "ok")
    failed = tuple(dict.fromkeys(failures))
    one = chosen[0]
    label = one["label"]
    bar, gap = None, ""
    if len(chosen) == 1 and label is not None:
        if isinstance(label, str):
            gap = "" if one["choice"] is None or one["choice"] == label else "differs"
        elif one["value"] is not None:
            protocol = protocols.get(one["protocol"])
            scale = protocol.criteria.get(one["criterion"]) if protocol is not None else None
            gap = signed(one["value"] - label)
            bar = gap_bar(one["value"] - label, scale)
    people = "" if label is None else _named(one, label) if isinstance(label, str) else score_text(label)
    return ScoreCell(texts, failed, bar, gap, people)


def _answer(row: IndexedRow) -> str:
    if row["choice"] is not None:
        return _named(row, row["choice"])
    return "" if row["value"] is None else score_text(row["value"])


def _named(row: IndexedRow, choice: str) -> str:
    return str({"a": row["system_a"], "b": row["system_b"]}.get(choice, choice))


def gap_bar(gap: float, scale: Scale | None) -> Markup | None:
    """Judge − people on the width of the scale: to the right where the judge is higher, next to
    the number."""
    if scale is None or scale.limits is None:
        return None
    low, high = scale.limits
    middle = _BAR_WIDTH / 2
    wide = min(1.0, abs(gap) / (high - low)) * middle
    parts = [line(middle, 0, middle, _BAR_HEIGHT, "axis")]
    if wide:
        start = middle if gap > 0 else middle - wide
        parts.append(rect(start, 2, wide, _BAR_HEIGHT - 4, "gap-judge" if gap > 0 else "gap-people"))
    return picture_of_text(_BAR_WIDTH, _BAR_HEIGHT, parts)
