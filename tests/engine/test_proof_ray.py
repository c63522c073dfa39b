"""Runs on a real Ray of this machine, with the embedded
judge: actors and the run itself are killed in mid-run.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from adjudge.errors import ModelError
from adjudge.models.local.weights import SMOLLM2, pull
from adjudge.store import open_store
from running import ROOT, ended, started

pytestmark = pytest.mark.slow

ITEMS = ROOT / "src" / "adjudge" / "demo" / "items.jsonl"
N_ITEMS = 24
RUN = ("run", ITEMS, "-p", "gptscore/factuality", "-m", "local", "--limit", str(N_ITEMS))
ON_RAY = ("--ray", "--replicas", "2", "--concurrency", "4")


@pytest.fixture(scope="module", autouse=True)
def _needed() -> None:
    for name, extra in (("xllamacpp", "local"), ("ray", "ray")):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"the extra `{extra}` is not installed")
    try:
        pull(SMOLLM2, lambda _text: None)
    except ModelError as error:
        pytest.skip(f"the weights cannot be had: {error}")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The export of the same run without Ray."""
    store = tmp_path_factory.mktemp("alone") / "adjudge.db"
    done = ended(started(*RUN, "--store", store, "-q"))
    assert done.code == 0, done.err
    return exported(store)


def exported(store: Path) -> str:
    done = ended(started("export", "last", "--store", store))
    assert done.code == 0, done.err
    return done.out


def n_stored(store: Path) -> int:
    """How many replies are durable."""
    if not store.exists() or not store.stat().st_size:
        return 0
    with open_store(store, write=False) as opened:
        return sum(opened.totals(run).replies for run in opened.runs())


def wait_for(is_so: Callable[[], bool], seconds: float = 120.0) -> None:
    ends_at = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends_at, "it does not come about"
        time.sleep(0.05)


def descendants(pid: int) -> dict[int, str]:
    """The processes that a process has started, and theirs: pid → command line."""
    parents, commands = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            commands[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            continue
    found: dict[int, str] = {}
    new = [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new and child not in found]
        found |= {child: commands.get(child, "") for child in new}
    return found


def actors_of(process: subprocess.Popen[str]) -> list[int]:
    return [pid for pid, command in descendants(process.pid).items() if command.startswith("ray::Actor")]


def is_alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_two_actors_give_the_same_export_and_print_nothing_of_ray(undisturbed: str, tmp_path: Path) -> None:
    store = tmp_path / "adjudge.db"
    done = ended(started(*RUN, *ON_RAY, "--store", store, "-q", "--json"), 120)
    assert done.code == 0, done.err
    assert done.json["n_calls"] == N_ITEMS  # nothing but JSON on standard output
    assert done.err == ""
    assert exported(store) == undisturbed


def test_an_actor_killed_in_mid_run_loses_nothing(undisturbed: str, tmp_path: Path) -> None:
    store = tmp_path / "adjudge.db"
    process = started(*RUN, *ON_RAY, "--store", store, "-q")
    wait_for(lambda: n_stored(store) >= 5)
    os.kill(actors_of(process)[0], signal.SIGKILL)
    done = ended(process, 120)
    assert done.code == 0, done.err
    assert "1 Ray actor died; its calls were asked again" in done.err
    assert exported(store) == undisturbed


def test_a_killed_run_resumes_with_what_is_missing_and_leaves_no_process(
    undisturbed: str, tmp_path: Path
) -> None:
    store = tmp_path / "adjudge.db"
    command = (*RUN, *ON_RAY, "--store", store)
    process = started(*command)
    wait_for(lambda: n_stored(store) >= 10)
    helpers = list(descendants(process.pid))
    assert helpers
    process.kill()
    process.communicate()
    n_kept = n_stored(store)
    assert n_kept >= 10
    wait_for(lambda: not any(map(is_alive, helpers)), 60)
    assert not [pid for pid in helpers if list(Path("/tmp").glob(f"adjudge-ray-{pid}-*"))]
    done = ended(started(*command, "--json"), 120)
    assert done.code == 0, done.err
    assert f"{n_kept} from the store" in done.err  # the others alone were asked
    assert n_stored(store) == N_ITEMS
    assert exported(store) == undisturbed


def test_ctrl_c_ends_the_run_and_ray_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    store = tmp_path / "adjudge.db"
    process = started(*RUN, *ON_RAY, "--store", store, "-q")
    wait_for(lambda: n_stored(store) >= 2)
    helpers = list(descendants(process.pid))
    process.send_signal(signal.SIGINT)
    done = ended(process, 120)
    assert done.code == 130
    assert done.err.startswith("adjudge: interrupted; all replies received so far are stored.")
    wait_for(lambda: not any(map(is_alive, helpers)), 60)


def test_a_host_that_is_no_ray_cluster_is_given_up_after_the_time_limit(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        command = (*RUN, "--ray", address, "--replicas", "1", "--store", tmp_path / "adjudge.db")
        done = ended(started(*command))
    assert done.code == 2
    assert f"the Ray cluster at {address} cannot be reached: no answer within 20 seconds" in done.err
