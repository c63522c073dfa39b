"""A few items are read without a file, and are the same items, with the same problems."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.engine.item_source import few_items, open_items
from adjudge.errors import DataError

VALUES = st.one_of(
    st.text(max_size=8), st.none(), st.integers(), st.booleans(), st.lists(st.text(max_size=3))
)
ROWS = st.lists(
    st.dictionaries(st.sampled_from(["id", "system", "group", "response", "task"]), VALUES), max_size=4
)


def from_file(rows: list[dict[str, Any]]) -> Any:
    source = open_items(rows, {}, lambda _: (), None)
    source.check(skip_bad=False)
    return list(source)


def outcome(read: Any, rows: list[dict[str, Any]]) -> Any:
    """The items, or the problems without the name of what they are in."""
    try:
        return read(rows)
    except DataError as fault:
        return str(fault).splitlines()[1:]


def few(rows: list[dict[str, Any]]) -> Any:
    return few_items(rows, {}, lambda _: (), outputs=lambda _: (), skip_bad=False)


@given(rows=ROWS)
def test_few_items_are_those_of_a_file(rows: list[dict[str, Any]]) -> None:
    assert outcome(few, rows) == outcome(from_file, rows)


def test_what_is_no_json_is_a_problem_with_its_number() -> None:
    with pytest.raises(DataError, match="item 2"):
        few([{"response": "a"}, {"response": object()}])


@pytest.mark.parametrize(
    "read", [from_file, lambda rows: few_items(rows, {}, lambda _: (), outputs=lambda _: (), skip_bad=False)]
)
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"x", "holds bytes"),
        ([b"x"], "holds bytes"),
        ({"a": {"b": bytearray(b"x")}}, "holds bytes"),
        ({"x"}, "holds a set"),
    ],
)
def test_bytes_and_sets_are_refused_and_not_judged_in_another_form(read: Any, value: Any, why: str) -> None:
    with pytest.raises(DataError, match=f"item 2: field 'response' {why}"):
        read([{"response": "good"}, {"response": value}])


def test_problems_of_rows_in_python_name_no_file_of_ours() -> None:
    with pytest.raises(DataError) as refused:
        from_file([{"id": ""}])
    assert str(refused.value).startswith("(given in Python): 1 problem")
