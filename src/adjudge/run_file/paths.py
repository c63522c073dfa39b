"""Paths in a run file, which are relative to the file: of items, rubrics, protocols, and inside model
specs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..models.destinations import FILE_FORMS

PATH_KEYS = ("items", "rubric", "examples", "map_scores", "cascade", "store")


def resolved_path(file: Path, path: str) -> str:
    """A path of the file, from the folder of the file; unchanged where that is the current one."""
    folder = file.parent
    return path if folder == Path() or os.path.isabs(path) else str(folder / path)


def protocol_path(ref: str, file: Path) -> str:
    """A protocol that is no folder beside the file is a built-in id."""
    folder = resolved_path(file, ref)
    return folder if Path(folder).is_dir() else ref


def as_texts(value: str | Sequence[str]) -> Sequence[str]:
    return (value,) if isinstance(value, str) else value


def resolved_paths(value: Any, file: Path) -> Any:
    return (
        resolved_path(file, value)
        if isinstance(value, str)
        else [resolved_path(file, path) for path in value]
    )


def model_path(spec: str, file: Path) -> str:
    """A spec with the path of its file from the folder of the run file."""
    for form in FILE_FORMS:
        if spec.startswith(form):
            return form + resolved_path(file, spec.removeprefix(form))
    return spec
