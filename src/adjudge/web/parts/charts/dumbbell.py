"""Dumbbells: a change on one line, from a hollow dot to a filled one, with an arrow."""

from __future__ import annotations

from markupsafe import Markup

from ....sections import Mark
from .axis import Domain, ticks
from .svg import chart, circle, gridlines, line

_HEIGHT = 24
_LEAST = 0.02
"""A shorter arrow, as a share of the width, would be hidden by its dots."""


def dumbbell(after: Mark, before: Mark, domain: Domain, title: str) -> Markup:
    """The change from one mean to another; a mean that is not defined has no dot."""
    middle = _HEIGHT / 2
    parts = [gridlines([domain.along(tick) for tick in ticks(domain)], _HEIGHT)]
    if before.value is not None and after.value is not None:
        is_seen = abs(domain.share(after.value) - domain.share(before.value)) > _LEAST
        css = "joined arrow" if is_seen else "joined"
        parts.append(line(domain.along(before.value), middle, domain.along(after.value), middle, css))
    if before.value is not None:
        parts.append(circle(domain.along(before.value), middle, 4, "dot hollow"))
    if after.value is not None:
        parts.append(circle(domain.along(after.value), middle, 4.5, "dot"))
    return chart("100%", _HEIGHT, title, parts)
