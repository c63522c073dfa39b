"""`reader = "roman"`: a score as a Roman numeral after a label, as in `Mark: IV`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from adjudge.records import Reading, Scale

NUMERALS = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5}


def read_roman(text: str, scale: Scale | None, settings: Mapping[str, object]) -> Reading:  # noqa: ARG001
    """The one numeral after the label; two different ones conflict.

    Adjudge checks that it is on the scale, which is none where a choice is asked for.
    """
    label = re.escape(str(settings.get("label", "Mark")))
    marks = list(re.finditer(rf"^{label}:[ \t]*([IVX]+)[ \t]*$", text, re.MULTILINE))
    values = {NUMERALS.get(mark[1]) for mark in marks}
    if len(values) > 1:
        return Reading(status="conflicting")
    if not marks or None in values:
        return Reading(status="unparsed")
    return Reading(NUMERALS[marks[-1][1]], "ok", "strict", marks[-1].span(1))
