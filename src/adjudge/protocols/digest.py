"""The digest of a protocol: a hash of all its texts and settings."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from ..records import Protocol


def digest_of(protocol: Protocol) -> str:
    """A hash of all that can change a judgment: texts, settings, and what the user gave.

    The title, the source and accepted suspicions are for people and are left out.
    """
    portable = msgspec.structs.replace(
        protocol, id="", digest="", title="", source="", folder="", accept=(), imported=""
    )
    # Through the declared types, so that a level given as 1 and as 1.0 is the same.
    typed = msgspec.json.decode(msgspec.json.encode(portable), type=Protocol)
    plain = msgspec.to_builtins(typed, str_keys=True)
    return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()[:16]


def with_digest(protocol: Protocol, **changes: Any) -> Protocol:
    """The protocol with these changes, under its new digest."""
    changed = msgspec.structs.replace(protocol, **changes)
    return msgspec.structs.replace(changed, digest=digest_of(changed))
