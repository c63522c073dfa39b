"""The ranking of a stored run, and `adjudge.rank`: games and scores from wherever they are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TypedDict, Unpack

from msgspec import structs

from ..engine import Run, protocols_of, results, settings_of
from ..errors import DataError
from ..records import FieldValue, Item, Protocol, Result, Scale
from ..stats import Ties
from ..store import RunRow, Store, open_store
from .build import N_RESAMPLES, Known, Settings, rank_criterion
from .games import Game, Material, from_games, materials
from .orders import Orders, order_bias, preferences
from .shapes import CriterionRanking, Proposal, Ranking
from .upcoming import Outputs, item_rows, outputs_of, proposals, with_files

_LOOKED_AT = 20
"""Replies that are looked at to see whether a run has log-probabilities."""


class RankSettings(TypedDict, total=False):
    """What a user may ask of a ranking."""

    criterion: str | None
    seed: int
    ties: Ties
    n_resamples: int
    n_next: int
    outputs: Sequence[str | Path]


def rank(
    source: Run | Iterable[Result] | Iterable[Game] | Iterable[Sequence[object]],
    *,
    scales: dict[str, Scale] | None = None,
    **settings: Unpack[RankSettings],
) -> Ranking:
    """Rank the systems of a run, of any results, or of games: `Game`s or (system, system, "a" | "b" | "tie" | share).

    `criterion` picks one of several; `n_next` proposes so many comparisons to ask for next, on the outputs that a run
    or the files in `outputs` hold. The scales of a run are known; for other results `scales` gives them by criterion.
    """
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            return ranking_of_run(store, store.run(source.name), **settings)
    given = list(source)
    if given and all(isinstance(one, Result) for one in given):
        rows = [one for one in given if isinstance(one, Result)]
        known = {(row.protocol, row.criterion): (scales or {}).get(row.criterion) for row in rows}
        found = materials(rows, known)
    elif given and not any(isinstance(one, Result | str) for one in given):
        found = [from_games(given)]  # type: ignore[arg-type]
    else:
        raise DataError("There is nothing to rank: give a run, a list of results, or a list of games.")
    return _ranking(_picked(found, settings.get("criterion")), {}, settings)


def ranking_of_run(store: Store, run: RunRow, **settings: Unpack[RankSettings]) -> Ranking:
    """The ranking of a run, with what only the store knows: orders, lengths, log-probabilities."""
    protocols = protocols_of(store, run)
    scales = {
        (key, name): scale for key, protocol in protocols.items() for name, scale in protocol.criteria.items()
    }
    found = materials(results(store, run), scales, _lengths(store.items(run)))
    if not found:
        raise DataError(f"{run.name} has no results yet. Give its command again to go on with it.")
    found = _picked(found, settings.get("criterion"))
    known = _known(store, run, protocols) if any(one.kind == "choices" for one in found) else {}
    outputs = None
    if settings.get("n_next"):
        outputs = with_files(outputs_of(store.items(run)), settings.get("outputs", ()))
    ranking = _ranking(found, known, settings, outputs)
    return structs.replace(ranking, run=run.name, notes=(*_about_run(run), *ranking.notes))


def rows_to_ask(
    store: Store, run: RunRow, proposed: Sequence[Proposal], outputs: Sequence[str | Path] = ()
) -> list[dict[str, object]]:
    """The proposals whose outputs are known, as rows of an items file."""
    return item_rows(proposed, with_files(outputs_of(store.items(run)), outputs))


def _picked(found: list[Material], criterion: str | None) -> list[Material]:
    if criterion is None:
        return found
    names = [one.name for one in found]
    chosen = [one for one in found if criterion in (one.name, one.criterion)]
    if not chosen:
        near = difflib.get_close_matches(criterion, names, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise DataError(f"There is no criterion '{criterion}'.{hint} There are: {', '.join(names)}.")
    return [one for one in chosen if one.name == criterion] or chosen


def _ranking(
    found: list[Material], known: dict[str, Known], settings: RankSettings, outputs: Outputs | None = None
) -> Ranking:
    own = Settings(
        settings.get("seed", 0), settings.get("ties", "davidson"), settings.get("n_resamples", N_RESAMPLES)
    )
    usable = [one for one in found if len(one.systems) > 1]
    criteria: dict[str, CriterionRanking] = {
        # A criterion with one system alone is an error only where there is no other.
        one.name: rank_criterion(one, own, known.get(one.protocol))
        for one in usable or found[:1]
    }
    first = (usable or found)[0]
    n_next = settings.get("n_next", 0)
    return Ranking(
        **structs.asdict(criteria[first.name]),
        criteria=criteria,
        next=proposals(first, n_next, outputs) if n_next else (),
        seed=own.seed,
    )


def _known(store: Store, run: RunRow, protocols: dict[str, Protocol]) -> dict[str, Known]:
    """By protocol: the orders, and the probabilities of choices where replies have them."""
    orders: dict[str, Orders] = order_bias(store.judgments(run))
    policy = settings_of(run).order
    likely: dict[str, dict[str, float]] = {}
    if any(place.reply.logprobs for place in islice(store.asked(run), _LOOKED_AT)):
        likely = preferences(store.asked(run), protocols, store.judgments(run))
    return {key: Known(orders.get(key), likely.get(key, {}), policy) for key in protocols}


def _lengths(items: Iterable[Item]) -> dict[str, float]:
    return {
        item.id: float(_size(item.fields["response_a"]) - _size(item.fields["response_b"]))
        for item in items
        if "response_a" in item.fields and "response_b" in item.fields
    }


def _size(value: FieldValue) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(len(entry if isinstance(entry, str) else entry.content) for entry in value)


def _about_run(run: RunRow) -> list[str]:
    """What the store knows and the numbers do not show."""
    fake = [told["spec"] for told in run.manifest["models"] if told["is_fake"]]
    notes = [
        f"{spec} is a fake judge for tests: this ranking says nothing about any system." for spec in fake
    ]
    if run.status != "done":
        notes.append(
            f"The run is {run.status}, not done: pairs that were not judged yet are not in this ranking."
        )
    return notes
