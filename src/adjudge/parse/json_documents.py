"""JSON in a reply: finding it, decoding it, and where each value stands.

A judge writes JSON bare, fenced, behind a sentence or with a comma too many. Exactly one
candidate of at most 16 KB is repaired, and that is flagged. Numbers that are none (NaN, 1e999,
true) stay what they are: the caller refuses them. Nothing here knows of scores or criteria.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ..lazy_patterns import lazily

REPAIRED_AT_MOST = 16_384
_MOST_TOKENS = 50_000
_MOST_CANDIDATES = 64
_BRACES = lazily(r'[{}"]')
_STRING_REST = lazily(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_TOKEN = lazily(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)
Path = tuple[str | int, ...]
Span = tuple[int, int]


class JsonDocument(NamedTuple):
    """One JSON object of a reply, with the place of every scalar in it."""

    value: dict[str, Any]
    span: Span
    places: dict[Path, Span]
    doubled: frozenset[Path]
    """keys that stand twice in one object with different values"""
    is_repaired: bool = False
    cut: str = ""
    """the last word of an object that never ends: a "1" there may have been going to be a "10\""""


def find_documents(text: str) -> list[JsonDocument]:
    """The JSON objects of a reply that decode; if none does, the one that can be repaired."""
    candidates = _candidates(text)
    documents = [document for span in candidates if (document := _decoded(text, span)) is not None]
    if documents or not candidates:
        return documents
    # The longest one is the answer; what else stands in braces is a fragment.
    start, end = max(candidates, key=lambda span: span[1] - span[0])
    repaired = _repaired(text, (start, end)) if end - start <= REPAIRED_AT_MOST else None
    return [repaired] if repaired is not None else []


def _candidates(text: str) -> list[Span]:
    """The outermost {…} of a text, strings respected; an unterminated one reaches the end."""
    spans: list[Span] = []
    at, depth, start = 0, 0, 0
    for _ in range(_MOST_TOKENS):
        brace = _BRACES.search(text, at)
        if brace is None:
            break
        at = brace.end()
        sign = brace[0]
        if sign == "{":
            if depth == 0:
                start = brace.start()
            depth += 1
        elif sign == "}":
            depth = max(0, depth - 1)
            if (
                depth == 0
                and start < brace.start()
                and text[start] == "{"
                and (not spans or spans[-1][1] <= start)
            ):
                spans.append((start, at))
                if len(spans) >= _MOST_CANDIDATES:
                    return spans
        elif depth:
            # A quotation mark in prose opens nothing; inside braces it opens a string.
            rest = _STRING_REST.match(text, at)
            if rest is None:
                break
            at = rest.end()
    if depth:
        spans.append((start, len(text)))
    return spans


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, strict=False)


def _decoded(text: str, span: Span) -> JsonDocument | None:
    body = text[span[0] : span[1]]
    try:
        value = _DECODER.decode(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    places, doubled = _places(text, span)
    return JsonDocument(value, span, places, doubled)


def _places(text: str, span: Span) -> tuple[dict[Path, Span], frozenset[Path]]:
    """Where every scalar of valid JSON stands, by its path; and keys given twice, differently."""
    places: dict[Path, Span] = {}
    doubled: set[Path] = set()
    path: list[str | int] = []
    for token in _TOKEN.finditer(text, *span):
        sign = token[0]
        if sign in "{[":
            path.append("" if sign == "{" else 0)
        elif sign in "}]":
            path.pop()
        elif sign == ",":
            here = path[-1]
            path[-1] = here + 1 if isinstance(here, int) else ""
        elif sign[0] == '"' and _is_key(text, token.end()):
            path[-1] = json.loads(sign, strict=False) if "\\" in sign else sign[1:-1]
        elif sign != ":":
            where = tuple(path)
            if where in places and text[slice(*places[where])] != sign:
                doubled.add(where)
            places[where] = token.span()
    return places, frozenset(doubled)


def _is_key(text: str, at: int) -> bool:
    """In valid JSON a string before a colon is a key, and nothing else is."""
    while text[at].isspace():
        at += 1
    return text[at] == ":"


_TWO_NUMBERS = re.compile(
    r"(?P<colon>[\"']\s{0,4}:\s{0,4})(?P<value>-?[0-9]{1,8}(?:\.[0-9]{1,8})?(?![ \t]*(?://|#|/\*))"
    r"(?![0-9.])[^\"'{}\[\],\n]{0,40}?(?:[0-9]|\?|\b(?:maybe|perhaps|or)\b)[^\"'{}\[\],\n]{0,40}?)(?=\s*[,}\n])"
)
"""A bare number beside another one or a doubt, as in `{"score": 3 or 4}`; behind `//` stands a comment."""


def _with_doubts_kept(body: str) -> str:
    """The object with such a value as one text: a repair would keep its first number alone."""
    return _TWO_NUMBERS.sub(lambda found: f'{found["colon"]}"{found["value"]}"', body)


def _repaired(text: str, span: Span) -> JsonDocument | None:
    # Only a broken reply pays for the import.
    import json_repair

    body = text[span[0] : span[1]]
    try:
        value = json_repair.loads(_with_doubts_kept(body), skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError):
        return None
    if not isinstance(value, dict) or not value:
        return None
    cut = "" if body.rstrip().endswith("}") else body.rsplit(maxsplit=1)[-1].rsplit(":", 1)[-1].strip("\"'")
    return JsonDocument(value, span, {}, frozenset(), is_repaired=True, cut=cut)
