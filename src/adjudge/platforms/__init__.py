"""Observability platforms: traces come from them as items, and scores go back to them."""

from .score import PlatformScore, Target

__all__ = ["PlatformScore", "Target"]
