"""Inspect: scores into a log of `inspect eval`, as those of another scorer.

A log in JSON is edited as it is; the archives that Inspect writes by default (`.eval`) are read and written
by Inspect's own functions, where it is installed.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import DataError
from .score import DIGEST, SCORE_ID, PlatformScore, Record

_ARCHIVE = ".eval"


class InspectTarget:
    """A log file. It is replaced as a whole, so a kill leaves the old one or the new one."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).expanduser()
        if not path or not self._path.is_file():
            raise DataError(f"inspect:{path}: there is no such log. Name the file: inspect:LOG.")
        if self._path.suffix not in (".json", _ARCHIVE):
            raise DataError(f"{self._path}: a log of Inspect is a .json or an .eval file.")
        try:
            self._log = _read(self._path)
            samples = self._log["samples"]
        except (ValueError, KeyError, TypeError) as fault:
            raise DataError(f"{self._path}: this is no log of Inspect with samples ({fault}).") from fault
        self._samples: dict[str, Record] = {_id(sample): sample for sample in samples or ()}

    async def close(self) -> None:
        return

    async def present(self, scores: Sequence[PlatformScore]) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for score in scores:
            if score.trace not in self._samples:
                found[score.id] = None
                continue
            for other in (self._samples[score.trace].get("scores") or {}).values():
                metadata = other.get("metadata") or {}
                if metadata.get(SCORE_ID) == score.id:
                    found[score.id] = metadata.get(DIGEST, "")
        return found

    async def write(self, scores: Sequence[PlatformScore]) -> None:
        for score in scores:
            of_sample: Record = self._samples[score.trace].setdefault("scores", {}) or {}
            self._samples[score.trace]["scores"] = of_sample
            other = (of_sample.get(score.name) or {}).get("metadata") or {}
            if score.name in of_sample and other.get(SCORE_ID) != score.id:
                raise DataError(
                    f"{self._path}: sample '{score.trace:.80}' already has a score named {score.name}. "
                    "Give the criterion another name."
                )
            of_sample[score.name] = inspect_score(score)
        _replace(self._path, self._log)


def inspect_score(score: PlatformScore) -> Record:
    """A score in Inspect's form. Inspect's metrics leave out a score whose value is NaN."""
    value: Any = float("nan") if score.error else score.value
    explanation = f"no score ({score.error}): {score.explanation}" if score.error else score.explanation
    return {"value": value, "explanation": explanation, "metadata": score.metadata, "history": []}


def _id(sample: Record) -> str:
    """The id that the item of a sample has."""
    epoch = sample.get("epoch", 1)
    return str(sample.get("id")) if epoch == 1 else f"{sample.get('id')} ({epoch})"


def _read(path: Path) -> Record:
    if path.suffix != _ARCHIVE:
        log: Record = json.loads(path.read_text(encoding="utf-8"))
        return log
    whole: Record = json.loads(_inspect(path).read_eval_log(str(path)).model_dump_json(exclude_none=True))
    return whole


def _write(path: Path, log: Record) -> None:
    if path.suffix != _ARCHIVE:
        path.write_text(json.dumps(log, ensure_ascii=False, indent=2), encoding="utf-8")
        return
    inspect = _inspect(path)
    inspect.write_eval_log(inspect.EvalLog.model_validate(log), str(path), format="eval")


def _inspect(path: Path) -> Any:
    """Inspect's functions for logs; `DataError` where it is not installed."""
    try:
        from inspect_ai import log
    except ImportError as fault:
        raise DataError(
            f"{path}: scores are written to archives by Inspect itself. Install inspect-ai here, or convert "
            "the log: inspect log convert --to json --output-dir DIR FILE."
        ) from fault
    return log


def _replace(path: Path, log: Record) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".adjudge-", suffix=path.suffix)
    os.close(handle)
    written = Path(name)
    try:
        _write(written, log)
        with written.open("rb+") as file:
            os.fsync(file.fileno())
        written.chmod(path.stat().st_mode & 0o777)
        written.replace(path)
    except BaseException:
        written.unlink(missing_ok=True)
        raise
