"""Judgments a second of the embedded judge: in one process, in one Ray actor, and in two, in one run of this
program.

Every way judges the same items of the demo (ten sources, six responses each, by several criteria) with one
thread for each actor. Start-up is left out: the rate is that between a fifth and nine tenths of the
judgments. One process with two threads computes two likelihoods at once, so that two actors are no faster
than it on two cores: actors are for more cores and machines than one process uses (eight threads, two
likelihoods at once).

    python bench/ray.py [--criteria 4] [--actors 2] [--rounds 1]

Prints a table: way, judgments a second, ratio to one actor. Exits with 1 where the actors together give less
than 0.8 of their number times the rate of one (1.6 for two). Needs the extras `local` and `ray`, the weights,
and as many quiet cores as actors.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import adjudge
from adjudge.engine import Progress, Watcher

ITEMS = Path(__file__).resolve().parents[1] / "src" / "adjudge" / "demo" / "items.jsonl"
CRITERIA = ("factuality", "fluency", "coherence", "relevance", "accuracy", "consistency")
FIRST, LAST = 0.2, 0.9
SHARE = 0.8


class Stopwatch(Watcher):
    """Notes when how many judgments were durable."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []
        self.total = 1

    def progressed(self, progress: Progress) -> None:
        self.total = progress.total
        self.seen.append((time.monotonic(), progress.done))

    def rate(self) -> float:
        begin = next(mark for mark in self.seen if mark[1] >= FIRST * self.total)
        end = next(mark for mark in self.seen if mark[1] >= LAST * self.total)
        return (end[1] - begin[1]) / (end[0] - begin[0])


def rate(n_criteria: int, *, threads: int, actors: int = 0) -> float:
    """Judgments a second once the model is loaded."""
    os.environ["ADJUDGE_THREADS"] = str(threads)
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        adjudge.run(
            ITEMS,
            [f"gptscore/{name}" for name in CRITERIA[:n_criteria]],
            "local",
            store=Path(folder) / "adjudge.db",
            watcher=watch,
            ray="local" if actors else None,
            replicas=actors or None,
        )
    return watch.rate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--criteria", type=int, default=4, choices=range(1, len(CRITERIA) + 1))
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1, help="the best rate of so many counts")
    given = parser.parse_args()
    ways = {
        "one process, 1 thread": {"threads": 1},
        f"one process, {given.actors} threads": {"threads": given.actors},
        "Ray, 1 actor": {"threads": 1, "actors": 1},
        f"Ray, {given.actors} actors": {"threads": 1, "actors": given.actors},
    }
    rates = {way: max(rate(given.criteria, **how) for _ in range(given.rounds)) for way, how in ways.items()}
    one, several = rates["Ray, 1 actor"], rates[f"Ray, {given.actors} actors"]
    for way, found in rates.items():
        print(f"{way:28}{found:8.2f}/s{found / one:8.2f}")
    target = SHARE * given.actors
    is_met = several >= target * one
    print(f"target: {target:.1f} with {given.actors} actors{'' if is_met else '   MISSED'}")
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
