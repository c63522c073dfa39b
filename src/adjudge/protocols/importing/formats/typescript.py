"""Prompts in a TypeScript or JavaScript file: its strings, template strings above all.

A scanner for strings, comments and brackets, not a parser: enough to know what is text, which name it is
set to and which messages stand in one list.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ..found_prompt import (
    MIN_LITERAL,
    MIN_PLAIN,
    MIN_UNANNOUNCED,
    FoundPrompt,
    Search,
    has_judge_words,
    is_markup,
    is_prompt_name,
    is_prose,
    length_of,
)
from ..placeholders import Slot, template_of, templated

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PLAIN = re.compile(r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"", re.DOTALL)
_SET_TO = re.compile(
    r"(?:(?:const|let|var|readonly|static|export default|return)\s+)?([A-Za-z_$][\w$]*)?\s*"
    r"(?::\s*[\w<>\[\]., |]+?)?\s*(?:=|:|=>)\s*(?:[A-Za-z_$][\w$.]*\s*\(?\s*)?\Z"
)
_FUNCTION = re.compile(
    r"function\s+([A-Za-z_$][\w$]*)|(?:const|let)\s+([A-Za-z_$][\w$]*)\s*=\s*(?:async\s*)?\("
)
_VARIABLE = re.compile(r"(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*(?::[^=\n]{0,200})?=")
_ROLE = re.compile(
    r"role\s*:\s*['\"](system|user|assistant|developer)['\"]\s*,?\s*(?:as const\s*,?\s*)?\Z"
    r"|role\s*:\s*['\"](\w+)['\"]"
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "\n": ""}
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_NAMED = re.compile(r"[A-Za-z_$][\w$]*")
_DEDENT = re.compile(r"\bdedent\s*(?:\.\w+\([^()]*\))?\s*\(?\s*\Z")
_BEFORE = 400
_MOST_NESTED = 20


class _String(Struct, frozen=True):
    """A string of the file: where it begins and ends, its pieces, and the brackets it stands in."""

    start: int
    end: int
    pieces: tuple[str | Slot, ...]
    doubts: tuple[str, ...]
    lists: tuple[int, ...]
    """where the square brackets around it open, the outermost first"""


class _Source(Struct, frozen=True):
    """A file with the places of its line ends, and of its functions and variables by name."""

    text: str
    lines: list[int]
    functions: list[tuple[int, str]]
    variables: list[tuple[int, str]]

    @classmethod
    def of(cls, text: str) -> _Source:
        """The places of a text, each found once."""
        return cls(
            text,
            [match.start() for match in re.finditer("\n", text)],
            [(match.start(), match[1] or match[2]) for match in _FUNCTION.finditer(text)],
            [(match.start(), match[1]) for match in _VARIABLE.finditer(text)],
        )


def prompts_in_typescript(text: str) -> Search:
    """The prompts among the strings of a TypeScript or JavaScript text."""
    search = Search([], [])
    source = _Source.of(text)
    for string in _joined(list(_strings(text)), text):
        if sum(len(piece) for piece in string.pieces if isinstance(piece, str)) < MIN_LITERAL:
            continue
        prompt = _prompt(string, source)
        if _is_prompt(prompt):
            search.prompts.append(prompt)
    grouped = [prompt.group for prompt in search.prompts if prompt.role == "user" and prompt.template.slots]
    search.prompts = [
        prompt if not prompt.group or prompt.group in grouped else replace(prompt, group="")
        for prompt in search.prompts
    ]
    return search


def _is_prompt(prompt: FoundPrompt) -> bool:
    template = prompt.template
    if is_markup(template.literal):
        return False
    announced = bool(prompt.role) or any(is_prompt_name(name) for name in prompt.names)
    if not is_prose(template, MIN_LITERAL if announced else MIN_UNANNOUNCED):
        return False
    if prompt.group and announced:
        return True
    speaks = has_judge_words(template.literal)
    if template.slots:
        return speaks and (announced or length_of(template.literal) >= 2 * MIN_PLAIN)
    return speaks and announced and length_of(template.literal) >= MIN_PLAIN


def _prompt(string: _String, source: _Source) -> FoundPrompt:
    text = source.text
    names = _names(source, string.start)
    before = text[max(0, string.start - _BEFORE) : string.start]
    pieces = list(string.pieces)
    undone = ["The string was read as the language reads it: escapes became the characters they stand for."]
    if _DEDENT.search(before):
        pieces = _dedented(pieces)
        undone.append("The indentation was taken off, as dedent does.")
    role = _role(before)
    inner: list[str | Slot] = []
    for piece in pieces:
        if isinstance(piece, Slot):
            inner.append(piece)
            continue
        template = templated(piece)
        rest = template.text
        for slot in re.findall(r"\{\{([^{}]+)\}\}", template.text):
            if slot in template.slots:
                head, _, rest = rest.partition("{{" + slot + "}}")
                inner += [head, Slot(slot)]
        inner.append(rest)
    return FoundPrompt(
        names=names,
        template=template_of([piece for piece in inner if piece != ""]),
        first_line=bisect_left(source.lines, string.start) + 1,
        last_line=bisect_left(source.lines, string.end) + 1,
        undone=tuple(undone),
        doubts=string.doubts,
        role=role,
        group=f"list at {string.lists[-1]}" if role and string.lists else "",
    )


def _names(source: _Source, start: int) -> tuple[str, ...]:
    """What the string is set to, the function around it, or the variable above."""
    before = source.text[max(0, start - _BEFORE) : start]
    if (set_to := _SET_TO.search(before)) and set_to[1] and set_to[1] not in ("return", "content"):
        return (set_to[1],)
    for named in (source.functions, source.variables):
        at = bisect_left(named, (start, ""))
        if at:
            return (named[at - 1][1],)
    return ()


def _role(before: str) -> str:
    """The role of the message whose content a string is."""
    if not re.search(r"(?:content|text)\s*:\s*(?:dedent\s*\(?\s*)?\Z", before):
        return ""
    roles = list(_ROLE.finditer(before))
    if not roles:
        return ""
    role = (roles[-1][1] or roles[-1][2]).lower()
    return {"developer": "system", "human": "user"}.get(role, role)


def _dedented(pieces: list[str | Slot]) -> list[str | Slot]:
    marks = [f"\ue000{number}\ue001" for number in range(len(pieces))]
    text = "".join(piece if isinstance(piece, str) else marks[number] for number, piece in enumerate(pieces))
    lines = text.split("\n")
    rest = textwrap.dedent("\n".join(lines[1:]))
    text = "\n".join([lines[0].lstrip(), rest] if len(lines) > 1 else lines).strip("\n ")
    result: list[str | Slot] = []
    for piece in re.split("\ue000(\\d+)\ue001", text):
        is_mark = len(result) % 2 == 1
        result.append(pieces[int(piece)] if is_mark else piece)
    return result


def _joined(strings: list[_String], text: str) -> Iterator[_String]:
    """Strings with nothing but a plus between them as one."""
    current: _String | None = None
    for string in strings:
        if current is not None and re.fullmatch(r"\s*\+\s*", text[current.end : string.start]):
            current = replace(
                current,
                end=string.end,
                pieces=(*current.pieces, *string.pieces),
                doubts=(*current.doubts, *string.doubts),
            )
            continue
        if current is not None:
            yield current
        current = string
    if current is not None:
        yield current


def _strings(text: str) -> Iterator[_String]:
    at = 0
    brackets: list[tuple[str, int]] = []
    while at < len(text):
        character = text[at]
        if character == "/" and (comment := _COMMENT.match(text, at)):
            at = comment.end()
        elif character == "`":
            end, pieces, doubts = _template_string(text, at + 1)
            yield _String(at, end, pieces, doubts, _lists(brackets))
            at = end
        elif character in "'\"" and (plain := _PLAIN.match(text, at)):
            written = plain[1] if plain[1] is not None else plain[2]
            yield _String(at, plain.end(), (_unescaped(written),), (), _lists(brackets))
            at = plain.end()
        else:
            if character in "[({":
                brackets.append((character, at))
            elif character in "])}" and brackets:
                brackets.pop()
            at += 1


def _lists(brackets: list[tuple[str, int]]) -> tuple[int, ...]:
    return tuple(at for bracket, at in brackets if bracket == "[")


def _template_string(text: str, start: int) -> tuple[int, tuple[str | Slot, ...], tuple[str, ...]]:
    """A template string from behind its opening mark: its end, its pieces, and doubts about code in it."""
    pieces: list[str | Slot] = []
    doubts: list[str] = []
    at = done = start
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == "`":
            break
        elif text.startswith("${", at):
            pieces.append(_unescaped(text[done:at]))
            end = _code_end(text, at + 2)
            code = text[at + 2 : end].strip()
            name = _code_name(code)
            if code != name:
                doubts.append(f"{code[:60]} is code of the file; it became the slot {{{{{name}}}}}")
            pieces.append(Slot(name))
            at = done = end + 1
        else:
            at += 1
    pieces.append(_unescaped(text[done:at]))
    return min(at + 1, len(text)), tuple(piece for piece in pieces if piece != ""), tuple(doubts)


def _code_end(text: str, start: int, nested: int = 0) -> int:
    """Where the code in a template string ends; a template in it is skipped, of which few are nested."""
    depth, at = 0, start
    while at < len(text):
        if text[at] == "`":
            at = _template_end(text, at + 1, nested + 1) if nested < _MOST_NESTED else len(text)
            continue
        if text[at] in "'\"" and (plain := _PLAIN.match(text, at)):
            at = plain.end()
            continue
        if text[at] == "}" and not depth:
            return at
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
    return len(text)


def _template_end(text: str, at: int, nested: int) -> int:
    while at < len(text) and text[at] != "`":
        if text[at] == "\\":
            at += 2
        elif text.startswith("${", at):
            at = _code_end(text, at + 2, nested) + 1
        else:
            at += 1
    return min(at + 1, len(text))


def _code_name(code: str) -> str:
    """A name for a piece of code: the last name of a path, or what a function is called with."""
    inner = re.sub(r"^[\w.$]+\(\s*(.*?)\s*[,)].*$", r"\1", code, flags=re.DOTALL)
    names = _NAMED.findall(inner) or _NAMED.findall(code)
    path = re.fullmatch(r"[\w.$?!\[\]]+", inner)
    name = names[-1] if path and names else names[0] if names else "value"
    return name.replace("$", "_").lstrip("_") or "value"


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "ux" and len(code) > 1:
            number = int(code[1:].strip("{}"), 16)
            return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else match[0]
        return _ESCAPES.get(code, code)

    return _ESCAPE.sub(character, text) if "\\" in text else text
