"""Does a cascade keep its promise? Random calibrations on recorded judges, with the other items as truth.

    python bench/promises_cascade.py [DRAWS]

For each setting: the share of calibrations in which the true agreement of the decided items is below the
target (it should be at most the risk), the share decided, and whether a threshold was shown at all.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from adjudge.stats import cascade_path
from adjudge.stats.cascades import CascadeFit, StageAnswers, fit_cascade

DATA = Path(__file__).parents[2] / "shared" / "data"
RISK = 0.1
EVERYONE = ("mistral-7b-instruct", "gpt-3.5-turbo", "gpt-4-turbo")


class Judges(NamedTuple):
    """Two or more judges on the same items: confidence (none: decides nothing), and whether each agrees with
    people."""

    confidence: list[list[float | None]]
    agrees: list[list[bool]]
    same_as_last: list[list[bool]]


class Outcome(NamedTuple):
    missed: float
    decided: float
    shown: float


def rows_of(name: str) -> list[dict[str, object]]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def tuning_judges(names: Sequence[str], samples: int = 8) -> Judges:
    """Candidates of `tuning` as judges: the larger mean of their samples wins, the difference is the
    confidence."""
    table: dict[str, dict[str, tuple[float | None, bool]]] = {name: {} for name in names}
    for row in rows_of("tuning"):
        if row["candidate"] in table:
            a, b = ([x for x in row[key][:samples] if x is not None] for key in ("scores_a", "scores_b"))
            margin = fmean(a) - fmean(b) if a and b else 0.0
            choice = "a" if margin > 0 else "b"
            table[row["candidate"]][row["item"]] = (abs(margin) or None, choice == row["gold"])
    return _judges(table)


def recorded_judges(names: Sequence[str]) -> Judges:
    """Judges of `cascade`, with their stated confidence."""
    table: dict[str, dict[str, tuple[float | None, bool]]] = {name: {} for name in names}
    for row in rows_of("cascade"):
        if row["judge"] in table:
            table[row["judge"]][row["item"]] = (row["confidence"], row["choice"] == row["human"])
    return _judges(table)


def _judges(table: dict[str, dict[str, tuple[float | None, bool]]]) -> Judges:
    items = sorted(set.intersection(*(set(rows) for rows in table.values())))
    agrees = [[rows[item][1] for item in items] for rows in table.values()]
    return judges_of([[rows[item][0] for item in items] for rows in table.values()], agrees)


def judges_of(confidence: list[list[float | None]], agrees: list[list[bool]]) -> Judges:
    """Two judges of two options give the same answer where both agree with people, or neither does."""
    same = [[one == last for one, last in zip(flags, agrees[-1], strict=True)] for flags in agrees]
    return Judges(confidence, agrees, same)


def decided_by(fit: CascadeFit, judges: Judges, items: Sequence[int]) -> tuple[int, int]:
    """How many of the items the thresholds decide, and how many of those agree with people."""
    decided = agreed = 0
    for item in items:
        for stage, confidence, agrees in zip(fit.stages, judges.confidence, judges.agrees, strict=True):
            sure = confidence[item]
            if stage.threshold is not None and sure is not None and sure >= stage.threshold:
                decided, agreed = decided + 1, agreed + agrees[item]
                break
    return decided, agreed


def simulate(
    judges: Judges,
    target: float,
    n_labels: int,
    draws: int,
    *,
    groups: Sequence[int] | None = None,
    whole: bool = True,
    seed: int = 0,
) -> Outcome:
    """Calibrate on random items (with groups: on all items of random groups) and look at the others, or at
    all."""
    rng, n = np.random.default_rng(seed), len(judges.agrees[0])
    missed = decided = shown = 0.0
    for _ in range(draws):
        if groups is None:
            drawn = set(rng.choice(n, n_labels, replace=False).tolist())
        else:
            order = {group: place for place, group in enumerate(rng.permutation(max(groups) + 1).tolist())}
            drawn = set(sorted(range(n), key=lambda item: order[groups[item]])[:n_labels])
        answers = [
            StageAnswers(
                confidence, [flag if item in drawn else None for item, flag in enumerate(agrees)], same
            )
            for confidence, agrees, same in zip(*judges, strict=True)
        ]
        fit = fit_cascade(answers, target, RISK, groups)
        items = range(n) if whole else [item for item in range(n) if item not in drawn]
        n_decided, n_agreed = decided_by(fit, judges, items)
        shown += fit.holds
        decided += n_decided / len(items)
        missed += fit.holds and n_agreed < target * n_decided
    return Outcome(missed / draws, decided / draws, shown / draws)


def _line(name: str, outcome: Outcome) -> None:
    print(f"{name:58s} missed {outcome.missed:.3f}  decided {outcome.decided:.3f}  shown {outcome.shown:.3f}")


def known_share(judges: Judges, target: float) -> float:
    """The largest share that thresholds could decide if the labels of all items were known."""
    confidence = np.array([[-np.inf if c is None else c for c in row] for row in judges.confidence])
    agrees = np.array(judges.agrees)
    grids = [
        [np.inf, *np.unique(np.quantile(row[np.isfinite(row)], np.linspace(0, 1, 60)))] for row in confidence
    ]
    best = 0.0
    for first in grids[0]:
        sure = confidence[0] >= first
        for second in grids[1]:
            decided = sure | (confidence[1] >= second)
            right = np.where(sure, agrees[0], agrees[1]) & decided
            if right.sum() >= target * decided.sum():
                best = max(best, float(decided.mean()))
    return best


def compare_rules(judges: Judges, draws: int) -> None:
    """Other valid rules: how much stricter the cheaper judge is (1: the same quantile), and the last judge
    alone."""
    alone = judges_of(judges.confidence[1:], judges.agrees[1:])
    for target in (0.93, 0.95):
        print(f"{target}: thresholds known beforehand would decide {known_share(judges, target):.3f}")
        for n_labels in (200, 500):
            for exponent in (1, 2, 3, 4, 6):
                cascade_path._EXPONENT = exponent
                _line(
                    f"{target}, {n_labels} labels, exponent {exponent}",
                    simulate(judges, target, n_labels, draws),
                )
            cascade_path._EXPONENT = 3
            _line(f"{target}, {n_labels} labels, last judge alone", simulate(alone, target, n_labels, draws))


def compare_starts(draws: int) -> None:
    """Where the path begins: with how many disagreements, before which share of the labels."""
    now = cascade_path._DISAGREEMENTS, cascade_path._LARGEST_START_SHARED
    for names in (EVERYONE, EVERYONE[::2]):
        for disagreements, share in ((3, 0.6), (8, 0.5), now, (8, 0.7), (15, 0.6)):
            cascade_path._DISAGREEMENTS, cascade_path._LARGEST_START_SHARED = disagreements, share
            outcome = simulate(recorded_judges(names), 0.8, 100, draws)
            _line(f"{' → '.join(names)}, start at {disagreements} and {share}", outcome)
    cascade_path._DISAGREEMENTS, cascade_path._LARGEST_START_SHARED = now


def compare_paths(draws: int) -> None:
    """Judges that state probabilities: by their order, and with one threshold (used)."""
    for names in (EVERYONE, EVERYONE[:2], EVERYONE[1:], EVERYONE[::2]):
        judges = recorded_judges(names)
        # Doubled, they are no probabilities any more.
        by_order = judges._replace(
            confidence=[[None if c is None else 2 * c for c in row] for row in judges.confidence]
        )
        for name, these in (("by order", by_order), ("one threshold", judges)):
            outcome = simulate(these, 0.8, 100, draws, whole=False)
            _line(f"{' → '.join(names)}, 0.8, 100 labels, {name}", outcome)


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    compare_rules(tuning_judges(("base/gpt-mini", "base/gpt-full")), draws // 4)
    for names in (("base/gpt-mini", "base/gpt-full"), ("cal-low/gpt-mini", "cal-high/gpt-full")):
        judges = tuning_judges(names)
        groups = [item // 4 for item in range(len(judges.agrees[0]))]
        for target in (0.93, 0.95):
            for n_labels in (200, 500):
                name = f"{' → '.join(names)}, {target}, {n_labels} labels"
                _line(name, simulate(judges, target, n_labels, draws))
                _line(f"{name}, groups of 4", simulate(judges, target, n_labels, draws // 4, groups=groups))
    compare_starts(draws // 4)
    compare_paths(draws)


if __name__ == "__main__":
    main()
