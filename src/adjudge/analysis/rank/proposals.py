"""Which pairs to judge next, and their outputs as rows of an items file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from ...data import plain
from ...data.pairs import pair_id, read_outputs
from ...records import FieldValue, Item
from ...stats import next_games, strengths
from ...store import RunRow, Store
from .games import Game, RankingInput
from .ranking import Proposal
from .win_rates import games_as_arrays


def rows_to_ask(
    store: Store, run: RunRow, proposed: Sequence[Proposal], outputs: Sequence[str | Path] = ()
) -> list[dict[str, object]]:
    """The proposals whose outputs are known, as rows of an items file."""
    return proposal_rows(proposed, with_files(outputs_of(store.items(run)), outputs))


_PAIR_FIELDS = ("response_a", "response_b")


class Outputs(Struct):
    """The outputs in a run by prompt and system, with the other fields of each prompt."""

    texts: dict[str, dict[str, FieldValue]]
    fields: dict[str, dict[str, FieldValue]]
    compared: set[tuple[str, str, str]]


def outputs_of(items: Iterable[Item]) -> Outputs:
    """The output of each system for each prompt, from pairs and from single outputs."""
    outputs = Outputs({}, {}, set())
    for item in items:
        prompt = item.group if item.group is not None else item.id
        texts = outputs.texts.setdefault(prompt, {})
        fields = {
            name: value for name, value in item.fields.items() if name not in (*_PAIR_FIELDS, "response")
        }
        outputs.fields.setdefault(prompt, fields)
        if all(name in item.fields for name in _PAIR_FIELDS):
            first, second = item.system_a or "a", item.system_b or "b"
            texts.setdefault(first, item.fields["response_a"])
            texts.setdefault(second, item.fields["response_b"])
            outputs.compared.add((prompt, *sorted((first, second))))  # type: ignore[arg-type]
        elif "response" in item.fields:
            texts.setdefault(item.system, item.fields["response"])
    return outputs


def with_files(outputs: Outputs, paths: Sequence[str | Path]) -> Outputs:
    """The outputs of a run, completed with files of single
    outputs: a run of pairs may hold only part of them.
    """
    for key, by_system in read_outputs(paths, "response").items():
        for system, item in by_system.items():
            prompt = item.group if item.group is not None else key
            outputs.texts.setdefault(prompt, {}).setdefault(system, item.fields["response"])
            fields = {name: value for name, value in item.fields.items() if name != "response"}
            outputs.fields.setdefault(prompt, fields)
    return outputs


def proposals(ranking_input: RankingInput, n: int, outputs: Outputs | None) -> tuple[Proposal, ...]:
    """The `n` most informative comparisons; fewer where the run has no more."""
    systems = ranking_input.systems
    games = games_as_arrays(_games_of(ranking_input), systems)
    rating = strengths(games, n_resamples=0).rating
    open_prompts = _open_prompts(systems, outputs)
    limits = None
    if any(open_prompts.values()):
        limits = [
            [len(open_prompts.get((min(i, j), max(i, j)), ())) for j in range(len(systems))]
            for i in range(len(systems))
        ]
    chosen = next_games(games, rating, n, limits=limits)
    proposed = []
    used: dict[tuple[int, int], int] = defaultdict(int)
    for index, pair in enumerate(chosen):
        prompts = open_prompts.get(pair, ())
        prompt = prompts[used[pair]] if used[pair] < len(prompts) else None
        used[pair] += 1
        # Sides alternate, so that no system is always a.
        first, second = pair if index % 2 == 0 else pair[::-1]
        a, b = systems[first], systems[second]
        proposed.append(Proposal(a, b, prompt, None if prompt is None else pair_id(prompt, a, b)))
    return tuple(proposed)


def _games_of(ranking_input: RankingInput) -> Sequence[Game]:
    if ranking_input.kind == "choices":
        return ranking_input.games
    by_unit: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for score in ranking_input.scores:
        by_unit[score.unit].append(
            (score.system, score.value if ranking_input.is_higher_better else -score.value)
        )
    return [
        Game(system, opponent, 0.5 if score == opponent_score else float(score > opponent_score), unit)
        for unit, scores in by_unit.items()
        for index, (system, score) in enumerate(scores)
        for opponent, opponent_score in scores[index + 1 :]
    ]


def _open_prompts(systems: Sequence[str], outputs: Outputs | None) -> dict[tuple[int, int], list[str]]:
    """For each pair of systems the prompts whose two outputs are known but not compared."""
    open_prompts: dict[tuple[int, int], list[str]] = {}
    if outputs is None:
        return open_prompts
    for i in range(len(systems)):
        for j in range(i + 1, len(systems)):
            first, second = sorted((systems[i], systems[j]))
            open_prompts[i, j] = [
                prompt
                for prompt, texts in outputs.texts.items()
                if first in texts and second in texts and (prompt, first, second) not in outputs.compared
            ]
    return open_prompts


def proposal_rows(proposed: Sequence[Proposal], outputs: Outputs) -> list[dict[str, Any]]:
    """The proposals that can be judged right away, as rows of an items file."""
    rows = []
    for proposal in proposed:
        if proposal.group is None:
            continue
        texts = outputs.texts[proposal.group]
        rows.append(
            {
                "id": proposal.id,
                "group": proposal.group,
                "system_a": proposal.system_a,
                "system_b": proposal.system_b,
                **{name: plain(value) for name, value in outputs.fields[proposal.group].items()},
                "response_a": plain(texts[proposal.system_a]),
                "response_b": plain(texts[proposal.system_b]),
            }
        )
    return rows
