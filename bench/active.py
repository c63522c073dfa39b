"""How many comparisons active choice saves on the way to the full round robin's ranking.

    python bench/active.py [--systems 10] [--prompts 60] [--sets 20] [--ties 0.15] [--seed 0]

Design. Each set has systems with strengths drawn from a normal distribution (sd 0.8), and an outcome for
every pair of systems on every prompt, drawn once from Davidson's model: the full round robin. Its ranking is
what is to be reached: the order of all pairs of systems that it tells apart (Holm, 5 %). Three ways ask for
the same outcomes one batch (1 % of all) after the other, from the same first games (each system with its two
neighbours in a random ring, on two prompts):

    active     adjudge.stats.next_games, as `adjudge rank --next` does
    even       the pair that met least
    random     any pair on any prompt

A way has reached something at the first batch from which on it holds to the end. Three figures, each the
share of all comparisons:

    order      all pairs that the full round robin tells apart are in its order: the ranking as far as it is
               one
    whole      all pairs are, also those that it cannot tell apart itself, whose order is chance
    tests      the way's own tests tell the same pairs apart; a pair at 4.9 % in the full set takes nearly all
               of it
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from adjudge.stats import Games, adjusted, games_of, next_games, strengths

Pairs = list[tuple[int, int]]
Outcomes = dict[tuple[int, int], NDArray[np.float64]]


def outcomes(k: int, n_prompts: int, ties: float, rng: np.random.Generator) -> Outcomes:
    """For each pair of systems what the first took on each prompt."""
    strength = rng.normal(0, 0.8, k)
    drawn_outcomes = {}
    for i in range(k):
        for j in range(i + 1, k):
            d = strength[i] - strength[j]
            weights = np.array([np.exp(d / 2), np.exp(-d / 2), 2 * ties / (1 - ties)])
            drawn = rng.choice(3, size=n_prompts, p=weights / weights.sum())
            drawn_outcomes[i, j] = np.array([1.0, 0.0, 0.5])[drawn]
    return drawn_outcomes


def games_from(
    asked: dict[tuple[int, int], int], of: Outcomes, order: dict[tuple[int, int], NDArray[np.int64]], k: int
) -> Games:
    """The outcomes asked so far; of each pair the prompts come in another order."""
    first, second, share, prompt = [], [], [], []
    for (i, j), n in asked.items():
        prompts = order[i, j][:n]
        first += [i] * n
        second += [j] * n
        share += of[i, j][prompts].tolist()
        prompt += prompts.tolist()
    return games_of(first, second, share, k, prompt)


def verdicts(games: Games) -> tuple[NDArray[np.float64], dict[tuple[int, int], float | None]]:
    """Ratings, and Holm's p-value of each pair."""
    fit = strengths(games, n_resamples=0)
    values = [strength.value for strength in fit.sandwich]
    rating = fit.rating if None in values else [value or 0.0 for value in values]
    return np.array(rating), dict(zip(fit.p_values, adjusted(list(fit.p_values.values())), strict=True))


def way(
    name: str, rng: np.random.Generator
) -> Callable[[Games, dict[tuple[int, int], int], int, int, int], Pairs]:
    def active(games: Games, asked: dict[tuple[int, int], int], n: int, n_prompts: int, k: int) -> Pairs:
        left = [
            [n_prompts - asked.get((min(i, j), max(i, j)), 0) if i != j else 0 for j in range(k)]
            for i in range(k)
        ]
        rating, _ = verdicts(games)
        return next_games(games, rating.tolist(), n, limits=left)

    def even(games: Games, asked: dict[tuple[int, int], int], n: int, n_prompts: int, k: int) -> Pairs:
        del games
        count = {(i, j): asked.get((i, j), 0) for i in range(k) for j in range(i + 1, k)}
        pairs: Pairs = []
        for _ in range(n):
            least = min(count, key=lambda pair: (count[pair], rng.random()))
            if count[least] >= n_prompts:
                break
            count[least] += 1
            pairs.append(least)
        return pairs

    def at_random(games: Games, asked: dict[tuple[int, int], int], n: int, n_prompts: int, k: int) -> Pairs:
        del games
        left = [
            (i, j) for i in range(k) for j in range(i + 1, k) for _ in range(n_prompts - asked.get((i, j), 0))
        ]
        return [left[at] for at in rng.choice(len(left), size=min(n, len(left)), replace=False)]

    return {"active": active, "even": even, "random": at_random}[name]


def reached(name: str, of: Outcomes, k: int, n_prompts: int, seed: int) -> tuple[float, float, float]:
    """The shares of all comparisons at which order, whole order and tests are those of the full round robin
    for good."""
    rng = np.random.default_rng(seed)
    order = {pair: rng.permutation(n_prompts) for pair in of}
    total = len(of) * n_prompts
    rating, p_values = verdicts(games_from(dict.fromkeys(of, n_prompts), of, order, k))
    whole = [(i, j) if rating[i] > rating[j] else (j, i) for i, j in p_values]
    apart = [
        (i, j) if rating[i] > rating[j] else (j, i)
        for (i, j), p in p_values.items()
        if p is not None and p <= 0.05
    ]
    ring = rng.permutation(k)
    asked: dict[tuple[int, int], int] = {}
    for at in range(k):
        i, j = sorted((int(ring[at]), int(ring[(at + 1) % k])))
        asked[i, j] = 2
    choose, batch = way(name, rng), max(1, total // 100)
    in_order = all_in_order = by_tests = 0.0
    while True:
        games = games_from(asked, of, order, k)
        now, p_values_ = verdicts(games)
        share = sum(asked.values()) / total
        is_in_order = all(now[i] > now[j] for i, j in apart)
        is_settled = is_in_order and all((p_values_[min(pair), max(pair)] or 1.0) <= 0.05 for pair in apart)
        in_order = in_order if is_in_order else share + batch / total
        is_whole = all(now[i] > now[j] for i, j in whole)
        all_in_order = all_in_order if is_whole else share + batch / total
        by_tests = by_tests if is_settled else share + batch / total
        chosen = choose(games, asked, batch, n_prompts, k)
        if not chosen:
            return min(1.0, in_order), min(1.0, all_in_order), min(1.0, by_tests)
        for pair in chosen:
            asked[pair] = asked.get(pair, 0) + 1


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag, default in (("--systems", 10), ("--prompts", 60), ("--sets", 20), ("--seed", 0)):
        options.add_argument(flag, type=int, default=default)
    options.add_argument("--ties", type=float, default=0.15)
    given = options.parse_args()
    k, n_prompts = given.systems, given.prompts
    print(
        f"{given.sets} sets of {k} systems, {n_prompts} prompts, {k * (k - 1) // 2 * n_prompts:,} comparisons"
        " in a full round robin"
    )
    start = time.perf_counter()
    print(f"{'way':8} {'order':>32} {'whole':>32} {'tests':>32}")
    for name in ("active", "even", "random"):
        shares = []
        for number in range(given.sets):
            of = outcomes(k, n_prompts, given.ties, np.random.default_rng([given.seed, number]))
            shares.append(reached(name, of, k, n_prompts, number))
        cells = []
        for column in zip(*shares, strict=True):
            low, middle, high = np.quantile(column, [0.1, 0.5, 0.9])
            cells.append(f"{np.mean(column):.0%} (median {middle:.0%}, {low:.0%} to {high:.0%})")
        print(f"{name:8} " + " ".join(f"{cell:>32}" for cell in cells))
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
