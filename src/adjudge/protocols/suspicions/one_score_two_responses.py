"""`one-score-two-responses`: two responses are shown, and a criterion has one score for both."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .described_levels import declared_levels, level_lists
from .prompt import Prompt, Suspicion

ONE_SCORE_TWO_RESPONSES = "one-score-two-responses"


_RELATIVE = re.compile(
    r"\b(?:better|prefer\w*|tie|tied|equal\w*|same|(?:response|answer|assistant|output|model|summary)"
    r" (?:[ab12]|one|two)|"
    r"first|second|former|latter|worse)\b|更好|相同|平局|더 나은|동일|비슷|\b[AB]\b",
    re.IGNORECASE,
)


_SCORE_EACH = re.compile(
    r"\b(?:two|both|2) (?:\w+ )?(?:scores|ratings|values|numbers|integers|grades)\b|\b(?:scores?|ratings?)"
    r" (?:for|of|to) (?:each|both|assistants?"
    r"|responses? [a1])|\b(?:for|score|rate|grade|evaluate|assess) (?:each|both) (?:\w+"
    r" )?(?:assistants?|responses?|answers?|outputs?|summar(?:y|ies)|models?)\b|\beach"
    r" (?:assistant|response|answer|output|summary|model) (?:receives|gets|is"
    r" given)|两个(?:分数|评分)|各自的(?:分数|评分)|각각(?:의|에)? ?(?:점수|평점)",
    re.IGNORECASE,
)


def one_score_two_responses(prompt: Prompt) -> Iterator[Suspicion]:
    """Criteria with a scale whose place in the reply names no response.

    A scale that measures the distance between the two ("5 = B is much better") needs no subject.
    """
    pair = prompt.compared
    if pair is None or _is_relative(prompt):
        return
    alone = [name for name, _ in prompt.scales if not _has_subject(prompt, name)]
    if not alone:
        return
    shown = f"'{pair[0].label or pair[0].name}' and '{pair[1].label or pair[1].name}'"
    names = ", ".join(f"'{name}'" for name in alone[:6]) + (", …" if len(alone) > 6 else "")
    yield Suspicion(
        None,
        f"two responses are shown ({shown}), but a single score is read for {names}: it is not clear whose"
        " it is.",
        "Ask for a score for each response, with {subject} in its path; where the prompt asks only for the"
        " better one, take the scale out and read a choice.",
        "answer",
    )


def _has_subject(prompt: Prompt, criterion: str) -> bool:
    answer = prompt.protocol.answer
    path = answer.scores.get(criterion, answer.score)
    if path is not None:
        return "{subject}" in path
    # Other readers have no path to name a subject in, so there the words must ask for two scores.
    return bool(answer.subjects) or _SCORE_EACH.search(prompt.words) is not None


def _is_relative(prompt: Prompt) -> bool:
    lists = [*level_lists(prompt), *(declared_levels(scale) for _, scale in prompt.scales)]
    return any(sum(bool(_RELATIVE.search(level.text)) for level in levels) >= 2 for levels in lists)
