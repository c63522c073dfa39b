"""What a judgment is flagged for: another language, a winner
with fewer points, an overall score unlike its parts.
"""

from __future__ import annotations

import re

from ..lazy_patterns import lazily
from ..records import Judgment, Protocol, Score
from .numbers.number import number_at
from .reply import JudgeReply
from .text.characters import narrow
from .text.own_voice import set_aside


def flags_of(protocol: Protocol, judgment: Judgment, reply: JudgeReply) -> tuple[str, ...]:
    flags = list(dict.fromkeys(reply.flags))
    if _speaks_another_language(protocol.language.reply, reply.text):
        flags.append("language_mismatch")
    if _winner_contradicts(protocol, judgment):
        flags.append("verdict_contradicts_scores")
    if _overall_differs(protocol, judgment):
        flags.append("overall_differs_from_criteria")
    if any(_is_between_levels(score, protocol, reply.text) for score in judgment.scores):
        flags.append("between_levels")
    return tuple(flags)


def _is_between_levels(score: Score, protocol: Protocol, text: str) -> bool:
    """Whether a score without a value lies between two levels,
    as 4.5 does on 1, 2, …, 5, and not beyond the ends.
    """
    scale = protocol.criteria.get(score.criterion)
    if score.status != "out_of_range" or score.span is None or scale is None or scale.limits is None:
        return False
    number = number_at(narrow(text[slice(*score.span)]).strip("\"' "), 0)
    low, high = scale.limits
    return number is not None and low < number.value < high


_EXAMINED = 240
"""How much of a reply tells its language."""

_OTHER_LETTERS = {
    "ko": re.compile(r"[^가-힣]+"),
    "zh": re.compile(r"[^一-鿿]+"),
    "en": re.compile(r"[^A-Za-z]+"),
}
_NO_LETTERS = lazily(r"[\W\d_]+")


def _speaks_another_language(language: str, text: str) -> bool:
    """Whether the prose of a reply is hardly in the language it was asked for in.

    A bare score is in every language. A word of Korean or Chinese takes fewer letters than one of English.
    """
    language = language.partition("-")[0]
    others = _OTHER_LETTERS.get(language)
    if others is None or (language == "en" and text.isascii()):
        return False
    prose = set_aside(text, fenced=False, quoted=False)[:_EXAMINED] if "<" in text else text[:_EXAMINED]
    letters = len(_NO_LETTERS.sub("", prose))
    if letters < 40:
        return False
    return len(others.sub("", prose)) / letters < (0.5 if language == "en" else 0.15)


def _values(judgment: Judgment, criterion: str) -> dict[str | None, float]:
    return {s.subject: s.value for s in judgment.scores if s.criterion == criterion and s.value is not None}


def _winner_contradicts(protocol: Protocol, judgment: Judgment) -> bool:
    """A winner with fewer points than the other response, or a tie between unequal ones."""
    scale = protocol.criteria.get("overall")
    if judgment.choice is None or scale is None or scale.direction == 0:
        return False
    values = _values(judgment, "overall")
    if "a" not in values or "b" not in values:
        return False
    lead = (values["a"] - values["b"]) * scale.direction
    winner = "tie" if lead == 0 else "a" if lead > 0 else "b"
    return winner != judgment.choice


def _overall_differs(protocol: Protocol, judgment: Judgment) -> bool:
    """An overall score more than a quarter of the scale away from the mean of the criteria."""
    scale = protocol.criteria.get("overall")
    if scale is None or scale.low is None or scale.high is None:
        return False
    others = [name for name, other in protocol.criteria.items() if name != "overall" and other is not None]
    for subject, overall in _values(judgment, "overall").items():
        values = [scores[subject] for name in others if subject in (scores := _values(judgment, name))]
        if values and abs(sum(values) / len(values) - overall) > (scale.high - scale.low) / 4:
            return True
    return False
