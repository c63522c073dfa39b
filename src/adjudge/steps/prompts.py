"""The prompts of a judgment in steps: one call of one step, and the elements that it checks."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

from msgspec import structs

from ..parse.elements import ElementEntry
from ..protocols import checked_criteria, step_protocol
from ..records import FieldValue, Item, Message, Protocol, Step
from ..render import numbered_text, render, render_questions


class StepPrompt(NamedTuple):
    """One call that a step needs: which step, its number within
    the step, the elements it is about, and what is sent.
    """

    step: Step
    position: int
    """of the step in the protocol"""
    number: int
    """of the call within the step, from 0"""
    elements: tuple[int, ...]
    """the numbers of the elements that it checks"""
    protocol: Protocol
    """the step as a protocol with one prompt"""
    messages: tuple[Message, ...]
    flags: tuple[str, ...]


class ShownItem(NamedTuple):
    """What the prompts of an item's steps are made from."""

    item: Item
    absent: frozenset[str]
    questions_a_call: int = 0


def check_prompts(
    protocol: Protocol, step: Step, position: int, shown: ShownItem, entries: Sequence[ElementEntry]
) -> Generator[StepPrompt, None, None]:
    size = step.per_call or max(1, len(entries))
    texts = [entry.text for entry in entries]
    inputs = step_protocol(protocol, step).inputs
    is_one_by_one = "before" in inputs
    if shown.questions_a_call:
        # All elements share what is shown besides them, except where each is shown with what stands before
        # it.
        size = max(1, shown.questions_a_call // max(1, len(checked_criteria(protocol))))
        size = 1 if is_one_by_one else size
    all_texts = numbered_text(texts) if "elements" in inputs and size == 1 else ""
    for number, first in enumerate(range(0, len(entries), size)):
        part = texts[first : first + size]
        values = {
            "element": texts[first],
            "number": str(first + 1),
            "elements": all_texts or numbered_text(part, first + 1),
            "before": entries[first].before,
        }
        about = tuple(range(first + 1, first + 1 + len(part)))
        yield step_prompt(protocol, step, position, number, about, shown, values)


def step_prompt(
    protocol: Protocol,
    step: Step,
    position: int,
    number: int,
    elements: tuple[int, ...],
    shown: ShownItem,
    values: dict[str, FieldValue],
) -> StepPrompt:
    one_prompt = step_protocol(protocol, step)
    item = structs.replace(shown.item, fields={**shown.item.fields, **values}) if values else shown.item
    if shown.questions_a_call:
        about = () if "before" in one_prompt.inputs else elements
        rendered = render_questions(one_prompt, item, "ab", shown.absent, about)
    else:
        rendered = render(one_prompt, item, "ab", shown.absent)
    return StepPrompt(step, position, number, elements, one_prompt, rendered.messages, rendered.flags)
