"""`adjudge push RUN csv:FILE`: scores as lines of a CSV file; a second push adds only what is missing."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from adjudge.platforms import PlatformScore

COLUMNS = ("id", "digest", "trace", "name", "value", "error")


class CsvTarget:
    """A target says which scores it has, and writes those that it does not have."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def present(self, scores: Sequence[PlatformScore]) -> dict[str, str]:
        """The scores that are there: id → digest of what was written."""
        if not self._path.exists():
            return {}
        with self._path.open(encoding="utf-8", newline="") as file:
            known = {row["id"]: row["digest"] for row in csv.DictReader(file)}
        return {score.id: known[score.id] for score in scores if score.id in known}

    async def write(self, scores: Sequence[PlatformScore]) -> None:
        is_new = not self._path.exists()
        with self._path.open("a", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            if is_new:
                table.writerow(COLUMNS)
            table.writerows([getattr(score, column) for column in COLUMNS] for score in scores)

    async def close(self) -> None:
        return


def open_target(address: str) -> CsvTarget:
    """The target of `csv:FILE`."""
    return CsvTarget(Path(address))
