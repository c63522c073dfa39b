"""The ladder of one answer: strict, then anchored, then why not.

A reader is chosen by the protocol's `[answer]`. Where the requested format is nowhere in
the reply, the free reader has a look: judges drop a tag more often than they drop the score. What
it cannot say for sure stays unparsed, so that the engine asks a follow-up question.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeGuard

from msgspec import structs

from ...lazy_patterns import lazily
from ...records import Answer, Reading, Scale
from ..free.choice import is_choice_corrected, read_choice
from ..free.option import is_option_corrected, read_option
from ..free.option_names import option_names, option_value
from ..free.score import is_corrected, read_score
from ..text.characters import narrow
from ..text.own_voice import ASIDE, set_aside, window
from ..text.refusals import declines
from .first_line import read_first_line
from .label import read_label
from .marker import read_marker
from .plugin_reader import is_of_plugin, read_by_plugin
from .ranking import read_ranking
from .tag import read_tag
from .values import Value, choice_value, score_value

_EXAMINED_BY_LADDER = 100_000
"""How much of each end of a reply is examined. No judge writes more, and the answer stands at an end."""

_MARKED = ("tag", "marker", "label")
_LONGEST = 20_000
"""How much of a reply is searched for a correction of its marked answer, in characters."""

_HEAD = 4_000
"""A refusal stands at the beginning of a reply."""

_PLAIN_NUMBER = lazily(r"[0-9]+(?:\.[0-9]+)?")


def read_scored(answer: Answer, text: str, scale: Scale) -> Reading:
    """The one score of a reply that is not JSON."""
    if is_of_plugin(answer):
        return read_by_plugin(answer, text, scale)

    def free(reply: str) -> Reading:
        return read_free_score(reply, scale)

    reading = _read(answer, text, score_value(scale), _PLAIN_NUMBER, free)
    is_placed = answer.reader in _MARKED or answer.reader == "first_line"
    if reading.status == "ok" and is_placed and is_corrected(text[:_LONGEST], scale, reading):
        return Reading(status="conflicting", span=reading.span)
    named = scale.names.get(reading.value) if isinstance(reading.value, float | int) else None
    if named is not None and is_placed:
        names = option_names(tuple(scale.names.values()))
        if is_option_corrected(text[:_LONGEST], names, structs.replace(reading, value=named)):
            return Reading(status="conflicting", span=reading.span)
    return reading


def read_chosen(answer: Answer, text: str) -> Reading:
    """The one choice of a reply that is not JSON: first, second or tie, in the order shown."""
    if is_of_plugin(answer):
        return read_by_plugin(answer, text, None)
    options, tie = offered(answer)
    if answer.reader == "ranking":
        ranked = read_ranking(text, options, tie is not None)
        # A follow-up asks for the better one alone.
        return ranked or _only_sure(read_choice(text, options, tie is not None), text, None)
    words = "|".join(re.escape(word) for word in (*options, *([tie] if tie else [])))

    def free(reply: str) -> Reading:
        return read_choice(reply, options, tie is not None)

    reading = _read(answer, text, choice_value(options, tie), re.compile(words), free)
    if (
        reading.status == "ok"
        and answer.reader in _MARKED
        and is_choice_corrected(text[:_LONGEST], options, tie is not None, reading)
    ):
        return Reading(status="conflicting", span=reading.span)
    return reading


def read_named(answer: Answer, text: str) -> Reading:
    """The one option of a reply that is not JSON, by its name in `options`."""
    names = option_names(tuple(answer.options))
    words = "|".join(re.escape(name) for name in sorted(answer.options, key=len, reverse=True))

    def free(reply: str) -> Reading:
        return read_option(reply, answer.options)

    # A name of two words in quotation marks is a way of writing it, and would otherwise be set aside as a
    # quotation.
    plain_text = text if answer.reader == "free" else names.unquoted(text)
    reading = _read(answer, plain_text, option_value(names), re.compile(words), free)
    if (
        reading.status == "ok"
        and answer.reader in _MARKED
        and is_option_corrected(text[:_LONGEST], names, reading)
    ):
        return Reading(status="conflicting", span=reading.span)
    return reading


def _read(
    answer: Answer, text: str, value: Value, plain: re.Pattern[str], free: Callable[[str], Reading]
) -> Reading:
    """One answer from inside the wrapping of the whole reply."""
    if answer.reader == "free":
        return free(text)
    start, end = window(text)
    reply = text[start:end]
    examined, gap = reply, 0
    if len(reply) > 2 * _EXAMINED_BY_LADDER:
        examined, gap = (
            f"{reply[:_EXAMINED_BY_LADDER]}\n{reply[-_EXAMINED_BY_LADDER:]}",
            len(reply) - 2 * _EXAMINED_BY_LADDER - 1,
        )
    reading = _marked(answer, examined, value)
    if _is_final(reading, answer):
        reading = _strictly(answer, examined, reading, plain)
    else:
        reading = _only_sure(free(examined), examined, reading)
    is_bare = reply == text.strip() and not gap
    how = "anchored" if reading.how == "strict" and not is_bare else reading.how
    flags = (*reading.flags, "overlong_reply") if gap else reading.flags
    span = None if reading.status in ("unparsed", "refused") else _shifted(reading.span, start, gap)
    return Reading(reading.value, reading.status, how, span, flags)


def _shifted(span: tuple[int, int] | None, start: int, gap: int) -> tuple[int, int] | None:
    """A place in what was examined as a place in the whole text."""
    if span is None:
        return None
    moved = start + (gap if span[0] >= _EXAMINED_BY_LADDER else 0)
    return span[0] + moved, span[1] + moved


def read_free_score(text: str, scale: Scale) -> Reading:
    """The score of a reply of unknown format, on any scale."""
    if scale.low is None or scale.high is None:
        return Reading(status="unparsed")
    return read_score(text, scale.low, scale.high, scale.step, names=scale.names or None)


def read_labelled(text: str, criterion: str, scale: Scale) -> Reading:
    """The score behind the name of one of several criteria, where a reply that should be JSON is none:
    "Clarity: 4", "| Clarity | 4 |"."""
    start, end = window(text)
    reading = read_label(text[start:end], (criterion,), score_value(scale))
    if reading is None or reading.span is None:
        return unread(text)
    return structs.replace(reading, span=(reading.span[0] + start, reading.span[1] + start))


def offered(answer: Answer) -> tuple[tuple[str, str], str | None]:
    """The words for the first and the second response, and the one for a tie if there was one."""
    return (answer.choices.get("a", "A"), answer.choices.get("b", "B")), answer.choices.get("tie")


def unread(text: str) -> Reading:
    """The reading of a reply that holds no answer: a refusal, or simply unparsed."""
    return Reading(status="refused" if declines(narrow(text[:_HEAD])) else "unparsed")


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


def _is_final(reading: Reading | None, answer: Answer) -> TypeGuard[Reading]:
    """Whether the marked answer stands. A mark that is there but cannot be read is not replaced by prose."""
    return reading is not None and (reading.status != "unparsed" or answer.reader in ("tag", "marker"))


def _strictly(answer: Answer, text: str, reading: Reading, plain: re.Pattern[str]) -> Reading:
    """The same reading on the rung `strict` where the reply is written exactly as it was asked for."""
    if reading.span is None or reading.status in ("conflicting", "unparsed"):
        return reading
    written = text[slice(*reading.span)]
    is_fenced = "```" in text and set_aside(text, thinking=False, quoted=False)[reading.span[0]] == ASIDE
    if is_fenced or not plain.fullmatch(written) or not _is_exact(answer, text, written):
        return reading
    return Reading(reading.value, reading.status, "strict", reading.span, reading.flags)


def _is_exact(answer: Answer, text: str, written: str) -> bool:
    if answer.reader == "tag":
        exact = f"<{answer.tag}>{written}</{answer.tag}>"
        return text.count(f"<{answer.tag}>") == 1 and text.rstrip().endswith(exact)
    if answer.reader == "marker":
        marker = answer.marker or ""
        return text.count(marker) == 1 and text.rstrip().endswith(f"{marker} {written}")
    if answer.reader == "first_line":
        return text.split("\n", 1)[0] == written
    lines = {f"{answer.labels[0]}{colon}{written}" for colon in (": ", "：")}
    return sum(line in lines for line in text.split("\n")) == 1


def _only_sure(free: Reading, text: str, marked: Reading | None) -> Reading:
    """A free reading stands in for the asked-for format only where the reply declares it as its answer.

    Where the mark is there but unreadable, that is the reason, even where the reply also apologises.
    """
    if free.status == "ok" and free.is_sure and free.span is not None:
        # A label without a readable answer may announce one in words; an answer before it is not the one it
        # announces.
        is_behind = marked is None or marked.span is None or free.span[0] >= marked.span[0]
        return free if is_behind else marked or free
    return marked or unread(text)
