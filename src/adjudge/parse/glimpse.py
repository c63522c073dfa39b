"""What a reply shows of an answer although it is not in the format that was asked for.

A follow-up question must not override it: a judge that writes "I would give it 5" and then answers "1" has
contradicted itself.
"""

from __future__ import annotations

from msgspec import structs

from ..records import Judgment, Order, Protocol
from .judgment import parse

_MARKED = ("tag", "marker", "label", "first_line")


def glimpsed(protocol: Protocol, text: str, order: Order = "ab") -> Judgment | None:
    """The reply read in any format, however unsure that is; none where the protocol asks for JSON."""
    if protocol.answer.reader not in _MARKED:
        return None
    return parse(
        structs.replace(protocol, answer=structs.replace(protocol.answer, reader="free")), text, order=order
    )
