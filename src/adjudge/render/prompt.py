"""Renders a protocol and an item into the messages that are sent.

Slots are `{{name}}` and are filled in one pass: judged text that contains `{{reference}}` stays as it
is. There is no logic in a template. The one rule for layout: an empty block slot (`{{examples}}`,
`{{steps}}`, `{{rubric}}`) alone on its line is removed with its line and the blank line after it.

Judged text may be fenced by tags that it cannot close. The tags are the input's name, so that a prompt
reads naturally and its beginning is the same for all items of one source. Only where some text of the
item contains such a tag, in any disguise, do both tags get a suffix: a hash of the fenced text. It is
stable, and no text of the item contains it.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec import structs

from ..errors import DataError, ProtocolError
from ..records import (
    Answer,
    Example,
    FieldValue,
    Image,
    Item,
    Message,
    Order,
    Protocol,
    Rendered,
    Rubric,
    Scale,
)
from .injection import suspicions
from .item_rubric import ItemRubric, rubric_in

CUT = "transcript_cut"
"""The flag of a judgment whose judge saw only a part of a conversation."""

_IGNORED = re.compile(r"[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")


def fenced(name: str, text: str, texts: Iterable[str]) -> str:
    """The text between tags named after its input; `texts` are all texts of the item."""
    tag = name
    if any(_contains_tag(other, name) for other in texts):
        seed = text
        while True:
            suffix = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            tag = f"{name}-{suffix}"
            if not any(suffix in other for other in texts):
                break
            seed += suffix
    return f"<{tag}>\n{text}\n</{tag}>"


def _contains_tag(text: str, name: str) -> bool:
    """Whether the text contains something that a model could read as one of the tags."""
    if "<" not in text and text.isascii():
        return False
    compact = _IGNORED.sub("", unicodedata.normalize("NFKC", text)).casefold()
    tag = name.casefold()
    return f"<{tag}" in compact or f"</{tag}" in compact


USER_SLOTS = frozenset({"rubric", "criterion", "steps"})
"""Slots that the user fills with `--rubric`, `--criterion`, `--steps`."""

PROTOCOL_SLOTS = frozenset({"low", "high", "examples", "system_message"})
"""Slots that the protocol fills."""

ELEMENT_SLOTS = frozenset({"element", "number", "elements", "before"})
"""Slots of a check step: the element, its number, all elements with their numbers, and what stands before the element."""

_BLOCKS = "examples|steps|rubric"
_SLOT = re.compile(rf"^\{{\{{({_BLOCKS})\}}\}}(\n\n?|\Z)|\{{\{{([^\W\d][\w.-]*)\}}\}}", re.MULTILINE)


class Part(NamedTuple):
    """A piece of template text, and the slot after it (none at the end)."""

    literal: str
    slot: str | None
    after: str
    """the line ends that are removed with an empty block slot"""


@lru_cache(maxsize=256)
def parts_of(template: str) -> tuple[Part, ...]:
    """A template split at its slots."""
    parts: list[Part] = []
    end = 0
    for match in _SLOT.finditer(template):
        parts.append(Part(template[end : match.start()], match[1] or match[3], match[2] or ""))
        end = match.end()
    parts.append(Part(template[end:], None, ""))
    return tuple(parts)


@lru_cache(maxsize=256)
def slots_of(template: str) -> tuple[str, ...]:
    """The names of a template's slots in order, with repetitions."""
    return tuple(part.slot for part in parts_of(template) if part.slot is not None)


# Fields, and conversations with numbered turns. Every line of what someone wrote is indented by four spaces, and what
# this program says about it by two or none, so that no text can look like another turn, a tool call or a gap.


class Shown(NamedTuple):
    """A field as the judge sees it."""

    text: str
    images: tuple[Image, ...] = ()
    is_cut: bool = False


def field_text(value: FieldValue) -> str:
    """A field as text: a list line by line, messages as a transcript.

    The content of a message is indented, so that a line of it cannot look like another speaker's turn.
    """
    if isinstance(value, str):
        return value
    if any(isinstance(entry, Message) and not entry.is_plain for entry in value):
        return transcript(value).text
    entries = []
    for entry in value:
        if isinstance(entry, Message):
            lines = entry.content.split("\n")
            entries.append("\n".join([f"{entry.role}:", *(f"  {line}" if line else "" for line in lines)]))
        else:
            entries.append(entry)
    return "\n".join(entries)


def estimated_tokens(text: str) -> int:
    """About one token for four ASCII characters, and for each character of most other scripts."""
    n_ascii = len(text.encode("ascii", "ignore"))
    return n_ascii // 4 + (len(text) - n_ascii)


_LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_TOOL_NAME = re.compile(r"[\w.:/-]{1,128}")
_HEAD_SHARE = 4
"""Of what is shown of a conversation that is too long, a quarter is its beginning."""
_PIECE_SHARE = 8
"""One text of a conversation that is too long takes an eighth at most, a quarter in the first and the last turn."""


def transcript(value: FieldValue, most_tokens: int | None = None, n_images: int = 0) -> Shown:
    """A conversation with numbered turns, tool calls and results; `n_images` are shown before it.

    One that is longer than about `most_tokens` loses the middle of long texts, then turns in the middle. The gaps say what
    is missing; the first and the last turn always stay.
    """
    turns = _turns_of(value)
    tokens = [turn.tokens for turn in turns]
    if most_tokens is None or sum(tokens) <= most_tokens:
        return _joined(turns, n_images, is_cut=False)
    for place, turn in enumerate(turns):
        share = _PIECE_SHARE // 2 if place in (0, len(turns) - 1) else _PIECE_SHARE
        turn.shorten(max(50, most_tokens // share))
    tokens = [turn.tokens for turn in turns]
    if sum(tokens) <= most_tokens:
        return _joined(turns, n_images, is_cut=True)
    first, last = 1, len(turns) - 1
    used = tokens[0] + (tokens[last] if last else 0)
    while first < last and sum(tokens[:first]) + tokens[first] <= most_tokens // _HEAD_SHARE:
        used += tokens[first]
        first += 1
    while last - 1 >= first and used + tokens[last - 1] <= most_tokens:
        last -= 1
        used += tokens[last]
    kept = [*turns[:first], _gap(turns[first:last]), *turns[last:]] if first < last else turns
    return _joined(kept, n_images, is_cut=True)


class _Turn:
    """One turn as pieces: each a line that says what it is, and the text below it."""

    def __init__(self, heading: str, number: int = 0) -> None:
        self.heading, self.number = heading, number
        self.pieces: list[tuple[str, str]] = []
        self.images: list[Image] = []

    def add(self, line: str, text: str) -> None:
        self.pieces.append((line, text))

    @property
    def tokens(self) -> int:
        return estimated_tokens(self.heading) + sum(
            estimated_tokens(line) + estimated_tokens(text) for line, text in self.pieces
        )

    def shorten(self, most: int) -> None:
        """Take out the middle of texts that are longer than `most` tokens."""
        for place, (line, text) in enumerate(self.pieces):
            tokens = estimated_tokens(text)
            if tokens > most:
                kept = len(text) * most // tokens
                start, end = kept * 2 // 3, len(text) - kept // 3
                gap = f"  [… {end - start:,} characters left out …]"
                self.pieces[place] = (line, f"{_indented(text[:start])}\n{gap}\n{_indented(text[end:])}")
            else:
                self.pieces[place] = (line, _indented(text) if text else "")

    def lines(self, first_image: int, is_indented: bool) -> Iterator[str]:
        if self.heading:
            yield self.heading
        for line, text in self.pieces:
            if line:
                yield line
            if text:
                yield text if is_indented else _indented(text)
        for number, image in enumerate(self.images, first_image):
            yield f"  shows image {number} {image.label}"


def _indented(text: str) -> str:
    return "    " + _LINE_END.sub(lambda end: f"{end[0]}    ", text)


def _turns_of(value: FieldValue) -> list[_Turn]:
    turns: list[_Turn] = []
    names: dict[str, str] = {}
    for entry in (value,) if isinstance(value, str) else value:
        message = entry if isinstance(entry, Message) else Message("entry", entry)
        if not message.continues or not turns:
            turns.append(_Turn(_heading(message, len(turns) + 1, names), len(turns) + 1))
        turn = turns[-1]
        if message.content:
            said = "  says" if turn.pieces or turn.images else ""
            turn.add("  thinks" if message.is_thought else said, message.content)
        turn.images += message.images
        for call in message.tool_calls:
            names[call.id] = call.name
            identity = f", id {_quoted(call.id)}" if call.id else ""
            turn.add(f"  calls {_quoted(call.name)}{identity}{_fault_in(call.arguments)}", call.arguments)
    return turns


def _heading(message: Message, number: int, names: Mapping[str, str]) -> str:
    heading = f"[turn {number}] {message.role}"
    name = message.name or (names.get(message.tool_call_id, "") if message.tool_call_id else "")
    if name:
        heading += f" {_quoted(name)}"
    if message.tool_call_id:
        heading += f", result of {_quoted(message.tool_call_id)}"
    return f"{heading} (the tool failed)" if message.is_error else heading


def _quoted(name: str) -> str:
    """The name of a tool or a call as the model wrote it; in quotation marks where it is unlike a name."""
    return name if _TOOL_NAME.fullmatch(name) else json.dumps(name[:200])


def _fault_in(arguments: str) -> str:
    """A remark about arguments that are not JSON: a judge may not see a missing bracket."""
    try:
        msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return " (the arguments are not valid JSON)"
    return ""


def _gap(turns: Sequence[_Turn]) -> _Turn:
    n_images = sum(len(turn.images) for turn in turns)
    images = f" with {n_images} image{'s' if n_images > 1 else ''}" if n_images else ""
    tokens = sum(turn.tokens for turn in turns)
    which = f"turns {turns[0].number} to {turns[-1].number}" if len(turns) > 1 else f"turn {turns[0].number}"
    return _Turn(f"[{which} left out{images}: about {tokens:,} tokens]")


def _joined(turns: Sequence[_Turn], n_images: int, *, is_cut: bool) -> Shown:
    lines: list[str] = []
    images: list[Image] = []
    for turn in turns:
        lines += turn.lines(n_images + len(images) + 1, is_cut)
        images += turn.images
    return Shown("\n".join(lines), tuple(images), is_cut)


def numbered_text(entries: Iterable[str], first: int = 1) -> str:
    """Entries with their numbers in brackets; further lines are indented, so that none looks like another entry."""
    blocks = []
    for number, entry in enumerate(entries, first):
        lines = entry.split("\n")
        blocks.append(
            "\n".join([f"[{number}] {lines[0]}", *(f"    {line}" if line else "" for line in lines[1:])])
        )
    return "\n".join(blocks)


def entry_texts(value: FieldValue) -> tuple[str, ...]:
    """The entries of a list as texts; a text is its only entry."""
    if isinstance(value, str):
        return (value,)
    return tuple(entry if isinstance(entry, str) else field_text((entry,)) for entry in value)


_FIELDS_SHOWN = 20


def _found(item: Item) -> str:
    names = sorted(item.fields)
    more = ", …" if len(names) > _FIELDS_SHOWN else ""
    return f"found: {', '.join(names[:_FIELDS_SHOWN])}{more}" if names else "the item has no other fields"


def problems_of(protocol: Protocol, item: Item) -> list[str]:
    """Why the protocol cannot judge the item, each with what to do; empty where it can."""
    problems = [
        f"field '{name}' is missing or empty ({_found(item)}); protocol {protocol.id} needs it. {_remedy(protocol, name)}"
        for name in protocol.inputs
        if protocol.field_for(name, item.fields) is None
    ]
    if protocol.at_least_one and not any(
        protocol.field_for(name, item.fields) is not None for name in protocol.at_least_one
    ):
        names = ", ".join(protocol.at_least_one)
        problems.append(
            f"none of the fields {names} is given; protocol {protocol.id} needs at least one of them."
        )
    for name, other in protocol.refuses.items():
        if name in item.fields:
            problems.append(
                f"has a field '{name}', which protocol {protocol.id} would never show to the judge. "
                f"Use {other}, which takes it, or remove the field."
            )
    if protocol.rubric is None:
        problems += _rubric_problems(protocol, item)
    problems += _transcript_problems(protocol, item)
    return problems + _example_problems(protocol)


def _rubric_problems(protocol: Protocol, item: Item) -> list[str]:
    """Why a protocol that was given no rubric finds none in the item either."""
    parts = [name for name in protocol.alias.values() if name.startswith("rubric.")]
    brought = rubric_in(item.fields)
    if brought is not None and (parts or "rubric" in protocol.takes):
        scales = [scale for scale in protocol.criteria.values() if scale is not None]
        return brought.problems(protocol.id, scales[0] if scales else None, parts)
    if parts:
        return [
            f"protocol {protocol.id} needs a rubric. Give one with --rubric FILE, or in the item's fields orig_criteria, "
            "orig_score1_description, …"
        ]
    if "rubric" not in protocol.takes or "rubric" in item.fields:
        return []
    if "criterion" not in protocol.takes:
        return [
            f"protocol {protocol.id} needs a rubric. Give one with --rubric FILE, or as a field 'rubric' of the item "
            "(or orig_criteria, orig_score1_description, …)."
        ]
    if not protocol.criterion_text:
        return [f'protocol {protocol.id} needs a criterion. Give one with --criterion "…" or --rubric FILE.']
    return []


def _transcript_problems(protocol: Protocol, item: Item) -> list[str]:
    """Fields that are no conversation where the protocol needs one, and images that cannot be shown."""
    problems = []
    for name in (*protocol.inputs, *protocol.optional):
        field = protocol.field_for(name, item.fields)
        value = item.fields[field] if field is not None else ""
        if isinstance(value, str):
            continue
        messages = [entry for entry in value if isinstance(entry, Message)]
        if name in protocol.transcripts and not messages:
            problems.append(
                f"field '{field}' is a list without messages; protocol {protocol.id} needs a conversation. "
                'Give a list of {"role": …, "content": …}, or one text.'
            )
        if protocol.answer.reader == "likelihood" and any(message.images for message in messages):
            problems.append(
                f"field '{field}' has an image, and protocol {protocol.id} asks for the likelihood of a text. "
                "Use a protocol that asks for a reply."
            )
    return problems


def images_in(protocol: Protocol, item: Item) -> bool:
    """Whether the judge is to see images of this item."""
    names = (*protocol.inputs, *protocol.optional)
    fields = (protocol.field_for(name, item.fields) for name in names)
    values = (item.fields[field] for field in fields if field is not None)
    return any(
        isinstance(entry, Message) and entry.images
        for value in values
        if not isinstance(value, str)
        for entry in value
    )


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
    flags = ["input_missing"] if any(name not in absent for name in filler.missing) else []
    if filler.is_cut:
        flags.append(CUT)
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
        self.is_cut = False
        for name in names:
            source = _swapped(name, names) if order == "ba" else name
            field = protocol.field_for(source, item.fields)
            if field is not None:
                self.texts[name] = self._shown(name, item.fields[field])
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
            return self.item_rubric.part(part) if self.item_rubric else _rubric_part(protocol, part)
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
    """A number without a trailing .0: 5, not 5.0."""
    return str(int(value)) if value == int(value) else repr(value)


def written_answer(answer: Answer, value: str) -> str:
    """A value as a judge writes it in a reply that is not JSON: with its tag, marker or label."""
    if answer.reader == "tag":
        return f"<{answer.tag}>{value}</{answer.tag}>"
    if answer.reader == "marker":
        return f"{answer.marker} {value}"
    if answer.reader == "label" and answer.labels:
        return f"{answer.labels[0]}: {value}"
    return value


def _rubric_text(protocol: Protocol, rubric: Rubric) -> str:
    """The criterion and a line for each level; the levels alone where {{criterion}} shows the criterion."""
    levels = [f"Score {number_text(level)}: {text}" for level, text in sorted(rubric.scale.levels.items())]
    if rubric.scale.is_nominal:
        levels = [
            f"- {rubric.scale.names[level]}: {text}" for level, text in sorted(rubric.scale.levels.items())
        ]
    has_criterion_slot = "criterion" in slots_of(protocol.user_text)
    return "\n".join(levels if has_criterion_slot else [rubric.criterion, *levels])


def _rubric_part(protocol: Protocol, part: str) -> str:
    """One part of a rubric, for imported prompts with a slot for each level."""
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
    """Prompts with slots for one example need exactly one; others take any number. Examples show no images."""
    values = [value for example in protocol.examples for value in example.fields.values()]
    if any(isinstance(entry, Message) and entry.images for value in values for entry in value):
        return [
            "an example in the file given with --examples has an image. Examples show texts only: leave it out."
        ]
    if protocol.answer.reader == "likelihood" and any(
        example.kind == "negative" for example in protocol.examples
    ):
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
    """`response_b` for `response_a` and the reverse; a name without a counterpart stays."""
    suffixes = {"_a": "_b", "_b": "_a"}
    other = name[:-2] + suffixes.get(name[-2:], name[-2:])
    return other if other in names else name


def _remedy(protocol: Protocol, name: str) -> str:
    without_reference = protocol.id.removesuffix("-reference")
    if name == "reference" and without_reference != protocol.id:
        return f"Add it, or use {without_reference}, which judges without a reference."
    return f"Add it, or name the field that holds it with --map {name}=FIELD."
