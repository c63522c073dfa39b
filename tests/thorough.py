"""How hard properties are tried: a third as hard in the
default suite, which must be quick, as in `make proof`.
"""

from __future__ import annotations

import os


def tries(number: int) -> int:
    """How many examples of a property to try."""
    return number if os.environ.get("ADJUDGE_THOROUGH") else max(20, number // 3)
