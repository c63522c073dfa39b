"""Protocols: the built-in ones, users' folders, and originals imported from documents."""

from .findings import Finding
from .load import builtin_ids, find_folder, load_protocol, with_digest, write_starter

__all__ = ["Finding", "builtin_ids", "find_folder", "load_protocol", "with_digest", "write_starter"]
