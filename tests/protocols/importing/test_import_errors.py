"""What cannot be imported is refused with a reason, and an import is all or nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from adjudge.errors import AdjudgeError, DataError, ProtocolError
from adjudge.protocols.importing import MAX_PROMPTS, import_document
from adjudge.protocols.importing.document import LIMIT_BYTES
from adjudge.protocols.importing.folders import NewFolder, write_folders

TWO = "## Rhyme\n\nScore the rhymes of {poem}.\n\n## Metre\n\nScore the metre of {poem}.\n"


def refusal(tmp_path: Path, content: bytes, name: str = "prompts.md") -> str:
    """The message with which a file is refused; nothing may have been written."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(AdjudgeError) as caught:
        import_document(path, tmp_path / "to")
    assert not (tmp_path / "to").exists()
    assert name in str(caught.value)
    return str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.md: there is no such file"):
        import_document(tmp_path / "gone.md", tmp_path / "to")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="this is a folder"):
        import_document(tmp_path, tmp_path / "to")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes on this system")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(DataError, match="not a regular file"):
        import_document(tmp_path / "pipe.md", tmp_path / "to")


def test_a_path_with_a_zero_byte_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        import_document("a\0b.md", tmp_path / "to")


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", "\ufeff".encode(), b"# Notes\n\nBuy milk, and rate the cheese.\n"]
)
def test_a_file_without_prompts_is_refused_with_what_a_prompt_is(tmp_path: Path, content: bytes) -> None:
    message = refusal(tmp_path, content)
    assert "no prompts were found" in message
    assert "{response}" in message
    assert "protocols new" in message


def test_a_python_file_without_prompts_is_refused(tmp_path: Path) -> None:
    assert "no prompts were found" in refusal(tmp_path, b"import os\nNAME = 'x'\n", "code.py")


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    assert "binary" in refusal(tmp_path, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")


def test_a_file_in_utf_16_is_refused_by_name(tmp_path: Path) -> None:
    assert "UTF-16" in refusal(tmp_path, TWO.encode("utf-16"))


def test_a_file_that_is_not_utf_8_is_refused_with_the_line(tmp_path: Path) -> None:
    message = refusal(tmp_path, "Rate {x}.\n\nCaf\u00e9\n".encode("latin-1"))
    assert "line 3" in message
    assert "Save the file as UTF-8" in message


def test_a_file_of_50_mb_is_refused_before_it_is_searched(tmp_path: Path) -> None:
    message = refusal(tmp_path, b"Rate {x} from 1 to 5.\n" * 2_400_000)
    assert "52.8 MB is more than the 5 MB" in message


@pytest.mark.slow
def test_a_file_at_the_limit_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "large.md"
    prompt = b"```\nRate {x} from 1 to 5.\n```\n"
    path.write_bytes(prompt + b"# Filler\n" * ((LIMIT_BYTES - len(prompt)) // 9))
    assert len(import_document(path, tmp_path / "to").ids) == 1


def test_another_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    assert "cannot be searched for prompts" in refusal(tmp_path, b"<p>Rate {x} from 1 to 5.</p>", "p.html")


@pytest.mark.parametrize("name", ["p.json", "p.jsonl", "p.yaml"])
def test_a_broken_table_is_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    assert "not valid" in refusal(tmp_path, b'{"prompt": "Rate {x} from 1 to 5.', name)


def test_a_data_set_of_prompts_is_refused(tmp_path: Path) -> None:
    content = "```\nRate {x} from 1 to 5.\n```\n" * (MAX_PROMPTS + 1)
    assert f"{MAX_PROMPTS + 1} texts" in refusal(tmp_path, content.encode())


# -- all or nothing


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"/"
        for path in folder.rglob("*")
    }


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "two.md"
    path.write_text(TWO, encoding="utf-8")
    return path


def test_an_existing_folder_is_never_overwritten_and_nothing_else_is_written(
    document: Path, tmp_path: Path
) -> None:
    to = tmp_path / "to"
    (to / "metre").mkdir(parents=True)
    (to / "metre" / "user.md").write_text("mine", encoding="utf-8")
    before = tree(to)
    with pytest.raises(ProtocolError, match=r"(?s)metre/ is already there.*Nothing was written.*--to"):
        import_document(document, to)
    assert tree(to) == before


def test_even_an_empty_folder_a_file_or_a_dangling_link_is_not_replaced(
    document: Path, tmp_path: Path
) -> None:
    to = tmp_path / "to"
    (to / "rhyme").mkdir(parents=True)
    (to / "metre").symlink_to(tmp_path / "nowhere")
    before = sorted(path.name for path in to.iterdir())
    with pytest.raises(ProtocolError, match="2 problems"):
        import_document(document, to)
    assert sorted(path.name for path in to.iterdir()) == before


def test_importing_twice_is_refused_the_second_time(document: Path, tmp_path: Path) -> None:
    first = import_document(document, tmp_path / "to")
    before = tree(tmp_path / "to")
    with pytest.raises(ProtocolError, match="already there"):
        import_document(document, tmp_path / "to")
    assert tree(tmp_path / "to") == before
    assert first.ids == ("rhyme", "metre")


def test_other_folders_in_the_destination_are_left_alone(document: Path, tmp_path: Path) -> None:
    (tmp_path / "to" / "mine").mkdir(parents=True)
    import_document(document, tmp_path / "to")
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == ["metre", "mine", "rhyme"]


def test_a_destination_that_is_a_file_is_refused(document: Path, tmp_path: Path) -> None:
    (tmp_path / "to").write_text("mine", encoding="utf-8")
    with pytest.raises(DataError, match="not a folder"):
        import_document(document, tmp_path / "to")
    with pytest.raises(DataError, match="--to"):
        import_document(document, tmp_path / "to" / "below")
    assert (tmp_path / "to").read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="no right is denied to this user")
def test_a_destination_without_the_right_to_write_is_refused(document: Path, tmp_path: Path) -> None:
    to = tmp_path / "to"
    to.mkdir()
    to.chmod(stat.S_IREAD | stat.S_IEXEC)
    with pytest.raises(DataError, match="cannot write there"):
        import_document(document, to)
    assert not list(to.iterdir())


def test_a_folder_that_does_not_load_leaves_nothing_behind(tmp_path: Path) -> None:
    good = {"protocol.toml": "title = 'x'\n", "user.md": "Rate it.\n"}
    with pytest.raises(ProtocolError, match="Nothing was written"):
        write_folders([NewFolder("broken", good)], tmp_path / "deep" / "to")
    assert not list(tmp_path.iterdir())


def test_a_failure_in_the_middle_leaves_nothing_behind(document: Path, tmp_path: Path) -> None:
    """A name that the disk refuses stands for any fault while folders are written."""
    import_document(document, tmp_path / "source")
    files = {
        path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "source" / "rhyme").iterdir()
    }
    to = tmp_path / "new" / "to"
    with pytest.raises(DataError, match="cannot write there"):
        write_folders([NewFolder("fine", files), NewFolder("x" * 300, files)], to)
    assert not (tmp_path / "new").exists()


def test_folders_are_readable_as_others_made_by_the_user(document: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    wanted = (tmp_path / "plain").stat().st_mode
    for folder in import_document(document, tmp_path / "to").folders:
        assert Path(folder).stat().st_mode == wanted
