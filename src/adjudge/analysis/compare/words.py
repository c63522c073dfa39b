"""A comparison of two runs as sections of text and tables, the same for terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator

from ...records import Estimate
from ...sections import (
    WIN_RATES,
    Axis,
    Column,
    DrawnInterval,
    Mark,
    Section,
    Sourced,
    Value,
    how_to_read,
    notices,
)
from ...words import NO_VALUE, count, interval, p_text, percent, short_name, signed
from .comparison import Change, Comparison, CriterionComparison, PeopleSide, SystemComparison, SystemOrder
from .sentences import EQUIVALENCE_WORDS, digits_of, estimate_text, value_in_unit

MEANING = (
    "A difference is second − first, on the items that both runs judged. [low, high] is the 95 % "
    "confidence interval of that difference alone. p is corrected for all differences of this "
    "comparison (Holm) and decides significance, so an interval may exclude 0 although the "
    "difference is not significant. The smallest detectable difference is the true difference that "
    "this many items detect with 80 % power."
)


_MOST_PAIRS = 20


_CHANGES: dict[Change, str] = {
    "reversed": "both, reversed",
    "only first": "first run only",
    "only second": "second run only",
    "same": "both runs",
    "open": "neither run",
}


def compare_sections(comparison: Comparison) -> Iterator[Section]:
    """All sections of the comparison."""
    title = f"{comparison.first} → {comparison.second}"
    yield Section(
        title,
        comparison.summary,
        depth=1,
        notices=notices(comparison.notes),
        notes=(changes_line(comparison),),
    )
    for name, card in comparison.criteria.items():
        yield from _criterion(name, card, comparison)
    yield how_to_read(MEANING, f"seed {comparison.seed}")


def changes_line(comparison: Comparison) -> str:
    """What differs between the runs themselves."""
    if comparison.changed:
        return f"Differences between the runs: {'; '.join(comparison.changed)}."
    return "No known difference in texts, protocol, judge or settings."


def _criterion(name: str, card: CriterionComparison, comparison: Comparison) -> Iterator[Section]:
    sentences = () if len(comparison.criteria) == 1 else card.sentences
    items = count(card.n_items, "item" if card.kind == "scores" else "pair")
    unit = {"points": "scale points", "normalized": "share of the scale", "rank": "ranks only"}[card.unit]
    about = f"{items} in both runs; unit: {unit if card.kind == 'scores' else 'win rates'}"
    only_in_one = [
        f"{n:,} only in {run}"
        for run, n in ((comparison.first, card.n_only_first), (comparison.second, card.n_only_second))
        if n
    ]
    about = "; ".join([about, *only_in_one])
    axis = _axis(card)
    difference = "difference [95 % CI]"
    columns = (
        "system" if card.kind == "scores" else "pair",
        comparison.first,
        comparison.second,
        difference if axis is None else Column(difference, axis),
        "p",
        "n",
        Column("failed first / second", is_minor=True),
        Column("smallest detectable difference", is_minor=True),
        Column("range including failures", is_minor=True),
        Column(_margin_head(card), is_minor=True),
        Column("unit", is_minor=True),
        "remark",
    )
    legend = (
        f"Filled dot: {comparison.second}. Hollow dot: {comparison.first}. The number beside them is the "
        "difference."
    )
    rows = tuple(
        _system(system, system_comparison, card, "" if axis is None else legend)
        for system, system_comparison in card.systems.items()
    )
    yield Section(
        short_name(name),
        (about, *sentences),
        columns,
        rows,
        notices=notices(card.notes),
        kind="criterion",
        criterion=name,
    )
    if card.order is not None:
        yield from _order_section(card.order, comparison, digits_of(card))
    if card.people is not None:
        yield _people(card, card.people, comparison)
    yield from _moved(card, comparison)
    yield _agreement(card)


def _margin_head(card: CriterionComparison) -> str:
    """The head of the column on equivalence, with the margin."""
    margins = [
        system.equivalence.margin for system in card.systems.values() if system.equivalence is not None
    ]
    return f"within ± {margins[0]:g}" if margins else "equivalence"


def _axis(card: CriterionComparison) -> Axis | None:
    """The axis on which the means of both runs are drawn; none where they have no common scale."""
    if card.kind == "choices":
        return WIN_RATES
    if card.unit == "normalized":
        return Axis(0.0, 1.0)
    scale = card.scales[0]
    return None if card.unit == "rank" else Axis() if scale is None else Axis(scale.low, scale.high)


_MOVED = "Items that moved most"


def _moved(card: CriterionComparison, comparison: Comparison) -> Iterator[Section]:
    """The items whose answers differ most between the runs."""
    if card.unit == "rank":
        return
    what = "pair" if card.kind == "choices" else "item"
    line = f"{card.n_moved:,} of {count(card.n_items, what)} have another answer in {comparison.second}."
    if not card.moved:
        line = line if card.n_items else f"No {what} is in both runs."
        yield Section(_MOVED, (line,), depth=3, kind="moved")
        return
    near = {"first": comparison.first, "second": comparison.second, "both": "equally near", None: ""}
    rows = tuple(
        (
            item.item if item.subject is None else f"{item.item} ({item.subject})",
            item.system,
            answer_text(item.first, item.system),
            answer_text(item.second, item.system),
            signed(item.difference),
            "" if item.label is None else answer_text(item.label, item.system),
            near[item.nearer],
        )
        for item in card.moved
    )
    if len(rows) < card.n_moved:
        line += f" The {len(rows)} with the largest difference:"
    columns = (
        what,
        "system" if card.kind == "scores" else "systems",
        comparison.first,
        comparison.second,
        "change",
        "people",
        "nearer to people",
    )
    yield Section(_MOVED, (line,), columns, rows, 3, kind="moved")


def answer_text(answer: float | str, pair: str) -> str:
    """A score, or the system that was chosen."""
    if not isinstance(answer, str):
        return f"{answer:.4g}"
    a, _, b = pair.partition(" → ")[0].partition(" vs ")
    return {"a": a, "b": b}.get(answer, answer) or answer


def _people(card: CriterionComparison, people: PeopleSide, comparison: Comparison) -> Section:
    """Which run people agree with: the test of `trust --versus`, and on how many items which run is
    nearer."""
    result, test = people.pair.result, people.pair.mcnemar or people.pair.result.permutation
    write = interval if card.kind == "scores" else percent
    statistic = "Spearman with people" if card.kind == "scores" else "exact agreement with people"
    lines: list[str | Sourced] = [Sourced(people.pair.sentence.text, people.pair.sentence.source)]
    if people.n_first + people.n_second + people.n_equal:
        lines.append(
            f"Of {count(people.n, 'labelled item')} that both answered, people are nearer to "
            f"{comparison.first} on {people.n_first}, nearer to {comparison.second} on "
            f"{people.n_second}, and equally near on {people.n_equal}."
        )
    row = (
        statistic,
        write(result.first),
        write(result.second),
        write(result.difference, is_difference=True),
        p_text(test.p),
        str(result.difference.n),
        result.difference.reason or result.difference.caution or test.why,
    )
    columns = (
        "statistic",
        comparison.first,
        comparison.second,
        "first − second [95 % CI]",
        "p",
        "n",
        "remark",
    )
    return Section("Whose side people take", tuple(lines), columns, (row,), 3, kind="people")


def _system(
    name: str, comparison: SystemComparison, card: CriterionComparison, legend: str
) -> tuple[Value, ...]:
    bounds, least = comparison.bounds, comparison.minimum_detectable
    doubt = (
        f"not significant after correction (uncorrected p {p_text(comparison.p)})"
        if comparison.is_doubtful
        else ""
    )
    remark = "; ".join(
        text for text in (comparison.difference.reason, comparison.difference.caution, doubt) if text
    )
    failed = (
        comparison.n_failed_first + comparison.n_failed_both,
        comparison.n_failed_second + comparison.n_failed_both,
    )
    return (
        name,
        estimate_text(card, comparison.first),
        estimate_text(card, comparison.second),
        _difference(comparison, card, legend),
        p_text(comparison.p_adjusted),
        str(comparison.difference.n),
        f"{failed[0]} / {failed[1]}",
        NO_VALUE if least is None else value_in_unit(card, least),
        "" if bounds is None else f"{value_in_unit(card, bounds.low)} to {value_in_unit(card, bounds.high)}",
        "" if comparison.equivalence is None else EQUIVALENCE_WORDS[comparison.equivalence.verdict],
        comparison.difference.unit or NO_VALUE,
        remark,
    )


def _difference(comparison: SystemComparison, card: CriterionComparison, legend: str) -> Value:
    """The difference; HTML draws the means of both runs, joined by a line."""
    text = estimate_text(card, comparison.difference, is_difference=True)
    if not legend:
        return text
    marks = tuple(Mark(mean.value, mean.low, mean.high) for mean in (comparison.second, comparison.first))
    return DrawnInterval(text, marks, legend, is_change=True)


def _agreement(card: CriterionComparison) -> Section:
    names = {
        "spearman": "Spearman over items",
        "exact": "exact agreement",
        "decided": "exact agreement, without ties",
        "kappa": "Cohen kappa",
    }
    rows = [_estimate(names[name], estimate) for name, estimate in card.agreement.items()]
    if card.order is not None:
        rows.append(_estimate("Kendall tau-b over systems", card.order.kendall))
    columns = ("statistic", "value [95 % CI]", "n", "failed", "excluded", "unit", "remark")
    return Section("Agreement between the runs", (), columns, tuple(rows), 3, kind="agreement")


def _estimate(name: str, estimate: Estimate) -> tuple[str, ...]:
    remark = "; ".join(text for text in (estimate.reason, estimate.caution) if text)
    counts = str(estimate.n), str(estimate.n_failed), str(estimate.n_undefined)
    return name, interval(estimate), *counts, estimate.unit or NO_VALUE, remark


def _order_section(order: SystemOrder, comparison: Comparison, digits: int) -> Iterator[Section]:
    """The ranks of the systems in each run, and which of their differences are significant."""
    ranks = tuple(
        (str(rank), first, second)
        for rank, (first, second) in enumerate(zip(order.first, order.second, strict=True), start=1)
    )
    line = f"Pairs of systems in a different order, significant or not: {order.n_flipped:,}."
    heads = ("rank", comparison.first, comparison.second)
    yield Section("Ranks of the systems", (line,), heads, ranks, 3, kind="ranks")
    by_change = sorted(order.pairs, key=lambda pair: list(_CHANGES).index(pair.change))
    rows = tuple(
        (
            f"{pair.systems[0]} - {pair.systems[1]}",
            interval(pair.first, digits, is_difference=True),
            p_text(pair.p_first),
            interval(pair.second, digits, is_difference=True),
            p_text(pair.p_second),
            _CHANGES[pair.change],
        )
        for pair in by_change[:_MOST_PAIRS]
    )
    left = len(order.pairs) - len(rows)
    lines = (
        "p (Holm) decides; the intervals hold for all pairs together (Bonferroni) and are wider, so that one "
        "may contain 0 although its difference is significant.",
        *([f"{left} more pairs are in --json."] if left > 0 else []),
    )
    columns = ("systems", comparison.first, "p", comparison.second, "p", "significant in")
    yield Section("Differences between systems", lines, columns, rows, 3, kind="order")
