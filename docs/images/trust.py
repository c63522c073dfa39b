"""Draws docs/images/trust.svg: each system's mean three ways, from the card of the worked example in
docs/trust.md.

Run the commands of that page, then from the root of the repository, with the card that they wrote:

    python docs/images/trust.py card.json fluency > docs/images/trust.svg

The picture loads nothing from elsewhere and has its numbers as text, so that a test can hold it against the
page.
"""

from __future__ import annotations

import json
import math
import sys
from html import escape
from pathlib import Path
from typing import Any

LEFT, WIDTH, TOP, ROW, RIGHT = 150, 430, 64, 46, 20
SERIES = (
    ("judge_only", "the judge alone", "#b45309", -12, "square"),
    ("labels_only", "the labels alone", "#64748b", 0, "ring"),
    ("", "corrected: both", "#1d4ed8", 12, "dot"),
)


def drawn(card: dict[str, Any], criterion: str) -> str:
    """The picture as text: a row for each system, a mark and an interval for each way to its mean."""
    own = card["criteria"][criterion]
    means = own["corrected"]
    low, high = _ends(own)
    height = TOP + ROW * len(means) + 46

    def x(value: float) -> float:
        return round(LEFT + (min(high, max(low, value)) - low) / (high - low) * WIDTH, 1)

    parts = [_head(criterion, height), *_axis(low, high, x, height)]
    for place, (system, mean) in enumerate(means.items()):
        middle = TOP + ROW * place + ROW // 2
        parts.append(f'<text x="{LEFT - 12}" y="{middle + 4}" text-anchor="end">{escape(system)}</text>')
        for key, name, colour, down, shape in SERIES:
            found = mean[key] if key else mean
            if found["value"] is not None:
                told = f"{system}, {name}: {_told(found)}"
                parts.append(_mark(found, x, middle + down, colour, shape, told))
    parts += _legend(height)
    return "\n".join([*parts, "</svg>", ""])


def _ends(own: dict[str, Any]) -> tuple[float, float]:
    """The ends of the scale; where it has none, of all intervals."""
    scale = own["scale"]
    if scale is not None and scale["low"] is not None and scale["high"] is not None:
        return float(scale["low"]), float(scale["high"])
    found = [
        end
        for mean in own["corrected"].values()
        for key, *_ in SERIES
        for end in ((mean[key] if key else mean)["low"], (mean[key] if key else mean)["high"])
        if end is not None
    ]
    return math.floor(min(found)), math.ceil(max(found))


def _told(found: dict[str, Any]) -> str:
    ends = "" if found["low"] is None else f" [{found['low']:.2f}, {found['high']:.2f}]"
    return f"{found['value']:.2f}{ends}"


def _head(criterion: str, height: int) -> str:
    wide = LEFT + WIDTH + RIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {height}" width="{wide}" '
            'role="img" '
            'font-family="system-ui, sans-serif" font-size="13" fill="#1e293b">',
            f"<title>Mean {escape(criterion)} of each system: by the judge, by the labels, and "
            "corrected</title>",
            f'<rect width="{wide}" height="{height}" fill="#ffffff"/>',
            f'<text x="{LEFT}" y="24" font-size="15" font-weight="600">Mean {escape(criterion)}, '
            "with 95 % intervals</text>",
        ]
    )


def _axis(low: float, high: float, x: Any, height: int) -> list[str]:
    """A line for each whole point of the scale."""
    step = max(1, round((high - low) / 8))
    lines = []
    for value in range(math.ceil(low), math.floor(high) + 1, step):
        place = x(value)
        lines.append(f'<line x1="{place}" y1="{TOP - 8}" x2="{place}" y2="{height - 40}" stroke="#e2e8f0"/>')
        lines.append(f'<text x="{place}" y="{TOP - 14}" text-anchor="middle" fill="#475569">{value}</text>')
    return lines


def _mark(found: dict[str, Any], x: Any, y: float, colour: str, shape: str, told: str) -> str:
    middle = x(found["value"])
    line = ""
    if found["low"] is not None:
        line = (
            f'<line x1="{x(found["low"])}" y1="{y}" x2="{x(found["high"])}" y2="{y}" stroke="{colour}" '
            'stroke-width="2"/>'
        )
    return f"<g><title>{escape(told)}</title>{line}{_shape(middle, y, colour, shape)}</g>"


def _shape(x: float, y: float, colour: str, shape: str) -> str:
    """Told apart by form as well as by colour."""
    if shape == "square":
        return f'<rect x="{round(x - 4, 1)}" y="{y - 4}" width="8" height="8" fill="{colour}"/>'
    fill = "#ffffff" if shape == "ring" else colour
    return f'<circle cx="{x}" cy="{y}" r="4.5" fill="{fill}" stroke="{colour}" stroke-width="2"/>'


def _legend(height: int) -> list[str]:
    parts = []
    for place, (_, name, colour, _, shape) in enumerate(SERIES):
        left = LEFT + place * 145
        parts.append(_shape(left, height - 20, colour, shape))
        parts.append(f'<text x="{left + 12}" y="{height - 16}">{name}</text>')
    return parts


if __name__ == "__main__":
    sys.stdout.write(drawn(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), sys.argv[2]))
