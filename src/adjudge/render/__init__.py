"""Renders a protocol and an item into the messages that are sent, and flags prompt injection. Pure."""

from .injection import HIDDEN, INJECTION, suspicions
from .prompt import (
    CUT,
    PROTOCOL_SLOTS,
    USER_SLOTS,
    estimated_tokens,
    fenced,
    field_text,
    images_in,
    number_text,
    problems_of,
    render,
    slots_of,
    targets_of,
    transcript,
    written_answer,
)

__all__ = [
    "CUT",
    "HIDDEN",
    "INJECTION",
    "PROTOCOL_SLOTS",
    "USER_SLOTS",
    "estimated_tokens",
    "fenced",
    "field_text",
    "images_in",
    "number_text",
    "problems_of",
    "render",
    "slots_of",
    "suspicions",
    "targets_of",
    "transcript",
    "written_answer",
]
