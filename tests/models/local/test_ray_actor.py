"""The weights of a Ray actor on its node."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from adjudge.errors import ModelError
from adjudge.models.local.ray_actor import Spec, cached_file, file_on_node, receive


def spec_of(file: Path, text: bytes) -> Spec:
    return Spec("local:x", str(file), hashlib.sha256(text).hexdigest(), None, 1)


def test_a_node_uses_the_file_that_the_user_named_only_if_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "model.gguf"
    spec = spec_of(file, b"weights")
    assert file_on_node(spec) is None
    file.write_bytes(b"other weights")
    assert file_on_node(spec) is None
    file.write_bytes(b"weights")
    assert file_on_node(spec) == file


def test_a_node_receives_weights_once_and_checks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "cache"))
    spec = spec_of(tmp_path / "absent.gguf", b"weights")
    with pytest.raises(ModelError, match="changed while they were sent"):
        receive(spec, iter([b"wei", b"rd"]))
    assert file_on_node(spec) is None
    receive(spec, iter([b"wei", b"ghts"]))
    assert file_on_node(spec) == cached_file(spec)
    receive(spec, iter(()))  # nothing is read: they are there
    assert cached_file(spec).read_bytes() == b"weights"
    assert [path.suffix for path in cached_file(spec).parent.iterdir() if path.name.startswith(".")] == []
