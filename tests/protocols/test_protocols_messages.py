"""What a person reads who made a slip in a protocol folder: plain words, the right line, nothing
misleading."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from adjudge.protocols.cases import Case
from adjudge.protocols.check import check_protocols
from adjudge.protocols.findings import Finding
from adjudge.protocols.setting_lines import line_of_steps
from adjudge.protocols.setting_mistakes import mistakes_in
from adjudge.records import Accepted, Answer, ExampleWords, Given, Language
from thorough import tries

SETTINGS = """title = "Own"
task = "score"
language = { prompt = "en", reply = "en" }
source = "our own"
inputs = ["response"]

[[criteria]]
name = "depth"
scale = { low = 1, high = 5, step = 1, best = 5 }

[answer]
reader = "tag"
tag = "score"
"""
JSON = """title = "Own"
task = "score"
language = { prompt = "en", reply = "en" }
source = "our own"
inputs = ["response"]

[[criteria]]
name = "depth"
scale = { low = 1, high = 5, step = 1, best = 5 }

[[criteria]]
name = "tone"
scale = { low = 1, high = 5, step = 1, best = 5 }

[answer]
reader = "json"
score = "score"
"""
USER = "Rate the reply from 1 to 5, higher is better.\n{{response}}\n<score>SCORE</score>\n"
READERS = ("tag", "marker", "first_line", "label", "json", "free", "likelihood")


def table(name: str) -> list[dict[str, Any]]:
    """The cases of one table in `messages/`."""
    path = Path(__file__).parent / "messages" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))["case"]


def findings(
    tmp_path: Path, settings: str = SETTINGS, *, user: str = USER, cases: str | None = None
) -> list[Finding]:
    folder = tmp_path / "own"
    folder.mkdir(exist_ok=True)
    (folder / "protocol.toml").write_text(settings, encoding="utf-8")
    (folder / "user.md").write_text(user, encoding="utf-8")
    if cases is not None:
        (folder / "cases.toml").write_text(cases, encoding="utf-8")
    return check_protocols([folder])


def changed(old: str, new: str, settings: str = SETTINGS) -> str:
    assert old in settings
    return settings.replace(old, new)


# -- values


def test_an_unknown_reader_is_answered_with_the_nearest_and_with_all(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, changed('reader = "tag"', 'reader = "jsn"'))
    assert finding.message == "reader in [answer] cannot be 'jsn'."
    assert finding.todo.startswith("Did you mean 'json'?")
    assert all(reader in finding.todo for reader in READERS)
    assert finding.line == 12


def test_a_wrong_setting_is_one_problem_in_plain_words(tmp_path: Path) -> None:
    wrong = []
    for case in table("settings"):
        reported = findings(tmp_path, changed(case["old"], case["new"]))
        shown = [(finding.kind, finding.message, finding.todo) for finding in reported]
        if shown != [("problem", case["message"], case["todo"])]:
            wrong.append((case, shown))
    assert not wrong


def test_several_wrong_settings_are_all_reported_with_their_lines(tmp_path: Path) -> None:
    settings = changed("low = 1, high = 5", 'low = "1", hihg = 5')
    settings = changed('reader = "tag"', 'reader = "tags"', settings)
    problems = [
        (finding.line, finding.message)
        for finding in findings(tmp_path, settings, user=USER + "{{respnse}}\n")
    ]
    assert problems == [
        (9, "low in the scale of 'depth' must be a number, not the text '1'."),
        (9, "unknown key 'hihg' in the scale of 'depth'."),
        (12, "reader in [answer] cannot be 'tags'."),
        (4, "placeholder {{respnse}} is not in inputs ['response']."),
    ]


def test_a_mistake_in_the_second_criterion_points_at_its_own_line(tmp_path: Path) -> None:
    first, second = (
        "scale = { low = 1, high = 5, step = 1, best = 5 }",
        "scale = { low = 1, high = 5, best = 4 }",
    )
    settings = JSON.replace('score = "score"', 'score = "{criterion}"')
    place = settings.rindex(first)
    settings = settings[:place] + second + settings[place + len(first) :]
    [finding] = findings(tmp_path, settings)
    assert (finding.name, finding.line) == ("bad-scale", 13)


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        (("task",), 1),
        (("criteria", 0, "scale", "low"), 4),
        (("criteria", 1), 5),
        (("criteria", 1, "scale", "low"), 9),
        (("answer", "reader"), 11),
        (("answer", "nothing"), 10),
        (("nothing",), 1),
    ],
)
def test_a_value_is_found_in_tables_of_both_forms(steps: tuple[str | int, ...], line: int) -> None:
    toml = (
        'task = "score"\n[[criteria]]\n# low = 0\nscale = { high = 5, low = 1 }\n[[criteria]]\n'
        '[criteria.scale]\n# low = 2\nhigh = 5\nlow = 1\n[answer]\nreader = "free"\n'
    )
    assert line_of_steps(toml, steps) == line


def test_an_empty_settings_file_lacks_its_keys(tmp_path: Path) -> None:
    reported = findings(tmp_path, "")
    assert {finding.name for finding in reported} == {"missing-key"}
    assert len(reported) == 7


def test_settings_are_checked_also_where_the_text_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "protocol.toml").write_text(changed("best = 5", "best = 4"), encoding="utf-8")
    assert [finding.name for finding in check_protocols([folder])] == ["missing-file", "bad-scale"]


TYPES = [
    Answer,
    Case,
    Language,
    ExampleWords,
    tuple[Accepted, ...],
    tuple[Given, ...],
    dict[str, str],
    list[Case],
    bool,
]
KEYS = [
    "reader",
    "tag",
    "choices",
    "scores",
    "labels",
    "a",
    "name",
    "reply",
    "reason",
    "status",
    "fields",
    "role",
    "x",
]
WORDS = ["json", "ok", "a", "rubric", "strict", ""]
LEAVES = st.one_of(
    st.sampled_from(WORDS), st.booleans(), st.integers(-9, 9), st.floats(allow_nan=False), st.dates()
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
)


@given(VALUES, st.sampled_from(TYPES))
@example({"reader": "json", "choices": {"a": "A"}}, Answer)
@example({"name": "n", "reply": "", "fields": {"x": [{"role": "a"}]}}, Case)
@effort(max_examples=tries(500))
def test_a_value_has_mistakes_just_where_it_cannot_be_read(value: object, kind: Any) -> None:
    try:
        msgspec.convert(value, kind)
        is_readable = True
    except msgspec.ValidationError:
        is_readable = False
    mistakes = mistakes_in("", value, kind, "key")
    assert bool(mistakes) is not is_readable
    assert all(mistake.message.endswith(".") and mistake.todo for mistake in mistakes)


# -- brackets and syntax


def test_criteria_in_single_brackets_are_reported_with_the_double_ones(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, changed("[[criteria]]", "[criteria]"))
    assert finding.message == "criteria is a single table, but must be a list of tables."
    assert finding.todo.startswith("Write [[criteria]]")
    assert finding.line == 7


@pytest.mark.parametrize(
    "brackets", [("[criteria]", "[criteria]"), ("[criteria]", "[[criteria]]"), ("[[criteria]]", "[criteria]")]
)
def test_two_criteria_of_which_one_has_single_brackets_are_reported(
    tmp_path: Path, brackets: tuple[str, str]
) -> None:
    head, first, two = JSON.split("[[criteria]]")
    settings = f"{head}{brackets[0]}{first}{brackets[1]}{two}"
    [finding] = findings(tmp_path, settings)
    assert finding.todo.startswith("Write [[criteria]]")
    assert settings.splitlines()[finding.line - 1] == "[criteria]"


def test_an_empty_list_of_criteria_is_said_to_be_one(tmp_path: Path) -> None:
    settings = SETTINGS.replace("[[criteria]]", "criteria = []\n[unused]")
    assert "no-criteria" in {finding.name for finding in findings(tmp_path, settings)}


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (SETTINGS.replace("inputs = [", "inputs = "), 5),
        (SETTINGS.replace('tag = "score"\n', 'tag = "score'), 13),
        (SETTINGS + "tag =\n", 14),
        (SETTINGS + 'tag = "again"\n', 14),
    ],
)
def test_broken_toml_points_at_the_line_where_it_breaks(tmp_path: Path, settings: str, line: int) -> None:
    [finding] = findings(tmp_path, settings)
    assert (finding.name, finding.line) == ("not-toml", line)


def test_settings_that_are_not_utf8_are_said_to_be_so(tmp_path: Path) -> None:
    findings(tmp_path)
    (tmp_path / "own" / "protocol.toml").write_bytes(b"title = '\xff'")
    [finding] = check_protocols([tmp_path / "own"])
    assert finding.name == "unreadable"
    assert "TOML" not in finding.message


# -- slots


@pytest.mark.parametrize("written", ["{response}", "{ response }"])
def test_an_input_in_single_braces_is_reported_with_the_double_ones(tmp_path: Path, written: str) -> None:
    [finding] = findings(tmp_path, user=USER.replace("{{response}}", written))
    assert finding.message == f"'{written}' is sent as it stands: a placeholder has double braces."
    assert finding.todo == "Write {{response}}."
    assert (finding.line, Path(finding.file).name) == (2, "user.md")


def test_the_slot_of_an_alias_in_single_braces_is_reported_too(tmp_path: Path) -> None:
    settings = changed("[answer]", '[alias]\nreply = "response"\n\n[answer]')
    [finding] = findings(tmp_path, settings, user=USER.replace("{{response}}", "{reply}"))
    assert finding.todo == "Write {{reply}}."


def test_single_braces_are_text_where_a_slot_shows_the_input(tmp_path: Path) -> None:
    assert findings(tmp_path, user=USER + "Do not write {response} in your answer.\n") == []


def test_a_slot_with_spaces_is_one_problem(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, user=USER.replace("{{response}}", "{{ response }}"))
    assert finding.name == "spaced-placeholder"


def test_an_input_that_stands_nowhere_is_unused(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, user=USER.replace("{{response}}", "The response"))
    assert finding.name == "unused-input"


# -- answers that cannot mean what they say


def test_criteria_that_read_the_same_number_are_a_problem(tmp_path: Path) -> None:
    [finding] = findings(tmp_path, JSON)
    assert finding.kind == "problem"
    assert finding.message == "the criteria 'depth', 'tone' all read the same number, 'score' of the reply."
    assert "{criterion}" in finding.todo
    assert "[answer.scores]" in finding.todo
    assert finding.line == 17


@pytest.mark.parametrize(
    "paths",
    [
        'score = "{criterion}"',
        'score = "{criterion}.score"',
        'score = "score"\nscores = { tone = "tone" }',
        'scores = { tone = "tone", depth = "depth" }',
    ],
)
def test_criteria_with_numbers_of_their_own_are_none(tmp_path: Path, paths: str) -> None:
    assert findings(tmp_path, changed('score = "score"', paths, JSON)) == []


def test_two_entries_for_the_same_number_are_a_problem_as_well(tmp_path: Path) -> None:
    paths = 'scores = { tone = "score", depth = "score" }'
    [finding] = findings(tmp_path, changed('score = "score"', paths, JSON))
    assert finding.name == "same-score"


def test_evidence_without_a_response_to_look_in_is_a_problem(tmp_path: Path) -> None:
    settings = changed('score = "score"', 'score = "{criterion}"\nevidence = "quotes"', JSON)
    assert findings(tmp_path, settings) == []
    (tmp_path / "other").mkdir()
    [finding] = findings(
        tmp_path / "other",
        settings.replace('"response"', '"essay"'),
        user=USER.replace("{{response}}", "{{essay}}"),
    )
    assert finding.kind == "problem"
    assert "evidence is looked for in the input 'response'" in finding.message
    assert finding.line == 18


# -- cases


def test_a_failing_case_is_one_finding_with_status_and_value(tmp_path: Path) -> None:
    cases = "\n[[case]]\nname = 'half'\nreply = '<score>4.5</score>'\nstatus = 'ok'\nvalue = 4.5\n"
    [finding] = findings(tmp_path, cases=cases)
    assert finding.message == (
        "'half' in protocol 'own': status should be ok but is out_of_range; value should be 4.5 but is none."
    )
    assert finding.line == 2


def test_a_case_with_an_unknown_status_is_answered_with_the_nearest_and_with_all(tmp_path: Path) -> None:
    cases = "[[case]]\nname = 'n'\nreply = ''\nstatus = 'unparse'\n"
    [finding] = findings(tmp_path, cases=cases)
    assert finding.message == "status in case 'n' cannot be 'unparse'."
    assert finding.todo.startswith("Did you mean 'unparsed'?")
    assert "conflicting, no_reply, ok, out_of_range, refused, truncated, unparsed" in finding.todo
    assert finding.line == 4


def test_a_case_that_cannot_be_read_is_one_problem_in_plain_words(tmp_path: Path) -> None:
    wrong = []
    for case in table("cases"):
        reported = findings(tmp_path, cases=case["cases"])
        shown = [(finding.message, finding.todo, finding.line) for finding in reported]
        if len(shown) != 1 or not (
            shown[0][0].startswith(case["message"])
            and shown[0][1].startswith(case["todo"])
            and shown[0][2] == case["line"]
        ):
            wrong.append((case, shown))
    assert not wrong


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('{ "good" = 1, "bad" = 9 }', "option 'bad' has the value 9, which is not on the scale of 'tone'."),
        ('{ "not good" = 1, "Not-Good" = 2 }', "options 'not good' and 'Not-Good' read the same"),
        ('{ "good" = 1, "unclear" = "none" }', "option 'unclear' has no value"),
        ('{ "good" = "high" }', "cannot be 'high'"),
    ],
)
def test_an_option_that_cannot_be_used_is_a_problem(tmp_path: Path, options: str, message: str) -> None:
    settings = changed('score = "score"', f'score = "{{criterion}}"\noptions = {options}', JSON)
    found = findings(tmp_path, settings)
    assert any(message in finding.message for finding in found)
    assert {finding.kind for finding in found} == {"problem"}
