"""Which of an item's calls a number means: the same in every version, or stored runs could not be resumed."""

from __future__ import annotations

from adjudge.store.call_index import StepPlace, reask_index, step_index, step_place, written_steps_index


def test_the_place_of_a_call_is_kept_in_its_index() -> None:
    for place in (StepPlace(0, 0, 0, 0), StepPlace(7, 2, 1999, 3), StepPlace(4000, 1, 1, 1)):
        assert step_place(step_index(place)) == place
    assert step_place(3) is None


def test_the_indices_are_those_of_stored_runs() -> None:
    assert [reask_index(10, 4, number) for number in (1, 2, 3)] == [14, 34, 44]
    assert written_steps_index(10, 2) == 22
    assert step_index(StepPlace(1, 2, 3, 1)) == 2**32 + 2**24 + 2 * 2**16 + 3 * 4 + 1


def test_no_two_calls_of_a_run_share_an_index() -> None:
    n = 7
    indices = [
        *range(n),
        *(reask_index(n, planned, number) for planned in range(n) for number in (1, 2, 3)),
        *(written_steps_index(n, protocol) for protocol in range(n)),
        *(
            step_index(StepPlace(planned, position, number, reask))
            for planned in range(n)
            for position in range(3)
            for number in range(5)
            for reask in range(4)
        ),
    ]
    assert len(indices) == len(set(indices))
