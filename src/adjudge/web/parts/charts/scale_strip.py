"""One score on its scale: the judge's dot on the line, people's dots stacked above it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from ....words import score_text
from .axis import Domain, tick_text, ticks
from .svg import again, chart, circle, numbered_axis

_LINE = 40.0
_HEIGHT = 60.0
_STACK = 26.0
"""How high people's dots may be stacked."""


def scale_strip(
    domain: Domain, judge: float | None, people: Sequence[float], title: str, drawn: list[Domain]
) -> Markup:
    """The scale with the judge's score and people's ratings; equal ratings stand on each other.

    `drawn` are the scales that the page has already: a further strip of the same one refers to it.
    """
    is_new = domain not in drawn
    drawn += [domain] if is_new else []
    name = f"scale-{drawn.index(domain) + 1}"
    places = [(domain.along(tick), tick_text(tick)) for tick in ticks(domain)]
    ends = (domain.along(domain.low), domain.along(domain.high))
    parts = [numbered_axis(name, ends, places, _LINE) if is_new else again(name)]
    for value, n in sorted(Counter(people).items()):
        step = min(9.0, _STACK / n)
        parts += [
            circle(domain.along(value), _LINE - 10 - place * step, 4, "dot people") for place in range(n)
        ]
    if judge is not None:
        parts.append(circle(domain.along(judge), _LINE, 6, "dot judge"))
    said = "" if judge is None else f"judge {score_text(judge)}"
    ratings = f"people {', '.join(score_text(value) for value in people)}" if people else ""
    words = "; ".join(part for part in (title, said, ratings) if part)
    return chart("100%", _HEIGHT, words, parts, css="scale-strip")
