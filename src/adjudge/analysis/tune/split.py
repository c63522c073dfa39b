"""One split of the labels into a search part, used as often as one likes, and a locked part, opened for a
claim.

The split depends on the labels alone: the same labels are always split alike, and another draw of labels is
split anew. Items of one group are in one part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

LOCKED_SHARE = 0.5


class Split(NamedTuple):
    """Labelled items of each part, in a fixed order, and the
    hash by which looks at the locked part are counted.
    """

    search: tuple[str, ...]
    locked: tuple[str, ...]
    digest: str


def split_of(people: Mapping[str, float | str], groups: Mapping[str, str]) -> Split:
    """Half of the labelled items each, as far as groups allow."""
    salt = _digest(people, sorted(people))
    units: dict[tuple[bool, str], list[str]] = {}
    for item in sorted(people):
        unit = (True, groups[item]) if item in groups else (False, item)
        units.setdefault(unit, []).append(item)
    order = sorted(units, key=lambda unit: hashlib.sha256(f"{salt}{unit}".encode()).digest())
    wanted, locked = LOCKED_SHARE * len(people), list[str]()
    for unit in order:
        # A group that would leave less for the search part than it adds to the locked one stays with the
        # search; so does the only group.
        if len(locked) + len(units[unit]) / 2 <= wanted and len(units) > 1:
            locked += units[unit]
    inside = set(locked)
    return Split(
        tuple(item for item in sorted(people) if item not in inside),
        tuple(sorted(locked)),
        _digest(people, sorted(locked)),
    )


def _digest(people: Mapping[str, float | str], items: list[str]) -> str:
    content = "\n".join(f"{item!r} {people[item]!r}" for item in items)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
