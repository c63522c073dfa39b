"""Known documents are recognised as people have them, and a prompt that shows nothing is a problem."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge import AdjudgeError, run
from adjudge.protocols.check import check_protocols
from adjudge.protocols.importing import import_document

SEEDS = sorted((Path(__file__).parents[3] / "shared" / "seeds").glob("*.txt"))
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


def test_a_prompt_that_shows_nothing_of_an_item_is_a_problem_and_is_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "blind"
    folder.mkdir()
    (folder / "user.md").write_text("Give a score from 1 (bad) to 5 (good).\nScore:\n")
    (folder / "protocol.toml").write_text(
        'title = "Blind"\ntask = "score"\nlanguage = { prompt = "en", reply = "en" }\nsource = "a test"\ninputs = []\n\n'
        '[[criteria]]\nname = "quality"\nscale = { low = 1, high = 5, step = 1, best = 5 }\n\n'
        '[answer]\nreader = "label"\nlabels = ["Score"]\n'
    )
    assert "nothing-shown" in {finding.name for finding in check_protocols([folder])}
    with pytest.raises(AdjudgeError, match="shows nothing of an item"):
        run([{"response": "x"}], folder, "fake:text=Score: 4", store=tmp_path / "s.db")
