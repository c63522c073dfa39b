"""Rate limits and concurrency per host and key."""

from __future__ import annotations

import asyncio
from collections import deque
from math import inf
from random import uniform
from time import monotonic
from typing import Literal, TypeVar

from ..errors import HostDown, sentences

T = TypeVar("T")


Outcome = Literal["ok", "limited", "overloaded", "late", "failed", "none"]
"""The outcome of a call: `limited` means that the host's rate limit was reached, `overloaded` that the host
has too much load, `late` that it took longer than the timeout, which are failures too; `none` says nothing
about the host."""


FIRST_LIMIT = 4
"""Calls in flight at the beginning: few servers on one machine can answer more at a time. Doubled each round
until the host refuses too many, or answers too many late."""


TOLERATED_SHARE = 0.1
"""The share of refused calls in a round up to which the limit keeps doubling: a few refusals may be
random."""


MOST_TIME_USED = 0.4
"""The share of the timeout that replies may take before the limit is doubled: a host with few places answers
twice as many calls half as fast."""


LONGEST_TROUBLE = 120
"""Characters of a host's message on the line of progress."""


SLOWED_DOWN = 1.25
"""Replies that take so many times what they took with few calls in flight are slow because of these calls."""


MORE_CALLS, SLOW_GROWTH = 1.5, 1.05
"""How many times the first limit shows whether more calls make replies slower, and how fast the limit grows
towards that where replies take nearly the whole timeout already."""


FLOOR = 2


FAILURES_IN_A_ROW = 10
"""After so many consecutive failures the host counts as down."""


LONGEST_PAUSE_SECONDS = 30.0


OUTAGE_SECONDS = 600.0
"""How long a host may be down before the run stops: the default of --patience."""


class Window:
    """A rate limit: at most `most` in any period of `seconds`, whenever the host counts a call.

    A call is counted from before it is sent until `seconds` after its end, so the limit holds for any moment
    in between at which the host may count it.
    """

    def __init__(self, most: float, seconds: float = 60.0) -> None:
        self.most = most
        self._seconds = seconds
        self._held = 0.0
        self._spent: deque[tuple[float, float]] = deque()
        self._sum = 0.0

    def ready_at(self, now: float, amount: float) -> float:
        """When `amount` more may be taken; infinity: only after a call has ended."""
        spent = self._spent
        while spent and spent[0][0] + self._seconds <= now:
            self._sum -= spent.popleft()[1]
        # A call larger than the limit is sent alone, or it would never be sent.
        free = max(self.most - amount, 0.0) - self._held - self._sum
        if free >= 0:
            return now
        for ended, entry in spent:
            free += entry
            if free >= 0:
                return ended + self._seconds
        return inf

    def take(self, amount: float) -> None:
        self._held += amount

    def release(self, now: float, taken: float, used: float) -> None:
        """End a call that reserved `taken` and used `used`."""
        self._held -= taken
        if used:
            self._spent.append((now, used))
            self._sum += used


class HostLimiter:
    """Decides when calls to one host with one key are sent.

    Concurrency follows the share of calls that the host refused in the last round (a round is as many
    calls as may be in flight): it decreases in proportion to that share and increases by a small step.
    Halving after a single refusal, as is usual, would settle at five calls in flight on a host that
    refuses one call in twenty at any load.

    A host that answers all calls, more slowly the more there are, gets no more than it answers well within
    the timeout: calls that wait longer are sent twice, and their first answers lost.
    """

    def __init__(
        self,
        host: str,
        ceiling: int,
        *,
        rpm: float | None = None,
        tpm: float | None = None,
        window_seconds: float = 60.0,
        outage_seconds: float = OUTAGE_SECONDS,
        backoff_seconds: float = 0.5,
    ) -> None:
        self.host = host
        self.ceiling = max(1, ceiling)
        self.limit = float(min(self.ceiling, FIRST_LIMIT))
        self.in_flight = 0
        self.was_reached = False
        self.given_up = ""
        """why no further call is sent; empty while the host is usable"""
        self.is_replica = False
        """whether other hosts take its calls while it fails, so that it need not pause or give up"""
        self.n_limited = 0
        self.counts_tokens = tpm is not None
        self._requests = Window(rpm, window_seconds) if rpm is not None else None
        self._tokens = Window(tpm, window_seconds) if tpm is not None else None
        self._paused_until = 0.0
        self._waiting: deque[tuple[asyncio.Future[None], float]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._is_climbing = True
        self._round_ok = self._round_limited = self._round_late = 0
        self._round_shares: list[float] = []
        """the share of the timeout that each reply of the round took"""
        self._first_share, self._n_first = 0.0, 0
        """the sum and number of the same with few calls in flight"""
        self._slows_down = False
        """whether more calls in flight have made replies slower"""
        self.n_late = 0
        self._last_failure = ""
        """why the last call failed, where no reply has followed"""
        self._limited_since = 0.0
        """when the rate limits began that no reply has followed"""
        self._failures = 0
        self._failing_since = 0.0
        self.replied_at = 0.0
        """when the host last answered in any way, on the monotonic clock"""
        self._breaks = 0
        self._outage_seconds = outage_seconds
        self._backoff_seconds = backoff_seconds

    @property
    def is_broken(self) -> bool:
        """Whether the host failed so often in a row that only one call at a time is sent."""
        return self._failures >= FAILURES_IN_A_ROW

    @property
    def trouble(self) -> str:
        """Why the run waits for the host, and its timeouts, each with the remedy; empty where all is well."""
        if self.given_up:
            return ""
        troubles = []
        if self._last_failure:
            words = " ".join(self._last_failure.split())
            minutes = self._outage_seconds / 60
            troubles.append(f"{words[:LONGEST_TROUBLE]} (--patience: {minutes:g} min at most)")
        if self.n_late:
            s = "" if self.n_late == 1 else "s"
            troubles.append(f"{self.n_late} timeout{s} so far (--timeout SECONDS waits longer)")
        return "; ".join(troubles)

    @property
    def limited_seconds(self) -> float:
        """How long the host has answered with rate limits alone."""
        return monotonic() - self._limited_since if self._limited_since else 0.0

    def most_in_flight(self) -> int:
        """How many calls may be in flight now; 0 during a pause."""
        if monotonic() < self._paused_until:
            return 0
        return 1 if self.is_broken else int(self.limit)

    async def enter(self, tokens: float = 0) -> None:
        """Wait until a call of so many tokens may be sent. Each `enter` needs one `leave`.

        `HostDown` where the host has been down for too long.
        """
        if self.given_up:
            raise HostDown(self.given_up)
        if not self._waiting and self._has_room() and self._ready_at(monotonic(), tokens) == 0.0:
            self._take(tokens)
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append((waiter, tokens))
        self._admit()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self.leave("none", tokens)  # admitted and cancelled at the same moment
            raise

    def leave(
        self,
        outcome: Outcome,
        tokens: float = 0,
        used: float | None = None,
        note: str = "",
        *,
        seconds: float = 0.0,
        longest: float = inf,
    ) -> None:
        """End a call that took so many seconds, of `longest` allowed.

        `used` is the number of tokens it really took; none: all of them.
        """
        self.in_flight -= 1
        now = monotonic()
        if note and outcome not in ("ok", "none"):
            self._last_failure = note
        if self._requests is not None:
            self._requests.release(now, 1, 1)
        if self._tokens is not None:
            self._tokens.release(now, tokens, tokens if used is None else used)
        if outcome == "ok":
            self._round_ok += 1
            self._round_shares.append(seconds / longest)
            self._last_failure = ""
            self._limited_since = 0.0
            self._note_reply(now)
        elif outcome == "limited":
            self.n_limited += 1
            self._round_limited += 1
            self._note_reply(now)
            self._note_limit(now, note)
        elif outcome != "none":
            self._round_limited += outcome in ("overloaded", "late")
            self._round_late += outcome == "late"
            self.n_late += outcome == "late"
            self._note_failure(now - seconds, now, note, is_waiting=outcome in ("overloaded", "late"))
        if self._round_ok + self._round_limited >= self.limit:
            self._end_round()
        if self._waiting:
            self._admit()

    def pause(self, seconds: float) -> None:
        """Send nothing for so long. A longer pause that is active stays."""
        self._paused_until = max(self._paused_until, monotonic() + seconds)

    def _has_room(self) -> bool:
        return self.in_flight < (1 if self.is_broken else int(self.limit))

    def _ready_at(self, now: float, tokens: float) -> float:
        """When the next call may be sent; 0: now."""
        at = self._paused_until
        if self._requests is not None:
            at = max(at, self._requests.ready_at(now, 1))
        if self._tokens is not None:
            at = max(at, self._tokens.ready_at(now, tokens))
        return 0.0 if at <= now else at

    def _take(self, tokens: float) -> None:
        self.in_flight += 1
        if self._requests is not None:
            self._requests.take(1)
        if self._tokens is not None:
            self._tokens.take(tokens)

    def _admit(self) -> None:
        """Admit waiting calls in order; set a timer where only time is missing."""
        waiting = self._waiting
        while waiting and self._has_room():
            waiter, tokens = waiting[0]
            if waiter.done():  # cancelled
                waiting.popleft()
                continue
            now = monotonic()
            at = self._ready_at(now, tokens)
            if at:
                if at < inf:
                    self._wake_in(at - now)
                return
            waiting.popleft()
            self._take(tokens)
            waiter.set_result(None)

    def _wake_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds + 0.001, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._admit()

    def _end_round(self) -> None:
        n = self._round_ok + self._round_limited
        share = self._round_limited / n
        # Tolerant of chance in a small round. A single call may hang; several late ones are too much load.
        is_late = self._round_late > 1 and share > TOLERATED_SHARE
        is_refusing = share > TOLERATED_SHARE + n**-0.5
        if is_late or is_refusing:
            self._is_climbing = False
        self._round_ok = self._round_limited = self._round_late = 0
        slowest, growth = self._end_of_times()
        if is_late:
            wanted = self.limit * (1 - share)  # each late call costs a whole timeout
        elif slowest > MOST_TIME_USED and growth and not is_refusing:
            wanted = self.limit * growth
        elif self._is_climbing:
            wanted = self.limit * 2
        else:
            wanted = self.limit * (1 - share / 2) + (1 + self.limit / 24) * (1 - share)
        self.limit = min(float(self.ceiling), max(float(min(FLOOR, self.ceiling)), wanted))

    def _end_of_times(self) -> tuple[float, float]:
        """End the times of a round: the share of the timeout that its slowest reply took, and by how much the
        limit may grow so that replies stay within the timeout; 0: freely, they take no longer than at first.
        """
        shares, self._round_shares = self._round_shares, []
        if not shares:
            return 0.0, 0.0
        slowest, mean = max(shares), sum(shares) / len(shares)
        room = 2 * MOST_TIME_USED / max(slowest, 1e-9)
        if self.limit < MORE_CALLS * FIRST_LIMIT:
            self._first_share += sum(shares)
            self._n_first += len(shares)
            return slowest, min(MORE_CALLS, room if self._slows_down else max(room, SLOW_GROWTH))
        if mean * self._n_first <= SLOWED_DOWN * self._first_share:
            return slowest, min(MORE_CALLS, room) if self._slows_down else 0.0
        self._slows_down |= slowest > MOST_TIME_USED
        return slowest, min(1.0, room)

    def _note_reply(self, now: float) -> None:
        self._failures = self._breaks = 0
        self.replied_at = now

    def _note_limit(self, now: float, note: str) -> None:
        """A rate limit: the host answers, but a run does not wait for a reply for longer than its
        patience."""
        self._limited_since = self._limited_since or now
        if now - self._limited_since > self._outage_seconds and not self.is_replica:
            self._give_up(note)

    def _note_failure(self, since: float, now: float, note: str, *, is_waiting: bool) -> None:
        """Note a call that began at `since` and failed: the host has not replied since then, or since its
        last reply."""
        if self._failures == 0:
            self._failing_since = max(since, self.replied_at)
        self._failures += 1
        if self.is_replica:
            return
        if self.is_broken and now >= self._paused_until:
            self._breaks += 1
            longest = min(LONGEST_PAUSE_SECONDS, self._backoff_seconds * 2.0 ** min(self._breaks, 20))
            self.pause(uniform(longest / 2, longest))
        if (self.is_broken or is_waiting) and now - self._failing_since > self._outage_seconds:
            self._give_up(note)

    def _give_up(self, note: str) -> None:
        """The host has been down for too long: fail all waiting calls."""
        self.given_up = sentences(
            f"{self.host} has not replied for {self._outage_seconds:.0f} seconds",
            note,
            "Run the same command again when it is back, to resume.",
        )
        while self._waiting:
            waiter, _ = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(HostDown(self.given_up))
