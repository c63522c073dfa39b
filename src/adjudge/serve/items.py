"""What a caller gives to be judged, as the row of an item: an object, JSON text, plain text or messages.

An object gives the judged fields by name, plain text is the judged response; other inputs are shown as not
given. Without the judged text itself there is nothing to judge: that is an error, never a score.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from ..data import BadRowError
from ..data.messages import conversation
from ..errors import DataError
from ..judge.tool_fields import fields_of_tool
from ..records import Message, Protocol

Row = dict[str, Any]
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


def row_of(protocols: Sequence[Protocol], given: Any, names: Mapping[str, str] = _NO_NAMES) -> Row:
    """The item, with an id: without one, a hash of what it holds. `DataError` where nothing can be judged.

    `names` are what the run file calls the inputs: input → field.
    """
    row = _fields(protocols[0], _mapped(_parsed(given), names))
    for protocol in protocols:
        _fill(protocol, row)
    if row.get("id") is None:
        content = msgspec.json.encode(row, order="sorted")
        row["id"] = hashlib.blake2b(content, digest_size=8).hexdigest()
    return row


def rounds_of(rows: Sequence[Row]) -> list[dict[str, Row]]:
    """The distinct rows by id, in rounds: two texts with one id are judged one after the other."""
    rounds: list[dict[str, Row]] = []
    for row in rows:
        if not any(one.setdefault(id_of(row), row) == row for one in rounds):
            rounds.append({id_of(row): row})
    return rounds


def id_of(row: Row) -> str:
    return json.dumps(row["id"], default=str)


def _parsed(given: Any) -> Any:
    """The object in JSON text; anything else as it is."""
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            parsed = json.loads(given)
        except (ValueError, RecursionError):
            return given
        return parsed if isinstance(parsed, dict) else given
    return given


def _mapped(given: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(given, Mapping):
        return given
    inputs = {field: name for name, field in names.items() if field in given and name not in given}
    return {inputs.get(field, field): value for field, value in given.items()}


def _fields(protocol: Protocol, given: Any) -> Row:
    if isinstance(given, Mapping):
        row = {str(name): value for name, value in given.items() if value is not None}
        has_all = all(protocol.field_for(name, row) is not None for name in protocol.judged_inputs)
        return row if has_all else fields_of_tool(protocol, row)
    if isinstance(given, str):
        return {_judged_input(protocol): given}
    if isinstance(given, list) and given:
        return _of_messages(protocol, given)
    raise DataError("the input must be a text, an object of fields or a list of messages, and not empty.")


def _fill(protocol: Protocol, row: Row) -> None:
    """Show inputs that are not given as such; `DataError` where a judged text is not given."""
    for name in protocol.judged_inputs:
        if protocol.field_for(name, row) is None:
            given = ", ".join(key for key in row if key != "id") or "nothing"
            raise DataError(
                f"the input has no '{name}', which {protocol.id} judges; it has: {given[:200]}. "
                "Give it by this name, or give the judged text alone."
            )
    for name in (*protocol.inputs, *_wanted(protocol, row)):
        if protocol.field_for(name, row) is None:
            row[name] = protocol.not_given


def _wanted(protocol: Protocol, row: Row) -> tuple[str, ...]:
    """The first of the inputs of which one is needed, where there is none."""
    has_one = any(protocol.field_for(name, row) is not None for name in protocol.at_least_one)
    return () if has_one else protocol.at_least_one[:1]


def _judged_input(protocol: Protocol) -> str:
    """The input that plain text fills: the judged response."""
    names = protocol.judged_inputs
    if len(names) > 1:
        raise DataError(f"{protocol.id} judges {' and '.join(names)}. Give an object with both.")
    return names[0] if names else protocol.inputs[-1]


def _of_messages(protocol: Protocol, messages: list[Any]) -> Row:
    """The whole conversation where the protocol judges one, else its last message as the response."""
    if protocol.transcripts:
        return {protocol.transcripts[0]: messages}
    try:
        last = conversation("input", messages)[-1:]
    except BadRowError as fault:
        raise DataError(f"the input: {fault}") from fault
    if not last:
        raise DataError("the input is a list without messages. Give objects with role and content.")
    row = {_judged_input(protocol): last[0].content if isinstance(last[0], Message) else last[0]}
    return {"task": messages[:-1], **row} if len(messages) > 1 else row
