"""`--shard K/N`: one of several parts of a run, and the items that belong to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeVar

from ..errors import DataError
from .options import RunOptions

Numbered = TypeVar("Numbered")


class Shard(NamedTuple):
    """One of `n` parts of a run; `number` is from 1."""

    number: int
    n: int

    def numbered(self, items: Iterable[Numbered]) -> Iterator[tuple[int, Numbered]]:
        """The items of the part, each with its number in the
        whole run: every `n`-th, beginning with `number`.
        """
        return islice(enumerate(items), self.number - 1, None, self.n)

    def size(self, n_items: int) -> int:
        """How many of the items belong to the part."""
        return len(range(self.number - 1, n_items, self.n))


def shard_of(options: RunOptions) -> Shard:
    """The part that a run judges; 1 of 1 where it judges all."""
    if options.shard is None:
        return Shard(1, 1)
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", str(options.shard), re.ASCII)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise DataError(
            f"--shard {options.shard}: write it as K/N with K from 1 to N, for example --shard 2/8."
        )
    return Shard(int(match[1]), int(match[2]))
