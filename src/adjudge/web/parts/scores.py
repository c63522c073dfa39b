"""Means per system and criterion as rows of a table, each with its interval drawn and its scores spread out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct

from ...records import Scale
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
from ..charts import Domain, Mark, axis, axis_of_levels, bars, domain_of, histogram, strip

FIRST, LAST = 50, 10
"""Of more systems than these together, the rest is counted: a table of thousands of rows tells nobody anything."""

Values = Mapping[tuple[str, str], Sequence[float]]
"""(criterion, system) → scores, where there are too many different ones to count by value"""


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
    levels = _levels(about.scale, cells)
    tallest = max((n for cell in cells.values() for n in cell.distribution.values()), default=0)
    shown = kept(list(cells))
    in_order = [(system, spec) for system in shown for spec in summary.models if (system, spec) in judges]
    return CriterionPart(
        name=name,
        protocol=about.protocol,
        scale=scale_text(about.scale),
        digits=digits,
        axis=axis(domain),
        levels=axis_of_levels(levels) if levels and len(levels) > 1 else None,
        rows=tuple(_row(system, cells[system], domain, digits, levels, tallest) for system in shown),
        n_hidden=len(cells) - len(shown),
        together=_together(name, cells, levels, values),
        notes=_notes(summary, name, cells, digits),
        by_judge=tuple(
            _row(system, judges[system, spec], domain, digits, levels, 0, spec) for system, spec in in_order
        ),
    )


def _ends(cells: Sequence[Cell]) -> list[float | None]:
    return [end for cell in cells for end in (cell.low, cell.value, cell.high)]


def _row(
    system: str,
    cell: Cell,
    domain: Domain,
    digits: int,
    levels: Sequence[float],
    tallest: int,
    judge: str = "",
) -> ScoreRow:
    possible = (cell.bounds.low, cell.bounds.high) if cell.bounds is not None and cell.n_failed else None
    title = f"{system}: {interval(cell, digits)}, n = {cell.n:,}, failed {cell.n_failed:,}"
    spread = None
    if levels and cell.distribution and not judge:
        counts = [(f"{level:g}", _at(cell.distribution, level)) for level in levels]
        spread = bars(counts, f"scores of {system}", tallest=tallest)
    mark = Mark(cell.value, cell.low, cell.high, possible)
    return ScoreRow(system, cell, strip([mark], domain, title), spread, _remark(cell, digits), judge)


def _remark(cell: Cell, digits: int) -> str:
    """What failed, what that leaves open, and why an interval is missing; in few words, since the band is drawn."""
    said = [failures_text(cell.failures)]
    if cell.n_failed and cell.bounds is not None:
        said.append(f"{number(cell.bounds.low, digits)} to {number(cell.bounds.high, digits)} possible")
    if cell.n_samples > cell.n + cell.n_failed and cell.n_samples_failed:
        said.append(f"{cell.n_samples_failed:,} of {cell.n_samples:,} samples failed")
    return "; ".join(text for text in (*said, cell.reason) if text)


def _levels(scale: Scale | None, cells: Mapping[str, Cell]) -> list[float]:
    """The levels of the scale, or the values that were given where it has none; none where there are too many."""
    if any(cell.distribution_of == "nothing" for cell in cells.values()):
        return []
    seen = sorted({float(value) for cell in cells.values() for value in cell.distribution})
    if scale is None or scale.low is None or scale.high is None or not scale.step:
        return seen if len(seen) <= 25 else []
    n_steps = round((scale.high - scale.low) / scale.step)
    if not 1 <= n_steps < 25:
        return seen if len(seen) <= 25 else []
    levels = [scale.low + place * scale.step for place in range(n_steps + 1)]
    # Means of samples lie between the levels: then each value that was seen has a bar of its own.
    between = [value for value in seen if min(abs(value - level) for level in levels) > 1e-9]
    every = sorted({*levels, *between})
    return every if len(every) <= 25 else []


def _at(distribution: Mapping[str, int], level: float) -> int:
    return sum(n for value, n in distribution.items() if abs(float(value) - level) <= 1e-9)


def _together(name: str, cells: Mapping[str, Cell], levels: Sequence[float], values: Values) -> Markup | None:
    """The scores of all systems together: counted by level, or in bins where there are too many values."""
    if levels:
        counts = [
            (f"{level:g}", sum(_at(cell.distribution, level) for cell in cells.values())) for level in levels
        ]
        return bars(counts, f"all scores on {name}", height=72)
    found = [value for (criterion, _), own in values.items() if criterion == name for value in own]
    return histogram(found, f"all scores on {name}") if len(found) > 1 else None


def _notes(summary: Summary, name: str, cells: Mapping[str, Cell], digits: int) -> tuple[str, ...]:
    notes = [groups_text(cells.values())]
    about = summary.criteria[name]
    if about.minimum_detectable is not None and len(cells) > 1:
        notes.append(detectable_text(about.minimum_detectable, digits, about.scale))
    if any(cell.n_failed and cell.bounds is not None for cell in cells.values()):
        notes.append("The pale band is where the mean could lie, whatever the failed scores would have been.")
    return tuple(note for note in notes if note)
