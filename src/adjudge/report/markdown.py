"""A summary in Markdown, for a pull request or a paper.

Names come from users' files: in a cell they can open neither a tag, a table cell, a link nor a
mention of a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from . import words
from .panel_lines import cells_by_judge, scale_of
from .shapes import Cell, PairSummary, Summary
from .terminal import safe

_SPECIAL = re.compile(r"[&<>|`*_\[\]~\\$]")
_LINKING = re.compile(r"(?<=@)|(?<=#)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=GH)(?=-\d)", re.IGNORECASE)


def markdown(summary: Summary) -> str:
    """The report as Markdown text, ending in a line break."""
    parts = [
        *_head(summary),
        *_cautions(summary),
        *_criteria(summary.systems, summary, "##"),
        *_pairs(summary.pairs, "##"),
        *_order(summary),
        *_panel(summary),
        *_correlations(summary),
        *_foot(summary),
    ]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """A text that Markdown shows as it is: no HTML, no table cell, no emphasis, no link, no mention."""
    # A character without width keeps GitHub from making links and mentions out of names.
    unlinked = _LINKING.sub("\u200b", safe(text))
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", unlinked)


def _head(summary: Summary) -> Iterable[str]:
    yield f"# {escaped(summary.run or 'Report')}"
    judges = ", ".join(
        escaped(words.judge_text(spec, model.names, model.is_fake)) for spec, model in summary.models.items()
    )
    facts = [f"judge {judges}" if judges else ""]
    facts += [f"protocol {escaped(name)}" for name in summary.protocols]
    facts += [
        f"estimator {summary.estimator}" if summary.estimator else "",
        escaped(words.size_text(summary)),
        words.pooling_text(summary),
    ]
    yield " · ".join(fact for fact in facts if fact)


def _cautions(summary: Summary) -> Iterable[str]:
    if summary.warnings:
        yield "**Before you use these numbers**"
        yield "\n".join(f"- {escaped(caution.text)}" for caution in summary.warnings)


def _criteria(systems: Mapping[str, Mapping[str, Cell]], summary: Summary, level: str) -> Iterable[str]:
    for criterion, about in summary.criteria.items():
        cells = {system: by_name[criterion] for system, by_name in systems.items() if criterion in by_name}
        if not cells:
            continue
        digits = words.decimals(about.scale)
        yield f"{level} {escaped(criterion)}"
        yield escaped(words.scale_text(about.scale))
        rows = [
            [
                escaped(system),
                words.interval(cell, digits),
                f"{cell.n}",
                f"{cell.n_failed}",
                escaped(words.remarks(cell, digits)),
            ]
            for system, cell in cells.items()
        ]
        yield _table(["system", "mean [95 % interval]", "n", "failed", "remarks"], rows, "lrrrl")
        if groups := words.groups_text(cells.values()):
            yield groups
        if about.minimum_detectable is not None and systems is summary.systems:
            yield words.detectable_text(about.minimum_detectable, digits, about.scale)


def _pairs(pairs_of: Mapping[str, Sequence[PairSummary]], level: str) -> Iterable[str]:
    for criterion, pairs in pairs_of.items():
        yield f"{level} {escaped(criterion)}"
        rows = [
            [
                escaped(pair.system_a),
                escaped(pair.system_b),
                words.percent(pair.won_by_a),
                f"{pair.a} / {pair.b} / {pair.tie}",
                f"{pair.won_by_a.n}",
                f"{pair.failed}",
                words.percent(pair.order_conflicts),
            ]
            for pair in pairs
        ]
        heads = ["a", "b", "won by a (a tie is half)", "a / b / tie", "n", "failed", "changed with the order"]
        yield _table(heads, rows, "llrrrrr")


def _order(summary: Summary) -> Iterable[str]:
    found = [(criterion, "all", order) for criterion, order in summary.order.items()]
    found += [
        (criterion, spec, order)
        for spec, model in summary.models.items()
        for criterion, order in model.order.items()
    ]
    rows = [
        [escaped(criterion), escaped(judge), *words.order_cells(order)] for criterion, judge, order in found
    ]
    if rows:
        yield "## Does the place decide?"
        yield _table(["criterion", "judge", *words.ORDER_HEADS], rows, "llrrrrr")
        yield words.order_meaning(summary)


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
            [escaped(name), *(row.get(judge, words.NO_VALUE) for judge in panel.judges)]
            for name, row in table.items()
        ]
        if rows:
            yield _table(heads, rows, "l" + "r" * len(panel.judges))
        yield f"agreement: {words.panel_text(panel)}"
        digits = words.decimals(scale_of(criterion, summary))
        beside = [
            [escaped(judge), *words.panel_cells(found, digits)] for judge, found in panel.judges.items()
        ]
        yield _table(["judge", *words.PANEL_HEADS], beside, "lrrrr")
        if panel.stands_apart is not None:
            yield f"{escaped(panel.stands_apart)} stands apart: the others agree better without it."
    yield words.PANEL_MEANING


def _correlations(summary: Summary) -> Iterable[str]:
    if summary.correlations:
        yield "## How criteria move together"
        rows = [
            [
                *map(escaped, found.criteria),
                words.interval(found.spearman, 2),
                f"{found.spearman.n}",
                f"{found.spearman.n_failed}",
                found.spearman.unit,
            ]
            for found in summary.correlations
        ]
        heads = ["criterion", "criterion", "Spearman [95 % interval]", "n", "failed", "unit"]
        yield _table(heads, rows, "llrrrl")


def _foot(summary: Summary) -> Iterable[str]:
    lines = [f"read: {escaped(model)}: {words.rungs_text(rungs)}" for model, rungs in summary.rungs.items()]
    if summary.flags:
        flags = ", ".join(f"{flag} {count}" for flag, count in summary.flags.items())
        lines.append(f"flags: {escaped(flags)}")
    lines += [f"adjusted: {escaped(adjustment)}" for adjustment in summary.adjustments]
    if cost := words.cost_text(summary):
        lines.append(f"cost: {escaped(cost)}")
    if lines:
        yield "\n".join(f"- {line}" for line in lines)
    if summary.systems:
        yield words.MEANING


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], alignment: str) -> str:
    """A table of cells that are already escaped."""
    rule = ["---:" if side == "r" else "---" for side in alignment]
    lines = [heads, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
