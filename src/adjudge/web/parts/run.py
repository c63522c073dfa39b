"""Everything that a page shows of a run: the sections of its report, ranking and judge card, with plots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from ...analysis.audit.audit import Audit
from ...analysis.audit.words import audit_sections
from ...analysis.brief.brief import Brief
from ...analysis.rank.ranking import Ranking
from ...analysis.rank.words import rank_sections
from ...analysis.report.first_screen import FirstScreen, first_screen
from ...analysis.report.summary import Summary
from ...analysis.report.words.choices import pair_sections
from ...analysis.report.words.distributions import Values
from ...analysis.report.words.elements import element_sections
from ...analysis.report.words.failures import failure_sections, reading_sections
from ...analysis.report.words.flagged import flagged_sections
from ...analysis.report.words.panel import panel_sections
from ...analysis.report.words.report import caution_sections, meaning_sections, size_text
from ...analysis.report.words.scores import score_sections
from ...analysis.trust.card import Card
from ...analysis.tune.kept import KeptTuning
from ...sections import Section, notices
from ...store.browsing import Spent
from ...words import count
from .audit_view import AuditView, audit_views
from .cascade_flow import CascadeFlow, cascade_flow
from .doors import Door, Doors
from .drawer_numbers import drawer_numbers
from .first_screen import ScreenView, screen_view
from .judge_card import judge_card_views
from .known_of_run import Points
from .method import MethodPart, method_part
from .section import SectionView, spread_figure, view_of, views_of
from .table import CellView, HeadView, RowView, TableView
from .time_and_cost import timing_views
from .trust_maps_by_judge import trust_maps
from .tuning_view import TuningView, tuning_view

_WIDEST_MATRIX = 24


class Group(Struct, frozen=True):
    """Sections in one drawer of a page, with an anchor for links."""

    id: str
    title: str
    sections: tuple[SectionView, ...]
    folded: tuple[SectionView, ...] = ()
    number: str = ""
    """what the drawer says while it is closed"""


def _n_probes(audit: Audit | None) -> str:
    judges = () if audit is None else audit.judges.values()
    names = {name for judge in judges for about in judge.criteria.values() for name in about.probes}
    return count(len(names), "probe")


_OF_AUDIT = ("audit", "failures", "readings", "timing")
"""What an audit shows: its probes are no systems, so nothing is ranked; it wrote its injections itself."""

_OF_FAILED = ("cautions", "failures", "readings", "timing")
"""What a run shows in which every judgment failed."""


class FailedReply(Struct, frozen=True):
    """A reply from which nothing was read."""

    item: str
    url: str
    status: str
    text: str


class RunParts(Struct, frozen=True):
    """Everything that a page shows of a run."""

    summary: Summary
    marks: tuple[str, ...]
    """labels of judges to beware of: fake, recorded replies, weak"""
    size: str
    groups: tuple[Group, ...]
    method: MethodPart
    brief: Brief | None = None
    screen: ScreenView | None = None
    """the first screen; none for an audit, which has a separate one"""
    audit: tuple[AuditView, ...] = ()
    first_replies: tuple[FailedReply, ...] = ()
    """of a run in which every judgment failed"""
    cascade: CascadeFlow | None = None
    tuning: TuningView | None = None
    """the latest tuning that began with this run"""

    @property
    def contents(self) -> tuple[tuple[str, str], ...]:
        """The parts of the page: id and title."""
        answer = (("answer", "Answer"),) if self.screen is not None or self.audit else ()
        flow = (("cascade", "Cascade"),) if self.cascade is not None else ()
        tuning = (("tuning", "Tuning"),) if self.tuning is not None else ()
        return (
            *answer,
            *flow,
            *tuning,
            *((group.id, group.title) for group in self.groups),
            ("method", "Method and signature"),
        )

    @property
    def contents_with_items(self) -> tuple[tuple[str, str], ...]:
        """The same for a file that has its notable items in it."""
        return *self.contents[:-1], ("items", "Notable items"), self.contents[-1]

    def has(self, group_id: str) -> bool:
        """Whether a group is on the page."""
        return any(known_group.id == group_id for known_group in self.groups)

    def has_details(self) -> bool:
        """Whether anything is folded."""
        return self != self.without_details()

    def without_details(self) -> RunParts:
        """The same parts without folded tables, for a page that would be too large."""
        groups = [
            structs.replace(group, sections=_undetailed(group.sections), folded=_undetailed(group.folded))
            for group in self.groups
        ]
        return structs.replace(self, groups=tuple(groups))


def _undetailed(views: Iterable[SectionView]) -> tuple[SectionView, ...]:
    return tuple(structs.replace(view, unabridged=None) for view in views if not view.section.is_detail)


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
    labels_note: str = "",
    of_run: Card | None = None,
    points_of_run: Points | None = None,
    first_replies: tuple[FailedReply, ...] = (),
    doors: Doors | None = None,
    tuning: KeptTuning | None = None,
) -> RunParts:
    """The parts of a run, from its summary and what else is known of it (see `known_of`).

    With `doors`, every mark opens the items behind it. `labels_note` says how many labels are of other texts.
    """
    answer = first_screen(summary, brief, of_run, ranking)
    screen = screen_view(answer, of_run, points_of_run, doors) if audit is None else None
    is_hopeless = bool(summary.n_scores) and summary.n_failed == summary.n_scores
    groups = _groups(
        summary, answer, card, ranking, points or {}, timing or (), values, audit, doors, labels_note
    )
    return RunParts(
        summary=summary,
        marks=warning_marks(summary),
        size=size_text(summary) if summary.n_scores else "nothing judged yet",
        groups=tuple(
            group
            for group in groups
            if group.sections
            and (audit is None or group.id in _OF_AUDIT)
            and (not is_hopeless or group.id in _OF_FAILED)
        ),
        method=method_part(summary, manifest, card.seed if card is not None else None),
        brief=brief,
        screen=screen,
        audit=audit_views(audit, None if doors is None else _probe_link(doors)),
        first_replies=first_replies,
        cascade=cascade_flow(summary.cascade or {}, doors),
        tuning=None if tuning is None else tuning_view(tuning, has_doors=doors is not None),
    )


def _probe_link(doors: Doors) -> Callable[[str], str]:
    """The items under a probe: their ids end with its name."""
    return lambda probe: Door(doors.run).url(q=f"~ {probe}")


def _groups(
    summary: Summary,
    answer: FirstScreen,
    card: Card | None,
    ranking: Ranking | None,
    points: Points,
    timing: Sequence[Spent],
    values: Values | None,
    audit: Audit | None,
    doors: Doors | None,
    labels_note: str,
) -> tuple[Group, ...]:
    """The drawers of a run, each with its number; empty ones are left out below."""
    scores = [view_of(section, spread_figure(section), doors) for section in score_sections(summary, values)]
    card_views = tuple(judge_card_views(card, points))
    # Of one judge, the first screen has the map already.
    maps = tuple(trust_maps(card, points, doors)) if len(summary.models) > 1 else ()
    n = drawer_numbers(summary, card, ranking)
    warnings = (*caution_sections(summary, labels_note), *_label_warnings(answer))
    return (
        Group(
            "audit",
            "Every probe",
            views_of(audit_sections(audit) if audit is not None else ()),
            number=_n_probes(audit),
        ),
        Group("cautions", "All warnings", views_of(warnings), number=count(len(answer.warnings), "warning")),
        Group("without", "Without flagged items", views_of(flagged_sections(summary)), number=n.flagged),
        Group(
            "scores",
            "Scores and their distributions",
            (*scores, *views_of(element_sections(summary)), *views_of(meaning_sections(summary))),
            number=n.scores,
        ),
        Group("ranking", "Ranking", views_of(_ranking_sections(ranking), doors), number=n.ranking),
        Group("pairs", "Choices", views_of(pair_sections(summary), doors), number=n.pairs),
        Group("panel", "Agreement between judges", views_of(panel_sections(summary)), number=n.panel),
        Group("failures", "Failures", views_of(failure_sections(summary), doors), number=n.failures),
        Group("card", "Judge and people", (*card_views[:1], *maps), card_views[1:], number=n.card),
        Group("readings", "How replies were read", tuple(_reading_views(summary, doors)), number=n.readings),
        Group("timing", "Time and cost", tuple(timing_views(summary, timing)), number=n.cost),
    )


def _label_warnings(answer: FirstScreen) -> Iterator[Section]:
    """The warnings about the labels."""
    if texts := [warning.text for warning in answer.warnings if warning.kind == "labels"]:
        yield Section("Labels", notices=notices(texts))


def _reading_views(summary: Summary, doors: Doors | None) -> Iterator[SectionView]:
    """How replies were read; with `doors`, each flag opens its items."""
    for view in views_of(reading_sections(summary), doors):
        if doors is None or view.section.kind != "flags":
            yield view
            continue
        heads = (HeadView("flag", "c-name"), HeadView("items", "num c-n"))
        rows = tuple(
            RowView(
                (
                    CellView(
                        flag.replace("_", " "), "c-name", is_name=True, url=Door(doors.run).url(flag=flag)
                    ),
                    CellView(f"{n:,}", "num c-n", "items"),
                )
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
        rows = tuple(row.with_url(link(row.name)) for row in view.table.rows)
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


def warning_marks(summary: Summary) -> tuple[str, ...]:
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
