"""Text can be read in both themes: every pair of colours that meet on a page keeps WCAG's contrast for text,
4.5 to 1.

The colours are read from the style sheet itself. The ratio is WCAG 2.2's ("relative luminance"); colours of
the win matrix are mixed in Oklab as the style sheet asks for it (Ottosson 2020, "A perceptual color space").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest

from adjudge.web.templating import static_text

ENOUGH = 4.5
Rgb = tuple[float, float, float]

GROUNDS = ("bg", "surface", "sunk", "accent-soft")
"""What text, links and small print stand on; a row that the keyboard is at has the last one."""

PAIRS = [
    *product(("text", "muted", "accent"), GROUNDS),
    *((name, f"{name}-soft") for name in ("good", "amber", "bad")),
    *(("text", f"{name}-soft") for name in ("good", "amber", "bad")),
    ("muted", "sunk"),  # a control character that is written out in a quotation
    *product(("judge", "people", "corrected", "amber"), ("bg", "surface")),  # verdicts and names in charts
    ("on-accent", "accent"),
    ("mark-text", "mark"),
]


def themes() -> dict[str, dict[str, str]]:
    """Each theme's colours: the dark ones are defined twice, for the system's choice and for the reader's."""
    values = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", block))
        for block in re.findall(r":root[^{]*\{([^}]*--text:[^}]*)\}", static_text("adjudge.css"))
    ]
    assert len(values) == 3
    assert values[1] == values[2], "the dark theme is not the same in both places"
    return {"light": values[0], "dark": values[1]}


def linear(colour: str) -> Rgb:
    digits = colour.lstrip("#")
    whole = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    shares = [int(whole[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return red, green, blue


def contrast(colour: Rgb, other: Rgb) -> float:
    low, high = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in (colour, other))
    return (high + 0.05) / (low + 0.05)


def _weighed(rows: tuple[Rgb, Rgb, Rgb], values: Rgb) -> Rgb:
    first, second, third = (
        sum(weight * value for weight, value in zip(row, values, strict=True)) for row in rows
    )
    return first, second, third


def oklab(colour: Rgb) -> Rgb:
    cones = _weighed(
        (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        ),
        colour,
    )
    long, middle, short = (value ** (1 / 3) for value in cones)
    return _weighed(
        (
            (0.2104542553, 0.7936177850, -0.0040720468),
            (1.9779984951, -2.4285922050, 0.4505937099),
            (0.0259040371, 0.7827717662, -0.8086757660),
        ),
        (long, middle, short),
    )


def from_oklab(colour: Rgb) -> Rgb:
    roots = _weighed(
        (
            (1.0, 0.3963377774, 0.2158037573),
            (1.0, -0.1055613458, -0.0638541728),
            (1.0, -0.0894841775, -1.2914855480),
        ),
        colour,
    )
    long, middle, short = (value**3 for value in roots)
    return _weighed(
        (
            (4.0767416621, -3.3077115913, 0.2309699292),
            (-1.2684380046, 2.6097574011, -0.3413193965),
            (-0.0041960863, -0.7034186147, 1.7076147010),
        ),
        (long, middle, short),
    )


def mixed(colour: Rgb, share: float, other: Rgb) -> Rgb:
    first, second, third = (
        share * x + (1 - share) * y for x, y in zip(oklab(colour), oklab(other), strict=True)
    )
    return from_oklab((first, second, third))


def matrix_cells(colours: dict[str, str]) -> Iterator[tuple[str, Rgb]]:
    """The grounds of the win matrix that are mixed."""
    rule = r"\.heat \.(h\d) \{ background: color-mix\(in oklab, var\(--([\w-]+)\) (\d+)%, var\(--surface\)\)"
    for name, tint, percent in re.findall(rule, static_text("adjudge.css")):
        yield name, mixed(linear(colours[tint]), int(percent) / 100, linear(colours["surface"]))


def test_the_ratio_is_that_of_wcag() -> None:
    assert contrast(linear("#000"), linear("#fff")) == pytest.approx(21.0)
    # The example of WCAG's understanding document 1.4.3: #777 on white just fails.
    assert contrast(linear("#777777"), linear("#ffffff")) == pytest.approx(4.48, abs=0.005)
    assert mixed(linear("#1d5fa8"), 1.0, linear("#fff")) == pytest.approx(linear("#1d5fa8"), abs=1e-5)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_whatever_it_stands_on(theme: str) -> None:
    colours = themes()[theme]
    faint = {
        f"{text} on {ground}": round(ratio, 2)
        for text, ground in PAIRS
        if (ratio := contrast(linear(colours[text]), linear(colours[ground]))) < ENOUGH
    }
    assert faint == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_numbers_of_the_win_matrix_stand_out(theme: str) -> None:
    colours = themes()[theme]
    cells = dict(matrix_cells(colours))
    assert len(cells) == 8
    css = static_text("adjudge.css")
    faint = {}
    for name, ground in cells.items():
        # Small print of strong cells takes the colour of the text.
        small = "text" if f".heat .{name} .ci" in css else "muted"
        for text in ("text", small):
            ratio = contrast(linear(colours[text]), ground)
            if ratio < ENOUGH:
                faint[f"{text} on {name}"] = round(ratio, 2)
    assert faint == {}


def test_no_text_is_set_in_the_colour_of_lines() -> None:
    """`--faint` is too pale for text; disabled controls, which WCAG leaves out, and dashed lines may have
    it."""
    uses = re.findall(r"([^{}]+)\{[^}]*(?:color|fill): var\(--faint\)", static_text("adjudge.css"))
    assert [use.strip() for use in uses] == ['.btn:disabled, .btn[aria-disabled="true"]']
