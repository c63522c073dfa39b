"""Where the noise comes from, in words: more items, samples, judges or raters?"""

from __future__ import annotations

from collections.abc import Mapping

from ....sections import Section
from ....words import NO_VALUE, count, number, share
from ..card import Noise

_MORE = {
    "item": "twice the items",
    "judge": "one more judge",
    "prompt": "one more prompt",
    "rater": "one more rater",
    "sample": "one more sample",
}
_SIDES = {"judge": "judge's scores", "people": "human labels"}


def noise_section(noise: Mapping[str, Mapping[str, Noise]]) -> Section:
    """A row for each source; above them what narrows the interval of a mean most."""
    lines, rows = [], []
    for criterion, sides in noise.items():
        for side, found in sides.items():
            lines.append(f"{criterion}, {_SIDES[side]} ({count(found.n, 'value')}): {_best(found)}")
            rows += [
                (
                    criterion,
                    _SIDES[side],
                    name if name != "sample" or found.counts.get("sample", 1) > 1 else "rest",
                    f"{number(source.variance)}{' (estimated below 0)' if source.is_below_zero else ''}",
                    share(source.share),
                    NO_VALUE
                    if source.narrower is None
                    else f"{_MORE[name]}: {share(source.narrower)} narrower",
                )
                for name, source in found.sources.items()
            ]
    lines.append(
        "Variance of a single score, after the mean of each system; more of a source narrows the "
        "interval of a "
        "mean over items, judges, prompts, samples and raters like these. Where items share groups, "
        "more items "
        "means more groups."
    )
    columns = ("criterion", "of", "source", "variance", "share", "what more of it buys")
    return Section("Where the noise comes from", tuple(lines), columns, tuple(rows), is_detail=True)


def _best(found: Noise) -> str:
    """The source of which more narrows the interval most."""
    known = {name: source.narrower for name, source in found.sources.items() if source.narrower is not None}
    if not known:
        return "nothing to compare."
    ranked = sorted(known, key=lambda name: -(known[name] or 0.0))
    parts = [f"{_MORE[name]} {share(known[name] or 0.0)}" for name in ranked]
    return f"what narrows the interval of a mean: {', '.join(parts)}."
