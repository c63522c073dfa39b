"""One step of a flow: which part of all items ends here, and which goes on; the steps stand below each
other."""

from __future__ import annotations

from markupsafe import Markup

from .bars import BarPart
from .svg import chart, line, linked, rect

_TALL, _BAR = 28.0, 20.0


def flow_step(
    parts: list[BarPart], begin: float, whole: float, title: str, *, is_last: bool = False
) -> Markup:
    """The parts of one step side by side, where `begin` items of the whole ended before; a line goes down to
    the next step from where this one ends."""
    drawn = [rect("0%", 0, "100%", _BAR, "track", rx=2)]
    at = begin
    for part in parts:
        if part.n <= 0 or whole <= 0:
            continue
        words = f"{part.name}: {part.n:,.0f} of {whole:,.0f}"
        bar = rect(_along(at, whole), 0, _along(part.n, whole), _BAR, part.css, title=words)
        drawn.append(linked(bar, part.url, words, is_reached=True) if part.url else bar)
        at += part.n
    if not is_last:
        ends = (_along(place, whole) for place in (begin + parts[0].n, at))
        drawn += [line(end, _BAR, end, _TALL, "ref") for end in ends]
    has_links = any(part.url for part in parts)
    return chart("100%", _TALL, title, drawn, css="flow-step", has_links=has_links)


def _along(n: float, whole: float) -> str:
    return f"{100 * n / whole:.3f}%"
