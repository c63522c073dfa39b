"""What simple rules make of real judge replies, beside our readers.

For each rule: how many replies it reads right, on how many it says that it cannot, and on how many it is
wrong without saying so (a value where there was another one or none). The corpus is `parser_stress.dev` in
`../shared/data`; its replies may not be copied into this repository.

    python bench/simple_rules.py [--data DIR]
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adjudge.parse import read_choice, read_score

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CORPUS = "parser_stress.dev.jsonl.gz"

Row = dict[str, Any]
Rule = Callable[[Row], float | str | None]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SCORE_LABEL = re.compile(r"score:\s*(\d+(?:\.\d+)?)", re.I)
_LETTER = re.compile(r"\b[ABC]\b|\([ab]\)")


def numbers_in(row: Row) -> list[float]:
    return [float(number) for number in _NUMBER.findall(row["text"])]


def first_number(row: Row) -> float | None:
    return next(iter(numbers_in(row)), None)


def last_number(row: Row) -> float | None:
    return next(reversed(numbers_in(row)), None)


def first_number_in_range(row: Row) -> float | None:
    low, high = row["scale"]
    return next((number for number in numbers_in(row) if low <= number <= high), None)


def labelled_number(row: Row) -> float | None:
    match = _SCORE_LABEL.search(row["text"])
    return float(match[1]) if match else None


def our_score(row: Row) -> float | str | None:
    return read_score(row["text"], *row["scale"]).value


def side_of(letter: str | None) -> str | None:
    return {"A": "first", "(a)": "first", "B": "second", "(b)": "second", "C": "tie"}.get(letter or "")


def first_letter(row: Row) -> str | None:
    return side_of(next(iter(_LETTER.findall(row["text"])), None))


def last_letter(row: Row) -> str | None:
    return side_of(next(reversed(_LETTER.findall(row["text"])), None))


def our_choice(row: Row) -> float | str | None:
    shown = row["scale"]
    options = ("A", "B") if "[[A>B]]" in shown else (shown[0], shown[1])
    tie = "[[A=B]]" in shown or any("tie" in option for option in shown)
    return read_choice(row["text"], options, tie).value


RULES: dict[str, dict[str, Rule]] = {
    "score": {
        "first number": first_number,
        "last number": last_number,
        "first number in range": first_number_in_range,
        'regex "score: n"': labelled_number,
        "adjudge.read_score": our_score,
    },
    "verdict": {
        "first letter": first_letter,
        "last letter": last_letter,
        "adjudge.read_choice": our_choice,
    },
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, default=DATA, help=f"folder that holds {CORPUS}")
    path = options.parse_args().data / CORPUS
    if not path.exists():
        sys.exit(f"{path} is not there. Give the folder of the recorded replies with --data DIR.")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    print("| rule | replies | right | says it cannot | silently wrong |\n|---|---|---|---|---|")
    for kind, rules in RULES.items():
        of_kind = [row for row in rows if row["kind"] == kind]
        for name, rule in rules.items():
            print(f"| {name} | {table_row(rule, of_kind)} |")


def table_row(rule: Rule, rows: list[Row]) -> str:
    """Counts and shares: a reply without an answer is right where the rule finds none."""
    answers = [(row["truth"], rule(row)) for row in rows]
    right = sum(truth == value for truth, value in answers)
    silent = sum(value is not None and truth != value for truth, value in answers)
    cells = (right, len(rows) - right - silent, silent)
    return f"{len(rows)} | " + " | ".join(f"{count} ({count / len(rows):.1%})" for count in cells)


if __name__ == "__main__":
    main()
