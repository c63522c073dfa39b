"""The agreement of a judge with people in miniature: a dot between 0 and 1, and a tick where people are."""

from __future__ import annotations

from markupsafe import Markup

from ....words import number
from .svg import chart, circle, line

_HEIGHT = 12.0


def agreement_strip(judge: float, people: float | None) -> Markup:
    """The judge's agreement with people, and that of people with each other; below 0 is at the left end."""
    words = f"agreement {number(judge)}" + ("" if people is None else f", people {number(people)}")
    parts = [line("0%", _HEIGHT / 2, "100%", _HEIGHT / 2, "axis")]
    if people is not None:
        parts.append(line(_along(people), 0, _along(people), _HEIGHT, "people-tick"))
    parts.append(circle(_along(judge), _HEIGHT / 2, 4, "dot"))
    return chart("64", _HEIGHT, words, parts)


def _along(value: float) -> str:
    return f"{min(1.0, max(0.0, value)) * 100:.1f}%"
