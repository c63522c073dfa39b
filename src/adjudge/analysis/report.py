"""The report of a run: what is known of every system and criterion, and what to beware of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import TypeVar

from msgspec import structs

from ..records import Scale
from ..stats import Column, clustered_share, joined, matched, n_distinct, pooled, spearman, wilson
from ..stats.arrays import undefined
from .cautions import cautions
from .panel import PanelSummary, panel_of
from .result_types import (
    Cell,
    Correlation,
    FailureShare,
    ModelSummary,
    PairSummary,
    RungShare,
    Spreads,
    Summary,
)
from .run_view import ModelFacts, Positions, RunFacts, RunView
from .tally import STATUSES, Pair, Scores, Tally, best_first, cell, criterion_summary, panel, spread_of

Labels = Mapping[tuple[str, str], str]
"""(protocol, criterion) → the name under which a report shows it"""


def summarise(view: RunView) -> Summary:
    """Everything a report says about a run."""
    facts, tally = view.facts, view.tally
    has_both = facts.parameters.get("order", "both") == "both"
    labels = _labels(tally, facts)
    order = _order_names(view)
    scales = {where: view.scale(*where) for where in tally.scores}
    whole = {where: _panels(models) for where, models in tally.scores.items()}
    summary = Summary(
        run=facts.run,
        started=facts.started,
        status=facts.status,
        version=facts.version,
        n_items=n_distinct([tally.items]),
        n_scores=sum(rungs.total() for rungs in tally.rungs.values()),
        n_failed=_total(tally, lambda scores: len(scores.failed)),
        n_samples=_total(tally, lambda scores: scores.n_samples),
        n_samples_failed=_total(tally, lambda scores: scores.n_samples_failed),
        systems=best_first(_cells(whole, labels, scales), list(scales.values())),
        criteria={labels[where]: criterion_summary(*where, whole[where], scales[where]) for where in whole},
        pairs={labels[where]: _pairs(_panels(models), has_both) for where, models in tally.choices.items()},
        position={name: positions.all_models.first_share for name, positions in order.items()},
        order={name: positions.all_models for name, positions in order.items()},
        panel=_panel(tally, labels, scales),
        models=_models(tally, labels, scales, facts, order),
        rungs={model: _rungs(counts) for model, counts in tally.rungs.items()},
        failures_by_system=_failures_by_system(tally),
        correlations=_correlations(whole, labels),
        flags={flag: n_distinct([keys]) for flag, keys in sorted(tally.flagged.items())},
        warnings=(),
        protocols={protocol.id: protocol.digest for protocol in facts.protocols},
        estimator=facts.estimator,
        parameters=facts.parameters,
        adjustments=facts.adjustments,
        tokens_in=facts.tokens_in,
        tokens_out=facts.tokens_out,
        cost_usd=facts.cost_usd,
        n_unpriced=facts.n_unpriced,
        seconds=facts.seconds,
        n_calls=facts.n_calls,
        n_cached=facts.n_cached,
        n_planned=facts.n_planned,
        n_left_out=facts.n_left_out,
        call_errors=facts.call_errors,
    )
    return structs.replace(summary, warnings=cautions(summary, _spreads(tally, labels, scales), facts))


def _labels(tally: Tally, facts: RunFacts) -> Labels:
    """The criterion alone, after its protocol where there are several; two versions of one id by their digests."""
    ids = [protocol.partition("@")[0] for protocol in tally.protocols]
    names = {
        protocol: name if ids.count(name) == 1 else protocol
        for protocol, name in zip(tally.protocols, ids, strict=True)
    }
    is_one = len(names) <= 1 and len(facts.protocols) <= 1
    places = [*tally.scores, *tally.choices]
    return {where: where[1] if is_one else f"{names[where[0]]}/{where[1]}" for where in places}


def _order_names(view: RunView) -> dict[str, Positions]:
    """Position bias by the names of the criteria."""
    return {
        f"{protocol.partition('@')[0]}/{criterion}" if len(view.protocols) > 1 else criterion: positions
        for (protocol, criterion), positions in view.positions.items()
    }


SystemOrPair = TypeVar("SystemOrPair", str, Pair)


def _panels(models: Mapping[str, Mapping[SystemOrPair, Scores]]) -> dict[SystemOrPair, Scores]:
    """Each place's scores over all judges."""
    places = dict.fromkeys(place for by_place in models.values() for place in by_place)
    return {
        place: panel([by_place[place] for by_place in models.values() if place in by_place])
        for place in places
    }


def _cells(
    whole: Mapping[tuple[str, str], Mapping[str, Scores]],
    labels: Labels,
    scales: Mapping[tuple[str, str], Scale | None],
) -> dict[str, dict[str, Cell]]:
    systems: dict[str, dict[str, Cell]] = {}
    for where, by_system in whole.items():
        for system, scores in by_system.items():
            systems.setdefault(system, {})[labels[where]] = cell(scores, scales[where])
    return systems


def _rungs(counts: Mapping[str, int]) -> dict[str, RungShare]:
    """The share of each rung, failures among them, the most frequent first."""
    total = sum(counts.values())
    in_order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return {rung: RungShare(count, count / total) for rung, count in in_order if count}


def _total(tally: Tally, count: Callable[[Scores], int]) -> int:
    """A sum over scores and choices of all judges."""
    scores = [one for models in tally.scores.values() for by in models.values() for one in by.values()]
    choices = [one for models in tally.choices.values() for by in models.values() for one in by.values()]
    return sum(map(count, [*scores, *choices]))


def _pairs(by_pair: Mapping[Pair, Scores], has_both: bool) -> tuple[PairSummary, ...]:
    return tuple(_pair(pair, scores, has_both) for pair, scores in by_pair.items())


def _pair(pair: Pair, scores: Scores, has_both: bool) -> PairSummary:
    """The verdicts on two systems; of several judges, the side that more of them chose."""
    won, lost = sum(value > 0 for value in scores.ok.values), sum(value < 0 for value in scores.ok.values)
    n, n_failed = len(scores.ok), len(scores.failed)
    shares = [(1 + (value > 0) - (value < 0)) / 2 for value in scores.ok.values]
    return PairSummary(
        system_a=pair[0],
        system_b=pair[1],
        a=won,
        b=lost,
        tie=n - won - lost,
        failed=n_failed,
        failures=scores.failures(),
        won_by_a=clustered_share(shares, scores.ok.clusters(), n_failed, unit="item"),
        n_partial=scores.n_partial,
        order_conflicts=wilson(sum(scores.ok.marks), n, n_failed=n_failed)
        if has_both
        else undefined("each pair was shown in one order", n_failed=n_failed, unit="item"),
    )


def _models(
    tally: Tally,
    labels: Labels,
    scales: Mapping[tuple[str, str], Scale | None],
    facts: RunFacts,
    order: Mapping[str, Positions],
) -> dict[str, ModelSummary]:
    """Each judge; its own means only where there are several, since otherwise they are the run's."""
    known = {model.spec: model for model in facts.models}
    specs = dict.fromkeys([*known, *tally.models])
    summaries = {}
    for spec in specs:
        model = known.get(spec) or ModelFacts(spec)
        own = {where: models[spec] for where, models in tally.scores.items() if spec in models}
        summaries[spec] = ModelSummary(
            names=model.names,
            fingerprints=model.fingerprints,
            is_fake=model.is_fake,
            systems=best_first(_cells(own, labels, scales), list(scales.values())) if len(specs) > 1 else {},
            pairs={
                labels[where]: _pairs(models[spec], facts.parameters.get("order", "both") == "both")
                for where, models in tally.choices.items()
                if len(specs) > 1 and spec in models
            },
            order={
                name: positions.by_model[spec]
                for name, positions in order.items()
                if len(positions.by_model) > 1 and spec in positions.by_model
            },
        )
    return summaries


def _panel(
    tally: Tally, labels: Labels, scales: Mapping[tuple[str, str], Scale | None]
) -> dict[str, PanelSummary]:
    """How the judges agree on each criterion, where there are several."""
    found = {}
    for places, is_choice in ((tally.scores, False), (tally.choices, True)):
        for where, models in places.items():
            columns: dict[str, Column] = {
                model: joined([scores.ok for scores in by_place.values()])
                for model, by_place in models.items()
            }
            if len(columns) > 1:
                # A comparison may score a criterion and choose by it: these are two things to agree on.
                name = labels[where] if labels[where] not in found else f"{labels[where]} (choice)"
                found[name] = panel_of(columns, scales.get(where), is_choice=is_choice)
    return found


def _failures_by_system(tally: Tally) -> dict[str, FailureShare]:
    """How often each system's scores failed, over all judges and criteria."""
    by_system: dict[str, list[Scores]] = {}
    for models in tally.scores.values():
        for systems in models.values():
            for system, scores in systems.items():
                by_system.setdefault(system, []).append(scores)
    return {system: _failure_share(parts) for system, parts in by_system.items()}


def _failure_share(parts: list[Scores]) -> FailureShare:
    counts: dict[str, int] = {}
    for part in parts:
        for status, count in part.failures().items():
            counts[status] = counts.get(status, 0) + count
    n = sum(part.n_samples for part in parts)
    failed = sum(part.n_samples_failed for part in parts)
    # The criteria of one reply fail together, so that only items count as independent.
    n_items = n_distinct([keys for part in parts for keys in (part.ok.keys, part.failed.keys)])
    share = structs.replace(wilson(failed / n * n_items, n_items), unit=f"item (n={n_items})", n=n)
    in_order: dict[str, int] = {status: counts[status] for status in STATUSES if status in counts}
    return FailureShare(
        n=sum(part.n for part in parts),
        failed=sum(counts.values()),
        by_status=in_order,
        n_samples=n,
        n_samples_failed=failed,
        n_items=n_items,
        share=share,
    )


def _correlations(
    whole: Mapping[tuple[str, str], Mapping[str, Scores]], labels: Labels
) -> tuple[Correlation, ...]:
    """Spearman between every two criteria, over the items of all systems."""
    if len(whole) < 2:
        return ()
    columns = {
        labels[where]: pooled([joined([scores.ok for scores in by_system.values()])])[0]
        for where, by_system in whole.items()
    }
    found = []
    for x, y in combinations(columns, 2):
        x_values, y_values, n_groups, n_unmatched = matched(columns[x], columns[y])
        estimate = spearman(x_values, y_values, n_groups)
        found.append(Correlation((x, y), structs.replace(estimate, n_failed=n_unmatched)))
    return tuple(found)


def _spreads(tally: Tally, labels: Labels, scales: Mapping[tuple[str, str], Scale | None]) -> Spreads:
    """How each judge's scores on each criterion are spread, over all systems."""
    return {
        (labels[where], model): spread_of(joined([scores.ok for scores in systems.values()]), scales[where])
        for where, models in tally.scores.items()
        for model, systems in models.items()
    }
