"""Patterns that are compiled when they are first used.

The readers and the signs of injections are hundreds of patterns, and compiling all of them took longer than
everything else that an import does; one text needs a few of them. This file knows no pattern itself.
"""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub")


class _Lazy:
    """Stands for a pattern until one of its methods is asked for; from then on holds that pattern's
    methods."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._written = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(*self._written)
        # Kept as attributes, so that later uses find them without passing through here.
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern as `re.compile` would give it, compiled at its first use."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
