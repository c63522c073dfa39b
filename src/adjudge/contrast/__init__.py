"""Two runs on the same items: what differs, by how much, and whether a conclusion changes."""

from .build import contrast
from .of_run import compare
from .shapes import Comparison, CriterionContrast, SystemContrast, SystemOrder, SystemPair
from .sides import Side, side_of_run

__all__ = [
    "Comparison",
    "CriterionContrast",
    "Side",
    "SystemContrast",
    "SystemOrder",
    "SystemPair",
    "compare",
    "contrast",
    "side_of_run",
]
