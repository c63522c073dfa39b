"""The numbers of a run's report: every system and criterion, the agreement of the judges, and warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any, TypeVar

from msgspec import UNSET, UnsetType, structs

from ...records import ElementSummary, Scale
from ...stats import ScoreColumn, clustered_share, joined, matched, n_distinct, pooled, spearman, wilson
from ...stats.arrays import undefined
from ..run_view.criteria import criterion_names
from ..run_view.positions import Positions
from ..run_view.result_facts import Pair
from ..run_view.run_facts import ModelFacts, RunFacts
from ..run_view.run_view import RunView
from ..run_view.tally import STATUSES, Scores, Tally
from .cautions import cautions
from .cells import best_first, cell, criterion_summary, failures_p, spread_of
from .panel import panel_of, pool_judges
from .summary import (
    Cell,
    Correlation,
    FailureShare,
    ModelSummary,
    PairSummary,
    PanelSummary,
    QuoteShare,
    RungShare,
    Spreads,
    Summary,
)

Names = Mapping[tuple[str, str], str]
"""(protocol, criterion) → the name under which a report shows it"""


def about_these_items(summary: Summary) -> Summary:
    """The same report about these items: all were judged, so
    their means are known but for the items that failed.
    """

    def known(cell: Cell) -> Cell:
        if cell.value is None:
            return cell
        ends: tuple[float | None, float | None] = (cell.value, cell.value)
        if cell.n_failed:
            ends = (None, None) if cell.bounds is None else (cell.bounds.low, cell.bounds.high)
        method = "mean of these items, all judged; failures at either end of the scale"
        return structs.replace(cell, low=ends[0], high=ends[1], method=method)

    return structs.replace(
        summary,
        about="these-items",
        systems={
            system: {name: known(cell) for name, cell in cells.items()}
            for system, cells in summary.systems.items()
        },
    )


def summarise(view: RunView) -> Summary:
    """The report of a run, as values."""
    facts, tally = view.facts, view.tally
    names = names_of(view)
    texts = _criterion_texts(facts)
    order = _positions_by_name(view)
    scales = {key: view.scale(*key) for key in tally.scores}
    pooled_scores = {key: _pooled(models, scales[key]) for key, models in tally.scores.items()}
    summary = Summary(
        run=facts.run,
        started=facts.started,
        status=facts.status,
        version=facts.version,
        n_items=n_distinct([tally.items]),
        n_scores=sum(rungs.total() for rungs in tally.rungs.values()),
        n_failed=_total(tally, lambda scores: len(scores.failed) - scores.n_left_out),
        n_samples=_total(tally, lambda scores: scores.n_samples - scores.n_left_out),
        n_samples_failed=_total(tally, lambda scores: scores.n_samples_failed - scores.n_left_out),
        systems=best_first(_cells(pooled_scores, names, scales), list(scales.values())),
        criteria={
            names[key]: criterion_summary(
                *key, pooled, scales[key], _parts_by_system([tally.scores[key]]), texts.get(key, UNSET)
            )
            for key, pooled in pooled_scores.items()
        },
        pairs=_all_pairs(tally, names, facts.parameters.get("order", "both") == "both"),
        position={name: positions.all_models.first_share for name, positions in order.items()},
        order={name: positions.all_models for name, positions in order.items()},
        panel=_panel(tally, names, scales),
        models=_models(tally, names, scales, facts, order),
        rungs={model: _rungs(counts) for model, counts in tally.rungs.items()},
        failures_by_system={
            system: _failure_share(parts) for system, parts in _parts_by_system(tally.scores.values()).items()
        },
        failures_p=failures_p(_parts_by_system(tally.scores.values())),
        correlations=_correlations(pooled_scores, names, scales),
        flags={flag: n_distinct([keys]) for flag, keys in sorted(tally.flagged.items())},
        warnings=(),
        protocols=_protocols(facts),
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
        n_reasks=facts.n_reasks,
        reasks_usd=facts.reasks_usd,
        without_explanation=tuple(tally.without_explanation) or UNSET,
        elements=_elements(tally, names, scales) or UNSET,
    )
    summary = _with_known_costs(summary, facts)
    return structs.replace(summary, warnings=cautions(summary, _spreads(tally, names, scales), facts))


def _with_known_costs(summary: Summary, facts: RunFacts) -> Summary:
    """What only some runs have: costs of earlier runs, published prices, prompt caches, a cascade."""
    return structs.replace(
        summary,
        paid_earlier_usd=facts.paid_earlier_usd or UNSET,
        price_dates=facts.price_dates or UNSET,
        cached_tokens=facts.prompt_cache[0] or UNSET,
        cache_saved_usd=facts.prompt_cache[1] or UNSET,
        cascade=facts.cascade or UNSET,
    )


def _all_pairs(tally: Tally, names: Names, has_both: bool) -> dict[str, tuple[PairSummary, ...]]:
    return {names[key]: _pairs(_pooled(models), has_both) for key, models in tally.choices.items()}


def _elements(
    tally: Tally, names: Names, scales: Mapping[tuple[str, str], Scale | None]
) -> dict[str, tuple[ElementSummary, ...]]:
    return {
        names[key]: tuple(
            elements.summary(system, model, scales.get(key))
            for (model, system), elements in by_system.items()
        )
        for key, by_system in tally.elements.items()
    }


def _is_nominal(scale: Scale | None) -> bool:
    return scale is not None and scale.is_nominal


def _criterion_texts(facts: RunFacts) -> dict[tuple[str, str], str]:
    """(protocol, criterion) → the criterion in the user's words, where it was given so."""
    return {
        (protocol.ref, criterion): text
        for protocol in facts.protocols
        for criterion, text in protocol.criterion_texts.items()
    }


def _protocols(facts: RunFacts) -> dict[str, str]:
    """The digests by protocol; one that is there several times, with several criteria, by its id and
    digest."""
    ids = [protocol.id for protocol in facts.protocols]
    return {
        protocol.id if ids.count(protocol.id) == 1 else protocol.ref: protocol.digest
        for protocol in facts.protocols
    }


def names_of(view: RunView) -> Names:
    """The criteria by the names that the report shows."""
    protocols = [protocol.ref for protocol in view.facts.protocols]
    return criterion_names([*view.tally.scores, *view.tally.choices], protocols)


def _positions_by_name(view: RunView) -> dict[str, Positions]:
    """Position bias, by the name of the criterion."""
    names = criterion_names(view.positions, view.protocols)
    return {names[key]: positions for key, positions in view.positions.items()}


SystemOrPair = TypeVar("SystemOrPair", str, Pair)


def _pooled(
    models: Mapping[str, Mapping[SystemOrPair, Scores]], scale: Scale | None = None
) -> dict[SystemOrPair, Scores]:
    """The scores of each system, or pair of systems, over all judges."""
    is_vote = _is_nominal(scale)
    keys = dict.fromkeys(key for by_key in models.values() for key in by_key)
    return {
        key: pool_judges([by_key[key] for by_key in models.values() if key in by_key], is_vote=is_vote)
        for key in keys
    }


def _cells(
    pooled_scores: Mapping[tuple[str, str], Mapping[str, Scores]],
    names: Names,
    scales: Mapping[tuple[str, str], Scale | None],
) -> dict[str, dict[str, Cell]]:
    systems: dict[str, dict[str, Cell]] = {}
    for key, by_system in pooled_scores.items():
        for system, scores in by_system.items():
            systems.setdefault(system, {})[names[key]] = cell(scores, scales[key])
    return systems


def _rungs(counts: Mapping[str, int]) -> dict[str, RungShare]:
    """The share of each reading rule, and of failures, the most frequent first."""
    total = sum(counts.values())
    in_order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return {rung: RungShare(count, count / total) for rung, count in in_order if count}


def _total(tally: Tally, count: Callable[[Scores], int]) -> int:
    """A sum over scores and choices of all judges."""
    trees: list[Mapping[str, Mapping[Any, Scores]]] = [*tally.scores.values(), *tally.choices.values()]
    return sum(count(scores) for models in trees for by_key in models.values() for scores in by_key.values())


def _pairs(by_pair: Mapping[Pair, Scores], has_both: bool) -> tuple[PairSummary, ...]:
    return tuple(_pair(pair, scores, has_both) for pair, scores in by_pair.items())


def _pair(pair: Pair, scores: Scores, has_both: bool) -> PairSummary:
    """The choices between two systems; with several judges, the side that more of them chose."""
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
    names: Names,
    scales: Mapping[tuple[str, str], Scale | None],
    facts: RunFacts,
    order: Mapping[str, Positions],
) -> dict[str, ModelSummary]:
    """Each judge; with means only where there are several, since otherwise they are those of the run."""
    known = {model.spec: model for model in facts.models}
    specs = dict.fromkeys([*known, *tally.models])
    summaries = {}
    for spec in specs:
        model = known.get(spec) or ModelFacts(spec)
        scores = {key: models[spec] for key, models in tally.scores.items() if spec in models}
        summaries[spec] = ModelSummary(
            names=model.names,
            fingerprints=model.fingerprints,
            is_fake=model.is_fake,
            systems=best_first(_cells(scores, names, scales), list(scales.values()))
            if len(specs) > 1
            else {},
            pairs={
                names[key]: _pairs(models[spec], facts.parameters.get("order", "both") == "both")
                for key, models in tally.choices.items()
                if len(specs) > 1 and spec in models
            },
            order={
                name: positions.by_model[spec]
                for name, positions in order.items()
                if len(positions.by_model) > 1 and spec in positions.by_model
            },
            evidence=_quotes(tally.quotes.get(spec)),
        )
    return summaries


def _quotes(counts: Mapping[bool | None, int] | None) -> QuoteShare | UnsetType:
    """The share of a judge's quotes that stand in the judged text, of those that could be checked."""
    checked = {is_found: n for is_found, n in (counts or {}).items() if is_found is not None}
    n = sum(checked.values())
    return QuoteShare(n, checked.get(True, 0), checked.get(True, 0) / n) if n else UNSET


def _panel(
    tally: Tally, names: Names, scales: Mapping[tuple[str, str], Scale | None]
) -> dict[str, PanelSummary]:
    """Inter-rater agreement on each criterion, where there are several judges."""
    panels = {}
    for tree, is_choice in ((tally.scores, False), (tally.choices, True)):
        for key, models in tree.items():
            columns: dict[str, ScoreColumn] = {
                model: joined([scores.ok for scores in by_key.values()]) for model, by_key in models.items()
            }
            if len(columns) > 1:
                # A protocol may score a criterion and choose by it: agreement on each is reported.
                name = names[key] if names[key] not in panels else f"{names[key]} (choice)"
                scale = scales.get(key)
                is_vote = is_choice or (scale is not None and scale.is_nominal)
                panels[name] = panel_of(columns, scale, is_choice=is_vote)
    return panels


def _parts_by_system(trees: Iterable[Mapping[str, Mapping[str, Scores]]]) -> dict[str, list[Scores]]:
    """system → its scores by each judge on each criterion"""
    by_system: dict[str, list[Scores]] = {}
    for models in trees:
        for systems in models.values():
            for system, scores in systems.items():
                by_system.setdefault(system, []).append(scores)
    return by_system


def _failure_share(parts: list[Scores]) -> FailureShare:
    counts: dict[str, int] = {}
    for part in parts:
        for status, count in part.failures().items():
            counts[status] = counts.get(status, 0) + count
    n = sum(part.n_samples for part in parts)
    failed = sum(part.n_samples_failed for part in parts)
    # The criteria of one reply fail together, so only items are independent.
    n_items = n_distinct([keys for part in parts for keys in (part.ok.keys, part.failed.keys)])
    share = structs.replace(
        wilson(failed / n * n_items if n else 0, n_items), unit=f"item (n={n_items})", n=n
    )
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
    pooled_scores: Mapping[tuple[str, str], Mapping[str, Scores]],
    names: Names,
    scales: Mapping[tuple[str, str], Scale | None],
) -> tuple[Correlation, ...]:
    """Spearman between every two criteria with an order, over the items of all systems."""
    columns = {
        names[key]: pooled([joined([scores.ok for scores in by_system.values()])])[0]
        for key, by_system in pooled_scores.items()
        if not _is_nominal(scales[key])
    }
    if len(columns) < 2:
        return ()
    correlations = []
    for x, y in combinations(columns, 2):
        x_values, y_values, n_groups, n_unmatched = matched(columns[x], columns[y])
        estimate = spearman(x_values, y_values, n_groups)
        correlations.append(Correlation((x, y), structs.replace(estimate, n_failed=n_unmatched)))
    return tuple(correlations)


def _spreads(tally: Tally, names: Names, scales: Mapping[tuple[str, str], Scale | None]) -> Spreads:
    """The spread of each judge's scores on each criterion, over all systems."""
    return {
        (names[key], model): spread_of(joined([scores.ok for scores in systems.values()]), scales[key])
        for key, models in tally.scores.items()
        if (scale := scales[key]) is None or not scale.is_nominal
        for model, systems in models.items()
    }
