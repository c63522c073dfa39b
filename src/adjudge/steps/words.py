"""Steps and verdicts on elements in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..protocols import criterion_of
from ..records import Element, Protocol, Score, Step


def step_words(protocol: Protocol, step: Step) -> str:
    """What a step does, in a few words."""
    if step.kind == "extract":
        return (
            f"extract: the entries of {step.field}"
            if step.field
            else f"extract: a list; an item may bring it as '{step.name}'"
        )
    if step.kind == "check":
        size = (
            "one element a call"
            if step.per_call == 1
            else "all elements in one call"
            if not step.per_call
            else f"{step.per_call} elements a call"
        )
        options = ", ".join(step.answer.options) if step.answer is not None else ""
        return f"check: {size}" + (f"; {options}" if options else "")
    aside = ", elements that are set aside count as worst" if step.set_aside == "worst" else ""
    return f"combine: {step.how} → {criterion_of(protocol, step)}{aside}"


def counts_text(elements: Sequence[Element]) -> str:
    """How many elements got which verdict: "supported 6, not supported 2, not read 1"."""
    counts = Counter(verdict_of(score) for element in elements for score in element.scores[:1])
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def verdict_of(score: Score) -> str:
    """The verdict on an element as it is shown: the option, the value, or why there is none."""
    if score.status != "ok":
        return f"failed ({score.status.replace('_', ' ')})"
    return (
        score.label
        if score.label is not None
        else f"{score.value:g}"
        if score.value is not None
        else "set aside"
    )
