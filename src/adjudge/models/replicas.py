"""Replicas: several hosts with the same model, as one judge.

Decides which host gets a call, and sets failing hosts aside. Knows nothing of HTTP: each host is a
`RemoteModel`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from itertools import islice
from random import uniform
from time import monotonic, perf_counter
from urllib.parse import urlsplit

from ..errors import HostDown, ModelError, RateLimited, sentences
from ..records import Call, Reply
from .base import Model, Parameters, failed
from .http_errors import Fault
from .keys import KeySource
from .network import Network
from .remote import RemoteModel
from .retries import ATTEMPTS, ATTEMPTS_UNREACHED, TIMEOUTS, ReplicaFailed

LONGEST_ASIDE_SECONDS = 2.0
"""A replica that fails is tried again after so long at most: one call that another replica then takes
over."""

_NEWEST_SHARE = 0.1
"""The weight of the latest reply in the speed of a replica."""


class _Replica:
    """One host of several, with what is known of its speed."""

    def __init__(self, model: RemoteModel) -> None:
        self.model = model
        self.n_in_flight = 0
        self.calls_per_second = 0.0
        self.n_failures = 0
        """failed tries since its last reply"""
        self.n_set_aside = 0
        self.was_reached = False
        self.aside_until = 0.0
        self.failing_since = 0.0
        """when its failures began, or the rate limits that no reply has followed"""

    def has_room(self, now: float) -> bool:
        if self.n_failures:
            return now >= self.aside_until and self.n_in_flight == 0
        return self.n_in_flight < self.model.limiter.most_in_flight()

    def note_reply(self, n_in_flight: int, seconds: float) -> None:
        """Record a reply that took so long beside so many other calls."""
        self.n_failures = 0
        self.was_reached = True
        # Little's law: the calls in flight are the rate times the time that each takes.
        rate = n_in_flight / max(seconds, 1e-6)
        known = self.calls_per_second or rate
        self.calls_per_second = known + _NEWEST_SHARE * (rate - known)

    def set_aside(self, now: float, backoff_seconds: float, fault: Fault) -> None:
        """Send nothing for a while. Further calls that fail in the same outage do not extend it."""
        if self.n_failures and now < self.aside_until:
            return
        if not self.n_failures:
            is_limited = fault.kind == "rate_limited"
            self.failing_since = now - (self.model.limiter.limited_seconds if is_limited else 0.0)
        self.n_failures += 1
        self.n_set_aside += 1
        longest = min(LONGEST_ASIDE_SECONDS, backoff_seconds * 2.0 ** min(self.n_failures - 1, 20))
        self.aside_until = now + max(uniform(longest / 2, longest), fault.wait_seconds or 0.0)


class Replicas(Model):
    """Several hosts with the same model, as one judge.

    A call goes to the host that would be done first with all its calls. A host that fails is set aside and
    tried again later; its calls go to the others. The identity of a call is independent of the hosts and
    their number.
    """

    needs_network = True

    def __init__(
        self, name: str, models: Sequence[RemoteModel], network: Network, *, owns_network: bool
    ) -> None:
        super().__init__(name, models[0].price)
        self.endpoint = name
        self.n_hosts = len(models)
        self.gives_logprobs, self.gives_likelihood = models[0].gives_logprobs, models[0].gives_likelihood
        self.takes_images = all(model.takes_images for model in models)
        self.headers: dict[str, str | KeySource] = {}
        self._network, self._owns_network = network, owns_network
        self._replicas = [_Replica(model) for model in models]
        self._waiting: dict[asyncio.Future[None], None] = {}
        for model in models:
            # What one host refuses is not sent to the others either.
            model.share_state(models[0], self)

    @property
    def identity(self) -> str:
        return self.spec

    @property
    def trouble(self) -> str:
        return "; ".join(trouble for replica in self._replicas if (trouble := replica.model.trouble))

    def check(self, params: Parameters, kinds: Collection[str] = ("generate",)) -> None:
        super().check(params, kinds)
        for replica in self._replicas:
            replica.model.check(params, kinds)

    async def close(self) -> None:
        if self._owns_network:
            await self._network.close()

    async def ask(self, call: Call, params: Parameters) -> Reply:
        n_attempts = n_timeouts = 0
        while True:
            replica = await self._take()
            n_in_flight, started = replica.n_in_flight, perf_counter()
            try:
                reply = await replica.model.ask(call, params)
                replica.note_reply(n_in_flight, perf_counter() - started)
                return reply
            except ReplicaFailed as failure:
                fault = failure.fault
                replica.set_aside(monotonic(), self._network.backoff_seconds, fault)
                self._note_failure(fault)
            finally:
                replica.n_in_flight -= 1
                self._wake()
            if not (fault.is_unreached or fault.is_overload):
                n_attempts += 1
                n_timeouts += fault.kind == "timeout"
            if n_attempts >= ATTEMPTS or n_timeouts >= TIMEOUTS:
                return failed(call, fault.kind, fault.message)

    async def _take(self) -> _Replica:
        """The replica that a call is sent to, as soon as one has room for it."""
        while True:
            now = monotonic()
            ready = [replica for replica in self._replicas if replica.has_room(now)]
            if ready:
                fastest = max(replica.calls_per_second for replica in self._replicas) or 1.0
                chosen = min(ready, key=lambda one: (one.n_in_flight + 1) / (one.calls_per_second or fastest))
                chosen.n_in_flight += 1
                return chosen
            waiter = asyncio.get_running_loop().create_future()
            self._waiting[waiter] = None
            tries = [replica.aside_until - now for replica in self._replicas if replica.n_failures]
            try:
                await asyncio.wait((waiter,), timeout=max(0.01, min((1.0, *tries))))
            finally:
                self._waiting.pop(waiter, None)

    def _wake(self) -> None:
        """Let two waiting calls look for room: one in place of the call that ended, one where there is more
        room now."""
        for waiter in list(islice(self._waiting, 2)):
            del self._waiting[waiter]
            waiter.set_result(None)

    def _note_failure(self, fault: Fault) -> None:
        """Say which hosts fail; raises where all have failed for too long."""
        self.warnings[:] = [
            f"{urlsplit(replica.model.endpoint).netloc} failed and was set aside"
            f" ({replica.n_set_aside} times); other replicas took its calls"
            for replica in self._replicas
            if replica.n_set_aside
        ]
        if not all(replica.n_failures for replica in self._replicas):
            return
        now = monotonic()
        if not any(replica.was_reached for replica in self._replicas) and all(
            replica.n_failures >= ATTEMPTS_UNREACHED for replica in self._replicas
        ):
            raise ModelError(
                sentences(
                    f"no replica of {self.name} can be reached: {fault.message}",
                    "Check the addresses, and that the servers are running.",
                )
            )
        longest = self._network.outage_seconds
        waits = min(replica.aside_until for replica in self._replicas) - now
        if waits > longest:
            raise RateLimited(
                f"every replica of {self.name} asks to wait, the shortest for {waits:.0f} seconds, longer"
                f" than --patience ({longest / 60:g} minutes). Run the same command again after that, to"
                " resume."
            )
        if now - max(replica.failing_since for replica in self._replicas) > longest:
            raise HostDown(
                sentences(
                    f"no replica of {self.name} has replied for {self._network.outage_seconds:.0f} seconds",
                    fault.message,
                    "Run the same command again when one is back, to resume.",
                )
            )
