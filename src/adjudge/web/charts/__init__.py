"""Charts as SVG that the server writes: numbers in, markup out, colours by class. See the style sheet for the classes.

Charts that stand in a table (`strip`, `bars`, `stacked`) are as wide as their cell; plots with two axes have a size.
Nothing here knows a run, a card or a template.
"""

from .intervals import Mark, axis, axis_of_bins, axis_of_levels, strip
from .plots import Axes, Bin, Point, curve_with_intervals, scatter
from .scales import Domain, domain_of, ticks
from .shares import Part, bars, histogram, stacked
from .svg import swatch

__all__ = [
    "Axes",
    "Bin",
    "Domain",
    "Mark",
    "Part",
    "Point",
    "axis",
    "axis_of_bins",
    "axis_of_levels",
    "bars",
    "curve_with_intervals",
    "domain_of",
    "histogram",
    "scatter",
    "stacked",
    "strip",
    "swatch",
    "ticks",
]
