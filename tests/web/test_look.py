"""The look of the pages: sizes of type, weights, distances and what a colour says, read from the sheets."""

from __future__ import annotations

import re

import pytest

from adjudge.web.templating import static_text
from adjudge.words import number, price, score_text, signed

SHEETS = ("adjudge.css", "view.css", "annotate.css")
SIZES = {"small": "12px", "body": "14px", "title": "16px", "head": "22px", "verdict": "32px"}
STEPS = {0, 1, 2, 4, 8, 16, 24, 32, 40, 48, 56}
"""A grid of 8 px; 4 within a line, 1 and 2 beside a border."""

SAYS_NOT_YET = {
    ".notice.warn",
    ".pill.fake",
    ".verdict",
    ".use-no",
    ".screen-warnings",
    ":root",
}
"""What may be amber: each says that something is not to be used yet."""


def rules(sheet: str) -> list[tuple[str, str]]:
    """The selectors and declarations of a sheet, without comments; a media query counts as no rule."""
    text = re.sub(r"/\*.*?\*/", "", static_text(sheet), flags=re.DOTALL)
    return [(selector.strip(), body) for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text)]


@pytest.mark.parametrize("sheet", SHEETS)
def test_there_are_five_sizes_of_type_and_two_weights(sheet: str) -> None:
    sizes = re.findall(r"--(\w+): (\d+px)", static_text("adjudge.css"))
    assert {name: size for name, size in sizes if name in SIZES} == SIZES
    for selector, body in rules(sheet):
        for size in re.findall(r"font-size: ([^;]+)", body) + re.findall(r"font: ([^;/ ]+)", body):
            on_phone = sheet == "adjudge.css" and "input" in selector and size == "16px"  # iOS zooms below it
            assert size.strip() in {*(f"var(--{name})" for name in SIZES), "inherit"} or on_phone, selector
        for weight in re.findall(r"font-weight: ([^;]+)", body):
            assert weight.strip() in {"var(--regular)", "var(--bold)", "inherit"}, selector


@pytest.mark.parametrize("sheet", SHEETS)
def test_distances_are_on_the_grid(sheet: str) -> None:
    for selector, body in rules(sheet):
        for name, value in re.findall(r"\b((?:padding|margin|gap)[\w-]*): ([^;]+)", body):
            for length in re.findall(r"(?<![\w.-])(\d+(?:\.\d+)?)px", value):
                assert float(length) in STEPS, f"{sheet}: {selector} {{ {name}: {value} }}"


@pytest.mark.parametrize("sheet", SHEETS)
def test_amber_says_do_not_use_this_yet_and_nothing_else(sheet: str) -> None:
    for selector, body in rules(sheet):
        if "--amber" in body:
            assert any(part in selector for part in SAYS_NOT_YET), selector


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (number(-0.314), "−0.31"),
        (number(-0.0), "0.00"),
        (signed(-0.5), "−0.50"),
        (signed(0.5), "+0.50"),
        (score_text(4.0), "4"),
        (score_text(4.5), "4.5"),
        (score_text(-11 / 3), "−3.67"),
        (score_text(7 / 12), "0.583"),
        (score_text(0.00012), "0.00012"),
        (score_text(-0.0), "0"),
        (price(None), "unknown"),
        (price(0.0), "free"),
        (price(1234.5), "$1,234.50"),
        (price(0.0341), "$0.0341"),
        (price(0.00012), "$0.000120"),
    ],
)
def test_a_number_has_one_format(written: str, expected: str) -> None:
    assert written == expected
