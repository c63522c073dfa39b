"""The two slots of a prompt that hold two responses to compare."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...asked.format import LOOKED_AT

_SIDES = {
    "a": 0, "b": 1, "1": 0, "2": 1, "one": 0, "two": 1, "first": 0, "second": 1, "left": 0, "right": 1,
}  # fmt: skip
_ROLES = {
    "chosen": 0, "rejected": 1, "baseline": 0, "enhanced": 1, "candidate": 1, "another": 1, "other": 1,
    "original": 0,
    "new": 1, "old": 0,
}  # fmt: skip
"""Words that name a side where no letter or number does."""

_PARTS = re.compile(r"[^\W\d_]*[^\W\d_A-Z](?=[A-Z12](?:[_.-]|\Z))|[^\W_.-]+")
"""The words of a slot's name; a side may stick to the word before it, as in responseA and answer2."""

_JUDGED = re.compile(
    r"response|resp(?:\b|_|\Z)|answer|prediction|output|completion|summary|candidate|assistant|model|text|reply|generation|translation"
    r"|回答|答案|输出|응답|답변|回復",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"question|prompt|instruction|query|turn|example|context|source|reference|criteri", re.IGNORECASE
)
"""What two responses answer, or are compared with; it may come in pairs and is never what is judged."""

_CHOOSES = re.compile(
    r"\[\[(?:A|B)\]\]|\b(?:A or B|A, B,? or|A/B|(?:response|answer|output|assistant|option) 1 or 2)\b"
    r"|\bwhich\b[^.?!\n]{0,80}\b(?:better|best|prefer\w{0,4}|superior|stronger|wins?|higher[- ]quality)\b"
    r"|\b(?:choose|pick|select|name|indicate|output|decide)\b[^.?!\n]{0,40}\b(?:better|winner|preferred)\b"
    r"|\bthe (?:better|preferred) (?:response|answer|output|one|completion|summary|assistant)\b"
    r"|哪[一个]?[^。？\n]{0,30}(?:更好|更优|较好)|(?:어느|어떤)[^.?\n]{0,40}(?:더|나은|우수)|どちら[^。？\n]{0,30}(?:良|優)",
    re.IGNORECASE,
)


def chooses(text: str) -> str:
    """The words by which a prompt asks for the better of two, or nothing."""
    match = _CHOOSES.search(text[:LOOKED_AT])
    return match[0] if match else ""


_REFERENCE = re.compile(r"(?:\b|_)(?:ref|reference|gold|golden|truth|target|expected|ideal|expert)(?:\b|_)")
"""What a response is compared with is never one of the two."""


def guess_pair(slots: Sequence[str], text: str) -> tuple[tuple[str, str], ...]:
    """Slots that hold the two things compared, a pair for each turn; nothing where there is no such pair.

    Names that do not say that they hold responses are taken for a pair only where the words ask for the
    better one.
    """
    sides: dict[str, dict[int, str]] = {}
    for slot in slots:
        base, side = _side(slot)
        if side is not None:
            sides.setdefault(base, {})[side] = slot
    for slot in slots:
        # `response` beside `response_another`.
        base, side = _side(slot)
        if side is None and len(sides.get(base, {})) == 1 and 1 in sides[base]:
            sides[base][0] = slot
    pairs = [(base, letters) for base, letters in sides.items() if len(letters) == 2]
    judged = [
        (base, letters) for base, letters in pairs if _JUDGED.search(base) and not _REFERENCE.search(base)
    ]
    # answer_a_1 and answer_b_1 are sides; ref_answer_1 and ref_answer_2 are turns.
    judged = [pair for pair in judged if _is_lettered(pair[1])] or judged
    if not judged and chooses(text) and len(pairs) == 1:
        judged = [(base, letters) for base, letters in pairs if not _GIVEN.search(base)]
    # Turns of one conversation are numbered too, questions and answers alike.
    if any(_is_turn(base, letters) for base, letters in pairs if (base, letters) not in judged) and not all(
        _is_lettered(letters) for _, letters in judged
    ):
        return ()
    if len(judged) > 1 and not all(_is_lettered(letters) for _, letters in judged):
        return ()
    return tuple((letters[0], letters[1]) for _, letters in judged)


def numbered_texts(slots: Sequence[str]) -> list[str]:
    """Three or more slots that differ in a number alone, such as text_1, text_2, text_3."""
    bases: dict[str, list[str]] = {}
    for slot in slots:
        if match := re.fullmatch(r"(.*?)[_-]?(\d{1,2})", slot):
            bases.setdefault(match[1], []).append(slot)
    return next((group for base, group in bases.items() if len(group) > 2 and _JUDGED.search(base)), [])


def _side(slot: str) -> tuple[str, int | None]:
    """The name of a slot without the word for its side, and the side."""
    parts = _PARTS.findall(slot)
    marks = [part for part in parts if part.lower() in _SIDES]
    letters = [part for part in marks if part.lower() in ("a", "b")]
    if len(marks) > 1:
        # answer_a_1 is one turn of side A.
        marks = letters if len(letters) == 1 else []
    marks = marks or [part for part in parts if part.lower() in _ROLES]
    if not marks:
        return "_".join(parts).lower(), None
    rest = list(parts)
    rest.remove(marks[0])
    mark = marks[0].lower()
    return "_".join(rest).lower(), _SIDES[mark] if mark in _SIDES else _ROLES[mark]


def _is_turn(base: str, letters: dict[int, str]) -> bool:
    return _GIVEN.search(base) is not None and not _is_lettered(letters)


def _is_lettered(letters: dict[int, str]) -> bool:
    return all(any(part.lower() in ("a", "b") for part in _PARTS.findall(slot)) for slot in letters.values())
