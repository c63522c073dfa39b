"""`check_protocols`: which folders a reference means, what is accepted, and how findings look."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adjudge.errors import ProtocolError
from adjudge.protocols.builtins import builtin_ids, builtin_root
from adjudge.protocols.check import check_protocols

SETTINGS = """title = "Own"
task = "score"
language = { prompt = "en", reply = "en" }
source = "our own"
inputs = ["response"]

[[criteria]]
name = "quality"
scale = { low = 1, high = 5, step = 1, best = 5 }

[answer]
reader = "tag"
tag = "score"
"""
CLEAN = "Rate the reply from 1 to 5, higher is better.\n{{response}}\n<score>SCORE</score>\n"
COPIED = "Rate the reply.\n{{response}}\nAnswer in the form <score>5</score>.\n"


def folder(path: Path, *, user: str = CLEAN, settings: str = SETTINGS, more: str = "") -> Path:
    path.mkdir(parents=True)
    (path / "protocol.toml").write_text(settings + more, encoding="utf-8")
    (path / "user.md").write_text(user, encoding="utf-8")
    return path


def test_a_clean_folder_has_no_findings(tmp_path: Path) -> None:
    assert check_protocols([folder(tmp_path / "own")]) == []


def test_a_suspicion_names_its_file_and_line(tmp_path: Path) -> None:
    [finding] = check_protocols([folder(tmp_path / "own", user=COPIED)])
    assert (finding.name, finding.kind, finding.line) == ("example-is-answer", "suspicion", 3)
    assert finding.file == str(tmp_path / "own" / "user.md")
    assert finding.text().startswith(f"{finding.file}:3: suspicion [example-is-answer] ")


def test_a_suspicion_about_settings_points_at_their_line(tmp_path: Path) -> None:
    settings = SETTINGS.replace("best = 5 }", 'best = 5, levels = { 1 = "excellent", 5 = "poor" } }')
    [finding] = check_protocols([folder(tmp_path / "own", settings=settings)])
    assert (finding.name, finding.line) == ("direction", 9)
    assert finding.file.endswith("protocol.toml")


def test_an_accepted_suspicion_is_silent(tmp_path: Path) -> None:
    accept = '\n[[accept]]\nname = "example-is-answer"\nreason = "kept as published"\n'
    assert check_protocols([folder(tmp_path / "own", user=COPIED, more=accept)]) == []


def test_accepting_one_suspicion_silences_no_other(tmp_path: Path) -> None:
    accept = '\n[[accept]]\nname = "direction"\nreason = "known"\n'
    assert [
        finding.name for finding in check_protocols([folder(tmp_path / "own", user=COPIED, more=accept)])
    ] == ["example-is-answer"]


def test_an_accept_that_is_no_longer_needed_is_left_alone(tmp_path: Path) -> None:
    accept = '\n[[accept]]\nname = "direction"\nreason = "known"\n'
    assert check_protocols([folder(tmp_path / "own", more=accept)]) == []


@pytest.mark.parametrize("reason", ["", "  "])
def test_an_accept_without_a_reason_is_a_problem_and_silences_nothing(tmp_path: Path, reason: str) -> None:
    accept = f'\n[[accept]]\nname = "example-is-answer"\nreason = "{reason}"\n'
    findings = check_protocols([folder(tmp_path / "own", user=COPIED, more=accept)])
    assert [(finding.name, finding.kind) for finding in findings] == [
        ("accept-without-reason", "problem"),
        ("example-is-answer", "suspicion"),
    ]


def test_an_accept_of_an_unknown_name_is_a_problem_with_a_hint(tmp_path: Path) -> None:
    accept = '\n[[accept]]\nname = "exampel-is-answer"\nreason = "known"\n'
    [finding] = check_protocols([folder(tmp_path / "own", more=accept)])
    assert (finding.name, finding.kind) == ("unknown-accept", "problem")
    assert "example-is-answer" in finding.todo


def test_problems_of_the_loader_are_findings(tmp_path: Path) -> None:
    settings = SETTINGS.replace(", best = 5", "").replace("title", "titel")
    findings = check_protocols([folder(tmp_path / "own", settings=settings)])
    assert {"unknown-key", "missing-key", "scale-without-best"} <= {finding.name for finding in findings}
    assert {finding.kind for finding in findings} == {"problem"}


ENDLESS = """
[[criteria]]
name = "charm"

[criteria.scale]
best = "high"
"""


def test_a_prompted_score_without_any_end_is_a_problem_at_its_line(tmp_path: Path) -> None:
    settings = SETTINGS.replace("\n[answer]", f"{ENDLESS}\n[answer]")
    [finding] = check_protocols([folder(tmp_path / "own", settings=settings)])
    assert (finding.name, finding.kind, finding.line) == ("scale-without-ends", "problem", 14)
    assert "'charm'" in finding.message


@pytest.mark.parametrize(
    ("scale", "reader"),
    [
        ("{ low = 0, best = 0 }", 'reader = "free"'),
        ('{ best = "high" }', 'reader = "likelihood"\ntarget = "response"'),
    ],
)
def test_a_count_and_a_likelihood_need_not_have_two_ends(tmp_path: Path, scale: str, reader: str) -> None:
    settings = SETTINGS.replace("{ low = 1, high = 5, step = 1, best = 5 }", scale)
    settings = settings.replace('reader = "tag"\ntag = "score"', reader)
    findings = check_protocols([folder(tmp_path / "own", settings=settings, user="Count.\n{{response}}\n")])
    assert "scale-without-ends" not in [finding.name for finding in findings]
    assert not [finding for finding in findings if finding.kind == "problem"]


def test_a_folder_of_folders_is_checked_whole(tmp_path: Path) -> None:
    folder(tmp_path / "family" / "one", user=COPIED)
    folder(tmp_path / "family" / "deep" / "two", user=COPIED)
    folder(tmp_path / "family" / "three")
    findings = check_protocols([tmp_path])
    assert sorted(Path(finding.file).parent.name for finding in findings) == ["one", "two"]


def test_a_folder_that_is_given_twice_is_reported_once(tmp_path: Path) -> None:
    protocol_folder = folder(tmp_path / "own", user=COPIED)
    assert len(check_protocols([protocol_folder, protocol_folder, tmp_path])) == 1


def test_an_empty_folder_lacks_its_files(tmp_path: Path) -> None:
    assert {finding.name for finding in check_protocols([tmp_path])} == {"missing-file"}


def test_a_reference_to_nothing_is_the_users_mistake() -> None:
    with pytest.raises(ProtocolError, match="neither a built-in protocol nor a folder"):
        check_protocols(["no/such"])


def test_one_folder_is_compared_with_the_siblings_beside_it(tmp_path: Path) -> None:
    text = "Rate the reply, higher is better.\nExplain your score.\n{{response}}\n<score>SCORE</score>\n"
    for name in ("a", "b", "c"):
        folder(tmp_path / name, user=text)
    lost = folder(tmp_path / "d", user=text.replace("Explain your score.\n", ""))
    assert [finding.name for finding in check_protocols([lost])] == ["unlike-siblings"]
    assert check_protocols([tmp_path / "a"]) == []
    assert [finding.name for finding in check_protocols([tmp_path])] == ["unlike-siblings"]


def test_a_broken_sibling_does_not_stop_the_comparison(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        folder(tmp_path / name)
    folder(tmp_path / "e", settings="title = ")
    assert check_protocols([tmp_path / "a"]) == []


def test_a_built_in_id_and_its_family_can_be_named() -> None:
    name = builtin_ids()[0]
    family = name.partition("/")[0]
    assert not [finding for finding in check_protocols([name]) if finding.kind == "suspicion"]
    assert not [finding for finding in check_protocols([family]) if finding.kind == "suspicion"]


@pytest.mark.slow
def test_the_built_in_protocols_raise_no_suspicion_that_is_not_accepted() -> None:
    assert [finding.text() for finding in check_protocols(builtin_ids())] == []


def test_a_copy_of_a_built_in_protocol_needs_no_cases(tmp_path: Path) -> None:
    copy = tmp_path / "own"
    shutil.copytree(builtin_root() / "prometheus" / "direct", copy)
    assert check_protocols([copy]) == []
