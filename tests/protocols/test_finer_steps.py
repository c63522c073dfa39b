"""`--step`: half points on a scale of whole numbers."""

from __future__ import annotations

import pytest

from adjudge.errors import DataError
from adjudge.parse import parse
from adjudge.protocols import load_protocol, with_finer_steps

FACTUALITY = load_protocol("opinion-summary/faithfulness")
STRUCTURE = load_protocol("commentary-zh/structure")


def test_half_points_are_read_with_a_step_of_half_a_point_and_are_between_levels_without() -> None:
    reply = "Close to the reviews.\n<score>4.5</score>"
    without = parse(FACTUALITY, reply)
    assert without.scores[0].status == "out_of_range"
    assert "between_levels" in without.flags
    (finer,) = with_finer_steps([FACTUALITY], 0.5)
    assert parse(finer, reply).scores[0].value == 4.5
    assert "between_levels" not in parse(finer, reply).flags
    assert finer.digest != FACTUALITY.digest
    assert finer.user_text == FACTUALITY.user_text


def test_a_score_beyond_the_ends_is_not_between_levels() -> None:
    judgment = parse(FACTUALITY, "<score>7</score>")
    assert judgment.scores[0].status == "out_of_range"
    assert "between_levels" not in judgment.flags


def test_a_chinese_half_point_is_between_levels() -> None:
    judgment = parse(STRUCTURE, "8.5分\n结构清楚。")
    assert judgment.scores[0].status == "out_of_range"
    assert "between_levels" in judgment.flags
    (finer,) = with_finer_steps([STRUCTURE], 0.5)
    assert parse(finer, "8.5分\n结构清楚。").scores[0].value == 8.5


@pytest.mark.parametrize(
    ("step", "words"), [(0.3, "no multiple"), (2, "change nothing"), (1, "change nothing"), (0,
    "more than 0"), (-1, "more than 0")]
)  # fmt: skip
def test_a_step_that_cannot_be_used_is_refused(step: float, words: str) -> None:
    with pytest.raises(DataError, match=words):
        with_finer_steps([FACTUALITY], step)


def test_classes_keep_their_values() -> None:
    with pytest.raises(DataError, match="change nothing"):
        with_finer_steps([load_protocol("classify")], 0.5)
