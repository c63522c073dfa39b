"""A tuning on the page of its run: the frontier, and what changed in the prompt."""

from __future__ import annotations

import re

from adjudge.analysis.tune.kept import KeptTuning
from adjudge.analysis.tune.tuning import Locked, Tuning
from adjudge.records import Estimate
from adjudge.web.parts.tuning_view import tuning_view


def agreement(value: float) -> Estimate:
    return Estimate(value, value - 0.1, value + 0.05, 50, method="agreement", unit="item")


def kept() -> KeptTuning:
    tuning = Tuning(
        "base",
        "base.tune.careful, 8 samples",
        {"base": agreement(0.7), "base.tune.careful, 8 samples": agreement(0.85), "odd": agreement(0.6)},
        Locked(50, 1, Estimate(0.15, 0.05, 0.25, 50, method="gain", unit="item")),
        True,
        None,
        0.1,
        100,
        {"base": 1.0, "base.tune.careful, 8 samples": 8.0},
        ("base", "base.tune.careful, 8 samples"),
    )
    runs = {"base": "base", "base.tune.careful, 8 samples": "base.tune.careful"}
    return KeptTuning(tuning, runs, ("Judge the text.", "Judge the text with care."))


def test_each_candidate_is_drawn_with_its_price_and_opens_its_run() -> None:
    view = tuning_view(kept(), has_doors=True)
    assert view.picture is not None
    assert re.findall(r'href="([^"]*)"', view.picture) == ["/run?run=base", "/run?run=base.tune.careful"]
    assert "careful, 8 samples: agreement 0.85, $8.00 per 1,000 items" in view.picture
    assert "1 without a price" in view.note
    assert "by +0.15 [+0.05, +0.25]" in str(view.answer.section.lines[0])
    assert "href" not in str(tuning_view(kept(), has_doors=False).picture)


def test_the_words_that_the_winner_changed_are_marked() -> None:
    prompts = tuning_view(kept(), has_doors=True).prompts
    assert prompts is not None
    assert prompts.second is not None
    assert [prompts.second.text[begin:end] for begin, end in prompts.second.spans] == ["with care"]
