"""What a ranking says, as values: where each system stands, what cannot be told apart, and what to beware of.

Nothing here computes. A number that cannot be given is an `Estimate` without a value whose `method` says why.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from ..records import Estimate
from ..stats import PositionBias

Kind = Literal["choices", "scores"]


class Counts(Struct, frozen=True):
    """Games won, lost and tied; by probability, won is above one half."""

    won: int
    lost: int
    tied: int


class Standing(Struct, frozen=True):
    """One system among the others."""

    system: str
    place: int
    """by the point estimates; 1 is best"""
    places: tuple[int, int]
    """the best and the worst place that the tests leave open"""
    win_rate: Estimate
    """a tie is half a win"""
    strength: Estimate
    """on the log scale; 0 is the mean of the systems; sandwich interval"""
    strength_bootstrap: Estimate
    elo: Estimate
    """the strength on an Elo-like scale: 400 points are odds of ten to one, 1000 is the mean"""
    counts: Counts
    n_failed: int
    """pairs or scores of this system without a usable judgment"""
    mean: Estimate | None = None
    """of scores; none where the judge chose between responses"""
    weighted: Estimate | None = None
    """the win rate by how likely each choice was; none without log-probabilities"""
    length_controlled: Estimate | None = None
    """the win rate, were all responses equally long"""
    length_difference: float | None = None
    """characters by which its responses are longer than those they met, on the mean"""


class Difference(Struct, frozen=True):
    """Two systems: how far apart they are, and whether that could be chance."""

    first: str
    second: str
    difference: Estimate
    """first - second: strengths, or the paired difference of scores"""
    p: float | None
    p_adjusted: float | None
    """Holm's, over all pairs of systems"""
    test: str
    is_open: bool
    """whether the two cannot be told apart"""
    any_time: Estimate | None = None
    """of neighbours: the share of their own games that the first took, with an interval for whoever looks again and again"""


class Met(Struct, frozen=True):
    """What a system took of its games with another."""

    share: Estimate
    counts: Counts


class Length(Struct, frozen=True):
    """How the length of a response moves the judge."""

    coefficient: Estimate
    """change of the log odds per typical difference of lengths"""
    typical_difference: float | None
    """in characters"""


class CriterionRanking(Struct, frozen=True, kw_only=True):
    """The systems by one criterion, best first."""

    criterion: str
    protocol: str
    kind: Kind
    models: tuple[str, ...]
    systems: tuple[Standing, ...]
    order: PositionBias
    """of choices: whether the place decides; without numbers for scores"""
    order_by_model: dict[str, PositionBias] = field(default_factory=dict)
    matrix: dict[str, dict[str, Met]]
    differences: tuple[Difference, ...]
    length: Length | None
    by_model: dict[str, dict[str, Estimate]]
    """the win rates by each judge alone, where there are several"""
    model: str
    """how strengths were fitted"""
    tie_parameter: float | None
    components: tuple[tuple[str, ...], ...]
    """systems whose strengths can be compared, those above first"""
    islands: tuple[tuple[str, ...], ...]
    """systems that met, directly or through others"""
    never_lost: tuple[str, ...]
    never_won: tuple[str, ...]
    n_games: int
    n_failed: int
    n_groups: int | None
    """independent prompts, where items share them"""
    notes: tuple[str, ...]


class Proposal(Struct, frozen=True):
    """A comparison worth asking for."""

    system_a: str
    system_b: str
    group: str | None
    """the prompt on which both outputs are known and were not compared; none: one that is not in the run yet"""
    id: str | None


class Ranking(CriterionRanking, frozen=True, kw_only=True):
    """The first criterion in full, and all of them by name."""

    criteria: dict[str, CriterionRanking]
    next: tuple[Proposal, ...] = ()
    run: str = ""
    seed: int = 0
