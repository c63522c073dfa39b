"""The call index: which of an item's calls a row is, as one number that means the same for every item of a
run. The tables call it `slot`.

With `n` planned calls (every protocol with every judge, sample and order):

| index | call |
|---|---|
| 0 … n − 1 | the planned calls, in the order of the report |
| n … 2 n − 1 | the first follow-up question to each of them |
| 2 n … 3 n − 1 | of the run as a whole (item −1): the calls that write a protocol's evaluation steps |
| 3 n …, 4 n … | the second and the third follow-up question |
| 2³² + … | a call of a judgment in steps: the planned call it belongs to (from bit 24 on), the position of its step (8 bits), its number within the step (14 bits), and which follow-up question it is (2 bits; 0: none) |
"""  # noqa: E501  (a table)

from __future__ import annotations

from typing import NamedTuple

_FIRST_OF_STEPS = 1 << 32

_PLANNED_BITS, _POSITION_BITS, _NUMBER_BITS = 24, 16, 2
"""How far the parts of a step's index are shifted."""


class StepPlace(NamedTuple):
    """Which call of which step: what its call index says."""

    planned: int
    position: int
    number: int
    reask: int = 0


def reask_index(n_planned: int, planned: int, number: int) -> int:
    """The index of a follow-up question to a planned call, the first, second or third."""
    return n_planned * (number if number == 1 else number + 1) + planned


def written_steps_index(n_planned: int, protocol: int) -> int:
    """The index of the call that writes the evaluation steps of the protocol at this position."""
    return 2 * n_planned + protocol


def step_index(place: StepPlace) -> int:
    """The index of a call of a judgment in steps."""
    within = (place.position << _POSITION_BITS) | (place.number << _NUMBER_BITS) | place.reask
    return _FIRST_OF_STEPS + (place.planned << _PLANNED_BITS) + within


def step_place(call_index: int) -> StepPlace | None:
    """What the index of a step's call means; none for a call that belongs to no step."""
    if call_index < _FIRST_OF_STEPS:
        return None
    planned, rest = divmod(call_index - _FIRST_OF_STEPS, 1 << _PLANNED_BITS)
    position, rest = divmod(rest, 1 << _POSITION_BITS)
    number, reask = divmod(rest, 1 << _NUMBER_BITS)
    return StepPlace(planned, position, number, reask)
