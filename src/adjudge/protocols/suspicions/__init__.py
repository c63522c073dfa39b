"""Suspicions: what often goes wrong in judge prompts, one function per rule.

A rule reads one prompt and yields what it noticed; it never decides that a prompt cannot be
used. A person who has looked accepts a suspicion in `protocol.toml`, by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from . import (
    asked_not_in_format,
    confidence_without_field,
    direction,
    example_is_answer,
    examples_promised,
    labels_not_blind,
    one_score_two_responses,
    reference_mismatch,
    unanchored_levels,
)
from . import unlike_siblings as siblings
from .prompt import Prompt, Suspicion

RULES: dict[str, Callable[[Prompt], Iterator[Suspicion]]] = {
    direction.CONTRADICTING_DIRECTION: direction.contradicting_direction,
    one_score_two_responses.ONE_SCORE_TWO_RESPONSES: one_score_two_responses.one_score_two_responses,
    confidence_without_field.CONFIDENCE_WITHOUT_FIELD: confidence_without_field.confidence_without_field,
    labels_not_blind.LABELS_NOT_BLIND: labels_not_blind.labels_not_blind,
    asked_not_in_format.ASKED_NOT_IN_FORMAT: asked_not_in_format.asked_not_in_format,
    reference_mismatch.REFERENCE_MISMATCH: reference_mismatch.reference_mismatch,
    examples_promised.EXAMPLES_PROMISED: examples_promised.examples_promised,
    example_is_answer.EXAMPLE_IS_ANSWER: example_is_answer.example_is_answer,
    unanchored_levels.UNANCHORED_LEVELS: unanchored_levels.unanchored_levels,
}
NAMES = (*RULES, siblings.UNLIKE_SIBLINGS)
"""Every suspicion that there is, by the name that `[[accept]]` takes."""


def suspicions_of(prompt: Prompt) -> Iterator[tuple[str, Suspicion]]:
    """All that the rules notice in one prompt, each with the rule's name."""
    for name, look in RULES.items():
        yield from ((name, suspicion) for suspicion in look(prompt))


def unlike_siblings(prompts: Sequence[Prompt]) -> Iterator[tuple[Prompt, str, Suspicion]]:
    """The protocols of one family that stand apart from the others."""
    for prompt, suspicion in siblings.siblings_that_differ(prompts):
        yield prompt, siblings.UNLIKE_SIBLINGS, suspicion


__all__ = ["NAMES", "RULES", "Prompt", "Suspicion", "suspicions_of", "unlike_siblings"]
