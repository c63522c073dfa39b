"""Renders a protocol and an item into the messages that are sent.

Slots are filled in one pass: judged text that contains `{{reference}}` stays as it is. There is no logic in a
template.
"""

from __future__ import annotations

from collections.abc import Container
from copy import copy

from msgspec import structs

from ..errors import DataError, ProtocolError
from ..records import (
    EMPTY_RESPONSE,
    Example,
    FieldValue,
    Image,
    Item,
    Message,
    Order,
    Protocol,
    Rendered,
    Scale,
    is_empty,
)
from .fence import fenced
from .fields import entry_texts, field_text, numbered_text
from .injection import suspicions
from .item_problems import problems_of
from .item_rubric import ItemRubric, rubric_in
from .rubric_text import criteria_text, rubric_part, rubric_text
from .slots import parts_of, slots_of
from .transcript import CUT, transcript
from .written_answer import number_text

EMPTY = "(empty)"
"""What the judge sees in the place of an empty response."""


def render(
    protocol: Protocol, item: Item, order: Order = "ab", absent: Container[str] = frozenset()
) -> Rendered:
    """The messages for one item, with the responses in this order. Raises where the item lacks an input.

    `absent` are optional inputs that no item of the run has: that one item lacks them is nothing unusual.
    """
    problems = problems_of(protocol, item)
    if problems:
        where = f"item {item.id!r}" + (f" (line {item.line})" if item.line is not None else "")
        raise DataError("\n".join(f"{where}: {problem}" for problem in problems))
    filler = Filler(protocol, item, order)
    messages = _messages(protocol, filler)
    is_missing = filler.is_unfilled or any(name not in absent for name in filler.missing)
    flags = ["input_missing"] if is_missing else []
    flags += filler.flags()
    suspected = {flag for text in filler.texts.values() for flag in suspicions(text)}
    targets = targets_of(protocol)
    if len(targets) == 2:
        # Two likelihoods, each given the other: the first target is an assistant message between the prompts.
        messages.append(Message("assistant", filler.texts[targets[0]]))
        messages += _messages(protocol, filler.exchanged(*targets))
    return Rendered(
        messages=tuple(messages),
        flags=(*flags, *sorted(suspected)),
        target=filler.texts[targets[-1]] if targets else None,
    )


def _messages(protocol: Protocol, filler: Filler) -> list[Message]:
    messages = [Message("user", filler.fill(protocol.user_text), filler.images)]
    # A prompt with the system text inside the user text sends it there only.
    if protocol.system_text and "system_message" not in slots_of(protocol.user_text):
        messages.insert(0, Message("system", filler.fill(protocol.system_text)))
    return messages


def targets_of(protocol: Protocol) -> tuple[str, ...]:
    """The inputs whose likelihood is scored: none, one, or two that are each scored given the other."""
    return tuple(name.strip() for name in (protocol.answer.target or "").split(",") if name.strip())


class Filler:
    """Fills the slots of one item's prompt, and records which optional inputs are missing."""

    def __init__(self, protocol: Protocol, item: Item, order: Order) -> None:
        self.protocol = protocol
        self.missing: list[str] = []
        names = (*protocol.inputs, *protocol.optional, "rubric")
        self.texts: dict[str, str] = {}
        self.images: tuple[Image, ...] = ()
        self.is_cut = self.is_empty = False
        for name in names:
            source = _swapped(name, names) if order == "ba" else name
            field = protocol.field_for(source, item.fields)
            if field is not None:
                self.texts[name] = self._shown(name, item.fields[field])
        self.is_unfilled = protocol.not_given in self.texts.values()
        self.item_rubric = self._brought_rubric(item)
        self._is_exchanged = False

    def _brought_rubric(self, item: Item) -> ItemRubric | None:
        """The rubric in columns of the item, where the protocol takes one and was given none."""
        protocol = self.protocol
        takes = "rubric" in protocol.takes or any(
            name.startswith("rubric.") for name in protocol.alias.values()
        )
        brought = rubric_in(item.fields) if takes and protocol.rubric is None else None
        if brought is not None and "rubric" in protocol.takes:
            with_criterion = "criterion" not in slots_of(protocol.user_text)
            self.texts.setdefault("rubric", brought.text(with_criterion=with_criterion))
        return brought

    def _shown(self, name: str, value: FieldValue) -> str:
        """The text of a field; its images are numbered in the order in which the judge sees them."""
        if name in self.protocol.judged_inputs and is_empty(value):
            self.is_empty = True
            return EMPTY
        if name in self.protocol.numbered:
            return numbered_text(entry_texts(value))
        is_transcript = not isinstance(value, str) and (
            name in self.protocol.transcripts
            or any(isinstance(entry, Message) and not entry.is_plain for entry in value)
        )
        if not is_transcript:
            return field_text(value)
        shown = transcript(value, self.protocol.transcript_tokens, len(self.images))
        self.images += shown.images
        self.is_cut = self.is_cut or shown.is_cut
        return shown.text

    def flags(self) -> list[str]:
        """What is unusual about the shown texts."""
        return [*([CUT] if self.is_cut else []), *([EMPTY_RESPONSE] if self.is_empty else [])]

    def exchanged(self, first: str, second: str) -> Filler:
        """The same with two inputs exchanged, also in the examples."""
        filler = copy(self)
        filler.texts = {**self.texts, first: self.texts[second], second: self.texts[first]}
        filler._is_exchanged = not self._is_exchanged
        return filler

    def fill(self, template: str) -> str:
        filled: list[str] = []
        for part in parts_of(template):
            filled.append(part.literal)
            if part.slot is not None:
                text = self.value(part.slot)
                filled.append(text)
                # An empty block leaves no blank lines behind.
                filled.append(part.after if text else "")
        return "".join(filled)

    def value(self, slot: str) -> str:
        """What fills a slot."""
        protocol = self.protocol
        name = protocol.alias.get(slot, slot)
        source, dot, part = name.partition(".")
        if dot and source == "rubric":
            return self.item_rubric.part(part) if self.item_rubric else rubric_part(protocol, part)
        if name == "criterion" and self.item_rubric and not protocol.criterion_text:
            return self.item_rubric.criterion
        if dot and source == "example":
            return _example_part(protocol.examples[0], part)
        if name in self.texts and (name != "rubric" or protocol.rubric is None):
            return self._fenced(name, self.texts[name], list(self.texts.values()))
        if name in protocol.optional:
            self.missing.append(name)
            return protocol.not_given
        constants = constants_of(protocol)
        key = f"{name}, exchanged" if self._is_exchanged else name
        if key not in constants:
            constants[key] = self._examples() if name == "examples" else _protocol_value(protocol, name)
        return constants[key]

    def _fenced(self, name: str, text: str, texts: list[str]) -> str:
        # The number of an element is ours.
        return fenced(name, text, texts) if self.protocol.fence and name != "number" else text

    def _examples(self) -> str:
        words, examples = self.protocol.example_words, self.protocol.examples
        if words is None or not examples:
            return ""
        if self.protocol.answer.reader == "likelihood":
            return "\n\n".join(self._demonstration(example) for example in examples)
        blocks = [words.intro]
        counts = {"positive": 0, "negative": 0}
        for example in examples:
            counts[example.kind] += 1
            heading = words.positive if example.kind == "positive" else words.negative
            lines = [f"{heading} {counts[example.kind]}"]
            texts = {name: field_text(value) for name, value in example.fields.items()}
            all_texts = [*texts.values(), example.judgment]
            names = (*self.protocol.inputs, *self.protocol.optional)
            lines += [self._fenced(name, texts[name], all_texts) for name in names if name in texts]
            lines += [f"{words.judgment}:", self._fenced("judgment", example.judgment, all_texts)]
            blocks.append("\n".join(lines))
        return "\n\n".join(blocks)

    def _demonstration(self, example: Example) -> str:
        """An example in the form of an item: its prompt, and the text that continues it."""
        protocol = structs.replace(self.protocol, examples=())
        filler = Filler(protocol, Item("", example.fields), "ab")
        targets = targets_of(self.protocol)
        if self._is_exchanged:
            filler = filler.exchanged(*targets)
        # Where two targets are scored in turn, the prompt ends before the first of them.
        return filler.fill(protocol.user_text) + filler.texts[targets[0]]


_MOST_PROTOCOLS = 64


_constants: dict[int, tuple[Protocol, dict[str, str]]] = {}


def constants_of(protocol: Protocol) -> dict[str, str]:
    """A cache of the slots that are the same for every item.

    Keyed by identity, because a protocol has no hash; the protocol is kept too, so that its id cannot
    be reused.
    """
    entry = _constants.get(id(protocol))
    if entry is None:
        if len(_constants) >= _MOST_PROTOCOLS:
            _constants.clear()
        entry = _constants[id(protocol)] = (protocol, {})
    return entry[1]


def _protocol_value(protocol: Protocol, name: str) -> str:
    """The value of a slot that does not come from the item."""
    if name == "rubric":
        return rubric_text(protocol, protocol.rubric) if protocol.rubric else ""
    if name == "criterion" and protocol.asked_criteria:
        return criteria_text(protocol)
    if name == "criterion":
        return protocol.criterion_text or (protocol.rubric.criterion if protocol.rubric else "")
    if name == "steps":
        return "\n".join(f"{number}. {step}" for number, step in enumerate(protocol.steps, 1))
    if name == "system_message":
        return protocol.system_text
    scale = _only_scale(protocol)
    end = scale.low if name == "low" else scale.high
    if name not in ("low", "high") or end is None:
        raise ProtocolError(
            f"{protocol.id}: nothing fills the slot {{{{{name}}}}}. Add it to the inputs, or remove it."
        )
    return number_text(end)


def _example_part(example: Example, part: str) -> str:
    return example.judgment if part == "judgment" else field_text(example.fields[part])


def _only_scale(protocol: Protocol) -> Scale:
    scales = [scale for scale in protocol.criteria.values() if scale is not None]
    if not scales:
        raise ProtocolError(f"{protocol.id}: {{{{low}}}} and {{{{high}}}} need a criterion with a scale.")
    return scales[0]


def _swapped(name: str, names: tuple[str, ...]) -> str:
    """`response_b` for `response_a` and the reverse; a name without a counterpart stays."""
    suffixes = {"_a": "_b", "_b": "_a"}
    other = name[:-2] + suffixes.get(name[-2:], name[-2:])
    return other if other in names else name
