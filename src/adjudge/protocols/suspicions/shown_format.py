"""The reply's format as the prompt shows it: JSON objects by their keys, tags, labelled lines."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .prompt import Prompt

_SHAPE_TOKEN = re.compile(
    r"""[{}]
    | \\?"(?P<double>[^"\\\n]{0,160})\\?"(?P<colon>\s{0,4}:\s{0,4})?
    | '(?P<single>[^'\\\n{}]{1,80})'(?P<single_colon>\s{0,4}:\s{0,4})
    """,
    re.VERBOSE,
)


_VALUE = re.compile(r"[^,}\n]{0,120}")


class Object(NamedTuple):
    """An object in a shown format: its keys with what stands in the place of each value."""

    start: int
    end: int
    values: dict[str, tuple[str, int]]
    """key → the value as shown, and where"""


@lru_cache(maxsize=512)
def shown_objects(words: str) -> tuple[Object, ...]:
    """The JSON-like objects of a text that have at least one key, in the order in which they end."""
    done: list[Object] = []
    starts: list[int] = []
    values: list[dict[str, tuple[str, int]]] = []
    for token in _SHAPE_TOKEN.finditer(words):
        if token[0] == "{":
            starts.append(token.start())
            values.append({})
        elif token[0] == "}":
            if starts:
                start, keys = starts.pop(), values.pop()
                if keys:
                    done.append(Object(start, token.end(), keys))
        elif starts and (token["colon"] or token["single_colon"]):
            key = (token["double"] or token["single"] or "").strip().lower()
            value = _VALUE.match(words, token.end())
            values[-1].setdefault(key, (value[0].strip() if value else "", token.end()))
    return tuple(done)


_TAG = re.compile(r"</?([A-Za-z][\w-]{1,30})>")


_LABELLED = re.compile(
    r"^[\s*_#>\[<\"'•-]{0,8}([^\W\d][\w /'()-]{1,40}?)[\]>*_\"']{0,4}\s?[:：]", re.MULTILINE
)


def places_of(prompt: Prompt) -> set[str]:
    """The names of all places in the reply that the prompt shows or the settings read, in small letters."""
    answer = prompt.protocol.answer
    paths = (
        answer.score,
        answer.choice,
        answer.confidence,
        answer.choice_confidence,
        answer.evidence,
        answer.reason,
    )
    places = {
        part
        for path in (*paths, *answer.notes.values(), *answer.scores.values())
        if path
        for part in path.split(".")
    }
    for shown in shown_objects(prompt.words):
        places.update(shown.values)
    places.update(match[1] for match in _TAG.finditer(prompt.words))
    places.update(match[1] for match in _LABELLED.finditer(prompt.words))
    return {place.lower().strip() for place in places}
