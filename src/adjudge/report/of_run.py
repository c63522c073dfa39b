"""The report of a stored run: its results, and the facts that only the store knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..engine import protocols_of, results, settings_of
from ..records import Protocol
from ..store import Judged, RunRow, Store
from .facts import ModelFacts, ProtocolFacts, RunFacts
from .orders import orders_of
from .shapes import Summary
from .summary import summarise


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
        models=_models(store, run),
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


def _models(store: Store, run: RunRow) -> tuple[ModelFacts, ...]:
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
