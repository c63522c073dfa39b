"""Turns templates and text into HTML: the one place that knows jinja2.

Every value is escaped, and characters that hide or reverse text are written out, wherever a template shows
them. An undefined name in a template is an error. Templates and static files are part of the package and are
found by name in one flat list: no name from outside ever becomes a path.
"""

from __future__ import annotations

import math
import re
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..version import __version__
from ..words import NO_VALUE, count, duration, number, price, score_text, share, signed, status_text
from .parts.marks import hits, marked
from .parts.names import judge_name, middle, name_ends
from .parts.rich_text import rendered
from .parts.safe_text import shown, visible_text, with_bdi


def render_page(name: str, **context: Any) -> str:
    """The page of a template. `name` comes from our code, never from a request."""
    return environment().get_template(name).render(**context)


@cache
def environment() -> Environment:
    """The templates, with the filters that write numbers as the rest of the project does."""
    templates = Environment(
        loader=PackageLoader("adjudge.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "shown": shown,
        "with_bdi": with_bdi,
        "judge_name": judge_name,
        "marked": marked,
        "number": _number,
        "share": _share,
        "signed": signed,
        "score": score_text,
        "price": price,
        "duration": duration,
        "counted": count,
        "thousands": lambda value: f"{value:,}",
        "status_text": status_text,
        "words": lambda name: str(name).replace("_", " "),
        "moment": _moment,
        "short": _short,
        "slug": _slug,
        "turn_kind": _turn_kind,
        "middle": middle,
        "name_ends": name_ends,
        "hits": hits,
        "rendered": rendered,
    }
    templates.globals |= {"version": __version__, "no_value": NO_VALUE}
    return templates


@cache
def static_text(name: str) -> str:
    """A static file of the package, for the single-file report."""
    return files("adjudge.web").joinpath("static", name).read_text(encoding="utf-8")


def _finalize(value: Any) -> Any:
    """How a value is shown: never as `None` or `nan`, and without characters that act on their
    surroundings."""
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return NO_VALUE
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible_text(value)
    return value


def _number(value: float | None, digits: int = 2) -> str:
    return NO_VALUE if value is None or not math.isfinite(value) else number(value, digits)


def _share(value: float | None) -> str:
    return NO_VALUE if value is None or not math.isfinite(value) else share(value)


def _short(text: str, most: int = 120) -> str:
    """A name that fits a table."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _slug(name: str) -> str:
    """A name as part of an id of a page, the same for the same name."""
    return re.sub(r"[^A-Za-z0-9]", lambda match: f"_{ord(match[0]):x}", name)


_TURN_KINDS = ("system", "user", "assistant", "tool")


def _turn_kind(role: str) -> str:
    """Who speaks in a turn, as a class: `turn 3: tool (search)` is a tool; `other` if not known."""
    words = role.rpartition(": ")[2].lower().split()
    return next((kind for kind in _TURN_KINDS if words[:1] == [kind]), "other")


def _moment(stamp: str | None) -> str:
    """2026-11-16 05:45 of an ISO timestamp; the zone is UTC."""
    return f"{stamp[:10]} {stamp[11:16]} UTC" if stamp and len(stamp) >= 16 else NO_VALUE
