"""`unanchored-levels`: some levels of the scale are described and others are left to guessing.

Describing the two ends, or points at even distances from end to end, is a common and sound way
to anchor a scale, and so is a word about what lies between; none of these is suspected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ...records import Scale
from .described_levels import DescribedLevel, declared_levels, level_lists, whole_levels
from .prompt import Prompt, Suspicion

UNANCHORED_LEVELS = "unanchored-levels"


_BETWEEN = re.compile(
    r"\bin[- ]between|\bintermediate|\bbetween (?:these|those|two|the"
    r" (?:levels|anchors|ends|extremes))|\bhalf[- ]?points?\b|\binterpolat"
    r"|介于|之间的(?:分数|回答)|中间(?:分|档|值)|사이의|중간 (?:점수|단계|수준)",
    re.IGNORECASE,
)


_IN_PASSING = re.compile(
    r"(?:scores?|ratings?|grades?|levels?|points?|得分|评分|점수)\s(?:of |is |as |to |:"
    r" ?)?[\"'*]?(\d{1,2})(?:\s?(?:-|–|~|～|to|or|到|至)\s?(\d{1,2}))?\b"
    r"|(\d{1,2})(?:\s?(?:-|–|~|～|到|至|、)\s?(\d{1,2}))?\s?(?:分|점|points?\b)",
    re.IGNORECASE,
)
"""A level that a sentence speaks of at all ("… can get a score of 5 to 6"), wherever the number stands."""


def unanchored_levels(prompt: Prompt) -> Iterator[Suspicion]:
    """The first list of levels that leaves levels of its scale out at uneven distances."""
    if _BETWEEN.search(prompt.words):
        return
    in_words = level_lists(prompt)
    for name, scale in prompt.scales:
        for levels in (*in_words, declared_levels(scale)):
            missing = _missing(levels, scale)
            if missing and not set(missing) <= _in_passing(prompt, scale):
                left_out = ", ".join(f"{level:g}" for level in missing)
                is_declared = not in_words or levels not in in_words
                yield Suspicion(
                    None if is_declared else levels[0].start,
                    f"the scale of '{name}' runs from {scale.low:g} to {scale.high:g}, but {left_out} are not"
                    " described.",
                    "Describe them, or say what they are for (between the neighbouring levels).",
                    "scale",
                )
                return


def _in_passing(prompt: Prompt, scale: Scale) -> set[float]:
    spoken_of: set[float] = set()
    for match in _IN_PASSING.finditer(prompt.words):
        low = float(match[1] or match[3])
        high = float(match[2] or match[4] or low)
        if (low, high) != (scale.low, scale.high):
            spoken_of.update(level for level in whole_levels(scale) if low <= level <= high)
    return spoken_of


def _missing(levels: list[DescribedLevel], scale: Scale) -> list[float]:
    every = whole_levels(scale)
    described = [
        level
        for level in every
        if any(described_level.low <= level <= described_level.high for described_level in levels)
    ]
    if len(described) < 3 or len(described) == len(every):
        return []
    gaps = {round(after - before, 9) for before, after in pairwise(described)}
    reaches_ends = described[0] == every[0] and described[-1] == every[-1]
    is_even = len(gaps) == 1 and reaches_ends
    # A list that touches neither end describes something else that is numbered.
    if described[0] != every[0] and described[-1] != every[-1]:
        return []
    return [] if is_even else [level for level in every if level not in described]
