"""Several judges beside each other: how far they agree, and which one stands apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup
from msgspec import Struct

from ..analysis.panel import JudgeInPanel, PanelSummary
from ..analysis.report_words import (
    PANEL_MEANING,
    detectable_text,
    groups_text,
    order_meaning,
    panel_text,
    pooling_text,
    scale_text,
)
from ..analysis.result_types import Cell, PairSummary, Summary
from ..records import Estimate, Scale
from ..stats import PositionBias
from ..words import decimals, failures_text, interval, number, p_phrase, percent
from .charts import Domain, Mark, Part, axis, axis_of_bins, axis_of_levels, bars, domain_of, stacked, strip

# How scores are spread: one bar for each level of the scale, or bins of equal width where there are too many values.


Values = Mapping[tuple[str, str], Sequence[float]]
"""(criterion, system) → scores, where there are too many different ones to count by value"""

_MOST_BARS = 13
_N_BINS = 12


class SpreadOut(Struct, frozen=True):
    """The bars of all systems on one criterion: what each stands for, and how high it is for each system."""

    names: tuple[str, ...]
    counts: dict[str, tuple[int, ...]]
    axis: Markup

    def of(self, system: str) -> Markup | None:
        """One system's bars, as high as those of the others allow."""
        if system not in self.counts:
            return None
        tallest = max(n for own in self.counts.values() for n in own)
        pairs = list(zip(self.names, self.counts[system], strict=True))
        return bars(pairs, f"scores of {system}", tallest=tallest)

    def together(self, title: str) -> Markup:
        """The bars of all systems added up."""
        sums = [sum(own[place] for own in self.counts.values()) for place in range(len(self.names))]
        return bars(list(zip(self.names, sums, strict=True)), title, height=72)


def spread_of(
    criterion: str, scale: Scale | None, cells: Mapping[str, Cell], values: Values
) -> SpreadOut | None:
    """None where no score was given, or where the scores are not known one by one."""
    counted = {system: _counted(cell, values.get((criterion, system), ())) for system, cell in cells.items()}
    counted = {system: own for system, own in counted.items() if own}
    if not counted:
        return None
    seen = sorted({value for own in counted.values() for value in own})
    levels = sorted({*_levels(scale), *seen})
    if len(levels) <= _MOST_BARS:
        names = tuple(f"{level:.4g}" for level in levels)
        counts = {system: tuple(own.get(level, 0) for level in levels) for system, own in counted.items()}
        return SpreadOut(names, counts, axis_of_levels(levels)) if len(levels) > 1 else None
    return _binned(domain_of(scale, seen), counted)


def _binned(domain: Domain, counted: Mapping[str, Mapping[float, int]]) -> SpreadOut:
    wide = (domain.high - domain.low) / _N_BINS
    edges = [domain.low + place * wide for place in range(_N_BINS + 1)]
    counts = {}
    for system, own in counted.items():
        sums = [0] * _N_BINS
        for value, n in own.items():
            sums[min(_N_BINS - 1, max(0, int((value - domain.low) / wide)))] += n
        counts[system] = tuple(sums)
    return SpreadOut(
        names=tuple(f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges)),
        counts=counts,
        axis=axis_of_bins(domain.low, domain.high),
    )


def _counted(cell: Cell, values: Sequence[float]) -> dict[float, int]:
    """value → scores; from the scores themselves where the cell does not count them."""
    if cell.distribution:
        return {round(float(value), 9): n for value, n in cell.distribution.items()}
    counts: dict[float, int] = {}
    for value in values:
        counts[round(value, 9)] = counts.get(round(value, 9), 0) + 1
    return counts


def _levels(scale: Scale | None) -> list[float]:
    if scale is None or scale.low is None or scale.high is None or not scale.step:
        return []
    n_steps = (scale.high - scale.low) / scale.step
    if not 1 <= n_steps < _MOST_BARS:
        return []
    return [round(scale.low + place * scale.step, 9) for place in range(round(n_steps) + 1)]


# Means per system and criterion as rows of a table, each with its interval drawn and its scores spread out.


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


# Choices between systems, pair by pair, and whether the place shown decides them.


SHARES = Domain(0.0, 1.0)
_MOST_PAIRS = 60


class PairRow(Struct, frozen=True):
    """Two systems against each other."""

    pair: PairSummary
    bar: Markup
    strip: Markup
    remark: str
    judge: str = ""
    """whose choices they are, where several judges are shown apart"""


class OrderRow(Struct, frozen=True):
    """One judge, or all: how often both orders agree, and how often the first place won."""

    judge: str
    found: PositionBias
    agreement: Markup
    first: Markup
    test: str


class PairsPart(Struct, frozen=True):
    """One criterion that is decided by a choice."""

    name: str
    rows: tuple[PairRow, ...]
    n_hidden: int
    axis: Markup
    order: tuple[OrderRow, ...]
    order_meaning: str
    by_judge: tuple[PairRow, ...]


def pair_parts(summary: Summary) -> tuple[PairsPart, ...]:
    """All criteria that are decided by a choice."""
    return tuple(_pairs_of_criterion(summary, name, pairs) for name, pairs in summary.pairs.items())


def share_strip(found: Estimate, title: str, reference: float | None = 0.5) -> Markup:
    """A share with its interval on an axis from 0 to 1."""
    return strip([Mark(found.value, found.low, found.high)], SHARES, title, reference=reference)


def _pairs_of_criterion(summary: Summary, name: str, pairs: Sequence[PairSummary]) -> PairsPart:
    orders = [("", summary.order[name])] if name in summary.order else []
    if len(summary.models) > 1:
        orders += [(spec, model.order[name]) for spec, model in summary.models.items() if name in model.order]
    return PairsPart(
        name=name,
        rows=tuple(_pair_row(pair) for pair in pairs[:_MOST_PAIRS]),
        n_hidden=max(0, len(pairs) - _MOST_PAIRS),
        axis=axis(SHARES),
        order=tuple(_order(judge, found) for judge, found in orders if found.first_share.n or found.n_pairs),
        order_meaning=order_meaning(summary),
        by_judge=tuple(
            _pair_row(pair, spec)
            for spec, model in summary.models.items()
            for pair in model.pairs.get(name, ())[:_MOST_PAIRS]
        ),
    )


def _order(judge: str, found: PositionBias) -> OrderRow:
    return OrderRow(
        judge=judge,
        found=found,
        agreement=share_strip(found.agreement, f"same winner in {percent(found.agreement)}", reference=None),
        first=share_strip(found.first_share, f"first place won {percent(found.first_share)}"),
        test=p_phrase(found.p),
    )


def _pair_row(pair: PairSummary, judge: str = "") -> PairRow:
    a, b = pair.system_a, pair.system_b
    parts = [Part(a, pair.a, "side-a"), Part("tie", pair.tie, "s-tie"), Part(b, pair.b, "side-b")]
    said = [failures_text(pair.failures)]
    if pair.order_conflicts.value:
        said.append(f"the order changed the choice in {percent(pair.order_conflicts)}")
    return PairRow(
        pair=pair,
        bar=stacked(parts, f"{a} {pair.a}, tie {pair.tie}, {b} {pair.b}"),
        strip=share_strip(pair.won_by_a, f"{a} won {percent(pair.won_by_a)}"),
        remark="; ".join(text for text in said if text),
        judge=judge,
    )


_CORRELATION = Domain(-1.0, 1.0)


class PanelRow(Struct, frozen=True):
    """One judge beside the others."""

    judge: str
    found: JudgeInPanel
    strip: Markup
    is_apart: bool


class CriterionPanel(Struct, frozen=True):
    """One criterion over all judges."""

    name: str
    panel: PanelSummary
    words: str
    digits: int
    rows: tuple[PanelRow, ...]


class PanelPart(Struct, frozen=True):
    """All criteria that several judges judged."""

    criteria: tuple[CriterionPanel, ...]
    axis: Markup
    pooling: str
    meaning: str


def panel_part(summary: Summary) -> PanelPart | None:
    """None with one judge."""
    if not summary.panel:
        return None
    return PanelPart(
        criteria=tuple(_panel_criterion(summary, name, found) for name, found in summary.panel.items()),
        axis=axis(_CORRELATION),
        pooling=pooling_text(summary),
        meaning=PANEL_MEANING,
    )


def _panel_criterion(summary: Summary, name: str, panel: PanelSummary) -> CriterionPanel:
    about = summary.criteria.get(name)
    rows = []
    for judge, found in panel.judges.items():
        one = found.with_rest
        title = f"{judge} with the others: {interval(one, 2)}"
        drawn = strip([Mark(one.value, one.low, one.high)], _CORRELATION, title, reference=0.0)
        rows.append(PanelRow(judge, found, drawn, judge == panel.stands_apart))
    digits = decimals(about.scale if about is not None else None)
    return CriterionPanel(name, panel, panel_text(panel), digits, tuple(rows))
