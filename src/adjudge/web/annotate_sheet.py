"""What a rater is asked, and what an answer means: questions, levels with their keys, and sides that are shuffled.

Pure: knows no store, no page and no judge's score. What a rater is shown holds neither the item's id nor a
system's name, since either may tell who wrote a text; an answer comes back as the number of a question and a
value, and only here does it become a label in the item's own frame.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ..data.spreadsheet import STARTS
from ..errors import DataError
from ..records import Choice, FieldValue, Item, Label, Protocol, Scale, Subject
from ..render.prompt import number_text

Side = Literal["left", "right"]
Part = tuple[str, Subject | None]
"""a criterion, and which response of a pair it is about"""

RATED = Scale(low=1, high=5, best=5, step=1)
"""What people rate on where the judge's numbers are log-probabilities: nobody can give those."""

MOST_BUTTONS = 21
LONGEST_NAME = 60


class Level(Struct, frozen=True):
    """One value of a scale as it is offered: with its name, what it means, and its key."""

    value: float
    shown: str
    name: str
    text: str
    key: str
    """the digit that gives it; empty where the scale needs more than one digit"""


class Question(Struct, frozen=True):
    """One thing that is asked of every item."""

    criterion: str
    subject: Subject | None
    scale: Scale | None
    """none: which response is better"""
    levels: tuple[Level, ...]
    """empty where there are too many to offer each: the rater types a number"""
    guide: int
    """which of the guides stands beside it"""
    note: str = ""

    @property
    def is_choice(self) -> bool:
        return self.scale is None

    @property
    def is_keyed(self) -> bool:
        return bool(self.levels) and all(level.key for level in self.levels)


class Guide(Struct, frozen=True):
    """What the judge was told, for the rater to go by the same."""

    title: str
    criterion: str
    steps: tuple[str, ...]
    told: tuple[tuple[str, str], ...]
    """(role, text) of the prompt, its slots unfilled"""


class Sheet(Struct, frozen=True):
    """One item to label."""

    key: str
    """names it in addresses and posts, and says nothing of the item"""
    item: Item
    fields: tuple[str, ...]
    probability: float


class Asked(Struct, frozen=True):
    """A question as one rater sees it: of the left or the right response."""

    question: Question
    side: Side | None


def rater_name(name: object) -> str:
    """The name by which a rater's labels are kept, or an error that says what is wrong with it."""
    if not isinstance(name, str) or not name.strip():
        raise DataError("A rater needs a name. Labels are kept by it.")
    text = unicodedata.normalize("NFC", name.strip())
    if len(text) > LONGEST_NAME:
        raise DataError(f"The rater's name has {len(text)} characters. Use at most {LONGEST_NAME}.")
    if any(unicodedata.category(character)[0] == "C" for character in text):
        raise DataError("The rater's name holds characters that cannot be seen. Leave them out.")
    if text.startswith(STARTS):
        raise DataError(
            f"A name that begins with {text[0]} is a formula to a spreadsheet. Begin with a letter."
        )
    return text


def levels_of(scale: Scale) -> tuple[Level, ...]:
    """The levels of a scale, each with its key if every one is a single digit; none where there are too many."""
    if scale.low is None or scale.high is None or scale.step is None:
        return ()
    n = math.floor((scale.high - scale.low) / scale.step + 1e-9) + 1
    if not 2 <= n <= MOST_BUTTONS:
        return ()
    values = [round(scale.low + place * scale.step, 9) for place in range(n)]
    is_keyed = all(value in range(10) for value in values)
    return tuple(
        Level(
            value=value,
            shown=number_text(value),
            name=scale.names.get(value, ""),
            text=scale.levels.get(value, ""),
            key=number_text(value) if is_keyed else "",
        )
        for value in values
    )


def questions_of(
    parts: Iterable[Part], protocols: Sequence[Protocol], criteria: Sequence[str] = ()
) -> tuple[Question, ...]:
    """A question for each criterion and subject that the run has results of, or for those criteria that are named."""
    found = list(dict.fromkeys(parts))
    known = list(dict.fromkeys(criterion for criterion, _ in found))
    unknown = [name for name in criteria if name not in known]
    if unknown:
        raise DataError(
            f"--criterion {unknown[0]}: the run has no such criterion. It has {', '.join(known)}."
        )
    return tuple(
        _question(criterion, subject, protocols)
        for criterion, subject in found
        if not criteria or criterion in criteria
    )


def _question(criterion: str, subject: Subject | None, protocols: Sequence[Protocol]) -> Question:
    judged = [place for place, protocol in enumerate(protocols) if criterion in protocol.criteria]
    place = judged[0]
    protocol = protocols[place]
    own = protocol.criteria[criterion]
    if own is None or (protocol.task == "compare" and subject is None):
        return Question(criterion, subject, None, (), place)
    note = ""
    scale = own
    if own.low is None and own.high is None:
        scale = RATED
        note = "The judge gives log-probabilities. Rate from 1 (worst) to 5 (best): the order is what is compared."
    elif any(_values(protocols[other].criteria[criterion]) != _values(own) for other in judged[1:]):
        note = f"Protocols of this run differ in the scale of {criterion}. Rate on that of {protocol.id}."
    return Question(criterion, subject, scale, levels_of(scale), place, note)


def _values(scale: Scale | None) -> tuple[object, ...]:
    """What two scales must have in common for one label to be on both; texts may differ."""
    return () if scale is None else (scale.low, scale.high, scale.step, scale.best)


def guide_of(protocol: Protocol) -> Guide:
    """What the judge was told."""
    said = protocol.criterion_text or (protocol.rubric.criterion if protocol.rubric is not None else "")
    told = (("system", protocol.system_text), ("user", protocol.user_text))
    return Guide(protocol.title, said, protocol.steps, tuple((role, text) for role, text in told if text))


def shown_fields(item: Item, protocols: Sequence[Protocol]) -> tuple[str, ...]:
    """The fields that the judge was shown. Others may hold a score, or say who wrote the text."""
    names = [name for one in protocols for name in (*one.inputs, *one.optional, "rubric")]
    return tuple(name for name in dict.fromkeys(names) if name in item.fields)


def sheet_key(run: str, item: str) -> str:
    """A name for an item of a run that says nothing of either and is the same after a restart."""
    return hashlib.blake2s(f"{run}\n{item}".encode(errors="surrogatepass"), digest_size=12).hexdigest()


def left_subject(seed: int, rater: str, item: str) -> Subject:
    """Which response of a pair this rater sees on the left: even chances, and the same at every look."""
    text = f"{seed}\n{rater}\n{item}".encode(errors="surrogatepass")
    return "b" if hashlib.blake2s(text).digest()[0] % 2 else "a"


def asked_of(questions: Sequence[Question], left: Subject) -> tuple[Asked, ...]:
    """The questions in the order in which a rater answers them: of two responses the left one first."""
    asked: list[Asked] = []
    for question in questions:
        if question.subject is None:
            asked.append(Asked(question, None))
        elif question.subject == left:
            asked.append(Asked(question, "left"))
        else:
            asked.append(Asked(question, "right"))
    places = {question.criterion: place for place, question in reversed(list(enumerate(questions)))}
    rank = {"left": 0, "right": 1, None: 2}
    return tuple(sorted(asked, key=lambda one: (places[one.question.criterion], rank[one.side])))


def columns_of(sheet: Sheet, left: Subject) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The fields that stand alone, and those of the two responses: (name, left field, right field)."""
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


def value_of(asked: Asked, given: object, left: Subject) -> float | Choice:
    """What an answer means, in the item's frame; an error where the question has no such answer."""
    scale = asked.question.scale
    if scale is None:
        other: Subject = "b" if left == "a" else "a"
        meant: Mapping[object, Choice] = {"left": left, "right": other, "tie": "tie"}
        if not isinstance(given, str) or given not in meant:
            raise DataError("The answer is neither left, right nor tie. Choose one of them.")
        return meant[given]
    if isinstance(given, bool) or not isinstance(given, int | float) or abs(given) > 1e15:
        raise DataError("The answer is not a number. Type a number of the scale.")
    if scale.status_of(given) != "ok":
        raise DataError(f"{given:g} is not on the scale {scale_text(scale)}. Choose a value that is.")
    return float(given)


def given_value(asked: Asked, value: float | str, left: Subject) -> float | str:
    """A label as the rater gave it: the reverse of `value_of`."""
    if not asked.question.is_choice or value == "tie":
        return value
    return "left" if value == left else "right"


def scale_text(scale: Scale) -> str:
    """1 to 5, in steps of 1."""
    if scale.low is None or scale.high is None:
        return "of the judge"
    ends = f"{number_text(scale.low)} to {number_text(scale.high)}"
    return ends if scale.step is None else f"{ends} in steps of {number_text(scale.step)}"


def best_text(scale: Scale) -> str:
    """Which end is good, in words; empty where nobody knows."""
    if scale.best in ("unknown", "high", "low"):
        return "" if scale.best == "unknown" else f"the {scale.best}er the better"
    assert not isinstance(scale.best, str)
    return f"{number_text(scale.best)} is best"


def label_of(sheet: Sheet, asked: Asked, rater: str, value: float | Choice) -> Label:
    """The label that is stored."""
    return Label(
        item=sheet.item.id,
        criterion=asked.question.criterion,
        rater=rater,
        value=value,
        subject=asked.question.subject,
        probability=sheet.probability,
        origin="annotate",
    )


def text_parts(value: FieldValue) -> tuple[tuple[str, str], ...]:
    """A field as paragraphs: (role, text), the role empty where it is no transcript."""
    if isinstance(value, str):
        return (("", value),)
    return tuple(("", part) if isinstance(part, str) else (part.role, part.content) for part in value)
