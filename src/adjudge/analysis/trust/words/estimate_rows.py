"""The rows of tables of estimates, and sentences with their sources."""

from __future__ import annotations

from collections.abc import Iterable

from ....records import Estimate
from ....sections import Column, Sourced, Value
from ....words import NO_VALUE, interval_cell
from ..card import Sentence

COUNTS = (
    "n",
    Column("failed", is_minor=True),
    Column("excluded", is_minor=True),
    Column("unit", is_minor=True),
    "remark",
)
"""the observations behind an estimate"""


def sourced(sentences: Iterable[Sentence]) -> tuple[Sourced, ...]:
    return tuple(Sourced(sentence.text, sentence.source) for sentence in sentences)


_MOST_LABELS = 10_000
"""More labels than this are not collected for one interval."""
FAR = "far more than is practical"


def label_count(n: int | None) -> str:
    if n is None:
        return NO_VALUE
    return f"{n:,}" if n <= _MOST_LABELS else FAR


def estimate_row(names: tuple[str, ...], estimate: Estimate) -> tuple[Value, ...]:
    remark = "; ".join(text for text in (estimate.reason, estimate.caution) if text)
    return (
        *names,
        interval_cell(estimate),
        str(estimate.n),
        str(estimate.n_failed),
        str(estimate.n_undefined),
        estimate.unit or NO_VALUE,
        remark,
    )
