"""What a run says of each item, and how sure its judge is, for a cascade.

A judge may show its confidence in several ways: `stated` (a probability, or a confidence that it wrote), and
`margin` (how far its samples, or both orders of a pair, agree: the lead of the most frequent answer, or minus
the spread of scores).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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


def answers_of_run(
    store: Store, run: RunRow, criterion: str, confidence: Confidence, n_samples: int | None = None
) -> list[JudgeAnswer]:
    """One answer for each item of a run, with one kind of confidence; of its first samples, where so many
    are named."""
    totals = store.totals(run)
    price = None if totals.unpriced or not totals.items else totals.cost_usd / totals.items
    answers: dict[str, JudgeAnswer] = {}
    judgments = (
        judged for judged in store.judgments(run) if n_samples is None or judged.about.sample < n_samples
    )
    for judged in judged_items(judgments, protocols_of(store, run)):
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
        return None if result.spread is None else 0.0 - result.spread
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


def known_confidences(by_kind: Mapping[Confidence, Sequence[JudgeAnswer]]) -> list[Confidence]:
    """The kinds of confidence that most answers have and that order the items; where none does, the first
    that most have: such a judge decides all items or none."""
    known: list[Confidence] = []
    orders: list[Confidence] = []
    for kind, answers in by_kind.items():
        values = [answer.confidence for answer in answers if answer.confidence is not None]
        if values and 2 * len(values) >= len(answers):
            known.append(kind)
            if len(set(values)) > 1:
                orders.append(kind)
    return orders or known[:1]
