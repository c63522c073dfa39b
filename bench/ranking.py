"""How fast strengths are fitted and resampled, beside a general solver in the same run.

    python bench/ranking.py [--games 100000] [--systems 50] [--resamples 200]

Ours: Newton's method on the win matrix, clusters drawn as multinomial counts of distinct prompts, all
resamples of a block solved at once; with the sandwich and the tie parameter. The other route is what one
writes first: scipy's general minimiser on the same aggregated counts (which is kind to it), game by game
resampled, one refit after the other; it is timed on a few refits.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy.optimize import minimize

from adjudge.stats import games_of, strengths


def made_up(n_games: int, k: int, n_prompts: int | None) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    strength = rng.normal(0, 0.7, k)
    first = rng.integers(0, k, n_games)
    second = (first + rng.integers(1, k, n_games)) % k
    d = strength[first] - strength[second]
    weights = np.stack([np.exp(d / 2), np.exp(-d / 2), np.full(n_games, 0.4)])
    drawn = (rng.random(n_games) * weights.sum(axis=0) > np.cumsum(weights, axis=0)).sum(axis=0)
    prompt = np.arange(n_games) if n_prompts is None else rng.integers(0, n_prompts, n_games)
    return first, second, np.array([1.0, 0.0, 0.5])[drawn], prompt


def general(first: Any, second: Any, share: Any, k: int, prompt: Any, n_refits: int) -> float:
    """Seconds for one refit by a general minimiser, resampling prompts by index."""
    rng = np.random.default_rng(1)
    by_prompt = np.argsort(prompt, kind="stable")
    starts = np.searchsorted(prompt[by_prompt], np.arange(prompt.max() + 2))
    begun = time.perf_counter()
    for _ in range(n_refits):
        drawn = rng.integers(0, prompt.max() + 1, prompt.max() + 1)
        index = np.concatenate([by_prompt[starts[cluster] : starts[cluster + 1]] for cluster in drawn])
        won = np.zeros((k, k))
        np.add.at(won, (first[index], second[index]), share[index])
        np.add.at(won, (second[index], first[index]), 1 - share[index])

        def loss(b: Any, won: Any = won) -> tuple[float, Any]:
            d = b[:, None] - b[None, :]
            missed = won / (1 + np.exp(d))
            return float((won * np.logaddexp(0, -d)).sum()), missed.sum(axis=0) - missed.sum(axis=1)

        minimize(loss, np.zeros(k), jac=True, method="BFGS")
    return (time.perf_counter() - begun) / n_refits


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag, default in (("--games", 100_000), ("--systems", 50), ("--resamples", 200)):
        options.add_argument(flag, type=int, default=default)
    given = options.parse_args()
    k = given.systems
    print(f"{given.games:,} games of {k} systems, {given.resamples} resamples")
    for name, n_prompts in (("each game a prompt", None), ("1,000 prompts", 1000)):
        first, second, share, prompt = made_up(given.games, k, n_prompts)
        best = float("inf")
        for _ in range(3):
            begun = time.perf_counter()
            games = games_of(first, second, share, k, prompt)
            fit = strengths(games, n_resamples=given.resamples)
            best = min(best, time.perf_counter() - begun)
        assert all(strength.low is not None for strength in fit.bootstrap)
        other = general(first, second, share, k, prompt, 3) * given.resamples
        print(
            f"  {name:20} ours {best:6.2f} s   one refit after the other by scipy about {other:7.1f} s   x"
            f" {other / best:.0f}"
        )


if __name__ == "__main__":
    main()
