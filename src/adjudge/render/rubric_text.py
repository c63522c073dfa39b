"""Rubrics as text in a prompt: the criterion and its levels."""

from __future__ import annotations

from ..errors import DataError
from ..records import Protocol, Rubric
from .slots import slots_of
from .written_answer import number_text


def rubric_text(protocol: Protocol, rubric: Rubric) -> str:
    """The criterion and a line for each level; the levels alone where {{criterion}} shows the criterion."""
    levels = [f"Score {number_text(level)}: {text}" for level, text in sorted(rubric.scale.levels.items())]
    if rubric.scale.is_nominal:
        levels = [
            f"- {rubric.scale.names[level]}: {text}" for level, text in sorted(rubric.scale.levels.items())
        ]
    has_criterion_slot = "criterion" in slots_of(protocol.user_text)
    return "\n".join(levels if has_criterion_slot else [rubric.criterion, *levels])


def rubric_part(protocol: Protocol, part: str) -> str:
    """One part of a rubric, for imported prompts with a slot for each level."""
    rubric = protocol.rubric
    if rubric is None:
        raise DataError(f"protocol {protocol.id} needs a rubric. Give one with --rubric FILE.")
    if part == "criterion":
        return rubric.criterion
    text = rubric.scale.levels.get(float(part))
    if text is None:
        raise DataError(
            f"protocol {protocol.id} shows a level {part}, which the rubric '{rubric.name}' does not "
            "describe. Add it under [levels], or use a protocol that takes any number of levels, "
            "such as prometheus/direct."
        )
    return text
