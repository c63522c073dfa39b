"""Through how many files one item goes: inside the loop of a run, and over run, report, trust and gate.

Counts the files of the package in which a function is entered, in any thread, for one item that is judged by
a fake model and by a model behind HTTP (the tests' fake server). A file that is only imported does not count.

    python bench/path.py [--files]

Prints one line per path; with `--files` also the names of the files.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import adjudge  # noqa: E402
from adjudge.engine.loop import Loop  # noqa: E402
from running import DIRECT, answers, judge_host, model_at  # noqa: E402
from running import adjudge as command  # noqa: E402

PACKAGE = f"{Path(adjudge.__file__).parent}/"
FAKE = "fake:text=Feedback: good. [RESULT] 4"


class Recorder:
    """Notes the files in which functions are entered while one of its sets is open."""

    def __init__(self) -> None:
        self._open: list[tuple[set[str], set[FrameType]]] = []
        threading.setprofile(self._entered)
        sys.setprofile(self._entered)

    def _entered(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name != "<module>":
            for files, callers in self._open:
                if frame not in callers:
                    files.add(code.co_filename.removeprefix(PACKAGE))

    @contextlib.contextmanager
    def recorded(self, files: set[str]) -> Iterator[None]:
        # The coroutines that wait for this one are entered again at every step: they are not on the item's
        # way.
        callers = {frame for frame, _ in traceback.walk_stack(None)}
        self._open.append((files, callers))
        try:
            yield
        finally:
            self._open.remove((files, callers))


def record_loop(recorder: Recorder, files: set[str]) -> None:
    """Note what every loop of a run enters from now on."""
    run = Loop.run

    async def recorded_run(self: Loop, items: Iterable[Any], total: int) -> None:
        with recorder.recorded(files):
            await run(self, items, total)

    Loop.run = recorded_run  # type: ignore[method-assign]


def check(*arguments: str | Path) -> None:
    outcome = command(*arguments)
    # Too few labels or items are no obstacle: what counts is the way there.
    assert outcome.code in (0, 3), outcome.err


def measured() -> dict[str, set[str]]:
    """The files on each path."""
    recorder = Recorder()
    in_loop: set[str] = set()
    record_loop(recorder, in_loop)
    paths: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as name, judge_host() as server:
        folder = Path(name)
        models = {"a fake model": FAKE, "a model behind HTTP": model_at(server)}
        for number, (title, model) in enumerate(models.items()):
            in_loop.clear()
            # Another item each time: what is cached for a text is computed again.
            items = answers(folder / f"items{number}.jsonl", 1, first=number + 1)
            check("run", items, *DIRECT, "-m", model, "-q", "--store", folder / f"{number}.db")
            paths[f"inside the loop, {title}"] = set(in_loop)
        items = answers(folder / "items.jsonl", 1, first=7)
        labels = folder / "labels.csv"
        labels.write_text("item,criterion,rater,value\ni7,tact,ann,4\n", encoding="utf-8")
        store = ("--store", str(folder / "all.db"))
        entered: set[str] = set()
        with recorder.recorded(entered):
            check("run", items, *DIRECT, "-m", model_at(server), "-q", *store)
            check("report", "last", *store)
            check("trust", "last", "--labels", labels, *store)
            check("gate", "last", "--min", "tact=1", *store)
        paths["run, report, trust and gate"] = entered
    sys.setprofile(None)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", action="store_true", help="print the names of the files too")
    shows_files = parser.parse_args().files
    for title, files in measured().items():
        print(f"{len(files):4} files  {title}")
        if shows_files:
            print("".join(f"            {name}\n" for name in sorted(files)), end="")


if __name__ == "__main__":
    main()
