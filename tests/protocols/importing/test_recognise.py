"""Known documents are recognised as people have them, and a prompt that shows nothing is a problem."""

from __future__ import annotations

import hashlib
import re
import textwrap
from pathlib import Path

import pytest

from adjudge import AdjudgeError, run
from adjudge.protocols import load_protocol
from adjudge.protocols.check import check_protocols
from adjudge.protocols.importing import import_document
from adjudge.protocols.importing.edited_copy import edited_copy, known_lines, line_hash
from adjudge.protocols.importing.fingerprints import known_prompts, prompt_fingerprint, words_of

SEEDS = sorted((Path(__file__).parents[4] / "shared" / "seeds").glob("*.txt"))
CHANGES = {
    "a newline more": lambda text: text + "\n",
    "blank lines around": lambda text: "\n\n" + text + "\n\n\n",
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "a title": lambda text: "# Prompts that we use\n\n" + text,
    "a line inside": lambda text: text.replace("\n", "\n\n", 1),
    "quoted": lambda text: indented(text, "> "),
    "indented": lambda text: indented(text, "    "),
    "indented under a title": lambda text: "Ours:\n\n" + indented(text, "\t"),
    "in a fence": lambda text: "# Ours\n\n````````markdown\n" + text + "\n````````\n",
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


def indented(text: str, by: str) -> str:
    return "\n".join(f"{by}{line}" for line in text.split("\n"))


def letters(text: str) -> list[int]:
    """Places of words in which two letters can change places."""
    return [match.start() for match in re.finditer(r"(?<![\w{<\[])[a-z]{6,}(?![\w}>\]])|[一-鿿]{6,}", text)]


@pytest.mark.skipif(not SEEDS, reason="the five documents are not here")
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.stem)
def test_a_known_document_with_a_typo_is_recognised_and_the_line_is_named(seed: Path, tmp_path: Path) -> None:
    text = seed.read_bytes().decode("utf-8-sig")
    original = import_document(seed, tmp_path / "original")
    changed = tmp_path / seed.name
    tried = 0
    for at in letters(text)[:: max(1, len(letters(text)) // 12)]:
        typo = text[: at + 2] + text[at + 3] + text[at + 2] + text[at + 4 :]
        line = text.count("\n", 0, at)
        facts = [line_hash(one.split("\n")[line]).split(":")[2] for one in (text, typo)]
        if typo == text or facts[0] != facts[1]:
            continue
        tried += 1
        changed.write_bytes(typo.encode())
        imported = import_document(changed, tmp_path / str(at))
        assert imported.is_known
        assert f"line {line + 1} (" in imported.notes[1]
        assert imported.ids == original.ids
        for here, there in zip(imported.folders, original.folders, strict=True):
            settings = [load_protocol(folder) for folder in (here, there)]
            assert settings[0].criteria == settings[1].criteria
            assert (settings[0].answer, settings[0].alias) == (settings[1].answer, settings[1].alias)
    assert tried > 0


@pytest.mark.skipif(not SEEDS, reason="the five documents are not here")
def test_a_document_whose_numbers_or_slots_were_edited_is_not_taken_for_the_known_one() -> None:
    for seed in SEEDS:
        text = seed.read_bytes().decode("utf-8-sig")
        for find, by in (
            (r"(?<=\{)[a-z_]{4,}(?=\})|(?<=\*\*)指令(?=\*\*)", "thing"),
            (r"(?<=[-~～])(?:5|10)\b|5", "7"),
        ):
            if (place := re.search(find, text)) is not None:
                assert edited_copy(text[: place.start()] + by + text[place.end() :]) is None, (
                    seed.name,
                    find,
                )


@pytest.mark.skipif(not SEEDS, reason="the five documents are not here")
def test_the_hashes_are_those_of_the_lines() -> None:
    texts = {hashlib.sha256(seed.read_bytes()).hexdigest(): seed.read_text("utf-8-sig") for seed in SEEDS}
    assert {sha256: [line_hash(line) for line in text.split("\n")] for sha256, text in texts.items()} == (
        known_lines()
    )


LAYOUTS = {
    "wrapped anew": rewrapped,
    "other fences": lambda text: text.replace("```", "~~~"),
    "longer fences": lambda text: text.replace("```", "````"),
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
