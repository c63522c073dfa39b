"""The first screen of a result on a page: the verdict, two pictures for each criterion, three warnings.

Made of the record `FirstScreen` alone, so that a page says what the terminal says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlencode

from markupsafe import Markup
from msgspec import Struct

from ...analysis.labels.labelled import LabelledTable
from ...analysis.report.first_screen import CriterionAnswer, FirstScreen, SystemAnswer
from ...analysis.report.screen_warnings import MORE_LABELS, ScreenWarning
from ...analysis.trust.card import Card
from ...analysis.trust.words.first_screen import MOST_WARNINGS, USES
from ...records import Estimate
from ...sections import Mark
from ...words import NO_VALUE, count, decimals, interval, number, percent, score_text, share
from .charts.axis import Domain
from .charts.svg import circle, line, rect, sign
from .charts.systems_plot import CutAxis, PlotRow, axis_for, systems_plot
from .doors import Door, Doors
from .section import LegendEntry
from .table import TableView
from .trust_map import map_of_counts, map_of_items

MOST_SYSTEMS = 12


class Picture(Struct, frozen=True):
    """The systems of a criterion, drawn."""

    svg: Markup
    legend: tuple[LegendEntry, ...]
    notes: tuple[str, ...]


class MapView(Struct, frozen=True):
    """Judge × people, with the agreement in a sentence."""

    table: TableView
    agreement: str
    counted: str
    """what a cell counts"""
    is_ordered: bool
    """whether an answer can be higher than another"""


class PanelView(Struct, frozen=True):
    """One criterion: its verdict and its two pictures."""

    id: str
    name: str
    use: str
    short_use: str
    verdict: str
    reason: str
    lead: str
    step: str
    command: str
    picture: Picture | None
    map: MapView | None


class WarningView(Struct, frozen=True):
    """A warning with its button: a link, or a command to copy."""

    text: str
    button: str = ""
    url: str = ""
    command: str = ""


class ScreenView(Struct, frozen=True):
    """The first screen."""

    run: str
    state: str
    use: str
    verdict: str
    reason: str
    step: str
    command: str
    panels: tuple[PanelView, ...]
    opened: int
    warnings: tuple[WarningView, ...]
    more_warnings: str
    judged: str
    is_labelled: bool
    is_compared: bool


def screen_view(
    screen: FirstScreen,
    card: Card | None = None,
    points: Mapping[str, LabelledTable] | None = None,
    doors: Doors | None = None,
) -> ScreenView:
    """The screen, drawn. `points` are the labelled items by the name of their card; `doors` open items."""
    step, command = _step(screen.next)
    hidden = len(screen.warnings) - MOST_WARNINGS
    return ScreenView(
        run=screen.run,
        state=screen.state,
        use=screen.use,
        verdict=screen.verdict,
        reason=screen.reason,
        step=step,
        command=command,
        panels=tuple(_panel(at, one, card, points or {}, doors) for at, one in enumerate(screen.criteria)),
        opened=screen.opened,
        warnings=tuple(_warning(warning, screen, doors) for warning in screen.warnings[:MOST_WARNINGS]),
        more_warnings=count(hidden, "more warning") if hidden > 0 else "",
        judged=screen.judged,
        is_labelled=screen.is_labelled,
        is_compared=screen.is_compared,
    )


def _step(text: str) -> tuple[str, str]:
    """A next step in words, and its command."""
    words, _, command = text.partition(": adjudge ")
    return words, f"adjudge {command}" if command else ""


def _panel(
    at: int,
    about: CriterionAnswer,
    card: Card | None,
    points: Mapping[str, LabelledTable],
    doors: Doors | None,
) -> PanelView:
    step, command = _step(about.recommendation.next)
    return PanelView(
        id=f"criterion-{at + 1}",
        name=about.name,
        use=about.recommendation.use,
        short_use=USES[about.recommendation.use],
        verdict=about.verdict if about.card else "",
        reason=about.recommendation.reason if about.card else "",
        lead=about.lead,
        step=step,
        command=command,
        picture=_picture(about, doors),
        map=_map(about, card, points.get(about.card), doors),
    )


def _picture(about: CriterionAnswer, doors: Doors | None) -> Picture | None:
    known = [system for system in about.systems if system.best_known is not None]
    if not known:
        return None
    door = Door(doors.run, about.protocol, about.criterion) if doors is not None else None
    rows = [_plot_row(system, about, door) for system in known[:MOST_SYSTEMS]]
    is_rate = about.kind == "choices"
    axis = CutAxis(Domain(0.0, 1.0, is_in_percent=True)) if is_rate else axis_for(rows, about.scale)
    is_of_labels = any(system.label for system in known)
    what = "Shares of labels" if is_of_labels else "Win rates" if is_rate else "Means"
    title = f"{what} of {count(len({system.name for system in known}), 'system')} on {about.name}"
    value = "corrected" if about.is_corrected else "judge"
    svg = systems_plot(
        rows, axis, title, value=value, reference=0.5 if is_rate and not is_of_labels else None
    )
    return Picture(svg, tuple(_legend(about, rows)), tuple(_notes(about, axis, len(known))))


def _plot_row(system: SystemAnswer, about: CriterionAnswer, door: Door | None) -> PlotRow:
    is_rate = about.kind == "choices"
    digits = decimals(about.scale)
    best = system.corrected if about.is_corrected else system.judge

    def in_words(estimate: Estimate) -> str:
        return percent(estimate) if is_rate else interval(estimate, digits)

    name = f"{system.name} · {system.label}" if system.label else system.name
    parts = [f"{name}:"]
    named = (("corrected", system.corrected), ("judge", system.judge), ("people", system.people))
    known = [(name, one) for name, one in named if one is not None and one.value is not None]
    parts.append(", ".join(f"{name} {in_words(one)}" for name, one in known))
    failed = f", {system.n_failed} failed" if system.n_failed else ""
    parts.append(f"({count(system.n, 'pair' if is_rate and not system.label else 'item')}{failed})")
    known_value = best.value if best is not None else None
    value = (
        NO_VALUE if known_value is None else share(known_value) if is_rate else number(known_value, digits)
    )
    return PlotRow(
        name=name,
        corrected=_mark(system.corrected),
        judge=_mark(system.judge),
        people=_mark(system.people),
        possible=system.possible,
        value=value,
        title=" ".join(parts),
        url=door.url(system=system.name, choice=system.label) if door is not None else "",
    )


def _mark(estimate: Estimate | None) -> Mark | None:
    if estimate is None or estimate.value is None:
        return None
    return Mark(estimate.value, estimate.low, estimate.high)


def _legend(about: CriterionAnswer, rows: list[PlotRow]) -> list[LegendEntry]:
    """What the marks are; only those that are drawn."""
    is_nominal = about.scale is not None and about.scale.is_nominal
    what = "share" if is_nominal else "win rate" if about.kind == "choices" else "mean"
    entries = []
    if any(row.corrected for row in rows):
        entries.append(LegendEntry(f"{what} corrected with labels", sign(circle(8, 8, 4.5, "dot corrected"))))
    if any(row.judge for row in rows):
        entries.append(
            LegendEntry(
                f"{what} by the judge{' alone' if about.card else ''}",
                sign(circle(8, 8, 4.5, "dot judge hollow")),
            )
        )
    if any(row.people for row in rows):
        entries.append(LegendEntry("labels alone", sign(line(8, 0, 8, 16, "people-tick"))))
    if any(row.possible for row in rows):
        entries.append(LegendEntry("range including failures", sign(rect(0, 4, 16, 8, "s-unparsed"))))
    return entries


def _notes(about: CriterionAnswer, axis: CutAxis, n_systems: int) -> list[str]:
    notes = []
    if (
        axis.is_cut
        and about.scale is not None
        and about.scale.low is not None
        and about.scale.high is not None
    ):
        ends = [
            score_text(end) for end in (axis.domain.low, axis.domain.high, about.scale.low, about.scale.high)
        ]
        notes.append(f"// the axis is cut: {ends[0]} to {ends[1]} of a scale from {ends[2]} to {ends[3]}.")
    if about.kind == "choices" and not about.is_corrected and about.scale is None and n_systems > 2:
        notes.append("In order of strength, which counts who was played against.")
    if n_systems > MOST_SYSTEMS:
        notes.append(f"The first {MOST_SYSTEMS} of {n_systems:,}; all are below.")
    return notes


def _map(
    about: CriterionAnswer, card: Card | None, joined: LabelledTable | None, doors: Doors | None
) -> MapView | None:
    if about.agreement is None or card is None:
        return None
    if joined is not None and joined.labelled():
        door = Door(doors.run, about.protocol, about.criterion) if doors is not None else None
        table, counted = map_of_items(joined, door), "Items"
    else:
        confusion = card.criteria[about.card].confusion
        if confusion is None:
            return None
        table, counted = map_of_counts(confusion, is_ordered=about.kind == "scores"), "Ratings"
    return MapView(table, _agreement(about), counted, about.kind == "scores")


def _agreement(about: CriterionAnswer) -> str:
    """Agreement with people 0.43 [0.40, 0.47] (Spearman), people with each other 0.74; 60 labelled items."""
    write = percent if about.kind == "choices" else interval
    beside = ""
    if about.people is not None and about.people.value is not None:
        value = share(about.people.value) if about.kind == "choices" else number(about.people.value)
        beside = f", people with each other {value}"
    failed = f", {about.n_unanswered:,} more without an answer of the judge" if about.n_unanswered else ""
    return (
        f"Agreement with people {write(about.agreement)} ({about.statistic}){beside}; "
        f"{count(about.n_compared, 'labelled item')}{failed}"
        f"{about.reviewed and f' ({about.reviewed})'}."
    )


def _warning(warning: ScreenWarning, screen: FirstScreen, doors: Doors | None) -> WarningView:
    """The warning with what can be done about it here; a file without items has a command instead."""
    items = f"/items?{urlencode({'run': screen.run, **dict(warning.query)})}" if doors is not None else ""
    if warning.action == "open" and items:
        return WarningView(warning.text, "Open the items", items)
    if warning.action == "without":
        return WarningView(warning.text, "See without them", "#without")
    if warning.action == "label":
        return WarningView(warning.text, f"Label {MORE_LABELS} more", command=warning.step)
    if warning.kind == "labels":
        return WarningView(warning.text, "Read more", "#card")
    if warning.action == "wait":
        return WarningView(warning.text)
    if warning.action == "rerun":
        return WarningView(warning.text, "Resume the run", "#method")
    command = warning.step if re.match(r"adjudge \w", warning.step) else ""
    return (
        WarningView(warning.text, "Read more", "#cautions")
        if not command or doors
        else WarningView(warning.text, command=f"{command}")
    )
