"""Details of the judge card: the verdict, rater severity, the confusion matrix, agreement in parts, single scores, many judges.

Agreement as a whole is in `human_agreement`. Where several intervals are read together (raters, parts, judges) they hold
together with 95 %.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from ..combine import Kind
from ..errors import DataError
from ..records import Estimate, Label
from ..stats import (
    AltTest,
    PartAgreement,
    ScoreInterval,
    agreement_in_parts,
    halved,
    many_judges,
    rater_severity,
    score_interval,
)
from ..stats.arrays import SAME
from ..words import names as named
from .human_agreement import MOST_LEVELS, levels_of
from .label_join import LabelledItem, LabelledTable, as_float, join, number_or_none, numbers
from .result_types import (
    BestJudge,
    ChosenJudge,
    ConfusionMatrix,
    PeopleCeiling,
    RaterSeverity,
    ReplacementVerdict,
    VerdictReason,
)
from .run_view import RunView

LARGE_GAP = 0.1
"""A rater who is this share of the scale above or below the others, significantly, gets a warning."""
MOST_PARTS = 12
"""Different values up to which each is a part; numbers with more are cut into thirds."""


# -- The verdict


def replacement_verdict(test: AltTest | None, ceiling: PeopleCeiling | None) -> ReplacementVerdict:
    """Whether the judge can replace a human rater, from the test and the human ceiling together."""
    if test is None or test.passes is None:
        return ReplacementVerdict("undefined", ("undefined",))
    reasons: list[VerdictReason] = []
    if ceiling is not None and ceiling.standing == "below":
        reasons.append("below_rater")
    if (test.winning_rate.value or 0.0) < 0.5:
        reasons.append("loses")
    if test.constant is not None and not test.constant.is_beaten:
        reasons.append("constant")
    if test.shuffled is not None and not test.shuffled.is_beaten:
        reasons.append("shuffled")
    if not reasons:
        return ReplacementVerdict("yes")
    return ReplacementVerdict("no" if "below_rater" in reasons else "not shown", tuple(reasons))


# -- The raters


def severities(table: LabelledTable) -> dict[str, RaterSeverity]:
    """How much higher each rater scores than the others: on the same items, or by the distance from the judge."""
    rows = table.labelled()
    if table.kind != "scores" or len(table.raters) < 2:
        return {}
    ratings = [numbers(row.ratings) for row in rows]
    limits = table.scale.limits if table.scale is not None and table.is_same_scale else None
    width = None if limits is None else limits[1] - limits[0]
    found = rater_severity(
        ratings, numbers(row.answer for row in rows), clusters=table.groups(rows), width=width
    )
    values = [rating for row in ratings for rating in row if rating is not None]
    span = width if width is not None else max(values, default=0.0) - min(values, default=0.0)
    return {
        table.raters[place]: RaterSeverity(
            estimate,
            basis,
            _is_shown(estimate) and abs(estimate.value or 0.0) >= max(1e-9, LARGE_GAP * span),
        )
        for place, (estimate, basis) in found.items()
    }


def _is_shown(difference: Estimate) -> bool:
    """Whether a difference is significant, or the same on every item."""
    if difference.low is None or difference.high is None:
        return difference.reason == SAME
    return not difference.low <= 0 <= difference.high


# -- The confusion matrix


def confusion_matrix(table: LabelledTable) -> ConfusionMatrix | None:
    """The judge's answers against each rating; a score between two levels counts as the nearest, midway as the upper."""
    rows = table.labelled()
    counts: Counter[tuple[str, str]] = Counter()
    if table.kind == "choices":
        columns = ["a", "b", "tie"]
        for row in rows:
            counts.update(
                (str(row.answer or "failed"), str(rating)) for rating in row.ratings if rating is not None
            )
    else:
        levels = _levels(table, rows)
        if not levels or not table.is_same_scale:
            return None
        columns = [f"{level:g}" for level in levels]
        for row in rows:
            answer = _at_level(number_or_none(row.answer), levels)
            for rating in numbers(row.ratings):
                if rating is not None:
                    counts[answer or "failed", _at_level(rating, levels) or ""] += 1
    lines = [*columns, *(["failed"] if any(judge == "failed" for judge, _ in counts) else [])]
    return ConfusionMatrix(
        judge=tuple(lines),
        human=tuple(columns),
        counts=tuple(tuple(counts[line, column] for column in columns) for line in lines),
        n_items=len(rows),
        n_ratings=sum(counts.values()),
    )


def _levels(table: LabelledTable, rows: Sequence[LabelledItem]) -> list[float]:
    """The levels of the scale, or the values that occur where it is unknown; none where there are too many."""
    levels = levels_of(table.scale)
    if levels is None and table.scale is None:
        answers = [answer for row in rows for answer in (row.answer, *row.ratings)]
        levels = sorted({answer for answer in numbers(answers) if answer is not None})
    return levels if levels and 2 <= len(levels) <= MOST_LEVELS else []


def _at_level(value: float | None, levels: Sequence[float]) -> str | None:
    (both,) = halved([value], levels)
    return None if both is None else f"{both[1]:g}"


# -- Agreement in parts of the items


def agreement_by(table: LabelledTable, fields: Sequence[str]) -> dict[str, dict[str, PartAgreement]]:
    """Agreement by system, by length of the response, and by each of these fields; only where there are two parts."""
    rows = [row for row in table.labelled() if row.answer is not None]
    length = "longer" if table.kind == "choices" else "length"
    columns: dict[str, list[str | None]] = {
        "system": [" - ".join(row.systems) if table.kind == "choices" else row.system for row in rows],
        "length": _parts([row.attributes.get(length) for row in rows], "length"),
    }
    for name in fields:
        if name not in columns:
            columns[name] = _parts([row.attributes.get(name) for row in rows], name)
    limits = table.scale.limits if table.scale is not None and table.is_same_scale else None
    by = {}
    for name, parts in columns.items():
        if len({part for part in parts if part is not None}) < 2:
            continue
        found = agreement_in_parts(
            [row.answer for row in rows], [row.label for row in rows], parts, table.groups(rows),
            is_choices=table.kind == "choices", width=None if limits is None else limits[1] - limits[0],
        )  # fmt: skip
        by[name] = {str(part): found[part] for part in sorted(found, key=_place)}
    return by


def _parts(values: Sequence[float | str | None], name: str) -> list[str | None]:
    """The part of each value: itself, or its third where there are many different numbers."""
    distinct = {value for value in values if value is not None}
    if len(distinct) <= MOST_PARTS:
        return [
            None if value is None else f"{value:g}" if isinstance(value, float) else value for value in values
        ]
    if any(as_float(value) is None for value in distinct):
        raise DataError(
            f"--by {name}: the labelled items have {len(distinct)} different values of '{name}'. "
            f"Use a field with at most {MOST_PARTS} values, or with numbers, which are cut into thirds."
        )
    ordered = sorted(number for value in values if (number := as_float(value)) is not None)
    low, high = ordered[len(ordered) // 3], ordered[2 * len(ordered) // 3]

    def third(value: float | str | None) -> str | None:
        number = as_float(value)
        if number is None:
            return None
        return (
            f"below {low:g}"
            if number < low
            else f"{low:g} to {high:g}"
            if number <= high
            else f"above {high:g}"
        )

    return [third(value) for value in values]


def _place(part: object) -> tuple[int, str]:
    """Thirds from low to high; other parts by their names."""
    text = str(part)
    return next(
        (place for place, word in enumerate(("below ", "", "above ")) if word and text.startswith(word)), 1
    ), text


def check_fields(fields: Sequence[str], tables: Mapping[str, LabelledTable]) -> None:
    """Refuse fields that no labelled item has."""
    known = {
        name for table in tables.values() for row in table.labelled() for name in (*row.attributes, "system")
    }
    missing = [name for name in fields if name not in known]
    if missing:
        raise DataError(
            f"--by {missing[0]}: no labelled item has a field '{missing[0]}'. "
            f"Use a field of the items, or a column of the scores; spelled exactly as there."
        )


# -- A single score


def single_score(table: LabelledTable, seed: int) -> ScoreInterval | None:
    """Between which labels of people a single score stands; none for choices and for labels on another scale."""
    rows = table.labelled()
    if table.kind != "scores" or not table.is_same_scale or not rows:
        return None
    return score_interval(
        numbers(row.label for row in rows), numbers(row.answer for row in rows), clusters=table.groups(rows),
        limits=table.scale.limits if table.scale is not None else None, seed=seed,
    )  # fmt: skip


ScoreIntervals = dict[tuple[str, str, str], ScoreInterval]
"""(protocol, criterion, model) → the interval of its single scores"""


def score_intervals(view: RunView, labels: Sequence[Label], seed: int = 0) -> ScoreIntervals:
    """The intervals of the scores of a run; only those that exist."""
    intervals: ScoreIntervals = {}
    for table in join(view, labels).values():
        interval = single_score(table, seed)
        if interval is not None and interval.below is not None:
            intervals[table.protocol, table.criterion, table.model] = interval
    return intervals


# -- Many judges of one criterion


def best_judges(tables: Mapping[str, LabelledTable], seed: int) -> tuple[BestJudge, ...]:
    """For each criterion with several judges: which agrees best."""
    judges: dict[tuple[str, Kind], list[str]] = defaultdict(list)
    for name, table in tables.items():
        if table.labelled():
            judges[table.criterion, table.kind].append(name)
    return tuple(
        _best_judge(criterion, kind, {name: tables[name] for name in members}, seed)
        for (criterion, kind), members in judges.items()
        if len(members) > 1
    )


def _best_judge(criterion: str, kind: Kind, tables: Mapping[str, LabelledTable], seed: int) -> BestJudge:
    judges, first = list(tables), next(iter(tables.values()))
    rows = first.labelled()
    answers = [
        [found.get((row.item, row.subject)) for row in rows]
        for table in tables.values()
        for found in [{(other.item, other.subject): other.answer for other in table.rows}]
    ]
    result = many_judges(
        answers,
        [row.label for row in rows],
        groups=first.groups(rows),
        is_choices=kind == "choices",
        seed=seed,
    )
    chosen = result.held_out
    return BestJudge(
        criterion=criterion,
        first=judges[0],
        best=None if result.best is None else judges[result.best],
        n=result.n,
        agreement=dict(zip(judges, result.agreement, strict=True)),
        over_first={
            name: lead for name, lead in zip(judges, result.over_first, strict=False) if lead is not None
        },
        behind_best={
            name: lag for name, lag in zip(judges, result.behind_best, strict=False) if lag is not None
        },
        improved=tuple(judges[place] for place in result.improved),
        leading=tuple(judges[place] for place in result.leading),
        held_out=None
        if chosen is None
        else ChosenJudge(judges[chosen.chosen], chosen.agreement, chosen.lead),
        reason=result.reason,
    )


def severity_note(severity: Mapping[str, RaterSeverity]) -> tuple[str, ...]:
    """A warning on raters who score much higher or lower than the others."""
    large = [rater for rater, own in severity.items() if own.is_large]
    if not large:
        return ()
    own = severity[max(large, key=lambda rater: abs(severity[rater].difference.value or 0.0))]
    size = abs(own.difference.value or 0.0)
    where = "on the same items" if own.basis == "same items" else "compared through the judge's scores"
    note = f"Rater severity differs by up to {size:.2f} points ({where}): {named(large)}."
    if own.basis == "judge":
        note += " They rated no common items, so the corrected means depend on who rated what: let them rate some items together."
    return (note,)
