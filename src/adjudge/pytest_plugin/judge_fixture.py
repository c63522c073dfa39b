"""The fixture `judge`: a judge without a protocol, whose runs are named after the tests that use it.

Does not import pytest. Each use of `judge` or `judge.many` is one run, named after the test and a hash of all
that is asked: the same test resumes its run, a changed one starts another.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..engine.live_run import LiveItems, LiveJudgments
from ..engine.request import Models
from ..errors import ModelError
from ..judge.judge import AskedItems, Judge, settings_hash
from ..judge.progress_bar import ProgressBar
from ..judge.verdict import Verdicts
from ..models import Model, parse_model
from ..models.destinations import FILE_FORMS
from ..records import Protocol

RUN_PREFIX = "pytest/"


class Use(Struct, frozen=True):
    """One use of `judge` in a test, for the summary and the message of a failed test."""

    verdicts: Verdicts
    is_many: bool
    asked: int
    from_store: int
    cost_usd: float


class CurrentTest:
    """The running test, and its uses of `judge`."""

    def __init__(self, nodeid: str = "") -> None:
        self.nodeid = nodeid
        self.n_items = 0
        self.uses: list[Use] = []
        self._n_taken = 0

    def next_id(self) -> str:
        """The id of an item without one: the test's, numbered from the second item on."""
        self.n_items += 1
        return self.nodeid or "item" if self.n_items == 1 else f"{self.nodeid or 'item'} #{self.n_items}"

    def take_new(self) -> list[Use]:
        """The uses since the last call: in the setup, in the test itself."""
        new, self._n_taken = self.uses[self._n_taken :], len(self.uses)
        return new


class Configured(Struct, frozen=True):
    """The model and store that pytest was configured with, and the folder for relative paths."""

    model: str | None
    store: Path
    root: Path


class JudgeInTests(Judge):
    """The value of the fixture `judge`."""

    def __init__(self, configured: Configured, current: Callable[[], CurrentTest]) -> None:
        super().__init__(store=configured.store)
        self._configured, self._current = configured, current
        self._kept: dict[str, Model] = {}

    def __repr__(self) -> str:
        return "judge"

    def __copy__(self) -> Judge:
        return self  # a test's uses are counted in one object

    def close_all(self) -> None:
        """Close the models, and the thread that asks them."""
        self.close()
        for model in self._kept.values():
            _close_in_thread(model)
        self._kept.clear()

    def _items(self, items: LiveItems) -> LiveItems:
        return self._resolved(items) if isinstance(items, str | Path) else items

    def _with_id(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return dict(row) if row.get("id") is not None else {**row, "id": self._current().next_id()}

    def _resolved(self, path: Any) -> Any:
        """A relative path, from the folder that pytest was started in or from the root folder."""
        from_root = self._configured.root / path
        is_there = Path(path).is_absolute() or Path(path).exists() or not from_root.exists()
        return path if is_there else from_root

    def _models(self, given: Models | None, options: Mapping[str, Any]) -> Models:
        """The model. One without a network is kept for all tests: a script continues, a file is read once."""
        __tracebackhide__ = True
        if given is not None and not isinstance(given, str):
            return given
        name = given or self._configured.model
        if not name:
            raise ModelError(
                "no judge model is set. Set one with --adjudge-model, with adjudge_model in pytest's "
                "configuration, in the variable ADJUDGE_MODEL, or as judge(…, model=…)."
            )
        where = with_absolute_file(name, self._configured.root, Path.cwd() if given else None)
        key = f"{where} {options.get('price')}"
        if key not in self._kept:
            price = options.get("price")
            model = parse_model(where, price=None if isinstance(price, Mapping) else price)
            if model.needs_network:
                return name  # connections belong to the event loop of one run
            model.name = model.spec = name
            self._kept[key] = model
        return self._kept[key]

    def _run_name(
        self, protocol: Protocol, models: Models, items: LiveItems, options: Mapping[str, Any]
    ) -> str:
        """pytest/TEST/HASH, where the hash covers the test and its items too."""
        nodeid = self._current().nodeid
        if isinstance(items, str | Path):
            is_file = Path(items).is_file()
            content = hashlib.sha256(Path(items).read_bytes()).hexdigest() if is_file else str(items)
        else:
            content = repr(list(items))
        test = re.sub(r"[^\w.-]+", "-", nodeid.rpartition("::")[2].partition("[")[0]) or "session"
        return f"{RUN_PREFIX}{test}/{settings_hash(protocol, models, options, nodeid, content)}"

    async def _judged(self, asked: AskedItems, bar: ProgressBar | None) -> LiveJudgments:
        try:
            return await super()._judged(asked, bar)
        finally:
            await self._thread.end(asked.request)  # no other use has this run

    def _verdicts(self, asked: AskedItems, judged: LiveJudgments) -> Verdicts:
        verdicts = super()._verdicts(asked, judged)
        progress = judged.progress
        n_sent = progress.done - progress.cached + progress.further
        use = Use(verdicts, asked.is_many, n_sent, progress.cached, progress.cost_usd)
        self._current().uses.append(use)
        return verdicts


def with_absolute_file(spec: str, folder: Path, first: Path | None = None) -> str:
    """The name of a model with the path of its file made absolute:
    in `first` where it exists there, else in `folder`.
    """
    for form in FILE_FORMS:
        if spec.startswith(form):
            path = os.path.expanduser(spec.removeprefix(form))
            if first is not None and (first / path).exists():
                folder = first
            return f"{form}{os.path.join(folder, path)}"
    return spec


def _close_in_thread(model: Model) -> None:
    """Close a model in the event loop of another thread, so that the test's loop is not affected."""
    import asyncio

    thread = threading.Thread(target=lambda: asyncio.run(model.close()), name="adjudge-close")
    thread.start()
    thread.join()
