"""The question "Did you mean …?" for a word that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """The nearest known word as a question; `otherwise` where none is near."""
    near = difflib.get_close_matches(word, list(known), 1)
    return f"Did you mean '{near[0]}'?" if near else otherwise
