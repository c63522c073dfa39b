"""The file of a cascade, which `run --cascade` reads."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert, structs

from ...data import read_small_text
from ...errors import DataError
from ...toml_text import parse_toml
from .answers import Confidence


class StageFile(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One judge as a cascade file names it: the run that it was calibrated on, and when it decides."""

    run: str
    model: str
    protocol: str
    confidence: Confidence
    threshold: float | None = None


class CascadeFile(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What `adjudge cascade -o` writes."""

    agree: float
    risk: float
    criterion: str
    n_labels: int
    stages: tuple[StageFile, ...]
    within: float | None = None


def text_of_file(file: CascadeFile) -> str:
    """The file with unrounded thresholds; a stage without a threshold never decides."""
    lines = _lines(structs.asdict(file))
    for stage in file.stages:
        lines += ["", "[[stages]]", *_lines(structs.asdict(stage))]
    return "\n".join(lines) + "\n"


def _lines(settings: Mapping[str, Any]) -> list[str]:
    # JSON's strings and numbers are TOML's as well.
    return [
        f"{key} = {json.dumps(value, ensure_ascii=False)}"
        for key, value in settings.items()
        if value is not None and not isinstance(value, tuple)
    ]


def read_cascade(path: Path) -> CascadeFile:
    """A cascade file; an error that names what is wrong with it."""
    try:
        return convert(parse_toml(read_small_text(path)), CascadeFile)
    except (tomllib.TOMLDecodeError, ValidationError) as wrong:
        raise DataError(
            f"{path}: {wrong}. Write it again: adjudge cascade RUN… --labels FILE -o {path}."
        ) from wrong
