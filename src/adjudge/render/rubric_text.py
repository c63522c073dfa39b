"""Rubrics as text in a prompt: the criterion and its levels."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import DataError
from ..records import AskedCriterion, Protocol, Rubric, Scale
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


def criteria_text(protocol: Protocol) -> str:
    """Several criteria of the user's, each under its name with its scale, levels and steps."""
    return "\n\n".join(
        "\n".join(_criterion_lines(name, asked, protocol.criteria[name]))
        for name, asked in protocol.asked_criteria.items()
    )


def _criterion_lines(name: str, asked: AskedCriterion, scale: Scale | None) -> Iterator[str]:
    yield f"## {name}"
    yield asked.text
    if scale is not None and scale.low is not None and scale.high is not None:
        step = (
            "whole numbers" if scale.step == 1 else f"steps of {scale.step:g}" if scale.step else "any number"
        )
        yield f"Scale: {number_text(scale.low)} to {number_text(scale.high)}, {step}."
        for level, text in sorted(scale.levels.items()):
            yield f"Score {number_text(level)}: {text}"
    if asked.steps:
        yield "Steps:"
        yield from (f"{number}. {step}" for number, step in enumerate(asked.steps, 1))


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
