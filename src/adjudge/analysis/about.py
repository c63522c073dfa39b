"""What a number is about: inputs like these, or these items alone."""

from __future__ import annotations


def about_note(what: str) -> str:
    """The note of a page whose numbers are about these items."""
    return f"{what} are about these items (--about these-items), not about new inputs."
