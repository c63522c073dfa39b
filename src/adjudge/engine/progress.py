"""The progress of a run, in calls."""

from __future__ import annotations

from msgspec import Struct


class Progress(Struct):
    """How far a run is, in calls. A call that several items share counts for each."""

    total: int = 0
    done: int = 0
    failed: int = 0
    """calls without a reply, or whose reply holds no answer"""
    cached: int = 0
    """done calls that cost nothing now: judged before, or answered by a stored reply"""
    cost_usd: float = 0.0
    in_flight: int = 0
    in_batches: int = 0
    """calls in batches that are not collected yet"""
    further: int = 0
    """calls that were made beyond one for each judgment: in steps, and follow-up questions"""
