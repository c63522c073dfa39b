"""Several judges beside each other: how far they agree, and which one stands apart."""

from __future__ import annotations

from markupsafe import Markup
from msgspec import Struct

from ...report import Summary
from ...report.panel import JudgeInPanel, PanelSummary
from ...report.words import PANEL_MEANING, decimals, interval, panel_text, pooling_text
from ..charts import Domain, Mark, axis, strip

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
        criteria=tuple(_criterion(summary, name, found) for name, found in summary.panel.items()),
        axis=axis(_CORRELATION),
        pooling=pooling_text(summary),
        meaning=PANEL_MEANING,
    )


def _criterion(summary: Summary, name: str, panel: PanelSummary) -> CriterionPanel:
    about = summary.criteria.get(name)
    rows = []
    for judge, found in panel.judges.items():
        one = found.with_rest
        title = f"{judge} with the others: {interval(one, 2)}"
        drawn = strip([Mark(one.value, one.low, one.high)], _CORRELATION, title, reference=0.0)
        rows.append(PanelRow(judge, found, drawn, judge == panel.stands_apart))
    digits = decimals(about.scale if about is not None else None)
    return CriterionPanel(name, panel, panel_text(panel), digits, tuple(rows))
