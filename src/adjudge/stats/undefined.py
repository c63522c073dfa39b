"""How a number that cannot be given says so: none, and the reason at the end of `method`.

An interval that rests on too little has a caution there. Nothing here computes.
"""

from __future__ import annotations

from ..records import Estimate

_UNDEFINED = "undefined: "
_NO_INTERVAL = "; no interval: "
_CAUTION = "; caution: "


def undefined(why: str, *, n: int = 0, n_failed: int = 0, n_undefined: int = 0, unit: str = "") -> Estimate:
    """An estimate without a value."""
    return Estimate(None, None, None, n, n_failed, n_undefined, _UNDEFINED + why, unit)


def without_interval(method: str, why: str) -> str:
    """The method of an estimate that has a value and no interval."""
    return f"{method}{_NO_INTERVAL}{why}"


def cautioned(method: str, cautions: list[str]) -> str:
    """The method of an estimate that a reader must be warned about; unchanged where there is no caution."""
    return f"{method}{_CAUTION}{'; '.join(cautions)}" if cautions else method


def remarked(method: str, remark: str) -> str:
    """The method with a remark on how it was made, before the caution or the reason that it ends with."""
    for sign in (_NO_INTERVAL, _CAUTION):
        name, found, rest = method.partition(sign)
        if found:
            return f"{name}, {remark}{found}{rest}"
    return f"{method}, {remark}"


def reason(estimate: Estimate) -> str:
    """Why an estimate lacks its value or its interval; empty where it lacks nothing."""
    method = estimate.method.partition(_CAUTION)[0]
    if estimate.value is None:
        return method.removeprefix(_UNDEFINED)
    return method.partition(_NO_INTERVAL)[2]


def caution(estimate: Estimate) -> str:
    """What a reader must know before believing the interval; empty where there is nothing."""
    return estimate.method.partition(_CAUTION)[2]
