"""Numbers as English-speaking judges write them: four, 4
points, 4 stars, "4 out of 5", "4 on a scale of 1 to 5".
"""

from __future__ import annotations

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORDS: dict[str, float] = {word: float(n) for n, word in enumerate(NAMES)}
WORD = rf"(?:{'|'.join(NAMES)})\b(?![\s-](?:hundred|thousand|million|dozen)\b)"

UNITS = r"points?\b|pts?\b|stars?\b|marks?\b"

OUT_OF = r"out\s{1,2}of|of"
MOST = r"(?:an?\s|the\s)?(?:possible\s|total\s|maximum\s|max\s|full\s)?(?:of\s)?"
SCALE_NAME = r"points?\s(?:scale|rating|likert|system)"
"""The name of a scale, which is no score: "5 point scale"."""

MAKES = r"equals\b|is\b|makes\b|gives\b"
BOUND = r"or\s(?:higher|above|more|better|over|lower|below|less|fewer|under)\b"
RANGE = r"to\b|or\b|and/or\b|through\b"
