"""Which comparisons to ask for next: pairs of systems by what they tell, prompts by what the run already holds.

A pair is proposed on a prompt where both outputs are known and were not compared yet; where there is none, without a
prompt. Knows the items of a run, asks nothing and writes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..data.pairs import pair_id, plain, read_outputs
from ..records import FieldValue, Item
from ..stats import next_games, strengths
from .games import Game, Material, games_as_arrays
from .result_types import Proposal

_PAIR_FIELDS = ("response_a", "response_b")


class Outputs(Struct):
    """The outputs that a run holds: by prompt and system, with the other fields of the prompt."""

    texts: dict[str, dict[str, FieldValue]]
    fields: dict[str, dict[str, FieldValue]]
    compared: set[tuple[str, str, str]]


def outputs_of(items: Iterable[Item]) -> Outputs:
    """What each system wrote to each prompt, from pairs and from single outputs alike."""
    found = Outputs({}, {}, set())
    for item in items:
        prompt = item.group if item.group is not None else item.id
        texts = found.texts.setdefault(prompt, {})
        own = {name: value for name, value in item.fields.items() if name not in (*_PAIR_FIELDS, "response")}
        found.fields.setdefault(prompt, own)
        if all(name in item.fields for name in _PAIR_FIELDS):
            first, second = item.system_a or "a", item.system_b or "b"
            texts.setdefault(first, item.fields["response_a"])
            texts.setdefault(second, item.fields["response_b"])
            found.compared.add((prompt, *sorted((first, second))))  # type: ignore[arg-type]
        elif "response" in item.fields:
            texts.setdefault(item.system, item.fields["response"])
    return found


def with_files(outputs: Outputs, paths: Sequence[str | Path], field: str = "response") -> Outputs:
    """The outputs of a run and those of files of single outputs, which a run of pairs may hold in part alone."""
    for key, own in read_outputs(paths, field).items():
        for system, item in own.items():
            prompt = item.group if item.group is not None else key
            outputs.texts.setdefault(prompt, {}).setdefault(system, item.fields[field])
            rest = {name: value for name, value in item.fields.items() if name != field}
            outputs.fields.setdefault(prompt, rest)
    return outputs


def proposals(material: Material, n: int, outputs: Outputs | None) -> tuple[Proposal, ...]:
    """The `n` comparisons that would tell most; fewer where the run holds no more."""
    systems = material.systems
    games = games_as_arrays(_played(material), systems)
    rating = strengths(games, n_resamples=0).rating
    free = _free(systems, outputs)
    limits = None
    if any(free.values()):
        limits = [
            [len(free.get((min(i, j), max(i, j)), ())) for j in range(len(systems))]
            for i in range(len(systems))
        ]
    chosen = next_games(games, rating, n, limits=limits)
    found = []
    used: dict[tuple[int, int], int] = defaultdict(int)
    for number, pair in enumerate(chosen):
        prompts = free.get(pair, ())
        prompt = prompts[used[pair]] if used[pair] < len(prompts) else None
        used[pair] += 1
        # Sides are dealt out evenly, so that no system always stands first.
        first, second = pair if number % 2 == 0 else pair[::-1]
        a, b = systems[first], systems[second]
        found.append(Proposal(a, b, prompt, None if prompt is None else pair_id(prompt, a, b)))
    return tuple(found)


def _played(material: Material) -> Sequence[Game]:
    if material.kind == "choices":
        return material.games
    by_unit: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for score in material.scores:
        by_unit[score.unit].append((score.system, score.value if material.is_higher_better else -score.value))
    return [
        Game(one, other, 0.5 if mine == its else float(mine > its), unit)
        for unit, own in by_unit.items()
        for at, (one, mine) in enumerate(own)
        for other, its in own[at + 1 :]
    ]


def _free(systems: Sequence[str], outputs: Outputs | None) -> dict[tuple[int, int], list[str]]:
    """Of each pair of systems the prompts on which both outputs are known and were not compared."""
    found: dict[tuple[int, int], list[str]] = {}
    if outputs is None:
        return found
    for i in range(len(systems)):
        for j in range(i + 1, len(systems)):
            one, other = sorted((systems[i], systems[j]))
            found[i, j] = [
                prompt
                for prompt, texts in outputs.texts.items()
                if one in texts and other in texts and (prompt, one, other) not in outputs.compared
            ]
    return found


def item_rows(proposed: Sequence[Proposal], outputs: Outputs) -> list[dict[str, Any]]:
    """The proposals that can be asked at once, as rows of an items file."""
    rows = []
    for one in proposed:
        if one.group is None:
            continue
        texts = outputs.texts[one.group]
        rows.append(
            {
                "id": one.id,
                "group": one.group,
                "system_a": one.system_a,
                "system_b": one.system_b,
                **{name: plain(value) for name, value in outputs.fields[one.group].items()},
                "response_a": plain(texts[one.system_a]),
                "response_b": plain(texts[one.system_b]),
            }
        )
    return rows
