"""What every interval and every verdict promises, and what simulations measure: one table.

    python bench/promises.py [--worlds 2000] [--only TEXT] [--write]

Each `promises_*.py` beside this file lists its `CHECKS`. `--write` puts the rows that were measured into the
table of docs/promises.md, and removes those of checks that no longer exist.
The proofs (`make proof`) assert each check in fewer worlds.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "promises.md"
BEGIN, END = "<!-- promises: begin -->", "<!-- promises: end -->"


class Check(NamedTuple):
    """One promise and the simulation that measures it."""

    subject: str
    """the number that is promised something: "Spearman's interval, groups" """
    design: str
    """the simulated data, in a few words: "20 groups of 5, ICC .4" """
    low: float
    high: float
    """between these the measured share must lie (0.93 to 1 for coverage, 0 to 0.05 for false alarms)"""
    run: Callable[[int, int], float]
    """(worlds, seed) → the share of worlds in which the interval covers, or the verdict is wrong"""

    def holds(self, measured: float, worlds: int) -> bool:
        """Whether the measured share is compatible with the promise, given the simulation's own error."""
        slack = 2 * math.sqrt(max(measured * (1 - measured), 0.25 / worlds) / worlds)
        return self.low - slack <= measured <= self.high + slack


def all_checks() -> Iterable[Check]:
    """The checks of every `promises_*.py`, in the order of the file names."""
    sys.path.insert(0, str(HERE))
    for path in sorted(HERE.glob("promises_*.py")):
        yield from getattr(importlib.import_module(path.stem), "CHECKS", ())


def row(check: Check, worlds: int) -> str:
    """The check, measured, as a line of the table."""
    measured = check.run(worlds, 1)
    promise = (
        f"≤ {check.high:.1%}"
        if check.low <= 0
        else f"≥ {check.low:.1%}"
        if check.high >= 1
        else f"{check.low:.1%}–{check.high:.1%}"
    )
    mark = "" if check.holds(measured, worlds) else " **missed**"
    return f"| {check.subject} | {check.design} | {promise} | {worlds:,} | {measured:.1%}{mark} |"


def name(line: str) -> str:
    """What a line of the table is about."""
    return "|".join(line.split("|")[1:3])


def merged(measured: Iterable[str], checks: Iterable[Check]) -> str:
    """The table of docs/promises.md with the lines that were measured, in the order of the checks."""
    present = DOCS.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    lines = {name(line): line for line in [*present.splitlines(), *measured] if line.startswith("| ")}
    head = ["| number | simulated data | promise | worlds | measured |", "|---|---|---|---|---|"]
    names = [f" {check.subject} | {check.design} " for check in checks]
    return "\n".join([*head, *(lines[one] for one in names if one in lines)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--only", default="", help="only checks that contain this text")
    parser.add_argument("--write", action="store_true", help="put what was measured into docs/promises.md")
    options = parser.parse_args()
    checks, measured = list(all_checks()), []
    for check in checks:
        if options.only in f"{check.subject} {check.design}":
            measured.append(row(check, options.worlds))
            print(measured[-1], flush=True)
    if options.write:
        table = merged(measured, checks)
        before, _, rest = DOCS.read_text(encoding="utf-8").partition(BEGIN)
        note = "Measured by `python bench/promises.py --worlds N --write`, with a fixed seed."
        DOCS.write_text(
            f"{before}{BEGIN}\n{note}\n\n{table}\n{END}{rest.partition(END)[2]}", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
