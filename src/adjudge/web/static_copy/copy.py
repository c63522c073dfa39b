"""Writing a static copy: the pages of one run, or of all runs that have ended, into a folder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from ...data.labels import LabelFile
from ...errors import StoreError
from ...store import open_store
from ..context import Context
from .crawl import Crawl, OnProgress
from .folder import check_target, finish_folder, new_folder, put_in_place
from .hidden_paths import hidden_paths
from .limits import MOST_ITEMS, LeftOut, Limits
from .shared_texts import SharedTexts


class Written(Struct, frozen=True):
    """What a copy has."""

    runs: tuple[str, ...]
    n_pages: int
    n_bytes: int
    left_out: tuple[LeftOut, ...]
    running: tuple[str, ...]
    """runs that are not in the copy because they had not ended"""
    is_capped: bool = False
    """whether pages of a kind were too many to copy all"""


def write_copy(
    store_path: Path,
    run: str | None,
    folder: Path,
    *,
    most_items: int = MOST_ITEMS,
    given: LabelFile | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> Written:
    """Write the pages of one run, or of all runs that have
    ended, into a new folder or in place of an earlier copy.
    """
    with open_store(store_path, write=False) as store:
        known = store.runs()
        wanted = known if run is None else [store.run(run)]
    ended = [one for one in wanted if one.status != "running"]
    running = tuple(one.name for one in wanted if one.status == "running")
    if not ended:
        raise StoreError(_nothing_ended(store_path, running))
    check_target(folder)
    context = Context(store_path, given)
    context.limits = Limits(tuple(one.name for one in ended), most_items)
    context.shared_texts = SharedTexts()
    with new_folder(folder) as part:
        crawl = Crawl(context, part, hidden_paths(store_path, ended), on_progress)
        asyncio.run(crawl.run(is_single=run is not None))
        finish_folder(part, crawl.files)
        n_bytes = sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
        put_in_place(part, folder)
    left_out = tuple(crawl.left_out)
    return Written(context.limits.runs, crawl.n_pages, n_bytes, left_out, running, crawl.is_capped)


def _nothing_ended(store_path: Path, running: Sequence[str]) -> str:
    if running:
        return f"Run {running[0]} has not ended, and a copy shows one moment.\nExport it when it has ended."
    return f"{store_path}: the store has no runs to export.\nStart one with `adjudge run`."
