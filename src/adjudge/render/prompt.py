"""From a protocol and an item to the messages that are sent.

Slots are `{{name}}` and are filled in one pass: a value is never looked at again, so judged text
that contains `{{reference}}` stays as it is. There is no logic in a template. The one rule for
layout: a block slot (`{{examples}}`, `{{steps}}`, `{{rubric}}`) alone on its line that comes out
empty takes its line and the blank line after it along.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from copy import copy
from functools import lru_cache
from typing import NamedTuple

from msgspec import structs

from ..errors import DataError, ProtocolError
from ..records import Example, FieldValue, Item, Message, Order, Protocol, Rendered, Rubric, Scale
from .injection import suspicions

# Tags around judged text that the text itself cannot close.
#
# The tags are the input's own name, so a prompt reads naturally and its beginning is the same for
# all items of one source. Only where some text of the item contains such a tag (in any disguise)
# do both tags get a suffix: a hash of the fenced text. It is stable, and a text cannot contain a
# hash of itself by anything but a search that we repeat against it.


_LOOSE = re.compile(r"[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")


def fenced(name: str, text: str, texts: Iterable[str]) -> str:
    """The text between tags named after its input; `texts` are all texts of the item."""
    tag = name
    if any(_mentions(other, name) for other in texts):
        seed = text
        while True:
            suffix = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            tag = f"{name}-{suffix}"
            if not any(suffix in other for other in texts):
                break
            seed += suffix
    return f"<{tag}>\n{text}\n</{tag}>"


def _mentions(text: str, name: str) -> bool:
    """Whether the text holds something that a reader could take for one of the tags."""
    if "<" not in text and text.isascii():
        return False
    loose = _LOOSE.sub("", unicodedata.normalize("NFKC", text)).casefold()
    wanted = name.casefold()
    return f"<{wanted}" in loose or f"</{wanted}" in loose


GIVEN_SLOTS = frozenset({"rubric", "criterion", "steps"})
"""Slots that the user fills beside the items, with `--rubric`, `--criterion`, `--steps`."""

OWN_SLOTS = frozenset({"low", "high", "examples", "system_message"})
"""Slots that the protocol fills itself."""

_BLOCKS = "examples|steps|rubric"
SLOT = re.compile(rf"^\{{\{{({_BLOCKS})\}}\}}(\n\n?|\Z)|\{{\{{([^\W\d][\w.-]*)\}}\}}", re.MULTILINE)


class Part(NamedTuple):
    """A stretch of template text, and the slot behind it (none at the end)."""

    literal: str
    slot: str | None
    after: str
    """the line ends that a block slot takes along when it is empty"""


@lru_cache(maxsize=256)
def parts_of(template: str) -> tuple[Part, ...]:
    """A template cut at its slots."""
    parts: list[Part] = []
    done = 0
    for found in SLOT.finditer(template):
        parts.append(Part(template[done : found.start()], found[1] or found[3], found[2] or ""))
        done = found.end()
    parts.append(Part(template[done:], None, ""))
    return tuple(parts)


@lru_cache(maxsize=256)
def slots_of(template: str) -> tuple[str, ...]:
    """The names of a template's slots, in order, repeated where they are."""
    return tuple(part.slot for part in parts_of(template) if part.slot is not None)


def field_text(value: FieldValue) -> str:
    """A field as it is shown: a list line by line, messages as a transcript.

    What a message says is indented, so that a line of it cannot pass for another speaker's turn.
    """
    if isinstance(value, str):
        return value
    shown = []
    for entry in value:
        if isinstance(entry, Message):
            lines = entry.content.split("\n")
            shown.append("\n".join([f"{entry.role}:", *(f"  {line}" if line else "" for line in lines)]))
        else:
            shown.append(entry)
    return "\n".join(shown)


def problems_of(protocol: Protocol, item: Item) -> list[str]:
    """Why this item cannot be judged by this protocol, each with what to do; none: it can."""
    problems = [
        f"field '{name}' is missing; protocol {protocol.id} needs it. {_remedy(protocol, name)}"
        for name in protocol.inputs
        if name not in item.fields
    ]
    if protocol.at_least_one and not any(name in item.fields for name in protocol.at_least_one):
        names = ", ".join(protocol.at_least_one)
        problems.append(
            f"none of the fields {names} is there; protocol {protocol.id} needs at least one of them."
        )
    for name, other in protocol.refuses.items():
        if name in item.fields:
            problems.append(
                f"has a field '{name}', which protocol {protocol.id} would never show to the judge. "
                f"Use {other}, which takes it, or remove the field."
            )
    if "rubric" in protocol.takes and protocol.rubric is None and "rubric" not in item.fields:
        if "criterion" not in protocol.takes:
            problems.append(
                f"protocol {protocol.id} needs a rubric. Give one with --rubric FILE, or as a field 'rubric'."
            )
        elif not protocol.criterion_text:
            problems.append(
                f'protocol {protocol.id} needs a criterion. Give one with --criterion "…" or --rubric FILE.'
            )
    if protocol.rubric is None and any(name.startswith("rubric.") for name in protocol.alias.values()):
        problems.append(f"protocol {protocol.id} needs a rubric. Give one with --rubric FILE.")
    return problems + _example_problems(protocol)


def render(protocol: Protocol, item: Item, order: Order = "ab") -> Rendered:
    """The messages for one item, in the order asked for. Raises where the item lacks an input."""
    problems = problems_of(protocol, item)
    if problems:
        where = f"item {item.id!r}" + (f" (line {item.line})" if item.line is not None else "")
        raise DataError("\n".join(f"{where}: {problem}" for problem in problems))
    filler = _Filler(protocol, item, order)
    messages = _messages(protocol, filler)
    flags = ["input_missing"] if filler.missing else []
    found = {flag for text in filler.texts.values() for flag in suspicions(text)}
    targets = targets_of(protocol)
    if len(targets) == 2:
        # Each given the other: what is asked first stands as an answer between the two prompts.
        messages.append(Message("assistant", filler.texts[targets[0]]))
        messages += _messages(protocol, filler.exchanged(*targets))
    return Rendered(
        messages=tuple(messages),
        flags=(*flags, *sorted(found)),
        target=filler.texts[targets[-1]] if targets else None,
    )


def _messages(protocol: Protocol, filler: _Filler) -> list[Message]:
    messages = [Message("user", filler.fill(protocol.user_text))]
    # A prompt that pastes the system text into the user text sends it there only.
    if protocol.system_text and "system_message" not in slots_of(protocol.user_text):
        messages.insert(0, Message("system", filler.fill(protocol.system_text)))
    return messages


def targets_of(protocol: Protocol) -> tuple[str, ...]:
    """The inputs whose likelihood is asked: none, one, or two that are each asked given the other."""
    return tuple(name.strip() for name in (protocol.answer.target or "").split(",") if name.strip())


class _Filler:
    """Fills the slots of one item's prompt, and remembers which inputs were not there."""

    def __init__(self, protocol: Protocol, item: Item, order: Order) -> None:
        self.protocol = protocol
        self.missing: list[str] = []
        shown = (*protocol.inputs, *protocol.optional, "rubric")
        self.texts = {name: field_text(item.fields[name]) for name in shown if name in item.fields}
        if order == "ba":
            self.texts = {_swapped(name, shown): text for name, text in self.texts.items()}
        self._is_exchanged = False

    def exchanged(self, one: str, other: str) -> _Filler:
        """The same, with two inputs in each other's place; in the examples, too."""
        twin = copy(self)
        twin.texts = {**self.texts, one: self.texts[other], other: self.texts[one]}
        twin._is_exchanged = not self._is_exchanged
        return twin

    def fill(self, template: str) -> str:
        filled: list[str] = []
        for part in parts_of(template):
            filled.append(part.literal)
            if part.slot is not None:
                text = self._value(part.slot)
                filled.append(text)
                # An empty block leaves no hole behind.
                filled.append(part.after if text else "")
        return "".join(filled)

    def _value(self, slot: str) -> str:
        protocol = self.protocol
        name = protocol.alias.get(slot, slot)
        whole, dot, part = name.partition(".")
        if dot and whole == "rubric":
            return _rubric_part(protocol, part)
        if dot and whole == "example":
            return _example_part(protocol.examples[0], part)
        if name in self.texts and (name != "rubric" or protocol.rubric is None):
            return self._fenced(name, self.texts[name], list(self.texts.values()))
        if name in protocol.optional:
            self.missing.append(name)
            return protocol.not_given
        known = _constants_of(protocol)
        key = f"{name}, exchanged" if self._is_exchanged else name
        if key not in known:
            known[key] = self._examples() if name == "examples" else _own_value(protocol, name)
        return known[key]

    def _fenced(self, name: str, text: str, texts: list[str]) -> str:
        return fenced(name, text, texts) if self.protocol.fence else text

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
            every = [*texts.values(), example.judgment]
            shown = (*self.protocol.inputs, *self.protocol.optional)
            lines += [self._fenced(name, texts[name], every) for name in shown if name in texts]
            lines += [f"{words.judgment}:", self._fenced("judgment", example.judgment, every)]
            blocks.append("\n".join(lines))
        return "\n\n".join(blocks)

    def _demonstration(self, example: Example) -> str:
        """An example as what is asked of an item: its prompt, and the text that goes on from it."""
        alone = structs.replace(self.protocol, examples=())
        shown = _Filler(alone, Item("", example.fields), "ab")
        targets = targets_of(self.protocol)
        if self._is_exchanged:
            shown = shown.exchanged(*targets)
        # The two filled in turn: the input that is asked first stands where the prompt ends.
        return shown.fill(alone.user_text) + shown.texts[targets[0]]


_MOST_PROTOCOLS = 64
_constants: dict[int, tuple[Protocol, dict[str, str]]] = {}


def _constants_of(protocol: Protocol) -> dict[str, str]:
    """The slots that say the same for every item, as far as they were filled before.

    Kept by identity, because a protocol has no hash; the protocol is kept too, so that its place in memory
    cannot become another's.
    """
    known = _constants.get(id(protocol))
    if known is None:
        if len(_constants) >= _MOST_PROTOCOLS:
            _constants.clear()
        known = _constants[id(protocol)] = (protocol, {})
    return known[1]


def _own_value(protocol: Protocol, name: str) -> str:
    """The slots that do not come from the item."""
    if name == "rubric":
        return _rubric_text(protocol, protocol.rubric) if protocol.rubric else ""
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


def number_text(value: float) -> str:
    """A number as people write it: 5, not 5.0."""
    return str(int(value)) if value == int(value) else repr(value)


def _rubric_text(protocol: Protocol, rubric: Rubric) -> str:
    """The criterion and a line for each level; the levels alone where {{criterion}} says the rest."""
    levels = [f"Score {number_text(level)}: {text}" for level, text in sorted(rubric.scale.levels.items())]
    is_said = "criterion" in slots_of(protocol.user_text)
    return "\n".join(levels if is_said else [rubric.criterion, *levels])


def _rubric_part(protocol: Protocol, part: str) -> str:
    """One piece of a rubric, for imported prompts that lay out each level themselves."""
    rubric = protocol.rubric
    if rubric is None:
        raise DataError(f"protocol {protocol.id} needs a rubric. Give one with --rubric FILE.")
    if part == "criterion":
        return rubric.criterion
    text = rubric.scale.levels.get(float(part))
    if text is None:
        raise DataError(
            f"protocol {protocol.id} shows a level {part}, which the rubric '{rubric.name}' does not describe. "
            f"Add it under [levels], or use a protocol that takes any number of levels, such as prometheus/direct."
        )
    return text


def _example_part(example: Example, part: str) -> str:
    return example.judgment if part == "judgment" else field_text(example.fields[part])


def _example_problems(protocol: Protocol) -> list[str]:
    """Prompts with slots for one example need exactly one; the others take any number."""
    if protocol.answer.reader == "likelihood" and any(one.kind == "negative" for one in protocol.examples):
        return [
            f"protocol {protocol.id} asks how likely a response is after the examples: a negative one would make "
            "bad responses likelier. Leave negative examples out of the file."
        ]
    if not any(name.startswith("example.") for name in protocol.alias.values()):
        return []
    if len(protocol.examples) == 1:
        return []
    return [
        f"protocol {protocol.id} has slots for exactly one example and was given {len(protocol.examples)}. "
        "Give a file with one example with --examples FILE."
    ]


def _only_scale(protocol: Protocol) -> Scale:
    scales = [scale for scale in protocol.criteria.values() if scale is not None]
    if not scales:
        raise ProtocolError(f"{protocol.id}: {{{{low}}}} and {{{{high}}}} need a criterion with a scale.")
    return scales[0]


def _swapped(name: str, names: tuple[str, ...]) -> str:
    """`response_b` for `response_a` and the reverse; a name without a twin stays."""
    twins = {"_a": "_b", "_b": "_a"}
    twin = name[:-2] + twins.get(name[-2:], name[-2:])
    return twin if twin in names else name


def _remedy(protocol: Protocol, name: str) -> str:
    without = protocol.id.removesuffix("-reference")
    if name == "reference" and without != protocol.id:
        return f"Add it, or use {without}, which judges without a reference."
    return f"Add it, or name the field that holds it with --map {name}=FIELD."
