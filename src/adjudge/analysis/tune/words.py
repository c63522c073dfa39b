"""A tuning as sections of text and a table."""

from __future__ import annotations

from collections.abc import Iterator

from ...sections import Axis, Column, Section, Value, how_to_read, notices
from ...words import NO_VALUE, count, interval, interval_cell, number
from .tuning import Tuning

MEANING = (
    "The labels are split once into a search part, on which candidates are compared, and a locked "
    "part, which chooses nothing. Only the gain on the locked part is evidence: the best of many "
    "candidates looks better on the labels that chose it.",
    "Agreement: share of items with the same choice or class as people (a tie against a or b is a "
    "disagreement); of scores, 1 - distance / range. Each further look at the same locked labels "
    "needs stronger evidence: the first is tested at 2.25 %, the k-th at 0.25 % / (k (k - 1)).",
    "On the frontier: no other candidate is cheaper and agrees better. The winner replaces nothing "
    "by itself.",
)


def tune_sections(tuning: Tuning) -> Iterator[Section]:
    """The one sentence from the locked part, then the candidates on the search part."""
    yield Section("Tuning", tuple(_answer(tuning)), depth=1, notices=notices(tuning.notes))
    n_search = tuning.n_labels - tuning.locked.n
    columns = (
        "candidate",
        Column("agreement [95 % CI]", axis=Axis(0.0, 1.0)),
        "USD per 1,000",
        "role",
    )
    best_first = sorted(tuning.search, key=lambda name: -(tuning.search[name].value or 0.0))
    rows = tuple(_row(tuning, name) for name in best_first)
    title = f"Candidates on the search part ({count(n_search, 'label')})"
    yield Section(title, (), columns, rows).filled()
    yield how_to_read(*MEANING, is_detail=True)


def _answer(tuning: Tuning) -> Iterator[str]:
    locked = tuning.locked
    labels = f"{count(locked.n, 'locked label')}, look {locked.looks}"
    if tuning.claim:
        yield (
            f"{tuning.winner} agrees better than {tuning.start} by "
            f"{interval(locked.gain, is_difference=True)} ({labels})."
        )
        return
    smallest = "" if tuning.detectable is None else (
        f": with {count(tuning.n_labels, 'label')} only a gain above {number(tuning.detectable)} can be shown"
    )  # fmt: skip
    if tuning.winner == tuning.start:
        yield (
            f"Not shown{smallest}. {tuning.start}, the start, agrees best on the search part; the locked "
            "part was not opened."
        )
        return
    yield (
        f"Not shown{smallest}. {tuning.winner} against {tuning.start}: "
        f"{interval(locked.gain, is_difference=True)} ({labels})."
    )
    if tuning.needed is not None:
        yield f"About {tuning.needed} labels would show a gain of this size in 80 % of cases."


def _row(tuning: Tuning, name: str) -> tuple[Value, ...]:
    roles = [
        role
        for role, is_so in (
            ("winner", name == tuning.winner),
            ("start", name == tuning.start),
            ("on the frontier", name in tuning.frontier),
        )
        if is_so
    ]
    price = tuning.prices.get(name)
    return (
        name,
        interval_cell(tuning.search[name]),
        NO_VALUE if price is None else f"{price:.2f}",
        ", ".join(roles),
    )
