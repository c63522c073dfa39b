"""Protocols: the built-in ones, users' folders, and originals imported from documents."""

from .builtins import builtin_ids, find_folder
from .digest import with_digest
from .findings import Finding
from .finer_steps import with_finer_steps
from .input_settings import LEAST_TRANSCRIPT_TOKENS
from .load import load_protocol, takes_examples
from .starter import write_starter
from .step_protocols import answer_about, checked_criteria, criterion_of, shows_item, step_protocol
from .template_logic import template_logic
from .together import ALONE, TOGETHER, together

__all__ = [
    "ALONE",
    "LEAST_TRANSCRIPT_TOKENS",
    "TOGETHER",
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
    "template_logic",
    "together",
    "with_digest",
    "with_finer_steps",
    "write_starter",
]
