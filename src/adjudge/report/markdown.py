"""A summary in Markdown, for a pull request or a paper.

Names come from users' files: in a cell they can open neither a tag, a table cell, a link nor a
mention of a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from . import words
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
        *_models(summary),
        *_correlations(summary),
        *_foot(summary),
    ]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """A text that Markdown shows as it is: no HTML, no table cell, no emphasis, no link, no mention."""
    shown = _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", safe(text))
    # A character without width keeps GitHub from making links and mentions out of names.
    return _LINKING.sub("\u200b", shown)


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
            [system, words.interval(cell, digits), f"{cell.n}", f"{cell.n_failed}", _remarks(cell, digits)]
            for system, cell in cells.items()
        ]
        yield _table(["system", "mean [95 % interval]", "n", "failed", "remarks"], rows, "lrrrl")
        if about.minimum_detectable is not None and systems is summary.systems:
            yield words.detectable_text(about.minimum_detectable, digits)


def _remarks(cell: Cell, digits: int) -> str:
    remarks = [words.failures_text(cell.failures), words.bounds_text(cell, digits), cell.reason]
    if cell.unit.startswith("group"):
        remarks.append(f"by {cell.unit}")
    return "; ".join(remark for remark in remarks if remark)


def _pairs(pairs_of: Mapping[str, Sequence[PairSummary]], level: str) -> Iterable[str]:
    for criterion, pairs in pairs_of.items():
        yield f"{level} {escaped(criterion)}"
        rows = [
            [
                pair.system_a,
                pair.system_b,
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


def _models(summary: Summary) -> Iterable[str]:
    for spec, model in summary.models.items():
        if model.systems or model.pairs:
            yield f"## By {escaped(spec)} alone"
            yield from _criteria(model.systems, summary, "###")
            yield from _pairs(model.pairs, "###")


def _correlations(summary: Summary) -> Iterable[str]:
    if summary.correlations:
        yield "## How criteria move together"
        rows = [
            [
                *found.criteria,
                words.interval(found.spearman, 2),
                f"{found.spearman.n}",
                f"{found.spearman.n_failed}",
            ]
            for found in summary.correlations
        ]
        yield _table(["criterion", "criterion", "Spearman [95 % interval]", "n", "failed"], rows, "llrrr")


def _foot(summary: Summary) -> Iterable[str]:
    lines = [f"read: {escaped(model)}: {words.rungs_text(rungs)}" for model, rungs in summary.rungs.items()]
    if summary.flags:
        flags = ", ".join(f"{flag} {count}" for flag, count in summary.flags.items())
        lines.append(f"flags: {escaped(flags)}")
    lines += [f"adjusted: {escaped(adjustment)}" for adjustment in summary.adjustments]
    lines.append(f"cost: {words.cost_text(summary).replace('$', '&#36;')}")
    yield "\n".join(f"- {line}" for line in lines)
    if summary.systems:
        yield f"{words.MEANING}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], alignment: str) -> str:
    rule = ["---:" if side == "r" else "---" for side in alignment]
    lines = [list(heads), rule, *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
