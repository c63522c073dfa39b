"""Renders a protocol and an item into the messages that are sent, and flags prompt injection. Pure."""

from .fence import fenced
from .fields import entry_texts, field_text, numbered_text
from .injection import HIDDEN, INJECTION, suspicions
from .item_problems import images_in, problems_of
from .prompt import render, targets_of
from .questions import (
    INPUT,
    criteria_without_step,
    has_levels_without_text,
    has_question_form,
    offered_levels,
    questions_of,
    render_questions,
    shows_examples,
)
from .slots import ELEMENT_SLOTS, PROTOCOL_SLOTS, USER_SLOTS, slots_of
from .transcript import CUT, estimated_tokens, transcript
from .written_answer import number_text, written_answer

__all__ = [
    "CUT",
    "ELEMENT_SLOTS",
    "HIDDEN",
    "INJECTION",
    "INPUT",
    "PROTOCOL_SLOTS",
    "USER_SLOTS",
    "criteria_without_step",
    "entry_texts",
    "estimated_tokens",
    "fenced",
    "field_text",
    "has_levels_without_text",
    "has_question_form",
    "images_in",
    "number_text",
    "numbered_text",
    "offered_levels",
    "problems_of",
    "questions_of",
    "render",
    "render_questions",
    "shows_examples",
    "slots_of",
    "suspicions",
    "targets_of",
    "transcript",
    "written_answer",
]
