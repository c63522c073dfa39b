"""A cascade as sections of text and a table."""

from __future__ import annotations

from collections.abc import Iterator

from ...sections import Column, Section, notices
from ...words import NO_VALUE, count, percent, share
from .cascade import Cascade, Stage


def cascade_sections(cascade: Cascade) -> Iterator[Section]:
    """The answer first: what is decided and promised, then the stages."""
    yield Section("Cascade", tuple(_answer(cascade)), depth=1, notices=notices(cascade.notes))
    columns = (
        "judge",
        "decides at confidence ≥",
        "decided [95 % CI]",
        "agreement [95 % CI]",
        Column("USD per 1,000"),
    )
    yield Section("Stages", (), columns, tuple(_row(stage) for stage in cascade.stages)).filled()
    yield Section("How to read this", MEANING, is_detail=True)


MEANING = (
    "Each item goes to the first judge, and to the next one where its confidence is below the "
    "threshold; items that no judge decides go to people. The promise: among items decided by the "
    "judges, agreement with people is at least the target, in all but the given risk of calibrations "
    "(fixed-sequence testing with exact bounds).",
    "It holds for items like the labelled ones. It does not hold for new kinds of items, after a "
    "change of a judge, or for labels that contradict each other.",
)


def _answer(cascade: Cascade) -> Iterator[str]:
    target = f"{share(cascade.agree)} agreement" + (
        "" if cascade.within is None else f" within {cascade.within:g} points"
    )
    labels = count(cascade.n_labels, "label")
    if not cascade.holds:
        needed = (
            f"about {cascade.labels_needed} are needed."
            if cascade.labels_needed is not None
            else "at every threshold the judges agree with people less than that."
        )
        yield f"No threshold can be shown to reach {target} with these {labels}; {needed}"
        return
    low = cascade.agreement.low or 0.0
    yield (
        f"The judges decide {share(cascade.decided.value or 0.0)} of the items with at least "
        f"{target} with people (seen {share(cascade.agreement.value or 0.0)}, bound {share(low)}, "
        f"{cascade.agreement.n} decided of {labels}; risk {share(cascade.risk)}). People decide the "
        "rest."
    )
    if cascade.price_per_1000 is not None and cascade.alone_price_per_1000 is not None:
        last = cascade.stages[-1].judge
        yield (
            f"Price per 1,000 items: {cascade.price_per_1000:.2f} USD, against "
            f"{cascade.alone_price_per_1000:.2f} USD for {last} alone."
        )


def _row(stage: Stage) -> tuple[str, ...]:
    return (
        stage.judge,
        "never decides" if stage.threshold is None else repr(stage.threshold),
        percent(stage.decided),
        percent(stage.agreement),
        NO_VALUE if stage.price_per_1000 is None else f"{stage.price_per_1000:.2f}",
    )
