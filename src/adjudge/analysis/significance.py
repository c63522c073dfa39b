"""The levels below which analyses call a difference significant, and a warning clear."""

from __future__ import annotations

SIGNIFICANCE = 0.05
"""Differences with an adjusted p-value up to this are statistically significant."""


CLEAR_P = 0.05


MARGIN_SHARE = 0.05
"""A difference of less than this share of the scale does not matter, unless a margin is given."""
