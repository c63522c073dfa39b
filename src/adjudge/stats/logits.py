"""Log-probabilities out of a row of logits. Knows nothing of models: a row is a buffer of 32-bit floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def logprobs_at(row: Any, places: Sequence[int]) -> list[float]:
    """The natural logarithm of the softmax of a row, at these places.

    Summed in 64 bits: a sum over tens of thousands of small terms in 32 bits loses digits that a
    comparison of two near texts needs.
    """
    import numpy as np

    logits = np.frombuffer(row, dtype=np.float32).astype(np.float64)
    highest = logits.max()
    total = highest + np.log(np.exp(logits - highest).sum())
    return [float(logits[place] - total) for place in places]
