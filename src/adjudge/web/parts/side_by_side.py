"""Replies of two runs side by side, with the words that differ."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...analysis.item_view.shown_text import shorten
from ...store.browsing import CallOutcome
from .changed_words import Span, changed_spans

LONGEST_REPLY = 6000


class ChangedText(Struct, frozen=True):
    """A text of one run, with what the other run says in another way."""

    about: str
    text: str
    spans: tuple[Span, ...] = ()


class TwoTexts(Struct, frozen=True):
    """The same call, or the same field, in both runs; none where a run has none."""

    first: ChangedText | None
    second: ChangedText | None

    @property
    def is_same(self) -> bool:
        return self.first is not None and self.second is not None and self.first.text == self.second.text


def two_texts(about: tuple[str, str], before: str | None, after: str | None) -> TwoTexts:
    """Two texts, shortened, with their differing words."""
    texts = [None if text is None else shorten(text, LONGEST_REPLY).text for text in (before, after)]
    left, right = texts
    spans: tuple[list[Span], list[Span]] = ([], [])
    if left is not None and right is not None and left != right:
        spans = changed_spans(left, right)
    words = [
        None if text is None else ChangedText(name, text, tuple(found))
        for name, text, found in zip(about, texts, spans, strict=True)
    ]
    return TwoTexts(words[0], words[1])


def replies_of(
    calls: Sequence[CallOutcome], protocol: str = "", criterion: str = ""
) -> list[tuple[str, str, str]]:
    """Judge, order and text of each reply, or its error; of one protocol and criterion where they are
    named."""
    return [
        (
            call.about.model,
            call.about.order,
            call.reply.text
            if call.reply is not None
            else f"No reply: {call.error.kind.replace('_', ' ')}."
            if call.error is not None
            else "",
        )
        for call in calls
        if call.about.kind not in ("reask", "steps")
        and (not protocol or call.about.protocol == protocol)
        and (not criterion or criterion in call.about.criteria)
    ]


def side_by_side(
    first: Sequence[tuple[str, str, str]], second: Sequence[tuple[str, str, str]]
) -> list[TwoTexts]:
    """The replies of two runs, matched by judge and order where both have them, else by their place."""
    rest = list(second)
    pairs: list[tuple[tuple[str, str, str] | None, tuple[str, str, str] | None]] = []
    for reply in first:
        same = next((one for one in rest if one[:2] == reply[:2]), None)
        same = same or next((one for one in rest if one[1] == reply[1]), rest[0] if rest else None)
        if same is not None:
            rest.remove(same)
        pairs.append((reply, same))
    pairs += [(None, reply) for reply in rest]
    return [
        two_texts(
            (_about(before), _about(after)),
            None if before is None else before[2],
            None if after is None else after[2],
        )
        for before, after in pairs
    ]


def _about(reply: tuple[str, str, str] | None) -> str:
    if reply is None:
        return ""
    from .names import judge_name

    return f"{judge_name(reply[0])}, b shown first" if reply[1] == "ba" else judge_name(reply[0])
