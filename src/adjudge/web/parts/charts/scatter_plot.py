"""Plots with two axes: scatter plots, and calibration curves with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from markupsafe import Markup
from msgspec import Struct

from .axis import Domain, tick_text, ticks
from .svg import chart, circle, curve, group, line, text, vertical_name

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
        parts.append(vertical_name((_TOP + _TALL - _BOTTOM) / 2, self.y_name))
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
        parts.append(curve(axes.at(bin_.x, bin_.y) for bin_ in bins))
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
