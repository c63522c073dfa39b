"""`--traces chatlog`: lines with `q`, `a` and perhaps `session`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def read_chatlog(records: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each record as a row of an items file."""
    for record in records:
        group = {"group": record["session"]} if "session" in record else {}
        yield {"task": record["q"], "response": record["a"], **group}
