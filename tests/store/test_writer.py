"""A full disk, for real: the store says so, loses nothing
that it had confirmed, and goes on when there is room.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from test_store_records import a_call

from adjudge.store import open_store
from running import needs_mount

# Runs in a process of its own. Says how many replies were confirmed before the error, and the error.
FILL = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from adjudge.errors import StoreError
from adjudge.store import open_store, store as store_module
from test_store_records import a_call, a_judgment, a_reply, started
store_module.RESERVE_BYTES = {reserve}

async def fill(store):
    run = started(store)
    confirmed = 0
    try:
        for number in range(100_000):
            call = a_call(number)
            await store.claim([call])
            noise = "".join(chr(33 + (number * i * 7919) % 90) for i in range(3000))
            await store.put(run, number, 0, call, a_reply(call, text=noise), a_judgment(call))
            confirmed += 1
    except StoreError as error:
        print(confirmed)
        print(error)

before()
try:
    with open_store({path!r}) as store:
        asyncio.run(fill(store))
except StoreError as error:
    print(0)
    print(error)
after()
"""


def filled(
    path: Path, *, before: str, after: str, reserve: int, command: tuple[str, ...] = ()
) -> tuple[int, str]:
    code = f"def before():\n    {before}\ndef after():\n    {after}\n"
    code += FILL.format(tests=str(Path(__file__).parent), path=str(path), reserve=reserve)
    done = subprocess.run([*command, sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    confirmed, _, message = done.stdout.partition("\n")
    return int(confirmed), message


def check_confirmed(path: Path, confirmed: int) -> None:
    with open_store(path) as store:
        run = store.run("first")
        assert run.status == "interrupted"
        assert store.verify() == []
        assert len(store.reply_for([a_call(number).key for number in range(confirmed)])) == confirmed
        assert len(store.finished(run, 0, confirmed)) in (confirmed, confirmed + 1)


def test_a_file_that_may_not_grow_stops_the_store_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1_700_000, 1_700_000))"
    confirmed, message = filled(path, before=limit, after="pass", reserve=0)
    assert confirmed > 50
    assert "failed to read or write" in message
    assert "Check the disk, its free space" in message
    check_confirmed(path, confirmed)


def on_a_small_disk(tmp_path: Path, *, size: str, reserve: int) -> tuple[int, str, Path]:
    """Fill a store on a file system of its own, and bring the files out before it vanishes."""
    small, saved = tmp_path / "small", tmp_path / "saved"
    small.mkdir()
    saved.mkdir()
    mount = f'mount -t tmpfs -o size={size} tmpfs {small} && exec "$@"'
    confirmed, message = filled(
        small / "s.db",
        before="pass",
        after=f"import shutil; shutil.copytree({str(small)!r}, {str(saved)!r}, dirs_exist_ok=True)",
        reserve=reserve,
        command=("unshare", "-rm", "sh", "-c", mount, "sh"),
    )
    assert list(small.iterdir()) == []
    return confirmed, message, saved / "s.db"


@needs_mount
def test_a_full_disk_stops_the_store_and_loses_nothing(tmp_path: Path) -> None:
    confirmed, message, path = on_a_small_disk(tmp_path, size="2m", reserve=0)
    assert confirmed > 50
    assert "the disk is full" in message
    assert "Free some space, then run the same command again" in message
    check_confirmed(path, confirmed)


@needs_mount
def test_nothing_more_is_asked_while_there_is_still_room_for_the_replies_in_flight(tmp_path: Path) -> None:
    confirmed, message, path = on_a_small_disk(tmp_path, size="8m", reserve=4 << 20)
    assert confirmed > 50
    assert "nearly full" in message
    assert sum(file.stat().st_size for file in path.parent.iterdir()) < 5 << 20
    check_confirmed(path, confirmed)


@needs_mount
def test_a_disk_without_room_for_a_new_store_is_named(tmp_path: Path) -> None:
    confirmed, message, _ = on_a_small_disk(tmp_path, size="16k", reserve=0)
    assert confirmed == 0
    assert "full" in message or "failed to read or write" in message


@needs_mount
def test_a_disk_that_can_only_be_read_is_named(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    open_store(disk / "s.db").close()
    mount = f'mount --bind {disk} {disk} && mount -o remount,ro,bind {disk} && exec "$@"'
    confirmed, message = filled(
        disk / "s.db",
        before="pass",
        after=f"print([run.name for run in open_store({str(disk / 's.db')!r}, write=False).runs()])",
        reserve=0,
        command=("unshare", "-rm", "sh", "-c", mount, "sh"),
    )
    assert confirmed == 0
    assert "cannot be written" in message or "cannot be opened" in message
    assert message.rstrip().endswith("[]")  # what cannot be written can still be read
