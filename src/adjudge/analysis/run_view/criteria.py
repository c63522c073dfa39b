"""The criteria of a run: the names under which analyses show them, their scales, and the levels of a
scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ...records import Scale

Scales = Mapping[tuple[str, str], Scale | None]
"""(protocol, criterion) → scale; the protocol as in `Result.protocol`, its id alone, or "" for any protocol
"""


def scale_of(scales: Scales, protocol: str, criterion: str) -> Scale | None:
    """The scale of a criterion: by its protocol with its
    digest, by the protocol's id, or by the criterion alone.
    """
    for key in (protocol, protocol_id(protocol), ""):
        if (key, criterion) in scales:
            return scales[key, criterion]
    return None


def is_declared(scales: Scales, protocol: str, criterion: str) -> bool:
    """Whether the scale of a criterion is known, even if only that it has none."""
    return any((key, criterion) in scales for key in (protocol, protocol_id(protocol), ""))


def by_criterion(scales: Mapping[str, Scale] | None) -> Scales:
    """Scales that a caller gave by criterion alone."""
    return {("", criterion): scale for criterion, scale in (scales or {}).items()}


def protocol_id(protocol: str) -> str:
    """The id of a protocol without its digest."""
    return protocol.partition("@")[0]


def criterion_names(
    keys: Iterable[tuple[str, str]], protocols: Iterable[str] = ()
) -> dict[tuple[str, str], str]:
    """(protocol, criterion) → the name under which analyses show it.

    The criterion alone with one protocol; PROTOCOL/CRITERION with several, with the digest where two versions
    of a protocol have the criterion. `protocols` are those of the run, of which some may have no result yet.
    One protocol that was given several criteria of the user's counts as one.
    """
    unique = list(dict.fromkeys(keys))
    ids = {protocol_id(protocol) for protocol in (*protocols, *(protocol for protocol, _ in unique))}
    shown = Counter((protocol_id(protocol), criterion) for protocol, criterion in unique)
    is_repeated = any(n > 1 for n in shown.values())
    names = {}
    for protocol, criterion in unique:
        if len(ids) <= 1 and not is_repeated:
            names[protocol, criterion] = criterion
        elif shown[protocol_id(protocol), criterion] == 1:
            names[protocol, criterion] = f"{protocol_id(protocol)}/{criterion}"
        else:
            names[protocol, criterion] = f"{protocol}/{criterion}"
    return names


def levels_of(scale: Scale | None) -> list[float] | None:
    """The levels of a scale, lowest first; none where it is unbounded or has no step."""
    return (scale.values() or None) if scale is not None else None
