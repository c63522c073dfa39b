"""The ranking of systems: places, strengths, win rates,
differences. What `--json` prints; nothing here computes.
"""

from __future__ import annotations

from msgspec import Struct, field

from ...records import Estimate
from ...results.combine import Kind
from ...stats import PositionBias


class GameCounts(Struct, frozen=True):
    """Games won, lost and tied; a probability above one half counts as won."""

    won: int
    lost: int
    tied: int


class Standing(Struct, frozen=True):
    """One system among the others."""

    system: str
    place: int
    """rank by the point estimates; 1 is best"""
    places: tuple[int, int]
    """best and worst rank that the tests leave possible"""
    win_rate: Estimate
    """a tie counts as half a win"""
    strength: Estimate
    """on the log scale; 0 is the mean of the systems; sandwich interval"""
    strength_bootstrap: Estimate
    elo: Estimate
    """the strength on an Elo-like scale: 400 points are odds of ten to one, 1000 is the mean"""
    counts: GameCounts
    n_failed: int
    """pairs or scores of this system on which the judge failed"""
    mean: Estimate | None = None
    """mean score; none for choices"""
    weighted: Estimate | None = None
    """win rate weighted by the probability of each choice; none without log-probabilities"""
    length_controlled: Estimate | None = None
    """win rate if all responses were equally long"""
    length_difference: float | None = None
    """mean number of characters by which its responses are longer than their opponents'"""


class Difference(Struct, frozen=True):
    """The difference of two systems, and its test."""

    first: str
    second: str
    difference: Estimate
    """first - second: strengths, or the paired difference of scores"""
    p: float | None
    p_adjusted: float | None
    """Holm's, over all pairs of systems"""
    test: str
    is_open: bool
    """whether the difference is not significant"""
    any_time: Estimate | None = None
    """for neighbours in the ranking: head-to-head win rate of the first, with an anytime-valid interval"""


class HeadToHead(Struct, frozen=True):
    """The games of one system against another."""

    share: Estimate
    counts: GameCounts


class Length(Struct, frozen=True):
    """Length bias of the judge."""

    coefficient: Estimate
    """change of the log odds per typical difference in length"""
    typical_difference: float | None
    """in characters"""
    difficulty_sd: float | None = None
    """standard deviation of the prompts' difficulty on log odds; none where the model has no difficulty"""


class CriterionRanking(Struct, frozen=True, kw_only=True):
    """The systems by one criterion, best first."""

    criterion: str
    protocol: str
    kind: Kind
    models: tuple[str, ...]
    systems: tuple[Standing, ...]
    order: PositionBias
    """position bias of choices; undefined for scores"""
    order_by_model: dict[str, PositionBias] = field(default_factory=dict)
    matrix: dict[str, dict[str, HeadToHead]]
    differences: tuple[Difference, ...]
    length: Length | None
    by_model: dict[str, dict[str, Estimate]]
    """the win rates by each judge alone, where there are several"""
    model: str
    """the model that was fitted to the games"""
    tie_parameter: float | None
    components: tuple[tuple[str, ...], ...]
    """systems whose strengths can be compared, the better ones first"""
    islands: tuple[tuple[str, ...], ...]
    """systems connected by games, directly or through others"""
    never_lost: tuple[str, ...]
    never_won: tuple[str, ...]
    n_games: int
    n_failed: int
    n_groups: int | None
    """independent prompts, where items share them"""
    notes: tuple[str, ...]


class Proposal(Struct, frozen=True):
    """A pair of systems to compare next."""

    system_a: str
    system_b: str
    group: str | None
    """a prompt whose two outputs are known but not compared yet; none: a prompt that is not in the run"""
    id: str | None


class Ranking(CriterionRanking, frozen=True, kw_only=True):
    """The ranking by the first criterion, and the rankings by every criterion."""

    criteria: dict[str, CriterionRanking]
    next: tuple[Proposal, ...] = ()
    run: str = ""
    seed: int = 0


class Leaders(Struct, frozen=True):
    """The best system of a criterion, then those that may be the best; empty where the direction is
    unknown."""

    name: str
    kind: Kind
    systems: tuple[str, ...]
