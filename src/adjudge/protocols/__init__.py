"""Protocols: the built-in ones, users' folders, and originals imported from documents."""

from .findings import Finding
from .load import (
    LEAST_TRANSCRIPT_TOKENS,
    answer_about,
    builtin_ids,
    checked_criteria,
    criterion_of,
    find_folder,
    load_protocol,
    step_protocol,
    with_digest,
    write_starter,
)

__all__ = [
    "LEAST_TRANSCRIPT_TOKENS",
    "Finding",
    "answer_about",
    "builtin_ids",
    "checked_criteria",
    "criterion_of",
    "find_folder",
    "load_protocol",
    "step_protocol",
    "with_digest",
    "write_starter",
]
