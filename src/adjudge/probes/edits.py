"""The edits of a text by name. Each is deterministic; it gives the same text back where it changes none."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import structs

from ..records import FieldValue

_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?。！？]+[\"'”’)\]]*|\n|$)\s*")
_WORD = re.compile(r"[^\W\d_]{4,}")


def _sentences(text: str) -> list[str]:
    return [match.strip() for match in _SENTENCE.findall(text) if match.strip()]


def on_last(value: FieldValue, edit: Callable[[str], str | None]) -> FieldValue | None:
    """The value with its text edited; of a list or transcript its last entry."""
    if isinstance(value, str):
        return edit(value)
    if not value:
        return None
    last = value[-1]
    new = edit(last if isinstance(last, str) else last.content)
    if new is None:
        return None
    return (*value[:-1], new if isinstance(last, str) else structs.replace(last, content=new))


def _repeated(text: str, _text: str, rng: random.Random) -> str:
    """Half of the sentences once more, at the end."""
    sentences = _sentences(text)
    count = max(1, len(sentences) // 2)
    again = (
        [sentences[place] for place in sorted(rng.sample(range(len(sentences)), count))] if sentences else []
    )
    return f"{text} {' '.join(again)}" if again else text


def _bulleted(text: str, _text: str, _rng: random.Random) -> str:
    return "\n".join(f"- {sentence}" for sentence in _sentences(text)) or text


def _bold(text: str, _text: str, _rng: random.Random) -> str:
    """The first words of each sentence in bold."""
    return " ".join(
        re.sub(r"^(\S+(?:\s+\S+)?)", r"**\1**", sentence, count=1) for sentence in _sentences(text)
    )


def _misspelt(text: str, _text: str, rng: random.Random) -> str:
    """Two inner letters exchanged in one word of twenty, and in at least one."""
    words = [match for match in _WORD.finditer(text) if len(set(match[0][1:])) > 1]
    if not words:
        return text
    for match in rng.sample(words, max(1, len(words) // 20)):
        places = [at for at in range(match.start() + 1, match.end() - 1) if text[at] != text[at + 1]]
        if places:
            at = rng.choice(places)
            text = f"{text[:at]}{text[at + 1]}{text[at]}{text[at + 2 :]}"
    return text


def _truncated(text: str, _text: str, _rng: random.Random) -> str:
    half = text[: len(text) // 2]
    return half.rsplit(None, 1)[0] if len(half.split()) > 1 else half


def _shuffled(text: str, _text: str, rng: random.Random) -> str:
    sentences = _sentences(text)
    mixed = sentences[:]
    while len(set(sentences)) > 1 and mixed == sentences:
        rng.shuffle(mixed)
    return " ".join(mixed) if mixed != sentences else text


EDITS: Mapping[str, Callable[[str, str, random.Random], str]] = {
    "append": lambda old, text, _: f"{old}\n\n{text}",
    "prepend": lambda old, text, _: f"{text}{old}",
    "repeat": _repeated,
    "bullets": _bulleted,
    "bold": _bold,
    "typos": _misspelt,
    "truncate": _truncated,
    "shuffle": _shuffled,
}

_VERB = re.compile(r"\b(is|are|was|were|can|could|will|would|should|must|does|do|did|has|have)\b(?! not|n't)")
_NOT = re.compile(r"(?<=\w) not\b|n't\b")
_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}\b")


def negated(text: str, rng: random.Random, names: Sequence[str]) -> str:
    """Every number and name is another, and a statement in each sentence is turned into its opposite."""
    text = _NUMBER.sub(lambda match: str(int(match[0][:15]) + rng.choice((3, 7, 40))), text)
    text = _NAME.sub(lambda match: rng.choice([name for name in names if name != match[0]]), text)
    return "".join(_opposite(sentence) for sentence in re.split(r"(?<=[.!?])(?=\s)", text))


def _opposite(sentence: str) -> str:
    if _NOT.search(sentence):
        return _NOT.sub("", sentence, count=1)
    return _VERB.sub(r"\1 not", sentence, count=1)
