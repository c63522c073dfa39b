"""Results as games of systems, or as scores of systems on the same inputs: what a ranking is made from.

Several judges become one: the vote on a choice, the mean of scores. A failed row is counted for the systems that it
belongs to. Nothing is estimated here.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from ..combine import Kind
from ..errors import DataError, listed
from ..records import Choice, Estimate, Result, Scale
from ..stats import Games, clustered_share, games_of
from .result_types import Counts, Met
from .run_view import RunView

SHARE: dict[Choice, float] = {"a": 1.0, "b": 0.0, "tie": 0.5}
"""What the first of two takes of a game."""


class Game(Struct, frozen=True):
    """One comparison of two systems' outputs."""

    first: str
    second: str
    share: float
    """what the first takes: 1 won, 0 lost, 0.5 a tie, or the probability that it is the better one"""
    group: str | None = None
    """the prompt: games of one are not independent; none: the game stands alone"""
    item: str = ""
    length_difference: float | None = None
    """characters of the first's response - of the second's"""


class Scored(Struct, frozen=True):
    """One system's score on one input."""

    system: str
    unit: str
    value: float


class Material(Struct, frozen=True):
    """All that one criterion of one protocol gives to a ranking, of one judge or of several as one."""

    name: str
    criterion: str
    protocol: str
    kind: Kind
    models: tuple[str, ...]
    games: tuple[Game, ...]
    scores: tuple[Scored, ...]
    systems: tuple[str, ...]
    """as they were first seen"""
    failed: dict[str, int]
    n_failed: int
    has_groups: bool
    is_higher_better: bool
    limits: tuple[float, float] | None
    """the ends of the scale, where it has them"""
    notes: tuple[str, ...]
    by_model: dict[str, tuple[Game, ...]]
    """the games of each judge alone, where there are several"""
    failed_by_model: dict[str, dict[str, int]] = {}
    """judge → system → its pairs on which this judge failed, where there are several judges"""


Lengths = Mapping[str, float]
"""item → characters of response_a - of response_b"""


def materials(view: RunView, lengths: Lengths | None = None) -> list[Material]:
    """What can be ranked, choices first; criteria by the names under which they are shown."""
    cells = view.cells()
    several = len({cell.protocol for cell in cells}) > 1
    found = []
    for cell, rows in sorted(cells.items(), key=lambda entry: entry[0].kind != "choices"):
        name = f"{cell.protocol.partition('@')[0]}/{cell.criterion}" if several else cell.criterion
        if cell.kind == "scores" and cell._replace(kind="choices") in cells:
            name += " (scores)"
        if cell.kind == "choices":
            found.append(_of_choices(name, rows, lengths or {}))
        else:
            found.append(_of_scores(name, rows, view.scale(cell.protocol, cell.criterion)))
    return found


def _by_model(rows: Sequence[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = defaultdict(list)
    for row in rows:
        found[row.model].append(row)
    return dict(found)


def _sides(row: Result) -> tuple[str, str]:
    return row.system_a or "a", row.system_b or "b"


def _of_choices(name: str, rows: Sequence[Result], lengths: Lengths) -> Material:
    judges = _by_model(rows)
    votes: dict[str, list[Result]] = defaultdict(list)
    for row in rows:
        votes[row.item].append(row)
    games, n_partial = [], 0
    failed: Counter[str] = Counter()
    n_failed = n_own = 0
    systems: dict[str, None] = {}
    for own in votes.values():
        sides = _sides(own[0])
        systems.update(dict.fromkeys(sides))
        given = [row.choice for row in own if row.choice is not None and row.status == "ok"]
        if not given:
            failed.update(set(sides))
            n_failed += 1
            continue
        n_partial += len(given) < len(judges)
        n_own += sides[0] == sides[1]
        games.append(_game(own[0], _vote(given), lengths))
    notes = []
    if n_own:
        notes.append(
            f"{n_own} pairs have two responses of one system: they say nothing of its rank and are left out."
        )
    if n_partial and len(judges) > 1:
        notes.append(
            f"{n_partial} of {len(games)} pairs lack at least one judge: the vote is of those that answered."
        )
    by_model: dict[str, tuple[Game, ...]] = {}
    failed_by_model: dict[str, dict[str, int]] = {}
    if len(judges) > 1:
        notes.append(
            f"{len(judges)} judges: a pair goes to the response with more votes, a tie where there are as many."
        )
        by_model = {model: tuple(_single(own, lengths)) for model, own in judges.items()}
        failed_by_model = {model: _failed_pairs(own) for model, own in judges.items()}
    return Material(
        name=name, criterion=rows[0].criterion, protocol=rows[0].protocol, kind="choices", models=tuple(judges),
        games=tuple(game for game in games if game.first != game.second), scores=(), systems=tuple(systems),
        failed=dict(failed), n_failed=n_failed, has_groups=any(row.group is not None for row in rows),
        is_higher_better=True,
        limits=None, notes=tuple(notes), by_model=by_model, failed_by_model=failed_by_model,
    )  # fmt: skip


def _failed_pairs(rows: Sequence[Result]) -> dict[str, int]:
    failed: Counter[str] = Counter()
    for row in rows:
        if row.choice is None or row.status != "ok":
            failed.update(set(_sides(row)))
    return dict(failed)


def _single(rows: Sequence[Result], lengths: Lengths) -> Iterable[Game]:
    for row in rows:
        first, second = _sides(row)
        if row.choice is not None and row.status == "ok" and first != second:
            yield _game(row, SHARE[row.choice], lengths)


def _game(row: Result, share: float, lengths: Lengths) -> Game:
    first, second = _sides(row)
    return Game(first, second, share, row.group, row.item, lengths.get(row.item))


def _vote(choices: Sequence[Choice]) -> float:
    """The choice of the majority; a tie where as many are for the one as for the other."""
    lead = math.fsum(SHARE[choice] - 0.5 for choice in choices)
    return 0.5 if lead == 0 else float(lead > 0)


def _system(row: Result) -> str:
    """Whose output was scored: of a pair, the side that the score is about."""
    if row.subject is None:
        return row.system
    return _sides(row)[0 if row.subject == "a" else 1]


def _unit(row: Result) -> str:
    """What two systems must share to be compared: the prompt, or the pair that both stand in."""
    if row.group is not None:
        return f"g {row.group}"
    return f"i {row.item}"


def _of_scores(name: str, rows: Sequence[Result], scale: Scale | None) -> Material:
    judges = _by_model(rows)
    values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    asked: dict[tuple[str, str, str], None] = {}
    for row in rows:
        key = (_system(row), _unit(row), f"{row.item} {row.subject or ''}")
        asked.setdefault(key)
        if row.value is not None and row.status == "ok" and math.isfinite(row.value):
            values[key].append(row.value)
    failed = Counter(key[0] for key in asked if key not in values)
    n_partial = sum(len(own) < len(judges) for own in values.values())
    together: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (system, unit, _), own in values.items():
        together[system, unit].append(math.fsum(own) / len(own))
    notes = []
    if any(len(own) > 1 for own in together.values()):
        notes.append("Several items of one system on one prompt count as their mean.")
    if len(judges) > 1:
        notes.append(f"{len(judges)} judges: the score of an item is their mean.")
    if n_partial and len(judges) > 1:
        notes.append(
            f"{n_partial} of {len(values)} items lack at least one judge: the mean is of those that answered."
        )
    best = scale.best if scale is not None else "high"
    is_higher = best == "high" or (scale is not None and best == scale.high)
    if best == "unknown":
        notes.append(
            "Nothing says for sure which end of this scale is good: the order below takes the high end for it."
        )
        is_higher = True
    elif scale is None:
        notes.append("The scale is not known: a higher score is taken to be better.")
    elif not is_higher:
        notes.append("On this scale the low end is good: systems with lower scores stand first.")
    return Material(
        name=name, criterion=rows[0].criterion, protocol=rows[0].protocol, kind="scores", models=tuple(judges), games=(),
        scores=tuple(Scored(system, unit, math.fsum(own) / len(own)) for (system, unit), own in together.items()),
        systems=tuple(dict.fromkeys(key[0] for key in asked)), failed=dict(failed), n_failed=sum(failed.values()),
        has_groups=any(row.group is not None for row in rows), is_higher_better=is_higher,
        limits=scale.limits if scale is not None else None, notes=tuple(notes),
        by_model={},
    )  # fmt: skip


def from_games(given: Iterable[Game | Sequence[object]]) -> Material:
    """Games that were played elsewhere: `Game`s, or (system, system, outcome) with an outcome of a, b, tie or a share."""
    games, problems = [], []
    for number, one in enumerate(given, start=1):
        try:
            games.append(one if isinstance(one, Game) else _as_game(one))
        except ValueError as error:
            problems.append(f"game {number}: {error}")
    if problems:
        raise DataError(listed("games", problems))
    strange = [game for game in games if not 0 <= game.share <= 1]
    if strange:
        raise DataError(
            f"A share of {strange[0].share} is not between 0 (lost) and 1 (won). Correct the games."
        )
    systems = dict.fromkeys(system for game in games for system in (game.first, game.second))
    return Material(
        name="games", criterion="games", protocol="", kind="choices", models=(),
        games=tuple(game for game in games if game.first != game.second), scores=(), systems=tuple(systems), failed={},
        n_failed=0, has_groups=any(game.group is not None for game in games), is_higher_better=True,
        limits=None, notes=(),
        by_model={},
    )  # fmt: skip


def _as_game(given: Sequence[object]) -> Game:
    if isinstance(given, str) or len(given) not in (3, 4):
        raise ValueError("give (system, system, outcome) or (system, system, outcome, group)")
    first, second, outcome = given[:3]
    group = None if len(given) < 4 or given[3] is None else str(given[3])
    if outcome in ("a", "b", "tie"):
        return Game(str(first), str(second), SHARE[outcome], group)
    if isinstance(outcome, int | float) and outcome == outcome:
        return Game(str(first), str(second), float(outcome), group)
    raise ValueError(f"the outcome {outcome!r} is neither 'a', 'b', 'tie' nor a number from 0 to 1")


# What systems took of their games: win rates and the table of who beat whom.


def clusters_of(games: Sequence[Game]) -> list[Hashable]:
    """What belongs together: the games of one prompt, or both judgments of one pair."""
    return [
        f"g {game.group}" if game.group is not None else f"i {game.item}" if game.item else number
        for number, game in enumerate(games)
    ]


def games_as_arrays(games: Sequence[Game], systems: Sequence[str]) -> Games:
    number = {system: place for place, system in enumerate(systems)}
    return games_of(
        [number[game.first] for game in games],
        [number[game.second] for game in games],
        [game.share for game in games],
        len(systems),
        clusters_of(games),
    )


class Taken(NamedTuple):
    """What a system took of its games, and which of them belong together."""

    shares: list[float]
    clusters: list[Hashable]


def taken_by(games: Sequence[Game], systems: Sequence[str]) -> dict[str, Taken]:
    found = {system: Taken([], []) for system in systems}
    for game, cluster in zip(games, clusters_of(games), strict=True):
        for system, share in ((game.first, game.share), (game.second, 1 - game.share)):
            found[system].shares.append(share)
            found[system].clusters.append(cluster)
    return found


def won_share(taken: Taken, n_failed: int = 0) -> Estimate:
    return clustered_share(taken.shares, taken.clusters, n_failed)


def counted(shares: Sequence[float]) -> Counts:
    tied = sum(share == 0.5 for share in shares)
    won = sum(share > 0.5 for share in shares)
    return Counts(won, len(shares) - won - tied, tied)


def matrix_of(games: Sequence[Game], systems: Sequence[str]) -> dict[str, dict[str, Met]]:
    """What each system took of its games with each other one."""
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    clusters: dict[tuple[str, str], list[Hashable]] = defaultdict(list)
    for game, cluster in zip(games, clusters_of(games), strict=True):
        for one, other, share in (
            (game.first, game.second, game.share),
            (game.second, game.first, 1 - game.share),
        ):
            shares[one, other].append(share)
            clusters[one, other].append(cluster)
    return {
        one: {
            other: Met(clustered_share(own, clusters[one, other]), counted(own))
            for other in systems
            if (own := shares.get((one, other)))
        }
        for one in systems
    }
