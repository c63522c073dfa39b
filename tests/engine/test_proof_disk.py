"""A disk that is full, a store that cannot be written: the run
stops before it spends more, says so, and goes on later.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fakeserver import Answer, FakeServer, Request, chat
from running import DIRECT, Outcome, answers, ended, model_at, needs_mount, number_in, score_of, started

CONCURRENCY = 4


def verbose(request: Request) -> Answer:
    """A judge whose replies fill a disk: 20 KB each, which no packing makes small."""
    number = number_in(request)
    noise = os.urandom(10_000).hex()
    return chat(f"Feedback: {noise} [RESULT] {score_of(number)}").after(0.005)


def in_a_namespace(script: str, folder: Path, *arguments: str) -> Outcome:
    """A shell script that may mount file systems, with `adjudge` as a function; `$@` is how to run."""
    adjudge = f'adjudge() {{ "{sys.executable}" -c "from adjudge.cli import main; main()" "$@"; }}\n'
    process = subprocess.Popen(
        ["unshare", "-rm", "sh", "-c", adjudge + script, "sh", *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    return ended(process, 240)


def command(folder: Path, server: FakeServer, n: int) -> list[str]:
    items = answers(folder / "items.jsonl", n)
    return [
        "run", str(items), *DIRECT, "-m", model_at(server), "--store", "disk/adjudge.db",
        "--concurrency", str(CONCURRENCY), "-q", "--json",
    ]  # fmt: skip


FILLS_UP = """
mount -t tmpfs -o size=9m tmpfs disk || exit 99
adjudge "$@" > first.txt 2> first.err; echo $? > first.code
cp disk/adjudge.db* saved/
mount -o remount,size=200m disk
adjudge "$@" > again.txt 2> again.err; echo $? > again.code
adjudge export last --store disk/adjudge.db -o export.jsonl
"""

FILLED_BY_ANOTHER = """
mount -t tmpfs -o size=40m tmpfs disk || exit 99
(
  until [ "$(stat -c %s disk/adjudge.db-wal || echo 0)" -gt 1000000 ]; do sleep 0.01; done
  cat /dev/zero > disk/ballast
) > /dev/null 2>&1 &
adjudge "$@" > first.txt 2> first.err; echo $? > first.code
kill $! 2> /dev/null
cp disk/adjudge.db* saved/
rm -f disk/ballast
adjudge "$@" > again.txt 2> again.err; echo $? > again.code
adjudge export last --store disk/adjudge.db -o export.jsonl
"""


def n_replies(store: Path) -> int:
    from adjudge.store import open_store

    with open_store(store) as opened:
        assert opened.verify() == []
        return opened.totals(opened.run("last")).replies


@pytest.mark.slow
@needs_mount
@pytest.mark.parametrize(("script", "n"), [(FILLS_UP, 400), (FILLED_BY_ANOTHER, 800)])
def test_a_full_disk_stops_the_run_before_it_spends_more_and_the_run_goes_on(
    script: str, n: int, tmp_path: Path
) -> None:
    for name in ("disk", "saved"):
        (tmp_path / name).mkdir()
    with FakeServer(verbose, keep=0) as server:
        done = in_a_namespace(script, tmp_path, *command(tmp_path, server, n))
        n_requests = server.n_requests
    assert done.code == 0, done.err
    first, again = ((tmp_path / f"{name}.code").read_text().strip() for name in ("first", "again"))
    message = (tmp_path / "first.err").read_text()
    assert first == "2", message
    assert "disk/adjudge.db" in message
    assert "Traceback" not in message
    assert again == "0", (tmp_path / "again.err").read_text()
    assert len((tmp_path / "export.jsonl").read_text().splitlines()) == n
    n_kept = n_replies(tmp_path / "saved" / "adjudge.db")
    assert 0 < n_kept < n
    assert n_requests <= n + CONCURRENCY, "what could not be stored was in flight"


@needs_mount
def test_a_store_on_a_disk_that_can_only_be_read_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    script = 'mount --bind disk disk && mount -o remount,ro,bind disk || exit 99\nadjudge "$@"'
    with FakeServer(verbose, keep=0) as server:
        done = in_a_namespace(script, tmp_path, *command(tmp_path, server, 5))
        assert server.n_requests == 0
    assert done.code == 2
    assert "disk/adjudge.db" in done.err
    assert "--store" in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux") or (os.geteuid() == 0 and shutil.which("setpriv") is None),
    reason="nothing is forbidden to root here",
)
@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_store_without_permission_is_refused_before_anything_is_asked(what: str, tmp_path: Path) -> None:
    """Root may write everywhere; without its capabilities it is bound by permissions as anybody is."""
    disk = tmp_path / "disk"
    disk.mkdir()
    with FakeServer(verbose, keep=0) as server:
        given = command(tmp_path, server, 3)
        assert ended(started(*given, cwd=tmp_path)).code == 0
        n_before = server.n_requests
        # Readers leave an empty log and its index behind; with both there, the folder need not be written.
        for left in disk.glob("adjudge.db-*"):
            left.unlink()
        forbidden = disk if what == "folder" else disk / "adjudge.db"
        forbidden.chmod(0o500 if what == "folder" else 0o400)
        items = answers(tmp_path / "items.jsonl", 6)
        assert str(items) == given[1]
        as_anybody = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
        process = subprocess.Popen(
            [*as_anybody, sys.executable, "-c", "from adjudge.cli import main; main()", *given],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        done = ended(process)
        forbidden.chmod(0o700)
        assert server.n_requests == n_before
        assert done.code == 2, done.out
        assert "disk/adjudge.db" in done.err
        assert "Traceback" not in done.err
        assert ended(started(*given, cwd=tmp_path)).code == 0
        assert server.n_requests == n_before + 3
