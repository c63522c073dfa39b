"""The ladder of one answer: strict, then anchored, then why not.

A reader is chosen by the protocol's `[answer]`. Where the format that was asked for is nowhere in
the reply, the free reader has a look: judges drop a tag more often than they drop the score. What
it cannot say for sure stays unparsed, for the engine to ask again.
"""

from __future__ import annotations

import re
from typing import TypeGuard

from ..records import Answer, Reading, Scale
from .choice import read_choice
from .marks import Value, choice_value, read_first_line, read_label, read_marker, read_tag, score_value
from .refusal import declines
from .score import read_score

_PLAIN_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def read_scored(answer: Answer, text: str, scale: Scale) -> Reading:
    """The one score of a reply that is not JSON."""
    reading = _marked(answer, text, score_value(scale))
    if _is_final(answer, reading):
        return _strictly(answer, text, reading, _PLAIN_NUMBER)
    free = read_free_score(text, scale)
    return free if answer.reader == "free" else _only_sure(free, text)


def read_chosen(answer: Answer, text: str) -> Reading:
    """The one choice of a reply that is not JSON: first, second or tie, in the order shown."""
    options, tie = offered(answer)
    reading = _marked(answer, text, choice_value(options, tie))
    if _is_final(answer, reading):
        words = "|".join(re.escape(word) for word in (*options, *([tie] if tie else [])))
        return _strictly(answer, text, reading, re.compile(words))
    free = read_choice(text, options, tie is not None)
    return free if answer.reader == "free" else _only_sure(free, text)


def read_free_score(text: str, scale: Scale) -> Reading:
    """The score of a reply of unknown format, on any scale."""
    if scale.low is None or scale.high is None:
        return Reading(status="unparsed")
    return read_score(text, scale.low, scale.high, scale.step, names=scale.names or None)


def offered(answer: Answer) -> tuple[tuple[str, str], str | None]:
    """The words for the first and the second response, and the one for a tie if there was one."""
    return (answer.choices.get("a", "A"), answer.choices.get("b", "B")), answer.choices.get("tie")


def unread(text: str) -> Reading:
    """The reading of a reply that holds no answer: a refusal, or simply unparsed."""
    return Reading(status="refused" if declines(text) else "unparsed")


def _marked(answer: Answer, text: str, value: Value) -> Reading | None:
    if answer.reader == "tag" and answer.tag is not None:
        return read_tag(text, answer.tag, value)
    if answer.reader == "marker" and answer.marker is not None:
        return read_marker(text, answer.marker, value)
    if answer.reader == "label":
        return read_label(text, answer.labels, value)
    if answer.reader == "first_line":
        return read_first_line(text, value)
    return None


def _is_final(answer: Answer, reading: Reading | None) -> TypeGuard[Reading]:
    """Whether the marked answer stands. A mark that is there but cannot be read is not replaced by prose."""
    return reading is not None and (reading.status != "unparsed" or answer.reader in ("tag", "marker"))


def _strictly(answer: Answer, text: str, reading: Reading, plain: re.Pattern[str]) -> Reading:
    """The same reading on the rung `strict` where the reply is written exactly as it was asked for."""
    if reading.span is None or reading.status in ("conflicting", "unparsed"):
        return reading
    written = text[slice(*reading.span)]
    if not plain.fullmatch(written) or not _is_exact(answer, text, written):
        return reading
    return Reading(reading.value, reading.status, "strict", reading.span, reading.flags)


def _is_exact(answer: Answer, text: str, written: str) -> bool:
    if answer.reader == "tag":
        return text.count(f"<{answer.tag}>") == 1 and f"<{answer.tag}>{written}</{answer.tag}>" in text
    if answer.reader == "marker":
        marker = answer.marker or ""
        return text.count(marker) == 1 and text.rstrip().endswith(f"{marker} {written}")
    if answer.reader == "first_line":
        return text.split("\n", 1)[0] == written
    line = f"{answer.labels[0]}: {written}" if answer.labels else ""
    return text.count(line) == 1 and line in text.split("\n")


def _only_sure(free: Reading, text: str) -> Reading:
    """A free reading stands in for the asked-for format only where it is beyond doubt."""
    return free if free.status in ("ok", "refused") else unread(text)
