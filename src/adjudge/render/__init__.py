"""Rendering: a protocol and an item become the messages that are sent. Pure text, no files."""

from .injection import HIDDEN, INJECTION, suspicions
from .prompt import (
    GIVEN_SLOTS,
    OWN_SLOTS,
    fenced,
    field_text,
    number_text,
    problems_of,
    render,
    slots_of,
    targets_of,
)

__all__ = [
    "GIVEN_SLOTS",
    "HIDDEN",
    "INJECTION",
    "OWN_SLOTS",
    "fenced",
    "field_text",
    "number_text",
    "problems_of",
    "render",
    "slots_of",
    "suspicions",
    "targets_of",
]
