"""A summary in Markdown, for a pull request or a paper.

Names come from users' files: in a cell they can open neither a tag, a table cell, a link nor a
mention of a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..records import Scale
from ..stats import PositionBias
from ..untrusted import safe
from ..words import (
    NO_VALUE,
    count,
    decimals,
    duration,
    failures_text,
    interval,
    number,
    p_text,
    percent,
    share,
)
from .panel import JudgeInPanel, PanelSummary
from .result_types import Cell, PairSummary, RungShare, Summary
from .tally import key_text

if TYPE_CHECKING:
    from rich.console import Console

# Numbers and names as a report writes them, the same in a terminal and in Markdown.


MEANING = (
    "[low, high] is a 95 % interval: the same judge on other items of this kind would give a mean in about this "
    "range. It does not say that the judge is right; only labels by people can show that."
)


def scale_text(scale: Scale | None) -> str:
    """1–5, higher is better."""
    if scale is None:
        return "scale not known"
    better = {1: "higher is better", -1: "lower is better", 0: "which end is good is not known"}[
        scale.direction
    ]
    if scale.low is None or scale.high is None:
        return f"no fixed ends, {better}"
    ends = f"{key_text(scale.low)}–{key_text(scale.high)}"
    named = ", ".join(f"{key_text(level)} = {name}" for level, name in sorted(scale.names.items()))
    return f"{ends} ({named}), {better}" if named else f"{ends}, {better}"


def bounds_text(cell: Cell, digits: int) -> str:
    """What the failures leave open; empty where nothing failed."""
    if not cell.n_failed or cell.bounds is None:
        return ""
    low, high = number(cell.bounds.low, digits), number(cell.bounds.high, digits)
    return f"mean {low} to {high} whatever the failed were"


def remarks(cell: Cell, digits: int) -> str:
    """What must be said beside a mean: what failed, what that leaves open, and why an interval is missing."""
    said = [failures_text(cell.failures), bounds_text(cell, digits), cell.reason]
    if cell.n_samples > cell.n + cell.n_failed and cell.n_samples_failed:
        said.append(f"{cell.n_samples_failed:,} of {cell.n_samples:,} samples failed")
    return "; ".join(text for text in said if text)


def groups_text(cells: Iterable[Cell]) -> str:
    """What counts as one observation where items share groups; empty where each stands alone."""
    counts = sorted({cell.n_groups for cell in cells if cell.n_groups is not None})
    if not counts:
        return ""
    span = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"Intervals by group: items that share one count as one observation ({span} {'group' if counts[-1] == 1 else 'groups'})."


def pair_remarks(pair: PairSummary) -> str:
    """Who won how often, what failed, and how much the order decided."""
    said = [
        f"{pair.system_a} {pair.a}, {pair.system_b} {pair.b}, tie {pair.tie}",
        failures_text(pair.failures),
    ]
    if pair.order_conflicts.n:
        said.append(f"the order changed the choice in {percent(pair.order_conflicts)}")
    return "; ".join(text for text in said if text)


def rungs_text(rungs: Mapping[str, RungShare]) -> str:
    """strict 96 %, anchored 3 %, failed 1 % of 200."""
    total = sum(rung.n for rung in rungs.values())
    return ", ".join(f"{name} {share(rung.share)}" for name, rung in rungs.items()) + f" of {total:,}"


def size_text(summary: Summary) -> str:
    """How much was judged, and how much of it failed."""
    shown = [count(summary.n_items, "item")]
    if summary.systems:
        shown.append(count(len(summary.systems), "system"))
    scores = count(summary.n_scores, "choice" if summary.pairs and not summary.systems else "score")
    of_all = f" ({share(summary.n_failed / summary.n_scores)})" if summary.n_failed else ""
    return " · ".join([*shown, f"{scores}, {summary.n_failed:,} failed{of_all}"])


def cost_text(summary: Summary) -> str:
    """Calls, tokens, money and time; empty where none of it is known."""
    if not (
        summary.n_calls or summary.tokens_in or summary.tokens_out or summary.cost_usd or summary.seconds
    ):
        return ""
    calls = count(summary.n_calls, "call")
    if summary.n_cached:
        calls += f" ({summary.n_cached:,} from the store)"
    tokens = f"{summary.tokens_in:,} tokens in, {summary.tokens_out:,} out"
    cost = "cost not known (no price given)" if summary.cost_usd is None else f"${summary.cost_usd:,.4f}"
    if summary.cost_usd is not None and summary.n_unpriced:
        cost += f" (and {count(summary.n_unpriced, 'call')} without a price)"
    if summary.cost_usd and summary.n_calls and summary.n_cached >= summary.n_calls:
        cost += ", paid by an earlier run"
    return " · ".join([calls, tokens, cost, duration(summary.seconds)])


def judge_text(spec: str, names: Mapping[str, int], is_fake: bool) -> str:
    """The judge's spec, and what it calls itself where that is something else."""
    own = [name for name in names if name and name != spec.partition(":")[2]]
    says = f" (calls itself {', '.join(own)})" if own else ""
    return f"{spec}{says}{' [fake]' if is_fake else ''}"


def detectable_text(value: float, digits: int, scale: Scale | None) -> str:
    """What this many items can and cannot show."""
    if (
        scale is not None
        and scale.low is not None
        and scale.high is not None
        and value >= scale.high - scale.low
    ):
        return "So few items show no difference between two systems for sure, however large it is."
    return (
        f"A true difference of {number(value, digits)} between two systems would be found four times in five; "
        "a smaller one less often."
    )


ORDER_HEADS = ("same winner in both orders", "pairs", "won by the first place", "choices", "p")


def order_cells(found: PositionBias) -> list[str]:
    """Whether the place decides: the agreement of both orders, the first place's share, and a test."""
    return [
        percent(found.agreement),
        f"{found.n_pairs:,}",
        percent(found.first_share),
        f"{found.first_share.n:,}",
        p_text(found.p),
    ]


ORDER_MEANING = (
    "A fair judge names the same winner in both orders, and each place wins half of the decided choices. p: the binomial "
    "test that, where the winner changed with the order, both places are favoured alike."
)
ONE_ORDER_MEANING = (
    "Each pair was shown in one order. p: the binomial test that both places win alike; where the same system always "
    "stands first, that is a question about the systems too."
)


def order_meaning(summary: Summary) -> str:
    return ORDER_MEANING if any(found.n_pairs for found in summary.order.values()) else ONE_ORDER_MEANING


def panel_text(panel: PanelSummary) -> str:
    """How far the judges agree, with what that is."""
    said = f"alpha {interval(panel.alpha, 2)}, n={panel.alpha.n}"
    told = "; ".join(text for text in (panel.alpha.reason, panel.alpha.caution) if text)
    return f"{said} ({told})" if told else said


PANEL_MEANING = (
    "Alpha is Krippendorff's: 1 where the judges say the same, 0 where they agree as by chance; below 0.67 few would build "
    "on it. With the others: Spearman with their mean."
)
PANEL_HEADS = ("with the others", "higher than they by", "their alpha without it", "n")


def panel_cells(found: JudgeInPanel, digits: int) -> list[str]:
    """One judge beside the others."""
    return [
        interval(found.with_rest, 2),
        interval(found.shift, digits),
        interval(found.alpha_without, 2),
        f"{found.with_rest.n:,}",
    ]


def pooling_text(summary: Summary) -> str:
    """What the numbers over several judges are made of; empty with one judge."""
    kinds = {panel.pooled for panel in summary.panel.values()}
    said = {"mean": "each score is the mean over the judges", "vote": "each choice is the judges' vote"}
    n_judges = max((len(panel.judges) for panel in summary.panel.values()), default=0)
    return f"over {n_judges} judges: {', '.join(said[kind] for kind in sorted(kinds))}" if n_judges else ""


# Lines of text that fit a terminal: names that cannot act on it, columns that stand below each other, broken prose.
#
# Names of systems, criteria and models come from users' files, and may hold escape sequences, line breaks, or lines that a
# CI runner would take for commands: none of them reaches the output as it is. Nothing here knows what is reported.


_LONGEST_NAME = 48
LEAST_ROOM = 12
"""columns below which a name stands on a line of its own"""

Line = tuple[str, str]
"""a text without line breaks, and its style"""


def named(
    names: Sequence[str], rows: Sequence[Sequence[str]], remarks: Sequence[str], width: int
) -> Iterable[Line]:
    """Names, numbers in columns, and remarks: on one line where the width allows it, else on several."""
    numbers = aligned(rows)
    room = width - 4 - max(map(n_columns, numbers))
    longest = min(_LONGEST_NAME, max(map(n_columns, names)))
    has_room = room >= min(LEAST_ROOM, longest)
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
            yield from prose(" " * 6, remark, width, "dim")


def headed(
    names: Sequence[str], heads: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> Iterable[Line]:
    """A table under heads; where there is no room for it, a line for each cell under its name."""
    numbers = aligned([heads, *rows])
    room = width - 4 - max(map(n_columns, numbers))
    longest = min(_LONGEST_NAME, max(map(n_columns, names), default=0))
    if room >= min(LEAST_ROOM, longest):
        column = min(room, longest)
        yield f"  {' ' * column}  {numbers[0]}", "dim"
        for name, text in zip(names, numbers[1:], strict=True):
            yield f"  {fitted(name, column)}  {text}", ""
        return
    for name, row in zip(names, rows, strict=True):
        yield f"  {fitted(name, min(width - 2, longest))}", ""
        for head, cell in zip(heads, row, strict=True):
            yield from prose("    ", f"{head}: {cell}", width)


def prose(lead: str, text: str, width: int, style: str = "") -> Iterable[Line]:
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


# Several judges in a terminal: each one's numbers beside the others', and how far they agree.


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
    yield from prose("  ", PANEL_MEANING, width, "dim")


def _criterion(criterion: str, panel: PanelSummary, summary: Summary, width: int) -> Iterable[Line]:
    yield from prose(f"{safe(criterion)}   ", panel_text(panel), width, "bold")
    yield from _columns(cells_by_judge(criterion, panel, summary), list(panel.judges), width)
    digits = decimals(scale_of(criterion, summary))
    rows = [panel_cells(found, digits) for found in panel.judges.values()]
    yield from headed([safe(judge) for judge in panel.judges], PANEL_HEADS, rows, width)
    if panel.stands_apart is not None:
        yield from prose(
            "  ", f"{panel.stands_apart} stands apart: the others agree better without it.", width
        )


def _columns(table: Table, judges: list[str], width: int) -> Iterable[Line]:
    """A column for each judge, or, where there is no room for that, a line for each."""
    rows = [[row.get(judge, NO_VALUE) for judge in judges] for row in table.values()]
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
            digits = decimals(scale_of(name, summary))
            for system in summary.systems:
                cells: Mapping[str, Cell] = model.systems.get(system, {})
                if name in cells:
                    table.setdefault(system, {})[judge] = _of_cell(cells[name], digits)
    return table


def scale_of(criterion: str, summary: Summary) -> Scale | None:
    about = summary.criteria.get(criterion)
    return about.scale if about is not None else None


def _of_cell(cell: Cell, digits: int) -> str:
    return f"{interval(cell, digits)} ({cell.n}, {cell.n_failed})"


def _of_pair(pair: PairSummary) -> str:
    return f"won {percent(pair.won_by_a)} ({pair.won_by_a.n}, {pair.failed})"


# A summary for a terminal: aligned, as wide as the terminal, plain when it is piped.
#
# Names of systems, criteria and models come from users' files, and may hold escape sequences,
# line breaks, or lines that a CI runner would take for commands: none of them reaches the output
# as it is.


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
        yield from prose("judge     ", judge_text(spec, model.names, model.is_fake), width)
    if summary.protocols:
        named = [f"{name} ({digest[:12]})" if digest else name for name, digest in summary.protocols.items()]
        yield from prose("protocol  ", ", ".join(named), width)
    if summary.estimator:
        yield from prose("estimator ", summary.estimator, width)
    yield from prose("judged    ", size_text(summary), width)
    if pooling := pooling_text(summary):
        yield from prose("pooled    ", pooling, width)


def _cautions(summary: Summary, width: int) -> Iterable[Line]:
    if summary.warnings:
        yield "", ""
        yield "Before you use these numbers", "bold yellow"
    for warning in summary.warnings:
        yield from prose("  ! ", warning.text, width, "yellow")


def _criteria(systems: Mapping[str, Mapping[str, Cell]], summary: Summary, width: int) -> Iterable[Line]:
    for criterion, about in summary.criteria.items():
        cells = {system: by_name[criterion] for system, by_name in systems.items() if criterion in by_name}
        if not cells:
            continue
        digits = decimals(about.scale)
        yield "", ""
        yield from prose(f"{safe(criterion)}   ", scale_text(about.scale), width, "bold")
        yield from _rows(cells, about.scale, digits, width)
        if groups := groups_text(cells.values()):
            yield from prose("  ", groups, width, "dim")
        if about.minimum_detectable is not None and systems is summary.systems:
            yield from prose(
                "  ", detectable_text(about.minimum_detectable, digits, about.scale), width, "dim"
            )


def _rows(cells: Mapping[str, Cell], scale: Scale | None, digits: int, width: int) -> Iterable[Line]:
    """One line for each system; the bars are left out where there is no room for them."""
    rows = [
        [interval(cell, digits), f"n={cell.n}", f"failed {cell.n_failed}", _bars(cell, scale)]
        for cell in cells.values()
    ]
    names = [safe(system) for system in cells]
    if width - 4 - max(map(n_columns, aligned(rows))) < min(LEAST_ROOM, max(map(n_columns, names))):
        rows = [row[:-1] for row in rows]
    yield from named(names, rows, [remarks(cell, digits) for cell in cells.values()], width)


def _bars(cell: Cell, scale: Scale | None) -> str:
    """How often each level was given, from low to high: 1▁▁▃█▅5."""
    if scale is None or scale.low is None or scale.high is None or not scale.step or not cell.distribution:
        return ""
    n_levels = round((scale.high - scale.low) / scale.step) + 1
    if n_levels > 11:
        return ""
    levels = [0] * n_levels
    for value, n in cell.distribution.items():
        place = round((float(value) - scale.low) / scale.step)
        levels[max(0, min(n_levels - 1, place))] += n
    top = max(levels)
    drawn = "".join(" " if not n else _BARS[-(-n * 7 // top)] for n in levels)
    return f"{key_text(scale.low)}|{drawn}|{key_text(scale.high)}"


def _pairs(pairs_of: Mapping[str, Sequence[PairSummary]], width: int) -> Iterable[Line]:
    for criterion, pairs in pairs_of.items():
        yield "", ""
        yield from prose(
            f"{safe(criterion)}   ", "which of two is better; a tie is half a win", width, "bold"
        )
        rows = [
            [f"won {percent(pair.won_by_a)}", f"n={pair.won_by_a.n}", f"failed {pair.failed}"]
            for pair in pairs
        ]
        names = [f"{safe(pair.system_a)} against {safe(pair.system_b)}" for pair in pairs]
        yield from named(names, rows, [pair_remarks(pair) for pair in pairs], width)


def _order(summary: Summary, width: int) -> Iterable[Line]:
    """Whether the place decides, criterion by criterion; of several judges, each by itself too."""
    names, rows = [], []
    for criterion, found in summary.order.items():
        names.append(safe(criterion))
        rows.append(order_cells(found))
        for spec, model in summary.models.items():
            if criterion in model.order:
                names.append(f"  {safe(spec)}")
                rows.append(order_cells(model.order[criterion]))
    if not rows:
        return
    yield "", ""
    yield "Does the place decide?", "bold"
    yield from headed(names, ORDER_HEADS, rows, width)
    yield from prose("  ", order_meaning(summary), width, "dim")


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
    rows = [[interval(one, 2), f"n={one.n}", f"failed {one.n_failed}"] for one in found]
    yield from named(names, rows, [one.reason for one in found], width)
    if any(one.unit.startswith("group") for one in found):
        yield from prose("  ", "Intervals count groups, not items.", width, "dim")


def _foot(summary: Summary, width: int) -> Iterable[Line]:
    yield "", ""
    for model, rungs in summary.rungs.items():
        yield from prose("read      ", f"{model}: {rungs_text(rungs)}", width)
    if summary.flags:
        shown = ", ".join(f"{flag} {n}" for flag, n in summary.flags.items())
        yield from prose("flags     ", shown, width)
    for adjustment in summary.adjustments:
        yield from prose("adjusted  ", adjustment, width)
    if cost := cost_text(summary):
        yield from prose("cost      ", cost, width)
    if any(cell.low is not None for cells in summary.systems.values() for cell in cells.values()):
        yield "", ""
        yield from prose("", MEANING, width, "dim")


_SPECIAL = re.compile(r"[&<>|`*_\[\]~\\$]")
_LINKING = re.compile(r"(?<=@)|(?<=#)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=GH)(?=-\d)", re.IGNORECASE)


def markdown(summary: Summary) -> str:
    """The report as Markdown text, ending in a line break."""
    parts = [
        *_markdown_head(summary),
        *_markdown_cautions(summary),
        *_markdown_criteria(summary.systems, summary, "##"),
        *_markdown_pairs(summary.pairs, "##"),
        *_markdown_order(summary),
        *_panel(summary),
        *_markdown_correlations(summary),
        *_markdown_foot(summary),
    ]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """A text that Markdown shows as it is: no HTML, no table cell, no emphasis, no link, no mention."""
    # A character without width keeps GitHub from making links and mentions out of names.
    unlinked = _LINKING.sub("\u200b", safe(text))
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", unlinked)


def _markdown_head(summary: Summary) -> Iterable[str]:
    yield f"# {escaped(summary.run or 'Report')}"
    judges = ", ".join(
        escaped(judge_text(spec, model.names, model.is_fake)) for spec, model in summary.models.items()
    )
    facts = [f"judge {judges}" if judges else ""]
    facts += [f"protocol {escaped(name)}" for name in summary.protocols]
    facts += [
        f"estimator {summary.estimator}" if summary.estimator else "",
        escaped(size_text(summary)),
        pooling_text(summary),
    ]
    yield " · ".join(fact for fact in facts if fact)


def _markdown_cautions(summary: Summary) -> Iterable[str]:
    if summary.warnings:
        yield "**Before you use these numbers**"
        yield "\n".join(f"- {escaped(caution.text)}" for caution in summary.warnings)


def _markdown_criteria(
    systems: Mapping[str, Mapping[str, Cell]], summary: Summary, level: str
) -> Iterable[str]:
    for criterion, about in summary.criteria.items():
        cells = {system: by_name[criterion] for system, by_name in systems.items() if criterion in by_name}
        if not cells:
            continue
        digits = decimals(about.scale)
        yield f"{level} {escaped(criterion)}"
        yield escaped(scale_text(about.scale))
        rows = [
            [
                escaped(system),
                interval(cell, digits),
                f"{cell.n}",
                f"{cell.n_failed}",
                escaped(remarks(cell, digits)),
            ]
            for system, cell in cells.items()
        ]
        yield _table(["system", "mean [95 % interval]", "n", "failed", "remarks"], rows, "lrrrl")
        if groups := groups_text(cells.values()):
            yield groups
        if about.minimum_detectable is not None and systems is summary.systems:
            yield detectable_text(about.minimum_detectable, digits, about.scale)


def _markdown_pairs(pairs_of: Mapping[str, Sequence[PairSummary]], level: str) -> Iterable[str]:
    for criterion, pairs in pairs_of.items():
        yield f"{level} {escaped(criterion)}"
        rows = [
            [
                escaped(pair.system_a),
                escaped(pair.system_b),
                percent(pair.won_by_a),
                f"{pair.a} / {pair.b} / {pair.tie}",
                f"{pair.won_by_a.n}",
                f"{pair.failed}",
                percent(pair.order_conflicts),
            ]
            for pair in pairs
        ]
        heads = ["a", "b", "won by a (a tie is half)", "a / b / tie", "n", "failed", "changed with the order"]
        yield _table(heads, rows, "llrrrrr")


def _markdown_order(summary: Summary) -> Iterable[str]:
    found = [(criterion, "all", order) for criterion, order in summary.order.items()]
    found += [
        (criterion, spec, order)
        for spec, model in summary.models.items()
        for criterion, order in model.order.items()
    ]
    rows = [[escaped(criterion), escaped(judge), *order_cells(order)] for criterion, judge, order in found]
    if rows:
        yield "## Does the place decide?"
        yield _table(["criterion", "judge", *ORDER_HEADS], rows, "llrrrrr")
        yield order_meaning(summary)


def _panel(summary: Summary) -> Iterable[str]:
    """A column for each judge, then how far they agree."""
    if not summary.panel:
        return
    yield "## Judge by judge"
    yield "mean [95 % interval] (n, failed)"
    for criterion, panel in summary.panel.items():
        yield f"### {escaped(criterion)}"
        table = cells_by_judge(criterion, panel, summary)
        heads = ["", *(escaped(judge) for judge in panel.judges)]
        rows = [
            [escaped(name), *(row.get(judge, NO_VALUE) for judge in panel.judges)]
            for name, row in table.items()
        ]
        if rows:
            yield _table(heads, rows, "l" + "r" * len(panel.judges))
        yield f"agreement: {panel_text(panel)}"
        digits = decimals(scale_of(criterion, summary))
        beside = [[escaped(judge), *panel_cells(found, digits)] for judge, found in panel.judges.items()]
        yield _table(["judge", *PANEL_HEADS], beside, "lrrrr")
        if panel.stands_apart is not None:
            yield f"{escaped(panel.stands_apart)} stands apart: the others agree better without it."
    yield PANEL_MEANING


def _markdown_correlations(summary: Summary) -> Iterable[str]:
    if summary.correlations:
        yield "## How criteria move together"
        rows = [
            [
                *map(escaped, found.criteria),
                interval(found.spearman, 2),
                f"{found.spearman.n}",
                f"{found.spearman.n_failed}",
                found.spearman.unit,
            ]
            for found in summary.correlations
        ]
        heads = ["criterion", "criterion", "Spearman [95 % interval]", "n", "failed", "unit"]
        yield _table(heads, rows, "llrrrl")


def _markdown_foot(summary: Summary) -> Iterable[str]:
    lines = [f"read: {escaped(model)}: {rungs_text(rungs)}" for model, rungs in summary.rungs.items()]
    if summary.flags:
        flags = ", ".join(f"{flag} {n}" for flag, n in summary.flags.items())
        lines.append(f"flags: {escaped(flags)}")
    lines += [f"adjusted: {escaped(adjustment)}" for adjustment in summary.adjustments]
    if cost := cost_text(summary):
        lines.append(f"cost: {escaped(cost)}")
    if lines:
        yield "\n".join(f"- {line}" for line in lines)
    if summary.systems:
        yield MEANING


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], alignment: str) -> str:
    """A table of cells that are already escaped."""
    rule = ["---:" if side == "r" else "---" for side in alignment]
    lines = [heads, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
