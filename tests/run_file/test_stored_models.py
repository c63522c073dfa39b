"""A stranger's store: the hosts that its runs name are asked only after the user has confirmed them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import adjudge
from adjudge.errors import DataError
from adjudge.models.destinations import names_outside
from fakeserver import FakeServer, chat
from running import adjudge as command
from running import model_at, write_rows

JUDGE = ("--criterion", "Is it polite?")
ITEMS = [{"id": f"i{k}", "task": "Say hello.", "response": f"Hello {k}!"} for k in range(40)]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(lambda _request: chat("Score: 4")) as server:
        yield server


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeServer) -> Path:
    """A folder with a store and a cascade that another account made with a host of its choice."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "theirs"))
    write_rows(folder / "items.jsonl", ITEMS)
    write_rows(
        folder / "labels.jsonl",
        [{"item": row["id"], "criterion": "score", "rater": "r", "value": 4} for row in ITEMS],
    )
    done = command("run", "items.jsonl", *JUDGE, "-m", model_at(server), "--run", "cheap", "-q")
    assert done.code == 0, done.err
    run = json.loads(command("runs", "--json").out)[0]
    (folder / "cascade.toml").write_text(
        'agree = 0.9\nrisk = 0.1\ncriterion = "score"\nn_labels = 40\n\n[[stages]]\nrun = "cheap"\n'
        f'model = "{model_at(server)}"\nprotocol = "{run["protocols"][0]}"\nconfidence = "stated"\n'
        "threshold = 0.5\n",
        encoding="utf-8",
    )
    server.requests.clear()
    return folder


COMMANDS = {
    "cascade": ("run", "items.jsonl", "--cascade", "cascade.toml", "--run", "night", "-q"),
    "tune": ("tune", "cheap", "--samples", "1,2", "--labels", "labels.jsonl"),
    "proposals": ("tune", "cheap", "--rounds", "1", "--labels", "labels.jsonl"),
    "serve": ("serve", "--cascade", "cascade.toml"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_asks_the_host_of_a_stored_run_that_is_not_confirmed(
    stranger: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "mine"))
    before = sorted(path.name for path in stranger.iterdir())
    done = command(*COMMANDS[name])
    assert done.code == 2, done.err
    for part in ("adjudge.db", f"call {server.url}", "--trust-run-file", "ADJUDGE_TRUST_RUN_FILE=1"):
        assert part in done.err
    assert not server.requests
    assert sorted(path.name for path in stranger.iterdir()) == before


@pytest.mark.usefixtures("stranger")
def test_a_judge_of_a_cascade_asks_no_unconfirmed_host(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "mine"))
    with pytest.raises(DataError, match="ADJUDGE_TRUST_RUN_FILE=1"):
        adjudge.Judge(cascade="cascade.toml")(task="Say hello.", response="Hi.")
    assert not server.requests


@pytest.mark.parametrize("trust", [("--trust-run-file",), ()])
def test_a_host_that_the_user_trusts_or_has_asked_before_is_asked(
    stranger: Path,
    server: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    trust: tuple[str, ...],
) -> None:
    if trust:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "mine"))
    write_rows(stranger / "new.jsonl", [{"id": "n", "task": "Say hello.", "response": "Good day."}])
    done = command("run", "new.jsonl", "--cascade", "cascade.toml", "--run", "night", "-q", *trust)
    assert done.code == 0, done.err
    assert server.requests


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("openai:gpt", []),
        ("local", []),
        ("fake:text=Score: 4", []),
        ("replay:replies.jsonl", []),
        ("replay:/etc/passwd", ["read /etc/passwd"]),
        ("fast=http://u.example/v1#m", ["call http://u.example"]),
        ("http://a/v1,http://b/v1#m", ["call http://a", "call http://b"]),
        ("decisions+https://d.example/v1#m", ["call https://d.example"]),
        ("azure:deployment", []),
        ("azure:stranger/deployment", ["call https://stranger.openai.azure.com"]),
        ("acme:m", ["call acme:m"]),
    ],
)
def test_what_a_model_reaches_outside_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, names: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    assert names_outside([spec], tmp_path / "adjudge.db") == names
