"""From answers and labels to a cascade: who decides what, at which price, with which agreement."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

from msgspec import structs

from ...data.judge_answers import JudgeAnswer
from ...errors import DataError
from ...records import Estimate, Label
from ...stats.arrays import undefined
from ...stats.cascades import CascadeFit, StageAnswers, fit_cascade
from ...stats.proportions import wilson
from ...stats.win_rates import clustered_share
from ...words import count
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


def calibrated_cascade(
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
    units = [groups.get(item, ("", item)) for item in items] if groups else None
    prices = [_price(rows[name].values()) for name in judges]
    given = [
        structs.replace(_answers_of(rows[name], rows[judges[-1]], items, people, within), price=price)
        for name, price in zip(judges, prices, strict=True)
    ]
    fit = fit_cascade(given, agree, risk, units)
    needed = fit.labels_needed
    notes = (*_notes(people, set(items), fit), *_undecided(rows, items))
    stages = tuple(
        _stage(name, place, fit, units, given[place].agrees, prices[place], n_failed(rows[name], items))
        for place, name in enumerate(judges)
    )
    known = [stage.price_per_1000 for stage in stages if stage.price_per_1000 is not None]
    return Cascade(
        stages,
        _share([place >= 0 for place in fit.deciders], units, "share decided"),
        _agreement_of(fit, risk),
        agree,
        risk,
        fit.holds,
        None if needed is None else needed.likely,
        len(labelled),
        within,
        labels_needed_range=None if needed is None else (needed.low, needed.high),
        price_per_1000=math.fsum(known) if len(known) == len(stages) else None,
        alone_price_per_1000=None if prices[-1] is None else 1000 * prices[-1],
        notes=notes,
    )


def _check_answers(answers: Sequence[JudgeAnswer], within: float | None) -> bool:
    """Whether the answers are choices or classes; an error where they cannot be compared with labels."""
    values = [row.answer for row in answers if row.answer is not None]
    is_choice = any(row.is_choice for row in answers)
    if is_choice and within is not None:
        raise DataError("--within is for scores, and these answers are choices or classes. Leave it out.")
    if not is_choice and within is None and any(value != int(value) for value in values):
        raise DataError(
            "The answers are scores. Say how close to the label counts as agreement: --within 0.5."
        )
    if all(row.confidence is None for row in answers):
        raise DataError("No answer has a confidence. Add a column confidence: any number, larger is surer.")
    return is_choice


def _answers_of(
    rows: dict[str, JudgeAnswer],
    last: dict[str, JudgeAnswer],
    items: Sequence[str],
    people: dict[str, float | str],
    within: float | None,
) -> StageAnswers:
    confidence: list[float | None] = []
    agreed: list[bool | None] = []
    same: list[bool] = []
    for item in items:
        row = rows.get(item)
        answer = None if row is None else _decisive(row)
        confidence.append(None if row is None or answer is None else row.confidence)
        agreed.append(agrees(answer, people[item], within) if item in people else None)
        other = _decisive(last[item]) if item in last else None
        same.append(other is None or agrees(answer, other, within))
    return StageAnswers(confidence, agreed, same)


def _decisive(row: JudgeAnswer) -> float | str | None:
    return None if row.answer == "tie" else row.answer


def _price(rows: Collection[JudgeAnswer]) -> float | None:
    """USD for one judgment: the mean over the rows that have a price."""
    prices = [row.price for row in rows if row.price is not None]
    return math.fsum(prices) / len(prices) if prices else None


def _notes(people: dict[str, float | str], items: set[str], fit: CascadeFit) -> tuple[str, ...]:
    notes = []
    if unknown := sum(item not in items for item in people):
        notes.append(f"{count(unknown, 'labelled item')} without scores: not used.")
    if fit.n_groups is not None:
        groups = count(fit.n_groups, "group")
        notes.append(f"Labelled items share groups: bounds are over {groups} (betting), and wider.")
    return tuple(notes)


def n_failed(rows: Mapping[str, JudgeAnswer], items: Sequence[str]) -> int:
    """Items without an answer of a judge: no row, or a failed judgment."""
    return sum(item not in rows or rows[item].answer is None for item in items)


def _undecided(rows: Mapping[str, Mapping[str, JudgeAnswer]], items: Sequence[str]) -> Iterator[str]:
    """Items that a judge cannot decide, whatever the threshold."""
    failed = {name: n_failed(mine, items) for name, mine in rows.items()}
    unsure = {
        name: sum(row.answer is not None and row.confidence is None for row in mine.values())
        for name, mine in rows.items()
    }
    for what, counts in (("answer", failed), ("confidence", unsure)):
        listed = ", ".join(f"{name} {n:,}" for name, n in counts.items() if n)
        if listed:
            yield f"No {what}, of {count(len(items), 'item')}: {listed}. A judge does not decide these items."


def _stage(
    name: str,
    place: int,
    fit: CascadeFit,
    units: Sequence[Hashable] | None,
    agreed: Sequence[bool | None],
    price: float | None,
    n_failed: int,
) -> Stage:
    """What one judge decides. A judge that never decides is not asked, and costs nothing."""
    mine = [at for at, decider in enumerate(fit.deciders) if decider == place and agreed[at] is not None]
    agreement = (
        _share([bool(agreed[at]) for at in mine], units and [units[at] for at in mine], "agreement")
        if mine
        else undefined("it decides no labelled item", unit="item")
    )
    stage, n_items = fit.stages[place], len(fit.deciders)
    n_asked = 0 if stage.threshold is None else stage.n_reached
    return Stage(
        name,
        stage.threshold,
        structs.replace(
            _share([decider == place for decider in fit.deciders], units, "share decided"), n_failed=n_failed
        ),
        agreement,
        None if price is None else 1000 * price * n_asked / n_items,
    )


def _share(flags: Sequence[bool], units: Sequence[Hashable] | None, name: str) -> Estimate:
    """A share with Wilson's interval, over groups where items share one."""
    if units is None or len(set(units)) == len(units):
        return wilson(sum(flags), len(flags), name=name)
    return structs.replace(
        clustered_share([float(flag) for flag in flags], units, unit="item"),
        method=f"{name}, Wilson interval over groups",
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
