"""`example-is-answer`: the format is shown with one real score in it, which a judge may copy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...records import Scale
from .described_levels import level_lists
from .prompt import Prompt, Suspicion
from .shown_format import shown_objects

EXAMPLE_IS_ANSWER = "example-is-answer"


class _Shown(NamedTuple):
    value: float
    start: int


_NUM = r"(\d{1,3}(?:\.\d{1,2})?)"


_SCORE_KEY = re.compile(
    r"(?:overall_|final_|total_)?(?:score|rating|grade)(?:_value)?\Z|分数|评分|점수", re.IGNORECASE
)


_NUMBER_ALONE = re.compile(rf"[\"']?{_NUM}[\"']?\s*(?:#.*|//.*)?\Z")


_FOR_EXAMPLE = re.compile(
    r"(?:\be\.g\.|\bexample(?=:)|\blooks? like(?: this)?|\bfor example|\bfor instance|\bsuch"
    rf" as|例如|比如|예를 들어|예:)[,:：]?\s?[\"'“`*]{{0,2}}{_NUM}[\"'”`*]{{0,2}}(?=\s?(?:[.)）。\n]|\Z))",
    re.IGNORECASE,
)


_ALONE = r"(?=[\"'”`*\])>]{0,4}(?:[.。]?\s*(?:\n|\Z)|[\"'”`.。,，]))"
"""What follows a number that stands alone: no range, no text of a level."""


_DOUBLE_BRACKETS = re.compile(rf"\[\[{_NUM}\]\]")


def example_is_answer(prompt: Prompt) -> Iterator[Suspicion]:
    """The scores that the shown format holds, where they are all the same one."""
    scales = [scale for _, scale in prompt.scales if scale.low is not None]
    if not scales:
        return
    levels = {level.start for levels in level_lists(prompt) for level in levels}
    shown = [answer for answer in _shown_answers(prompt) if answer.start not in levels]
    if len({answer.value for answer in shown}) == 1 and _is_on(shown[0].value, scales):
        times = f"{len(shown)} times" if len(shown) > 1 else "once"
        yield Suspicion(
            shown[0].start,
            f"the format is shown with the score {shown[0].value:g} in it ({times}) and with no other: judges"
            " copy it.",
            "Write a word instead of the number, such as SCORE.",
        )


def _is_on(value: float, scales: list[Scale]) -> bool:
    return any(scale.status_of(value) == "ok" for scale in scales)


def _shown_answers(prompt: Prompt) -> list[_Shown]:
    answer = prompt.protocol.answer
    answers = [_Shown(float(match[1]), match.start(1)) for match in _DOUBLE_BRACKETS.finditer(prompt.words)]
    if answer.tag:
        answers += _matches(prompt, rf"<{re.escape(answer.tag)}>\s?{_NUM}\s?</{re.escape(answer.tag)}>")
    if answer.marker:
        answers += _matches(prompt, rf"{re.escape(answer.marker)}\s{{0,2}}[(\[]?{_NUM}\b")
    for label in answer.labels:
        answers += _matches(prompt, rf"{re.escape(label)}\s?[:：]\s?[\[(<*]{{0,3}}{_NUM}{_ALONE}")
    if answer.reader in ("first_line", "label", "free"):
        answers += [_Shown(float(match[1]), match.start(1)) for match in _FOR_EXAMPLE.finditer(prompt.words)]
    if answer.reader == "json":
        answers += _in_objects(prompt)
    return sorted(set(answers), key=lambda match: match.start)


def _matches(prompt: Prompt, pattern: str) -> list[_Shown]:
    return [
        _Shown(float(match[1]), match.start(1)) for match in re.finditer(pattern, prompt.words, re.IGNORECASE)
    ]


def _in_objects(prompt: Prompt) -> list[_Shown]:
    answer = prompt.protocol.answer
    keys = {path.rpartition(".")[2] for path in (answer.score, *answer.scores.values()) if path}
    if "{criterion}" in keys:
        keys.update(name.lower() for name in prompt.protocol.criteria)
    return [
        _Shown(float(number[1]), start)
        for shown in shown_objects(prompt.words)
        for key, (value, start) in shown.values.items()
        if (key in keys or _SCORE_KEY.match(key)) and (number := _NUMBER_ALONE.match(value))
    ]
