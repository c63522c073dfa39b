"""Cases: a reply that is not read as expected is a problem, and every expectation is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.protocols.builtins import builtin_ids
from adjudge.protocols.cases import case_failures
from adjudge.protocols.check import check_protocols
from adjudge.protocols.load import load_protocol

SCORED = """title = "Own"
task = "score"
language = { prompt = "en", reply = "en" }
source = "our own"
inputs = ["response"]
criteria = [{ name = "quality", scale = { low = 1, high = 5, step = 1, best = 5 } }]
answer = { reader = "tag", tag = "score" }
"""
PAIRED = """title = "Own"
task = "compare"
language = { prompt = "en", reply = "en" }
source = "our own"
inputs = ["response_a", "response_b"]
criteria = [{ name = "depth", scale = { low = 1, high = 5, step = 1, best = 5 } }]

[answer]
reader = "json"
score = "{criterion}.{subject}.score"
evidence = "{criterion}.{subject}.evidence"
choice = "winner"
subjects = { a = "a", b = "b" }
choices = { a = "A", b = "B", tie = "tie" }
"""
JSON = '{"depth": {"a": {"score": 4, "evidence": ["the train"]}, "b": {"score": 9}}, "winner": "A"}'


def write_protocol(path: Path, cases: str, settings: str = SCORED) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "protocol.toml").write_text(settings, encoding="utf-8")
    slots = (
        "{{response}}"
        if "compare" not in settings
        else "Response A: {{response_a}}\nResponse B: {{response_b}}"
    )
    (path / "user.md").write_text(f"Rate it.\n{slots}\n<score>SCORE</score>\n", encoding="utf-8")
    (path / "cases.toml").write_text(cases, encoding="utf-8")
    return path


def case(**promises: str) -> str:
    return "\n[[case]]\n" + "\n".join(f"{key} = {value}" for key, value in promises.items())


def messages(folder: Path) -> list[str]:
    findings = check_protocols([folder])
    assert {finding.name for finding in findings} <= {"case"}
    assert {finding.kind for finding in findings} <= {"problem"}
    return [finding.message for finding in findings]


def test_cases_that_read_as_promised_raise_nothing(tmp_path: Path) -> None:
    cases = case(name="'clean'", reply="'<score>4</score>'", status="'ok'", value="4", how="'strict'") + case(
        name="'none'", reply="''", status="'unparsed'"
    )
    assert messages(write_protocol(tmp_path / "own", cases)) == []


@pytest.mark.parametrize(
    ("promises", "complaint"),
    [
        ({"status": "'unparsed'"}, "status should be unparsed but is ok"),
        ({"value": "3"}, "value should be 3 but is 4"),
        ({"how": "'anchored'"}, "how should be anchored but is strict"),
        ({"flags": "['repaired']"}, "flag 'repaired' is expected"),
        ({"scores": "{ other = 4 }"}, "there is no score 'other'"),
        ({"scores": "{ quality = 5 }"}, "'quality' should be 5 but is 4"),
        ({"scores": "{ quality = 'refused' }"}, "status of 'quality' should be refused but is ok"),
        ({"choice": "'a'"}, "choice should be a but is None"),
        ({"choice_status": "'ok'"}, "choice_status should be ok but is None"),
        ({"grounded": "{ quality = 1.0 }"}, "grounded share of 'quality' should be 1 but is None"),
    ],
)
def test_every_broken_promise_is_named(tmp_path: Path, promises: dict[str, str], complaint: str) -> None:
    folder = write_protocol(tmp_path / "own", case(name="'broken'", reply="'<score>4</score>'", **promises))
    [message] = messages(folder)
    assert complaint in message
    assert message.startswith("'broken'")


def test_a_value_is_promised_and_nothing_was_read(tmp_path: Path) -> None:
    folder = write_protocol(tmp_path / "own", case(name="'empty'", reply="''", value="4"))
    assert "value should be 4 but is unparsed" in messages(folder)[0]


def test_scores_of_pairs_choices_and_grounded_evidence_are_held_to_their_promises(tmp_path: Path) -> None:
    promises = {
        "reply": f"'{JSON}'",
        "choice": "'a'",
        "choice_status": "'ok'",
        "fields": "{ response_a = 'Take the train.', response_b = 'Walk.' }",
    }
    right = case(
        name="'right'",
        scores="{ 'depth/a' = 4, 'depth/b' = 'out_of_range' }",
        grounded="{ 'depth/a' = 1.0 }",
        **promises,
    )
    wrong = case(
        name="'wrong'",
        scores="{ 'depth/a' = 3, 'depth/b' = 2 }",
        grounded="{ 'depth/a' = 0.5 }",
        **(promises | {"choice": "'tie'"}),
    )
    [message] = messages(write_protocol(tmp_path / "own", right + wrong, PAIRED))
    assert message == (
        "'wrong' in protocol 'own': choice should be tie but is a; 'depth/a' should be 3 but is 4; "
        "'depth/b' should be 2 but is out_of_range; grounded share of 'depth/a' should be 0.5 but is 1."
    )


def test_a_status_without_scores_is_that_of_the_choice(tmp_path: Path) -> None:
    settings = PAIRED.replace(", scale = { low = 1, high = 5, step = 1, best = 5 }", "")
    settings = "\n".join(
        line for line in settings.splitlines() if not line.startswith(("score =", "evidence ="))
    )
    folder = write_protocol(tmp_path / "own", case(name="'none'", reply="''", status="'ok'"), settings)
    assert "status should be ok but is unparsed" in messages(folder)[0]


def test_the_label_and_the_criterion_are_put_into_a_reply(tmp_path: Path) -> None:
    settings = SCORED.replace('reader = "tag", tag = "score"', 'reader = "label", labels = ["Mark"]')
    cases = case(name="'label'", reply="'{{label}}: 4'", value="4") + case(
        name="'name'", reply="'{{criterion}}'", status="'unparsed'"
    )
    assert messages(write_protocol(tmp_path / "own", cases, settings)) == []


def test_cases_for_some_siblings_are_run_for_these_only(tmp_path: Path) -> None:
    cases = case(name="'theirs'", only="['other']", reply="''", status="'ok'") + case(
        name="'ours'", only="['own']", reply="''", status="'ok'"
    )
    [message] = messages(write_protocol(tmp_path / "own", cases))
    assert message.startswith("'ours'")


def test_siblings_share_the_cases_of_their_family_and_fail_in_one_line(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (write_protocol(tmp_path / name, "") / "cases.toml").unlink()
    (tmp_path / "cases.toml").write_text(
        "# shared\n" + case(name="'shared'", reply="'<score>4</score>'", value="3"), encoding="utf-8"
    )
    [finding] = check_protocols([tmp_path])
    assert finding.line == 3
    assert finding.file == str(tmp_path / "cases.toml")
    assert finding.message == "'shared' in protocol 'one' and 2 others: value should be 3 but is 4."


def test_the_name_of_a_protocol_cannot_be_taken_for_what_was_read(tmp_path: Path) -> None:
    [message] = messages(
        write_protocol(tmp_path / "ok", case(name="'none'", reply="''", status="'ok'", value="4"))
    )
    assert (
        message
        == "'none' in protocol 'ok': status should be ok but is unparsed; value should be 4 but is none."
    )


def test_a_shared_file_that_cannot_be_read_is_one_finding(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (write_protocol(tmp_path / name, "") / "cases.toml").unlink()
    (tmp_path / "cases.toml").write_text("[[case]]\nname = 'n'\nreply = 4\n", encoding="utf-8")
    [finding] = check_protocols([tmp_path])
    assert finding.message == "reply in case 'n' must be a text, not the number 4."
    assert finding.line == 3


@pytest.mark.parametrize(
    "cases",
    [
        "[[case]",
        "case = 3",
        "case = ['x']",
        case(name="'n'"),
        case(name="'n'", reply="''", sttus="'ok'"),
        case(name="'n'", reply="''", status="'fine'"),
    ],
)
def test_cases_that_cannot_be_read_are_problems(tmp_path: Path, cases: str) -> None:
    assert len(messages(write_protocol(tmp_path / "own", cases))) == 1


def test_cases_that_are_not_utf8_are_a_problem(tmp_path: Path) -> None:
    folder = write_protocol(tmp_path / "own", "")
    (folder / "cases.toml").write_bytes(b"\xff\xfe")
    assert len(messages(folder)) == 1


def test_a_built_in_protocol_must_have_cases_and_one_that_is_unparsed(tmp_path: Path) -> None:
    folder = write_protocol(
        tmp_path / "family" / "own", case(name="'clean'", reply="'<score>4</score>'", value="4")
    )
    protocol = load_protocol(folder)
    assert case_failures(folder, protocol, is_builtin=False) == []
    assert [failure.message for failure in case_failures(folder, protocol, is_builtin=True)] == [
        "no case is unparsed."
    ]
    (folder / "cases.toml").unlink()
    assert case_failures(folder, protocol, is_builtin=False) == []
    assert [failure.message for failure in case_failures(folder, protocol, is_builtin=True)] == [
        "a built-in protocol needs cases.toml."
    ]


@pytest.mark.parametrize("name", builtin_ids())
def test_the_cases_of_a_built_in_protocol_read_as_promised(name: str) -> None:
    protocol = load_protocol(name)
    failures = case_failures(Path(protocol.folder), protocol, is_builtin=True)
    assert [f"{failure.path.name}:{failure.line}: {failure.message}" for failure in failures] == []
