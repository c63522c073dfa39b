"""`adjudge calibrate` and `--map-scores`: from labels to a map, and from the map to another judge."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adjudge.analysis.calibrate import platt_fit
from adjudge.score_map import read_score_map
from fakedecisions import decides
from fakeserver import FakeServer
from running import adjudge, answers, write_rows

N_ITEMS = 150


def overconfident(text: str, _n_options: int) -> list[float]:
    """0.98 or 0.02, where the label is right seven times in ten."""
    match = re.search(r"answer (\d+)\.", text)
    assert match is not None
    return [0.02, 0.98] if int(match[1]) % 2 else [0.98, 0.02]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A folder with items, a rubric and labels."""
    answers(tmp_path / "i.jsonl", N_ITEMS)
    (tmp_path / "kind.toml").write_text(
        'name = "kind"\ncriterion = "Is it kind?"\n[levels]\n0 = "unkind"\n1 = "kind"\n'
    )
    rows = (
        {"item": f"i{k}", "criterion": "kind", "rater": "r", "value": (k % 2) ^ (k * 37 % 101 < 30)}
        for k in range(1, N_ITEMS + 1)
    )
    write_rows(tmp_path / "l.jsonl", rows)
    return tmp_path


def test_a_map_is_part_of_the_judge_and_costs_no_call(judged: Path) -> None:
    flags = ["-p", "geval/score", "--rubric", judged / "kind.toml", "--store", judged / "s.db"]
    with FakeServer(decides(overconfident)) as server:
        model = f"typed=systemone+{server.url}/v1#judge"
        first = adjudge("run", judged / "i.jsonl", *flags, "-m", model, "--run", "plain")
        assert first.code == 0, first.err
        out = judged / "map.toml"
        made = adjudge(
            "calibrate",
            "plain",
            "--labels",
            judged / "l.jsonl",
            "-o",
            out,
            "--store",
            judged / "s.db",
            "--json",
        )
        assert made.code == 0, made.err
        (quality,) = made.json["criteria"]
        assert quality["method"] == "platt"
        assert quality["calibration_before"]["low"] > 0.05
        assert quality["calibration_after"]["value"] < 0.1, "held-out items"
        assert read_score_map(out).digest == made.json["digest"]
        asked = server.n_requests
        mapped = adjudge(
            "run", judged / "i.jsonl", *flags, "-m", model, "--run", "mapped", "--map-scores", out
        )
        assert mapped.code == 0, mapped.err
        assert server.n_requests == asked, "the same calls: the map is applied to stored replies"
        again = adjudge("run", judged / "i.jsonl", *flags, "-m", model, "--run", "plain", "--map-scores", out)
        assert again.code == 2, "the judge is another one"
    store = ("--store", judged / "s.db")
    scores = {
        row["item"]: row["score"] for row in adjudge("export", "mapped", "--format", "jsonl", *store).rows
    }
    assert set(scores.values()) != {0.02, 0.98}
    assert scores["i1"] == pytest.approx(0.7, abs=0.05)
    assert scores["i2"] == pytest.approx(0.3, abs=0.05)
    assert adjudge("reread", "mapped", *store).code == 0
    assert {
        row["item"]: row["score"] for row in adjudge("export", "mapped", "--format", "jsonl", *store).rows
    } == scores
    found = adjudge("trust", "mapped", "--labels", judged / "l.jsonl", "--json", *store).json
    assert found["criteria"]["kind"]["probabilities"]["error"]["low"] == 0


def test_a_map_of_another_model_is_refused_before_the_run(judged: Path) -> None:
    (judged / "m.toml").write_text(
        '[[maps]]\nmodel = "other"\ncriterion = "kind"\nmethod = "platt"\nlabels = 30\n'
    )
    with FakeServer(decides(overconfident)) as server:
        refused = adjudge(
            "run", judged / "i.jsonl", "-p", "geval/score", "--rubric", judged / "kind.toml", "-m",
            f"decisions+{server.url}/v1#j", "--map-scores", judged / "m.toml", "--store", judged / "s.db",
        )  # fmt: skip
        assert refused.code == 2
        assert "made for other" in refused.err
        assert server.n_requests == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "maps = 3",
        '[[maps]]\nmodel = "m"\ncriterion = "c"\nmethod = "isotonic"\nlabels = 9\nx = [1, 0]\ny = [0, 1]\n',
    ],
)
def test_a_file_that_is_no_map_is_named(judged: Path, text: str) -> None:
    (judged / "m.toml").write_text(text)
    done = adjudge(
        "run", judged / "i.jsonl", "-p", "geval/score", "--rubric", judged / "kind.toml", "-m",
        "fake:text=Score: 1",
        "--map-scores", judged / "m.toml", "--store", judged / "s.db",
    )  # fmt: skip
    assert done.code == 2
    assert "adjudge calibrate" in done.err


def test_a_logistic_curve_finds_the_slope_and_stays_finite() -> None:
    separated = platt_fit([0.01] * 30 + [0.99] * 30, [0.0] * 30 + [1.0] * 30)
    assert 0 < separated[0] < 10
    calibrated = platt_fit([0.2] * 50 + [0.8] * 50, ([1.0] + [0.0] * 4) * 10 + ([0.0] + [1.0] * 4) * 10)
    assert calibrated == pytest.approx((1.0, 0.0), abs=0.05)


def test_a_map_that_helps_nothing_is_not_recommended(judged: Path) -> None:
    """The judge is right on most items: a smooth curve only moves its scores away from the labels."""
    rubric = 'criterion = "Is it kind?"\n[levels]\n' + "".join(f'{k} = "level {k}"\n' for k in range(1, 6))
    (judged / "five.toml").write_text(rubric)
    scores = {k: 1 + k * 7 % 5 for k in range(1, N_ITEMS + 1)}
    replies = write_rows(
        judged / "r.jsonl", ({"item": f"i{k}", "text": f"[RESULT] {score}"} for k, score in scores.items())
    )
    people = write_rows(
        judged / "p.jsonl",
        ({"item": f"i{k}", "value": score if k % 9 else 6 - score} for k, score in scores.items()),
    )
    store = ("--store", judged / "s.db")
    flags = ("-p", "prometheus/direct", "--rubric", judged / "five.toml", "-m", f"replay:{replies}")
    assert adjudge("run", judged / "i.jsonl", *flags, "--run", "right", *store).code == 0
    command = ("calibrate", "right", "--labels", people, "-o", judged / "map.toml", *store)
    (quality,) = adjudge(*command, "--json").json["criteria"]
    assert quality["error_after"]["value"] > quality["error_before"]["value"]
    assert "does not bring the scores of" in adjudge(*command).out
