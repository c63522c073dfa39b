"""The five original documents: the check finds by itself what is wrong with each, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.protocols.check import check_protocols
from adjudge.protocols.importing import import_document

Found = set[tuple[str, str]]

EXPECTED: dict[str, Found] = {
    "000": {("factuality", "unlike-siblings")},
    "001": {
        ("compare", "direction"),
        ("compare", "one-score-two-responses"),
        ("compare", "confidence-without-field"),
        ("compare", "labels-not-blind"),
        ("compare", "asked-not-in-format"),
    },
    "002": {("faithfulness", "example-is-answer")},
    "003": {
        *(
            (name, "unanchored-levels")
            for name in ("structure", "reasoning", "thesis", "evidence", "language")
        ),
        *((name, "examples-promised") for name in ("structure", "reasoning", "thesis", "language")),
        # It answers in JSON and takes no example, as none of the other four.
        ("evidence", "unlike-siblings"),
    },
    "004": {("direct", "reference-mismatch"), ("pairwise-reference", "reference-mismatch")},
}


@pytest.mark.parametrize("number", EXPECTED)
def test_an_original_raises_the_suspicions_that_it_deserves_and_no_others(
    shared: Path, tmp_path: Path, number: str
) -> None:
    [document] = (shared / "seeds").glob(f"{number}_*")
    import_document(document, tmp_path / number)
    findings = check_protocols([tmp_path / number])
    assert {(Path(finding.file).parent.name, finding.name) for finding in findings} == EXPECTED[number]
    assert {finding.kind for finding in findings} == {"suspicion"}


def test_the_direction_of_a_scale_is_judged_by_the_words(shared: Path, tmp_path: Path) -> None:
    """Declaring the end that the levels praise silences the rule; an undeclared end is not what it goes
    by."""
    [document] = (shared / "seeds").glob("001_*")
    [folder] = import_document(document, tmp_path).folders
    settings = Path(folder, "protocol.toml")
    text = settings.read_text(encoding="utf-8")
    assert 'best = "unknown"' in text
    settings.write_text(text.replace('best = "unknown"', "best = 1"), encoding="utf-8")
    assert "direction" not in {finding.name for finding in check_protocols([folder])}
    settings.write_text(text.replace('best = "unknown"', "best = 5"), encoding="utf-8")
    assert "direction" in {finding.name for finding in check_protocols([folder])}
    settings.write_text(text, encoding="utf-8")
    user = Path(folder, "user.md")
    turned = user.read_text(encoding="utf-8")
    for low, high in ((1, 5), (2, 4)):
        turned = turned.replace(f"Score {low}**", "Score X**").replace(f"Score {high}**", f"Score {low}**")
        turned = turned.replace("Score X**", f"Score {high}**")
    user.write_text(turned, encoding="utf-8")
    assert "direction" not in {finding.name for finding in check_protocols([folder])}
