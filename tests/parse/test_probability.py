"""The expected score from the tokens where the score stands."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adjudge.parse.probability import expected_score
from adjudge.records import Scale, TokenLogprob, TopToken

FIVE = Scale(1, 5, 5, 1)
TEN = Scale(0, 10, 10, 1)


def token(text: str, **top: float) -> TokenLogprob:
    return TokenLogprob(
        text, top.get(text, 0.0), tuple(TopToken(name, logprob) for name, logprob in top.items())
    )


def plain(text: str) -> list[TokenLogprob]:
    return [TokenLogprob(piece, -0.1) for piece in text]


@pytest.fixture
def vectors(shared: Path) -> dict[str, Any]:
    vectors: dict[str, Any] = json.loads((shared / "vectors.json").read_text(encoding="utf-8"))
    return vectors


def test_the_expectation_merges_spellings_and_keeps_the_caught_mass(vectors: dict[str, Any]) -> None:
    vector = vectors["geval_logprob_expectation"]
    tokens = [*plain("Score:"), token("4", **vector["inputs"]["top_logprobs"])]
    expected = expected_score((6, 7), tokens, FIVE)
    assert expected is not None
    assert expected.value == pytest.approx(vector["expected"]["score_merged"], abs=1e-9)
    assert expected.caught_mass == pytest.approx(vector["expected"]["valid_mass"], abs=1e-9)
    assert expected.distribution == pytest.approx(
        {float(k): v for k, v in vector["expected"]["mass_by_score"].items()}
    )


def test_a_ten_in_two_tokens_is_a_ten(vectors: dict[str, Any]) -> None:
    vector = vectors["geval_ten_on_0_10"]
    first = token("1", **vector["inputs"]["first_token_top_logprobs"])
    second = token("0", **vector["inputs"]["second_token_after_1"])
    expected = expected_score((0, 2), [first, second], TEN)
    assert expected is not None
    assert expected.value == pytest.approx(vector["expected"]["right_two_token"], abs=1e-9)
    assert expected.caught_mass == pytest.approx(vector["expected"]["mass"], abs=1e-9)


def test_a_one_that_may_have_become_a_ten_is_left_uncaught() -> None:
    tops = {"8": math.log(0.6), "1": math.log(0.3), "9": math.log(0.1)}
    expected = expected_score((0, 1), [token("8", **tops)], TEN)
    assert expected is not None
    assert expected.caught_mass == pytest.approx(0.7)
    assert 1.0 not in expected.distribution


def test_a_one_is_one_where_ten_is_a_token_of_its_own() -> None:
    tops = {"10": math.log(0.6), "1": math.log(0.3), "9": math.log(0.1)}
    expected = expected_score((0, 2), [token("10", **tops)], TEN)
    assert expected is not None
    assert expected.value == pytest.approx(10 * 0.6 + 1 * 0.3 + 9 * 0.1)


def test_a_digit_before_the_score_is_not_taken_for_it() -> None:
    tokens = [*plain("Step 1: fine. Score:"), token(" 4", **{" 4": math.log(0.8), " 5": math.log(0.2)})]
    expected = expected_score((21, 22), tokens, FIVE)
    assert expected is not None
    assert expected.value == pytest.approx(4.2)


def test_the_written_token_counts_where_it_is_not_among_the_likeliest() -> None:
    tokens = [TokenLogprob("2", math.log(0.05), (TopToken("4", math.log(0.9)),))]
    expected = expected_score((0, 1), tokens, FIVE)
    assert expected is not None
    assert expected.caught_mass == pytest.approx(0.95)


def test_no_value_among_the_tokens_is_nothing_and_not_a_guess() -> None:
    assert expected_score((0, 1), [token("x", x=-0.1)], FIVE) is None
    assert expected_score((9, 10), plain("4"), FIVE) is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1", "2", "3", "4", "5", " 4", "10", "x", "４", "0", "-1"]), st.floats(-20, 0)
        ),
        min_size=1,
    )
)
@example([("5", -6.429644998556212), ("5", -3.5625)])
def test_an_expectation_lies_on_the_scale(tops: list[tuple[str, float]]) -> None:
    total = math.log(sum(math.exp(logprob) for _, logprob in tops))
    share = {text: logprob - total for text, logprob in tops}
    written = next(iter(share))
    tokens = [TokenLogprob(written, share[written], tuple(TopToken(*top) for top in share.items()))]
    expected = expected_score((0, 1), tokens, FIVE)
    if expected is not None:
        assert 1 <= expected.value <= 5
        assert 0 < expected.caught_mass <= 1 + 1e-9
