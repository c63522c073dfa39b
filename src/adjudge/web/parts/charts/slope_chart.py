"""Slope charts: ranks in two orders, joined by lines."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from .svg import chart, circle, line, text

_SLOPE = 22


_LEFT_END, _RIGHT_END = 40.0, 60.0
"""Where the lines of ranks begin and end, in percent: the names are beside them."""


def slopes(names: Sequence[tuple[str, int, int]], heads: tuple[str, str], title: str) -> Markup:
    """Ranks in two orders: a line for each name from its place on the left to its place on the right."""
    height = _SLOPE * (len(names) + 1) + 6
    parts = [
        text(f"{_LEFT_END - 3}%", 12, heads[0], "t-muted", anchor="end"),
        text(f"{_RIGHT_END + 3}%", 12, heads[1], "t-muted"),
    ]
    for name, before, after in names:
        left, right = (_SLOPE * place + 10 for place in (before, after))
        css = "slope" if before == after else "slope up" if after < before else "slope down"
        parts.append(line(f"{_LEFT_END}%", left, f"{_RIGHT_END}%", right, css))
        parts += [
            circle(f"{_LEFT_END}%", left, 3, "dot hollow"),
            circle(f"{_RIGHT_END}%", right, 3, "dot", title=f"{name}: {before} → {after}"),
        ]
        parts.append(text(f"{_LEFT_END - 3}%", left + 4, f"{before}  {name}", "t-name", anchor="end"))
        parts.append(text(f"{_RIGHT_END + 3}%", right + 4, f"{after}  {name}", "t-name"))
    words = "; ".join(f"{name}: {before} → {after}" for name, before, after in names)
    return chart("100%", height, title, parts, desc=words)
