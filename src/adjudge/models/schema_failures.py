"""Schemas that a server fails with: llama-cpp-python answers 500 to one that it cannot turn into a grammar.

A server may answer 500 for other reasons, too. So a call that gets 500 twice with its schema is asked without
it, alone; the schema is left out of all calls only where there is evidence: it has never had a reply, and
either the server names it in its error or `CALLS_NEEDED` calls were answered at once without it. Replicas
share what they learn.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

FAILURES_NEEDED = 2
"""500s of one call with its schema, before it is asked without."""

CALLS_NEEDED = 3
"""Calls that were answered without their schema, before it is left out of all."""

_NAMED = re.compile(r"schema|grammar|response_format|structured|guided", re.IGNORECASE)

Schema = dict[str, Any]


class SchemaFailures:
    """What is known of the schemas of one model. They are distinguished as objects, which the calls of a
    protocol share."""

    def __init__(self) -> None:
        self._schemas: dict[int, Schema] = {}
        """keeps each schema, so that no other gets its number"""
        self._replied: set[int] = set()
        self._answered_without: Counter[int] = Counter()
        self.left_out: set[int] = set()
        self.n_asked_without = 0
        """calls that were answered without their schema"""

    def is_left_out(self, schema: Schema | None) -> bool:
        return bool(self.left_out) and id(schema) in self.left_out

    def may_be_cause(self, schema: Schema | None) -> bool:
        """Whether a failure may be due to the schema: no request with it has had a reply."""
        return schema is not None and id(schema) not in self._replied

    def note_reply(self, schema: Schema) -> None:
        """A request with the schema had a reply."""
        if id(schema) not in self._replied:
            self._schemas[id(schema)] = schema
            self._replied.add(id(schema))

    def note_reply_without(self, schema: Schema, error: str) -> bool:
        """A call that failed with the schema was answered at once without it; whether it is now left out of
        all."""
        number = id(schema)
        self._schemas[number] = schema
        self.n_asked_without += 1
        self._answered_without[number] += 1
        is_shown = _NAMED.search(error) is not None or self._answered_without[number] >= CALLS_NEEDED
        if not is_shown or number in self._replied or number in self.left_out:
            return False
        self.left_out.add(number)
        return True
