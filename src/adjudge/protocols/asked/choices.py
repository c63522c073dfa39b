"""The words by which a prompt wants the better of two responses named, and the word for a tie."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .format import LOOKED_AT
from .verdicts import alternatives

_FURTHER = re.compile(
    r"(?:responses?|answers?|outputs?|completions?|texts?|candidates?|summaries)(?:_(?:more|others?|rest|list|[3-9c-h])|[3-9])"
    r"|(?:other|more|further|remaining)_(?:responses|answers|outputs|completions|texts|candidates)",
    re.IGNORECASE,
)


def further_response(inputs: Sequence[str]) -> str:
    """The input that shows more responses than the two that are compared, such as text_3, or nothing."""
    return next((name for name in inputs if _FURTHER.fullmatch(name)), "")


_NOUN = (
    r"(?:回答|回复|回应|答案|模型|응답|답변|output|response|answer|assistant|option|summary|model|candidate"
    r"|text|passage|system|conversation|completion|reply)"
)
_SIDES = (("a", "b"), ("1", "2"), ("one", "two"))
_TIES = re.compile(r"tie|both|equal\w*|draw|neither|same|A ?= ?B|C", re.IGNORECASE)
_TIE = re.compile(r"\btie[ds]?\b|\[\[C\]\]|A ?= ?B|平局|무승부|\bdraw\b", re.IGNORECASE)
_QUOTE = r"[\"'`“”‘’*]{0,3}"
_PATTERNS = tuple(
    re.compile(
        rf"{_QUOTE}({_NOUN} ?[(\[#]?{first}[)\]]?){_QUOTE},? ?(?:/|or|\|"
        rf"|,) ?(?:or )?{_QUOTE}({_NOUN} ?[(\[#]?{second}[)\]]?)(?!\w)",
        re.IGNORECASE,
    )
    for first, second in _SIDES
)
_BARE = re.compile(
    r"(?<![\w\[])[\"'`“‘]?([A1Mm])[\"'`”’]?,? ?(?:/|or|\||,) ?(?:or )?[\"'`“‘]?([B2mM])[\"'`”’]?(?![\w\])])"
)
_GLOSSED = re.compile(
    r"[\"'“‘`]([A-Za-z0-9 ]{1,20})[\"'”’`] (?:if|when|for) (?:the )?(?:first|assistant a|response a"
    r"|output a|response 1|answer a|output 1|assistant 1|model a)\b"
    r"[^\n]{0,120}?[\"'“‘`]([A-Za-z0-9 ]{1,20})[\"'”’`] (?:if|when|for) (?:the )?(?:second"
    r"|assistant b|response b|output b|response 2|answer b|output 2|assistant 2|model b)\b",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"\b(?:either|only|must be|one of|write|output|choose|select"
    r"|answer)\b[^.\n]{0,60}?[\"'`“‘]([A1mM])[\"'`”’]? ?(?:/|or|\||,) ?[\"'`“‘]?([B2mM])[\"'`”’]",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\[\[ ?([AB]) ?(?:[<>=]{1,3} ?[AB] ?)?\]\]")


def offered_choices(text: str, example: Any = None) -> dict[str, str] | None:
    """The names of the two responses in the order shown, and of a tie where one is offered."""
    text = text[:LOOKED_AT]
    if not isinstance(example, bool) and example in (1, 2):
        return {"a": "1", "b": "2"}
    if isinstance(example, str) and (named := _from_alternatives(alternatives(example))):
        return named
    if _BRACKETS.search(text):
        return _with_tie({"a": "A", "b": "B"}, text)
    if glossed := list(_GLOSSED.finditer(text)):
        return _with_tie({"a": glossed[-1][1], "b": glossed[-1][2]}, text)
    if stated := [match for match in _STATED.finditer(text) if _is_pair(match[1], match[2])]:
        return _with_tie({"a": stated[-1][1], "b": stated[-1][2]}, text)
    found = [match for pattern in _PATTERNS for match in pattern.finditer(text)]
    if found:
        match = max(found, key=lambda match: match.start())
        return _with_tie({"a": match[1], "b": match[2]}, text)
    bare = [match for match in _BARE.finditer(text) if match[1] != match[2] and _is_pair(match[1], match[2])]
    if bare:
        return _with_tie({"a": bare[-1][1], "b": bare[-1][2]}, text)
    return None


def _is_pair(first: str, second: str) -> bool:
    return (first, second) in (("A", "B"), ("1", "2"), ("m", "M"), ("M", "m"))


def _from_alternatives(words: list[str]) -> dict[str, str]:
    """`A++`, `A+`, `A=B`, `B+`, `B++`; `A`, `B`, `tie`; `model_a`, `model_b`."""
    letters = {word[0].upper() for word in words if re.fullmatch(r"[AaBb][+]{0,3}", word)}
    tie = next((word for word in words if _TIES.fullmatch(word)), "")
    if letters == {"A", "B"}:
        return {"a": "A", "b": "B", **({"tie": tie} if tie else {})}
    rest = [word for word in words if word != tie]
    if len(rest) == 2:
        return {"a": rest[0], "b": rest[1], **({"tie": tie} if tie else {})}
    return {}


def _with_tie(choices: dict[str, str], text: str) -> dict[str, str]:
    if _TIE.search(text):
        choices["tie"] = "C" if "[[C]]" in text else "tie"
    return choices
