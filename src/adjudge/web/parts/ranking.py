"""The ranking as a page shows it: where each system stands, its win rate and strength drawn, and all against all."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup
from msgspec import Struct

from ...ranking import CriterionRanking, Met, Ranking, Standing
from ...ranking.tables import leader, sections
from ...report.words import interval, percent
from ..charts import Domain, Mark, axis, domain_of, strip
from .pairs import SHARES, share_strip
from .scores import kept
from .tables import PlainTable, plain_tables

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
        criteria=tuple(_criterion(name, one) for name, one in chosen.items()),
        notes=tuple(note for note in ranking.notes if note not in own),
        tables=plain_tables(sections(ranking)),
    )


def shade(share: float) -> str:
    """The class of a share's colour: h0 is always lost, h4 even, h8 always won."""
    return f"h{min(_SHADES - 1, max(0, round(share * (_SHADES - 1))))}"


def _criterion(name: str, ranking: CriterionRanking) -> CriterionStandings:
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
