"""A comparison as one HTML file that opens offline (`adjudge compare --html`): no links and no replies."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from ..analysis.compare.comparison import Comparison
from .parts.comparison import parts_of


def write_comparison(comparison: Comparison, path: Path) -> int:
    """Write a comparison as one HTML file that opens offline; returns its size in bytes."""
    from .html_file import policy, style, write_page
    from .templating import render

    css = style()
    text = render(
        "report/comparison.html",
        comparison=comparison,
        sections=parts_of(comparison),
        css=Markup(css),  # a file of the package: nothing in it needs escaping
        policy=policy(css),
    )
    return write_page(path, text)
