"""Whatever two runs hold, a comparison is a value without NaN, or a refusal that says why."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjudge
from adjudge.analysis.compare.words import compare_sections
from adjudge.errors import DataError
from adjudge.records import Result, Scale
from judged import choice, numbers_in, score
from thorough import tries

SCALES = (
    None,
    Scale(1.0, 5.0, 5.0, 1.0),
    Scale(1.0, 5.0, 1.0),
    Scale(1.0, 5.0, "unknown"),
    Scale(None, None, "high"),
)


def results(model: str) -> st.SearchStrategy[list[Result]]:
    def made(values: dict[tuple[str, str, str], Any]) -> list[Result]:
        rows = []
        for (item, criterion, system), value in values.items():
            is_choice = isinstance(value, str)
            about = {
                "system": system,
                "group": item if system != "z" else None,
                "criterion": criterion,
                "model": model,
            }
            row = choice if is_choice else score
            rows.append(row(f"{item}-{system}", value, **about))
        return rows

    keys = st.tuples(st.sampled_from("123456"), st.sampled_from(["c", "d"]), st.sampled_from("xyz"))
    values = st.none() | st.sampled_from([1.0, 2.0, 3.0, 4.5, 5.0]) | st.sampled_from(["a", "b", "tie"])
    return st.dictionaries(keys, values, max_size=18).map(made)


@settings(max_examples=tries(60))
@given(first=results("m"), second=results("n"), scale=st.sampled_from(SCALES))
def test_any_two_runs_give_a_comparison_or_a_reason(
    first: list[Result], second: list[Result], scale: Scale | None
) -> None:
    scales = {"c": scale, "d": scale} if scale is not None else None
    try:
        comparison = adjudge.compare(first, second, scales=scales)
    except DataError:
        return
    # JSON has no NaN: encoding would turn it into null, so it is looked for in what was encoded from Python
    # values.
    assert not [
        number
        for number in numbers_in(msgspec.to_builtins(comparison))
        if math.isnan(number) or math.isinf(number)
    ]
    assert comparison.summary
    assert all(text for part in compare_sections(comparison) for text in (part.title, *part.lines))
    for criterion in comparison.criteria.values():
        for row in criterion.systems.values():
            failed = row.n_failed_first + row.n_failed_second + row.n_failed_both
            assert row.difference.n + failed == row.n_items
            if row.bounds is not None and row.difference.value is not None:
                assert row.bounds.low <= row.bounds.high


@settings(max_examples=tries(40))
@given(values=st.lists(st.tuples(*[st.none() | st.integers(1, 5).map(float)] * 2), min_size=2, max_size=12))
def test_the_other_way_round_every_difference_changes_its_sign(
    values: list[tuple[float | None, float | None]],
) -> None:
    def run(side: int) -> list[Result]:
        return [score(f"{k}", pair[side], criterion="c") for k, pair in enumerate(values)]

    there = adjudge.compare(run(0), run(1), scales={"c": Scale(1.0, 5.0, 5.0)}).criteria["c"].systems["all"]
    back = adjudge.compare(run(1), run(0), scales={"c": Scale(1.0, 5.0, 5.0)}).criteria["c"].systems["all"]
    ends = [there.difference.value, there.difference.low, there.difference.high]
    turned = [back.difference.value, back.difference.high, back.difference.low]
    for end, other in zip(ends, turned, strict=True):
        assert (end is None) == (other is None)
        assert end is None or other is None or end == pytest.approx(-other)
    assert there.p == pytest.approx(back.p) if there.p is not None else back.p is None
