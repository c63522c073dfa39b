"""How a number that cannot be given says so: none, and the reason at the end of `method`."""

from __future__ import annotations

from ..records import Estimate

_UNDEFINED = "undefined: "
_NO_INTERVAL = "; no interval: "


def undefined(why: str, *, n: int = 0, n_failed: int = 0, n_undefined: int = 0, unit: str = "") -> Estimate:
    """An estimate without a value."""
    return Estimate(None, None, None, n, n_failed, n_undefined, _UNDEFINED + why, unit)


def without_interval(method: str, why: str) -> str:
    """The method of an estimate that has a value and no interval."""
    return f"{method}{_NO_INTERVAL}{why}"


def reason(estimate: Estimate) -> str:
    """Why an estimate lacks its value or its interval; empty where it lacks nothing."""
    if estimate.value is None:
        return estimate.method.removeprefix(_UNDEFINED)
    return estimate.method.partition(_NO_INTERVAL)[2]
