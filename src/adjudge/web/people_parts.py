"""The ranking as a page shows it: where each system stands, its win rate and strength drawn, and all against all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from markupsafe import Markup
from msgspec import Struct

from ..analysis.human_agreement import levels_of, share_a_level
from ..analysis.label_join import Joined, Row, numbers
from ..analysis.rank_words import leader, rank_sections
from ..analysis.result_types import (
    Card,
    CorrectedMean,
    CriterionCard,
    CriterionRanking,
    Met,
    Ranking,
    Standing,
)
from ..analysis.trust_words import statistic_name, trust_sections
from ..records import Estimate
from ..stats import halved, mean_interval, wilson
from ..words import decimals, interval, percent
from .charts import Axes, Bin, Domain, Mark, Point, axis, curve_with_intervals, domain_of, scatter, strip
from .score_parts import SHARES, kept, share_strip

# Sections of a card or a ranking as plain tables, without the columns that no row fills.


MOST_ROWS = 80
"""Of a longer table the rest is counted; `--json` has all."""


class Section(Protocol):
    """What a card's and a ranking's sections have in common."""

    @property
    def title(self) -> str: ...
    @property
    def lines(self) -> tuple[str, ...]: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def rows(self) -> tuple[tuple[str, ...], ...]: ...


class PlainTable(Struct, frozen=True):
    """A heading with lines of text and a table, either of which may be empty."""

    title: str
    lines: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_hidden: int


def plain_tables(sections: Iterable[Section]) -> tuple[PlainTable, ...]:
    """All sections, in their order."""
    return tuple(_plain(section) for section in sections)


def _plain(section: Section) -> PlainTable:
    kept = [place for place in range(len(section.columns)) if any(row[place] for row in section.rows)]
    return PlainTable(
        title=section.title,
        lines=section.lines,
        columns=tuple(section.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in section.rows[:MOST_ROWS]),
        n_hidden=max(0, len(section.rows) - MOST_ROWS),
    )


# The judge card as a page shows it: its sentences, agreement and corrected means drawn, and the plots against people.
#
# The numbers are the card's; only where bins are drawn are labels counted here, and their intervals come from `stats`.


Points = Mapping[str, Joined]
"""The judge's answers beside people's, by the card's name of the criterion."""

_MOST_BINS = 12
_FEWEST_IN_BIN = 2


class EstimateRow(Struct, frozen=True):
    """One number of the card with its interval drawn."""

    level: str
    name: str
    found: Estimate
    strip: Markup
    remark: str


class CorrectedRow(Struct, frozen=True):
    """One system's mean as people would give it, beside what the judge alone and the labels alone say."""

    system: str
    mean: CorrectedMean
    strip: Markup
    remark: str


class CriterionPeople(Struct, frozen=True):
    """One judge on one criterion, held against people."""

    name: str
    card: CriterionCard
    digits: int
    agreement_axis: Markup
    agreement: tuple[EstimateRow, ...]
    undefined: tuple[str, ...]
    """what has no number here, and why"""
    corrected_axis: Markup | None
    corrected: tuple[CorrectedRow, ...]
    n_hidden: int
    """systems whose corrected means are left out, because there are too many"""
    scatter: Markup | None
    reliability: Markup | None
    """stated confidence against being right"""


class CardPart(Struct, frozen=True):
    """The whole card."""

    card: Card
    criteria: tuple[CriterionPeople, ...]
    tables: tuple[PlainTable, ...]


def card_part(card: Card, points: Points | None = None) -> CardPart:
    """The card with its pictures; plots only where the answers are given beside it."""
    found = points or {}
    return CardPart(
        card=card,
        criteria=tuple(_criterion(name, one, found.get(name)) for name, one in card.criteria.items()),
        tables=plain_tables(trust_sections(card)),
    )


def _criterion(name: str, card: CriterionCard, joined: Joined | None) -> CriterionPeople:
    everything = list(_agreement(card))
    rows = [row for row in everything if row[2].value is not None]
    low = -1.0 if any((end or 0) < 0 for _, _, one in rows for end in (one.value, one.low)) else 0.0
    domain = Domain(low, 1.0)
    means = domain_of(
        card.scale,
        [
            end
            for mean in card.corrected.values()
            for one in (mean, mean.judge_only)
            for end in (one.low, one.value, one.high)
        ],
    )
    digits = decimals(card.scale)
    shown = {system: card.corrected[system] for system in kept(list(card.corrected))}
    return CriterionPeople(
        name=name,
        card=card,
        digits=digits,
        agreement_axis=axis(domain),
        agreement=tuple(
            EstimateRow(
                level,
                title,
                one,
                strip(
                    [Mark(one.value, one.low, one.high)],
                    domain,
                    f"{title}: {interval(one, 2)}",
                    reference=0.0,
                ),
                "; ".join(text for text in (one.reason, one.caution) if text),
            )
            for level, title, one in rows
        ),
        undefined=_undefined(everything),
        corrected_axis=axis(means) if card.corrected else None,
        corrected=tuple(
            CorrectedRow(system, mean, _three(system, mean, means, digits), mean.reason)
            for system, mean in shown.items()
        ),
        n_hidden=len(card.corrected) - len(shown),
        scatter=_scatter(name, card, joined),
        reliability=_reliability(name, joined),
    )


def _agreement(card: CriterionCard) -> Iterator[tuple[str, str, Estimate]]:
    for level, found in (("item", card.item), ("group", card.group), ("system", card.system)):
        for name, one in found.items():
            yield level, statistic_name(name, card), one
    if card.ceiling is not None:
        yield "people", "a rater with the others", card.ceiling
        yield "people", "the judge with the same", card.ceiling.judge


def _undefined(rows: Sequence[tuple[str, str, Estimate]]) -> tuple[str, ...]:
    """One line for each reason, rather than a row for each number that is missing."""
    by_reason: dict[str, dict[str, None]] = {}
    for level, name, one in rows:
        if one.value is None:
            is_whole = all(other.value is None for at, _, other in rows if at == level)
            by_reason.setdefault(one.reason, {})[f"{level} level" if is_whole else f"{name} ({level})"] = None
    return tuple(f"{', '.join(names)}: {why}" for why, names in by_reason.items())


def _three(system: str, mean: CorrectedMean, domain: Domain, digits: int) -> Markup:
    """The corrected mean over the judge's own: how far the two are apart is the judge's bias."""
    alone = mean.judge_only
    title = f"{system}: corrected {interval(mean, digits)}, judge alone {interval(alone, digits)}"
    marks = [Mark(mean.value, mean.low, mean.high), Mark(alone.value, alone.low, alone.high, css="hollow")]
    return strip(marks, domain, title)


def _scatter(name: str, card: CriterionCard, joined: Joined | None) -> Markup | None:
    if joined is None or joined.kind != "scores":
        return None
    both = [(row, x, y) for row, x, y in _both(joined.labelled())]
    if len(both) < 3:
        return None
    points = [Point(f"{row.item} {row.subject or ''}", x, y) for row, x, y in both]
    x_domain = domain_of(card.scale, [x for _, x, _ in both])
    same = joined.is_same_scale and card.scale is not None and card.scale.low is not None
    y_domain = x_domain if same else domain_of(None, [y for _, _, y in both])
    axes = Axes(x_domain, y_domain, "the judge", "people (mean of raters)")
    bins = _binned([(x, y) for _, x, y in both], (y_domain.low, y_domain.high))
    return scatter(points, axes, f"{name}: the judge against people", bins=bins, is_same_scale=same)


def _both(rows: Sequence[Row]) -> Iterator[tuple[Row, float, float]]:
    answers, labels = numbers(row.answer for row in rows), numbers(row.label for row in rows)
    for row, x, y in zip(rows, answers, labels, strict=True):
        if x is not None and y is not None:
            yield row, x, y


def _binned(pairs: Sequence[tuple[float, float]], limits: tuple[float, float]) -> list[Bin]:
    """What people say on average where the judge gives each score; by parts of equal size where scores are many."""
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
    found = []
    for xs, ys in cells:
        if len(ys) >= _FEWEST_IN_BIN:
            mean = mean_interval(ys, limits=limits)
            if mean.value is not None:
                found.append(Bin(sum(xs) / len(xs), mean.value, mean.low, mean.high, len(ys)))
    return found


def _reliability(name: str, joined: Joined | None) -> Markup | None:
    """In ten steps of stated confidence: how often the judge said what people say."""
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
    return curve_with_intervals(bins, axes, f"{name}: is stated confidence honest?")


def _stated(joined: Joined) -> Iterator[tuple[float, bool]]:
    """Stated confidence and whether the judge was right, as the card counts it: the same choice, or the nearest level."""
    rows = [row for row in joined.labelled() if row.answer is not None]
    if joined.kind == "scores":
        levels = levels_of(joined.scale)
        if levels is None:
            return
        answers = halved(numbers(row.answer for row in rows), levels)
        labels = halved(numbers(row.label for row in rows), levels)
        is_right = [share_a_level(one, other) for one, other in zip(answers, labels, strict=True)]
    else:
        is_right = [row.answer == row.label for row in rows]
    for row, right in zip(rows, is_right, strict=True):
        if row.confidence is not None and 0 <= row.confidence <= 1:
            yield row.confidence, right


MOST_IN_MATRIX = 24
_SHADES = 9


class StandingRow(Struct, frozen=True):
    """One system among the others."""

    standing: Standing
    place: str
    """1, or 1–3 where the tests leave that open"""
    win_rate: Markup
    strength: Markup


class MatrixCell(Struct, frozen=True):
    """What the system of the row took of its games with that of the column."""

    met: Met
    css: str


class Matrix(Struct, frozen=True):
    """All against all, best first; none where a system would meet itself or never met the other."""

    systems: tuple[str, ...]
    rows: tuple[tuple[MatrixCell | None, ...], ...]
    n_hidden: int


class CriterionStandings(Struct, frozen=True):
    """The systems by one criterion, best first."""

    name: str
    ranking: CriterionRanking
    opening: str
    rows: tuple[StandingRow, ...]
    n_hidden: int
    share_axis: Markup
    strength_axis: Markup
    matrix: Matrix | None


class RankingPart(Struct, frozen=True):
    """The whole ranking."""

    criteria: tuple[CriterionStandings, ...]
    notes: tuple[str, ...]
    tables: tuple[PlainTable, ...]


def ranking_part(ranking: Ranking) -> RankingPart | None:
    """The ranking by choices; none where the judge only gave scores, whose means say it already."""
    chosen = {name: one for name, one in ranking.criteria.items() if one.kind == "choices" and one.n_games}
    if not chosen:
        return None
    own = {note for one in chosen.values() for note in one.notes}
    return RankingPart(
        criteria=tuple(_ranking_of_criterion(name, one) for name, one in chosen.items()),
        notes=tuple(note for note in ranking.notes if note not in own),
        tables=plain_tables(rank_sections(ranking)),
    )


def shade(share: float) -> str:
    """The class of a share's colour: h0 is always lost, h4 even, h8 always won."""
    return f"h{min(_SHADES - 1, max(0, round(share * (_SHADES - 1))))}"


def _ranking_of_criterion(name: str, ranking: CriterionRanking) -> CriterionStandings:
    by_name = {one.system: one for one in ranking.systems}
    shown = [by_name[system] for system in kept(list(by_name))]
    strengths = domain_of(
        None, [end for one in shown for end in (one.strength.low, one.strength.value, one.strength.high)]
    )
    return CriterionStandings(
        name=name,
        ranking=ranking,
        opening=leader(ranking),
        rows=tuple(_row(one, strengths) for one in shown),
        n_hidden=len(by_name) - len(shown),
        share_axis=axis(SHARES),
        strength_axis=axis(strengths),
        matrix=_matrix(list(by_name), ranking.matrix),
    )


def _row(one: Standing, strengths: Domain) -> StandingRow:
    best, worst = one.places
    strength = Mark(one.strength.value, one.strength.low, one.strength.high)
    return StandingRow(
        standing=one,
        place=str(best) if best == worst else f"{best}–{worst}",
        win_rate=share_strip(one.win_rate, f"{one.system} won {percent(one.win_rate)}"),
        strength=strip(
            [strength], strengths, f"strength of {one.system}: {interval(one.strength, 2)}", reference=0.0
        ),
    )


def _matrix(systems: list[str], met: Mapping[str, Mapping[str, Met]]) -> Matrix | None:
    """For three systems and more; two are a row of the table of pairs."""
    if len(systems) < 3:
        return None
    shown = systems[:MOST_IN_MATRIX]
    rows = tuple(tuple(_cell(met.get(one, {}).get(other)) for other in shown) for one in shown)
    return Matrix(tuple(shown), rows, len(systems) - len(shown))


def _cell(met: Met | None) -> MatrixCell | None:
    return None if met is None or met.share.value is None else MatrixCell(met, shade(met.share.value))
