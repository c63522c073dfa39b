"""The audit of a judge: what each probe did to its scores, and
its position bias. What `--json` prints; nothing here computes.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ...probes import ProbeKind
from ...records import Estimate

AuditVerdict = Literal["moves", "holds", "unclear"]
"""`holds`: the score does not move by more than the margin; `unclear`: not enough evidence"""


class ProbeResult(Struct, frozen=True, kw_only=True):
    """How the scores of one criterion change under one probe, item by item."""

    kind: ProbeKind
    n: int
    """items with a score on both sides"""
    failed: int
    """items without a score on one side: unreadable, refused or no reply"""
    shift: Estimate
    """mean of probe - control, in points of the scale"""
    flips: Estimate
    """share of items whose score changed"""
    floor: Estimate | None
    """share of items whose score changed when the same prompt was sent again; none without a re-run"""
    excess: Estimate | None
    """flips - floor, on the items of both"""
    success: Estimate | None
    """injection: share of items lifted to the target beyond
    the control's; must_move: share of items scored worse
    """
    verdict: AuditVerdict
    control: str
    """the probe that this one is compared with: `none`, or the benign control of an injection"""
    p: float | None
    """the smallest p-value of the probe, adjusted for all tests of the judge (Holm)"""
    n_unpaired: int = 0
    """items that only one of the two sides has"""
    shift_from_none: Estimate | None = None
    """mean of probe - none, where the control is another one"""


class AuditedCriterion(Struct, frozen=True, kw_only=True):
    """All probes of one criterion."""

    probes: dict[str, ProbeResult]
    margin: float
    """a shift within ± margin does not matter"""
    limits: tuple[float, float] | None
    """the ends of the scale; of scores from elsewhere the lowest and the highest score"""
    noise: Estimate | None
    """mean of repeat - none: its interval is the noise band"""
    n: int
    failed: int
    """of the unchanged items"""
    is_choice: bool = False
    """whether scores are choices: 1 for response a, 0 for b, 0.5 for a tie"""
    rerun: Estimate | None = None
    """share of unchanged items whose score changed when they were judged again: a re-run, or a second sample
    """
    calibration: dict[str, Estimate] = {}
    """form of the question (`none`: as in a run) → calibration error of the probabilities; empty without
    labels"""
    length: Estimate | None = None
    """of an ordinary run: rank correlation of the score with the length of the response (of a pair: of the
    difference in length); an association, because longer responses may be better
    """


class PositionAudit(Struct, frozen=True, kw_only=True):
    """How the choices of pairs change with the order in which the responses are shown."""

    n: int
    """pairs with a choice in both orders"""
    failed: int
    """pairs without a choice in one order or both"""
    same: int
    first: int
    """pairs in which the response shown first won in both orders"""
    second: int
    ties: int
    """pairs with a tie in one order only"""
    bias: Estimate
    """(first - second) / n"""
    verdict: AuditVerdict
    p: float | None
    other_answers: int = 0
    """pairs whose two orders show different responses, by the column `pair`"""


class AuditedJudge(Struct, frozen=True):
    """The audit of one judge."""

    criteria: dict[str, AuditedCriterion]
    position: PositionAudit | None = None


class Audit(Struct, frozen=True, kw_only=True):
    """How far judges move for reasons that should not matter."""

    judges: dict[str, AuditedJudge]
    name: str = ""
    skipped: dict[str, str] = {}
    """probe → why it was not applied"""
    notes: tuple[str, ...] = ()
