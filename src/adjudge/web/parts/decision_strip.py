"""The decision strip: a run in short, a line for each criterion."""

from __future__ import annotations

from msgspec import Struct

from ...analysis.brief.brief import Brief
from ...analysis.brief.words import BriefPart, criterion_parts, run_parts_of


class StripLine(Struct, frozen=True):
    """One line of the decision strip: a criterion, or the run as a whole where the name is empty."""

    name: str
    parts: tuple[BriefPart, ...]


_MOST_STRIP_LINES = 8


def strip_of(brief: Brief) -> tuple[StripLine, ...]:
    """The decision strip: all parts in one line for one criterion; else a line for each, and one for the run."""
    lines = [(line.name, criterion_parts(brief, line)) for line in brief.criteria[:_MOST_STRIP_LINES]]
    lines = [(name, parts) for name, parts in lines if parts]
    of_run = run_parts_of(brief)
    if len(lines) < 2:
        return (StripLine("", (*(part for _, parts in lines for part in parts), *of_run)),)
    return (*(StripLine(name, parts) for name, parts in lines), StripLine("", of_run))
