"""The judge card as a page shows it: its sentences, agreement and corrected means drawn, and the plots against people.

The numbers are the card's; only where bins are drawn are labels counted here, and their intervals come from `stats`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct

from ...card.agreement import levels_of, share_a_level
from ...card.join import Joined, Row, numbers
from ...card.shapes import Card, CorrectedMean, CriterionCard
from ...card.tables import sections, statistic_name
from ...records import Estimate
from ...report.words import decimals, interval
from ...stats import caution, halved, mean_interval, reason, wilson
from ..charts import (
    Axes,
    Bin,
    Domain,
    Mark,
    Point,
    axis,
    curve_with_intervals,
    domain_of,
    scatter,
    strip,
)
from .scores import kept
from .tables import PlainTable, plain_tables

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
        tables=plain_tables(sections(card)),
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
                "; ".join(text for text in (reason(one), caution(one)) if text),
            )
            for level, title, one in rows
        ),
        undefined=_undefined(everything),
        corrected_axis=axis(means) if card.corrected else None,
        corrected=tuple(
            CorrectedRow(system, mean, _three(system, mean, means, digits), reason(mean))
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
            by_reason.setdefault(reason(one), {})[f"{level} level" if is_whole else f"{name} ({level})"] = (
                None
            )
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
