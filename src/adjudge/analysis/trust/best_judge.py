"""Many judges of one criterion: which agrees best, corrected for their number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ...results.combine import Kind
from ...stats import many_judges
from ..labels.labelled import LabelledTable
from .card import BestJudge, ChosenJudge


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
        kind=kind,
    )
