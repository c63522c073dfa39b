"""Conversations with numbered turns, as a judge sees them; long ones lose their middle.

Every line of what someone wrote is indented by four spaces, and what this program says about it by two or
none, so that no text can look like another turn, a tool call or a gap.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ..records import FieldValue, Image, Message

CUT = "transcript_cut"
"""The flag of a judgment whose judge saw only a part of a conversation."""


# Fields, and conversations with numbered turns. Every line of what someone wrote is indented by four spaces,
# and what this program says about it by two or none, so that no text can look like another turn, a tool call
# or a gap.


class ShownField(NamedTuple):
    """A field as the judge sees it."""

    text: str
    images: tuple[Image, ...] = ()
    is_cut: bool = False


def estimated_tokens(text: str) -> int:
    """About one token for four ASCII characters, and for each character of most other scripts."""
    n_ascii = len(text.encode("ascii", "ignore"))
    return n_ascii // 4 + (len(text) - n_ascii)


_LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


_TOOL_NAME = re.compile(r"[\w.:/-]{1,128}")


_HEAD_SHARE = 4
"""Of what is shown of a conversation that is too long, a quarter is its beginning."""


_PIECE_SHARE = 8
"""One text of a conversation that is too long takes an
eighth at most, a quarter in the first and the last turn.
"""


def transcript(value: FieldValue, most_tokens: int | None = None, n_images: int = 0) -> ShownField:
    """A conversation with numbered turns, tool calls and results; `n_images` are shown before it.

    One that is longer than about `most_tokens` loses the middle of long texts, then turns in the middle. The
    gaps say what is missing; the first and the last turn always stay.
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


def _joined(turns: Sequence[_Turn], n_images: int, *, is_cut: bool) -> ShownField:
    lines: list[str] = []
    images: list[Image] = []
    for turn in turns:
        lines += turn.lines(n_images + len(images) + 1, is_cut)
        images += turn.images
    return ShownField("\n".join(lines), tuple(images), is_cut)
