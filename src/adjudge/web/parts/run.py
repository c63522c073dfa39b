"""Everything that a page shows of a run: the sections of its report, ranking and judge card, with plots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from ...analysis.audit.audit import Audit
from ...analysis.audit.words import audit_sections
from ...analysis.brief.brief import Brief
from ...analysis.brief.words import BriefPart, cost_word
from ...analysis.rank.ranking import Ranking
from ...analysis.rank.words import rank_sections
from ...analysis.report.summary import Summary
from ...analysis.report.words.choices import pair_sections
from ...analysis.report.words.distributions import Values
from ...analysis.report.words.elements import element_sections
from ...analysis.report.words.failures import failure_sections, reading_sections
from ...analysis.report.words.panel import panel_sections
from ...analysis.report.words.report import caution_sections, how_to_read, size_text
from ...analysis.report.words.scores import score_sections
from ...analysis.trust.card import Card
from ...sections import Section
from ...store.browsing import Spent
from ...words import share
from .decision_strip import StripLine, strip_of
from .doors import Door, Doors
from .judge_card import judge_card_views
from .known_of_run import Points
from .method import MethodPart, method_part
from .section import SectionView, spread_figure, view_of, views_of
from .table import CellView, HeadView, TableView
from .time_and_cost import timing_views
from .trust_map import trust_maps

_WIDEST_MATRIX = 24


class Fact(Struct, frozen=True):
    """A key number at the top of a page."""

    name: str
    value: str
    more: str = ""


class Group(Struct, frozen=True):
    """Sections under one heading of a page, with an anchor for links."""

    id: str
    title: str
    sections: tuple[SectionView, ...]
    folded: tuple[SectionView, ...] = ()


class RunParts(Struct, frozen=True):
    """Everything that a page shows of a run."""

    summary: Summary
    marks: tuple[str, ...]
    """labels of judges to beware of: fake, recorded replies, weak"""
    size: str
    facts: tuple[Fact, ...]
    groups: tuple[Group, ...]
    method: MethodPart
    brief: Brief | None = None

    @property
    def strip(self) -> tuple[StripLine, ...]:
        """The decision strip."""
        return strip_of(self.brief) if self.brief is not None else ()

    def place_of(self, part: BriefPart) -> str:
        """The anchor of the evidence for a part of the strip; empty where this page has none."""
        wanted = {"ranking": ("ranking", "pairs"), "scores": ("scores", "pairs")}.get(
            part.evidence, (part.evidence,)
        )
        return next((name for name in wanted if name == "label" or self.has(name)), "")

    def has(self, group_id: str) -> bool:
        """Whether a group is on the page."""
        return any(known_group.id == group_id for known_group in self.groups)

    def has_details(self) -> bool:
        """Whether anything is folded."""
        return self != self.without_details()

    def without_details(self) -> RunParts:
        """The same parts without folded tables, for a page that would be too large."""
        groups = [
            structs.replace(
                group,
                sections=tuple(
                    structs.replace(view, unabridged=None)
                    for view in group.sections
                    if not view.section.is_detail
                ),
            )
            for group in self.groups
        ]
        return structs.replace(self, groups=tuple(groups))


def run_parts(
    summary: Summary,
    card: Card | None = None,
    ranking: Ranking | None = None,
    *,
    points: Points | None = None,
    timing: Sequence[Spent] | None = None,
    values: Values | None = None,
    manifest: Mapping[str, Any] | None = None,
    audit: Audit | None = None,
    brief: Brief | None = None,
    doors: Doors | None = None,
) -> RunParts:
    """The parts of a run, from its summary and what else is known of it (see `known_of`).

    With `doors`, every mark opens the items behind it, and the statistics of the card are folded under its
    map.
    """
    scores = [view_of(section, spread_figure(section), doors) for section in score_sections(summary, values)]
    card_views = tuple(judge_card_views(card, points or {}))
    maps = tuple(trust_maps(card, points or {}, doors))
    n_open = 1 if doors is not None and maps else len(card_views)
    groups = (
        Group("cautions", "Before you use these numbers", views_of(caution_sections(summary))),
        Group("audit", "Audit", views_of(audit_sections(audit) if audit is not None else ())),
        Group(
            "scores",
            "Scores",
            (*scores, *views_of(element_sections(summary)), *views_of(how_to_read(summary))),
        ),
        Group("ranking", "Ranking", views_of(_ranking_sections(ranking), doors)),
        Group("pairs", "Choices", views_of(pair_sections(summary), doors)),
        Group("panel", "Agreement between judges", views_of(panel_sections(summary))),
        Group("failures", "Failures", views_of(failure_sections(summary), doors)),
        Group("card", "Judge card", (*card_views[:n_open], *maps), card_views[n_open:]),
        Group("readings", "How replies were read", tuple(_reading_views(summary, doors))),
        Group("timing", "Time and cost", tuple(timing_views(summary, timing or ()))),
    )
    return RunParts(
        summary=summary,
        marks=marks_of(summary),
        size=size_text(summary) if summary.n_scores else "nothing judged yet",
        facts=tuple(_facts(summary)),
        groups=tuple(group for group in groups if group.sections),
        method=method_part(summary, manifest, card.seed if card is not None else None),
        brief=brief,
    )


def _reading_views(summary: Summary, doors: Doors | None) -> Iterator[SectionView]:
    """How replies were read; with `doors`, each flag opens its items."""
    for view in views_of(reading_sections(summary), doors):
        if doors is None or view.section.title != "Flags":
            yield view
            continue
        heads = (HeadView("flag", "c-name"), HeadView("items", "num c-n"))
        rows = tuple(
            (
                CellView(flag.replace("_", " "), "c-name", is_name=True, url=Door(doors.run).url(flag=flag)),
                CellView(f"{n:,}", "num c-n", "items"),
            )
            for flag, n in summary.flags.items()
        )
        section = structs.replace(view.section, lines=())
        yield SectionView(section, view.notes, TableView("table flags", heads, rows, 0))


def with_item_links(parts: RunParts, link: Callable[[str], str]) -> RunParts:
    """The parts with a link to its items at the name of each probe of an audit."""

    def linked(view: SectionView) -> SectionView:
        if view.table is None or not view.table.heads or view.table.heads[0].name != "probe":
            return view
        rows = tuple(
            tuple(structs.replace(cell, url=link(cell.text)) if cell.is_name else cell for cell in row)
            for row in view.table.rows
        )
        return structs.replace(view, table=structs.replace(view.table, rows=rows))

    groups = tuple(
        structs.replace(group, sections=tuple(map(linked, group.sections))) if group.id == "audit" else group
        for group in parts.groups
    )
    return structs.replace(parts, groups=groups)


def _ranking_sections(ranking: Ranking | None) -> Iterator[Section]:
    """The ranking by choices; nothing for scores alone, which the means already rank."""
    by_name = {} if ranking is None else ranking.criteria
    chosen = {
        name: criterion_ranking
        for name, criterion_ranking in by_name.items()
        if criterion_ranking.kind == "choices" and criterion_ranking.n_games
    }
    if ranking is not None and chosen:
        yield from rank_sections(structs.replace(ranking, criteria=chosen), _WIDEST_MATRIX)


def marks_of(summary: Summary) -> tuple[str, ...]:
    """Labels of judges to beware of."""
    marks = []
    if any(model.is_fake for model in summary.models.values()):
        marks.append("fake judge")
    if any(spec.startswith("replay:") for spec in summary.models):
        marks.append("recorded replies")
    kinds: set[str] = {caution.kind for caution in summary.warnings}
    if "weak_judge" in kinds:
        marks.append("weak judge")
    return tuple(marks)


def _facts(summary: Summary) -> list[Fact]:
    planned = summary.n_planned
    of = f"of {planned:,} planned" if planned is not None and planned != summary.n_items else ""
    systems = summary.systems or dict.fromkeys(
        name for pairs in summary.pairs.values() for pair in pairs for name in (pair.system_a, pair.system_b)
    )
    noun = "Choices" if summary.pairs and not summary.systems else "Scores"
    failed = share(summary.n_failed / summary.n_scores) if summary.n_scores else "–"
    calls = f"{summary.n_calls:,} calls"
    cost = Fact("Cost", cost_word(summary.cost_usd), calls)
    return [
        Fact("Items", f"{summary.n_items:,}", of),
        Fact("Systems", f"{len(systems):,}"),
        Fact(noun, f"{summary.n_scores:,}"),
        Fact("Failed", failed, f"{summary.n_failed:,} of {summary.n_scores:,}" if summary.n_scores else ""),
        Fact("Judges", f"{len(summary.models):,}"),
        cost,
    ]
