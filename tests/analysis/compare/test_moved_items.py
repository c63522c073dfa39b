"""A comparison as a change: the items that moved most, and whose side people take."""

from __future__ import annotations

import random
from typing import Any

import pytest

from adjudge.analysis.compare.compare import compare_views
from adjudge.analysis.compare.comparison import Comparison
from adjudge.analysis.compare.words import compare_sections
from adjudge.analysis.trust.judge_card import judge_card
from adjudge.records import Label, Result, Scale
from adjudge.sections import DrawnInterval, cell_text
from judged import FIVE, choice, score
from views import view

N = 40


def run(seed: int, noise: int, name: str, **more: Any) -> Any:
    """A judge that sees the truth with noise."""
    rng = random.Random(seed)
    results = [
        score(f"i{k}", float(min(5, max(1, truth(k) + rng.randint(-noise, noise)))), "AB"[k % 2],
        f"g{k // 2}",
              criterion="tact", model=name)
        for k in range(N)
    ]  # fmt: skip
    return view(results, {"tact": FIVE}, name=name, **more)


def truth(k: int) -> int:
    return 1 + k * 7 % 5


LABELS = [Label(f"i{k}", "tact", rater, float(truth(k))) for k in range(30) for rater in ("ann", "ben")]


def compared(labels: list[Label] | None = None, **more: Any) -> Comparison:
    return compare_views(
        run(1, 3, "old"), run(2, 0, "new"), labels=LABELS if labels is None else labels, **more
    )


def test_items_are_sorted_by_the_size_of_their_change_and_counted() -> None:
    card = compared().criteria["tact"]
    answers = [
        {result.item: result.value for result in run(seed, noise, "x").results}
        for seed, noise in ((1, 3), (2, 0))
    ]
    changes = {item: (answers[1][item] or 0) - (answers[0][item] or 0) for item in answers[0]}
    assert card.n_moved == sum(change != 0 for change in changes.values())
    assert [abs(one.difference) for one in card.moved] == sorted(
        (abs(change) for change in changes.values() if change), reverse=True
    )[: len(card.moved)]
    for one in card.moved:
        assert one.difference == changes[one.item]
        assert (one.first, one.second) == (answers[0][one.item], answers[1][one.item])


def test_people_side_with_the_run_whose_answers_are_nearer_to_their_labels() -> None:
    card = compared().criteria["tact"]
    assert card.people is not None
    assert card.people.n == 30
    assert card.people.n_first == 0
    assert card.people.n_second > 10
    assert card.people.n_first + card.people.n_second + card.people.n_equal == 30
    assert all(one.nearer == "second" for one in card.moved if one.label is not None)
    assert all(one.label is None and one.nearer is None for one in card.moved if int(one.item[1:]) >= 30)
    assert "'new' agrees significantly better with people than 'old'" in card.people.pair.sentence.text


def test_the_test_is_that_of_trust_versus() -> None:
    from adjudge.analysis.run_view.panel import as_one_panel

    people = compared().criteria["tact"].people
    assert people is not None
    (pair,) = judge_card(as_one_panel([run(1, 3, "old"), run(2, 0, "new")]), LABELS).judges
    assert people.pair.result.first.value == pytest.approx(pair.result.first.value)
    assert people.pair.result.second.value == pytest.approx(pair.result.second.value)
    assert people.pair.result.difference.value == pytest.approx(pair.result.difference.value)


def test_without_labels_nothing_is_said_about_people() -> None:
    comparison = compared([])
    assert comparison.criteria["tact"].people is None
    titles = [section.title for section in compare_sections(comparison)]
    assert "Whose side people take" not in titles
    assert "Items that moved most" in titles


def test_where_the_texts_differ_a_label_could_be_of_either_and_is_not_used() -> None:
    first = run(1, 3, "old", contents={f"i{k}": {"response": 1} for k in range(N)})
    second = run(2, 0, "new", contents={f"i{k}": {"response": 2} for k in range(N)})
    comparison = compare_views(first, second, labels=LABELS)
    assert comparison.criteria["tact"].people is None
    assert all(one.label is None for one in comparison.criteria["tact"].moved)
    assert any("Human labels are not used" in note for note in comparison.notes)


def test_a_pair_moves_when_another_system_wins_whichever_is_called_a() -> None:
    def pairs(name: str, choices: str) -> Any:
        rows: list[Result] = []
        for k, choice_ in enumerate(choices):
            sides = ("old", "new") if k % 2 else ("new", "old")
            rows.append(choice(f"p{k}", choice_, *sides, criterion="better", model=name))  # type: ignore[arg-type]
        return view(rows, {}, name=name)

    labels = [Label(f"p{k}", "better", "ann", "a") for k in range(6)]
    comparison = compare_views(pairs("first", "aaabbb"), pairs("second", "aaaaab"), labels=labels)
    card = comparison.criteria["better"]
    assert card.n_moved == 2
    # The pair is named after its first item, where new is a: in p3, new is b.
    assert {one.item: (one.first, one.second, one.label, one.nearer) for one in card.moved} == {
        "p3": ("a", "b", "b", "second"),
        "p4": ("b", "a", "a", "second"),
    }
    section = next(one for one in compare_sections(comparison) if one.title == "Items that moved most")
    rows = {row[0]: [cell_text(value) for value in row] for row in section.rows}
    assert rows["p3"][2:] == ["new", "old", "−1.00", "old", "second"]
    assert card.people is not None
    assert (card.people.n_first, card.people.n_second, card.people.n_equal) == (0, 2, 4)


def test_runs_on_scales_that_cannot_be_compared_have_no_moved_items_and_no_picture() -> None:
    first = view(
        [score(f"i{k}", -k / 7, "A", criterion="tact", model="m") for k in range(8)], {"tact": Scale(None,
        None, "high")}, name="first"
    )  # fmt: skip
    second = view(
        [score(f"i{k}", 1 + k % 5, "A", criterion="tact", model="n") for k in range(8)],
        {"tact": FIVE},
        name="second",
    )
    comparison = compare_views(first, second)
    card = comparison.criteria["tact"]
    assert (card.unit, card.n_moved, card.moved) == ("rank", 0, ())
    sections = list(compare_sections(comparison))
    assert all(section.title != "Items that moved most" for section in sections)
    assert not any(
        isinstance(value, DrawnInterval) for section in sections for row in section.rows for value in row
    )


def test_the_means_of_both_runs_are_drawn_as_a_change_and_written_as_before() -> None:
    comparison = compared()
    section = next(one for one in compare_sections(comparison) if one.title == "tact")
    place = [head.name for head in section.heads].index("difference [95 % CI]")
    for row, (name, system) in zip(section.rows, comparison.criteria["tact"].systems.items(), strict=True):
        cell = row[place]
        assert row[0] == name
        assert isinstance(cell, DrawnInterval)
        assert cell.is_change
        assert [mark.value for mark in cell.marks] == [system.second.value, system.first.value]
        assert cell.text.startswith(("+", "−", "0"))
