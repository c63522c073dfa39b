"""A comparison as one HTML file that opens offline (`adjudge compare --html`): no links and no replies."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from ..analysis.compare.comparison import Comparison
from .parts.comparison import comparison_parts


def write_comparison(comparison: Comparison, path: Path) -> int:
    """Write a comparison as one HTML file that opens offline; returns its size in bytes."""
    from .html_file import policy, style, write_page
    from .templating import render_page

    css = style()
    text = render_page(
        "report/comparison.html",
        comparison=comparison,
        parts=comparison_parts(comparison),
        css=Markup(css),  # a file of the package: nothing in it needs escaping
        policy=policy(css),
    )
    return write_page(path, text)
