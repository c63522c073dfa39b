"""Protocols: the built-in ones, users' folders, and originals imported from documents."""

from .findings import Finding
from .load import LEAST_TRANSCRIPT_TOKENS, builtin_ids, find_folder, load_protocol, with_digest, write_starter

__all__ = [
    "LEAST_TRANSCRIPT_TOKENS",
    "Finding",
    "builtin_ids",
    "find_folder",
    "load_protocol",
    "with_digest",
    "write_starter",
]
