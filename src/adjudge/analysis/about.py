"""What a number is about (`--about`): inputs like these, or these items alone."""

from __future__ import annotations

from typing import Literal, get_args

from ..errors import DataError
from ..stats import Resample

About = Literal["new-inputs", "these-items"]
"""Inputs like these, known through the groups; or these items, of which the labels are a sample."""


def check_about(about: str, resample: Resample = "inputs") -> None:
    """An error where `about` is unknown, or contradicts the resampling."""
    if about not in get_args(About):
        raise DataError(f"--about {about}: choose new-inputs or these-items.")
    if about == "these-items" and resample != "inputs":
        raise DataError(
            f"--about these-items says nothing of new systems, so --resample {resample} cannot go "
            "with it. Leave one out."
        )


def about_note(what: str) -> str:
    """The note of a page whose numbers are about these items."""
    return f"{what} are about these items (--about these-items), not about new inputs."
