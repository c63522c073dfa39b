"""The picture of docs/trust.md shows the numbers of that page, which are run by tests/test_docs.py."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from adjudge.records import Label, Result, Scale
from views import judge_card

DOCS = Path(__file__).parents[3] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
ROW = re.compile(r"^ (\S+) +(\S+ \[\S+ \S+\]) +(\S+ \[\S+ \S+\]) +(\S+ \[\S+ \S+\]) .* labels +group", re.M)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("trust_picture", DOCS / "images" / "trust.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def titles(picture: str) -> list[str]:
    """What each mark says; the first title is that of the picture."""
    nodes = ElementTree.fromstring(picture).iter(f"{SVG}title")
    return [title.text or "" for title in nodes][1:]


def test_the_picture_shows_the_numbers_of_the_page() -> None:
    rows = ROW.findall((DOCS / "trust.md").read_text(encoding="utf-8"))
    assert len(rows) == 6
    wanted = [
        (system, number) for system, corrected, judge, labels in rows for number in (judge, labels, corrected)
    ]
    shown = titles((DOCS / "images" / "trust.svg").read_text(encoding="utf-8"))
    assert [(title.partition(", ")[0], title.rpartition(": ")[2]) for title in shown] == wanted


def test_the_picture_loads_nothing() -> None:
    picture = (DOCS / "images" / "trust.svg").read_text(encoding="utf-8")
    assert not re.search(r"href|url\(|<script|<style|<image", picture)


@pytest.mark.parametrize("scale", [Scale(low=1, high=5, best=5, step=1), None])
def test_a_card_of_any_scale_is_drawn_and_a_name_cannot_break_the_picture(
    script: ModuleType, scale: Scale | None
) -> None:
    results = [
        Result(
            f"i{k}", "p@1", "tact", "judge", "ok", system="<A&B>" if k % 2 else "C", value=float(1 + k % 5)
        )
        for k in range(20)
    ]
    labels = [Label(f"i{k}", "tact", "ann", float(1 + (k * 3) % 5)) for k in range(12)]
    card: Any = msgspec.to_builtins(judge_card(results, labels, scales={"tact": scale}))
    shown_titles = titles(script.drawn(card, "tact"))
    assert len(shown_titles) == 6
    assert sum(title.startswith("<A&B>, ") for title in shown_titles) == 3
