"""What is known of a run besides its results: models, protocols, calls, cost, missing shards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ...models import Ending
from ...records import ErrorKind, Estimator, Protocol, protocol_ref
from ...results.manifest import settings_of
from ...run_options.shard import Shard
from ...store import CASCADE, ENDS, PROMPT_CACHE, RunRow, Store


class ModelFacts(Struct, frozen=True):
    """One judge, as it was configured and as it identified itself."""

    spec: str
    """the value of `Result.model`"""
    names: dict[str, int] = {}
    """name that the model gave itself → number of replies"""
    fingerprints: dict[str, int] = {}
    is_fake: bool = False


class ProtocolFacts(Struct, frozen=True):
    """One protocol, by its id and the digest of its contents."""

    id: str
    digest: str = ""
    reader: str | None = None
    """`likelihood` where the model writes no reply"""
    criterion_texts: dict[str, str] = {}
    """criterion → its text, where the user gave it in words"""

    @property
    def ref(self) -> str:
        return protocol_ref(self.id, self.digest)


class RunFacts(Struct, frozen=True):
    """What the manifest and the totals of a run say; a default means unknown."""

    run: str = ""
    started: str = ""
    status: str = ""
    version: str = ""
    models: tuple[ModelFacts, ...] = ()
    protocols: tuple[ProtocolFacts, ...] = ()
    estimator: Estimator | None = None
    parameters: dict[str, Any] = {}
    tokens_in: int = 0
    tokens_out: int = 0
    n_unpriced: int = 0
    """replies whose cost is unknown and not in `cost_usd`"""
    cost_usd: float | None = None
    """none where no price is known"""
    paid_earlier_usd: float = 0.0
    """the part of `cost_usd` that earlier runs paid"""
    price_dates: dict[str, str] = {}
    """model → date of its published price, where the user gave none"""
    seconds: float = 0.0
    n_calls: int = 0
    n_cached: int = 0
    """cache hits: calls that were answered from the store and cost nothing"""
    n_planned: int | None = None
    """items of the run; fewer are judged where it was stopped"""
    n_shards: int = 0
    """parts that the run is judged in (--shard); 0 where it is not divided"""
    missing_shards: tuple[int, ...] = ()
    """the shards whose items are not all in this store, from 1"""
    n_left_out: int = 0
    """bad lines of the items file that --skip-bad skipped"""
    call_errors: dict[str, int] = {}
    """kind of error → calls without a reply"""
    first_error: str = ""
    """the message of the first call with the most frequent kind of error"""
    n_reasks_failed: int = 0
    """failed calls that asked again after an unreadable reply: their item stays unread"""
    n_reasks: int = 0
    """replies to follow-up questions for an answer that was missing"""
    reasks_usd: float = 0.0
    has_identical_samples: bool = False
    """whether every sample of every item has the same reply"""
    adjustments: tuple[str, ...] = ()
    """parameters that were not sent because the model refuses them"""
    cascade: dict[str, Any] = {}
    """the stages of a cascade, and what each decided; empty for other runs"""
    prompt_cache: tuple[int, float] = (0, 0.0)
    """tokens that providers read from their prompt caches, and the USD that this saved"""
    ends: tuple[str, ...] = ()
    """what is to be known of judges that their providers end"""


def criterion_texts_of(protocol: Protocol) -> dict[str, str]:
    """criterion → its text, where the user gave it in words."""
    return {name: words for name in protocol.criteria if (words := protocol.words_of(name))}


def facts_of_run(
    store: Store, run: RunRow, protocols: Mapping[str, Protocol], n_reasks_failed: int
) -> RunFacts:
    totals = store.totals(run)
    is_priced = totals.replies > totals.unpriced
    return RunFacts(
        run=run.name,
        started=run.started,
        status=run.status,
        version=str(run.manifest.get("version", "")),
        models=_model_facts(store, run),
        protocols=tuple(
            ProtocolFacts(protocol.id, protocol.digest, protocol.answer.reader, criterion_texts_of(protocol))
            for protocol in protocols.values()
        ),
        estimator=settings_of(run).estimator,
        parameters=_parameters(run, protocols),
        tokens_in=totals.tokens_in,
        tokens_out=totals.tokens_out,
        cost_usd=totals.cost_usd if is_priced else None,
        n_unpriced=totals.unpriced,
        paid_earlier_usd=max(0.0, totals.cost_usd - totals.paid_usd),
        price_dates=dict(run.manifest.get("price_dates", {})),
        seconds=run.seconds,
        n_calls=totals.calls,
        n_cached=max(0, totals.replies - totals.paid_replies),
        n_planned=run.manifest["items"].get("n"),
        n_shards=run.manifest.get("shards", 0),
        missing_shards=_missing_shards(store, run),
        n_left_out=run.manifest["items"].get("left_out", 0),
        call_errors={kind: n for kind, n in totals.failed.items() if n},
        first_error=_first_error(store, run, totals.failed),
        n_reasks_failed=n_reasks_failed,
        n_reasks=totals.reasks,
        reasks_usd=totals.reasks_usd,
        has_identical_samples=settings_of(run).samples > 1 and store.samples_are_identical(run),
        adjustments=tuple(run.manifest.get("adjustments", ())),
        cascade=run.manifest.get(CASCADE, {}),
        prompt_cache=_from_prompt_cache(run),
        ends=tuple(
            Ending(end["date"], end["page"]).text(name) for name, end in run.manifest.get(ENDS, {}).items()
        ),
    )


def _first_error(store: Store, run: RunRow, failed: Mapping[ErrorKind, int]) -> str:
    return store.first_error(run, max(failed, key=lambda kind: failed[kind])) if any(failed.values()) else ""


def _from_prompt_cache(run: RunRow) -> tuple[int, float]:
    noted = run.manifest.get(PROMPT_CACHE) or {"tokens": 0, "saved_usd": 0.0}
    return noted["tokens"], noted["saved_usd"]


def _missing_shards(store: Store, run: RunRow) -> tuple[int, ...]:
    n_shards, n_items = run.manifest.get("shards", 0), run.manifest["items"].get("n")
    if not n_shards or n_items is None or run.status == "done":
        return ()
    stored = store.items_by_shard(run, n_shards)
    return tuple(number for number, n in enumerate(stored, 1) if n < Shard(number, n_shards).size(n_items))


def _parameters(run: RunRow, protocols: Mapping[str, Protocol]) -> dict[str, Any]:
    parameters = {key: value for key, value in run.manifest["settings"].items() if value is not None}
    if parameters["steps"] == "generate":
        # Without the generated steps the criterion cannot be reproduced.
        parameters["steps"] = [step for protocol in protocols.values() for step in protocol.steps]
    return parameters


def _model_facts(store: Store, run: RunRow) -> tuple[ModelFacts, ...]:
    names: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    fingerprints: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for seen in store.models_seen(run):
        if seen.model_name:
            names[seen.model][seen.model_name] += seen.n
        if seen.fingerprint:
            fingerprints[seen.model][seen.fingerprint] += seen.n
    return tuple(
        ModelFacts(
            spec=model["spec"],
            names=dict(names.get(model["spec"], {})),
            fingerprints=dict(fingerprints.get(model["spec"], {})),
            is_fake=model["is_fake"],
        )
        for model in run.manifest["models"]
    )
