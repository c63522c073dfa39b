"""Charts: values stand where they belong, nothing undefined
is drawn, and no text of anybody's becomes markup.
"""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from adjudge.records import Scale
from adjudge.sections import Mark
from adjudge.web.parts.charts.axis import Domain, axis, axis_of_bins, axis_of_levels, domain_of, ticks
from adjudge.web.parts.charts.bars import BarPart, bars, stacked
from adjudge.web.parts.charts.dot_plot import strip
from adjudge.web.parts.charts.histogram import histogram
from adjudge.web.parts.charts.scatter_plot import MOST_POINTS, Axes, Bin, Point, curve_with_intervals, scatter
from adjudge.web.parts.charts.svg import swatch
from adjudge.web.parts.table import shade

FIVE = Domain(1.0, 5.0)
HOSTILE = '"><script>alert(1)</script>\u202e&'
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30)
NUMBERS = st.floats(-1e6, 1e6)


def parsed(chart: Markup) -> ElementTree.Element:
    return ElementTree.fromstring(str(chart))


def having(chart: Markup, css: str) -> list[ElementTree.Element]:
    return [element for element in parsed(chart).iter() if css in element.get("class", "").split()]


def percent(text: str | None) -> float:
    assert text is not None
    assert text.endswith("%")
    return float(text[:-1])


def charts_of(name: str, values: list[float]) -> list[Markup]:
    """One of each kind, from any name and any numbers."""
    domain = domain_of(None, values)
    axes = Axes(domain, domain, name, name)
    bins = [Bin(value, value, value - 1, None, 1) for value in values]
    return [
        strip([Mark(value, value - 1, value + 1, (value - 2, value + 2)) for value in values], domain, name),
        axis(domain),
        axis_of_levels(values),
        axis_of_bins(domain.low, domain.high),
        bars([(name, abs(int(value))) for value in values], name),
        stacked([BarPart(name, abs(value), "s-ok") for value in values], name),
        histogram(values, name, " s"),
        scatter([Point(name, value, value) for value in values], axes, name, bins=bins),
        curve_with_intervals(bins, axes, name),
    ]


# -- every chart


@given(TEXTS, st.lists(NUMBERS, max_size=6))
def test_any_name_and_any_numbers_give_well_formed_charts_without_nan(name: str, values: list[float]) -> None:
    for chart in charts_of(name, values):
        parsed(chart)
        assert "nan" not in re.sub(r"<(title|desc|text)\b.*?</\1>", "", str(chart), flags=re.DOTALL)


def test_every_chart_is_named_for_those_who_cannot_see_it() -> None:
    for chart in charts_of("scores of M1", [1.0, 2.0]):
        picture = parsed(chart)
        assert picture.get("role") == "img"
        assert picture.findtext("title")


def test_a_hostile_name_stays_text_and_its_override_of_direction_is_written_out() -> None:
    for chart in charts_of(HOSTILE, [1.0, 2.0, 3.0]):
        assert "<script" not in chart
        assert "\u202e" not in chart


def test_no_chart_has_a_style_of_its_own_since_the_pages_forbid_that() -> None:
    for chart in [*charts_of("x", [1.0, 2.5]), swatch("s-ok")]:
        assert "style=" not in chart


# -- axes


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([-3.2, -0.4], -4.0, 0.0),
        ([0.12, 0.31], 0.1, 0.35),
        ([7.0], 6.0, 8.0),
        ([], 0.0, 1.0),
        ([math.nan], 0.0, 1.0),
    ],
)
def test_a_scale_without_ends_gets_round_ends_around_its_values(
    values: list[float], low: float, high: float
) -> None:
    domain = domain_of(Scale(None, None, "high"), values)
    assert domain.low == pytest.approx(low)
    assert domain.high == pytest.approx(high)


def test_a_scale_with_ends_keeps_them_whatever_the_values() -> None:
    assert domain_of(Scale(0, 10, 10), [3.0, 4.0]) == Domain(0.0, 10.0)


@given(NUMBERS, st.floats(1e-3, 1e6))
def test_marks_of_an_axis_lie_on_it_and_are_few(low: float, width: float) -> None:
    domain = Domain(low, low + width)
    tick_values = ticks(domain)
    assert 1 <= len(tick_values) <= 7
    assert all(domain.low - 1e-6 * width <= tick <= domain.high + 1e-6 * width for tick in tick_values)


def test_the_ends_of_an_axis_leave_room_for_a_whole_dot() -> None:
    assert 0 < FIVE.share(1.0) < FIVE.share(5.0) < 1
    assert FIVE.share(3.0) == pytest.approx(0.5)
    assert FIVE.share(99.0) == 1.0


# -- dots and intervals


def test_a_dot_stands_on_its_interval_at_its_value() -> None:
    chart = strip([Mark(3.0, 2.0, 4.5)], FIVE, "M1")
    (dot,), (whisker,) = having(chart, "dot"), having(chart, "whisker")
    assert percent(dot.get("cx")) == pytest.approx(50)
    assert percent(whisker.get("x1")) == pytest.approx(FIVE.share(2.0) * 100, abs=0.01)
    assert percent(whisker.get("x2")) == pytest.approx(FIVE.share(4.5) * 100, abs=0.01)


def test_an_undefined_value_draws_nothing_but_the_axis() -> None:
    chart = strip([Mark(None, 1.0, 5.0)], FIVE, "M1")
    assert not having(chart, "dot")
    assert not having(chart, "whisker")


def test_a_value_without_an_interval_is_a_dot_alone() -> None:
    chart = strip([Mark(3.0)], FIVE, "M1")
    assert having(chart, "dot")
    assert not having(chart, "whisker")


def test_what_failures_leave_possible_is_drawn_as_a_band() -> None:
    (band,) = having(strip([Mark(3.0, 2.5, 3.5, (2.0, 4.0))], FIVE, "M1"), "possible")
    assert percent(band.get("x1")) < percent(band.get("x2"))
    assert not having(strip([Mark(3.0, 2.5, 3.5, (3.0, 3.0))], FIVE, "M1"), "possible")
    nothing_read = strip([Mark(None, possible=(1.0, 5.0))], FIVE, "M1")
    assert having(nothing_read, "possible"), "where all failed, everything is possible, and that is drawn"
    assert not having(nothing_read, "dot")


def test_two_marks_of_a_row_do_not_hide_each_other() -> None:
    first, second = having(strip([Mark(3.0), Mark(3.0)], FIVE, "M1"), "dot")
    assert first.get("cy") != second.get("cy")


# -- counts


def test_bars_are_as_high_as_their_counts() -> None:
    drawn_bars = having(bars([("1", 10), ("2", 5), ("3", 0)], "scores", height=42), "bar")
    assert [float(bar.get("height", "")) for bar in drawn_bars] == [40, 20]


def test_bars_of_systems_that_are_compared_share_one_height() -> None:
    (bar,) = having(bars([("1", 5)], "scores", height=42, tallest=10), "bar")
    assert float(bar.get("height", "")) == 20


def test_the_parts_of_a_whole_fill_it_one_after_the_other() -> None:
    parts = [
        BarPart("ok", 6, "s-ok"),
        BarPart("refused", 0, "s-refused"),
        BarPart("unparsed", 2, "s-unparsed"),
    ]
    chart = stacked(parts, "M1")
    (ok,), (unparsed,) = having(chart, "s-ok"), having(chart, "s-unparsed")
    assert percent(ok.get("width")) == 75
    assert percent(unparsed.get("x")) == 75
    assert percent(unparsed.get("width")) == 25
    assert not having(chart, "s-refused")
    assert "unparsed 2" in (parsed(chart).findtext("desc") or "")


def test_a_histogram_counts_every_value_once() -> None:
    values = [float(value) for value in range(100)]
    titles = [bar.findtext("title") or "" for bar in having(histogram(values, "seconds"), "bar")]
    assert sum(int(title.rpartition(": ")[2]) for title in titles) == 100


# -- two axes


def test_a_scatter_is_the_same_every_time_and_moves_dots_only_a_little() -> None:
    axes = Axes(FIVE, FIVE, "judge", "people")
    points = [Point(f"i{k}", 3.0, 4.0) for k in range(50)]
    first = scatter(points, axes, "M1")
    assert first == scatter(list(reversed(points)), axes, "M1")
    places = {(dot.get("cx"), dot.get("cy")) for dot in having(first, "point")}
    assert len(places) > 40, "equal scores do not hide each other"
    x, y = axes.at(3.0, 4.0)
    assert all(abs(float(cx or 0) - x) < 16 and abs(float(cy or 0) - y) < 8 for cx, cy in places)


def test_a_scatter_of_many_items_draws_a_part_and_says_so() -> None:
    axes = Axes(FIVE, FIVE, "judge", "people")
    chart = scatter([Point(f"i{k}", 3.0, 4.0) for k in range(1200)], axes, "M1")
    assert len(having(chart, "point")) == MOST_POINTS
    assert f"{MOST_POINTS} of 1,200" in (parsed(chart).findtext("desc") or "")


def test_a_curve_has_a_dot_and_an_interval_for_each_bin() -> None:
    axes = Axes(Domain(0, 1), Domain(0, 1), "confidence", "right")
    chart = curve_with_intervals([Bin(0.5, 0.4, 0.2, 0.6, 9), Bin(0.9, 0.8, None, None, 1)], axes, "M1")
    assert len(having(chart, "dot")) == 2
    assert len(having(chart, "whisker")) == 1
    assert having(chart, "curve")


@pytest.mark.parametrize(("share", "css"), [(0.0, "h0"), (0.5, "h4"), (1.0, "h8"), (0.44, "h4"), (0.2, "h2")])
def test_a_cell_of_the_win_matrix_is_shaded_by_its_share(share: float, css: str) -> None:
    assert shade(share) == css
