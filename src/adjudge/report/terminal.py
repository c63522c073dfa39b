"""A summary for a terminal: aligned, as wide as the terminal, plain when it is piped.

Names of systems, criteria and models come from users' files, and may hold escape sequences,
line breaks, or lines that a CI runner would take for commands: none of them reaches the output
as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from ..records import Scale
from ..stats import reason
from . import words
from .cells import key_text
from .shapes import Cell, PairSummary, Summary

if TYPE_CHECKING:
    from rich.console import Console

_PIPED_WIDTH = 120
_NARROWEST = 40
_LONGEST_NAME = 48
_LEAST_ROOM = 12
"""columns below which a name stands on a line of its own"""
_BARS = "▁▂▃▄▅▆▇█"
_ASCII = str.maketrans({"–": "-", "…": "...", "·": "|", "→": "->", **dict.fromkeys(_BARS, None)})
_COMMAND = re.compile(r"(^|\s)(?=::|##\[)")

Line = tuple[str, str]
"""a text without line breaks, and its style"""


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
        *_pairs(summary.pairs, summary, width),
        *_models(summary, width),
        *_correlations(summary, width),
        *_foot(summary, width),
    ]


def safe(text: str) -> str:
    """A text that can do nothing but stand there: one line, no control characters, no CI command."""
    shown = "".join(_visible(character) for character in text)
    return _COMMAND.sub(r"\1\\", shown)


def _visible(character: str) -> str:
    # Two of the format characters join letters in Persian and Hindi, and act on nothing else.
    if (
        unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        and character not in "\u200c\u200d"
    ):
        return " " if character in "\t\n\r" else f"\\u{ord(character):04x}"
    return character


def _head(summary: Summary, width: int) -> Iterable[Line]:
    about = [
        f"run {summary.run}" if summary.run else "report",
        summary.started,
        summary.status,
        f"adjudge {summary.version}" if summary.version else "",
    ]
    yield from _prose("", " · ".join(part for part in about if part), width, "bold")
    for spec, model in summary.models.items():
        yield from _prose("judge     ", words.judge_text(spec, model.names, model.is_fake), width)
    if summary.protocols:
        named = [f"{name} ({digest[:12]})" if digest else name for name, digest in summary.protocols.items()]
        yield from _prose("protocol  ", ", ".join(named), width)
    if summary.estimator:
        yield from _prose("estimator ", summary.estimator, width)
    yield from _prose("judged    ", words.size_text(summary), width)


def _cautions(summary: Summary, width: int) -> Iterable[Line]:
    if summary.warnings:
        yield "", ""
        yield "Before you use these numbers", "bold yellow"
    for caution in summary.warnings:
        yield from _prose("  ! ", caution.text, width, "yellow")


def _criteria(systems: Mapping[str, Mapping[str, Cell]], summary: Summary, width: int) -> Iterable[Line]:
    for criterion, about in summary.criteria.items():
        cells = {system: by_name[criterion] for system, by_name in systems.items() if criterion in by_name}
        if not cells:
            continue
        digits = words.decimals(about.scale)
        yield "", ""
        yield from _prose(f"{safe(criterion)}   ", words.scale_text(about.scale), width, "bold")
        yield from _rows(cells, about.scale, digits, width)
        if groups := words.groups_text(cells.values()):
            yield from _prose("  ", groups, width, "dim")
        if about.minimum_detectable is not None and systems is summary.systems:
            yield from _prose(
                "  ", words.detectable_text(about.minimum_detectable, digits, about.scale), width, "dim"
            )


def _rows(cells: Mapping[str, Cell], scale: Scale | None, digits: int, width: int) -> Iterable[Line]:
    """One line for each system; the bars are left out where there is no room for them."""
    rows = [
        [words.interval(cell, digits), f"n={cell.n}", f"failed {cell.n_failed}", _bars(cell, scale)]
        for cell in cells.values()
    ]
    names = [safe(system) for system in cells]
    if width - 4 - max(map(n_columns, aligned(rows))) < min(_LEAST_ROOM, max(map(n_columns, names))):
        rows = [row[:-1] for row in rows]
    yield from _named(names, rows, [words.remarks(cell, digits) for cell in cells.values()], width)


def _named(
    names: Sequence[str], rows: Sequence[Sequence[str]], remarks: Sequence[str], width: int
) -> Iterable[Line]:
    """Names, numbers in columns, and remarks: on one line where the width allows it, else on several."""
    numbers = aligned(rows)
    room = width - 4 - max(map(n_columns, numbers))
    longest = min(_LONGEST_NAME, max(map(n_columns, names)))
    has_room = room >= min(_LEAST_ROOM, longest)
    for name, text, remark in zip(names, numbers, remarks, strict=True):
        if has_room:
            line = f"  {fitted(name, min(room, longest))}  {text}"
        else:
            yield f"  {fitted(name, min(width - 2, longest))}", ""
            line = f"    {text}"
        if remark and n_columns(line) + 2 + n_columns(safe(remark)) <= width:
            yield f"{line}  {safe(remark)}", ""
            continue
        yield line, ""
        if remark:
            yield from _prose(" " * 6, remark, width, "dim")


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


def _pairs(pairs_of: Mapping[str, Sequence[PairSummary]], summary: Summary, width: int) -> Iterable[Line]:
    for criterion, pairs in pairs_of.items():
        yield "", ""
        yield from _prose(
            f"{safe(criterion)}   ", "which of two is better; a tie is half a win", width, "bold"
        )
        rows = [
            [f"won {words.percent(pair.won_by_a)}", f"n={pair.won_by_a.n}", f"failed {pair.failed}"]
            for pair in pairs
        ]
        names = [f"{safe(pair.system_a)} against {safe(pair.system_b)}" for pair in pairs]
        yield from _named(names, rows, [words.pair_remarks(pair) for pair in pairs], width)
        if criterion in summary.position:
            share = summary.position[criterion]
            text = f"The response shown first won {words.percent(share)} of {share.n} verdicts."
            yield from _prose("  ", text, width, "dim")


def _models(summary: Summary, width: int) -> Iterable[Line]:
    """Each judge by itself, where there are several; the tables above are over all of them."""
    for spec, model in summary.models.items():
        if not model.systems and not model.pairs:
            continue
        yield "", ""
        yield from _prose("", f"By {spec} alone", width, "bold underline")
        yield from _criteria(model.systems, summary, width)
        yield from _pairs(model.pairs, structs.replace(summary, position={}), width)


def _correlations(summary: Summary, width: int) -> Iterable[Line]:
    if not summary.correlations:
        return
    yield "", ""
    yield from _prose(
        "How criteria move together   ", "Spearman over items; 1: the same order", width, "bold"
    )
    known = [found for found in summary.correlations if found.spearman.low is not None]
    if not known:
        yield from _prose("  ", "There are too few items to tell.", width, "dim")
        return
    names = [f"{safe(found.criteria[0])} – {safe(found.criteria[1])}" for found in known]
    found = [correlation.spearman for correlation in known]
    rows = [[words.interval(one, 2), f"n={one.n}", f"failed {one.n_failed}"] for one in found]
    yield from _named(names, rows, [reason(one) for one in found], width)
    if any(one.unit.startswith("group") for one in found):
        yield from _prose("  ", "Intervals count groups, not items.", width, "dim")


def _foot(summary: Summary, width: int) -> Iterable[Line]:
    yield "", ""
    for model, rungs in summary.rungs.items():
        yield from _prose("read      ", f"{model}: {words.rungs_text(rungs)}", width)
    if summary.flags:
        shown = ", ".join(f"{flag} {count}" for flag, count in summary.flags.items())
        yield from _prose("flags     ", shown, width)
    for adjustment in summary.adjustments:
        yield from _prose("adjusted  ", adjustment, width)
    if cost := words.cost_text(summary):
        yield from _prose("cost      ", cost, width)
    if any(cell.low is not None for cells in summary.systems.values() for cell in cells.values()):
        yield "", ""
        yield from _prose("", words.MEANING, width, "dim")


def _prose(lead: str, text: str, width: int, style: str = "") -> Iterable[Line]:
    """A text broken into lines, those after the first indented under it."""
    indent = " " * min(n_columns(lead), 12)
    line, is_empty = lead, True
    for word in safe(text).split(" "):
        if not is_empty and n_columns(line) + 1 + n_columns(word) > width:
            yield line, style
            line, is_empty = indent, True
        line = f"{line}{word}" if is_empty else f"{line} {word}"
        is_empty = False
        while n_columns(line) > width:
            n = _n_fitting(line, width)
            yield line[:n], style
            line = indent + line[n:]
    yield line, style


def _n_fitting(text: str, width: int) -> int:
    """How many characters of a text fit into so many columns."""
    n, used = 0, 0
    while n < len(text) and (used := used + n_columns(text[n])) <= width:
        n += 1
    return n


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of one width each, two spaces apart."""
    widths = [max(map(n_columns, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (wide - n_columns(cell)) for cell, wide in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def n_columns(text: str) -> int:
    """How many columns a text takes; Chinese and Korean characters take two."""
    from rich.cells import cell_len

    return cell_len(text)


def fitted(text: str, width: int) -> str:
    """A name in exactly so many columns. A longer one is cut in its middle: ends tell versions apart."""
    from rich.cells import set_cell_size

    if n_columns(text) <= width:
        return set_cell_size(text, width)
    head = set_cell_size(text, width // 2)
    tail = text
    while n_columns(tail) > width - n_columns(head) - 1:
        tail = tail[1:]
    return set_cell_size(f"{head}…{tail}", width)
