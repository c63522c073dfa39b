"""From answers and labels to a cascade: who decides what, at which price, with which agreement."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from ...data.judge_answers import JudgeAnswer
from ...errors import DataError
from ...records import Estimate, Label
from ...stats.arrays import undefined
from ...stats.cascades import Answers, CascadeFit, fit_cascade
from ...stats.proportions import wilson
from ..labels.people import agrees, first_by_item, people_of
from .cascade import Cascade, Stage


def judge_names(answers: Sequence[JudgeAnswer], given: Sequence[str]) -> tuple[str, ...]:
    """The judges in the order given, or in that of the file."""
    known = tuple(dict.fromkeys(answer.judge for answer in answers))
    missing = [name for name in given if name not in known]
    if missing or len(set(given)) < len(given):
        problem = f"no row has judge {', '.join(missing)}" if missing else "a judge is named twice"
        raise DataError(f"--judges {','.join(given)}: {problem}. The judges are: {', '.join(known)}.")
    return tuple(given) or known


def calibrated(
    answers: Sequence[JudgeAnswer],
    labels: Sequence[Label],
    judges: Sequence[str],
    *,
    agree: float,
    risk: float,
    within: float | None = None,
    criterion: str | None = None,
) -> Cascade:
    """The cascade of these judges, the cheapest first."""
    rows = {name: {row.item: row for row in answers if row.judge == name} for name in judges}
    items = list(dict.fromkeys(row.item for row in answers if row.judge in rows))
    is_choice = _check_answers(answers, within)
    people = people_of(labels, criterion, is_choice=is_choice, mean=within is not None)
    labelled = [item for item in items if item in people]
    if not labelled:
        raise DataError(
            "No labelled item is among the scores. Items are matched by id: check the column item."
        )
    groups = first_by_item((row.item, row.group) for row in answers)
    fit = fit_cascade(
        [_answers_of(rows[name], items, people, within) for name in judges],
        agree,
        risk,
        [groups.get(item, ("", item)) for item in items] if groups else None,
    )
    prices = [_price(rows[name].values()) for name in judges]
    notes = _notes(people, set(items), fit)
    return _cascade_of(fit, judges, prices, len(items), len(labelled), agree, risk, within, notes)


def _check_answers(answers: Sequence[JudgeAnswer], within: float | None) -> bool:
    """Whether the answers are choices or classes; an error where they cannot be compared with labels."""
    values = [row.answer for row in answers if row.answer is not None]
    n_texts = sum(isinstance(value, str) for value in values)
    if n_texts and within is not None:
        raise DataError("--within is for scores, and these answers are choices or classes. Leave it out.")
    if not n_texts and within is None and any(value != int(value) for value in values):
        raise DataError(
            "The answers are scores. Say how close to the label counts as agreement: --within 0.5."
        )
    if all(row.confidence is None for row in answers):
        raise DataError("No answer has a confidence. Add a column confidence: any number, larger is surer.")
    return n_texts > 0


def _answers_of(
    rows: dict[str, JudgeAnswer], items: Sequence[str], people: dict[str, float | str], within: float | None
) -> Answers:
    confidence: list[float | None] = []
    agreed: list[bool | None] = []
    for item in items:
        row = rows.get(item)
        answer = None if row is None or row.answer == "tie" else row.answer
        confidence.append(None if row is None or answer is None else row.confidence)
        agreed.append(agrees(answer, people[item], within) if item in people else None)
    return Answers(confidence, agreed)


def _price(rows: Collection[JudgeAnswer]) -> float | None:
    """USD for one judgment: the mean over the rows that have a price."""
    prices = [row.price for row in rows if row.price is not None]
    return math.fsum(prices) / len(prices) if prices else None


def _notes(people: dict[str, float | str], items: set[str], fit: CascadeFit) -> tuple[str, ...]:
    notes = []
    if unknown := sum(item not in items for item in people):
        notes.append(f"{unknown} labelled items have no scores and are not used.")
    if fit.n_groups is not None:
        notes.append(
            f"Labelled items share groups: bounds are over {fit.n_groups} groups (betting), and wider."
        )
    return tuple(notes)


def _cascade_of(
    fit: CascadeFit,
    judges: Sequence[str],
    prices: Sequence[float | None],
    n_items: int,
    n_labels: int,
    agree: float,
    risk: float,
    within: float | None,
    notes: tuple[str, ...],
) -> Cascade:
    stages = tuple(
        Stage(
            name,
            stage.threshold,
            wilson(stage.n_decided, n_items, name="share decided"),
            wilson(stage.n_agree, stage.n_labelled, name="agreement")
            if stage.n_labelled
            else undefined("it decides no labelled item", unit="item"),
            None if price is None else 1000 * price * stage.n_reached / n_items,
        )
        for name, stage, price in zip(judges, fit.stages, prices, strict=True)
    )
    known = [stage.price_per_1000 for stage in stages if stage.price_per_1000 is not None]
    decided = wilson(sum(stage.n_decided for stage in fit.stages), n_items, name="share decided")
    return Cascade(
        stages,
        decided,
        _agreement_of(fit, risk),
        agree,
        risk,
        fit.holds,
        fit.labels_needed,
        n_labels,
        within,
        price_per_1000=math.fsum(known) if len(known) == len(stages) else None,
        alone_price_per_1000=None if prices[-1] is None else 1000 * prices[-1],
        notes=notes,
    )


def _agreement_of(fit: CascadeFit, risk: float) -> Estimate:
    n = sum(stage.n_labelled for stage in fit.stages)
    if fit.agreement is None:
        return undefined("no threshold can be shown with these labels", unit="item")
    value, low, high = fit.agreement
    kind, unit = ("exact binomial", "item")
    if fit.n_groups is not None:
        kind, unit = "betting", f"group (n={fit.n_groups})"
    method = f"agreement among decided items, one-sided {kind} bounds at {1 - risk:.0%} each"
    return Estimate(value, low, high, n, method=method, unit=unit)
