"""Judge cards and rankings that are kept on disk between two starts of the server."""

from __future__ import annotations

import contextlib
import os
import tempfile
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from ..store import RunRow, Store
from ..store.browsing import labels_state, reading_of, reviews_state
from .context import Context

if TYPE_CHECKING:
    from ..analysis.brief.brief import Estimates
    from ..analysis.report.summary import Summary
    from ..analysis.run_view.run_view import RunView


_MOST_KEPT = 200


class Kept:
    """Judge cards and rankings on disk, so that a page does not wait for them again after a restart.

    A file is named by a hash of everything that the estimates depend on: the store, the run and its
    judgments, the labels and the code. It lies in the user's cache folder, readable by this user alone; what
    cannot be read is estimated again.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._folder = _cache_folder()

    def estimates(self, store: Store, view: RunView, summary: Summary) -> Estimates:
        """The estimates of a run as it is now, kept or new."""
        import msgspec

        from ..analysis.brief.brief import Estimates, estimates_of

        assert view.run is not None
        path = self._folder / f"{self._name(store, view.run)}.msgpack"
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.msgpack.decode(path.read_bytes(), type=Estimates)
        estimates = estimates_of(store, view, summary, self._context.given)
        if view.run.status != "running" and (estimates.card is not None or estimates.ranking is not None):
            with contextlib.suppress(OSError):
                self._keep(path, msgspec.msgpack.encode(estimates))
        return estimates

    def _name(self, store: Store, run: RunRow) -> str:
        import msgspec

        given = b"" if self._context.given is None else msgspec.json.encode(self._context.given)
        facts = (
            str(self._context.store_path.resolve()),
            structs.asdict(run),
            reading_of(store, run),
            labels_state(store),
            reviews_state(store),
            structs.asdict(self._context.totals(store, run)),
            blake2b(given).hexdigest(),
            _code_state(),
        )
        return blake2b(repr(facts).encode("utf-8", "backslashreplace"), digest_size=20).hexdigest()

    def _keep(self, path: Path, data: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._folder)  # readable by this user alone
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
        kept = sorted(self._folder.glob("*.msgpack"), key=lambda one: one.stat().st_mtime)
        for oldest in kept[:-_MOST_KEPT]:
            oldest.unlink(missing_ok=True)


def _cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(home) if home else Path.home() / ".cache") / "adjudge" / "estimates"


@cache
def _code_state() -> int:
    """Changes with the code: an update must not show estimates of an older version."""
    package = Path(__file__).parents[1]
    return max(path.stat().st_mtime_ns for path in package.rglob("*.py"))
