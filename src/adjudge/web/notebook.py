"""A result in a notebook, which is another person's page: the style applies to the result alone.

The first screen is shown, where the result has one; its tables are in one drawer below.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import count

from markupsafe import Markup

from ..analysis.labels.labelled import LabelledTable
from ..analysis.report.first_screen import FirstScreen
from ..analysis.trust.card import Card
from ..sections import Section
from .html_file import style
from .parts.first_screen import screen_view
from .parts.section import views_of
from .templating import render_page

_OF_PAGE = re.compile(r"(^|[{},])\s*(?::root|html|body)(?=[\s{,.:\[])")
"""Selectors of the whole page, which a part of a page must not style."""


_NUMBERS = count(1)
"""Several outputs of one notebook are one page, and each needs its own ids."""


def fragment(
    sections: Iterable[Section],
    title: str = "",
    screen: FirstScreen | None = None,
    card: Card | None = None,
    points: Mapping[str, LabelledTable] | None = None,
) -> str:
    """A result as a part of another person's page; its style is nested below one class."""
    return render_page(
        "parts/fragment.html",
        views=views_of(sections),
        title=title,
        css=Markup(_OF_PAGE.sub(r"\1 &", style())),
        screen=screen_view(screen, card, points) if screen is not None else None,
        of=f"out-{next(_NUMBERS)}-",
    )
