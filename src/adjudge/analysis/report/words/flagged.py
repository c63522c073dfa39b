"""The means without the items whose text may contain instructions to the judge, beside those with them."""

from __future__ import annotations

from collections.abc import Iterator

from ....sections import Column, Section
from ....words import decimals, interval, interval_cell, short_name
from ..summary import Summary


def flagged_sections(summary: Summary) -> Iterator[Section]:
    """A table for each criterion with flagged scores, of the systems that have some."""
    for name, about in summary.criteria.items():
        rows = []
        for system, cells in summary.systems.items():
            cell = cells.get(name)
            if cell is None or cell.without_flagged is None or not cell.n_flagged:
                continue
            digits = decimals(about.scale)
            without = interval_cell(cell.without_flagged, digits)
            rows.append((system, without, interval(cell, digits), f"{cell.n_flagged:,}"))
        if rows:
            columns = ("system", Column("without them", None), "with them", Column("flagged", is_spare=True))
            note = "A flagged item is scored as any other: what addresses the judge is shown to it as data."
            yield Section(short_name(name), (), columns, tuple(rows), notes=(note,))
