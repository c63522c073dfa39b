"""A summary for a terminal: aligned, as wide as the terminal, plain when it is piped.

Names of systems, criteria and models come from users' files, and may hold escape sequences,
line breaks, or lines that a CI runner would take for commands: none of them reaches the output
as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..records import Scale
from ..stats import reason
from . import words
from .cells import key_text
from .lines import LEAST_ROOM, Line, aligned, headed, n_columns, named, prose, safe
from .panel_lines import panel_lines
from .shapes import Cell, PairSummary, Summary

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_report", "report_lines", "safe"]

_PIPED_WIDTH = 120
_NARROWEST = 40
_BARS = "▁▂▃▄▅▆▇█"
_ASCII = str.maketrans({"–": "-", "…": "...", "·": "|", "→": "->", **dict.fromkeys(_BARS, None)})


def print_report(summary: Summary, console: Console | None = None) -> None:
    """Print a summary to the terminal, or to whatever `console` writes to."""
    from rich.console import Console
    from rich.text import Text

    if console is None:
        console = Console(highlight=False, markup=False, emoji=False)
    width = max(_NARROWEST, console.width) if console.is_terminal else _PIPED_WIDTH
    can_draw = console.encoding.lower().replace("-", "").startswith("utf")
    for text, style in report_lines(summary, width):
        if not can_draw:
            text = text.translate(_ASCII).encode(console.encoding, "replace").decode(console.encoding)
        console.print(
            Text(text.rstrip(), style=style if console.is_terminal else ""), soft_wrap=True, highlight=False
        )


def report_lines(summary: Summary, width: int) -> list[Line]:
    """The whole report, line by line."""
    return [
        *_head(summary, width),
        *_cautions(summary, width),
        *_criteria(summary.systems, summary, width),
        *_pairs(summary.pairs, width),
        *_order(summary, width),
        *panel_lines(summary, width),
        *_correlations(summary, width),
        *_foot(summary, width),
    ]


def _head(summary: Summary, width: int) -> Iterable[Line]:
    about = [
        f"run {summary.run}" if summary.run else "report",
        summary.started,
        summary.status,
        f"adjudge {summary.version}" if summary.version else "",
    ]
    yield from prose("", " · ".join(part for part in about if part), width, "bold")
    for spec, model in summary.models.items():
        yield from prose("judge     ", words.judge_text(spec, model.names, model.is_fake), width)
    if summary.protocols:
        named = [f"{name} ({digest[:12]})" if digest else name for name, digest in summary.protocols.items()]
        yield from prose("protocol  ", ", ".join(named), width)
    if summary.estimator:
        yield from prose("estimator ", summary.estimator, width)
    yield from prose("judged    ", words.size_text(summary), width)
    if pooling := words.pooling_text(summary):
        yield from prose("pooled    ", pooling, width)


def _cautions(summary: Summary, width: int) -> Iterable[Line]:
    if summary.warnings:
        yield "", ""
        yield "Before you use these numbers", "bold yellow"
    for caution in summary.warnings:
        yield from prose("  ! ", caution.text, width, "yellow")


def _criteria(systems: Mapping[str, Mapping[str, Cell]], summary: Summary, width: int) -> Iterable[Line]:
    for criterion, about in summary.criteria.items():
        cells = {system: by_name[criterion] for system, by_name in systems.items() if criterion in by_name}
        if not cells:
            continue
        digits = words.decimals(about.scale)
        yield "", ""
        yield from prose(f"{safe(criterion)}   ", words.scale_text(about.scale), width, "bold")
        yield from _rows(cells, about.scale, digits, width)
        if groups := words.groups_text(cells.values()):
            yield from prose("  ", groups, width, "dim")
        if about.minimum_detectable is not None and systems is summary.systems:
            yield from prose(
                "  ", words.detectable_text(about.minimum_detectable, digits, about.scale), width, "dim"
            )


def _rows(cells: Mapping[str, Cell], scale: Scale | None, digits: int, width: int) -> Iterable[Line]:
    """One line for each system; the bars are left out where there is no room for them."""
    rows = [
        [words.interval(cell, digits), f"n={cell.n}", f"failed {cell.n_failed}", _bars(cell, scale)]
        for cell in cells.values()
    ]
    names = [safe(system) for system in cells]
    if width - 4 - max(map(n_columns, aligned(rows))) < min(LEAST_ROOM, max(map(n_columns, names))):
        rows = [row[:-1] for row in rows]
    yield from named(names, rows, [words.remarks(cell, digits) for cell in cells.values()], width)


def _bars(cell: Cell, scale: Scale | None) -> str:
    """How often each level was given, from low to high: 1▁▁▃█▅5."""
    if scale is None or scale.low is None or scale.high is None or not scale.step or not cell.distribution:
        return ""
    n_levels = round((scale.high - scale.low) / scale.step) + 1
    if n_levels > 11:
        return ""
    levels = [0] * n_levels
    for value, count in cell.distribution.items():
        place = round((float(value) - scale.low) / scale.step)
        levels[max(0, min(n_levels - 1, place))] += count
    top = max(levels)
    drawn = "".join(" " if not count else _BARS[-(-count * 7 // top)] for count in levels)
    return f"{key_text(scale.low)}|{drawn}|{key_text(scale.high)}"


def _pairs(pairs_of: Mapping[str, Sequence[PairSummary]], width: int) -> Iterable[Line]:
    for criterion, pairs in pairs_of.items():
        yield "", ""
        yield from prose(
            f"{safe(criterion)}   ", "which of two is better; a tie is half a win", width, "bold"
        )
        rows = [
            [f"won {words.percent(pair.won_by_a)}", f"n={pair.won_by_a.n}", f"failed {pair.failed}"]
            for pair in pairs
        ]
        names = [f"{safe(pair.system_a)} against {safe(pair.system_b)}" for pair in pairs]
        yield from named(names, rows, [words.pair_remarks(pair) for pair in pairs], width)


def _order(summary: Summary, width: int) -> Iterable[Line]:
    """Whether the place decides, criterion by criterion; of several judges, each by itself too."""
    names, rows = [], []
    for criterion, found in summary.order.items():
        names.append(safe(criterion))
        rows.append(words.order_cells(found))
        for spec, model in summary.models.items():
            if criterion in model.order:
                names.append(f"  {safe(spec)}")
                rows.append(words.order_cells(model.order[criterion]))
    if not rows:
        return
    yield "", ""
    yield "Does the place decide?", "bold"
    yield from headed(names, words.ORDER_HEADS, rows, width)
    yield from prose("  ", words.order_meaning(summary), width, "dim")


def _correlations(summary: Summary, width: int) -> Iterable[Line]:
    if not summary.correlations:
        return
    yield "", ""
    yield from prose("How criteria move together   ", "Spearman over items; 1: the same order", width, "bold")
    known = [found for found in summary.correlations if found.spearman.low is not None]
    if not known:
        yield from prose("  ", "There are too few items to tell.", width, "dim")
        return
    names = [f"{safe(found.criteria[0])} – {safe(found.criteria[1])}" for found in known]
    found = [correlation.spearman for correlation in known]
    rows = [[words.interval(one, 2), f"n={one.n}", f"failed {one.n_failed}"] for one in found]
    yield from named(names, rows, [reason(one) for one in found], width)
    if any(one.unit.startswith("group") for one in found):
        yield from prose("  ", "Intervals count groups, not items.", width, "dim")


def _foot(summary: Summary, width: int) -> Iterable[Line]:
    yield "", ""
    for model, rungs in summary.rungs.items():
        yield from prose("read      ", f"{model}: {words.rungs_text(rungs)}", width)
    if summary.flags:
        shown = ", ".join(f"{flag} {count}" for flag, count in summary.flags.items())
        yield from prose("flags     ", shown, width)
    for adjustment in summary.adjustments:
        yield from prose("adjusted  ", adjustment, width)
    if cost := words.cost_text(summary):
        yield from prose("cost      ", cost, width)
    if any(cell.low is not None for cells in summary.systems.values() for cell in cells.values()):
        yield "", ""
        yield from prose("", words.MEANING, width, "dim")
