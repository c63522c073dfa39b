"""Rankings: which system is better, from pairs or from scores of the same inputs, and what cannot be told apart."""

from .games import Game
from .of_run import rank, ranking_of_run
from .shapes import CriterionRanking, Difference, Length, Met, Proposal, Ranking, Standing

__all__ = [
    "CriterionRanking",
    "Difference",
    "Game",
    "Length",
    "Met",
    "Proposal",
    "Ranking",
    "Standing",
    "rank",
    "ranking_of_run",
]
