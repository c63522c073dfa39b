"""Everything that a page shows of a run: the sections of its report, ranking and judge card, with plots."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median, quantiles
from typing import Any, TypedDict

from markupsafe import Markup
from msgspec import Struct, structs

from ..analysis.audit import audit_view
from ..analysis.audit_words import audit_sections
from ..analysis.brief import (
    Brief,
    BriefPart,
    Estimates,
    brief_of_run,
    cost_word,
    criterion_parts,
    estimates_of,
    run_parts_of,
)
from ..analysis.human_agreement import levels_of, share_a_level
from ..analysis.label_join import LabelledItem, LabelledTable, join, numbers
from ..analysis.rank_words import rank_sections
from ..analysis.report_words import (
    Values,
    caution_sections,
    cost_sections,
    element_sections,
    failure_sections,
    how_to_read,
    judge_text,
    pair_sections,
    panel_sections,
    reading_sections,
    score_sections,
    size_text,
)
from ..analysis.result_types import Audit, Card, CriterionCard, Ranking, Summary
from ..analysis.run_view import RunView
from ..analysis.trust_words import agreement_of, trust_sections
from ..data.labels import LabelFile
from ..sections import Mark, Section
from ..stats import halved, mean_interval, nearest, wilson
from ..store import Store
from ..store.browsing import Spent, spent
from ..words import duration, interval, number, share, short_name
from .charts import (
    MOST_POINTS,
    Axes,
    Bin,
    Domain,
    Point,
    agreement_bar,
    curve_with_intervals,
    domain_of,
    histogram,
    scatter,
    tick_text,
)
from .section_view import (
    CellView,
    Door,
    Doors,
    Figure,
    HeadView,
    SectionView,
    TableView,
    shade,
    spread_figure,
    view_of,
    views_of,
)

# What a store knows of a run beyond its summary: the card where there are labels, times, and scores to draw.


MOST_TIMED = 2000
"""Time and cost are drawn for at most this many replies."""


class Known(TypedDict):
    """The keywords of `run_parts`."""

    card: Card | None
    ranking: Ranking | None
    points: Mapping[str, LabelledTable] | None
    timing: Sequence[Spent] | None
    values: Mapping[tuple[str, str], Sequence[float]] | None
    manifest: Mapping[str, Any] | None
    audit: Audit | None
    brief: Brief | None


def known_of(
    store: Store,
    view: RunView,
    summary: Summary,
    given: LabelFile | None = None,
    estimates: Estimates | None = None,
) -> Known:
    """Everything that can be drawn of a run. `given` are labels of a file; the default is the labels in the store.

    `estimates` are those of the same run and labels, where they were kept.
    """
    assert view.run is not None
    labels = given if given is not None else LabelFile(tuple(store.labels(view.run)))
    if estimates is None:
        estimates = estimates_of(store, view, summary, given)
    card, ranking = estimates.card, estimates.ranking
    return Known(
        card=card,
        ranking=ranking,
        points=join(view, labels.labels) if card is not None else None,
        timing=spent(store, view.run, MOST_TIMED),
        values=values_of(view, summary),
        manifest=view.run.manifest,
        audit=audit_view(view) if view.is_audit else None,
        brief=brief_of_run(store, view, summary, estimates),
    )


def values_of(view: RunView, summary: Summary) -> dict[tuple[str, str], list[float]]:
    """The scores of criteria that have too many different ones to be counted by value."""
    many = {
        name
        for by_criterion in summary.systems.values()
        for name, cell in by_criterion.items()
        if cell.distribution_of == "nothing"
    }
    names = {
        (about.protocol, about.criterion): name for name, about in summary.criteria.items() if name in many
    }
    values: dict[tuple[str, str], list[float]] = {}
    for result in view.results if names else ():
        name = names.get((result.protocol, result.criterion))
        if name is not None and result.value is not None:
            values.setdefault((name, result.system), []).append(result.value)
    return values


# The parts of a page

_WIDEST_MATRIX = 24

Points = Mapping[str, LabelledTable]
"""The judge's answers with the human labels, by the name of the criterion on the card."""


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


class StripLine(Struct, frozen=True):
    """One line of the decision strip: a criterion, or the run as a whole where the name is empty."""

    name: str
    parts: tuple[BriefPart, ...]


_MOST_STRIP_LINES = 8


def strip_of(brief: Brief) -> tuple[StripLine, ...]:
    """The decision strip: all parts in one line for one criterion; else a line for each, and one for the run."""
    lines = [(line.name, criterion_parts(brief, line)) for line in brief.criteria[:_MOST_STRIP_LINES]]
    lines = [(name, parts) for name, parts in lines if parts]
    of_run = run_parts_of(brief)
    if len(lines) < 2:
        return (StripLine("", (*(part for _, parts in lines for part in parts), *of_run)),)
    return (*(StripLine(name, parts) for name, parts in lines), StripLine("", of_run))


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

    With `doors`, every mark opens the items behind it, and the statistics of the card are folded under its map.
    """
    scores = [view_of(section, spread_figure(section), doors) for section in score_sections(summary, values)]
    card_views = tuple(_card_views(card, points or {}))
    maps = tuple(_trust_maps(card, points or {}, doors))
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
        Group("timing", "Time and cost", tuple(_timing_views(summary, timing or ()))),
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


# The method and the signature: everything needed to reproduce the numbers


class MethodPart(Struct, frozen=True):
    """The method and the signature."""

    judges: tuple[str, ...]
    protocols: tuple[tuple[str, str], ...]
    """id and digest"""
    parameters: tuple[tuple[str, str], ...]
    signature: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    adjustments: tuple[str, ...]


def method_part(summary: Summary, manifest: Mapping[str, Any] | None, seed: int | None) -> MethodPart:
    """The method of a run; with its manifest also the command that started it and the items' hash."""
    signature = [("Adjudge", summary.version), ("Run", summary.run), ("Started", summary.started)]
    commands = []
    if manifest is not None:
        items = manifest.get("items", {})
        signature += [
            (name, str(items[key]))
            for name, key in (("Items", "path"), ("Items, sha256", "sha256"))
            if items.get(key)
        ]
        if command := command_of(manifest):
            commands.append(command)
    if seed is not None:
        signature.append(("Resampling seed", str(seed)))
    return MethodPart(
        judges=tuple(judge_text(spec, model.names, model.is_fake) for spec, model in summary.models.items()),
        protocols=tuple(summary.protocols.items()),
        parameters=tuple((name, _shown(value)) for name, value in summary.parameters.items()),
        signature=tuple((name, value) for name, value in signature if value),
        commands=tuple(commands),
        adjustments=summary.adjustments,
    )


def command_of(manifest: Mapping[str, Any]) -> str:
    """The command that started a run, to give again; empty where it is unknown."""
    words = manifest.get("command") or ""
    return words if isinstance(words, str) else shlex.join(words)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_shown(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_shown(part)}" for key, part in value.items())
    return str(value)


# Time and cost of replies


def _timing_views(summary: Summary, spent: Sequence[Spent]) -> Iterator[SectionView]:
    """The cost of a run; a histogram only where values differ."""
    seconds = [call.seconds for call in spent if call.seconds > 0]
    tokens = [float(call.tokens_out) for call in spent if call.tokens_out > 0]
    costs = [call.cost_usd for call in spent if call.cost_usd]
    notes = []
    if len(seconds) > 1:
        high = duration(_high(seconds))
        notes.append(f"Seconds per reply: median {duration(median(seconds))}, 95 % below {high}")
    if len(tokens) > 1:
        notes.append(f"Tokens per reply: median {median(tokens):,.0f}, 95 % below {_high(tokens):,.0f}")
    if costs:
        notes.append(f"Cost per reply: median ${median(costs):.6f}")
    drawn = {
        "Seconds per reply": _drawn(seconds, "seconds per reply", " s"),
        "Tokens per reply": _drawn(tokens, "tokens per reply"),
        "Dollars per reply": _drawn(costs, "dollars per reply", " $"),
    }
    figures = [Figure(caption, picture) for caption, picture in drawn.items() if picture is not None]
    known = next(cost_sections(summary), Section("Time and cost"))
    if known.lines or notes:
        yield view_of(structs.replace(known, notes=tuple(notes)), figures)


def _high(values: Sequence[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1]


def _drawn(values: Sequence[float], title: str, unit: str = "") -> Markup | None:
    return histogram(values, title, unit) if len(set(values)) > 2 else None


# The judge card, with plots of the judge and people


_MOST_BINS = 12
_FEWEST_IN_BIN = 2


def _card_views(card: Card | None, points: Points) -> Iterator[SectionView]:
    """The card with its plots, where the single answers are known."""
    names = {short_name(name): name for name in card.criteria} if card is not None else {}
    for section in trust_sections(card) if card is not None else ():
        name = names.get(section.title, section.title)
        figures: tuple[Figure, ...] = ()
        if card is not None and section.depth == 2 and name in card.criteria:
            figures = tuple(_plots(name, card.criteria[name], points.get(name)))
        yield view_of(section, figures)


_MOST_MAP_LEVELS = 11
_MAP_BINS = 6


class _Ends(Struct, frozen=True):
    """A row or a column of the map: its name, and the answers in it, which are texts or lie between two numbers."""

    name: str
    low: float | str
    high: float | str

    def has(self, answer: float | str | None) -> bool:
        return answer is not None and self.low <= answer <= self.high  # type: ignore[operator]

    def query(self, prefix: str = "") -> dict[str, str | float]:
        if isinstance(self.low, str) or isinstance(self.high, str):
            return {prefix or "choice": str(self.low)}
        start = f"{prefix}_" if prefix else ""
        return {f"{start}low": self.low, f"{start}high": self.high}


def _trust_maps(card: Card | None, points: Points, doors: Doors | None) -> Iterator[SectionView]:
    """Judge × people as a heat map for each judge and criterion, with a bar of agreement over it."""
    for name, about in card.criteria.items() if card is not None else ():
        joined = points.get(name)
        agreement, people = agreement_of(about)
        if joined is None or agreement.value is None or not joined.labelled():
            continue
        is_share = about.kind == "choices" or agreement.value >= 0
        domain = Domain(0.0 if is_share else -1.0, 1.0)
        beside = "" if people is None else f", where people reach {number(people.value or 0.0)}"
        title = f"{short_name(name)}: agreement {number(agreement.value)}{beside}"
        bar = agreement_bar(
            Mark(agreement.value, agreement.low, agreement.high),
            None if people is None else Mark(people.value),
            domain,
            title,
        )
        section = Section(f"Judge and people: {short_name(name)}", notes=(_MAP_NOTE,))
        door = None
        if doors is not None:
            model = about.model if doors.n_judges > 1 else ""
            door = (Door(doors.run, about.protocol, about.criterion), model)
        note = f"Agreement with people: {interval(agreement)}{beside}."
        yield SectionView(
            section, section.notes, _map_table(joined, door), figures=(Figure("Agreement", bar, note),)
        )


_MAP_NOTE = (
    "Each number counts items: the judge's answer from left, what people said from above. Blue: both agree."
)


def _map_table(joined: LabelledTable, door: tuple[Door, str] | None) -> TableView:
    rows = joined.labelled()
    judge, people = (
        _map_ends(joined, [row.answer for row in rows]),
        _map_ends(joined, [row.label for row in rows]),
    )
    counts = [
        [sum(left.has(row.answer) and top.has(row.label) for row in rows) for top in people] for left in judge
    ]
    most = max((n for line in counts for n in line), default=1) or 1
    heads = (HeadView("judge ↓ people →", "c-name"), *(HeadView(top.name, "num") for top in people))
    table = []
    for left, line in reversed(list(zip(judge, counts, strict=True))):
        cells = [CellView(left.name, "c-name", is_name=True)]
        for top, n in zip(people, line, strict=True):
            weight = n / most / 2
            css = "none" if not n else shade(0.5 + weight if left.name == top.name else 0.5 - weight)
            words = f"{n} items: judge {left.name}, people {top.name}"
            url = ""
            if door is not None and n:
                model = {"model": door[1]} if door[1] else {}
                url = door[0].url(**left.query(), **top.query("people"), **model)
            cells.append(CellView(f"{n:,}" if n else "", css, words, url=url))
        table.append(tuple(cells))
    return TableView("heat map", heads, tuple(table), 0)


def _map_ends(joined: LabelledTable, answers: Sequence[float | str | None]) -> list[_Ends]:
    """The rows of a map: choices; the levels of the scale, each with what is nearest to it; or bins of equal width."""
    if joined.kind == "choices":
        return [_Ends(choice, choice, choice) for choice in ("a", "tie", "b")]
    seen = sorted(value for value in numbers(answers) if value is not None)
    levels = levels_of(joined.scale) if joined.is_same_scale else None
    if levels is not None and len(levels) <= _MOST_MAP_LEVELS:
        names = {tick_text(level): (level, nearest(seen, levels)) for level in levels}
        parts = {
            name: [value for value, near in zip(seen, nears, strict=True) if near == level]
            for name, (level, nears) in names.items()
        }
    else:
        domain = domain_of(joined.scale if joined.is_same_scale else None, seen)
        step = (domain.high - domain.low) / _MAP_BINS
        edges = [domain.low + place * step for place in range(_MAP_BINS + 1)]
        parts = {f"{tick_text(low)} to {tick_text(high)}": [] for low, high in pairwise(edges)}
        for value in seen:
            place = min(_MAP_BINS - 1, max(0, int((value - domain.low) / step)))
            parts[list(parts)[place]].append(value)
    # The ends are answers that occur, so that a filter finds exactly these items.
    return [
        _Ends(name, min(part), max(part)) if part else _Ends(name, 1.0, 0.0) for name, part in parts.items()
    ]


def _plots(name: str, card: CriterionCard, joined: LabelledTable | None) -> Iterator[Figure]:
    against_people = _scatter(name, card, joined)
    if against_people is not None:
        yield Figure(
            "Judge and human labels",
            against_people,
            f"Each small dot is an item, with jitter{_drawn_of(joined)}. Large dots: the mean human label of the items with this judge score, with its "
            "95 % confidence interval.",
        )
    reliability = _reliability(name, joined)
    if reliability is not None:
        yield Figure(
            "Calibration of stated confidence",
            reliability,
            "On the dashed line, a judge that states 80 % confidence is right 80 % of the time.",
        )


def _drawn_of(joined: LabelledTable | None) -> str:
    """How many items are drawn, where it is not all of them."""
    n = 0 if joined is None else sum(1 for _ in _both(joined.labelled()))
    return f"; {MOST_POINTS:,} of {n:,} items are drawn" if n > MOST_POINTS else ""


def _scatter(name: str, card: CriterionCard, joined: LabelledTable | None) -> Markup | None:
    if joined is None or joined.kind != "scores":
        return None
    both = [(row, x, y) for row, x, y in _both(joined.labelled())]
    if len(both) < 3:
        return None
    points = [Point(f"{row.item} {row.subject or ''}", x, y) for row, x, y in both]
    x_domain = domain_of(card.scale, [x for _, x, _ in both])
    same = joined.is_same_scale and card.scale is not None and card.scale.low is not None
    y_domain = x_domain if same else domain_of(None, [y for _, _, y in both])
    axes = Axes(x_domain, y_domain, "judge", "people (mean of raters)")
    bins = _binned([(x, y) for _, x, y in both], (y_domain.low, y_domain.high))
    return scatter(points, axes, f"{name}: judge and human labels", bins=bins, is_same_scale=same)


def _both(rows: Sequence[LabelledItem]) -> Iterator[tuple[LabelledItem, float, float]]:
    answers, labels = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    for row, x, y in zip(rows, answers, labels, strict=True):
        if x is not None and y is not None:
            yield row, x, y


def _binned(pairs: Sequence[tuple[float, float]], limits: tuple[float, float]) -> list[Bin]:
    """The mean human label for each score of the judge; in bins of equal size where there are many scores."""
    by_x: dict[float, list[float]] = defaultdict(list)
    for x, y in pairs:
        by_x[x].append(y)
    if len(by_x) <= _MOST_BINS:
        cells = [([x] * len(ys), ys) for x, ys in sorted(by_x.items())]
    else:
        in_order = sorted(pairs)
        size = max(_FEWEST_IN_BIN, -(-len(in_order) // 8))
        parts = [in_order[start : start + size] for start in range(0, len(in_order), size)]
        cells = [([x for x, _ in part], [y for _, y in part]) for part in parts]
    bins = []
    for xs, ys in cells:
        if len(ys) >= _FEWEST_IN_BIN:
            mean = mean_interval(ys, limits=limits)
            if mean.value is not None:
                bins.append(Bin(sum(xs) / len(xs), mean.value, mean.low, mean.high, len(ys)))
    return bins


def _reliability(name: str, joined: LabelledTable | None) -> Markup | None:
    """How often the judge agrees with people, in ten bins of stated confidence."""
    if joined is None or not joined.is_same_scale:
        return None
    cells: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for confidence, is_right in _stated(joined):
        cells[min(9, int(confidence * 10))].append((confidence, is_right))
    bins = []
    for _, seen in sorted(cells.items()):
        share = wilson(sum(right for _, right in seen), len(seen))
        if share.value is not None:
            middle = sum(confidence for confidence, _ in seen) / len(seen)
            bins.append(Bin(middle, share.value, share.low, share.high, len(seen)))
    if not bins:
        return None
    whole = Domain(0.0, 1.0)
    axes = Axes(whole, whole, "stated confidence", "share that agrees with people")
    return curve_with_intervals(bins, axes, f"{name}: calibration of stated confidence")


def _stated(joined: LabelledTable) -> Iterator[tuple[float, bool]]:
    """Stated confidence and whether the judge was right, as the card counts it: the same choice, or the nearest level."""
    rows = [row for row in joined.labelled() if row.answer is not None]
    if joined.kind == "scores":
        levels = levels_of(joined.scale)
        if levels is None:
            return
        answers = halved(numbers(row.answer for row in rows), levels)
        labels = halved(numbers(row.label for row in rows), levels)
        is_right = [share_a_level(answer, label) for answer, label in zip(answers, labels, strict=True)]
    else:
        is_right = [row.answer == row.label for row in rows]
    for row, right in zip(rows, is_right, strict=True):
        if row.confidence is not None and 0 <= row.confidence <= 1:
            yield row.confidence, right
