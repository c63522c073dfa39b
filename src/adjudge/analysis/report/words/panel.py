"""Several judges in a report: their agreement, and the results of each."""

from __future__ import annotations

from collections.abc import Iterator

from ....sections import CORRELATIONS, Column, Section, Value
from ....words import decimals, interval, interval_cell, short_name
from ..summary import PanelSummary, Summary
from .choices import pair_columns, pair_row
from .scores import score_columns, score_row

PANEL_MEANING = (
    "Krippendorff's alpha: 1 is perfect agreement, 0 is chance; below 0.67 the agreement is too low "
    "for most uses. Spearman is the correlation with the mean of the other judges."
)


def panel_sections(summary: Summary) -> Iterator[Section]:
    """The agreement and the results of each judge, where there are several; the other tables pool them."""
    if not summary.panel:
        return
    yield Section("Agreement between judges", (PANEL_MEANING,))
    for criterion, panel in summary.panel.items():
        about = summary.criteria.get(criterion)
        digits = decimals(about.scale if about is not None else None)
        rows = tuple(
            (
                judge,
                interval_cell(agreement.with_rest),
                interval(agreement.shift, digits),
                interval(agreement.alpha_without),
                f"{agreement.with_rest.n:,}",
            )
            for judge, agreement in panel.judges.items()
        )
        columns = (
            "judge",
            Column("Spearman with the others", CORRELATIONS),
            "judge − others",
            "alpha without this judge",
            "n",
        )
        outlier = panel.stands_apart
        notes = (
            ()
            if outlier is None
            else (f"{outlier} is an outlier: the other judges agree better without it.",)
        )
        yield Section(
            short_name(criterion), (f"agreement: {panel_text(panel)}",), columns, rows, 3, notes=notes
        )
        yield from _by_judge(criterion, panel, summary)


def panel_text(panel: PanelSummary) -> str:
    """Krippendorff's alpha, with its n and its remarks."""
    alpha = f"alpha {interval(panel.alpha, 2)}, n={panel.alpha.n}"
    remarks = "; ".join(text for text in (panel.alpha.reason, panel.alpha.caution) if text)
    return f"{alpha} ({remarks})" if remarks else alpha


def _by_judge(criterion: str, panel: PanelSummary, summary: Summary) -> Iterator[Section]:
    """The results of each judge on one criterion."""
    name = criterion.removesuffix(" (choice)")
    rows: list[tuple[Value, ...]] = []
    if panel.pooled == "vote":
        columns = pair_columns(("judge",))
        rows += [
            pair_row(pair, judge)
            for judge in panel.judges
            for pair in summary.models[judge].pairs.get(name, ())
        ]
    else:
        about = summary.criteria.get(name)
        scale = about.scale if about is not None else None
        columns = score_columns(("system", "judge"), scale)
        rows += [
            score_row((system, judge), cells[name], decimals(scale))
            for system in summary.systems
            for judge in panel.judges
            if name in (cells := summary.models[judge].systems.get(system, {}))
        ]
    if rows:
        yield Section(
            f"{short_name(criterion)}: results by judge", (), columns, tuple(rows), 3, is_detail=True
        )
