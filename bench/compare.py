"""How long `adjudge.compare` takes on two runs of many scores, and how much memory it adds.

    python bench/compare.py [--systems 65] [--criteria 8] [--items 2000] [--groups]

Every score of the second run is really 2 points higher on a scale of 0 to 100: the last line says how many of
the differences the comparison finds after its correction for their number.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import adjudge
from adjudge.records import Result, Scale

SHIFT = 2.0


def scored(
    systems: int, criteria: int, items: int, shift: float, seed: int, has_groups: bool
) -> list[Result]:
    """The results of one run; with groups, all systems answer the same prompts."""
    random = np.random.default_rng(seed)
    scores = np.clip(
        np.arange(items)[None, :, None] % 40 + 30 + shift + random.normal(0, 10, (systems, items, criteria)),
        0,
        100,
    )
    return [
        Result(
            item=f"{system}-{item}",
            protocol="bench@1",
            criterion=f"c{criterion}",
            model="judge",
            status="ok",
            value=float(scores[system, item, criterion]),
            system=f"system {system}",
            group=f"prompt {item}" if has_groups else None,
        )
        for system in range(systems)
        for item in range(items)
        for criterion in range(criteria)
    ]


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--systems", type=int, default=65)
    parser.add_argument("--criteria", type=int, default=8)
    parser.add_argument("--items", type=int, default=2000, help="items of each system")
    parser.add_argument("--groups", action="store_true", help="all systems answer the same prompts")
    options = parser.parse_args()
    size = options.systems, options.criteria, options.items
    first = scored(*size, 0.0, 1, options.groups)
    second = scored(*size, SHIFT, 2, options.groups)
    scales = {f"c{criterion}": Scale(0, 100, 100) for criterion in range(options.criteria)}
    before, start, cpu = megabytes(), time.perf_counter(), time.process_time()
    found = adjudge.compare(first, second, scales=scales)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    rows = [row for criterion in found.criteria.values() for row in criterion.systems.values()]
    print(f"2 x {len(first):,} scores: {seconds:.1f} s ({cpu_seconds:.1f} s of one processor)")
    print(f"{megabytes() - before:.0f} MB more than the results themselves")
    print(f"{sum(row.is_shown for row in rows)} of {len(rows)} true differences found")


if __name__ == "__main__":
    main()
