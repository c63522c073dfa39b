"""Absolute paths of this machine, which the pages of a static copy must not show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...store import RunRow

_PATH = re.compile(r"(?:^|(?<=[\s'\"=:,]))(?!//)(?:/|[A-Za-z]:[\\/])[^\s'\",]*[\\/][^\s'\",]+")
"""An absolute path where one can begin: not in the middle of an address or of a model's name."""


def hidden_paths(store_path: Path, runs: Sequence[RunRow]) -> dict[str, str]:
    """Absolute paths of this machine that a page may name → what it shows instead."""
    texts = [str(path) for path in (store_path, store_path.absolute(), store_path.resolve())]
    for run in runs:
        texts += _strings(run.manifest)
    paths = {match[0] for text in texts for match in _PATH.finditer(text)}
    paths |= {text for text in texts if text.startswith("/") and "/" in text[1:] and "\n" not in text}
    shown = {path: re.split(r"[\\/]", path.rstrip("\\/"))[-1] for path in paths}
    return dict(sorted(shown.items(), key=lambda pair: -len(pair[0])))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in _strings(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in _strings(part)]
    return []
