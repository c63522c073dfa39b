"""How the choices of a run go with the place shown, criterion by criterion: read from its single judgments.

A criterion that is scored for both responses has a choice too: the response with the better score. Of two orders of one
pair and sample each counts; a reply that could not be read is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..records import Choice, Judgment, Protocol
from ..stats import Place, PositionBias, position_bias
from ..store import Judged
from .cells import direction

_ALL = ""
"""stands for all judges together"""

Shown = dict[tuple[int, int, str], list[Place | None]]
"""(item, sample, model) → the place chosen in the given order, and in the other one"""


def orders_of(
    judged: Iterable[Judged], protocols: Mapping[str, Protocol]
) -> dict[str, dict[str, PositionBias]]:
    """Of each criterion, by judge and over all judges, whether the place decides."""
    found: dict[str, Shown] = {}
    for place in judged:
        protocol = protocols.get(place.about.protocol)
        if protocol is None or protocol.task != "compare" or place.judgment is None or place.seq < 0:
            continue
        for criterion, choice in choices_in(place.judgment, protocol):
            name = f"{protocol.id}/{criterion}" if len(protocols) > 1 else criterion
            key = (place.seq, place.about.sample, place.about.model)
            both = found.setdefault(name, {}).setdefault(key, [None, None])
            is_given = place.about.order == "ab"
            both[0 if is_given else 1] = _place(choice, is_given)
    return {name: _by_judge(shown) for name, shown in found.items()}


def choices_in(judgment: Judgment, protocol: Protocol) -> Iterator[tuple[str, Choice]]:
    """The choices of one reply: the one it states, and those that its scores of both responses come to."""
    stated = "overall" if "overall" in protocol.criteria else next(iter(protocol.criteria))
    if judgment.choice is not None:
        yield stated, judgment.choice
    values: dict[str, dict[str, float]] = {}
    for score in judgment.scores:
        if score.subject is not None and score.value is not None:
            values.setdefault(score.criterion, {})[score.subject] = score.value
    for criterion, sides in values.items():
        sign = direction(protocol.criteria.get(criterion))
        if len(sides) == 2 and sign and (criterion != stated or judgment.choice_status is None):
            gap = sign * (sides["a"] - sides["b"])
            yield criterion, "a" if gap > 0 else "b" if gap < 0 else "tie"


def _place(choice: Choice, is_given: bool) -> Place:
    if choice == "tie":
        return "tie"
    return "first" if (choice == "a") == is_given else "second"


def _by_judge(shown: Shown) -> dict[str, PositionBias]:
    models = dict.fromkeys(model for _, _, model in shown)
    parts = {model: {key: both for key, both in shown.items() if key[2] == model} for model in models}
    if len(models) > 1:
        parts[_ALL] = shown
    else:
        parts = {_ALL: shown}
    return {
        model: position_bias(
            [both[0] for both in part.values()],
            [both[1] for both in part.values()],
            [item for item, _, _ in part],
        )
        for model, part in parts.items()
    }
