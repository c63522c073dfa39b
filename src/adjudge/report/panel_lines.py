"""Several judges in a terminal: each one's numbers beside the others', and how far they agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..records import Scale
from . import words
from .lines import Line, aligned, fitted, headed, n_columns, named, prose, safe
from .panel import PanelSummary
from .shapes import Cell, PairSummary, Summary

_LEAST_NAME = 16

Table = dict[str, dict[str, str]]
"""system or pair → judge → what it comes to"""


def panel_lines(summary: Summary, width: int) -> Iterable[Line]:
    """Each judge by itself, where there are several; the other tables of a report are over all of them."""
    if not summary.panel:
        return
    yield "", ""
    yield from prose("Judge by judge   ", "mean [95 % interval] (n, failed)", width, "bold")
    for criterion, panel in summary.panel.items():
        yield from _criterion(criterion, panel, summary, width)
    yield from prose("  ", words.PANEL_MEANING, width, "dim")


def _criterion(criterion: str, panel: PanelSummary, summary: Summary, width: int) -> Iterable[Line]:
    yield from prose(f"{safe(criterion)}   ", words.panel_text(panel), width, "bold")
    yield from _columns(cells_by_judge(criterion, panel, summary), list(panel.judges), width)
    digits = words.decimals(scale_of(criterion, summary))
    rows = [words.panel_cells(found, digits) for found in panel.judges.values()]
    yield from headed([safe(judge) for judge in panel.judges], words.PANEL_HEADS, rows, width)
    if panel.stands_apart is not None:
        yield from prose(
            "  ", f"{panel.stands_apart} stands apart: the others agree better without it.", width
        )


def _columns(table: Table, judges: list[str], width: int) -> Iterable[Line]:
    """A column for each judge, or, where there is no room for that, a line for each."""
    rows = [[row.get(judge, words.NO_VALUE) for judge in judges] for row in table.values()]
    names = [safe(name) for name in table]
    if not rows:
        return
    widest = [max(n_columns(cell) for cell in column) for column in zip(*rows, strict=True)]
    heads = [
        fitted(safe(judge), min(n_columns(safe(judge)), max(wide, 8)))
        for judge, wide in zip(judges, widest, strict=True)
    ]
    lines = aligned([heads, *rows])
    room = width - 4 - max(map(n_columns, lines))
    if room >= min(_LEAST_NAME, max(map(n_columns, names))):
        column = min(room, max(map(n_columns, names)))
        for name, line in zip(["", *names], lines, strict=True):
            yield f"  {fitted(name, column)}  {line}", ""
        return
    listed = [
        (f"{name} by {safe(judge)}", [cell])
        for name, row in zip(names, rows, strict=True)
        for judge, cell in zip(judges, row, strict=True)
    ]
    yield from named([name for name, _ in listed], [cells for _, cells in listed], [""] * len(listed), width)


def cells_by_judge(criterion: str, panel: PanelSummary, summary: Summary) -> Table:
    """What each judge gave each system, or said of each pair of systems, on one criterion."""
    name = criterion.removesuffix(" (choice)")
    table: Table = {}
    for judge in panel.judges:
        model = summary.models[judge]
        if panel.pooled == "vote":
            for pair in model.pairs.get(name, ()):
                table.setdefault(f"{pair.system_a} against {pair.system_b}", {})[judge] = _of_pair(pair)
        else:
            digits = words.decimals(scale_of(name, summary))
            for system in summary.systems:
                cells: Mapping[str, Cell] = model.systems.get(system, {})
                if name in cells:
                    table.setdefault(system, {})[judge] = _of_cell(cells[name], digits)
    return table


def scale_of(criterion: str, summary: Summary) -> Scale | None:
    about = summary.criteria.get(criterion)
    return about.scale if about is not None else None


def _of_cell(cell: Cell, digits: int) -> str:
    return f"{words.interval(cell, digits)} ({cell.n}, {cell.n_failed})"


def _of_pair(pair: PairSummary) -> str:
    return f"won {words.percent(pair.won_by_a)} ({pair.won_by_a.n}, {pair.failed})"
