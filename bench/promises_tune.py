"""Does a tuning claim only gains that exist? Random draws of labels on recorded candidates.

    python bench/promises_tune.py [DRAWS]

With the best candidate as the start no gain exists: a claim is false. With one sample as the start and eight
for the others a gain exists: the share of draws that claim it, beside McNemar's exact test of the chosen and
of the truly best candidate on the same locked part.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc

from adjudge.analysis.tune.split import split_of
from adjudge.analysis.tune.winner import tuned
from adjudge.data.judge_answers import JudgeAnswer
from adjudge.records import Label
from promises_cascade import rows_of


class Candidates(NamedTuple):
    """Answers by item, the winner by people, and the agreement of each candidate over all items."""

    answers: dict[str, list[JudgeAnswer]]
    gold: dict[str, str]
    agreement: dict[str, float]


class Rates(NamedTuple):
    claimed: float
    """in any of the looks"""
    exact: float
    """McNemar's exact test of the chosen candidate at 2.5 %, on the same locked part"""
    best: float
    """the same of the truly best candidate, which is not known before"""


def candidates(samples: Sequence[int], names: Sequence[str] = ()) -> Candidates:
    """Every candidate of `tuning` with so many samples each, or some of them."""
    answers: dict[str, list[JudgeAnswer]] = {}
    gold: dict[str, str] = {}
    right: dict[str, list[bool]] = {}
    for row in rows_of("tuning"):
        if names and row["candidate"] not in names:
            continue
        gold[row["item"]] = row["gold"]
        for k in samples:
            a, b = ([x for x in row[key][:k] if x is not None] for key in ("scores_a", "scores_b"))
            margin = fmean(a) - fmean(b) if a and b else None
            choice = None if margin is None else "a" if margin > 0 else "b" if margin < 0 else "tie"
            name = f"{row['candidate']} k={k}"
            answers.setdefault(row["item"], []).append(JudgeAnswer(row["item"], name, choice))
            right.setdefault(name, []).append(choice == row["gold"])
    return Candidates(answers, gold, {name: fmean(flags) for name, flags in right.items()})


def simulate(
    data: Candidates, start: str, n_labels: int, draws: int, *, looks: int = 1, seed: int = 0
) -> Rates:
    """Claims over draws; with several looks, each is at another random half of the candidates on the same
    labels."""
    rng, items = np.random.default_rng(seed), sorted(data.gold)
    claimed = exact = best_shown = 0
    best = max(data.agreement, key=lambda name: data.agreement[name])
    for _ in range(draws):
        drawn = [items[at] for at in rng.choice(len(items), n_labels, replace=False)]
        labels = [Label(item, "choice", "gold", data.gold[item]) for item in drawn]
        counter, is_claimed, winner = Counter[str](), False, start
        for look in range(looks):
            kept = set(data.agreement) if look == 0 else _half(rng, data, start)
            rows = [row for item in drawn for row in data.answers[item] if row.judge in kept]
            tuning = tuned(rows, labels, partial(_count, counter), counter.__getitem__, start=start)
            is_claimed |= tuning.claim
            winner = tuning.winner
        claimed += is_claimed
        people = {item: data.gold[item] for item in drawn}
        exact += _exact(data, people, winner, start)
        best_shown += _exact(data, people, best, start)
    return Rates(claimed / draws, exact / draws, best_shown / draws)


def _half(rng: np.random.Generator, data: Candidates, start: str) -> set[str]:
    others = sorted(set(data.agreement) - {start})
    return {start, *(others[at] for at in rng.choice(len(others), (len(others) + 1) // 2, replace=False))}


def _count(counter: Counter[str], digest: str) -> int:
    counter[digest] += 1
    return counter[digest]


def _exact(data: Candidates, people: dict[str, str], best: str, start: str) -> bool:
    won = lost = 0
    for item in split_of(people, {}).locked:
        answers = {row.judge: row.answer == people[item] for row in data.answers[item]}
        won, lost = won + (answers[best] > answers[start]), lost + (answers[start] > answers[best])
    return won > 0 and float(bdtrc(won - 1, won + lost, 0.5)) <= 0.025


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    eight = candidates((8,))
    best = max(eight.agreement, key=lambda name: eight.agreement[name])
    for n_labels in (100, 200, 400):
        print(
            f"start = best, {n_labels} labels: false claims"
            f" {simulate(eight, best, n_labels, draws).claimed:.4f}"
        )
    five = simulate(eight, best, 200, draws // 2, looks=5)
    print(f"start = best, 200 labels, five looks: false claims {five.claimed:.4f}")
    both = candidates((1, 8))
    for start in ("base/gpt-full k=1", "base/gpt-mini k=1"):
        kept = {name for name in both.agreement if name.endswith("k=8")} | {start}
        data = Candidates(
            {item: [row for row in rows if row.judge in kept] for item, rows in both.answers.items()},
            both.gold,
            {name: share for name, share in both.agreement.items() if name in kept},
        )
        for n_labels in (100, 200, 400):
            rates = simulate(data, start, n_labels, draws // 2)
            print(
                f"{start}, {n_labels} labels: claims {rates.claimed:.3f}, exact test {rates.exact:.3f}, of"
                f" the best {rates.best:.3f}"
            )


if __name__ == "__main__":
    main()
