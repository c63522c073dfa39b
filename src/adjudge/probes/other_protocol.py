"""Probes of the protocol: the items stay as they are, and are judged with another protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from ..protocols import with_digest
from ..records import Protocol, QuestionForm
from ..render import has_question_form, number_text
from .probe import Probe
from .texts import first_scale

OF_PROTOCOL = ("reverse_levels", "question_form")
"""Edits of the protocol: the items stay as they are."""


_FORMS: Mapping[str, QuestionForm] = {form: form for form in get_args(QuestionForm) if form}


def other_protocol(probe: Probe, protocol: Protocol, *, asks_questions: bool) -> Protocol | None:
    """The protocol that a probe judges the unchanged items with; none where it does not apply."""
    if probe.variants[0].edit == "reverse_levels":
        # A typed question does not show the prompt's list of levels: the call would be the unchanged one.
        return None if asks_questions else _with_reversed_levels(protocol)
    form = _FORMS.get(probe.variants[0].name)
    if form is None or not asks_questions or protocol.pipeline or not has_question_form(protocol, form):
        return None
    return with_digest(protocol, question_form=form)


def _with_reversed_levels(protocol: Protocol) -> Protocol | None:
    """The protocol with the lines of its levels in reverse order; none where the prompt has no line for
    each."""
    scale = first_scale(protocol)
    if protocol.task == "compare" or scale is None or len(scale.levels) < 2:
        return None
    text = protocol.user_text
    if protocol.rubric is not None and "{{rubric}}" in text:
        levels = [f"Score {number_text(level)}: {words}" for level, words in sorted(scale.levels.items())]
        criterion = [] if "{{criterion}}" in text else [protocol.rubric.criterion]
        listed = "\n".join([*criterion, *levels])
        if "{{" in listed:
            return None
        text = text.replace("{{rubric}}", listed)
    lines = text.split("\n")
    places = []
    for _, words in sorted(scale.levels.items()):
        at = [number for number, line in enumerate(lines) if words in line]
        if len(at) != 1:
            return None
        places.append(at[0])
    if len(set(places)) < len(places):
        return None
    moved = lines[:]
    for place, other in zip(places, reversed(places), strict=True):
        moved[place] = lines[other]
    return with_digest(protocol, user_text="\n".join(moved))
