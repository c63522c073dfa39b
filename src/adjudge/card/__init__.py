"""The judge card: does this judge agree with people, may it replace one, and what are the scores really?"""

from .build import judge_card
from .shapes import Card, CorrectedMean, CriterionCard, PeopleCeiling, Quality, Sentence, SystemFailures

__all__ = [
    "Card",
    "CorrectedMean",
    "CriterionCard",
    "PeopleCeiling",
    "Quality",
    "Sentence",
    "SystemFailures",
    "judge_card",
]
