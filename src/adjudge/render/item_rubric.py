"""A rubric that an item brings along, in the columns of Prometheus' data sets: `orig_criteria`,
`orig_score1_description` …

The names without `orig_` are taken too. One column for each level: a text that is the same for all items
belongs in a rubric file instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..records import FieldValue, Scale

_LEVEL = re.compile(r"(?:orig_)?score([0-9]{1,3})_description")


class ItemRubric(NamedTuple):
    """The criterion and the levels of one item."""

    criterion: str
    levels: dict[float, str]

    def text(self, *, with_criterion: bool) -> str:
        """The criterion and a line for each level, as a rubric file is shown."""
        levels = [f"Score {level:g}: {text}" for level, text in sorted(self.levels.items())]
        return "\n".join([self.criterion, *levels] if with_criterion else levels)

    def part(self, part: str) -> str:
        """The criterion, or the text of one level, for a prompt with a slot for each."""
        return self.criterion if part == "criterion" else self.levels[float(part)]

    def problems(self, protocol: str, scale: Scale | None, parts: Sequence[str]) -> list[str]:
        """What keeps the protocol from showing this rubric:
        levels that its scale or its prompt does not have.
        """
        shown = {float(name.removeprefix("rubric.")) for name in parts if name != "rubric.criterion"}
        problems = [
            f"field 'orig_score{level:g}_description' is missing or empty; protocol {protocol} shows "
            "that level. Add it."
            for level in sorted(shown - {*self.levels})
        ]
        off = [
            level
            for level in sorted({*self.levels} - shown)
            if scale is not None and scale.status_of(level) != "ok"
        ]
        if off and scale is not None:
            levels = ", ".join(f"{level:g}" for level in off)
            problems.append(
                f"describes level {levels}, which is not on the scale of protocol {protocol} "
                f"({scale.low:g} to {scale.high:g}). Give all items levels of this scale, or one "
                "rubric for all with --rubric FILE."
            )
        return problems


def rubric_in(fields: Mapping[str, FieldValue]) -> ItemRubric | None:
    """The rubric in an item's fields: a criterion and a text for each level; none where the item brings
    none."""
    levels = {
        float(match[1]): text
        for name, text in fields.items()
        if (match := _LEVEL.fullmatch(name)) and isinstance(text, str)
    }
    criterion = fields.get("orig_criteria")
    if criterion is None and levels:
        criterion = fields.get("criteria")
    return ItemRubric(criterion, levels) if isinstance(criterion, str) else None
