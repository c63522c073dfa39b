"""The index of a step's call among the calls of an item:
which call of which step, and which follow-up question.
"""

from __future__ import annotations

from typing import NamedTuple

_FIRST = 1 << 32


_OF_PLANNED, _OF_STEP, _OF_CALL = 24, 16, 2


class StepPlace(NamedTuple):
    """Which call of which step: what its call index says."""

    planned: int
    position: int
    number: int
    reask: int


def index_of(place: StepPlace) -> int:
    """The call index of a step's call: the same for all items, and behind those of all planned calls."""
    number = (place.position << _OF_STEP) | (place.number << _OF_CALL) | place.reask
    return _FIRST + (place.planned << _OF_PLANNED) + number


def place_of(call_index: int) -> StepPlace | None:
    """What a call index means; none for a call that belongs to no step."""
    if call_index < _FIRST:
        return None
    rest = call_index - _FIRST
    planned, rest = rest >> _OF_PLANNED, rest & ((1 << _OF_PLANNED) - 1)
    position, rest = rest >> _OF_STEP, rest & ((1 << _OF_STEP) - 1)
    return StepPlace(planned, position, rest >> _OF_CALL, rest & ((1 << _OF_CALL) - 1))
