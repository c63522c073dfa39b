"""Known documents are recognised as people have them, and a prompt that shows nothing is a problem."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from adjudge import AdjudgeError, run
from adjudge.protocols import load_protocol
from adjudge.protocols.check import check_protocols
from adjudge.protocols.importing import import_document
from adjudge.protocols.importing.fingerprints import known_prompts, prompt_fingerprint, words_of

SEEDS = sorted((Path(__file__).parents[4] / "shared" / "seeds").glob("*.txt"))
CHANGES = {
    "a newline more": lambda text: text + "\n",
    "blank lines around": lambda text: "\n\n" + text + "\n\n\n",
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "a title": lambda text: "# Prompts that we use\n\n" + text,
    "a line inside": lambda text: text.replace("\n", "\n\n", 1),
}


@pytest.mark.skipif(not SEEDS, reason="the five documents are not here")
@pytest.mark.parametrize("change", CHANGES)
def test_a_known_document_is_recognised_however_it_was_saved(change: str, tmp_path: Path) -> None:
    for seed in SEEDS:
        text = seed.read_bytes().decode("utf-8-sig")
        changed = tmp_path / seed.name
        changed.write_bytes(CHANGES[change](text).encode())
        original = import_document(seed, tmp_path / "original" / seed.stem)
        imported = import_document(changed, tmp_path / "changed" / seed.stem)
        assert imported.is_known, seed.name
        assert any("differs" in note for note in imported.notes)
        assert len(imported.folders) == len(original.folders)
        for here, there in zip(imported.folders, original.folders, strict=True):
            for name in ("protocol.toml", "user.md"):
                assert (Path(here) / name).read_bytes() == (Path(there) / name).read_bytes()


def rewrapped(text: str) -> str:
    lines = (textwrap.wrap(line, 72, break_long_words=False) or [""] for line in text.split("\n"))
    return "\n".join("\n".join(line) for line in lines)


LAYOUTS = {
    "wrapped anew": rewrapped,
    "other fences": lambda text: text.replace("```", "~~~"),
    "longer fences": lambda text: text.replace("```", "````"),
    "quoted": lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
    "indented": lambda text: "\n".join(f"    {line}" for line in text.split("\n")),
    "spaces at line ends": lambda text: "\n".join(f"{line.rstrip()}  " for line in text.split("\n")),
    "wrapped under a title": lambda text: "# Ours\n\n" + rewrapped(text) + "\n\nOur remarks.\n",
}


@pytest.mark.skipif(not SEEDS, reason="the five documents are not here")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_known_document_is_recognised_by_its_words(layout: str, tmp_path: Path) -> None:
    for seed in SEEDS:
        text = seed.read_bytes().decode("utf-8-sig")
        changed = tmp_path / seed.name
        changed.write_bytes(LAYOUTS[layout](text).encode())
        original = import_document(seed, tmp_path / "original" / seed.stem)
        imported = import_document(changed, tmp_path / "changed" / seed.stem)
        assert imported.is_known, seed.name
        for here, there in zip(imported.folders, original.folders, strict=True):
            settings = [load_protocol(folder) for folder in (here, there)]
            assert settings[0].criteria == settings[1].criteria
            assert settings[0].answer == settings[1].answer
            assert settings[0].alias == settings[1].alias
            assert words_of(settings[0].user_text).text == words_of(settings[1].user_text).text
            assert words_of(settings[0].system_text).text == words_of(settings[1].system_text).text


def test_a_fingerprint_is_that_of_the_words() -> None:
    text = "Rate the rhymes of a poem from one to five.\n\n```\n{poem}\n```\nRhymes: "
    wrapped = "> Rate the rhymes of\n> a poem from one to five.\n> ~~~\n> {poem}\n> ~~~\n> Rhymes:"
    one, other = (prompt_fingerprint("d", "1-6", said) for said in (text, wrapped))
    assert (one.head, one.length, one.sha256) == (other.head, other.length, other.sha256)
    assert one.after == " "


def test_a_text_of_other_words_is_no_known_document() -> None:
    assert known_prompts("Rate the rhymes of {poem} from one to five. " * 50) is None


def test_a_prompt_that_shows_nothing_of_an_item_is_a_problem_and_is_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "blind"
    folder.mkdir()
    (folder / "user.md").write_text("Give a score from 1 (bad) to 5 (good).\nScore:\n")
    (folder / "protocol.toml").write_text(
        'title = "Blind"\ntask = "score"\nlanguage = { prompt = "en", reply = "en" }\nsource = "a '
        'test"\ninputs = []\n\n'
        '[[criteria]]\nname = "quality"\nscale = { low = 1, high = 5, step = 1, best = 5 }\n\n'
        '[answer]\nreader = "label"\nlabels = ["Score"]\n'
    )
    assert "nothing-shown" in {finding.name for finding in check_protocols([folder])}
    with pytest.raises(AdjudgeError, match="shows nothing of an item"):
        run([{"response": "x"}], folder, "fake:text=Score: 4", store=tmp_path / "s.db")
