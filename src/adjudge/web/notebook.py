"""Sections as HTML in a notebook, which is somebody else's page: the style applies to them alone."""

from __future__ import annotations

import re
from collections.abc import Iterable

from markupsafe import Markup

from ..sections import Section
from .html_file import style
from .parts.section import views_of
from .templating import render

_OF_PAGE = re.compile(r"(^|[{},])\s*(?::root|html|body)(?=[\s{,.:\[])")
"""Selectors of the whole page, which a part of a page must not style."""


def fragment(sections: Iterable[Section], title: str = "") -> str:
    """Sections as a part of somebody else's page, such as a notebook; its style is nested below one class."""
    css = _OF_PAGE.sub(r"\1 &", style())
    return render("parts/fragment.html", views=views_of(sections), title=title, css=Markup(css))
