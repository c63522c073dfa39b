"""The judge card: does this judge agree with people, may it replace one, and what are the scores really?"""

from .build import judge_card
from .of_run import card_of_run, trust, with_checked
from .shapes import (
    Card,
    CorrectedMean,
    CriterionCard,
    JudgesApart,
    PeopleCeiling,
    Quality,
    Sentence,
    SystemFailures,
)

__all__ = [
    "Card",
    "CorrectedMean",
    "CriterionCard",
    "JudgesApart",
    "PeopleCeiling",
    "Quality",
    "Sentence",
    "SystemFailures",
    "card_of_run",
    "judge_card",
    "trust",
    "with_checked",
]
