"""The fingerprint of a judge: the shift of each probe as a dot, over the band of the judge's own noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from .axis import Domain, ticks
from .svg import chart, circle, gridlines, line, rect

_HEIGHT = 32.0


class Dot(NamedTuple):
    """One probe."""

    name: str
    shift: float
    is_shown: bool
    """whether the score moves: filled; else hollow"""


def fingerprint(dots: Sequence[Dot], noise: tuple[float, float] | None, domain: Domain, title: str) -> Markup:
    """The shifts of one kind of probe; the band is where the same prompt lands when it is sent again."""
    parts = []
    if noise is not None:
        begin, end = (domain.share(value) * 100 for value in noise)
        words = "noise of the re-run"
        parts.append(rect(f"{begin:.2f}%", 0, f"{end - begin:.2f}%", _HEIGHT, "noise", title=words))
    parts.append(gridlines([domain.along(tick) for tick in ticks(domain)], _HEIGHT))
    parts.append(line(domain.along(0.0), 0, domain.along(0.0), _HEIGHT, "ref"))
    # The hollow ones first, so that those that move are seen.
    for dot in sorted(dots, key=lambda one: one.is_shown):
        css = "dot" if dot.is_shown else "dot hollow"
        parts.append(circle(domain.along(dot.shift), _HEIGHT / 2, 5, css, title=dot.name))
    return chart("100%", _HEIGHT, title, parts)
