"""The hash of the judged response(s): it shows whether a label is of the text that was judged.

Computed from the text as raters read it, so that a label file that has the text can be checked, too.
Line ends and white space around the text do not count: spreadsheets change both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from ..records import FieldValue, Protocol


def shown_text(value: FieldValue) -> str:
    """A field as raters read it: a conversation with its speakers."""
    if isinstance(value, str):
        return value
    return "\n".join(part if isinstance(part, str) else f"{part.speaker}: {part.shown}" for part in value)


def _text_hash(protocol: Protocol, fields: Mapping[str, Any]) -> str | None:
    """The hash of the response(s) that a protocol judges; none where a field is not there."""
    names = protocol.judged_inputs
    found = [protocol.field_for(name, fields) for name in names]
    texts = [shown_text(fields[name]) for name in found if name is not None]
    if not texts or len(texts) < len(names):
        return None
    digest = hashlib.blake2b(digest_size=8)
    for text in texts:
        digest.update("\n".join(line.rstrip() for line in text.strip().splitlines()).encode() + b"\0")
    # A letter first, so that a spreadsheet does not take it for a number.
    return f"t{digest.hexdigest()}"


def text_hashes(criterion: str, protocols: Collection[Protocol], fields: Mapping[str, Any]) -> list[str]:
    """The hashes of the response(s) that a criterion is about, one for each protocol that judges it.

    All protocols count where none has a criterion of this name.
    """
    judging = [protocol for protocol in protocols if criterion in protocol.criteria] or protocols
    hashes = (_text_hash(protocol, fields) for protocol in judging)
    return [found for found in hashes if found is not None]


def text_hash_on(criterion: str, protocols: Collection[Protocol], fields: Mapping[str, Any]) -> str | None:
    """The hash that a label on a criterion gets; none where the judged text is not known."""
    return next(iter(text_hashes(criterion, protocols, fields)), None)
