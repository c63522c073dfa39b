"""Takes missing answers from the replies to follow-up
questions: when a judgment needs one, and what it then says.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from ..records import Judgment, Score, Status
from .glimpse import ShownValue

REASKED: frozenset[Status] = frozenset(("unparsed", "conflicting", "out_of_range", "truncated"))
"""What a follow-up question may mend."""


def needs_reask(judgment: Judgment) -> bool:
    """Whether an answer is missing although the judge did not refuse."""
    statuses = {score.status for score in judgment.scores}
    if judgment.choice_status is not None:
        statuses.add(judgment.choice_status)
    return bool(statuses & REASKED) and "refused" not in statuses


def with_reasks(
    first: Judgment,
    answers: Iterable[Judgment],
    seen: Judgment | None = None,
    values: frozenset[ShownValue] = frozenset(),
) -> Judgment:
    """The first judgment, with what is missing from the replies to the follow-up questions, in their order.

    `seen` and `values` are as for `with_reask`.
    """
    judgment = first
    for number, answer in enumerate(answers, 1):
        if not needs_reask(judgment):
            break
        judgment = with_reask(judgment, answer, number, seen, values)
    return judgment


def with_reask(
    first: Judgment,
    second: Judgment,
    number: int = 1,
    seen: Judgment | None = None,
    values: frozenset[ShownValue] = frozenset(),
) -> Judgment:
    """The first judgment, with missing answers taken from the reply to the follow-up question of this number.

    `seen` is what the first reply shows in any format, and `values` are those that it shows without being
    readable: an answer that contradicts them is a conflict.
    """
    answers = {(score.criterion, score.subject): score for score in second.scores}
    shown = {
        (s.criterion, s.subject): s for s in (seen.scores if seen is not None else ()) if s.status == "ok"
    }

    def better(score: Score) -> Score:
        answer = answers.get((score.criterion, score.subject))
        if score.status not in REASKED or answer is None or answer.status != "ok":
            return score
        visible = shown.get((score.criterion, score.subject))
        if score.status == "truncated":
            # Without a span no answer in the requested format had begun: that is the reasoning.
            contradicts = score.span is not None and visible is not None and not _goes_on(visible, answer)
        elif visible is not None:
            contradicts = visible.value != answer.value
        else:
            given = answer.value
            contradicts = (
                bool(values) and given is not None and not any(value.admits(given) for value in values)
            )
        if contradicts:
            return structs.replace(score, status="conflicting", span=None)
        # The span of this value is in the second reply, not in the first.
        return structs.replace(
            answer,
            how="reask",
            span=None,
            evidence=score.evidence,
            grounded=score.grounded,
            quotes_stand=score.quotes_stand,
            reply=number,
        )

    judgment = structs.replace(first, scores=tuple(better(score) for score in first.scores))
    if first.choice_status not in REASKED or second.choice is None:
        return judgment
    is_seen = first.choice_status != "truncated" or first.choice_span is not None
    visible_choice = seen.choice if seen is not None and is_seen else None
    if visible_choice is not None and visible_choice != second.choice:
        return structs.replace(judgment, choice_status="conflicting", choice_span=None)
    return structs.replace(
        judgment,
        choice=second.choice,
        choice_status="ok",
        choice_how="reask",
        choice_span=None,
        choice_reply=number,
    )


def _goes_on(visible: Score, answer: Score) -> bool:
    """Whether a value that was cut off may have been going to be the answer: a 1 may be the start of 10."""
    if visible.value is None or answer.value is None:
        return True
    return f"{answer.value:g}".startswith(f"{visible.value:g}")
