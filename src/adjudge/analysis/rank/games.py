"""The input of a ranking: games between systems, or scores of systems on the same inputs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ...errors import DataError, problem_list
from ...records import Result, Scale
from ...results.combine import Kind
from ..run_view.criteria import criterion_names
from ..run_view.panel import panel_vote
from ..run_view.result_facts import as_number, cluster_of, results_by_model, system_of, systems_of_pair
from ..run_view.run_view import RunView


class Game(Struct, frozen=True):
    """One comparison of two systems' outputs."""

    first: str
    second: str
    share: float
    """the result of the first: 1 won, 0 lost, 0.5 tied, or the probability that it is the better one"""
    group: str | None = None
    """the prompt; games on one prompt are not independent"""
    item: str = ""
    length_difference: float | None = None
    """characters of the first response minus those of the second"""


class SystemScore(Struct, frozen=True):
    """One system's score on one input."""

    system: str
    unit: str
    value: float


class RankingInput(Struct, frozen=True):
    """Games or scores of one criterion of one protocol, from one judge or from several as one."""

    name: str
    criterion: str
    protocol: str
    kind: Kind
    models: tuple[str, ...]
    games: tuple[Game, ...]
    scores: tuple[SystemScore, ...]
    systems: tuple[str, ...]
    """in the order first seen"""
    failed: dict[str, int]
    n_failed: int
    has_groups: bool
    is_higher_better: bool
    limits: tuple[float, float] | None
    """of the scale; none where it is unbounded"""
    notes: tuple[str, ...]
    by_model: dict[str, tuple[Game, ...]]
    """the games of each judge alone, where there are several"""
    failed_by_model: dict[str, dict[str, int]] = {}
    """judge → system → pairs on which this judge failed, where there are several judges"""


Lengths = Mapping[str, float]
"""item → characters of response_a minus those of response_b"""


def ranking_inputs(view: RunView, lengths: Lengths | None = None) -> list[RankingInput]:
    """One input for each criterion, choices first; with the names that the ranking shows."""
    cells = view.cells()
    names = criterion_names((cell.protocol, cell.criterion) for cell in cells)
    inputs = []
    for cell, rows in sorted(cells.items(), key=lambda entry: entry[0].kind != "choices"):
        name = names[cell.protocol, cell.criterion]
        if cell.kind == "scores" and cell._replace(kind="choices") in cells:
            name += " (scores)"
        if cell.kind == "choices":
            inputs.append(_from_choices(name, rows, lengths or {}))
        else:
            scale = view.scale(cell.protocol, cell.criterion)
            if scale is None or not scale.is_nominal:  # labels have no order
                inputs.append(_from_scores(name, rows, scale))
    return inputs


def _from_choices(name: str, rows: Sequence[Result], lengths: Lengths) -> RankingInput:
    judges = results_by_model(rows)
    votes: dict[str, list[Result]] = defaultdict(list)
    for row in rows:
        votes[row.item].append(row)
    games, n_partial = [], 0
    failed: Counter[str] = Counter()
    n_failed = n_same_system = 0
    systems: dict[str, None] = {}
    for votes_on_item in votes.values():
        sides = systems_of_pair(votes_on_item[0])
        systems.update(dict.fromkeys(sides))
        choices = [row.choice for row in votes_on_item if row.choice is not None and row.status == "ok"]
        if not choices:
            failed.update(set(sides))
            n_failed += 1
            continue
        n_partial += len(choices) < len(judges)
        n_same_system += sides[0] == sides[1]
        games.append(_game(votes_on_item[0], as_number(panel_vote(choices)), lengths))
    notes = []
    if n_same_system:
        notes.append(f"{n_same_system} pairs have two responses of the same system and are not counted.")
    if n_partial and len(judges) > 1:
        notes.append(
            f"{n_partial} of {len(games)} pairs lack at least one judge: only the judges that answered vote."
        )
    by_model: dict[str, tuple[Game, ...]] = {}
    failed_by_model: dict[str, dict[str, int]] = {}
    if len(judges) > 1:
        notes.append(
            f"{len(judges)} judges: a pair goes to the response with more votes; equal votes are a tie."
        )
        by_model = {
            model: tuple(_games_of_judge(rows_of_judge, lengths)) for model, rows_of_judge in judges.items()
        }
        failed_by_model = {model: _failed_pairs(rows_of_judge) for model, rows_of_judge in judges.items()}
    return RankingInput(
        name=name,
        criterion=rows[0].criterion,
        protocol=rows[0].protocol,
        kind="choices",
        models=tuple(judges),
        games=tuple(game for game in games if game.first != game.second),
        scores=(),
        systems=tuple(systems),
        failed=dict(failed),
        n_failed=n_failed,
        has_groups=any(row.group is not None for row in rows),
        is_higher_better=True,
        limits=None,
        notes=tuple(notes),
        by_model=by_model,
        failed_by_model=failed_by_model,
    )


def _failed_pairs(rows: Sequence[Result]) -> dict[str, int]:
    failed: Counter[str] = Counter()
    for row in rows:
        if row.choice is None or row.status != "ok":
            failed.update(set(systems_of_pair(row)))
    return dict(failed)


def _games_of_judge(rows: Sequence[Result], lengths: Lengths) -> Iterable[Game]:
    for row in rows:
        first, second = systems_of_pair(row)
        if row.choice is not None and row.status == "ok" and first != second:
            yield _game(row, as_number(row.choice), lengths)


def _game(row: Result, share: float, lengths: Lengths) -> Game:
    first, second = systems_of_pair(row)
    return Game(first, second, share, row.group, row.item, lengths.get(row.item))


def _from_scores(name: str, rows: Sequence[Result], scale: Scale | None) -> RankingInput:
    judges = results_by_model(rows)
    values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    judged: dict[tuple[str, str, str], None] = {}
    for row in rows:
        key = (system_of(row), cluster_of(row.group, row.item), f"{row.item} {row.subject or ''}")
        judged.setdefault(key)
        if row.value is not None and row.status == "ok" and math.isfinite(row.value):
            values[key].append(row.value)
    failed = Counter(key[0] for key in judged if key not in values)
    n_partial = sum(len(item_values) < len(judges) for item_values in values.values())
    by_unit: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (system, unit, _), item_values in values.items():
        by_unit[system, unit].append(math.fsum(item_values) / len(item_values))
    notes = []
    if any(len(item_values) > 1 for item_values in by_unit.values()):
        notes.append("Several items of one system on one prompt count as their mean.")
    if len(judges) > 1:
        notes.append(f"{len(judges)} judges: the score of an item is their mean.")
    if n_partial and len(judges) > 1:
        notes.append(
            f"{n_partial} of {len(values)} items lack at least one judge: the mean is over the "
            "judges that answered."
        )
    direction = scale.direction if scale is not None else 1
    if direction == 0:
        notes.append(
            "It is unknown which end of this scale is good: the ranking assumes that higher is better."
        )
    elif scale is None:
        notes.append("The scale is unknown: the ranking assumes that higher is better.")
    elif direction < 0:
        notes.append("On this scale lower is better: systems with lower scores rank first.")
    return RankingInput(
        name=name,
        criterion=rows[0].criterion,
        protocol=rows[0].protocol,
        kind="scores",
        models=tuple(judges),
        games=(),
        scores=tuple(
            SystemScore(system, unit, math.fsum(item_values) / len(item_values))
            for (system, unit), item_values in by_unit.items()
        ),
        systems=tuple(dict.fromkeys(key[0] for key in judged)),
        failed=dict(failed),
        n_failed=sum(failed.values()),
        has_groups=any(row.group is not None for row in rows),
        is_higher_better=direction >= 0,
        limits=scale.limits if scale is not None else None,
        notes=tuple(notes),
        by_model={},
    )


def input_from_games(source: Iterable[Game | Sequence[object]]) -> RankingInput:
    """Games from elsewhere: `Game`s, or (system, system, outcome), where the outcome is a, b, tie or a
    share."""
    games, problems = [], []
    for number, entry in enumerate(source, start=1):
        try:
            games.append(entry if isinstance(entry, Game) else _as_game(entry))
        except ValueError as error:
            problems.append(f"game {number}: {error}")
    if problems:
        raise DataError(problem_list("games", problems))
    out_of_range = [game for game in games if not 0 <= game.share <= 1]
    if out_of_range:
        raise DataError(
            f"A share of {out_of_range[0].share} is not between 0 (lost) and 1 (won). Correct the games."
        )
    systems = dict.fromkeys(system for game in games for system in (game.first, game.second))
    return RankingInput(
        name="games",
        criterion="games",
        protocol="",
        kind="choices",
        models=(),
        games=tuple(game for game in games if game.first != game.second),
        scores=(),
        systems=tuple(systems),
        failed={},
        n_failed=0,
        has_groups=any(game.group is not None for game in games),
        is_higher_better=True,
        limits=None,
        notes=(),
        by_model={},
    )


def _as_game(entry: Sequence[object]) -> Game:
    if isinstance(entry, str) or len(entry) not in (3, 4):
        raise ValueError("give (system, system, outcome) or (system, system, outcome, group)")
    first, second, outcome = entry[:3]
    group = None if len(entry) < 4 or entry[3] is None else str(entry[3])
    if outcome in ("a", "b", "tie"):
        return Game(str(first), str(second), as_number(outcome), group)
    if isinstance(outcome, int | float) and outcome == outcome:
        return Game(str(first), str(second), float(outcome), group)
    raise ValueError(f"the outcome {outcome!r} is neither 'a', 'b', 'tie' nor a number from 0 to 1")
