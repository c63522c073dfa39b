"""Where the chosen response of a pair was shown, and the position bias of each criterion and judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ...records import Choice, Judgment, Order, Protocol
from ...results.combine import choice_criterion
from ...stats import Position, PositionBias, position_bias

ShownPositions = Mapping[tuple[int, int, str], Sequence[Position | None]]
"""(number of the item, sample, model) → the position chosen in order ab, and in order ba"""


class Positions(Struct, frozen=True):
    """Position bias on one criterion: over all judges, and by judge."""

    all_models: PositionBias
    by_model: dict[str, PositionBias]


def positions_of(shown: ShownPositions) -> Positions:
    def bias(part: ShownPositions) -> PositionBias:
        return position_bias(
            [both[0] for both in part.values()],
            [both[1] for both in part.values()],
            [item for item, _, _ in part],
        )

    models = dict.fromkeys(model for _, _, model in shown)
    return Positions(
        bias(shown),
        {model: bias({key: both for key, both in shown.items() if key[2] == model}) for model in models},
    )


def choices_in(judgment: Judgment, protocol: Protocol) -> Iterator[tuple[str, Choice]]:
    """The choices of one reply: the stated one, and those that its scores of both responses imply."""
    stated = choice_criterion(protocol.criteria)
    if judgment.choice is not None:
        yield stated, judgment.choice
    values: dict[str, dict[str, float]] = {}
    for score in judgment.scores:
        if score.subject is not None and score.value is not None:
            values.setdefault(score.criterion, {})[score.subject] = score.value
    for criterion, sides in values.items():
        scale = protocol.criteria.get(criterion)
        sign = 0 if scale is None else scale.direction
        if len(sides) == 2 and sign and (criterion != stated or judgment.choice_status is None):
            gap = sign * (sides["a"] - sides["b"])
            yield criterion, "a" if gap > 0 else "b" if gap < 0 else "tie"


def position_of(choice: Choice, order: Order) -> Position:
    """The position at which the chosen response was shown."""
    if choice == "tie":
        return "tie"
    return "first" if (choice == "a") == (order == "ab") else "second"
