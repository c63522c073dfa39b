"""Charts as SVG: intervals on one axis, bars, histograms, scatter plots and calibration curves.

Every text and attribute is escaped. Nothing here knows what is drawn. Coordinates along x may be shares of the width
(`"43.2%"`), so that a chart fits its cell without stretching its text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from markupsafe import Markup, escape
from msgspec import Struct

from ..records import Scale
from ..sections import Mark
from .rich_text import plain

# Elements of SVG


Along = float | str
"""A coordinate: in pixels, or as a share of the width."""


def chart(
    width: str | float,
    height: float,
    title: str,
    children: Iterable[Markup],
    *,
    desc: str = "",
    css: str = "",
    view_box: bool = False,
    has_links: bool = False,
) -> Markup:
    """An SVG picture. Its title is read by screen readers and shown as a tooltip. Links inside make it a group of them."""
    box = Markup(' viewBox="0 0 {} {}"').format(_text(width), _text(height)) if view_box else Markup("")
    css_class = Markup(' class="{}"').format(css) if css else Markup("")
    description = Markup("<title>{}</title>").format(plain(title))
    if desc:
        description += Markup("<desc>{}</desc>").format(plain(desc))
    role = Markup('role="group" aria-label="{}"').format(plain(title)) if has_links else Markup('role="img"')
    return Markup('<svg {} width="{}" height="{}"{}{}>{}{}</svg>').format(
        role, _text(width), _text(height), box, css_class, description, Markup("").join(children)
    )


def linked(child: Markup, url: str, title: str) -> Markup:
    """A mark that opens what it stands for. Keys skip it: a page has hundreds, and its filters lead to the same items."""
    return Markup('<a href="{}" tabindex="-1" aria-label="{}">{}</a>').format(url, plain(title), child)


def group(children: Iterable[Markup], css: str = "", title: str = "") -> Markup:
    title_element = Markup("<title>{}</title>").format(plain(title)) if title else Markup("")
    return Markup('<g class="{}">{}{}</g>').format(css, title_element, Markup("").join(children))


def line(x1: Along, y1: float, x2: Along, y2: float, css: str) -> Markup:
    return _element("line", css, x1=x1, y1=y1, x2=x2, y2=y2)


def uprights(places: Iterable[Along], height: float, css: str) -> Markup:
    """Vertical lines through a row, written as short as possible because pages have many of them."""
    lines = (
        Markup('<line x1="{}" x2="{}" y2="{}"/>').format(_text(x), _text(x), _text(height)) for x in places
    )
    return Markup('<g class="{}">{}</g>').format(css, Markup("").join(lines))


def rect(
    x: Along, y: float, width: Along, height: float, css: str, *, rx: float = 0, title: str = ""
) -> Markup:
    round_ = {"rx": rx} if rx else {}
    return _element("rect", css, title, x=x, y=y, width=width, height=height, **round_)


def circle(x: Along, y: float, r: float, css: str, title: str = "") -> Markup:
    return _element("circle", css, title, cx=x, cy=y, r=r)


def text(x: Along, y: float, words: str, css: str = "", *, anchor: str = "start", dx: float = 0) -> Markup:
    shift = Markup(' dx="{}"').format(_text(dx)) if dx else Markup("")
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}"{}>{}</text>').format(
        css, _text(x), _text(y), anchor, shift, plain(words)
    )


def turned_text(x: float, y: float, words: str, css: str = "") -> Markup:
    """A text that reads upwards, for the name of a vertical axis."""
    return Markup(
        '<text class="{}" transform="translate({} {}) rotate(-90)" text-anchor="middle">{}</text>'
    ).format(css, _text(x), _text(y), plain(words))


def polyline(points: Iterable[tuple[float, float]], css: str) -> Markup:
    path = " ".join(f"{_text(x)},{_text(y)}" for x, y in points)
    return Markup('<polyline class="{}" points="{}"/>').format(css, path)


def swatch(css: str) -> Markup:
    """A small square in a chart's colour, for a legend."""
    return Markup('<svg width="10" height="10" aria-hidden="true">{}</svg>').format(
        rect(0, 0, 10, 10, css, rx=2)
    )


def _element(name: str, css: str, title: str = "", **attributes: Along) -> Markup:
    attribute_text = Markup("").join(
        Markup(' {}="{}"').format(key, _text(value)) for key, value in attributes.items()
    )
    if title:
        return Markup('<{} class="{}"{}><title>{}</title></{}>').format(
            name, css, attribute_text, plain(title), name
        )
    return Markup('<{} class="{}"{}/>').format(name, css, attribute_text)


def _text(value: Along) -> str:
    """A coordinate with one decimal at most."""
    if isinstance(value, str):
        return str(escape(value))
    return f"{value:.1f}".removesuffix(".0")


# Axes


_ROOM = 0.06
"""Padding at both ends, as a share of the width, so that a dot at the end of a scale is not cut off."""


class Domain(Struct, frozen=True):
    """The ends of an axis."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """The position of a value on the axis: 0 at the left end of the picture, 1 at the right.

        A value beyond an end is drawn in the padding.
        """
        inner = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, _ROOM + inner * (1 - 2 * _ROOM)))

    def along(self, value: float) -> str:
        """The same as an attribute."""
        return f"{round(self.share(value) * 100, 2):g}%"


def domain_of(scale: Scale | None, values: Iterable[float | None] = ()) -> Domain:
    """The ends of the scale; if it is unbounded, round numbers around the values."""
    if scale is not None and scale.low is not None and scale.high is not None and scale.low < scale.high:
        return Domain(float(scale.low), float(scale.high))
    seen = [value for value in values if value is not None and math.isfinite(value)]
    if not seen:
        return Domain(0.0, 1.0)
    low, high = min(seen), max(seen)
    if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):
        around = max(abs(low) * 0.1, 0.5)
        low, high = low - around, high + around
    step = _step((high - low) / 4)
    return Domain(math.floor(low / step) * step, math.ceil(high / step) * step)


def ticks(domain: Domain, most: int = 6) -> list[float]:
    """Round numbers along the axis, including its ends where they are round."""
    step = _step((domain.high - domain.low) / max(1, most - 1))
    first = math.ceil(domain.low / step - 1e-9)
    last = math.floor(domain.high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def tick_text(value: float) -> str:
    """The number of a tick, as short as possible."""
    return f"{value:.6g}".replace("-", "\u2212")


def _step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below `least`."""
    if least <= 0 or not math.isfinite(least):
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))


# Dots with their intervals, one to a row


_HEIGHT = 24


def strip(
    marks: Sequence[Mark],
    domain: Domain,
    title: str,
    *,
    reference: float | None = None,
    is_change: bool = False,
) -> Markup:
    """One row: a dot with its interval for each mark, hollow after the first. An undefined value has no dot, but its range is drawn.

    Of a change, a line joins the two dots, so that they are a dumbbell.
    """
    parts = [uprights([domain.along(tick) for tick in ticks(domain)], _HEIGHT, "gridline")]
    if reference is not None:
        parts.append(line(domain.along(reference), 0, domain.along(reference), _HEIGHT, "ref"))
    lanes = _HEIGHT / (len(marks) + 1)
    ends = [
        (domain.along(mark.value), place * lanes)
        for place, mark in enumerate(marks, 1)
        if mark.value is not None
    ]
    if is_change and len(ends) == 2:
        parts.append(line(*ends[0], *ends[1], "joined"))
    for place, mark in enumerate(marks, start=1):
        parts += _mark(mark, domain, place * lanes, "" if place == 1 else "hollow")
    return chart("100%", _HEIGHT, title, parts)


def axis(domain: Domain) -> Markup:
    """The numbers of the axis, above the strips."""
    tick_values = ticks(domain, 5)
    parts = [
        text(domain.along(tick), 12, tick_text(tick), "t-muted", anchor="middle") for tick in tick_values
    ]
    return chart("100%", 16, f"axis from {tick_text(domain.low)} to {tick_text(domain.high)}", parts)


def axis_of_levels(levels: Sequence[float]) -> Markup:
    """The first, the last and a few levels between, above bars."""
    n = len(levels)
    wanted = range(n) if n <= 6 else sorted({0, n // 2, n - 1})
    parts = [
        text(f"{(place + 0.5) / n * 100:.2f}%", 12, tick_text(levels[place]), "t-muted", anchor="middle")
        for place in wanted
    ]
    return chart("100%", 16, "levels of the scale", parts)


def axis_of_bins(low: float, high: float) -> Markup:
    """The two ends, above bars of bins."""
    parts = [
        text("0%", 12, tick_text(low), "t-muted"),
        text("100%", 12, tick_text(high), "t-muted", anchor="end"),
    ]
    return chart("100%", 16, f"from {tick_text(low)} to {tick_text(high)}", parts)


def _mark(mark: Mark, domain: Domain, y: float, css: str) -> list[Markup]:
    parts = []
    if mark.possible is not None and mark.possible[0] < mark.possible[1]:
        parts.append(line(domain.along(mark.possible[0]), y, domain.along(mark.possible[1]), y, "possible"))
    if mark.value is None:
        return parts
    if mark.low is not None and mark.high is not None:
        parts.append(line(domain.along(mark.low), y, domain.along(mark.high), y, f"whisker {css}".strip()))
    parts.append(circle(domain.along(mark.value), y, 4.5, f"dot {css}".strip()))
    return parts


_SLOPE = 22
_LEFT_END, _RIGHT_END = 40.0, 60.0
"""Where the lines of ranks begin and end, in percent: the names are beside them."""


def slopes(names: Sequence[tuple[str, int, int]], heads: tuple[str, str], title: str) -> Markup:
    """Ranks in two orders: a line for each name from its place on the left to its place on the right."""
    height = _SLOPE * (len(names) + 1) + 6
    parts = [
        text(f"{_LEFT_END - 3}%", 12, heads[0], "t-muted", anchor="end"),
        text(f"{_RIGHT_END + 3}%", 12, heads[1], "t-muted"),
    ]
    for name, before, after in names:
        left, right = (_SLOPE * place + 10 for place in (before, after))
        css = "slope" if before == after else "slope up" if after < before else "slope down"
        parts.append(line(f"{_LEFT_END}%", left, f"{_RIGHT_END}%", right, css))
        parts += [
            circle(f"{_LEFT_END}%", left, 3, "dot hollow"),
            circle(f"{_RIGHT_END}%", right, 3, "dot", title=f"{name}: {before} → {after}"),
        ]
        parts.append(text(f"{_LEFT_END - 3}%", left + 4, f"{before}  {name}", "t-name", anchor="end"))
        parts.append(text(f"{_RIGHT_END + 3}%", right + 4, f"{after}  {name}", "t-name"))
    words = "; ".join(f"{name}: {before} → {after}" for name, before, after in names)
    return chart("100%", height, title, parts, desc=words)


# Counts as bars


_BAR = 14
_MOST_BINS = 12


class Part(Struct, frozen=True):
    """One part of a whole: its name, its size and its colour's class."""

    name: str
    n: float
    css: str
    url: str = ""
    """of the items behind it"""


def bars(
    counts: Sequence[tuple[str, int]],
    title: str,
    *,
    height: float = 24,
    tallest: float | None = None,
    urls: Sequence[str] = (),
) -> Markup:
    """One bar for each level; `tallest` is the count that fills the height, so that several charts are comparable."""
    top = max([tallest or 0, *(n for _, n in counts)], default=0)
    if not top:
        return chart("100%", height, f"{title}: no data", [])
    drawn = []
    for place, (name, n) in enumerate(counts):
        if n:
            tall = max(1.0, n / top * (height - 2))
            x, wide = (place + 0.14) / len(counts) * 100, 0.72 / len(counts) * 100
            bar = rect(f"{x:.1f}%", height - tall, f"{wide:.1f}%", tall, "bar")
            drawn.append(linked(bar, urls[place], f"{name}: {n:,}") if urls else bar)
    counts_text = ", ".join(f"{name}: {n:,}" for name, n in counts if n)
    floor = line("0", height - 0.5, "100%", height - 0.5, "gridline")
    return chart("100%", height, f"{title} ({counts_text})", [floor, *drawn], has_links=bool(urls))


def stacked(parts: Sequence[Part], title: str, *, whole: float | None = None) -> Markup:
    """Parts of a whole in one stacked bar, each with a tooltip."""
    total = whole if whole is not None else math.fsum(part.n for part in parts)
    drawn = [rect("0%", 5, "100%", _BAR, "track", rx=2)]
    begin = 0.0
    for part in parts:
        if part.n > 0 and total > 0:
            wide = part.n / total
            words = f"{part.name}: {part.n:,.6g} of {total:,.6g}"
            bar = rect(f"{begin * 100:.3f}%", 5, f"{wide * 100:.3f}%", _BAR, part.css, title=words)
            drawn.append(linked(bar, part.url, words) if part.url else bar)
            begin += wide
    parts_text = ", ".join(f"{part.name} {part.n:,.6g}" for part in parts if part.n)
    has_links = any(part.url for part in parts)
    return chart("100%", 24, title, drawn, desc=parts_text, has_links=has_links)


def agreement_bar(judge: Mark, people: Mark | None, domain: Domain, title: str) -> Markup:
    """The judge's agreement as a bar from 0 with its interval, and a line where a human rater is."""
    zero, high = domain.share(max(0.0, domain.low)), domain.share(judge.value or 0.0)
    begin, wide = min(zero, high), abs(high - zero)
    parts = [
        rect("0%", 8, "100%", _BAR, "track", rx=2),
        rect(f"{begin * 100:.2f}%", 8, f"{wide * 100:.2f}%", _BAR, "bar", rx=2),
    ]
    if judge.low is not None and judge.high is not None:
        parts.append(line(domain.along(judge.low), 15, domain.along(judge.high), 15, "whisker"))
    if people is not None and people.value is not None:
        parts.append(line(domain.along(people.value), 2, domain.along(people.value), 28, "ceiling"))
        parts.append(text(domain.along(people.value), 40, "people", "t-muted", anchor="middle"))
    parts.append(text(domain.along(domain.low), 40, tick_text(domain.low), "t-muted", anchor="middle"))
    parts.append(text(domain.along(domain.high), 40, tick_text(domain.high), "t-muted", anchor="middle"))
    return chart("100%", 46, title, parts)


def histogram(values: Sequence[float], title: str, unit: str = "") -> Markup:
    """A histogram with the numbers of the axis below it."""
    seen = [value for value in values if math.isfinite(value)]
    domain = domain_of(None, seen)
    counts = _binned(seen, domain)
    height = 72.0
    top = max(counts, default=0)
    parts = [line("0%", height + 0.5, "100%", height + 0.5, "axis")]
    wide = (domain.high - domain.low) / max(1, len(counts))
    for place, n in enumerate(counts):
        begin, end = domain.low + place * wide, domain.low + (place + 1) * wide
        x, x_end = domain.share(begin), domain.share(end)
        if n:
            tall = max(1.0, n / top * (height - 14))
            words = f"{tick_text(begin)} to {tick_text(end)}{unit}: {n:,}"
            parts.append(
                rect(
                    f"{x * 100:.2f}%",
                    height - tall,
                    f"{(x_end - x) * 98:.2f}%",
                    tall,
                    "bar",
                    rx=1,
                    title=words,
                )
            )
    parts += [
        text(domain.along(tick), height + 15, tick_text(tick), "t-muted", anchor="middle")
        for tick in ticks(domain, 5)
    ]
    return chart("100%", height + 20, title, parts, desc=f"{len(seen):,} values, at most {top:,} in one bar")


def _binned(values: Sequence[float], domain: Domain) -> list[int]:
    n_bins = min(_MOST_BINS, max(4, math.isqrt(len(values) or 1)))
    counts = [0] * n_bins
    for value in values:
        place = int((value - domain.low) / (domain.high - domain.low) * n_bins)
        counts[min(max(place, 0), n_bins - 1)] += 1
    return counts


_WIDE, _TALL = 340.0, 290.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 8.0, 8.0, 40.0
_JITTER_X, _JITTER_Y = 0.045, 0.018
"""The largest jitter of a dot, as a share of the axis: equal scores would hide each other."""
MOST_POINTS = 400
"""More dots show nothing more; a hash of their names decides which are drawn."""


class Point(Struct, frozen=True):
    """One item: the judge's score as x, the human label as y."""

    name: str
    x: float
    y: float


class Bin(Struct, frozen=True):
    """A bin of x with the mean of y, its interval and its n."""

    x: float
    y: float
    low: float | None
    high: float | None
    n: int


class Axes(Struct, frozen=True):
    """The two axes of a plot, with their names."""

    x: Domain
    y: Domain
    x_name: str
    y_name: str

    def at(self, x: float, y: float) -> tuple[float, float]:
        wide, tall = _WIDE - _LEFT - _RIGHT, _TALL - _TOP - _BOTTOM
        return _LEFT + self.x.share(x) * wide, _TALL - _BOTTOM - self.y.share(y) * tall

    def drawn(self) -> list[Markup]:
        parts = []
        for tick in ticks(self.x):
            x, _ = self.at(tick, self.y.low)
            parts.append(line(x, _TOP, x, _TALL - _BOTTOM, "gridline"))
            parts.append(text(x, _TALL - _BOTTOM + 15, tick_text(tick), "t-muted", anchor="middle"))
        for tick in ticks(self.y):
            _, y = self.at(self.x.low, tick)
            parts.append(line(_LEFT, y, _WIDE - _RIGHT, y, "gridline"))
            parts.append(text(_LEFT - 6, y + 4, tick_text(tick), "t-muted", anchor="end"))
        middle = (_LEFT + _WIDE - _RIGHT) / 2
        parts.append(text(middle, _TALL - 6, self.x_name, "t-muted", anchor="middle"))
        parts.append(turned_text(11, (_TOP + _TALL - _BOTTOM) / 2, self.y_name, "t-muted"))
        return parts

    def diagonal(self) -> Markup:
        low, high = max(self.x.low, self.y.low), min(self.x.high, self.y.high)
        return line(*self.at(low, low), *self.at(high, high), "ref")


def scatter(
    points: Sequence[Point], axes: Axes, title: str, *, bins: Sequence[Bin] = (), is_same_scale: bool = True
) -> Markup:
    """A dot for each item with a reproducible jitter, and the mean of y at each x."""
    drawn = sorted(points, key=lambda point: _hash(point.name))[:MOST_POINTS]
    x_width, y_width = axes.x.high - axes.x.low, axes.y.high - axes.y.low
    dots = []
    for point in drawn:
        x = point.x + (_share(point.name, "x") - 0.5) * 2 * _JITTER_X * x_width
        y = point.y + (_share(point.name, "y") - 0.5) * 2 * _JITTER_Y * y_width
        dots.append(circle(*axes.at(x, y), 2.6, "point"))
    parts = [
        *axes.drawn(),
        *([axes.diagonal()] if is_same_scale else []),
        group(dots),
        *_bins(bins, axes),
    ]
    n_items = (
        f"{len(points):,} items" if len(drawn) == len(points) else f"{len(drawn):,} of {len(points):,} items"
    )
    return chart(_WIDE, _TALL, title, parts, desc=f"{n_items}. {_bins_text(bins)}", view_box=True, css="plot")


def curve_with_intervals(bins: Sequence[Bin], axes: Axes, title: str) -> Markup:
    """A curve through bins with an interval at each; on the diagonal x and y are the same."""
    parts = [*axes.drawn(), axes.diagonal()]
    if len(bins) > 1:
        parts.append(polyline((axes.at(bin_.x, bin_.y) for bin_ in bins), "curve"))
    parts += _bins(bins, axes)
    return chart(_WIDE, _TALL, title, parts, desc=_bins_text(bins), view_box=True, css="plot")


def _bins(bins: Iterable[Bin], axes: Axes) -> list[Markup]:
    parts = []
    for bin_ in bins:
        x, y = axes.at(bin_.x, bin_.y)
        if bin_.low is not None and bin_.high is not None:
            parts.append(
                line(x, axes.at(bin_.x, bin_.low)[1], x, axes.at(bin_.x, bin_.high)[1], "whisker mean")
            )
        parts.append(circle(x, y, 4.5, "dot mean", title=f"at {bin_.x:.3g}: {bin_.y:.3g} (n = {bin_.n:,})"))
    return parts


def _bins_text(bins: Sequence[Bin]) -> str:
    return "; ".join(f"at {bin_.x:.3g}: {bin_.y:.3g} (n = {bin_.n:,})" for bin_ in bins)


def _hash(name: str, salt: str = "") -> bytes:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=salt.encode()).digest()


def _share(name: str, salt: str) -> float:
    """A number from 0 to 1 that depends only on the name."""
    return int.from_bytes(_hash(name, salt), "big") / 2**64
