"""`adjudge.rank`: the ranking of systems from games or scores, of a stored run or of any results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TypedDict, Unpack

from msgspec import structs

from ...did_you_mean import did_you_mean
from ...engine import Run
from ...errors import DataError
from ...records import Item, Result, Scale
from ...results.combine import choice_criterion
from ...results.manifest import settings_of
from ...stats import Ties
from ...store import RunRow, Store, open_store
from ..run_view.attributes import text_length
from ..run_view.criteria import by_criterion
from ..run_view.given_results import view_of_results
from ..run_view.run_view import RunView
from ..run_view.tabulate import tabulate
from .criterion_ranking import N_RESAMPLES, ChoiceDetails, FitSettings, rank_criterion
from .games import Game, RankingInput, input_from_games, ranking_inputs
from .preferences import preferences
from .proposals import Outputs, outputs_of, proposals, with_files
from .ranking import CriterionRanking, Ranking

_LOOKED_AT = 20
"""Number of replies that show whether a run has log-probabilities."""


class RankSettings(TypedDict, total=False):
    """The settings of a ranking."""

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
    """Rank the systems of a run, of any results, or of games: `Game`s or (system, system, "a" | "b" | "tie" |
    share).

    `criterion` selects one of several; `n_next` is the number of comparisons to propose, on the outputs of
    the run and of the files in `outputs`. The scales of a run are known; for other results `scales` gives
    them by criterion.
    """
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            return rank_run(store, store.run(source.name), **settings)
    entries = list(source)
    if entries and all(isinstance(entry, Result) for entry in entries):
        rows = [entry for entry in entries if isinstance(entry, Result)]
        inputs = ranking_inputs(view_of_results(rows, by_criterion(scales)))
    elif entries and not any(isinstance(entry, Result | str) for entry in entries):
        inputs = [input_from_games(entries)]  # type: ignore[arg-type]
    else:
        raise DataError("There is nothing to rank: give a run, a list of results, or a list of games.")
    return _ranking_from(_select(inputs, settings.get("criterion")), {}, settings)


def rank_run(store: Store, run: RunRow, **settings: Unpack[RankSettings]) -> Ranking:
    """The ranking of a run, with what only the store has: orders, lengths, log-probabilities."""
    return rank_view(store, tabulate(store, run, choice_spans=has_logprobs(store, run)), **settings)


def has_logprobs(store: Store, run: RunRow) -> bool:
    """Whether the replies of a run have log-probabilities, judging by the first ones."""
    return any(call.reply.logprobs for call in islice(store.asked(run), _LOOKED_AT))


def rank_view(store: Store, view: RunView, **settings: Unpack[RankSettings]) -> Ranking:
    """The ranking of a run from its view."""
    assert view.run is not None
    inputs = ranking_inputs(view, _lengths(store.items(view.run)))
    if not inputs:
        if view.results:
            raise DataError(
                f"{view.name} has labels without an order, and nothing to rank by. adjudge report "
                "shows the share of each label."
            )
        raise DataError(f"{view.name} has no results yet. Repeat its command to resume it.")
    inputs = _select(inputs, settings.get("criterion"))
    details = (
        _choice_details(store, view)
        if any(ranking_input.kind == "choices" for ranking_input in inputs)
        else {}
    )
    outputs = None
    if settings.get("n_next"):
        outputs = with_files(outputs_of(store.items(view.run)), settings.get("outputs", ()))
    ranking = _ranking_from(inputs, details, settings, outputs)
    return structs.replace(ranking, run=view.name, notes=(*view.notes(), *ranking.notes))


def _select(inputs: list[RankingInput], criterion: str | None) -> list[RankingInput]:
    if criterion is None:
        return inputs
    names = [ranking_input.name for ranking_input in inputs]
    chosen = [
        ranking_input
        for ranking_input in inputs
        if criterion in (ranking_input.name, ranking_input.criterion)
    ]
    if not chosen:
        hint = f"{did_you_mean(criterion, names)} There are: {', '.join(names)}.".lstrip()
        raise DataError(f"There is no criterion '{criterion}'. {hint}")
    return [ranking_input for ranking_input in chosen if ranking_input.name == criterion] or chosen


def _ranking_from(
    inputs: list[RankingInput],
    details: dict[str, ChoiceDetails],
    settings: RankSettings,
    outputs: Outputs | None = None,
) -> Ranking:
    fit_settings = FitSettings(
        settings.get("seed", 0), settings.get("ties", "davidson"), settings.get("n_resamples", N_RESAMPLES)
    )
    usable = [ranking_input for ranking_input in inputs if len(ranking_input.systems) > 1]
    criteria: dict[str, CriterionRanking] = {
        # A criterion with one system alone is an error only where there is no other.
        ranking_input.name: rank_criterion(ranking_input, fit_settings, details.get(ranking_input.protocol))
        for ranking_input in usable or inputs[:1]
    }
    first = (usable or inputs)[0]
    n_next = settings.get("n_next", 0)
    return Ranking(
        **structs.asdict(criteria[first.name]),
        criteria=criteria,
        next=proposals(first, n_next, outputs) if n_next else (),
        seed=fit_settings.seed,
    )


def _choice_details(store: Store, view: RunView) -> dict[str, ChoiceDetails]:
    """Protocol → position bias of the stated choice, and probabilities of choices where replies have them."""
    assert view.run is not None
    preferences_by_protocol: dict[str, dict[str, float]] = {}
    if view.choice_spans:
        preferences_by_protocol = preferences(store.asked(view.run), view.protocols, view.choice_spans)
    policy = settings_of(view.run).order
    return {
        key: ChoiceDetails(
            view.positions.get((key, choice_criterion(protocol.criteria))),
            preferences_by_protocol.get(key, {}),
            policy,
        )
        for key, protocol in view.protocols.items()
    }


def _lengths(items: Iterable[Item]) -> dict[str, float]:
    return {
        item.id: float(text_length(item.fields["response_a"]) - text_length(item.fields["response_b"]))
        for item in items
        if "response_a" in item.fields and "response_b" in item.fields
    }
