"""A cascade as a flow: what each judge decides and costs, and what is left for people. Each part opens its
items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup
from msgspec import Struct

from ...words import count, price, score_text, share
from .charts.bars import BarPart
from .charts.flow import flow_step
from .doors import Door, Doors


class FlowPart(Struct, frozen=True):
    """A part of a step in words, with the address of its items."""

    words: str
    url: str
    css: str
    """the colour of its sign"""


class FlowStep(Struct, frozen=True):
    """A judge, or people."""

    name: str
    about: str
    picture: Markup
    parts: tuple[FlowPart, ...]


class CascadeFlow(Struct, frozen=True):
    """All steps of a cascade, with its answer."""

    answer: str
    notes: tuple[str, ...]
    steps: tuple[FlowStep, ...]


def cascade_flow(cascade: Mapping[str, Any], doors: Doors | None = None) -> CascadeFlow | None:
    """The flow of a run's cascade, from the manifest; none for a run of one judge."""
    if not cascade or not cascade["stages"]:
        return None
    n_items, n_people = cascade["stages"][0]["reached"], cascade["to_people"]
    decided = n_items - n_people
    cost = sum(stage["cost_usd"] for stage in cascade["stages"])
    answer = (
        f"Judges decided {share(decided / n_items if n_items else 0.0)} of {count(n_items, 'item')} "
        f"for {price(cost)}; {count(n_people, 'item')} for people."
    )
    promise = (
        f"Promise: at least {100 * cascade['agree']:.6g} % agreement with people among the items that "
        f"judges decided, in all but {100 * cascade['risk']:.6g} % of calibrations."
    )
    door = None if doors is None else Door(doors.run)
    return CascadeFlow(answer, (promise, *_checked(cascade)), tuple(_steps(cascade, n_items, door)))


def _steps(cascade: Mapping[str, Any], n_items: int, door: Door | None) -> Iterator[FlowStep]:
    begin = 0
    for number, stage in enumerate(cascade["stages"], 1):
        n_left = stage["reached"] - stage["decided"]
        name = f"decided by {stage['judge']}"
        url = "" if door is None else door.url(flag=f"decided_by_{number}")
        url_left = "" if door is None or not n_left else _left_url(cascade, number, door)
        parts = [
            BarPart(name, stage["decided"], "bar strong", url),
            BarPart("passed on", n_left, "bar", url_left),
        ]
        threshold = stage.get("threshold")
        about = [f"{count(stage['reached'], 'item')} asked", price(stage["cost_usd"])]
        if threshold is not None:
            about.append(f"decides at confidence ≥ {score_text(threshold)}")
        shares = (share(n / n_items if n_items else 0.0) for n in (stage["decided"], n_left))
        words = (
            FlowPart(f"{stage['decided']:,} decided ({next(shares)})", url, "bar strong"),
            FlowPart(f"{n_left:,} passed on ({next(shares)})", url_left, "bar"),
        )
        picture = flow_step(parts, begin, n_items, f"{stage['judge']}: {words[0].words}, {words[1].words}")
        yield FlowStep(stage["judge"], " · ".join(about), picture, words)
        begin += stage["decided"]
    n_people = cascade["to_people"]
    url = "" if door is None or not n_people else door.url(flag="to_people")
    text = f"{count(n_people, 'item')} ({share(n_people / n_items if n_items else 0.0)})"
    bar = flow_step([BarPart("for people", n_people, "people", url)], begin, n_items, text, is_last=True)
    yield FlowStep("people", "what no judge is sure of", bar, (FlowPart(text, url, "people"),))


def _left_url(cascade: Mapping[str, Any], number: int, door: Door) -> str:
    """The items that a stage passes on: those of the next stage's run, or those for people."""
    if number < len(cascade["stages"]):
        return Door(cascade["stages"][number]["run"]).url()
    return door.url(flag="to_people")


def _checked(cascade: Mapping[str, Any]) -> Iterator[str]:
    """What people say of the items that are drawn to be checked."""
    if not cascade.get("to_check"):
        return
    checked = cascade.get("checked")
    drawn = count(cascade["to_check"], "decided item")
    if checked is None:
        yield f"{drawn} drawn at random for people to check; none is labelled."
        return
    verdict = (
        "the promise still holds" if checked["holds"] else "the promise no longer holds: calibrate again"
    )
    yield (
        f"{checked['n']:,} of {drawn} labelled to check: agreement {checked['value']:.2f} "
        f"[{checked['low']:.2f}, {checked['high']:.2f}] at any time; {verdict}."
    )
