"""Renders a protocol and an item into typed questions about texts, for decision models.

The judged texts are the input, one message for each field; the criterion is the instructions of a question;
the levels of its scale are the options. What each option means on the protocol's scale is part of the
question, so that an answer can be read from the stored call alone. Nothing here knows a wire format.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import get_args

import msgspec
from msgspec import structs

from ..errors import DataError, ProtocolError
from ..records import (
    QUESTIONS,
    Choice,
    Item,
    Message,
    Option,
    Order,
    Protocol,
    Question,
    QuestionForm,
    QuestionType,
    Rendered,
    Scale,
    Subject,
)
from .fields import field_text
from .injection import suspicions
from .item_problems import problems_of
from .prompt import Filler, constants_of
from .question_forms import in_form
from .slots import parts_of
from .written_answer import number_text

INPUT = "input"
"""The role of a message that holds one field of the input, named after it."""

MOST_OPTIONS = 255
"""The most options of a question that OpenAI's format takes."""

_PARTS = 10
"""Of a scale without a step and without whole numbers between its ends."""

_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_encode = msgspec.json.Encoder().encode


def render_questions(
    protocol: Protocol,
    item: Item,
    order: Order = "ab",
    absent: Container[str] = frozenset(),
    elements: Sequence[int] = (),
) -> Rendered:
    """The input and the questions for one item; about each of
    `elements`, where a step checks several in one call.
    """
    problems = problems_of(protocol, item)
    if problems:
        where = f"item {item.id!r}" + (f" (line {item.line})" if item.line is not None else "")
        raise DataError("\n".join(f"{where}: {problem}" for problem in problems))
    filler = Filler(protocol, item, order)
    hidden = {"number"} | ({"rubric"} if protocol.rubric is not None else set())
    if elements:
        hidden.add("element")
        filler.texts["elements"] = field_text(item.fields["elements"])
    texts = {name: text for name, text in filler.texts.items() if name not in hidden}
    messages = [Message(INPUT, text, name=name) for name, text in texts.items()]
    if filler.images:
        # A model that takes no images refuses the item before the run.
        messages[-1] = structs.replace(messages[-1], images=filler.images)
    messages.append(Message(QUESTIONS, _encoded(protocol, elements)))
    is_missing = filler.is_unfilled or any(
        name not in texts and name not in absent for name in protocol.optional
    )
    flags = [*(["input_missing"] if is_missing else []), *filler.flags()]
    suspected = {flag for text in texts.values() for flag in suspicions(text)}
    return Rendered(tuple(messages), (*flags, *sorted(suspected)))


def _encoded(protocol: Protocol, elements: Sequence[int]) -> str:
    """The questions as JSON; made once for a protocol whose questions are the same for every item."""
    if elements:
        return _encode(questions_of(protocol, elements)).decode()
    constants = constants_of(protocol)
    if QUESTIONS not in constants:
        constants[QUESTIONS] = _encode(questions_of(protocol)).decode()
    return constants[QUESTIONS]


def questions_of(protocol: Protocol, elements: Sequence[int] = ()) -> tuple[Question, ...]:
    """The questions that a protocol asks; one for each criterion, subject and element, and one for a
    choice."""
    questions: list[Question] = []
    for criterion, subject in _asked(protocol):
        scale = protocol.criteria[criterion]
        assert scale is not None
        kind, options, is_class = _form_of(protocol, criterion, scale)
        if not is_class:
            kind, options = in_form(kind, options, protocol.question_form) or (kind, options)
        instructions = instructions_of(protocol, criterion)
        about = _about(protocol, criterion, subject)
        for element in elements or (None,):
            text = "\n\n".join(filter(None, (instructions, about, _about_element(element))))
            text = _with_meanings(text, kind, options)
            parts = (criterion, subject and f"response_{subject}", None if element is None else str(element))
            name = "-".join(filter(None, parts))
            questions.append(Question(name, kind, text, options, criterion, subject, element, is_class))
    if _has_choice(protocol, bool(questions)):
        questions.append(_choice_question(protocol, instructions_of(protocol)))
    return tuple(_with_names(questions))


def _choice_question(protocol: Protocol, instructions: str) -> Question:
    """Which response of a pair is better."""
    options = _choices(protocol)
    kind, options = in_form("choice", options, protocol.question_form) or ("choice", options)
    return Question("choice", kind, _with_meanings(instructions, kind, options), options)


def _with_meanings(text: str, kind: QuestionType, options: Sequence[Option]) -> str:
    """The instructions of a predicate with what true and false mean."""
    if kind != "predicate":
        return text
    return f"{text}\n\nTrue means: {_said(options[1])}\nFalse means: {_said(options[0])}"


def has_question_form(protocol: Protocol, form: QuestionForm) -> bool:
    """Whether at least one question of a protocol can be put in this form."""
    usual = questions_of(protocol)
    return any(in_form(asked.type, asked.options, form) is not None for asked in usual if not asked.is_class)


def has_levels_without_text(protocol: Protocol) -> list[str]:
    """The criteria whose levels have no text, so that a decision model sees only their numbers."""
    named = bool(protocol.answer.options)
    return [
        name
        for name, scale in protocol.criteria.items()
        if scale is not None and not named and not scale.names and not scale.levels
    ]


def criteria_without_step(protocol: Protocol) -> dict[tuple[float, ...], list[str]]:
    """The levels that are offered for scales without a step, each with the criteria."""
    offered: dict[tuple[float, ...], list[str]] = {}
    for name, scale in protocol.criteria.items():
        if scale is not None and scale.step is None and not (protocol.answer.options or scale.is_nominal):
            offered.setdefault(tuple(offered_levels(scale)), []).append(name)
    return offered


def shows_examples(protocol: Protocol) -> bool:
    """Whether the instructions are the protocol's prompt, which has the examples in it."""
    is_of_user = protocol.asked_criteria or protocol.criterion_text or protocol.rubric is not None
    return not is_of_user


def instructions_of(protocol: Protocol, criterion: str = "") -> str:
    """The criterion in words: the user's, or the protocol's
    prompt with the names of the inputs in their places.
    """
    if (asked := protocol.asked_criteria.get(criterion)) is not None:
        return "\n".join((asked.text, *(f"{number}. {step}" for number, step in enumerate(asked.steps, 1))))
    rubric = protocol.rubric
    if protocol.criterion_text or rubric is not None:
        lines = [protocol.criterion_text or (rubric.criterion if rubric is not None else "")]
        if rubric is not None and protocol.task == "compare":
            lines += [
                f"Score {number_text(level)}: {text}" for level, text in sorted(rubric.scale.levels.items())
            ]
        lines += [f"{number}. {step}" for number, step in enumerate(protocol.steps, 1)]
        return "\n".join(lines)
    return "".join(_named_slots(protocol)).strip()


def _named_slots(protocol: Protocol) -> Iterator[str]:
    filler = Filler(protocol, Item("", {}), "ab")
    inputs = {*protocol.inputs, *protocol.optional, "rubric"}
    for part in parts_of(protocol.user_text):
        yield part.literal
        if part.slot is None:
            continue
        name = protocol.alias.get(part.slot, part.slot)
        if name in inputs or (name.startswith("example.") and not protocol.examples):
            yield f"[{name}]"
        else:
            text = filler.value(part.slot)
            yield text + (part.after if text else "")


def _asked(protocol: Protocol) -> Iterator[tuple[str, Subject | None]]:
    """The scores that the protocol asks for, in the order of its criteria."""
    for name, scale in protocol.criteria.items():
        if scale is not None:
            yield from ((name, subject) for subject in protocol.answer.scored_subjects(name))


def _has_choice(protocol: Protocol, has_scores: bool) -> bool:
    return protocol.task == "compare" and (protocol.answer.choice is not None or not has_scores)


def _form_of(
    protocol: Protocol, criterion: str, scale: Scale
) -> tuple[QuestionType, tuple[Option, ...], bool]:
    """The type of a criterion's question, its options, and whether they are classes."""
    if scale.is_nominal:
        classes = sorted(scale.names.items())
        return (
            "choice",
            tuple(Option(name, scale.levels.get(value, ""), value) for value, name in classes),
            True,
        )
    named = protocol.answer.options
    if named:
        options = tuple(
            Option(label, value=None if value == "none" else float(value)) for label, value in named.items()
        )
        worths = {option.value for option in options}
        if len(options) == len(worths) == 2 and None not in worths:
            return "predicate", tuple(sorted(options, key=lambda option: option.value or 0.0)), False
        return "choice", options, False
    values = offered_levels(scale)
    if len(values) < 2:
        raise ProtocolError(
            f"protocol {protocol.id}: criterion '{criterion}' has no levels that a decision model "
            f"could choose from. Give its scale a step with 2 to {MOST_OPTIONS} levels, or use a "
            "chat judge."
        )
    options = tuple(
        Option(scale.names.get(value, number_text(value)), scale.levels.get(value, ""), value)
        for value in values
    )
    if len({option.label for option in options}) < len(options):
        raise ProtocolError(f"protocol {protocol.id}: two levels of '{criterion}' have one name. Rename one.")
    return "predicate" if len(options) == 2 else "score", options, False


def offered_levels(scale: Scale) -> list[float]:
    """The levels that a question offers, lowest first; empty where a scale is unbounded or has too many.

    A scale without a step is offered its whole numbers, or eleven levels where these are fewer than three.
    """
    if scale.step is not None or scale.low is None or scale.high is None:
        return scale.values(MOST_OPTIONS + 1)
    width = scale.high - scale.low
    step = 1.0 if width >= 2 and width.is_integer() else width / _PARTS
    return structs.replace(scale, step=step).values(MOST_OPTIONS + 1)


def _choices(protocol: Protocol) -> tuple[Option, ...]:
    words = protocol.answer.choices or {"a": "A", "b": "B"}
    fields: dict[str, str] = {
        "a": "response_a is better",
        "b": "response_b is better",
        "tie": "neither is better",
    }
    return tuple(Option(words[side], fields[side], choice=side) for side in get_args(Choice) if side in words)


def _about(protocol: Protocol, criterion: str, subject: Subject | None) -> str:
    """What tells the questions of one call apart."""
    lines = []
    if len([name for name, scale in protocol.criteria.items() if scale is not None]) > 1:
        lines.append(f"Answer for this criterion alone: {criterion}.")
    if subject is not None:
        lines.append(f"Answer for response_{subject} alone.")
    return " ".join(lines)


def _about_element(element: int | None) -> str:
    return "" if element is None else f"Answer for element [{element}] of the input alone."


def _said(option: Option) -> str:
    return f"{option.label}: {option.text}" if option.text else option.label


def _with_names(questions: Sequence[Question]) -> Iterator[Question]:
    """The questions under names that every server takes, each once."""
    taken: set[str] = set()
    for number, question in enumerate(questions, 1):
        name = _NOT_IN_NAME.sub("_", question.name).strip("_")[:60]
        if not name or name in taken:
            name = f"q{number}"
        taken.add(name)
        yield question if name == question.name else structs.replace(question, name=name)
