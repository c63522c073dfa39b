"""Renders a protocol and an item into the messages that are sent, and flags prompt injection. Pure."""

from .injection import HIDDEN, INJECTION, suspicions
from .prompt import (
    PROTOCOL_SLOTS,
    USER_SLOTS,
    fenced,
    field_text,
    number_text,
    problems_of,
    render,
    slots_of,
    targets_of,
    written_answer,
)

__all__ = [
    "HIDDEN",
    "INJECTION",
    "PROTOCOL_SLOTS",
    "USER_SLOTS",
    "fenced",
    "field_text",
    "number_text",
    "problems_of",
    "render",
    "slots_of",
    "suspicions",
    "targets_of",
    "written_answer",
]
