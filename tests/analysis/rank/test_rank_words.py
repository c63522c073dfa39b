"""The sentences of a ranking that need a case of their own."""

from __future__ import annotations

import adjudge
from adjudge.analysis.rank.words import leader, rank_sections
from adjudge.records import Scale
from adjudge.sections import DrawnInterval, cell_text
from adjudge.terminal.sections import section_lines
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


def test_a_system_that_was_never_compared_is_no_rival_whose_lead_is_open() -> None:
    """A, B and C play each other, D and E only one another."""
    rows = [choice(f"ab{k}", "a" if k % 2 else "b", "A", "B") for k in range(10)]
    rows += [choice(f"bc{k}", "a" if k % 3 else "b", "B", "C") for k in range(10)]
    rows += [choice(f"de{k}", "a" if k % 2 else "b", "D", "E") for k in range(10)]
    ranking = adjudge.rank(rows)
    text = leader(ranking)
    assert "never compared with" in text
    assert not any(f"lead over {name}" in text for name in ("D", "E"))
    shown = "\n".join(text for text, _ in section_lines(list(rank_sections(ranking)), None))
    assert "6 pairs were not tested" in shown
    assert "8 of 10" not in shown


def test_the_possible_ranks_are_drawn_and_strengths_are_not() -> None:
    games = [("x", "y", "a"), ("x", "y", "b")] * 20 + [("x", "z", "a"), ("y", "z", "a")] * 20
    ranking = adjudge.rank(games)
    standings = next(section for section in rank_sections(ranking) if section.title == "Systems, best first")
    axes = {column.name: column.axis for column in standings.heads}
    assert axes["rank"] is not None
    assert (axes["rank"].low, axes["rank"].high, axes["rank"].is_whole) == (1.0, 3.0, True)
    assert axes["strength [95 % CI]"] is None
    cells = [row[0] for row in standings.rows]
    for place, (cell, standing) in enumerate(zip(cells, ranking.systems, strict=True), start=1):
        assert isinstance(cell, DrawnInterval)
        (mark,) = cell.marks
        assert (mark.value, mark.low, mark.high) == (place, *standing.places)
    assert {cell_text(cell) for cell in cells} == {"1–2", "3"}
