"""Plug-ins of other packages: the example package, installed; strangers that want a built-in name."""

from __future__ import annotations

import csv
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudge import plugins
from adjudge.errors import PluginError
from adjudge.models import parse_model
from adjudge.models.local import LocalModel
from adjudge.models.spec import _EMBEDDED, built_in_names
from adjudge.parse.asked.plugin_reader import read_by_plugin
from adjudge.records import Answer, Reading, Scale
from adjudge.store import open_store
from plugin_package import EXAMPLE, install, lay, wheel_of
from running import EXAMPLES, adjudge, write_rows

ROWS = [
    {"id": "a", "task": "Ask for tea.", "response": "Tea, please."},
    {"id": "b", "task": "Ask for tea.", "response": "Tea. Now."},
]
SCALE = Scale(1, 5, 5, 1)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example package is installed."""
    out, target = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("site")
    install(wheel_of(EXAMPLE, out), target)
    return target


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Entry points are looked up once a process; a test changes what is installed."""
    _forget()
    yield
    _forget()
    for name in [name for name in sys.modules if name.split(".")[0] in ("adjudge_example", "stranger")]:
        del sys.modules[name]


def _forget() -> None:
    plugins.plugin.cache_clear()
    plugins.loaded.cache_clear()


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(site))
    return site


def judged(tmp_path: Path, *flags: str) -> Any:
    items = write_rows(tmp_path / "items.jsonl", ROWS)
    done = adjudge("run", items, "--run", "r", "--store", tmp_path / "s.db", *flags)
    assert done.code == 0, done.err
    with open_store(tmp_path / "s.db", write=False) as store:
        manifest = store.run("r").manifest
    rows = adjudge("export", "r", "--store", tmp_path / "s.db", "--format", "jsonl").rows
    return manifest, {row["item"]: row["score"] for row in rows}


@pytest.mark.usefixtures("installed")
def test_a_model_of_a_plugin_judges_and_its_version_is_in_the_manifest(tmp_path: Path) -> None:
    rubric = str(EXAMPLES / "tact.toml")
    manifest, scores = judged(
        tmp_path, "-p", "prometheus/direct", "-m", "keywords:please", "--rubric", rubric
    )
    assert scores == {"a": 5.0, "b": 1.0}
    assert manifest["plugins"] == {"models/keywords:please": "adjudge-example 1.0"}


def protocol_with(folder: Path, answer: str) -> Path:
    folder.mkdir()
    (folder / "user.md").write_text("Rate <response>{{response}}</response>.\n")
    (folder / "protocol.toml").write_text(
        'title = "T"\ntask = "score"\nlanguage = { prompt = "en", reply = "en" }\nsource = "here"\n'
        'inputs = ["response"]\n[[criteria]]\nname = "marks"\n'
        f"scale = {{ low = 1, high = 4, step = 1, best = 4 }}\n{answer}"
    )
    return folder


@pytest.mark.usefixtures("installed")
def test_a_reader_of_a_plugin_reads_and_the_scale_is_checked(tmp_path: Path) -> None:
    settings = '[answer]\nreader = "roman"\n[answer.settings]\nlabel = "Note"\n'
    protocol = protocol_with(tmp_path / "p", settings)
    manifest, scores = judged(tmp_path, "-p", str(protocol), "-m", "fake:text=Fine.\nNote: III")
    assert scores == {"a": 3.0, "b": 3.0}
    assert manifest["plugins"] == {"readers/roman": "adjudge-example 1.0"}
    answer = Answer(reader="roman")
    assert read_by_plugin(answer, "Mark: V", Scale(1, 4, 4, 1)).status == "out_of_range"
    assert read_by_plugin(answer, "Mark: I\nMark: II", SCALE).status == "conflicting"


@pytest.mark.usefixtures("installed")
def test_a_probe_of_a_plugin_is_in_the_audit_and_its_version_in_the_manifest(tmp_path: Path) -> None:
    items = write_rows(tmp_path / "items.jsonl", ROWS)
    done = adjudge(
        "audit", items, "-p", "prometheus/direct", "-m", "fake:text=[RESULT] 4",
        "--rubric", EXAMPLES / "tact.toml", "--probes", "emoji",
        "--run", "a", "--store", tmp_path / "s.db", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    (judge,) = done.json["judges"].values()
    (criterion,) = judge["criteria"].values()
    assert criterion["probes"]["emoji"]["n"] == 2
    with open_store(tmp_path / "s.db", write=False) as store:
        assert store.run("a").manifest["audit"]["plugins"] == {"probes/emoji": "adjudge-example 1.0"}


@pytest.mark.usefixtures("installed")
def test_traces_in_the_format_of_a_plugin_are_items(tmp_path: Path) -> None:
    log = write_rows(tmp_path / "log.jsonl", [{"q": "Tea?", "a": "Yes, please.", "session": "s"}])
    rows = adjudge("traces", log, "--format", "chatlog").rows
    assert rows == [{"task": "Tea?", "response": "Yes, please.", "group": "s"}]
    broken = adjudge("traces", write_rows(tmp_path / "other.jsonl", [{"x": 1}]), "--format", "chatlog")
    assert broken.code == 2
    assert "chatlog" in broken.err


@pytest.mark.usefixtures("installed")
def test_scores_go_to_a_target_of_a_plugin_once(tmp_path: Path) -> None:
    rubric = str(EXAMPLES / "tact.toml")
    judged(tmp_path, "-p", "prometheus/direct", "-m", "keywords:please", "--rubric", rubric)
    table = tmp_path / "scores.csv"
    push = ("push", "r", f"csv:{table}", "--store", tmp_path / "s.db", "--json")
    assert adjudge(*push, "--dry-run").json["written"] == 2
    assert not table.exists()
    assert [adjudge(*push).json["written"] for _ in range(2)] == [2, 0]
    with table.open(encoding="utf-8", newline="") as file:
        assert [(row["trace"], row["value"]) for row in csv.DictReader(file)] == [("a", "5.0"), ("b", "1.0")]


@pytest.mark.usefixtures("installed")
def test_nothing_of_a_plugin_is_imported_before_it_is_named() -> None:
    names = {row["name"] for row in adjudge("plugins", "--json").json}
    assert {"keywords", "roman", "emoji", "chatlog", "csv"} <= names
    parse_model("fake:text=4")
    assert "adjudge_example" not in sys.modules
    parse_model("keywords:tea")
    assert "adjudge_example.models" in sys.modules


def test_a_strangers_plugin_cannot_take_a_built_in_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stranger's module raises when it is imported: nothing built in may import it."""
    (tmp_path / "stranger.py").write_text("raise SystemError('imported')\n")
    taken = dict.fromkeys(built_in_names(), "stranger:x")
    groups = {
        "adjudge.models": taken, "adjudge.readers": {"tag": "stranger:x"},
        "adjudge.probes": {"order": "stranger:x"},
        "adjudge.traces": {"otel": "stranger:x", "auto": "stranger:x"},
        "adjudge.targets": {"otlp": "stranger:x"},
    }  # fmt: skip
    lay(tmp_path, "adjudge-stranger", "6.6", groups)
    monkeypatch.syspath_prepend(str(tmp_path))
    for spec in ("local", "fake:text=[RESULT] 4", "openai:gpt-5", "http://127.0.0.1:1/v1#m"):
        assert not parse_model(spec).plugin
    with pytest.raises(Exception, match="not a model"):
        parse_model("fake:other")
    rubric = str(EXAMPLES / "tact.toml")
    manifest, _ = judged(
        tmp_path, "-p", "prometheus/direct", "-m", "fake:text=[RESULT] 4", "--rubric", rubric
    )
    assert "plugins" not in manifest
    listed = adjudge("plugins", "--json").json
    assert listed
    assert {row["ignored"] for row in listed if row["package"] == "adjudge-stranger"} == {
        "the name is built in"
    }
    assert "stranger" not in sys.modules


def test_two_packages_with_one_name_are_an_error_that_names_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("one", "two"):
        lay(tmp_path / package, package, "1.0", {"adjudge.models": {"acme": "stranger:x"}})
        monkeypatch.syspath_prepend(str(tmp_path / package))
    with pytest.raises(PluginError, match=r"(one 1.0 and two|two 1.0 and one)"):
        parse_model("acme:m")


def test_a_broken_plugin_is_a_message_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stranger.py").write_text("raise RuntimeError('no GPU')\n")
    lay(tmp_path, "broken", "1.0", {"adjudge.models": {"acme": "stranger:x"}})
    monkeypatch.syspath_prepend(str(tmp_path))
    items = write_rows(tmp_path / "i.jsonl", ROWS)
    done = adjudge("run", items, "-p", "prometheus/direct", "-m", "acme:m", "--store", tmp_path / "s.db")
    assert done.code == 2
    assert "broken 1.0" in done.err
    assert "no GPU" in done.err


def bad_readers() -> dict[str, Any]:
    def fails(*_: object) -> Reading:
        raise ValueError

    return {
        "raises": fails,
        "text": lambda *_: "4",
        "no number": lambda *_: Reading("four", "ok"),
        "truth": lambda *_: Reading(True, "ok"),
        "span": lambda *_: Reading(4, "ok", "strict", (5, 99)),
    }


@pytest.mark.parametrize("name", bad_readers())
def test_whatever_a_reader_does_a_reply_has_a_status(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = bad_readers()[name]
    monkeypatch.setattr("adjudge.parse.asked.plugin_reader.loaded", lambda *_: read)
    reading = read_by_plugin(Answer(reader="x"), "[4]", SCALE)
    assert (reading.value, reading.status, reading.flags) == (None, "unparsed", ("reader_failed",))


def test_an_unknown_reader_is_a_problem_and_a_missing_package_is_named(tmp_path: Path) -> None:
    protocol = protocol_with(tmp_path / "p", '[answer]\nreader = "roman"\n')
    checked = adjudge("protocols", "check", str(protocol))
    assert checked.code == 1
    assert "reader in [answer] cannot be 'roman'." in checked.out
    with pytest.raises(PluginError, match="not installed"):
        read_by_plugin(Answer(reader="roman"), "Mark: I", SCALE)


def test_another_version_of_a_plugin_is_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "from adjudge.models.fake import FakeModel\n"
        "def x(spec, name, **_): return FakeModel('[RESULT] 4', name=spec)\n"
    )
    (tmp_path / "stranger.py").write_text(code)
    items = write_rows(tmp_path / "i.jsonl", ROWS)
    codes = []
    for version in ("1.0", "1.1"):
        lay(tmp_path / version, "acme", version, {"adjudge.models": {"acme": "stranger:x"}})
        with monkeypatch.context() as path:
            path.syspath_prepend(str(tmp_path))
            path.syspath_prepend(str(tmp_path / version))
            _forget()
            done = adjudge(
                "run", items, "-p", "prometheus/direct", "-m", "acme:m", "--rubric", EXAMPLES / "tact.toml",
                "--run", "r", "--store", tmp_path / "s.db",
            )  # fmt: skip
            codes.append(done.code)
    assert codes == [0, 2]
    assert "acme 1.0" in done.err
    assert "acme 1.1" in done.err


def test_the_embedded_judge_is_opened_as_a_plugin_is() -> None:
    pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert pyproject["project"]["entry-points"]["adjudge.models"] == {"local": _EMBEDDED.entry.value}
    assert isinstance(parse_model("local"), LocalModel)
    assert json.dumps(parse_model("local").plugin) == '""'
