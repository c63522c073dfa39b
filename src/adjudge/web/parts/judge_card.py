"""The judge card with plots of the judge and people: a
scatter plot, and the calibration of stated confidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from ...analysis.labels.labelled import LabelledItem, LabelledTable, numbers
from ...analysis.run_view.criteria import levels_of
from ...analysis.trust.card import Card, CriterionCard
from ...analysis.trust.stated_confidence import share_a_level
from ...analysis.trust.words.card import trust_sections
from ...stats import halved, mean_interval, wilson
from .charts.axis import Domain, domain_of
from .charts.scatter_plot import MOST_POINTS, Axes, Bin, Point, curve_with_intervals, scatter
from .known_of_run import Points
from .section import Figure, SectionView, view_of

_MOST_BINS = 12


_FEWEST_IN_BIN = 2


def judge_card_views(card: Card | None, points: Points) -> Iterator[SectionView]:
    """The card with its plots, where the single answers are known."""
    for section in trust_sections(card) if card is not None else ():
        figures: tuple[Figure, ...] = ()
        if card is not None and section.kind == "criterion":
            name = section.criterion
            figures = tuple(_plots(name, card.criteria[name], points.get(name)))
        yield view_of(section, figures)


def _plots(name: str, card: CriterionCard, joined: LabelledTable | None) -> Iterator[Figure]:
    against_people = _scatter(name, card, joined)
    if against_people is not None:
        yield Figure(
            "Judge and human labels",
            against_people,
            f"Each small dot is an item, with jitter{_drawn_of(joined)}. Large dots: the mean human "
            "label of the items with this judge score, with its 95 % confidence interval.",
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
    """Stated confidence and whether the judge was right, as the
    card counts it: the same choice, or the nearest level.
    """
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
