"""Words of an audit that must not say more than its numbers."""

from __future__ import annotations

import random

import pytest

from adjudge.analysis.audit.answers import Answers
from adjudge.analysis.audit.audit import ProbeResult
from adjudge.analysis.audit.judge import audit_judge
from adjudge.analysis.audit.words import verdict_text


def audited(shift: float, noise: float, n: int = 200) -> ProbeResult:
    """A judge of expected scores: each asked again differs by noise, and the probe moves it by `shift`."""
    rng = random.Random(2)
    values: dict[str, dict[str, tuple[float | None, ...]]] = {"none": {}, "repeat": {}, "tone": {}}
    for k in range(n):
        base = rng.choice([2.0, 3.0, 4.0])
        for probe, items in values.items():
            moved = shift if probe == "tone" else 0.0
            items[f"i{k}"] = (base + moved + rng.uniform(-noise, noise),)
    return audit_judge({"clarity": Answers(values, limits=(1.0, 5.0))}).criteria["clarity"].probes["tone"]


def test_a_significant_shift_within_the_margin_is_no_does_not_move() -> None:
    probe = audited(-0.1, 0.2)
    assert probe.verdict == "holds"
    assert verdict_text(probe, 0.2) == "moves by less than the margin (0.20)"
    assert verdict_text(audited(0.0, 0.2), 0.2) == "does not move"


def test_scores_between_levels_change_from_half_a_step() -> None:
    """Expected scores nearly never repeat exactly: a re-run that differs a little has not changed them."""
    probe = audited(0.0, 0.2)
    assert probe.floor is not None
    assert probe.floor.value == 0
    assert probe.flips.value == 0
    moved = audited(1.0, 0.2)
    assert moved.flips.value == 1
    assert moved.verdict == "moves"


@pytest.mark.parametrize(
    ("scores", "limits", "half_step"),
    [
        ([1.0, 2.0, 5.0], (1.0, 5.0), 0.0),
        ([1.0, 2.5, 5.0], (1.0, 5.0), 0.0),
        ([1.03, 2.5, 4.9], (1.0, 5.0), 0.5),
        ([0.0, 1.0, 1.0], (0.0, 1.0), 0.0),
        ([0.31, 0.77, 0.9], (0.0, 1.0), 0.125),
        ([1.7e308, 1.0], (1.0, 5.0), 0.5),
    ],
)
def test_only_scores_off_the_grid_have_a_tolerance(
    scores: list[float], limits: tuple[float, float], half_step: float
) -> None:
    values = {"none": {f"i{k}": (value,) for k, value in enumerate(scores)}}
    assert Answers(values, limits=limits).half_step() == half_step
