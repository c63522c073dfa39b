"""The card of a panel: what report shows and a gate decides on, corrected with all of its judges."""

from __future__ import annotations

import random

import pytest

from adjudge.analysis.run_view.criteria import by_criterion
from adjudge.analysis.run_view.given_results import view_of_results
from adjudge.analysis.run_view.panel import pooled_over_models
from adjudge.analysis.trust.card import Card
from adjudge.analysis.trust.judge_card import judge_card
from adjudge.analysis.trust.words.first_screen import trust_screen
from adjudge.records import Label, Result
from adjudge.stats import ppi_panel
from adjudge.terminal.sections import section_lines
from judged import FIVE, choice, score

JUDGES = {"sharp": 0.4, "fair": 1.0, "blunt": 2.0}


def scores_and_labels(n: int, n_labels: int) -> tuple[list[Result], list[Label]]:
    rng = random.Random(3)
    people = [float(rng.randint(1, 5)) for _ in range(n)]
    results = [
        score(f"i{k}", min(5.0, max(1.0, round(value + rng.gauss(0, noise)))), model=judge)
        for judge, noise in JUDGES.items()
        for k, value in enumerate(people)
    ]
    return results, [Label(f"i{k}", "clarity", "ann", people[k]) for k in range(n_labels)]


def card_of(results: list[Result], labels: list[Label]) -> Card:
    view = view_of_results(results, by_criterion({"clarity": FIVE}))
    return judge_card(view, labels, n_resamples=100, with_panel=True)


def test_the_panel_comes_before_its_judges() -> None:
    card = card_of(*scores_and_labels(200, 60))
    assert list(card.criteria) == ["clarity · 3 judges", *(f"clarity · {judge}" for judge in JUDGES)]
    assert card.criteria["clarity · 3 judges"].panel == ("blunt", "fair", "sharp")


def test_its_mean_is_corrected_with_a_slope_for_each_judge() -> None:
    results, labels = scores_and_labels(200, 60)
    corrected = card_of(results, labels).criteria["clarity · 3 judges"].corrected["all"]
    by_judge = [[row.value for row in results if row.model == judge] for judge in sorted(JUDGES)]
    people = [labels[k].value if k < 60 else None for k in range(200)]
    expected = ppi_panel([None if y is None else float(y) for y in people], by_judge, limits=(1.0, 5.0))
    assert (corrected.value, corrected.low, corrected.high) == (
        pytest.approx(expected.corrected.value),
        pytest.approx(expected.corrected.low),
        pytest.approx(expected.corrected.high),
    )
    assert "with 3 judges" in corrected.method


def test_judge_alone_is_the_pooled_mean_of_the_report() -> None:
    results, labels = scores_and_labels(200, 60)
    pooled = pooled_over_models(view_of_results(results))[0].results
    values = [row.value for row in pooled if row.value is not None]
    alone = card_of(results, labels).criteria["clarity · 3 judges"].corrected["all"].judge_only
    assert alone.value == pytest.approx(sum(values) / len(values))


def test_few_labels_get_one_slope_for_the_mean_of_the_panel() -> None:
    corrected = card_of(*scores_and_labels(200, 25)).criteria["clarity · 3 judges"].corrected["all"]
    assert corrected.method.startswith("PPI++ mean with the score of the panel")


def test_a_panel_of_pairs_is_corrected_by_its_votes() -> None:
    rng = random.Random(4)
    truth = [rng.choice("ab") for _ in range(120)]
    results = [
        choice(f"i{k}", side if rng.random() < right else "b" if side == "a" else "a", model=judge)
        for judge, right in {"one": 0.9, "two": 0.8, "three": 0.7}.items()
        for k, side in enumerate(truth)
    ]
    labels = [Label(f"i{k}", results[0].criterion, "ann", truth[k]) for k in range(60)]
    view = view_of_results(results)
    cards = judge_card(view, labels, n_resamples=100, with_panel=True).criteria
    panel = next(card for card in cards.values() if card.panel)
    first, second = panel.corrected["x"], panel.corrected["y"]
    assert first.value is not None
    assert second.value is not None
    assert first.value + second.value == pytest.approx(1)
    assert abs(first.value - truth.count("a") / 120) < 0.1


def test_the_first_screen_answers_for_the_panel() -> None:
    card = card_of(*scores_and_labels(200, 60))
    lines = [text for text, _ in section_lines(list(trust_screen(card, 10)), None)]
    assert any("the panel of 3 judges for clarity" in line for line in lines)
    assert any("Each judge of the panel" in line for line in lines)
    assert len(lines) <= 30
