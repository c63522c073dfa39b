"""A stranger's run file: it uses no variable, host or file outside its folder before the user has said so."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adjudge.errors import DataError
from adjudge.run_file.read import read_run_file
from fakeserver import FakeServer, chat
from running import adjudge, model_at, write_rows

RUN = '[runs.r]\nitems = "items.jsonl"\ncriterion = "Is it polite?"\nmodels = ["m"]\n'
ITEMS = [{"id": "1", "task": "Say hello.", "response": "Hello!"}]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with items, and a place of its own for what is confirmed."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    write_rows(project / "items.jsonl", ITEMS)
    return project


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(lambda _request: chat("Score: 4")) as server:
        yield server


def written(text: str) -> Path:
    path = Path("adjudge.toml")
    path.write_text(text, encoding="utf-8")
    return path


def wanted(text: str) -> list[str]:
    """What a file wants, as the refusal lists it; nothing where it is read without a question."""
    try:
        read_run_file(written(text))
    except DataError as error:
        return [line.strip() for line in str(error).splitlines() if line.startswith("  ")]
    return []


@pytest.mark.parametrize(
    "command",
    [
        ("run", "r", "-q"),
        ("run", "r", "--dry-run"),
        ("audit", "items.jsonl", "--criterion", "Is it?", "-m", "m"),
        ("models", "test", "m"),
        ("gate", "r", "--min", "score=1"),
    ],
)
def test_no_command_sends_a_variable_of_a_file_that_is_not_confirmed(
    place: Path, server: FakeServer, command: tuple[str, ...]
) -> None:
    written(
        f'[models.m]\nmodel = "{model_at(server)}"\nkey_env = "MY_SECRET"\nheaders = {{ X = "$OTHER" '
        f"}}\n{RUN}"
    )
    done = adjudge(*command, MY_SECRET="canary-111111111111", OTHER="canary-222222222222")
    assert done.code == 2
    for named in ("--trust-run-file", "ADJUDGE_TRUST_RUN_FILE=1", server.url, "MY_SECRET", "OTHER"):
        assert named in done.err
    assert not server.requests
    assert "canary" not in done.out + done.err
    assert sorted(path.name for path in place.iterdir()) == ["adjudge.toml", "items.jsonl"]


def test_a_flag_or_a_variable_trusts_the_file_for_one_command(place: Path, server: FakeServer) -> None:
    written(f'[models.m]\nmodel = "{model_at(server)}"\nkey_env = "MY_SECRET"\n{RUN}')
    secret = {"MY_SECRET": "canary-111111111111"}
    assert adjudge("run", "r", "-q", "--trust-run-file", **secret).code == 0
    assert adjudge("run", "r", "-q", **secret).code == 2
    assert adjudge("run", "r", "-q", ADJUDGE_TRUST_RUN_FILE="1", **secret).code == 0
    assert adjudge("run", "r", "-q", ADJUDGE_TRUST_RUN_FILE="0", **secret).code == 2
    assert place


def in_terminal(answer: str, *arguments: str) -> tuple[int, str]:
    """The exit code and the output of a command on a terminal, where the user types an answer."""
    ours, theirs = pty.openpty()
    script = "from adjudge.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    shown = b""
    while True:
        try:
            block = os.read(ours, 65536)
        except OSError:  # the other end is closed: the command has ended
            break
        if not block:
            break
        shown += block
    os.close(ours)
    return process.wait(), shown.decode()


@pytest.mark.slow
def test_a_set_of_names_is_confirmed_once_and_not_for_every_edit(place: Path, server: FakeServer) -> None:
    text = f'[models.m]\nmodel = "{model_at(server)}"\n{RUN}'
    file = written(text)
    code, shown = in_terminal("n", "run", "r", "-q")
    assert code == 2
    assert f"call {server.url}" in shown
    assert not server.requests
    assert in_terminal("y", "run", "r", "-q")[0] == 0
    assert adjudge("run", "r", "-q").code == 0

    file.write_text(text.replace("polite", "short").replace("#judge", "#other"), encoding="utf-8")
    assert adjudge("run", "r", "-q", "--run", "other").code == 0
    file.write_text(text.replace(RUN, f'key_env = "MY_SECRET"\n{RUN}'), encoding="utf-8")
    refused = adjudge("run", "r", "-q", "--run", "third", MY_SECRET="canary-111111111111")
    assert refused.code == 2
    assert f"send MY_SECRET to {server.url}" in refused.err
    assert not list(place.glob("*.json"))


def test_a_confirmation_is_for_one_file_and_only_its_user_can_read_it(
    place: Path, server: FakeServer
) -> None:
    text = f'[models.m]\nmodel = "{model_at(server)}"\n{RUN}'
    read_run_file(written(text), lambda _file, _names: True)
    (kept,) = (place.parent / "data").rglob("*.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert wanted(text) == []
    other = place / "other.toml"
    other.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="not confirmed"):
        read_run_file(other)
    kept.write_bytes(b"{broken")
    assert wanted(text) == [f"call {server.url}"]


def test_what_init_wrote_here_is_not_asked_about(place: Path, server: FakeServer) -> None:
    write_rows(place.parent / "outside.jsonl", ITEMS)
    done = adjudge("init", "../outside.jsonl", "--yes", "-m", model_at(server))
    assert done.code == 0, done.err
    assert adjudge("run", "-q").code == 0
    assert server.requests


@pytest.mark.parametrize(
    "model",
    [
        'model = "openai:x"',
        'model = "openai:x"\nkey_env = "OPENAI_API_KEY"',
        'model = "anthropic:x"\nheaders = { X-Team = "search" }',
        'model = "bedrock:x"\nkey_env = "AWS_BEARER_TOKEN_BEDROCK"',
        'model = "ollama:x"',
        'model = "local"',
        'model = "fake:text=Score: 4"',
        'model = "replay:replies.jsonl"',
    ],
)
def test_providers_by_name_with_their_own_key_need_no_question(place: Path, model: str) -> None:
    assert wanted(f"[models.m]\n{model}\n{RUN}") == []
    assert place


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ('model = "http://a:1/v1#x"', ["call http://a:1"]),
        ('model = "http://a:1/v1,https://b/v1#x"', ["call http://a:1", "call https://b"]),
        ('model = "decisions+http://a/v1#x"', ["call http://a"]),
        ('model = "openai:x"\nkey_env = "AWS_SECRET_ACCESS_KEY"', ["send AWS_SECRET_ACCESS_KEY to openai"]),
        ('model = "openai:x"\nkey_env = "HOME"', ["send HOME to openai"]),
        ('model = "ollama:x"\nkey_env = "OPENAI_API_KEY"', ["send OPENAI_API_KEY to ollama"]),
        ('model = "openai:x"\nheaders = { X = "${GITHUB_TOKEN}" }', ["send GITHUB_TOKEN to openai"]),
        ('model = "local:/models/x.gguf"', ["read /models/x.gguf"]),
        ('model = "replay:../replies.jsonl"', ["read {parent}/replies.jsonl"]),
        ('model = "openai:x"\nmap_scores = "/etc/map.toml"', ["read /etc/map.toml"]),
        ('model = "unheard:x"', ["call unheard:x"]),
    ],
)
def test_names_of_a_model_outside_the_folder_are_shown(place: Path, model: str, names: list[str]) -> None:
    assert wanted(f"[models.m]\n{model}\n{RUN}") == [name.format(parent=place.parent) for name in names]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('items = "/etc/passwd"', "read /etc/passwd"),
        ('items = "../secret.csv"', "read {parent}/secret.csv"),
        ('items = "link.csv"', "read {parent}/secret.csv"),
        ('items = "folder/../../secret.csv"', "read {parent}/secret.csv"),
        ('items = "hf://datasets/a/b.parquet"', "call hf://datasets/a/b.parquet"),
        ('rubric = ["/etc/rubric.toml"]', "read /etc/rubric.toml"),
        ('examples = "../secret.csv"', "read {parent}/secret.csv"),
        ('steps = "/etc/passwd"', "read /etc/passwd"),
        ('protocol = "../protocol"', "read {parent}/protocol"),
        ('map_scores = "../secret.csv"', "read {parent}/secret.csv"),
        ('judge = [{{ criterion = "c", steps = "/etc/passwd" }}]', "read /etc/passwd"),
        ('judge = [{{ criterion = "c", rubric = "../r.toml" }}]', "read {parent}/r.toml"),
        ('judge = [{{ criterion = "c", examples = "../e.jsonl" }}]', "read {parent}/e.jsonl"),
        ('judge = [{{ protocol = "../protocol" }}]', "read {parent}/protocol"),
        ('store = "/var/store.db"', "write /var/store.db"),
        ('store = "../store.db"', "write {parent}/store.db"),
        ('ray = "ray://cluster:10001"', "call Ray at ray://cluster:10001"),
        ('models = ["x=http://a/v1#x"]', "call http://a"),
        ('models = ["openai:x"]\nkey_env = "HOME"', "send HOME to openai"),
        ('models = ["replay:/r.jsonl"]', "read /r.jsonl"),
    ],
)
def test_names_of_a_run_outside_the_folder_are_shown(place: Path, line: str, name: str) -> None:
    (place.parent / "protocol").mkdir()
    (place / "folder").mkdir()
    (place / "link.csv").symlink_to("../secret.csv")
    assert wanted(f"[runs.r]\n{line.format()}\n") == [name.format(parent=place.parent)]


@pytest.mark.parametrize("key", ["labels", "baseline_labels", "baseline_store"])
@pytest.mark.parametrize("table", ["gate", "gate.r"])
def test_files_of_a_gate_outside_the_folder_are_shown(place: Path, table: str, key: str) -> None:
    assert wanted(f'[{table}]\n{key} = "/etc/passwd"\n') == ["read /etc/passwd"]
    assert wanted(f'[{table}]\n{key} = "labels.csv"\n') == []
    assert wanted('[gate]\nlabels = "store"\n') == []
    assert place


@pytest.mark.usefixtures("place")
def test_a_hub_in_the_gate_is_shown_with_the_token_that_it_would_get() -> None:
    assert wanted('[gate]\nbaseline = "https://judges.example.org/main"\nmax_drop = { tact = 0.2 }') == [
        "call https://judges.example.org",
        "send ADJUDGE_HUB_TOKEN to https://judges.example.org",
    ]


@pytest.mark.usefixtures("place")
def test_the_model_of_a_plugin_is_shown() -> None:
    assert wanted('[models.judge]\nmodel = "acme:m"') == ["call acme:m"]


def test_a_pipe_in_the_folder_is_refused(place: Path) -> None:
    os.mkfifo(place / "pipe.jsonl")
    with pytest.raises(DataError, match="not a regular file"):
        read_run_file(written('[runs.r]\nitems = "pipe.jsonl"\n'))


def test_names_cannot_act_on_the_terminal(place: Path) -> None:
    (line,) = wanted('[runs.r]\nitems = "/etc/\\u001b[2Jx"\n')
    assert "\x1b" not in line
    assert place


# A provider's key


@pytest.mark.parametrize(
    "setting", ['key_env = "OPENAI_API_KEY"', 'headers = { Authorization = "$OPENAI_API_KEY" }']
)
def test_a_providers_key_goes_to_no_other_host_even_where_the_file_is_trusted(
    place: Path, server: FakeServer, setting: str
) -> None:
    written(f'[models.m]\nmodel = "{model_at(server)}"\n{setting}\n{RUN}')
    for command in (("run", "r", "-q"), ("models", "test", "m")):
        done = adjudge(*command, "--trust-run-file", OPENAI_API_KEY="canary-111111111111")
        assert done.code == 2
        assert "OPENAI_API_KEY" in done.err
        assert "--key-env m=OPENAI_API_KEY" in done.err
    assert not server.requests
    assert place


def test_the_user_may_send_a_providers_key_elsewhere(place: Path, server: FakeServer) -> None:
    written(f'[models.m]\nmodel = "{model_at(server)}"\nkey_env = "OPENAI_API_KEY"\n{RUN}')
    key = {"OPENAI_API_KEY": "canary-111111111111"}
    by_flag = adjudge("run", "r", "-q", "--trust-run-file", "--key-env", "m=OPENAI_API_KEY", **key)
    assert by_flag.code == 0, by_flag.err
    by_address = adjudge(
        "run", "r", "-q", "--run", "two", "--trust-run-file", OPENAI_BASE_URL=f"{server.url}/v1", **key
    )
    assert by_address.code == 0, by_address.err
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer canary-111111111111"}
    assert place


def test_the_key_of_a_run_goes_to_its_own_provider_too(place: Path, server: FakeServer) -> None:
    run = RUN.replace('models = ["m"]', f'models = ["{model_at(server)}"]\nkey_env = "ANTHROPIC_API_KEY"')
    written(run)
    done = adjudge("run", "r", "-q", "--trust-run-file", ANTHROPIC_API_KEY="canary-111111111111")
    assert done.code == 2
    assert "ANTHROPIC_API_KEY" in done.err
    assert not server.requests
    assert place
