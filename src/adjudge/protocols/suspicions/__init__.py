"""Suspicions: what often goes wrong in judge prompts, one function per rule.

A rule reads one prompt and yields what it noticed; it never decides that a prompt cannot be
used. A person who has looked accepts a suspicion in `protocol.toml`, by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from . import format_rules, scale_rules
from .prompt_text import Prompt, Suspicion

RULES: dict[str, Callable[[Prompt], Iterator[Suspicion]]] = {
    scale_rules.CONTRADICTING_DIRECTION: scale_rules.contradicting_direction,
    scale_rules.ONE_SCORE_TWO_RESPONSES: scale_rules.one_score_two_responses,
    format_rules.CONFIDENCE_WITHOUT_FIELD: format_rules.confidence_without_field,
    format_rules.LABELS_NOT_BLIND: format_rules.labels_not_blind,
    format_rules.ASKED_NOT_IN_FORMAT: format_rules.asked_not_in_format,
    format_rules.REFERENCE_MISMATCH: format_rules.reference_mismatch,
    format_rules.EXAMPLES_PROMISED: format_rules.examples_promised,
    scale_rules.EXAMPLE_IS_ANSWER: scale_rules.example_is_answer,
    scale_rules.UNANCHORED_LEVELS: scale_rules.unanchored_levels,
}
NAMES = (*RULES, scale_rules.UNLIKE_SIBLINGS)
"""Every suspicion that there is, by the name that `[[accept]]` takes."""


def suspicions_of(prompt: Prompt) -> Iterator[tuple[str, Suspicion]]:
    """All that the rules notice in one prompt, each with the rule's name."""
    for name, look in RULES.items():
        yield from ((name, suspicion) for suspicion in look(prompt))


def unlike_siblings(prompts: Sequence[Prompt]) -> Iterator[tuple[Prompt, str, Suspicion]]:
    """The protocols of one family that stand apart from the others."""
    for prompt, suspicion in scale_rules.siblings_that_differ(prompts):
        yield prompt, scale_rules.UNLIKE_SIBLINGS, suspicion


__all__ = ["NAMES", "RULES", "Prompt", "Suspicion", "suspicions_of", "unlike_siblings"]
