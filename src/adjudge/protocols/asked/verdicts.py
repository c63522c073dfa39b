"""Verdicts in words: yes or no, correct or incorrect, A to E; with their values where the words or the
file give them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from .format import LOOKED_AT

_GOOD = {
    "correct", "right", "pass", "passed", "relevant", "factual", "supported", "faithful", "consistent",
    "grounded",
    "safe", "good", "accurate", "valid", "success", "successful", "satisfied", "satisfactory", "acceptable",
    "entailed", "entailment", "equivalent", "complete", "appropriate", "helpful", "answered", "met",
    "useful", "sufficient",
}  # fmt: skip
_BAD = {
    "incorrect", "wrong", "fail", "failed", "irrelevant", "unrelated", "hallucinated", "hallucination",
    "unsupported",
    "unfaithful", "inconsistent", "ungrounded", "unsafe", "bad", "inaccurate", "invalid", "failure",
    "unsuccessful",
    "unsatisfied", "unsatisfactory", "unacceptable", "contradiction", "contradicted", "toxic", "incomplete",
    "inappropriate", "unhelpful", "unanswered", "unmet", "biased", "harmful", "useless", "insufficient",
    "refused",
}  # fmt: skip
_NEUTRAL = {"yes": "no", "y": "n", "true": "false"}
_WORD = r"[A-Za-z][A-Za-z_-]{0,24}(?: [a-z]{2,16})?"
_QUOTE = r"[\"'`“”‘’*]{1,3}"
_QUOTED = re.compile(
    rf"{_QUOTE}({_WORD}){_QUOTE}((?:,? ?(?:or |and )?/?\|? ?{_QUOTE}{_WORD}{_QUOTE}){{1,7}})"
)
_IN_QUOTE = re.compile(rf"{_QUOTE}({_WORD}){_QUOTE}")
_PIPED = re.compile(r"(?<![\w|])([A-Za-z]{1,20})((?: ?[|/] ?[A-Za-z]{1,20}){1,5})(?![\w|])")
_EITHER = re.compile(r"\b([A-Za-z]{1,20}) or ((?:not )?[A-Za-z]{1,20})\b")
_MENU = re.compile(r"^[ \t*-]{0,4}[(\[]?([A-H])[)\].:]\**[ \t]+\S", re.MULTILINE)
_GLOSSED = re.compile(
    r"[\"'“‘`(]([A-Za-z_]{1,16})[\"'”’`)]\s?(?:for|if|when|means|indicates|=|:|-|–|\()\s?(?:the "
    r"|an? )?([^\"'“‘`\n]{2,120})",
)
_ASKS_NEAR = re.compile(
    r"\b(?:answer|respond|reply|return|output|say|print|write|options?|choose|select|verdict|label|classif\w+|decide|either|as|grade|only)\b[^.\n]{0,50}\Z",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"[\"'“‘`](yes|y|true|correct|pass|1)[\"'”’`],? (?:if|when)\b[^\"'“‘`]{0,400}[\"'“‘`](no|n|false"
    r"|incorrect|fail|0)[\"'”’`]",
    re.IGNORECASE,
)
_HALF = re.compile(r"\bpartial\w*|\bpartly\b", re.IGNORECASE)
_SELECT = re.compile(
    r"\b(?:select|choose|choosing|selecting|pick|assign|return|categori[sz]e|classify"
    r"|one of (?:the following|these)"
    r"|following (?:options|choices|grades|letters))\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:answer|respond|reply|return|output|say|print|write|options?|choose|select|verdict|result|decision|label"
    r"|provide|either|classif\w+|determine|is|are|was|does|did|one of|only|must be|whether)\b",
    re.IGNORECASE,
)


class OfferedVerdicts(Struct, frozen=True):
    """The verdicts to choose from: with values, or as classes without an order; and which end is good."""

    options: Mapping[str, float]
    why: str
    best: float | str = "unknown"
    is_ordered: bool = True


def verdicts_in(text: str, example: Any = None) -> OfferedVerdicts | None:
    """The verdicts that a prompt names; those in the place of the score in its example first."""
    text = text[:LOOKED_AT]
    if isinstance(example, bool):
        return _valued(["true", "false"], "the prompt shows true or false in the JSON")
    if isinstance(example, str):
        words = alternatives(example)
        if words:
            return _valued(words, f"the prompt shows '{example[:60]}'")
    if (menu := _menu(text)) is not None:
        return menu
    last: OfferedVerdicts | None = None
    for match in _QUOTED.finditer(text):
        words = list(dict.fromkeys([match[1], *_IN_QUOTE.findall(match[2])]))
        if _ASKS.search(text, max(0, match.start() - 90), match.start()) and (
            found := _known(words, match[0])
        ):
            last = found
    if last is not None:
        return last
    if (glossed := _glossed(text)) is not None:
        return glossed
    if (conditional := _conditional(text)) is not None:
        return conditional
    for pattern in (_PIPED, _EITHER):
        for match in pattern.finditer(text):
            words = re.split(r" ?[|/] ?| or ", match[0])
            is_question = text[match.end() : match.end() + 2].lstrip(" *").startswith("?")
            asks = is_question or _ASKS_NEAR.search(text, max(0, match.start() - 60), match.start())
            # Two words of the same kind, such as "wrong or unhelpful", are prose.
            if asks and (found := _known(words, match[0])) and found.is_ordered:
                last = found
    return last


def verdicts_behind(text: str, labels: Sequence[str]) -> OfferedVerdicts | None:
    """The verdicts that stand behind a label in the examples of a prompt: `score: true`, `score: false`."""
    behind = re.compile(
        rf"^[ \t*_#-]{{0,8}}(?:{'|'.join(map(re.escape, labels))})"
        r"[*_]{0,2}[ \t]*(?:[:：]|\n)[ \t*_\"']{0,4}"
        rf"([A-Za-z][A-Za-z_-]{{0,20}})[\"'*_.]{{0,3}}[ \t]*$",
        re.MULTILINE | re.IGNORECASE,
    )
    words = list(dict.fromkeys(match[1] for match in behind.finditer(text[:LOOKED_AT])))
    return _known(words, f"{labels[0]}: {words[0]}") if 2 <= len(words) <= 6 else None


def alternatives(said: str) -> list[str]:
    """The words of `yes|no`, of `"CORRECT" or "INCORRECT"`, and of `[A++ or A+ or A=B]`."""
    inner = said.strip().strip("<>[](){}")
    words = [word.strip(" \"'`") for word in re.split(r"\s*(?:\||/|,? or |, )\s*", inner)]
    if 2 <= len(words) <= 8 and all(
        re.fullmatch(r"[A-Za-z][\w+=<>-]{0,24}(?: [\w]{1,16})?", word) for word in words
    ):
        return list(dict.fromkeys(words))
    return []


def _conditional(text: str) -> OfferedVerdicts | None:
    """`Answer 'yes' if …, 'no' otherwise`."""
    matches = [
        match
        for match in _CONDITIONAL.finditer(text)
        if match[1].lower() + match[2].lower() in ("yesno", "yn", "truefalse", "correctincorrect", "passfail")
    ]
    return (
        _valued([matches[-1][1], matches[-1][2]], f"the prompt says: {matches[-1][0][:60]}")
        if matches
        else None
    )


def good_end(name: str) -> float | str:
    """Which of yes (1) and no (0) is good where a key or a label asks: `is_correct`, `criteria_met`,
    `toxic`."""
    words = {word for word in re.split(r"[\W_]+", name.lower()) if word}
    if words & _GOOD and not words & (_BAD | {"not", "no"}):
        return 1.0
    return 0.0 if words & _BAD and not words & _GOOD else "unknown"


def _glossed(text: str) -> OfferedVerdicts | None:
    """`"C" for correct answers, "P" for partially correct answers, or "I" for incorrect answers`."""
    values: dict[str, float] = {}
    start = 0
    for match in _GLOSSED.finditer(text):
        words = re.findall(r"[a-z]+", match[2].lower())[:8]
        known = [word for word in words if word in _GOOD or word in _BAD]
        if not known or not _ASKS.search(text, max(0, match.start() - 200), match.start()):
            continue
        is_bad = known[0] in _BAD or "not" in words
        values[match[1]] = 0.5 if _HALF.search(match[2]) else 0.0 if is_bad else 1.0
        start = start or match.start()
    if len(values) < 2 or not {0.0, 1.0} <= {*values.values()}:
        return None
    return OfferedVerdicts(values, f"the prompt says: {text[start : start + 60]}", best=1.0)


def _known(words: Sequence[str], shown: str) -> OfferedVerdicts | None:
    """Verdicts only where the words are known to be some; other pairs of words are prose."""
    flat = [word.lower() for word in words]
    if len(words) < 2:
        return None
    is_neutral = flat[0] in _NEUTRAL and _NEUTRAL[flat[0]] in flat
    is_neutral = is_neutral or (flat[1] in _NEUTRAL and flat[0] == _NEUTRAL[flat[1]])
    n_known = sum(word in _GOOD or word in _BAD or _is_negated(word, flat) for word in flat)
    if is_neutral or n_known >= 2 or (len(words) > 2 and all(len(word) == 1 for word in words)):
        return _valued(words, f"the prompt says: {shown[:60]}")
    return None


def _is_negated(word: str, words: Sequence[str]) -> bool:
    return any(
        word in (f"not {other}", f"un{other}", f"in{other}", f"non-{other}", f"ir{other}") for other in words
    )


def _valued(words: Sequence[str], why: str) -> OfferedVerdicts:
    flat = [word.lower() for word in words]
    good = [word in _GOOD for word in flat]
    bad = [word in _BAD or _is_negated(word, flat) for word in flat]
    if len(words) == 2:
        if good[0] != good[1] or bad[0] != bad[1]:
            first = float(good[0] or bad[1])
            return OfferedVerdicts({words[0]: first, words[1]: 1 - first}, why, best=1.0)
        if flat[0] in _NEUTRAL and flat[1] == _NEUTRAL[flat[0]]:
            return OfferedVerdicts({words[0]: 1.0, words[1]: 0.0}, why)
        if flat[1] in _NEUTRAL and flat[0] == _NEUTRAL[flat[1]]:
            return OfferedVerdicts({words[1]: 1.0, words[0]: 0.0}, why)
    return OfferedVerdicts(
        {word: float(number) for number, word in enumerate(words)}, why, "none", is_ordered=False
    )


def _menu(text: str) -> OfferedVerdicts | None:
    """`(A) …`, `(B) …` on separate lines, behind words that say to select one."""
    letters: list[re.Match[str]] = []
    best: list[re.Match[str]] = []
    for match in _MENU.finditer(text):
        expected = chr(ord("A") + len(letters))
        letters = [*letters, match] if match[1] == expected else [match] if match[1] == "A" else []
        if len(letters) > 1 and len(letters) >= len(best):
            best = letters
    if len(best) < 2:
        return None
    around = (
        text[max(0, best[0].start() - 400) : best[0].start()] + text[best[-1].end() : best[-1].end() + 400]
    )
    if not _SELECT.search(around):
        return None
    names = {match[1]: _menu_word(text, match) for match in best}
    if len(names) == 2 and all(names.values()):
        valued = _valued(list(names.values()), "")
        if valued.best == 1.0:
            values = {letter: valued.options[name] for letter, name in names.items()}
            return OfferedVerdicts(values, "the prompt lists these options", best=1.0)
    options = {match[1]: float(number) for number, match in enumerate(best)}
    return OfferedVerdicts(options, "the prompt lists these options", "none", is_ordered=False)


def _menu_word(text: str, match: re.Match[str]) -> str:
    """The word of an option that is one word: `A: CORRECT`."""
    end = text.find("\n", match.end())
    said = text[match.end() - 1 : end if end >= 0 else None].strip(" .*\"'`")
    return said if re.fullmatch(r"[A-Za-z_-]{2,24}", said) else ""
