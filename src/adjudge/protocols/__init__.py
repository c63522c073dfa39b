"""Protocols: the built-in ones, users' folders, and originals imported from documents."""

from .builtins import builtin_ids, find_folder
from .digest import with_digest
from .findings import Finding
from .finer_steps import with_finer_steps
from .folder import LEAST_TRANSCRIPT_TOKENS
from .load import load_protocol, takes_examples
from .starter import write_starter
from .step_protocols import answer_about, checked_criteria, criterion_of, shows_item, step_protocol

__all__ = [
    "LEAST_TRANSCRIPT_TOKENS",
    "Finding",
    "answer_about",
    "builtin_ids",
    "checked_criteria",
    "criterion_of",
    "find_folder",
    "load_protocol",
    "shows_item",
    "step_protocol",
    "takes_examples",
    "with_digest",
    "with_finer_steps",
    "write_starter",
]
