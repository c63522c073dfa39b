"""Checks the settings of a judge card: on the command line and in Python alike, before a file is opened."""

from __future__ import annotations

import math
from typing import get_args

from ...errors import DataError
from ...stats import Resample


def check_settings(
    resample: str, plan_width: float | None, epsilon: float, margin: float | None, seed: int
) -> None:
    """`DataError` for a setting that says nothing, nan among them."""
    if resample not in get_args(Resample):
        raise DataError(f"--resample {resample}: choose inputs, systems or both.")
    if plan_width is not None and not 0 < plan_width < math.inf:
        raise DataError(f"--plan {plan_width:g}: give a width above 0, in scale points: --plan 0.5.")
    if not 0 <= epsilon < 1:
        raise DataError(f"--epsilon {epsilon:g}: give a share from 0 to below 1: --epsilon 0.2.")
    if margin is not None and not 0 < margin < 1:
        raise DataError(
            f"--margin {margin:g}: give a difference in agreement between 0 and 1: --margin 0.05."
        )
    if seed < 0:
        raise DataError(f"--seed {seed}: give a whole number from 0 on.")
