"""Elements of SVG, with every text and attribute escaped. Nothing here knows what is drawn.

Coordinates along x may be shares of the width (`"43.2%"`), so that a chart fits its cell without stretching
its text.
"""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from ..safe_text import visible_text

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
    """An SVG picture. Its title is read by screen readers and
    shown as a tooltip. Links inside make it a group of them.
    """
    box = Markup(' viewBox="0 0 {} {}"').format(_text(width), _text(height)) if view_box else Markup("")
    css_class = Markup(' class="{}"').format(css) if css else Markup("")
    description = Markup("<title>{}</title>").format(visible_text(title))
    if desc:
        description += Markup("<desc>{}</desc>").format(visible_text(desc))
    role = (
        Markup('role="group" aria-label="{}"').format(visible_text(title))
        if has_links
        else Markup('role="img"')
    )
    return Markup('<svg {} width="{}" height="{}"{}{}>{}{}</svg>').format(
        role, _text(width), _text(height), box, css_class, description, Markup("").join(children)
    )


def picture_of_text(width: float, height: float, children: Iterable[Markup]) -> Markup:
    """A small picture of the text beside it, which screen readers skip."""
    return Markup('<svg aria-hidden="true" width="{}" height="{}">{}</svg>').format(
        _text(width), _text(height), Markup("").join(children)
    )


def linked(child: Markup, url: str, title: str, *, is_reached: bool = False) -> Markup:
    """A mark that opens what it stands for. Keys skip it unless `is_reached`: a page
    has hundreds, and its filters lead to the same items.
    """
    skipped = Markup("") if is_reached else Markup(' tabindex="-1"')
    return Markup('<a href="{}"{} aria-label="{}">{}</a>').format(url, skipped, visible_text(title), child)


def group(children: Iterable[Markup], css: str = "", title: str = "") -> Markup:
    title_element = Markup("<title>{}</title>").format(visible_text(title)) if title else Markup("")
    return Markup('<g class="{}">{}{}</g>').format(css, title_element, Markup("").join(children))


def again(name: str) -> Markup:
    return Markup('<use href="#{}"></use>').format(name)


def line(x1: Along, y1: float, x2: Along, y2: float, css: str) -> Markup:
    return _element("line", css, x1=x1, y1=y1, x2=x2, y2=y2)


def gridlines(places: Iterable[Along], height: float) -> Markup:
    """Vertical grid lines through a row, written as short as possible because pages have many of them."""
    lines = (
        Markup('<line x1="{}" x2="{}" y2="{}"/>').format(_text(x), _text(x), _text(height)) for x in places
    )
    return Markup('<g class="gridline">{}</g>').format(Markup("").join(lines))


def numbered_axis(
    name: str, ends: tuple[Along, Along], places: Iterable[tuple[Along, str]], y: float
) -> Markup:
    """An axis with short strokes and their numbers below. Other pictures of the page can show it `again`, so
    its colours must not depend on what is around it.
    """
    ticks = (
        Markup('<line x1="{0}" x2="{0}" y2="6"/><text x="{0}" y="21">{1}</text>').format(
            _text(x), visible_text(words)
        )
        for x, words in places
    )
    return Markup(
        '<g id="{}" class="ticks" transform="translate(0 {})"><line x1="{}" x2="{}" y1="3" y2="3"/>{}</g>'
    ).format(name, _text(y - 3), _text(ends[0]), _text(ends[1]), Markup("").join(ticks))


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
        css, _text(x), _text(y), anchor, shift, visible_text(words)
    )


def vertical_name(y: float, words: str) -> Markup:
    """The name of a vertical axis; it reads upwards."""
    return Markup(
        '<text class="t-muted" transform="translate(11 {}) rotate(-90)" text-anchor="middle">{}</text>'
    ).format(_text(y), visible_text(words))


def curve(points: Iterable[tuple[float, float]]) -> Markup:
    path = " ".join(f"{_text(x)},{_text(y)}" for x, y in points)
    return Markup('<polyline class="curve" points="{}"/>').format(path)


def swatch(css: str) -> Markup:
    """A small square in a chart's colour, for a legend."""
    return Markup('<svg width="10" height="10" aria-hidden="true">{}</svg>').format(
        rect(0, 0, 10, 10, css, rx=2)
    )


def sign(mark: Markup) -> Markup:
    """A mark of a chart beside its meaning, in a legend."""
    return Markup('<svg class="sign" width="16" height="16" aria-hidden="true">{}</svg>').format(mark)


def _element(name: str, css: str, title: str = "", **attributes: Along) -> Markup:
    attribute_text = Markup("").join(
        Markup(' {}="{}"').format(key, _text(value)) for key, value in attributes.items()
    )
    if title:
        return Markup('<{} class="{}"{}><title>{}</title></{}>').format(
            name, css, attribute_text, visible_text(title), name
        )
    return Markup('<{} class="{}"{}/>').format(name, css, attribute_text)


def _text(value: Along) -> str:
    """A coordinate with one decimal at most."""
    if isinstance(value, str):
        return str(escape(value))
    return f"{value:.1f}".removesuffix(".0")
