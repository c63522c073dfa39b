"""The question "Did you mean …?" for a word that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """The nearest known word as a question; `otherwise` where none is near."""
    return f"Did you mean '{near}'?" if (near := nearest(word, known)) else otherwise


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """The known word that is most like this one; empty where none is near."""
    return next(iter(near_words(word, known, 1, likeness)), "")


def near_words(word: str, known: Iterable[str], most: int, likeness: float) -> list[str]:
    """The known words that are like this one, the nearest first."""
    return difflib.get_close_matches(word, list(known), most, likeness)
