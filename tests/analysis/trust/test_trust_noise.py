"""Where the noise of scores and labels comes from, on the card."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.analysis.trust.card import Card
from adjudge.analysis.trust.words.card import trust_sections
from adjudge.records import Label, Result, Scale
from adjudge.terminal.sections import section_lines
from judged import score
from views import judge_card

WIDE = Scale(0, 100, 100)


def card_of(item: float, judge: float, sample: float, rater: float, n: int = 60, samples: int = 3) -> Card:
    """Standard deviations of each source; two raters, three judges, repeated samples."""
    rng = np.random.default_rng(1)
    quality, harsh = rng.normal(50, item, n), dict(zip("abc", rng.normal(0, judge, 3), strict=True))
    results: list[Result] = [
        score(f"i{k}", float(np.clip(quality[k] + harsh[name] + rng.normal(0, sample), 0, 100)), model=name)
        for name in harsh
        for k in range(n)
        for _ in range(samples)
    ]
    labels = [
        Label(f"i{k}", "clarity", name, float(np.clip(quality[k] + shift + rng.normal(0, 2), 0, 100)))
        for name, shift in (("ann", rater), ("ben", -rater))
        for k in range(n)
    ]
    return judge_card(results, labels, scales={"clarity": WIDE}, n_resamples=50)


def test_each_source_has_its_variance_and_what_more_of_it_buys() -> None:
    noise = card_of(item=10, judge=1, sample=4, rater=0).noise["clarity"]
    sources = noise["judge"].sources
    assert sources["item"].variance == pytest.approx(100, rel=0.4)
    assert sources["sample"].variance == pytest.approx(16, rel=0.2)
    assert sum(source.share for source in sources.values()) == pytest.approx(1)
    assert sources["item"].narrower == pytest.approx(1 - 2**-0.5, abs=0.05)
    assert noise["judge"].counts["sample"] == pytest.approx(3)
    assert noise["people"].counts["rater"] == pytest.approx(2)


def test_judges_that_differ_in_severity_call_for_another_judge() -> None:
    card = card_of(item=3, judge=15, sample=2, rater=0)
    sources = card.noise["clarity"]["judge"].sources
    assert (sources["judge"].narrower or 0) > (sources["item"].narrower or 0)
    text = "\n".join(line for line, _ in section_lines(list(trust_sections(card)), None))
    assert "Where the noise comes from" in text
    assert "what narrows the interval of a mean: one more judge" in text


def test_raters_that_differ_in_severity_call_for_another_rater() -> None:
    sources = card_of(item=3, judge=1, sample=2, rater=12).noise["clarity"]["people"].sources
    assert (sources["rater"].narrower or 0) > (sources["item"].narrower or 0)


def test_with_one_answer_for_each_item_there_is_nothing_to_part() -> None:
    results = [score(f"i{k}", float(k % 5 + 1)) for k in range(30)]
    labels = [Label(f"i{k}", "clarity", "ann", float(k % 5 + 1)) for k in range(30)]
    assert judge_card(results, labels, n_resamples=50).noise == {}


def test_differences_between_systems_are_no_noise() -> None:
    rng = np.random.default_rng(2)
    results = [
        score(f"i{k}", float(20 + 60 * (k % 2) + rng.normal(0, 1)), "ab"[k % 2])
        for k in range(60)
        for _ in range(2)
    ]
    labels = [Label(f"i{k}", "clarity", "ann", 50.0) for k in range(60)]
    sources = (
        judge_card(results, labels, scales={"clarity": WIDE}, n_resamples=50)
        .noise["clarity"]["judge"]
        .sources
    )
    assert sources["item"].variance < 2
