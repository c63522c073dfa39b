"""A judgment in several steps: a text becomes a list, each element of the list is checked, the checks become one score.

    Item ─ extract ─▶ elements ─ check ─▶ elements with scores ─ combine ─▶ Judgment

`judgment_in_steps` is the whole of it, and pure: it asks for replies by yielding prompts and is sent the replies. The
loop answers them by calling a model, `reread` from the store, and a dry run not at all. So all three see the same
elements and the same prompts. A check that cannot be read is a failed element, never a bad one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from ..combine import REASKED, needs_reask, with_reask
from ..parse import parse, read_list, unanswered
from ..parse.decision import judgment_of, questions_in
from ..parse.elements import ELEMENT_RULES, Entry
from ..parse.evidence import grounded_share
from ..parse.spans_of_claims import find_place
from ..protocols import answer_about, checked_criteria, criterion_of, step_protocol
from ..records import (
    QUESTIONS,
    Element,
    Estimator,
    FieldValue,
    How,
    Item,
    Judgment,
    Listing,
    Message,
    Protocol,
    Reply,
    Score,
    Status,
    Step,
)
from ..render import entry_texts, field_text, numbered_text, render, render_questions

MOST_ELEMENTS = 2_000
"""How many elements of one item are checked at most."""

LEAST_READ = 0.5
"""An item has a share or a mean if at least this part of its elements could be read."""


class StepPrompt(NamedTuple):
    """One call that a step needs: which step, its number within the step, the elements it is about, and what is sent."""

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


class StepAnswer(Struct):
    """What is known of one call: its key, the reply, and the replies to follow-up questions."""

    call: str = ""
    replies: tuple[Reply, ...] = ()
    """empty: it was never asked"""
    readings: dict[int, Judgment] = {}
    """the judgments of its elements, once they are read"""
    is_new: bool = False

    def needs_reask(self, prompt: StepPrompt, item: Item) -> bool:
        """Whether an answer is missing that a follow-up question may bring."""
        if prompt.step.kind == "extract":
            return read_extract(self).status in REASKED
        for number in prompt.elements:
            self.readings[number] = read_check(prompt, self, item, number)
        return any(needs_reask(judgment) for judgment in self.readings.values())


Steps = Generator[list[StepPrompt], Sequence[StepAnswer], Judgment]


# -- the place of a step's call among the calls of an item


_FIRST = 1 << 32
_OF_PLANNED, _OF_STEP, _OF_CALL = 24, 16, 2


class StepPlace(NamedTuple):
    """Which call of which step: what its call index says."""

    planned: int
    position: int
    number: int
    reask: int


def index_of(place: StepPlace) -> int:
    """The call index of a step's call: the same for all items, and behind those of all planned calls."""
    number = (place.position << _OF_STEP) | (place.number << _OF_CALL) | place.reask
    return _FIRST + (place.planned << _OF_PLANNED) + number


def place_of(call_index: int) -> StepPlace | None:
    """What a call index means; none for a call that belongs to no step."""
    if call_index < _FIRST:
        return None
    rest = call_index - _FIRST
    planned, rest = rest >> _OF_PLANNED, rest & ((1 << _OF_PLANNED) - 1)
    position, rest = rest >> _OF_STEP, rest & ((1 << _OF_STEP) - 1)
    return StepPlace(planned, position, rest >> _OF_CALL, rest & ((1 << _OF_CALL) - 1))


# -- the steps of one item


def judgment_in_steps(
    protocol: Protocol, item: Item, absent: frozenset[str] = frozenset(), questions_a_call: int = 0
) -> Steps:
    """Carry out the steps of a protocol on one item: yields the prompts of a step, is sent the answers to them.

    A decision model is asked as many questions in one call as it takes; 0: the judge is asked in prose.
    """
    flags: list[str] = []
    failure: Status | None = None
    lists: dict[str, list[Element]] = {}
    entries: dict[str, list[Entry]] = {}
    for position, step in enumerate(protocol.pipeline):
        if step.kind == "extract":
            given = given_entries(protocol, step, item)
            if given is None:
                prompt = _prompt(protocol, step, position, 0, (), _Shown(item, absent), {})
                flags += prompt.flags
                (answer,) = yield [prompt]
                listing = read_extract(answer)
                flags += listing.flags
                failure = failure or (listing.status if listing.status != "ok" else None)
                given = [Entry(text) for text in listing.entries]
                lists[step.name] = _placed(protocol, step, item, given)
                if listing.cut is not None:
                    lists[step.name].append(_cut_off(protocol, len(given) + 1, listing))
            else:
                lists[step.name] = _placed(protocol, step, item, given)
            entries[step.name] = given
        elif step.kind == "check":
            name = step.elements or next(iter(lists))
            shown = _Shown(item, absent, questions_a_call)
            prompts = list(_check_prompts(protocol, step, position, shown, entries[name]))
            answers = (yield prompts) if prompts else []
            flags += [flag for prompt in prompts for flag in prompt.flags]
            checked = _checked(prompts, answers, item, lists[name], flags)
            lists[name] = [checked.get(element.number, element) for element in lists[name]]
    elements = tuple(element for name in lists for element in lists[name])
    return _combined(protocol, elements, failure, tuple(dict.fromkeys(flags)))


def first_prompts(protocol: Protocol, item: Item, questions_a_call: int = 0) -> list[StepPrompt]:
    """What is sent first for an item; empty where there is nothing to check."""
    try:
        return next(judgment_in_steps(protocol, item, questions_a_call=questions_a_call))
    except StopIteration:
        return []


def step_words(protocol: Protocol, step: Step) -> str:
    """What a step does, in a few words."""
    if step.kind == "extract":
        return (
            f"extract: the entries of {step.field}"
            if step.field
            else f"extract: a list; an item may bring it as '{step.name}'"
        )
    if step.kind == "check":
        size = (
            "one element a call"
            if step.per_call == 1
            else "all elements in one call"
            if not step.per_call
            else f"{step.per_call} elements a call"
        )
        options = ", ".join(step.answer.options) if step.answer is not None else ""
        return f"check: {size}" + (f"; {options}" if options else "")
    aside = ", elements that are set aside count as worst" if step.set_aside == "worst" else ""
    return f"combine: {step.how} → {criterion_of(protocol, step)}{aside}"


def given_entries(protocol: Protocol, step: Step, item: Item) -> list[Entry] | None:
    """The elements that an item brings along: the field with the step's name, or the field that the step names."""
    for name, rule in ((step.name, "entries"), (step.field, step.rule)):
        field = protocol.field_for(name, item.fields) if name else None
        if field is not None:
            return ELEMENT_RULES[rule](item.fields[field])[:MOST_ELEMENTS]
    return [] if step.field else None


def step_problems(protocol: Protocol, item: Item) -> list[str]:
    """Why the steps of a protocol cannot be carried out on an item, each with what to do."""
    problems = []
    for step in protocol.pipeline:
        if step.kind != "extract":
            continue
        entries = given_entries(protocol, step, item)
        if entries is not None and len(entries) >= MOST_ELEMENTS:
            problems.append(
                f"field '{step.field or step.name}' has {MOST_ELEMENTS:,} entries or more; protocol {protocol.id} would "
                "check each. Split the item."
            )
    return problems


def question_problems(protocol: Protocol, item: Item) -> list[str]:
    """Why a decision model cannot carry out the steps on an item: it writes no text, so the item brings the list."""
    return [
        f"protocol {protocol.id} lists '{step.name}' in a free text step, and a decision model writes no text. "
        f"Give the item a field '{step.name}' with the list, or use a chat judge."
        for step in protocol.pipeline
        if step.kind == "extract" and given_entries(protocol, step, item) is None
    ]


def audit_problems(protocols: Sequence[Protocol], item: Item) -> list[str]:
    """Why the probes of an audit would change nothing: an item that brings its elements is not judged by its response."""
    return [
        f"field '{step.name}' holds the elements, so that probes of the response would change nothing. "
        "Remove the field for an audit."
        for protocol in protocols
        for step in protocol.pipeline
        if step.kind == "extract" and step.prompt and step.name in item.fields
    ]


def _placed(protocol: Protocol, step: Step, item: Item, entries: Sequence[Entry]) -> list[Element]:
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


class _Shown(NamedTuple):
    """What the prompts of an item's steps are made from."""

    item: Item
    absent: frozenset[str]
    questions_a_call: int = 0


def _check_prompts(
    protocol: Protocol, step: Step, position: int, shown: _Shown, entries: Sequence[Entry]
) -> Generator[StepPrompt, None, None]:
    size = step.per_call or max(1, len(entries))
    texts = [entry.text for entry in entries]
    inputs = step_protocol(protocol, step).inputs
    is_one_by_one = "before" in inputs
    if shown.questions_a_call:
        # All elements share what is shown besides them, except where each is shown with what stands before it.
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
        yield _prompt(protocol, step, position, number, about, shown, values)


def _prompt(
    protocol: Protocol,
    step: Step,
    position: int,
    number: int,
    elements: tuple[int, ...],
    shown: _Shown,
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


# -- reading replies


def read_extract(answer: StepAnswer) -> Listing:
    """The list in a reply, or in the reply to a follow-up question."""
    if not answer.replies:
        return Listing(status="no_reply")
    first = answer.replies[0]
    if first.error is not None:
        return Listing(status="refused" if first.error.kind == "filtered" else "no_reply")
    listing = read_list(first.text, finish=first.finish)
    for reply in answer.replies[1:]:
        if listing.status == "ok" or reply.error is not None:
            break
        again = read_list(reply.text, finish=reply.finish)
        listing = structs.replace(again, how="reask") if again.status == "ok" else listing
    return listing


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


def read_check(prompt: StepPrompt, answer: StepAnswer, item: Item, number: int) -> Judgment:
    """The judgment of one element in a reply, with missing answers from the replies to follow-up questions."""
    protocol = prompt.protocol
    if not answer.replies or answer.replies[0].error is not None:
        is_filtered = bool(answer.replies) and getattr(answer.replies[0].error, "kind", "") == "filtered"
        return unanswered(protocol, "refused" if is_filtered else "no_reply")
    if prompt.messages[-1].role == QUESTIONS:
        return judgment_of(questions_in(prompt.messages[-1].content), answer.replies[0].text, element=number)
    if len(prompt.elements) > 1 or prompt.step.per_call != 1:
        protocol = structs.replace(protocol, answer=answer_about(protocol.answer, number))
    judgments = [
        parse(protocol, reply.text, item=item, finish=reply.finish)
        for reply in answer.replies
        if reply.error is None
    ]
    judgment = judgments[0]
    for number, again in enumerate(judgments[1:], 1):
        judgment = with_reask(judgment, again, number)
    return judgment


def _explained(score: Score, judgment: Judgment) -> Score:
    return (
        score
        if score.explanation or not judgment.explanation
        else structs.replace(score, explanation=judgment.explanation)
    )


def _passage(prompt: StepPrompt, judgment: Judgment, item: Item) -> int | None:
    """The passage that the evidence of an element is from: where the quotation stands, otherwise the one that the judge names."""
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


# -- combining


def _combined(
    protocol: Protocol, elements: tuple[Element, ...], failure: Status | None, flags: tuple[str, ...]
) -> Judgment:
    combines = [step for step in protocol.pipeline if step.kind == "combine"]
    scores = tuple(_combine(protocol, step, elements, failure) for step in combines)
    if any(score.status == "ok" and score.value is None for score in scores):
        flags = (*flags, "nothing_to_score")
    if any(score.status != "ok" for element in elements for score in element.scores):
        flags = (*flags, "elements_failed")
    return Judgment(scores, explanation=counts_text(elements), flags=flags, elements=elements)


def _combine(protocol: Protocol, step: Step, elements: Sequence[Element], failure: Status | None) -> Score:
    criterion = criterion_of(protocol, step)
    scale = protocol.criteria[criterion]
    assert scale is not None
    if failure is not None:
        return Score(criterion, failure)
    scores = [
        score for element in elements for score in element.scores if score.criterion == (step.of or criterion)
    ]
    failed = [score.status for score in scores if score.status != "ok"]
    worst, best = (scale.low, scale.high) if scale.direction >= 0 else (scale.high, scale.low)
    values = [
        worst if score.value is None else _counted(step, score)
        for score in scores
        if score.status == "ok" and (score.value is not None or step.set_aside == "worst")
    ]
    numbers = [float(value) for value in values if value is not None]
    evidence = [share for score in scores if (share := score.grounded) is not None]
    grounded = math.fsum(evidence) / len(evidence) if evidence else None
    value = _value(step, numbers, len(failed), float(worst or 0), float(1 if best is None else best))
    if value is None and failed:
        return Score(criterion, Counter(failed).most_common(1)[0][0], grounded=grounded)
    estimator: Estimator = "decision" if any(s.estimator == "decision" for s in scores) else "parsed"
    return Score(criterion, "ok", value=value, how=_how(scores), grounded=grounded, estimator=estimator)


def _counted(step: Step, score: Score) -> float | None:
    """The value with which an element counts: the likeliest one where a rule asks for a verdict, not for a mean."""
    if step.how in ("all", "precision") and score.distribution:
        return max(score.distribution, key=score.distribution.__getitem__)
    return score.value


def _how(scores: Sequence[Score]) -> How | None:
    """The weakest way in which one of the checks was read."""
    ways = {score.how for score in scores if score.status == "ok"}
    rungs: tuple[How, ...] = ("reask", "anchored", "strict")
    return next((way for way in rungs if way in ways), None)


def _value(step: Step, values: Sequence[float], n_failed: int, worst: float, best: float) -> float | None:
    """The values of the elements as one; none where too many failed, or where a failed one could change the result."""
    if not values:
        return None
    if step.how == "all":
        if any(value != best for value in values):
            return worst
        return None if n_failed else best
    if step.how == "weakest":
        weakest = min(values) if best > worst else max(values)
        return weakest if not n_failed or weakest == worst else None
    if step.how == "precision":
        # A rank that could not be read would move all ranks behind it.
        return None if n_failed else average_precision([(value - worst) / (best - worst) for value in values])
    if len(values) < LEAST_READ * (len(values) + n_failed):
        return None
    return math.fsum(values) / len(values)


def average_precision(relevant: Sequence[float]) -> float:
    """The mean of the precision at each relevant rank, so that relevant entries count more the earlier they stand; 0 without any."""
    total, hits = 0.0, 0.0
    for rank, value in enumerate(relevant, 1):
        hits += value
        total += value * hits / rank
    return total / hits if hits else 0.0


def counts_text(elements: Sequence[Element]) -> str:
    """How many elements got which verdict: "supported 6, not supported 2, not read 1"."""
    counts = Counter(verdict_of(score) for element in elements for score in element.scores[:1])
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def verdict_of(score: Score) -> str:
    """The verdict on an element as it is shown: the option, the value, or why there is none."""
    if score.status != "ok":
        return f"failed ({score.status.replace('_', ' ')})"
    return (
        score.label
        if score.label is not None
        else f"{score.value:g}"
        if score.value is not None
        else "set aside"
    )
