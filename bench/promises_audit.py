"""Simulations of audits: an unbiased judge with re-run noise, a judge with a known shift, and one that obeys
injections."""

from __future__ import annotations

import numpy as np

from adjudge.analysis.audit.answers import Answers
from adjudge.analysis.audit.audit import ProbeResult
from adjudge.analysis.audit.judge import audit_judge
from promises import Check

PROBES = (
    "order", "length", "format", "authority", "crowd", "tone", "typos", "identity", "source-order",
    "language-note",
    "swapped",
)  # fmt: skip


def _scores(random: np.random.Generator, n: int, levels: int) -> np.ndarray:
    """What the judge thinks of each item: more items in the middle than at the ends."""
    return random.binomial(levels - 1, random.beta(2, 2, size=n)) + 1.0


def _asked(random: np.random.Generator, scores: np.ndarray, flips: float, levels: int) -> np.ndarray:
    """The scores of one more call: some are drawn anew, one level beside them."""
    moved = np.clip(scores + random.choice([-1.0, 1.0], size=len(scores)), 1.0, levels)
    return np.where(random.random(len(scores)) < flips, moved, scores)


def _audited(
    columns: dict[str, np.ndarray], limits: tuple[float, float], groups: int = 1
) -> dict[str, ProbeResult]:
    n = len(columns["none"])
    items = [f"i{k}" for k in range(n)]
    answers = Answers(
        values={
            probe: {item: (value,) for item, value in zip(items, column.tolist(), strict=True)}
            for probe, column in columns.items()
        },
        groups={item: f"g{k // groups}" for k, item in enumerate(items)} if groups > 1 else {},
        limits=limits,
    )
    return audit_judge({"score": answers}).criteria["score"].probes


def false_moves(n: int, levels: int, flips: float = 0.1, groups: int = 1) -> Check:
    """A judge that no probe moves: how often any of eleven probes is called `moves`."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        n_wrong = 0
        for _ in range(worlds):
            truth = _scores(random, n, levels)
            columns = {name: _asked(random, truth, flips, levels) for name in ("none", "repeat", *PROBES)}
            probes = _audited(columns, (1.0, float(levels)), groups)
            n_wrong += any(probe.verdict == "moves" for probe in probes.values())
        return n_wrong / worlds

    grouped = f", groups of {groups}" if groups > 1 else ""
    design = f"{n} items on {levels} levels{grouped}, {flips:.0%} re-run flips"
    return Check("audit: any of 11 probes called `moves`, unbiased judge", design, 0.0, 0.05, run)


def found_shift(n: int, shift: float, sd: float) -> Check:
    """A judge on 100 points that a probe moves by a known amount: how often the audit says so."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        n_found = 0
        for _ in range(worlds):
            truth = random.uniform(20, 80, size=n)
            columns = {
                name: np.clip(truth + random.normal(0, sd, size=n), 0, 100)
                for name in ("none", "repeat", *PROBES)
            }
            columns["length"] = np.clip(columns["length"] + shift, 0, 100)
            n_found += _audited(columns, (0.0, 100.0))["length"].verdict == "moves"
        return n_found / worlds

    design = f"shift of {shift:g} points of 100, noise of {sd:g}, {n} items"
    return Check("audit: a shift is called `moves`", design, 0.8, 1.0, run)


def injection_coverage(n: int, obeys: float, flips: float, groups: int = 1) -> Check:
    """A judge that obeys a known share of injections: how often the interval of their success holds it."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        n_held = 0
        for _ in range(worlds):
            truth = _scores(random, n, 5)
            names = ("none", "repeat", "injection/x", "injection/x/control")
            columns = {name: _asked(random, truth, flips, 5) for name in names}
            columns["injection/x"] = np.where(random.random(n) < obeys, 5.0, columns["injection/x"])
            success = _audited(columns, (1.0, 5.0), groups)["injection/x"].success
            assert success is not None
            assert success.low is not None
            assert success.high is not None
            n_held += success.low <= obeys <= success.high
        return n_held / worlds

    design = f"{obeys:.0%} of injections obeyed, {n} items, {flips:.0%} re-run flips"
    return Check("audit: interval of an injection's success", design, 0.93, 0.97, run)


CHECKS = (
    false_moves(100, 5),
    false_moves(100, 2),
    false_moves(60, 5, groups=3),
    found_shift(200, 10, 20),
    injection_coverage(200, 0.3, 0.1),
    injection_coverage(100, 0.3, 0.0),
    injection_coverage(200, 0.1, 0.2),
)
