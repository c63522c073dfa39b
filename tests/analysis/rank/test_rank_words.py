"""The sentences of a ranking that need a case of their own."""

from __future__ import annotations

import adjudge
from adjudge.analysis.rank.words import leader
from adjudge.records import Scale
from judged import choice, score


def test_the_leader_is_named_where_there_is_one() -> None:
    ties = adjudge.rank([(a, b, "tie") for a, b in (("x", "y"), ("x", "z"), ("y", "z")) for _ in range(10)])
    assert leader(ties).startswith("No system ranks first: all 3 are tied, each with a win rate of 50 % [")
    both = [("x", "y", "a"), ("x", "y", "b")] * 10 + [("x", "z", "a"), ("y", "z", "a")] * 9
    shared = adjudge.rank([*both, ("z", "x", "a"), ("z", "y", "a")])
    assert leader(shared) == "x and y tie for first."
    new = adjudge.rank([("new", "old", "a")] * 40 + [("new", "old", "b")] * 5, n_resamples=50)
    assert leader(new) == "new ranks first, significantly ahead of the other system."


def test_notes_say_what_a_table_cannot() -> None:
    islands = adjudge.rank([("x", "y", "a"), ("y", "x", "a"), ("p", "q", "a"), ("q", "p", "a")])
    assert "never compared" in " ".join(islands.notes)
    rows = [
        score(f"{system}{k}", value, system, f"g{k}")
        for k in range(6)
        for system, value in (("x", 4), ("y", 1))
    ]
    low = adjudge.rank(rows, scales={"clarity": Scale(1, 5, 1)})
    assert "lower is better" in " ".join(low.notes)
    panel = adjudge.rank([choice("p", "a", model="m"), choice("p", None, model="n")])
    assert "1 of 1 pairs lack" in " ".join(panel.notes)


def test_systems_without_a_common_prompt_are_compared_by_their_means_in_both_sentences() -> None:
    rows = [
        score(f"{system}{k}", value + 0.1 * (k % 3), system)
        for k in range(12)
        for system, value in (("x", 4), ("y", 2), ("z", 1))
    ]
    by_means = adjudge.rank(rows, scales={"clarity": Scale(1, 5, 5)})
    assert leader(by_means) == "x ranks first on clarity, significantly ahead of all 2 other systems."
    assert "compared by their means" in by_means.notes[0]
    assert "no comparisons" not in " ".join(by_means.notes)
    failed = adjudge.rank([score("i", None, "x"), score("j", None, "y")], scales={"clarity": Scale(1, 5, 5)})
    assert leader(failed) == "There are no comparisons to rank by."
    assert failed.notes[0] == "There are no comparisons to rank by. 2 judgments failed."
