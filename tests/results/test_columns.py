"""The columns of results: what is selected, sorted and grouped is what a loop over the results selects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter

from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.records import Result
from adjudge.results.columns import Columns, ColumnsBuilder
from adjudge.store.results import Gaps, StoredItem, StoredResult, result_columns

NUMBERS = st.none() | st.sampled_from([1.0, 2.0, 2.5, -3.0])
RESULTS = st.lists(
    st.builds(
        lambda system, value, choice, flags: Result(
            "", "p@1", "c", "m", "ok", system, value=value, choice=choice, flags=flags
        ),
        st.sampled_from(["b", "A", "a", "é"]),
        NUMBERS,
        st.sampled_from([None, "a", "tie"]),
        st.sampled_from([(), ("x",), ("x", "xy"), ("xy",)]),
    ),
    max_size=12,
)


def made(results: Sequence[Result]) -> Columns:
    """Two results to an item."""
    builder = ColumnsBuilder()
    for seq in range(0, len(results), 2):
        stored = [
            StoredResult(
                Result(f"i{seq}", *attrgetter(*Result.__struct_fields__[1:])(one)),
                "scores",
                Gaps(None, None, None),
                None,
            )
            for one in results[seq : seq + 2]
        ]
        builder.add(result_columns(StoredItem(seq, stored)))
    return builder.columns()


@settings(max_examples=60, deadline=None)
@given(RESULTS)
def test_rows_are_selected_and_sorted_as_results_are(results: list[Result]) -> None:
    columns = made(results)
    everything = range(len(results))
    assert columns.seq.tolist() == [2 * (n // 2) for n in everything]
    for name in ("A", "none"):
        assert columns.selected(columns.equals("system", name)).tolist() == [
            n for n in everything if results[n].system == name
        ]
    assert columns.selected(columns.with_flag("x")).tolist() == [
        n for n in everything if "x" in results[n].flags
    ]
    assert columns.selected(columns.within("value", 1.5, 2.5)).tolist() == [
        n for n in everything if (value := results[n].value) is not None and 1.5 <= value <= 2.5
    ]
    for is_down in (False, True):
        sign = -1 if is_down else 1
        by_value = sorted(
            everything, key=lambda n: math.inf if results[n].value is None else sign * (results[n].value or 0)
        )
        assert columns.selected(columns.all_rows(), "value", is_down=is_down).tolist() == by_value
    by_system = sorted(everything, key=lambda n: results[n].system.lower())
    assert columns.selected(columns.all_rows(), "system").tolist() == by_system
    assert dict(columns.names["choice"].counts()) == {
        choice: n for choice in ("a", "tie") if (n := sum(one.choice == choice for one in results))
    }


@settings(max_examples=60, deadline=None)
@given(RESULTS)
def test_groups_come_in_the_order_of_their_first_row_or_by_their_distance(results: list[Result]) -> None:
    columns = made(results)
    rows = columns.selected(columns.all_rows())
    names = columns.names["system"].names
    groups = columns.groups("system", rows)
    assert [names[code] for code in groups.order] == list(dict.fromkeys(one.system for one in results))

    def spread(system: str) -> float:
        values = [one.value for one in results if one.system == system and one.value is not None]
        return max(values) - min(values) if values else -math.inf

    values = columns.numbers["value"]
    by_spread = sorted(groups.order, key=lambda code: -spread(names[code]))
    assert groups.spread_first(values, values) == by_spread


def test_rows_of_an_item_are_found_by_its_number_and_its_id() -> None:
    columns = made([Result("", "p@1", "c", "m", "ok", "s", value=float(n)) for n in range(5)])
    assert list(columns.of_item(2)) == list(columns.of_item_named("i2")) == [2, 3]
    assert list(columns.of_item(1)) == list(columns.of_item_named("nobody")) == []
    more = columns.with_columns({"label": {1: 4.0}}, {"label_name": {2: "tie"}})
    assert [more.names["label_name"][row] for row in range(5)] == [None, None, "tie", None, None]
    assert more.selected(more.has("label")).tolist() == [1]
