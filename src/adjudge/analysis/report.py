"""The report of a stored run: its results, and the facts that only the store knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, TypeVar

from msgspec import structs

from ..engine import protocols_of, results, settings_of
from ..records import Choice, Judgment, Protocol, Result, Scale
from ..stats import (
    Column,
    Place,
    PositionBias,
    clustered_share,
    joined,
    matched,
    n_distinct,
    pooled,
    position_bias,
    spearman,
    wilson,
)
from ..stats.arrays import undefined
from ..store import Judged, RunRow, Store
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
from .run_facts import ModelFacts, ProtocolFacts, RunFacts
from .tally import (
    STATUSES,
    Pair,
    Scores,
    Tally,
    best_first,
    cell,
    criterion_summary,
    direction,
    panel,
    spread_of,
)

# How the choices of a run go with the place shown, criterion by criterion: read from its single judgments.
#
# A criterion that is scored for both responses has a choice too: the response with the better score. Of two orders of one
# pair and sample each counts; a reply that could not be read is none.


_ALL = ""
"""stands for all judges together"""

Shown = dict[tuple[int, int, str], list[Place | None]]
"""(item, sample, model) → the place chosen in the given order, and in the other one"""


def orders_of(
    judged: Iterable[Judged], protocols: Mapping[str, Protocol]
) -> dict[str, dict[str, PositionBias]]:
    """Of each criterion, by judge and over all judges, whether the place decides."""
    found: dict[str, Shown] = {}
    for place in judged:
        protocol = protocols.get(place.about.protocol)
        if protocol is None or protocol.task != "compare" or place.judgment is None or place.seq < 0:
            continue
        for criterion, choice in choices_in(place.judgment, protocol):
            name = f"{protocol.id}/{criterion}" if len(protocols) > 1 else criterion
            key = (place.seq, place.about.sample, place.about.model)
            both = found.setdefault(name, {}).setdefault(key, [None, None])
            is_given = place.about.order == "ab"
            both[0 if is_given else 1] = _place(choice, is_given)
    return {name: _by_judge(shown) for name, shown in found.items()}


def choices_in(judgment: Judgment, protocol: Protocol) -> Iterator[tuple[str, Choice]]:
    """The choices of one reply: the one it states, and those that its scores of both responses come to."""
    stated = "overall" if "overall" in protocol.criteria else next(iter(protocol.criteria))
    if judgment.choice is not None:
        yield stated, judgment.choice
    values: dict[str, dict[str, float]] = {}
    for score in judgment.scores:
        if score.subject is not None and score.value is not None:
            values.setdefault(score.criterion, {})[score.subject] = score.value
    for criterion, sides in values.items():
        sign = direction(protocol.criteria.get(criterion))
        if len(sides) == 2 and sign and (criterion != stated or judgment.choice_status is None):
            gap = sign * (sides["a"] - sides["b"])
            yield criterion, "a" if gap > 0 else "b" if gap < 0 else "tie"


def _place(choice: Choice, is_given: bool) -> Place:
    if choice == "tie":
        return "tie"
    return "first" if (choice == "a") == is_given else "second"


def _by_judge(shown: Shown) -> dict[str, PositionBias]:
    models = dict.fromkeys(model for _, _, model in shown)
    parts = {model: {key: both for key, both in shown.items() if key[2] == model} for model in models}
    if len(models) > 1:
        parts[_ALL] = shown
    else:
        parts = {_ALL: shown}
    return {
        model: position_bias(
            [both[0] for both in part.values()],
            [both[1] for both in part.values()],
            [item for item, _, _ in part],
        )
        for model, part in parts.items()
    }


# From results to a `Summary`: what is known of every system and criterion, and what to beware of.
#
# Reads no store and asks no model; what results do not hold is in `RunFacts`.


Labels = Mapping[tuple[str, str], str]
"""(protocol, criterion) → the name under which a report shows it"""


def summarise(results: Iterable[Result], *, facts: RunFacts | None = None) -> Summary:
    """Everything a report says about a run, in one pass over its results."""
    facts = facts or RunFacts()
    tally = Tally().add_all(results, facts.scales)
    has_both = facts.parameters.get("order", "both") == "both"
    labels = _labels(tally, facts)
    scales = {where: _scale(where, facts) for where in tally.scores}
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
        position={name: by[""].first_share for name, by in facts.orders.items() if "" in by},
        order={name: by[""] for name, by in facts.orders.items() if "" in by},
        panel=_panel(tally, labels, scales),
        models=_models(tally, labels, scales, facts),
        rungs={model: _rungs(counts) for model, counts in (facts.rungs or tally.rungs).items()},
        failures_by_system=_failures_by_system(tally),
        correlations=_correlations(whole, labels),
        flags=facts.flags or {flag: n_distinct([keys]) for flag, keys in sorted(tally.flagged.items())},
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


def _scale(where: tuple[str, str], facts: RunFacts) -> Scale | None:
    protocol, criterion = where
    return facts.scales.get(where) or facts.scales.get((protocol.partition("@")[0], criterion))


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
    tally: Tally, labels: Labels, scales: Mapping[tuple[str, str], Scale | None], facts: RunFacts
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
            order={name: by[spec] for name, by in facts.orders.items() if spec in by},
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


def summary_of(store: Store, run: RunRow) -> Summary:
    """All that a report says of a run, read from the store."""
    return summarise(results(store, run), facts=facts_of(store, run))


def facts_of(store: Store, run: RunRow) -> RunFacts:
    """What the store and the manifest know of a run."""
    protocols = protocols_of(store, run)
    totals = store.totals(run)
    settings = settings_of(run)
    is_priced = totals.replies > totals.unpriced
    n_reasks_failed = 0

    def places() -> Iterator[Judged]:
        nonlocal n_reasks_failed
        for place in store.judgments(run):
            n_reasks_failed += place.about.kind == "reask" and place.error is not None
            yield place

    orders = orders_of(places(), protocols)
    return RunFacts(
        run=run.name,
        started=run.started,
        status=run.status,
        version=str(run.manifest.get("version", "")),
        models=_model_facts(store, run),
        protocols=tuple(
            ProtocolFacts(protocol.id, protocol.digest, protocol.answer.reader)
            for protocol in protocols.values()
        ),
        scales={
            (name, criterion): scale
            for name, p in protocols.items()
            for criterion, scale in p.criteria.items()
        },
        estimator=settings.estimator,
        parameters=_parameters(run, protocols),
        tokens_in=totals.tokens_in,
        tokens_out=totals.tokens_out,
        cost_usd=totals.cost_usd if is_priced else None,
        n_unpriced=totals.unpriced,
        seconds=run.seconds,
        n_calls=totals.places,
        n_cached=max(0, totals.replies - totals.paid_replies),
        n_planned=run.manifest["items"].get("n"),
        n_left_out=run.manifest["items"].get("left_out", 0),
        call_errors={kind: n for kind, n in totals.failed.items() if n},
        n_reasks_failed=n_reasks_failed,
        adjustments=_adjustments(run),
        orders=orders,
    )


def _adjustments(run: RunRow) -> tuple[str, ...]:
    """What the models refused to take. That the embedded one is weak is a caution of its own."""
    told = run.manifest.get("adjustments", ())
    return tuple(text for text in told if not text.startswith("the embedded model "))


def _parameters(run: RunRow, protocols: dict[str, Protocol]) -> dict[str, Any]:
    told = {key: value for key, value in run.manifest["settings"].items() if value is not None}
    if told["steps"] == "generate":
        # Without the steps themselves nobody could say what was judged by.
        told["steps"] = [step for protocol in protocols.values() for step in protocol.steps]
    return told


def _model_facts(store: Store, run: RunRow) -> tuple[ModelFacts, ...]:
    names: dict[str, dict[str, int]] = {}
    fingerprints: dict[str, dict[str, int]] = {}
    for seen in store.models_seen(run):
        own = names.setdefault(seen.model, {})
        own[seen.model_name] = own.get(seen.model_name, 0) + seen.n
        if seen.fingerprint:
            prints = fingerprints.setdefault(seen.model, {})
            prints[seen.fingerprint] = prints.get(seen.fingerprint, 0) + seen.n
    return tuple(
        ModelFacts(
            spec=told["spec"],
            names={name: n for name, n in names.get(told["spec"], {}).items() if name},
            fingerprints=fingerprints.get(told["spec"], {}),
            is_fake=told["is_fake"],
        )
        for told in run.manifest["models"]
    )
