"""Whether a judge has changed since a run was stored: its anchor items judged again, look by look."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..records import Estimate, Scale
from ..sections import Column, Section
from ..stats.drift import DriftVerdict, Look, drift
from ..words import count, interval
from .run_view.criteria import protocol_id
from .run_view.result_facts import as_number, cluster_of
from .run_view.run_view import RunView
from .significance import MARGIN_SHARE


class CriterionDrift(Struct, frozen=True):
    """One criterion over all looks."""

    verdict: DriftVerdict
    """that of the first look that found a change, otherwise of the last look"""
    margin: float
    looks: tuple[Look, ...]
    first_change: int | None
    """the look at which the change was first significant"""


class Drift(Struct, frozen=True):
    """A run and the looks that followed it."""

    run: str
    verdict: DriftVerdict
    summary: str
    criteria: dict[str, CriterionDrift]


def drift_of(stored: RunView, looks: Sequence[RunView], margin: float | None = None) -> Drift:
    """Each look judged the items of the stored run again."""
    criteria = {}
    names = _criteria(stored)
    n_protocols, n_models = (len({name[place] for name in names}) for place in (0, 2))
    for name in names:
        protocol, criterion, model = name
        keys, before, clusters = _column(stored, name)
        fresh = [dict(zip(*_column(look, name)[:2], strict=True)) for look in looks]
        reach = _reach(stored.scale(protocol, criterion))
        allowed = MARGIN_SHARE * (1.0 if reach is None else reach) if margin is None else margin
        again = [[look.get(key) for key in keys] for look in fresh]
        made = drift(before, again, allowed, clusters, reach, len(names))
        title = criterion if n_protocols == 1 else f"{protocol_id(protocol)}/{criterion}"
        criteria[title if n_models == 1 else f"{title} · {model}"] = _of_looks(made, allowed)
    verdicts = [part.verdict for part in criteria.values()]
    verdict: DriftVerdict = "not enough evidence"
    if "changed" in verdicts:
        verdict = "changed"
    elif verdicts and set(verdicts) == {"not changed"}:
        verdict = "not changed"
    return Drift(stored.name, verdict, _summary(stored.name, verdict, criteria, len(looks)), criteria)


def _of_looks(looks: list[Look], margin: float) -> CriterionDrift:
    first = next((look.look for look in looks if look.verdict == "changed"), None)
    verdict: DriftVerdict = "not enough evidence"
    if looks:
        verdict = "changed" if first is not None else looks[-1].verdict
    return CriterionDrift(verdict, margin, tuple(looks), first)


def _criteria(view: RunView) -> list[tuple[str, str, str]]:
    """Each criterion of each judge, by protocol, criterion and model."""
    return list(dict.fromkeys((result.protocol, result.criterion, result.model) for result in view.results))


def _column(
    view: RunView, name: tuple[str, str, str]
) -> tuple[list[tuple[str, str | None]], list[float | None], list[str]]:
    """The keys, the scores and the clusters of the items of a criterion."""
    rows = [result for result in view.results if (result.protocol, result.criterion, result.model) == name]
    keys: list[tuple[str, str | None]] = [(row.item, row.subject) for row in rows]
    values = [
        row.value if row.value is not None else None if row.choice is None else as_number(row.choice)
        for row in rows
    ]
    return keys, values, [cluster_of(row.group, row.item) for row in rows]


def _reach(scale: Scale | None) -> float | None:
    """The largest difference of two scores; none where the scale is unbounded."""
    limits = None if scale is None else scale.limits
    return None if limits is None else limits[1] - limits[0]


def _summary(run: str, verdict: DriftVerdict, criteria: dict[str, CriterionDrift], n_looks: int) -> str:
    if not n_looks:
        return f"Not known: {run} has not been judged again. Next: adjudge drift {run} --refresh"
    looked = f"after {count(n_looks, 'look')}"
    if verdict == "changed":
        changed = [
            f"{name} {interval(_shown_at(part.looks[part.first_change - 1]), is_difference=True)} at look "
            f"{part.first_change}"
            for name, part in criteria.items()
            if part.first_change is not None
        ]
        return f"The judge changed since {run} was stored, {looked}: {'; '.join(changed)}."
    if verdict == "not changed":
        return (
            f"The judge has not changed since {run} was stored, {looked}: any change is smaller than the "
            "margin."
        )
    return (
        f"Not enough evidence {looked} to say whether the judge changed since {run} was stored. Next: "
        f"judge it again: adjudge drift {run} --refresh"
    )


def _shown_at(look: Look) -> Estimate:
    """The difference that shows the change at this look: of the look alone, or of all looks so far."""
    low, high = look.latest.low, look.latest.high
    return look.overall if low is None or high is None or low <= 0 <= high else look.latest


def drift_sections(drifted: Drift) -> list[Section]:
    """The verdict, then the looks of each criterion."""
    columns = (
        "criterion",
        "look",
        "fresh − stored",
        Column("all looks − stored", is_spare=True),
        "items",
        "failed",
        "verdict",
    )
    rows = tuple(
        (
            name,
            str(look.look),
            interval(look.latest, is_difference=True),
            interval(look.overall, is_difference=True),
            str(look.latest.n),
            str(look.latest.n_failed),
            look.verdict,
        )
        for name, part in drifted.criteria.items()
        for look in part.looks
    )
    among = "" if len(drifted.criteria) < 2 else " and criteria"
    margins = ", ".join(f"{name} {part.margin:g}" for name, part in drifted.criteria.items())
    note = f"Intervals allow for looking again and again (5 % over all looks{among}). Margin: {margins}."
    return [
        Section(
            f"Drift: {drifted.run}",
            (drifted.summary,),
            columns if rows else (),
            rows,
            depth=1,
            notes=(note,),
        )
    ]
