"""Rubrics: the two forms, the scale that their levels make, and every problem at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.data import read_rubric
from adjudge.errors import DataError
from adjudge.records import Rubric, Scale


@pytest.fixture
def read(tmp_path: Path):
    def reader(text: str, name: str = "empathy.toml") -> Rubric:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return read_rubric(path)

    return reader


def problems(read, text: str, name: str = "empathy.toml") -> list[str]:
    with pytest.raises(DataError) as caught:
        read(text, name)
    first, *rest = str(caught.value).splitlines()
    assert f"{name}: {len(rest)} problem" in first
    return [line.strip() for line in rest]


def test_the_levels_are_the_scale_and_the_file_gives_the_name(read):
    rubric = read('criterion = "Is it kind?"\n[levels]\n1 = "no"\n2 = "한"\n3 = "yes"\n')
    levels = {1.0: "no", 2.0: "한", 3.0: "yes"}
    assert rubric == Rubric("empathy", "Is it kind?", Scale(low=1, high=3, step=1, best=3, levels=levels))


@pytest.mark.parametrize(
    ("levels", "step"),
    [(("0", "0.5", "1"), 0.5), (("0", "4", "6", "8", "10"), 2), (("1", "2.5", "3"), 0.5), (("-1", "0", "1"),
    1),
     (("0", "0.1", "0.3"), 0.1), (("0", "10"), 10), (("1", "2", "4"), 1)],
)  # fmt: skip
def test_the_step_divides_every_distance_between_levels(read, levels, step):
    scale = read(
        'criterion = "x"\n[levels]\n' + "".join(f'"{level}" = "t{level}"\n' for level in levels)
    ).scale
    assert scale.step == step
    assert all(scale.status_of(level) == "ok" for level in scale.levels)
    assert list(scale.levels.values()) == [f"t{level}" for level in levels]


def test_a_rubric_without_levels_goes_from_1_to_5(read):
    rubric = read('name = "kind"\ncriterion = "x"\n')
    assert (rubric.name, rubric.scale) == ("kind", Scale(low=1, high=5, step=1, best=5))


def test_the_lowest_level_may_be_the_best_and_levels_may_have_names(read):
    rubric = read(
        'criterion = "x"\nbest = 0\n[levels]\n1 = "bad"\n0 = "good"\n[names]\n0 = "pass"\n1 = "fail"\n'
    )
    assert rubric.scale == Scale(
        low=0, high=1, step=1, best=0, levels={0: "good", 1: "bad"}, names={0: "pass", 1: "fail"}
    )
    assert list(rubric.scale.levels) == [0, 1]
    assert rubric.scale.normalized(0) == 1


def test_the_key_names_of_prometheus_are_taken_with_any_number_of_levels(read):
    text = (
        '{"criteria": "Is it kind?", "score2_description": "b", "score1_description": "a", '
        '"score3_description": "c"}'
    )
    assert read(text, "kind.json") == Rubric(
        "kind", "Is it kind?", Scale(low=1, high=3, step=1, best=3, levels={1: "a", 2: "b", 3: "c"})
    )
    ten = ", ".join(f'"score{n}_description": "level {n}"' for n in range(11))
    assert read(f'{{"criteria": "x", "best": 0, "name": "n", {ten}}}', "kind.json").scale.best == 0
    assert read('{"criteria": "x"}', "kind.json").scale == Scale(low=1, high=5, step=1, best=5)


def test_the_key_names_of_prometheus_data_are_taken(read):
    plain = {"criteria": "Is it kind?", **{f"score{level}_description": f"level {level}" for level in (1, 2)}}
    in_data = {f"orig_{key}": text for key, text in plain.items()}
    assert read(json.dumps(in_data), "r.json") == read(json.dumps(plain), "r.json")


def test_all_problems_come_at_once_with_the_nearest_key(read):
    text = (
        'name = ""\ncriterium = "x"\nbest = 2\nzzz = 1\n[levels]\n1 = "a"\nb = "b"\n2 = ""\n3 = "c"\n3.5 '
        '= "d"\n[names]\n9 = "x"\n'
    )
    with pytest.raises(DataError, match="not TOML"):
        read(text)
    messages = problems(read, text.replace('3.5 = "d"\n', '4.5 = "d"\n"1.0" = "a"\n'))
    said = [
        "unknown key 'criterium'. Did you mean 'criterion'?",
        "unknown key 'zzz'. Known keys: name, criterion, levels, best, names, labels.",
        "'name' is empty.",
        "'criterion' is missing. Say in words what is judged",
        "[levels] 'b' is not a number.",
        "'levels 2' is empty.",
        '[levels] 4.…: quote a level that has a point: "4.5" = "…".',
        "[levels] 1.0 is declared twice.",
        "'best' is 2. Give the level at the good end: 1 or 3.",
        "[names] has 9, which is no level. The levels are 1, 2, 3.",
    ]
    assert len(messages) == len(said)
    assert all(line.startswith(start) for line, start in zip(messages, said, strict=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('criterion = "x"\nlevels = 5', "'levels' is not a table"),
        ('criterion = "x"\n[levels]\n1 = "a"', "[levels] has fewer than two levels"),
        ('criterion = "x"\n[levels]\n', "[levels] has fewer than two levels"),
        ('criterion = "x"\n[levels]\n1 = 1\n2 = "b"', "'levels 1' is not a text"),
        ('criterion = "x"\nbest = nan', "'best' is nan"),
        ('criterion = "x"\nbest = true', "'best' is True"),
        ('criterion = "x"\nbest = "high"', "'best' is high"),
        ('criterion = "x"\nbest = [1]', "'best' is [1]"),
        ('criterion = "x"\nbest = 1' + "0" * 400, "'best' is 1000"),
        ("criterion = 3", "'criterion' is not a text"),
        ('criterion = "x\\u0000"', "'criterion' has a NUL character"),
        ('criterion = "x"\n[names]\n1 = "a"\n2 = "a"', "[names] gives 'a' to two levels"),
    ],
)
def test_a_rubric_that_cannot_be_used_says_why(read, text, said):
    (line,) = problems(read, text)
    assert line.startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"criterion": "x", "criteria": "y"}', "unknown key 'criterion'. Did you mean 'criteria'?"),
        ('{"criteria": "x", "levels": {"1": "a", "2": "b"}}', "unknown key 'levels'"),
        (
            '{"criteria": "x", "score1_descripton": "y"}',
            "unknown key 'score1_descripton'. Did you mean 'score1_description'?",
        ),
        (
            '{"criteria": "x", "scoreA_description": "y", "score1_description": "y"}',
            "[levels] 'A' is not a number",
        ),
        (
            '{"criteria": "x", "score1_description": 4.5, "score2_description": "z"}',
            "'levels 1' is not a text",
        ),
        ('{"score1_description": "y", "score2_description": "z"}', "'criteria' is missing"),
    ],
)
def test_a_json_rubric_with_other_keys_says_which(read, text, said):
    assert problems(read, text, "kind.json")[0].startswith(said)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", "criterion = ", "a.toml: not TOML"),
        ("a.toml", "best = " + "1" * 5000, "a.toml: not TOML"),
        ("a.json", "{", "a.json: not JSON"),
        ("a.json", "[]", "a.json: a list, not an object. The file must be one JSON object"),
        ("a.json", '{"criteria": "x", "criteria": "y"}', "a.json: key 'criteria' is given twice"),
        ("a.yaml", "", "a.yaml: format unknown by its name. Name it .toml or .json."),
    ],
)
def test_a_file_that_is_no_rubric_is_an_error(read, name, text, said):
    with pytest.raises(DataError) as caught:
        read(text, name)
    assert said in str(caught.value)


def test_a_missing_or_wrongly_encoded_rubric_is_an_error(tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        read_rubric(tmp_path / "none.toml")
    path = tmp_path / "a.toml"
    path.write_bytes('# one\ncriterion = "é"'.encode("latin-1"))
    with pytest.raises(DataError, match="line 2: not UTF-8"):
        read_rubric(path)
    path.write_bytes('criterion = "é"\r\n'.encode("utf-8-sig"))
    assert read_rubric(path).criterion == "é"
