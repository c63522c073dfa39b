"""What a rater is asked about an item, in which order and on which side, and what an answer means.

A rater sees neither an item's id nor a system's name, since either may give away who wrote a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ...errors import DataError
from ...records import Choice, FieldValue, Item, Label, Protocol, Scale, Subject
from ...render.rubric_text import criteria_text
from ...render.written_answer import number_text

Side = Literal["left", "right"]


Part = tuple[str, Subject | None]
"""a criterion, and which response of a pair it is about"""


RATED = Scale(low=1, high=5, best=5, step=1)
"""The scale for people where the judge gives log-probabilities, which no person can give."""


MOST_BUTTONS = 21


class AnswerLevel(Struct, frozen=True):
    """One value of a scale with its name, what it means, and its key."""

    value: float
    shown: str
    name: str
    text: str
    key: str
    """the digit to press; empty where a value of the scale is not a single digit"""


class LabelQuestion(Struct, frozen=True):
    """One question about every item: a score, or which response is better."""

    criterion: str
    subject: Subject | None
    scale: Scale | None
    """none for a choice between the two responses"""
    levels: tuple[AnswerLevel, ...]
    """empty where there are too many for buttons: the rater types a number"""
    guide: int
    """the number of the guide to show beside it"""
    note: str = ""

    @property
    def is_choice(self) -> bool:
        return self.scale is None

    @property
    def is_keyed(self) -> bool:
        return bool(self.levels) and all(level.key for level in self.levels)


class Guide(Struct, frozen=True):
    """The instructions of the judge, so that raters follow the same ones."""

    title: str
    criterion: str
    steps: tuple[str, ...]
    prompt: tuple[tuple[str, str], ...]
    """(role, text), with placeholders"""


class Sheet(Struct, frozen=True):
    """One item to label."""

    key: str
    """its name in addresses and posts, which reveals nothing about the item"""
    item: Item
    fields: tuple[str, ...]
    probability: float
    text_hashes: Mapping[str, str] = {}
    """criterion → the hash of the response(s) that it is about"""


class ShownQuestion(Struct, frozen=True):
    """A question as one rater sees it: about the left or the right response."""

    question: LabelQuestion
    side: Side | None


def keyed_levels(scale: Scale) -> tuple[AnswerLevel, ...]:
    """The levels of a scale, each with its key if every one is a single digit; none where there are too
    many."""
    values = scale.values(MOST_BUTTONS)
    is_keyed = all(value in range(10) for value in values)
    return tuple(
        AnswerLevel(
            value=value,
            shown=number_text(value),
            name=scale.names.get(value, ""),
            text=scale.levels.get(value, ""),
            key=number_text(value) if is_keyed else "",
        )
        for value in values
    )


def label_questions(
    parts: Iterable[Part], protocols: Sequence[Protocol], criteria: Sequence[str] = ()
) -> tuple[LabelQuestion, ...]:
    """A question for each criterion and subject of the run's results, or only for the criteria named."""
    distinct = list(dict.fromkeys(parts))
    known = list(dict.fromkeys(criterion for criterion, _ in distinct))
    unknown = [name for name in criteria if name not in known]
    if unknown:
        raise DataError(
            f"--criterion {unknown[0]}: the run has no such criterion. It has {', '.join(known)}."
        )
    return tuple(
        _question(criterion, subject, protocols)
        for criterion, subject in distinct
        if not criteria or criterion in criteria
    )


def _question(criterion: str, subject: Subject | None, protocols: Sequence[Protocol]) -> LabelQuestion:
    numbers = [number for number, protocol in enumerate(protocols) if criterion in protocol.criteria]
    protocol = protocols[numbers[0]]
    judge_scale = protocol.criteria[criterion]
    if judge_scale is None or (protocol.task == "compare" and subject is None):
        return LabelQuestion(criterion, subject, None, (), numbers[0])
    note = ""
    scale = judge_scale
    if scale.low is None and scale.high is None:
        scale = RATED
        note = (
            "The judge gives log-probabilities. Rate from 1 (worst) to 5 (best): only the order is compared."
        )
    elif any(_values(protocols[other].criteria[criterion]) != _values(scale) for other in numbers[1:]):
        note = (
            f"The protocols of this run use different scales for {criterion}. Rate on the scale of "
            f"{protocol.id}."
        )
    return LabelQuestion(criterion, subject, scale, keyed_levels(scale), numbers[0], note)


def _values(scale: Scale | None) -> tuple[object, ...]:
    """What two scales must have in common for one label to fit both; their texts may differ."""
    return () if scale is None else (scale.low, scale.high, scale.step, scale.best)


def guide_of(protocol: Protocol) -> Guide:
    """The instructions of a protocol."""
    criterion = protocol.criterion_text or (protocol.rubric.criterion if protocol.rubric is not None else "")
    if protocol.asked_criteria:
        criterion = criteria_text(protocol)
    prompt = (("system", protocol.system_text), ("user", protocol.user_text))
    return Guide(
        protocol.title, criterion, protocol.steps, tuple((role, text) for role, text in prompt if text)
    )


def shown_fields(item: Item, protocols: Sequence[Protocol]) -> tuple[str, ...]:
    """The fields that the judge saw. Others may hold a score, or reveal who wrote the text."""
    fields = [
        protocol.field_for(name, item.fields)
        for protocol in protocols
        for name in (*protocol.inputs, *protocol.optional, "rubric")
    ]
    return tuple(name for name in dict.fromkeys(fields) if name is not None)


def sheet_key(run: str, item: str) -> str:
    """A name for an item of a run that says nothing of either and is the same after a restart."""
    return hashlib.blake2s(f"{run}\n{item}".encode(errors="surrogatepass"), digest_size=12).hexdigest()


def left_subject(seed: int, rater: str, item: str) -> Subject:
    """Which response of a pair this rater sees on the left: random with even chances, and always the same."""
    text = f"{seed}\n{rater}\n{item}".encode(errors="surrogatepass")
    return "b" if hashlib.blake2s(text).digest()[0] % 2 else "a"


def asked_of(questions: Sequence[LabelQuestion], left: Subject) -> tuple[ShownQuestion, ...]:
    """The questions in the order in which a rater answers them, the left response first."""
    asked: list[ShownQuestion] = []
    for question in questions:
        if question.subject is None:
            asked.append(ShownQuestion(question, None))
        elif question.subject == left:
            asked.append(ShownQuestion(question, "left"))
        else:
            asked.append(ShownQuestion(question, "right"))
    first = {question.criterion: number for number, question in reversed(list(enumerate(questions)))}
    rank = {"left": 0, "right": 1, None: 2}
    return tuple(sorted(asked, key=lambda ask: (first[ask.question.criterion], rank[ask.side])))


def field_columns(sheet: Sheet, left: Subject) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The fields of the item itself, and those of its two responses: (name, left field, right field)."""
    pairs = {
        name[:-2]
        for name in sheet.fields
        if name.endswith("_a") and f"{name[:-2]}_b" in sheet.fields
    }  # fmt: skip
    alone = [name for name in sheet.fields if name[:-2] not in pairs or name[-2:] not in ("_a", "_b")]
    right = "b" if left == "a" else "a"
    both = [
        (stem, f"{stem}_{left}", f"{stem}_{right}")
        for stem in dict.fromkeys(name[:-2] for name in sheet.fields)
        if stem in pairs
    ]
    return alone, both


def value_of(asked: ShownQuestion, answer: object, left: Subject) -> float | Choice:
    """The label that an answer on the page means, with a and b as in the item; an error for any other
    answer."""
    scale = asked.question.scale
    if scale is None:
        other: Subject = "b" if left == "a" else "a"
        choices: Mapping[object, Choice] = {"left": left, "right": other, "tie": "tie"}
        if not isinstance(answer, str) or answer not in choices:
            raise DataError("The answer is neither left, right nor tie. Choose one of them.")
        return choices[answer]
    if isinstance(answer, bool) or not isinstance(answer, int | float) or abs(answer) > 1e15:
        raise DataError("The answer is not a number. Type a number on the scale.")
    if scale.status_of(answer) != "ok":
        raise DataError(f"{answer:g} is not on the scale {range_text(scale)}. Choose a value that is.")
    return float(answer)


def answer_of(asked: ShownQuestion, value: float | str, left: Subject) -> float | str:
    """The answer on the page that a label stands for: the reverse of `value_of`."""
    if not asked.question.is_choice or value == "tie":
        return value
    return "left" if value == left else "right"


def range_text(scale: Scale) -> str:
    """1 to 5, in steps of 1."""
    if scale.is_nominal:
        return ", ".join(f"{number_text(value)} {name}" for value, name in sorted(scale.names.items()))
    if scale.low is None or scale.high is None:
        return "of the judge"
    ends = f"{number_text(scale.low)} to {number_text(scale.high)}"
    return ends if scale.step is None else f"{ends} in steps of {number_text(scale.step)}"


def best_text(scale: Scale) -> str:
    """Which end is good, in words; empty where that is unknown."""
    if scale.best in ("unknown", "none", "high", "low"):
        return "" if scale.best in ("unknown", "none") else f"{scale.best}er is better"
    assert not isinstance(scale.best, str)
    return f"{number_text(scale.best)} is best"


def stored_label(sheet: Sheet, asked: ShownQuestion, rater: str, value: float | Choice) -> Label:
    """The label that is stored."""
    return Label(
        item=sheet.item.id,
        criterion=asked.question.criterion,
        rater=rater,
        value=value,
        subject=asked.question.subject,
        probability=sheet.probability,
        origin="annotate",
        text_hash=sheet.text_hashes.get(asked.question.criterion) or None,
    )


def text_parts(value: FieldValue) -> tuple[tuple[str, str], ...]:
    """A field as (role, text) parts; the role is empty unless the field is a transcript."""
    if isinstance(value, str):
        return (("", value),)
    return tuple(("", part) if isinstance(part, str) else (part.speaker, part.shown) for part in value)
