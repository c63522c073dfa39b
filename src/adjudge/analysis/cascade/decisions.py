"""Who decided each item of a cascade's runs, which items go to people, and whether the promise still
holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ...data.judge_answers import JudgeAnswer
from ...records import Estimate, Label
from ...stats import any_time_mean
from ..labels.people import agrees, people_of


class CascadeDecision(Struct, frozen=True):
    """What a cascade says of one item."""

    item: str
    judge: str | None
    """who decided it; none: it goes to people"""
    answer: float | str | None = None
    confidence: float | None = None
    is_checked: bool = False
    """whether people label it as well, to see that the promise still holds"""

    @property
    def to_people(self) -> bool:
        return self.judge is None


class AgreementCheck(Struct, frozen=True):
    """Agreement of decided items that people checked, with an interval that holds after every label."""

    agreement: Estimate
    holds: bool | None
    """none: no label yet; false: agreement is shown to be below the target"""


def is_sure(answer: JudgeAnswer, threshold: float | None) -> bool:
    """Whether a judge decides an item: it has an answer other than a tie, and enough confidence."""
    return (
        threshold is not None
        and answer.answer not in (None, "tie")
        and answer.confidence is not None
        and answer.confidence >= threshold
    )


def is_drawn(item: str, share: float, seed: str) -> bool:
    """Whether an item is in the random share to check: by its hash, so that resuming draws the same."""
    digest = hashlib.sha256(f"{seed}\0{item}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) < share * 2**64


def checked(
    decisions: Iterable[CascadeDecision], labels: Sequence[Label], agree: float, within: float | None
) -> AgreementCheck:
    """Whether people still agree with decided items that were drawn to be checked."""
    drawn: Mapping[str, CascadeDecision] = {d.item: d for d in decisions if d.is_checked and not d.to_people}
    mine = [label for label in labels if label.item in drawn]
    people = people_of(mine, None, is_choice=True, mean=within is not None) if mine else {}
    hits = [float(agrees(drawn[item].answer, label, within)) for item, label in people.items()]
    agreement = any_time_mean(hits, unit="label")
    holds = None if agreement.high is None else agreement.high >= agree
    return AgreementCheck(agreement, holds)
