"""All that one run sends over the network: connections, and one gate per host and key.

Models that are given the same `Network` share both, so that two judges on one host keep its limits
together. Belongs to one event loop. Loads the HTTP client when the first request is sent, not before.
"""

from __future__ import annotations

import asyncio
from collections import deque
from math import inf
from random import uniform
from time import monotonic
from typing import TYPE_CHECKING, Literal

from ..errors import ModelError
from .timeouts import SHORTEST_SECONDS

if TYPE_CHECKING:
    from .http_client import Transport


# How much is sent to one host at once: concurrency that adapts, limits that are kept, pauses.
#
# A `Gate` stands before each host and key. It knows no HTTP: calls enter, and leave with one word on
# how it went. Three rules: a pause that the host asked for is kept by all; the limits per minute are never
# exceeded in any minute; and the gate never closes for good while the host answers at all.


Outcome = Literal["ok", "limited", "overloaded", "failed", "none"]
"""How a call went, for the gate: `limited` is the host's "too much from you", `overloaded` its "too much for
me", which is a failure too; `none` says nothing about the host."""

FIRST_LIMIT = 32
"""Calls in flight at the beginning, or a quarter of what the user allows where that is more; doubled each round
until the host says that it is too much."""

TOLERATED_SHARE = 0.1
"""Of a round's calls turned away: up to here the host may as well roll dice, and the climb goes on."""

FLOOR = 2

FAILURES_IN_A_ROW = 10
"""After so many failures without a success between them the host counts as down."""

LONGEST_PAUSE_SECONDS = 30.0


class Window:
    """At most `most` in any stretch of `seconds`, however the other side counts it.

    What a call takes is counted from before it is sent until the stretch has passed after its end: so the
    count holds for any moment in between at which the host may have entered it in its own books.
    """

    def __init__(self, most: float, seconds: float = 60.0) -> None:
        self.most = most
        self._seconds = seconds
        self._held = 0.0
        self._spent: deque[tuple[float, float]] = deque()
        self._sum = 0.0

    def ready_at(self, now: float, amount: float) -> float:
        """When `amount` more may be taken, if nothing else is; infinity: only after a call has ended."""
        spent = self._spent
        while spent and spent[0][0] + self._seconds <= now:
            self._sum -= spent.popleft()[1]
        # More than fits in a whole window goes alone, or it would never go.
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

    def settle(self, now: float, taken: float, used: float) -> None:
        """The end of a call that took `taken` and has used `used`."""
        self._held -= taken
        if used:
            self._spent.append((now, used))
            self._sum += used


class Gate:
    """Who may send to one host with one key, and when.

    Concurrency follows the share of calls that the host turned away in the last round (a round is as
    many calls as may be in flight): it goes down in proportion to that share and up by a small step.
    A cut by half for a single refusal, as is usual, would settle at five calls in flight on a host
    that turns away one call in twenty whatever the load.
    """

    def __init__(
        self,
        host: str,
        ceiling: int,
        *,
        rpm: float | None = None,
        tpm: float | None = None,
        window_seconds: float = 60.0,
        outage_seconds: float = 120.0,
        backoff_seconds: float = 0.5,
    ) -> None:
        self.host = host
        self.ceiling = max(1, ceiling)
        self.limit = float(min(self.ceiling, max(FIRST_LIMIT, self.ceiling // 4)))
        self.in_flight = 0
        self.was_reached = False
        self.given_up = ""
        """why the host is not tried any more"""
        self.n_sent = self.n_limited = self.n_failed = 0
        self.counts_tokens = tpm is not None
        self._requests = Window(rpm, window_seconds) if rpm is not None else None
        self._tokens = Window(tpm, window_seconds) if tpm is not None else None
        self._paused_until = 0.0
        self._waiting: deque[tuple[asyncio.Future[None], float]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._is_climbing = True
        self._round_ok = self._round_limited = 0
        self._failures = 0
        self._failing_since = 0.0
        self._breaks = 0
        self._outage_seconds = outage_seconds
        self._backoff_seconds = backoff_seconds

    @property
    def is_broken(self) -> bool:
        """Whether the host failed so often in a row that only one call at a time tries it."""
        return self._failures >= FAILURES_IN_A_ROW

    @property
    def waits_seconds(self) -> float:
        """How long nothing will be sent, because the host asked for it or is down."""
        return max(0.0, self._paused_until - monotonic())

    async def enter(self, tokens: float = 0) -> None:
        """Wait until a call of so many tokens may be sent. Each `enter` needs one `leave`.

        `ModelError` where the host is down for longer than anyone should wait.
        """
        if self.given_up:
            raise ModelError(self.given_up)
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
                self.leave("none", tokens)  # let in and called off in the same moment
            raise

    def leave(self, outcome: Outcome, tokens: float = 0, used: float | None = None, note: str = "") -> None:
        """A call has ended. `used` is what it really took of the tokens; none: all of them."""
        self.in_flight -= 1
        now = monotonic()
        if self._requests is not None:
            self._requests.settle(now, 1, 1)
        if self._tokens is not None:
            self._tokens.settle(now, tokens, tokens if used is None else used)
        if outcome == "ok":
            self._round_ok += 1
            self._failures = self._breaks = 0
        elif outcome == "limited":
            self.n_limited += 1
            self._round_limited += 1
            self._failures = self._breaks = 0
        elif outcome != "none":
            self._round_limited += outcome == "overloaded"
            self._note_failure(now, note)
        if self._round_ok + self._round_limited >= self.limit:
            self._end_round()
        if self._waiting:
            self._admit()

    def pause(self, seconds: float) -> None:
        """Send nothing for so long. A longer pause that is under way stays."""
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
        self.n_sent += 1
        if self._requests is not None:
            self._requests.take(1)
        if self._tokens is not None:
            self._tokens.take(tokens)

    def _admit(self) -> None:
        """Let in who may go, first come first served; set a timer where only time is missing."""
        waiting = self._waiting
        while waiting and self._has_room():
            waiter, tokens = waiting[0]
            if waiter.done():  # called off
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
        self._round_ok = self._round_limited = 0
        if share > TOLERATED_SHARE + n**-0.5:  # with room for chance in a small round
            self._is_climbing = False
        if self._is_climbing:
            wanted = self.limit * 2
        else:
            wanted = self.limit * (1 - share / 2) + (1 + self.limit / 24) * (1 - share)
        self.limit = min(float(self.ceiling), max(float(min(FLOOR, self.ceiling)), wanted))

    def _note_failure(self, now: float, note: str) -> None:
        self.n_failed += 1
        if self._failures == 0:
            self._failing_since = now
        self._failures += 1
        if not self.is_broken:
            return
        if now >= self._paused_until:
            self._breaks += 1
            longest = min(LONGEST_PAUSE_SECONDS, self._backoff_seconds * 2.0 ** min(self._breaks, 20))
            self.pause(uniform(longest / 2, longest))
        if now - self._failing_since > self._outage_seconds:
            self._give_up(note)

    def _give_up(self, note: str) -> None:
        """The host is down for too long: tell all who wait."""
        self.given_up = (
            f"{self.host} has brought no reply for {self._outage_seconds:.0f} seconds. {note}. "
            "Give the same command again when it is back: it goes on where it stopped."
        )
        while self._waiting:
            waiter, _ = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(ModelError(self.given_up))


DEFAULT_CONCURRENCY = 64


class Network:
    """`concurrency` is the most that is in flight at one host; rpm and tpm hold per minute (window), host and key."""

    def __init__(
        self,
        *,
        concurrency: int = DEFAULT_CONCURRENCY,
        rpm: float | None = None,
        tpm: float | None = None,
        window_seconds: float = 60.0,
        backoff_seconds: float = 0.5,
        idle_seconds: float = 30.0,
        outage_seconds: float = 120.0,
        patience_seconds: float = 3600.0,
        reply_floor_seconds: float = SHORTEST_SECONDS,
    ) -> None:
        self.concurrency = concurrency
        self.backoff_seconds = backoff_seconds
        """the longest first wait before a call is tried again; doubled with each attempt"""
        self.patience_seconds = patience_seconds
        """how long one call waits in all for a host that turns it away"""
        self.reply_floor_seconds = reply_floor_seconds
        """no reply is taken for lost sooner, however quick the others were"""
        self._idle_seconds = idle_seconds
        self._outage_seconds = outage_seconds
        self._rpm, self._tpm, self._window_seconds = rpm, tpm, window_seconds
        self._gates: dict[tuple[str, str], Gate] = {}
        self._transports: dict[str, Transport] = {}

    def gate(self, host: str, key_env: str) -> Gate:
        """The gate before a host for a key. The key is known by its variable: its value may change."""
        found = self._gates.get((host, key_env))
        if found is None:
            found = Gate(
                host,
                self.concurrency,
                rpm=self._rpm,
                tpm=self._tpm,
                window_seconds=self._window_seconds,
                outage_seconds=self._outage_seconds,
                backoff_seconds=self.backoff_seconds,
            )
            self._gates[host, key_env] = found
        return found

    @property
    def gates(self) -> tuple[Gate, ...]:
        """All gates, for progress and reports: how much was sent, turned away, and how long it pauses."""
        return tuple(self._gates.values())

    def transport(self, host: str) -> Transport:
        """The connections to a host; made in the running event loop."""
        found = self._transports.get(host)
        if found is None:
            from .http_client import Transport

            found = self._transports[host] = Transport(self._idle_seconds)
        return found

    async def close(self) -> None:
        """Close all connections."""
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.close()
