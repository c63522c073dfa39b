"""Retries of a call: how many attempts, how long the backoff, and what a fault says of the host."""

from __future__ import annotations

from ..records import Reply
from .http_errors import Fault
from .rate_limits import Outcome

ATTEMPTS = 6


TIMEOUTS = 3


ATTEMPTS_UNREACHED = 3
"""For a host that was never reached: the address may be wrong, or no server is running."""


TIMEOUT_ADVICE = (
    ". --timeout SECONDS waits longer, --max-tokens N makes replies shorter, --concurrency N sends fewer at"
    " once"
)


ADAPTATIONS = 8
"""How many refused parameters are removed for one call before the refusal counts as a fault."""


LONGEST_BACKOFF_SECONDS = 30.0


class Attempts:
    """The state of one call over its attempts."""

    __slots__ = (
        "adapted",
        "cut_off",
        "failing_since",
        "is_reread",
        "is_without_schema",
        "limited",
        "max_tokens",
        "n",
        "outages",
        "schema_error",
        "schema_failures",
        "timeouts",
        "waited",
    )

    def __init__(self, max_tokens: int | None) -> None:
        self.max_tokens = max_tokens
        self.n = self.timeouts = self.limited = self.adapted = self.outages = 0
        self.waited = self.failing_since = 0.0
        self.is_reread = self.is_without_schema = False
        self.schema_failures = 0
        """500s with the schema of the call"""
        self.schema_error = ""
        """what the host said to them; empty again where it fails without the schema, too"""
        self.cut_off: Reply | None = None
        """a reply that was charged and cut off before its answer was complete"""


class ReplicaFailed(Exception):
    """A host did not answer a call that another one may answer."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def may_another_host_answer(fault: Fault) -> bool:
    """Whether another host with the same model may answer the call."""
    return fault.is_retryable and not fault.is_final and fault.kind != "rate_limited"


def outcome_of_fault(fault: Fault) -> Outcome:
    if fault.kind == "rate_limited":
        return "limited"
    if fault.kind == "timeout" and not fault.is_unreached:
        return "late"
    if fault.is_overload:
        return "overloaded"
    return "failed" if fault.is_retryable else "ok"
