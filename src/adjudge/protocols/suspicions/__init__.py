"""Suspicions: what often goes wrong in judge prompts, each rule in a module of its own.

A rule reads one prompt and yields what it noticed; it never decides that a prompt cannot be
used. A person who has looked accepts a suspicion in `protocol.toml`, by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from . import anchors, asked, blind, confidence, copied, direction, examples, one_score, reference, siblings
from .prompt import Prompt, Suspicion

RULES: dict[str, Callable[[Prompt], Iterator[Suspicion]]] = {
    rule.NAME: rule.look
    for rule in (direction, one_score, confidence, blind, asked, reference, examples, copied, anchors)
}
NAMES = (*RULES, siblings.NAME)
"""Every suspicion that there is, by the name that `[[accept]]` takes."""


def suspicions_of(prompt: Prompt) -> Iterator[tuple[str, Suspicion]]:
    """All that the rules notice in one prompt, each with the rule's name."""
    for name, look in RULES.items():
        yield from ((name, suspicion) for suspicion in look(prompt))


def unlike_siblings(prompts: Sequence[Prompt]) -> Iterator[tuple[Prompt, str, Suspicion]]:
    """The protocols of one family that stand apart from the others."""
    yield from ((prompt, siblings.NAME, suspicion) for prompt, suspicion in siblings.compare(prompts))


__all__ = ["NAMES", "RULES", "Prompt", "Suspicion", "suspicions_of", "unlike_siblings"]
