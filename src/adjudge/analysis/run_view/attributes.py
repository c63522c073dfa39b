"""The attributes of items that agreement can be shown by: fields, and the length of the response."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from ...records import FieldValue, Item
from .run_view import Attributes, Texts


def attributes_of(items: Iterable[Item]) -> Attributes:
    """The length of the response of each item."""
    return attributes_and_texts(items)[0]


def attributes_and_texts(
    items: Iterable[Item], names: Sequence[str] = (), with_text: Collection[str] = ()
) -> tuple[Attributes, Texts]:
    """The named fields of each item and the length of its response, and the responses of the items
    `with_text`: one text, or both of a pair.
    """
    fields: dict[str, Mapping[str, FieldValue]] = {}
    attributes: dict[str, dict[str, float | str]] = {}
    digests: dict[str, dict[str, tuple[int, int]]] = {}
    groups: dict[str, str | None] = {}
    for item in items:
        # Where a field is called response, it is not looked for by its differences.
        has_response = "response" in item.fields
        digests[item.id] = {
            name: (0 if has_response else zlib.crc32(msgspec.json.encode(value)), text_length(value))
            for name, value in item.fields.items()
        }
        groups[item.id] = item.group
        if item.id in with_text:
            fields[item.id] = item.fields
        attributes[item.id] = {
            name: value for name in names if isinstance(value := item.fields.get(name), str)
        }
    response = _response_field(digests, groups)
    for item_id, found in digests.items():
        for name, key in ((response, "length"), ("response_a", "length_a"), ("response_b", "length_b")):
            if name in found:
                attributes[item_id][key] = float(found[name][1])
    texts = {item_id: _responses(values, response) for item_id, values in fields.items()}
    return attributes, {item_id: found for item_id, found in texts.items() if found}


def _responses(fields: Mapping[str, FieldValue], response: str) -> tuple[str, ...]:
    """The judged text of an item, or both of a pair; empty where it is unknown which field is judged."""
    if response in fields:
        return (plain_text(fields[response]),)
    if "response_a" in fields and "response_b" in fields:
        return plain_text(fields["response_a"]), plain_text(fields["response_b"])
    return ()


def plain_text(value: FieldValue) -> str:
    """A text, or all messages of a conversation."""
    if isinstance(value, str):
        return value
    return "\n".join(entry if isinstance(entry, str) else entry.content for entry in value)


def text_length(value: FieldValue) -> int:
    """Characters of a text, or of all messages of a conversation."""
    if isinstance(value, str):
        return len(value)
    return sum(len(entry if isinstance(entry, str) else entry.content) for entry in value)


def _response_field(
    digests: Mapping[str, Mapping[str, tuple[int, int]]], groups: Mapping[str, str | None]
) -> str:
    """The field that is judged: `response`, or the only one in
    which items of one group differ; empty where unknown.
    """
    if any("response" in found for found in digests.values()):
        return "response"
    seen: dict[tuple[str, str], int] = {}
    differing = set()
    for item_id, found in digests.items():
        group = groups[item_id]
        if group is None:
            continue
        for name, (digest, _) in found.items():
            if seen.setdefault((group, name), digest) != digest:
                differing.add(name)
    return differing.pop() if len(differing) == 1 else ""
