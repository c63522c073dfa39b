"""Notes and tags on items: which texts can be stored."""

from __future__ import annotations

import unicodedata

from ..errors import DataError

LONGEST_NOTE = 4000


LONGEST_TAG = 40


MOST_TAGS = 20


def checked_text(text: str, longest: int, what: str) -> str:
    """A text as it is stored; an error where it cannot be."""
    kept = unicodedata.normalize("NFC", text.replace("\r\n", "\n").strip())
    if len(kept) > longest:
        raise DataError(f"The {what} has {len(kept):,} characters. Use at most {longest:,}.")
    if any(unicodedata.category(one) in ("Cc", "Cs") and one not in "\n\t" for one in kept):
        raise DataError(f"The {what} contains control characters. Remove them.")
    return kept


def read_tags(text: str) -> tuple[str, ...]:
    """The tags in a text, separated by commas."""
    tags = tuple(
        dict.fromkeys(
            checked_text(" ".join(part.split()), LONGEST_TAG, "tag")
            for part in text.split(",")
            if part.strip()
        )
    )
    if len(tags) > MOST_TAGS:
        raise DataError(f"There are {len(tags)} tags. Use at most {MOST_TAGS}.")
    return tags
