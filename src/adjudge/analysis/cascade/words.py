"""A cascade as sections of text and a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...sections import Column, Section, how_to_read, notices
from ...words import NO_VALUE, count, percent, price, share
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
    yield how_to_read(*MEANING, is_detail=True)


def decided_text(cascade: Mapping[str, Any]) -> str:
    """Which stage decided how many items, how many wait for people, and whether the promise is broken; from
    the manifest of a run."""
    n = cascade["stages"][0]["reached"]
    decided = [f"{stage['judge']} {stage['decided']:,}" for stage in cascade["stages"]]
    waiting = cascade["to_people"]
    rest = f"; {waiting:,} go to people, and count with the last judge's answer until then" if waiting else ""
    return f"Cascade: of {n:,} items, {', '.join(decided)} decided{rest}.{_broken_promise(cascade)}"


def _broken_promise(cascade: Mapping[str, Any]) -> str:
    """What checked items say where they show less agreement than was promised."""
    checked = cascade.get("checked")
    if not checked or checked["holds"]:
        return ""
    return (
        f" People agree with {share(checked['value'])} of {count(checked['n'], 'checked item')} (at most "
        f"{share(checked['high'])}), and {_exact_share(cascade['agree'])} was promised: the promise no "
        "longer holds. Calibrate again: adjudge cascade."
    )


MEANING = (
    "Each item goes to the first judge, and to the next one where its confidence is below the "
    "threshold; items that no judge decides go to people. The promise: among items decided by the "
    "judges, agreement with people is at least the target, in all but the given risk of calibrations "
    "(fixed-sequence testing with exact bounds).",
    "It holds for items like the labelled ones. It does not hold for new kinds of items, after a "
    "change of a judge, or for labels that contradict each other.",
)


def _answer(cascade: Cascade) -> Iterator[str]:
    target = f"{_exact_share(cascade.agree)} agreement" + (
        "" if cascade.within is None else f" within {cascade.within:g} points"
    )
    labels = count(cascade.n_labels, "label")
    if not cascade.holds:
        yield f"No threshold can be shown to reach {target} with these {labels}; {_needed(cascade)}"
        return
    low = cascade.agreement.low or 0.0
    yield (
        f"The judges decide {share(cascade.decided.value or 0.0)} of the items with at least "
        f"{target} with people (seen {share(cascade.agreement.value or 0.0)}, bound {share(low)}, "
        f"{cascade.agreement.n} decided of {labels}; risk {_exact_share(cascade.risk)}). People decide the "
        "rest."
    )
    if cascade.price_per_1000 is not None and cascade.alone_price_per_1000 is not None:
        last = cascade.stages[-1].judge
        yield (
            f"Price per 1,000 items: {price(cascade.price_per_1000)}, against "
            f"{price(cascade.alone_price_per_1000)} for {last} alone."
        )


_MOST_PRACTICAL = 100_000
"""More labels than anybody collects; the number itself is in the JSON."""


def _needed(cascade: Cascade) -> str:
    """How many labels are needed, and how far so few can tell."""
    if cascade.labels_needed is None:
        return "the judges agree with people less than that, however sure they are."
    if cascade.labels_needed > _MOST_PRACTICAL:
        return "far more than is practical are needed."
    low, high = cascade.labels_needed_range or (cascade.labels_needed, None)
    most = "far more" if high is None else f"{high:,}"
    needed = f"about {cascade.labels_needed:,} are needed"
    return f"{needed} ({low:,} to {most}: these labels cannot tell more precisely)."


def _exact_share(value: float) -> str:
    """A share as the user gave it: 92.5 %."""
    return f"{100 * value:.6g} %"


def _row(stage: Stage) -> tuple[str, ...]:
    return (
        stage.judge,
        "never decides" if stage.threshold is None else repr(stage.threshold),
        percent(stage.decided),
        percent(stage.agreement),
        NO_VALUE if stage.price_per_1000 is None else f"{stage.price_per_1000:.2f}",
    )
