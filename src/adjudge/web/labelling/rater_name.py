"""The name that a rater's labels are stored under, and which names can be used."""

from __future__ import annotations

import unicodedata

from ...data.formulas import FORMULA_STARTS
from ...errors import DataError

LONGEST_NAME = 60


def rater_name(name: object) -> str:
    """The name that a rater's labels are stored under; an error where it cannot be used."""
    if not isinstance(name, str) or not name.strip():
        raise DataError("A rater needs a name. Labels are stored under it.")
    text = unicodedata.normalize("NFC", name.strip())
    if len(text) > LONGEST_NAME:
        raise DataError(f"The rater's name has {len(text)} characters. Use at most {LONGEST_NAME}.")
    if any(unicodedata.category(character)[0] == "C" for character in text):
        raise DataError("The rater's name contains invisible characters. Remove them.")
    if text.startswith(FORMULA_STARTS):
        raise DataError(
            f"A name that begins with {text[0]} is a formula to a spreadsheet. Begin with a letter."
        )
    return text
