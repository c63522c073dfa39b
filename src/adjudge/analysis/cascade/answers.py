"""What a run says of each item, and how sure its judge is, for a cascade.

A judge may show its confidence in several ways: `stated` (a probability, or a confidence that it wrote), and
`margin` (how far its samples, or both orders of a pair, agree: the lead of the most frequent answer, or minus
the spread of scores).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import structs

from ...data.judge_answers import JudgeAnswer
from ...errors import DataError
from ...records import Result
from ...results.combine import CallJudgment, Kind
from ...results.manifest import protocols_of
from ...results.stored_results import JudgedItem, judged_items
from ...store import RunRow, Store

Confidence = Literal["stated", "margin"]
CONFIDENCES: tuple[Confidence, ...] = ("stated", "margin")


def criterion_of_runs(store: Store, runs: Sequence[RunRow], wanted: str | None) -> str:
    """The criterion that all runs judge, or the one that is wanted."""
    judged = [
        {name for protocol in protocols_of(store, run).values() for name in protocol.criteria} for run in runs
    ]
    common = sorted(set.intersection(*judged))
    if wanted is not None and wanted in common:
        return wanted
    if wanted is None and len(common) == 1:
        return common[0]
    raise DataError(
        f"The runs have these criteria in common: {', '.join(common) or 'none'}. Choose one: "
        "--criterion NAME."
    )


def answers_of_run(store: Store, run: RunRow, criterion: str, confidence: Confidence) -> list[JudgeAnswer]:
    """One answer for each item of a run, with one kind of confidence."""
    totals = store.totals(run)
    price = None if totals.unpriced or not totals.items else totals.cost_usd / totals.items
    answers: dict[str, JudgeAnswer] = {}
    for judged in judged_items(store.judgments(run), protocols_of(store, run)):
        answer = answer_of_item(run.name, judged, criterion, confidence)
        if answer is not None:
            answers[answer.item] = structs.replace(answer, price=price)
    return list(answers.values())


def answer_of_item(
    judge: str, judged: JudgedItem, criterion: str, confidence: Confidence
) -> JudgeAnswer | None:
    """The answer for one item; none where the criterion was not judged."""
    found: JudgeAnswer | None = None
    for result, kind, voices in judged.results:
        if result.criterion != criterion or (result.subject is not None and kind != "choices"):
            continue
        # A choice is the answer of a pair; the scores of its responses are not.
        if found is None or kind == "choices":
            found = _answer(judge, result, kind, voices, confidence)
    return found


def _answer(
    judge: str, result: Result, kind: Kind, voices: Sequence[CallJudgment], confidence: Confidence
) -> JudgeAnswer:
    answer: float | str | None = result.choice if kind == "choices" else result.label or result.value
    if result.status != "ok":
        answer = None
    sure = result.confidence if confidence == "stated" else _margin(result, kind, voices)
    return JudgeAnswer(result.item, judge, answer, sure, group=result.group)


def _margin(result: Result, kind: Kind, voices: Sequence[CallJudgment]) -> float | None:
    if len(voices) < 2:
        return None
    if kind == "scores" and result.label is None:
        return None if result.spread is None else -result.spread
    if kind == "choices":
        votes = Counter(str(voice.judgment.choice) for voice in voices)
    else:
        votes = Counter(
            str(score.value)
            for voice in voices
            for score in voice.judgment.scores
            if score.criterion == result.criterion
        )
    (_, first), *rest = votes.most_common(2)
    return (first - (rest[0][1] if rest else 0)) / len(voices)


def known_confidences(answers: Sequence[JudgeAnswer]) -> bool:
    """Whether a kind of confidence can order the items: most answers have one, and not all the same."""
    values = [answer.confidence for answer in answers if answer.confidence is not None]
    return 2 * len(values) >= len(answers) and len(set(values)) > 1
