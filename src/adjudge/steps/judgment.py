"""A judgment in several steps: a text becomes a list, each element of the list is checked, the checks become
one score.

    Item ─ extract ─▶ elements ─ check ─▶ elements with scores ─ combine ─▶ Judgment

`judgment_in_steps` is the whole of it, and pure: it asks for replies by yielding prompts and is sent the
replies. The loop answers them by calling a model, `reread` from the store, and a dry run not at all. So all
three see the same elements and the same prompts. A check that cannot be read is a failed element, never a bad
one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from msgspec import structs

from ..parse.elements import ElementEntry
from ..parse.evidence import grounded_share
from ..parse.spans_of_claims import find_place
from ..protocols import checked_criteria
from ..records import EMPTY_RESPONSE, Element, Item, Judgment, Listing, Protocol, Score, Status, Step
from ..render import entry_texts, field_text
from .answers import StepAnswer, read_check, read_extract
from .combine import combined_judgment
from .given_elements import given_entries
from .prompts import ShownItem, StepPrompt, check_prompts, step_prompt

Steps = Generator[list[StepPrompt], Sequence[StepAnswer], Judgment]


def judgment_in_steps(
    protocol: Protocol, item: Item, absent: frozenset[str] = frozenset(), questions_a_call: int = 0
) -> Steps:
    """Carry out the steps of a protocol on one item: yields the prompts of a step, is sent the answers to
    them.

    A decision model is asked as many questions in one call as it takes; 0: the judge is asked in prose.
    """
    if protocol.is_unanswered(item.fields):
        return combined_judgment(protocol, (), "unparsed", (EMPTY_RESPONSE,))
    flags: list[str] = []
    failure: Status | None = None
    lists: dict[str, list[Element]] = {}
    entries: dict[str, list[ElementEntry]] = {}
    for position, step in enumerate(protocol.pipeline):
        if step.kind == "extract":
            given = given_entries(protocol, step, item)
            if given is None:
                prompt = step_prompt(protocol, step, position, 0, (), ShownItem(item, absent), {})
                flags += prompt.flags
                (answer,) = yield [prompt]
                listing = read_extract(answer)
                flags += listing.flags
                failure = failure or (listing.status if listing.status != "ok" else None)
                given = [ElementEntry(text) for text in listing.entries]
                lists[step.name] = _placed(protocol, step, item, given)
                if listing.cut is not None:
                    lists[step.name].append(_cut_off(protocol, len(given) + 1, listing))
            else:
                lists[step.name] = _placed(protocol, step, item, given)
            entries[step.name] = given
        elif step.kind == "check":
            name = step.elements or next(iter(lists))
            shown = ShownItem(item, absent, questions_a_call)
            prompts = list(check_prompts(protocol, step, position, shown, entries[name]))
            answers = (yield prompts) if prompts else []
            flags += [flag for prompt in prompts for flag in prompt.flags]
            checked = _checked(prompts, answers, item, lists[name], flags)
            lists[name] = [checked.get(element.number, element) for element in lists[name]]
    elements = tuple(element for name in lists for element in lists[name])
    return combined_judgment(protocol, elements, failure, tuple(dict.fromkeys(flags)))


def first_prompts(protocol: Protocol, item: Item, questions_a_call: int = 0) -> list[StepPrompt]:
    """What is sent first for an item; empty where there is nothing to check."""
    try:
        return next(judgment_in_steps(protocol, item, questions_a_call=questions_a_call))
    except StopIteration:
        return []


def _placed(protocol: Protocol, step: Step, item: Item, entries: Sequence[ElementEntry]) -> list[Element]:
    """The entries as elements, each with its place in the judged text where it stands there word for word."""
    field = protocol.field_for(step.judged, item.fields)
    text = field_text(item.fields[field]) if field is not None and field != step.field else ""
    elements: list[Element] = []
    after = 0
    for number, entry in enumerate(entries, 1):
        span = find_place(entry.text, text, after) if text else None
        after = span[1] if span is not None else after
        elements.append(Element(number, entry.text, span=span))
    return elements


def _cut_off(protocol: Protocol, number: int, listing: Listing) -> Element:
    """What is left of the element at which a list was cut off: a failure, which is counted."""
    scores = tuple(Score(criterion, "truncated") for criterion in checked_criteria(protocol))
    return Element(number, listing.cut or "(cut off)", scores)


def _checked(
    prompts: Sequence[StepPrompt],
    answers: Sequence[StepAnswer],
    item: Item,
    elements: Sequence[Element],
    flags: list[str],
) -> dict[int, Element]:
    by_number = {element.number: element for element in elements}
    checked: dict[int, Element] = {}
    for prompt, answer in zip(prompts, answers, strict=True):
        if not answer.replies:
            flags.append("elements_changed")
        for number in prompt.elements:
            judgment = answer.readings.get(number) or read_check(prompt, answer, item, number)
            flags += judgment.flags
            checked[number] = structs.replace(
                by_number[number],
                scores=tuple(_explained(score, judgment) for score in judgment.scores),
                passage=_passage(prompt, judgment, item),
                call=answer.call,
            )
    return checked


def _explained(score: Score, judgment: Judgment) -> Score:
    return (
        score
        if score.explanation or not judgment.explanation
        else structs.replace(score, explanation=judgment.explanation)
    )


def _passage(prompt: StepPrompt, judgment: Judgment, item: Item) -> int | None:
    """The passage that the evidence of an element is from: where
    the quotation stands, otherwise the one that the judge names.
    """
    protocol = prompt.protocol
    sources = [name for name in protocol.answer.evidence_in if name in protocol.numbered]
    if not sources:
        return None
    field = protocol.field_for(sources[0], item.fields)
    passages = entry_texts(item.fields[field]) if field is not None else ()
    evidence = next((score.evidence for score in judgment.scores if score.evidence), ())
    for number, passage in enumerate(passages, 1):
        if evidence and grounded_share(evidence[:1], passage) == 1.0:
            return number
    named = judgment.notes.get("passage", "").strip().strip("[]")
    return int(named) if named.isdigit() and 1 <= int(named) <= len(passages) else None
