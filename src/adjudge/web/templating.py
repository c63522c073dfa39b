"""Turns templates into pages: the one place that knows jinja2.

Every value is escaped, and characters that hide or reverse text are written out, in whatever way a template shows it.
A name that a template uses and nobody gave is an error, not an empty place. Templates and static files are
part of the package and are found by name in one flat list: no name from outside ever becomes a path.
"""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..version import __version__
from ..words import NO_VALUE, count, duration, failures_text, interval, number, percent, share
from .html_text import judge_name, marked, plain, shown, told


def render(name: str, **context: Any) -> str:
    """The page of a template. `name` is given by our own code, never by a request."""
    return environment().get_template(name).render(**context)


@cache
def environment() -> Environment:
    """The templates, with the filters that write numbers as the rest of the project does."""
    made = Environment(
        loader=PackageLoader("adjudge.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "shown": shown,
        "told": told,
        "judge_name": judge_name,
        "marked": marked,
        "number": _number,
        "share": _share,
        "interval": interval,
        "percent": percent,
        "duration": duration,
        "failures": failures_text,
        "counted": count,
        "thousands": lambda value: f"{value:,}",
        "words": lambda name: str(name).replace("_", " "),
        "moment": _moment,
        "short": _short,
    }
    made.globals |= {"version": __version__, "no_value": NO_VALUE}
    return made


@cache
def static_text(name: str) -> str:
    """A static file of ours, for the report that holds everything in itself."""
    return files("adjudge.web").joinpath("static", name).read_text(encoding="utf-8")


def _finalize(value: Any) -> Any:
    """What is shown of a value: nobody ever sees `None` or `nan`, and no text acts on its surroundings."""
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return NO_VALUE
    if isinstance(value, str) and not isinstance(value, Markup):
        return plain(value)
    return value


def _number(value: float | None, digits: int = 2) -> str:
    return NO_VALUE if value is None or not math.isfinite(value) else number(value, digits)


def _share(value: float | None) -> str:
    return NO_VALUE if value is None or not math.isfinite(value) else share(value)


def _short(text: str, most: int = 120) -> str:
    """A name that a table can hold."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _moment(stamp: str | None) -> str:
    """2026-11-16 05:45 of an ISO timestamp; the zone is UTC."""
    return f"{stamp[:10]} {stamp[11:16]} UTC" if stamp and len(stamp) >= 16 else NO_VALUE
