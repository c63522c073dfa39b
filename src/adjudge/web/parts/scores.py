"""Means per system and criterion as rows of a table, each with its interval drawn and its scores spread out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct

from ...report import Cell, Summary
from ...report.words import (
    decimals,
    detectable_text,
    failures_text,
    groups_text,
    interval,
    number,
    scale_text,
)
from ..charts import Domain, Mark, axis, domain_of, strip
from .spread import SpreadOut, Values, spread_of

FIRST, LAST = 50, 10
"""Of more systems than these together, the rest is counted: a table of thousands of rows tells nobody anything."""


class ScoreRow(Struct, frozen=True):
    """One system on one criterion."""

    system: str
    cell: Cell
    strip: Markup
    spread: Markup | None
    remark: str
    judge: str = ""
    """whose mean it is, where several judges are shown apart"""


class CriterionPart(Struct, frozen=True):
    """One criterion over all systems, on one axis."""

    name: str
    protocol: str
    scale: str
    digits: int
    axis: Markup
    levels: Markup | None
    """over the bars of the scores' spread; none where there are none"""
    rows: tuple[ScoreRow, ...]
    n_hidden: int
    together: Markup | None
    """how the scores of all systems are spread"""
    notes: tuple[str, ...]
    by_judge: tuple[ScoreRow, ...] = ()


def score_parts(summary: Summary, values: Values | None = None) -> tuple[CriterionPart, ...]:
    """All criteria that have scores, in the order of the report."""
    return tuple(_criterion(summary, name, values or {}) for name in summary.criteria)


def kept(names: Sequence[str]) -> list[str]:
    """The first and the last of many names."""
    return list(names) if len(names) <= FIRST + LAST else [*names[:FIRST], *names[-LAST:]]


def _criterion(summary: Summary, name: str, values: Values) -> CriterionPart:
    about = summary.criteria[name]
    cells = {system: by[name] for system, by in summary.systems.items() if name in by}
    judges = {
        (system, spec): by[name]
        for spec, model in summary.models.items()
        for system, by in model.systems.items()
        if name in by
    }
    digits = decimals(about.scale)
    domain = domain_of(about.scale, _ends([*cells.values(), *judges.values()]))
    spread = spread_of(name, about.scale, cells, values)
    shown = kept(list(cells))
    in_order = [(system, spec) for system in shown for spec in summary.models if (system, spec) in judges]
    return CriterionPart(
        name=name,
        protocol=about.protocol,
        scale=scale_text(about.scale),
        digits=digits,
        axis=axis(domain),
        levels=spread.axis if spread is not None else None,
        rows=tuple(_row(system, cells[system], domain, digits, spread) for system in shown),
        n_hidden=len(cells) - len(shown),
        together=spread.together(f"all scores on {name}") if spread is not None else None,
        notes=_notes(summary, name, cells, digits),
        by_judge=tuple(
            _row(system, judges[system, spec], domain, digits, None, spec) for system, spec in in_order
        ),
    )


def _ends(cells: Sequence[Cell]) -> list[float | None]:
    return [end for cell in cells for end in (cell.low, cell.value, cell.high)]


def _row(
    system: str, cell: Cell, domain: Domain, digits: int, spread: SpreadOut | None, judge: str = ""
) -> ScoreRow:
    possible = (cell.bounds.low, cell.bounds.high) if cell.bounds is not None and cell.n_failed else None
    title = f"{system}: {interval(cell, digits)}, n = {cell.n:,}, failed {cell.n_failed:,}"
    drawn = strip([Mark(cell.value, cell.low, cell.high, possible)], domain, title)
    bars_of = spread.of(system) if spread is not None else None
    return ScoreRow(system, cell, drawn, bars_of, _remark(cell, digits), judge)


def _remark(cell: Cell, digits: int) -> str:
    """What failed, what that leaves open, and why an interval is missing; in few words, since the band is drawn."""
    said = [failures_text(cell.failures)]
    if cell.n_failed and cell.bounds is not None:
        said.append(f"{number(cell.bounds.low, digits)} to {number(cell.bounds.high, digits)} possible")
    if cell.n_samples > cell.n + cell.n_failed and cell.n_samples_failed:
        said.append(f"{cell.n_samples_failed:,} of {cell.n_samples:,} samples failed")
    # Where all scores failed, the failures are the reason.
    why = "" if cell.value is None and cell.n_failed else cell.reason
    return "; ".join(text for text in (*said, why) if text)


def _notes(summary: Summary, name: str, cells: Mapping[str, Cell], digits: int) -> tuple[str, ...]:
    notes = [groups_text(cells.values())]
    about = summary.criteria[name]
    if about.minimum_detectable is not None and len(cells) > 1:
        notes.append(detectable_text(about.minimum_detectable, digits, about.scale))
    if any(cell.n_failed and cell.bounds for cell in cells.values()):
        notes.append("The pale band is where the mean could lie, whatever the failed scores would have been.")
    return tuple(note for note in notes if note)
