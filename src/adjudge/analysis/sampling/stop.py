"""Whether to go on labelling, for each system and criterion. What `--json` prints."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ...records import Estimate


class StopDecision(Struct, frozen=True):
    """Whether the labels of one system suffice for a stop rule."""

    decision: Literal["stop", "continue"]
    answer: Literal["yes", "no"] | None
    """for a rule on the mean: whether it holds; for a rule on the width: yes once it is reached"""
    reason: Literal["decided", "undecided", "all_labelled"]
    n_labels: int
    n_items: int
    n_decided: int | None
    """the number of labels at which the rule was first decided"""
    mean: Estimate
    """prediction-powered, with an interval that holds after every label"""
    n_fixed: int | None
    """labels that a number fixed in advance would take for
    the same decision with 80 % power, or for the width
    """
    n_saved: int | None
    """`n_fixed` - `n_decided`; below 0 where looking after every label cost labels"""


class Stop(Struct, frozen=True):
    """The stop rule of a card: whether to go on labelling."""

    rule: str
    decision: Literal["stop", "continue"]
    """stop once every system of every criterion is decided"""
    answer: Literal["yes", "no"] | None
    """yes where it is for all of them, no where it is for any"""
    n_labels: int
    criteria: dict[str, dict[str, StopDecision]]
    """criterion → system → decision"""
