"""A copy of a protocol's folder takes along what belongs to the protocol, whatever else is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adjudge.errors import ProtocolError
from adjudge.protocols import find_folder, load_protocol
from adjudge.protocols.copied_folder import copy_folder


def test_a_copy_is_the_same_protocol(tmp_path: Path) -> None:
    folder, _ = find_folder("geval/score")
    copy_folder(folder, tmp_path / "copy")
    assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "copy").iterdir()}
    rubric = {"criterion": "Is it polite?"}
    assert load_protocol(tmp_path / "copy", **rubric).user_text == load_protocol(folder, **rubric).user_text


def test_nothing_else_of_a_folder_is_copied(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("canary-111111111111", encoding="utf-8")
    folder = tmp_path / "folder"
    (folder / "mail").mkdir(parents=True)
    (folder / "mail" / "inbox").write_text("private", encoding="utf-8")
    for name in ("protocol.toml", "user.md", ".env"):
        (folder / name).write_text("x", encoding="utf-8")
    (folder / "link.md").symlink_to(secret)
    os.mkfifo(folder / "pipe.md")
    (folder / "large.bin").write_bytes(bytes(1_000_001))
    copy_folder(folder, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["protocol.toml", "user.md"]


def test_a_folder_without_a_protocol_is_not_copied(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match="no protocol folder"):
        copy_folder(tmp_path, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
