"""A comparison as sections of text and cells, which a terminal, a web page and Markdown show alike.

Names stand here as users wrote them: whoever prints a section makes them harmless first.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..records import Estimate
from ..sections import Section
from ..stats import caution, reason
from ..words import NO_VALUE, count, interval, number, p_text
from .sentences import digits_of
from .shapes import Change, Comparison, CriterionContrast, SystemContrast, SystemOrder

MEANING = (
    "A difference is second - first, on the items that both runs judged. [low, high] is a 95 % interval of each difference alone; p "
    "is corrected by Holm for all differences of this page and decides what is shown, so that an interval may leave out 0 where no "
    "difference is shown; finds is the true difference that as many items show four times in five."
)
_MOST_PAIRS = 20

_CHANGES: dict[Change, str] = {
    "reversed": "turned round",
    "only first": "first run only",
    "only second": "second run only",
    "same": "in both",
    "open": "in neither",
}


def sections(found: Comparison) -> Iterator[Section]:
    """The comparison from its sentences to its last table."""
    lines = [*found.summary, *(f"! {note}" for note in found.notes)]
    if found.changed:
        lines.append(f"What differs: {'; '.join(found.changed)}.")
    else:
        lines.append("Texts, protocol, judge and settings are the same, as far as they are known.")
    yield Section(f"{found.first} → {found.second}", tuple(lines), depth=1)
    for name, one in found.criteria.items():
        yield from _criterion(name, one, found)
    yield Section("How to read this", (MEANING, f"seed {found.seed}"))


def _criterion(name: str, one: CriterionContrast, found: Comparison) -> Iterator[Section]:
    told = () if len(found.criteria) == 1 else one.sentences
    items = count(one.n_items, "item" if one.kind == "scores" else "pair")
    unit = {"points": "points of the scale", "normalized": "share of the scale", "rank": "ranks only"}[
        one.unit
    ]
    about = f"{items} in both runs, compared in {unit if one.kind == 'scores' else 'win rates'}"
    alone = [
        f"{n:,} in {run} alone"
        for run, n in ((found.first, one.n_only_first), (found.second, one.n_only_second))
        if n
    ]
    about = "; ".join([about, *alone])
    lines = (about, *told, *(f"! {note}" for note in one.notes))
    columns = (
        "system" if one.kind == "scores" else "pair", found.first, found.second, "difference [95 %]", "p", "n", "failed first / second",
        "finds", "whatever the failed were", "unit", "remark",
    )  # fmt: skip
    digits = digits_of(one)
    rows = tuple(_system(system, each, digits) for system, each in one.systems.items())
    yield Section(name, lines, columns, rows)
    yield _agreement(one)
    if one.order is not None:
        yield from _order(one.order, found, digits)


def _system(name: str, one: SystemContrast, digits: int) -> tuple[str, ...]:
    span = (
        "" if one.bounds is None else f"{number(one.bounds.low, digits)} to {number(one.bounds.high, digits)}"
    )
    doubt = f"interval of this difference alone (p {p_text(one.p)})" if one.is_doubtful else ""
    remark = "; ".join(text for text in (reason(one.difference), caution(one.difference), doubt) if text)
    failed = (one.n_failed_first + one.n_failed_both, one.n_failed_second + one.n_failed_both)
    return (
        name,
        interval(one.first, digits),
        interval(one.second, digits),
        interval(one.difference, digits, is_difference=True),
        p_text(one.p_adjusted),
        str(one.difference.n),
        f"{failed[0]} / {failed[1]}",
        NO_VALUE if one.minimum_detectable is None else number(one.minimum_detectable, digits),
        span,
        one.difference.unit or NO_VALUE,
        remark,
    )


def _agreement(one: CriterionContrast) -> Section:
    names = {
        "spearman": "items ordered alike (Spearman)",
        "exact": "equal choices",
        "decided": "equal, both decided",
        "kappa": "Cohen kappa",
    }
    rows = [_estimate(names[name], found) for name, found in one.agreement.items()]
    if one.order is not None:
        rows.append(_estimate("systems ordered alike (Kendall tau-b)", one.order.kendall))
    columns = ("statistic", "value [95 %]", "n", "failed", "left out", "unit", "remark")
    return Section("Do the runs agree?", (), columns, tuple(rows), 3)


def _estimate(name: str, found: Estimate) -> tuple[str, ...]:
    remark = "; ".join(text for text in (reason(found), caution(found)) if text)
    counts = str(found.n), str(found.n_failed), str(found.n_undefined)
    return name, interval(found), *counts, found.unit or NO_VALUE, remark


def _order(order: SystemOrder, found: Comparison, digits: int) -> Iterator[Section]:
    """Who stands where in either run, and which claims about two systems hold."""
    places = tuple(
        (str(place), one, other)
        for place, (one, other) in enumerate(zip(order.first, order.second, strict=True), start=1)
    )
    line = f"{count(order.n_flipped, 'pair')} of systems in another order, shown or not."
    yield Section("Order of the systems", (line,), ("place", found.first, found.second), places, 3)
    telling = sorted(order.pairs, key=lambda pair: list(_CHANGES).index(pair.change))
    rows = tuple(
        (
            f"{pair.systems[0]} - {pair.systems[1]}",
            interval(pair.first, digits, is_difference=True),
            p_text(pair.p_first),
            interval(pair.second, digits, is_difference=True),
            p_text(pair.p_second),
            _CHANGES[pair.change],
        )
        for pair in telling[:_MOST_PAIRS]
    )
    left = len(order.pairs) - len(rows)
    lines = (f"{left} more pairs are in --json.",) if left > 0 else ()
    columns = ("systems", found.first, "p", found.second, "p", "shown")
    yield Section("Which system is better?", lines, columns, rows, 3)
