"""Choices between systems: who won against whom, how often the order decided, and the matrix of all against all."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from ...records import Estimate
from ...report import PairSummary, Summary
from ...report.words import failures_text, percent
from ..charts import Domain, Mark, Part, axis, stacked, strip

SHARES = Domain(0.0, 1.0)
MOST_IN_MATRIX = 24
_STEPS = 9
"""shades of the matrix, from always lost to always won"""


class PairRow(Struct, frozen=True):
    """Two systems against each other."""

    pair: PairSummary
    bar: Markup
    strip: Markup
    remark: str


class MatrixCell(Struct, frozen=True):
    """How often the system of the row won against that of the column; a tie is half a win."""

    share: float | None
    low: float | None
    high: float | None
    n: int
    css: str


class Matrix(Struct, frozen=True):
    """All against all; none where a system would meet itself or never met another."""

    systems: tuple[str, ...]
    rows: tuple[tuple[MatrixCell | None, ...], ...]


class PositionPart(Struct, frozen=True):
    """How often the response that was shown first won."""

    share: Estimate
    strip: Markup


class PairsPart(Struct, frozen=True):
    """One criterion that is decided by a choice."""

    name: str
    rows: tuple[tuple[str, PairRow], ...]
    """each with no name before it, or in `by_judge` with its judge's"""
    n_hidden: int
    axis: Markup
    matrix: Matrix | None
    position: PositionPart | None
    by_judge: tuple[tuple[str, PairRow], ...] = ()


def pair_parts(summary: Summary) -> tuple[PairsPart, ...]:
    """All criteria that are decided by a choice."""
    return tuple(_criterion(summary, name, pairs) for name, pairs in summary.pairs.items())


def shade(share: float) -> str:
    """The class of a share's colour: h0 is always lost, h4 even, h8 always won."""
    return f"h{min(_STEPS - 1, max(0, round(share * (_STEPS - 1))))}"


def share_strip(found: Estimate, title: str, reference: float | None = 0.5) -> Markup:
    """A share with its interval on an axis from 0 to 1."""
    return strip([Mark(found.value, found.low, found.high)], SHARES, title, reference=reference)


def _criterion(summary: Summary, name: str, pairs: Sequence[PairSummary]) -> PairsPart:
    shown = pairs[:60]
    position = summary.position.get(name)
    of_judges = tuple(
        (spec, _row(pair))
        for spec, model in summary.models.items()
        for pair in model.pairs.get(name, ())[:60]
    )
    return PairsPart(
        name=name,
        rows=tuple(("", _row(pair)) for pair in shown),
        n_hidden=len(pairs) - len(shown),
        axis=axis(SHARES),
        matrix=_matrix(pairs),
        position=None
        if position is None or not position.n
        else PositionPart(position, share_strip(position, f"first place won {percent(position)}")),
        by_judge=of_judges,
    )


def _row(pair: PairSummary) -> PairRow:
    a, b = pair.system_a, pair.system_b
    parts = [Part(a, pair.a, "side-a"), Part("tie", pair.tie, "s-tie"), Part(b, pair.b, "side-b")]
    said = [failures_text(pair.failures)]
    if pair.order_conflicts.n and pair.order_conflicts.value:
        said.append(f"the order changed the choice in {percent(pair.order_conflicts)}")
    return PairRow(
        pair=pair,
        bar=stacked(parts, f"{a} {pair.a}, tie {pair.tie}, {b} {pair.b}"),
        strip=share_strip(pair.won_by_a, f"{a} won {percent(pair.won_by_a)}"),
        remark="; ".join(text for text in said if text),
    )


def _matrix(pairs: Sequence[PairSummary]) -> Matrix | None:
    """All against all, for three systems and more; the one that won most is first."""
    met: dict[tuple[str, str], MatrixCell] = {}
    won: dict[str, float] = {}
    played: dict[str, int] = {}
    for pair in pairs:
        found = pair.won_by_a
        if found.value is None:
            continue
        mirrored = Estimate(
            1 - found.value,
            None if found.high is None else 1 - found.high,
            None if found.low is None else 1 - found.low,
            found.n,
        )
        for one, other, own in (
            (pair.system_a, pair.system_b, found),
            (pair.system_b, pair.system_a, mirrored),
        ):
            share = own.value or 0.0
            met[one, other] = MatrixCell(share, own.low, own.high, own.n, shade(share))
            won[one] = won.get(one, 0.0) + share * own.n
            played[one] = played.get(one, 0) + own.n
    systems = sorted(won, key=lambda name: (-won[name] / max(1, played[name]), name))[:MOST_IN_MATRIX]
    if len(systems) < 3:
        return None
    rows = tuple(
        tuple(met.get((one, other)) if one != other else None for other in systems) for one in systems
    )
    return Matrix(tuple(systems), rows)
