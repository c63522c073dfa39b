"""What it costs to examine a judged text for injected orders: CPU time for one ordinary text of about 1 KB.

The least of many repetitions, because other programs only ever make it slower. Uses the responses of
`../shared/data` where that folder is, otherwise a text made up here.

    python bench/injection.py [--data DIR] [--repeat 15]
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import time
from pathlib import Path

from adjudge.render.injection import suspicions

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SIZE, SPREAD = 1000, 150
MOST_MICROSECONDS = 20.0


def ordinary(data: Path) -> list[str]:
    """Responses of about 1 KB, each once."""
    if not data.is_dir():
        sentence = (
            "The council met on day {} and spoke about the bridge over the river, its cost and its age. "
        )
        return ["".join(sentence.format(n * k) for k in range(11)) for n in range(1, 200)]
    texts = set()
    for path in sorted(data.glob("*.items.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                texts.update(
                    row[key] for key in ("output", "output_a", "output_b") if isinstance(row.get(key), str)
                )
    return sorted(text for text in texts if abs(len(text) - SIZE) <= SPREAD)


def microseconds(texts: list[str], repeat: int) -> float:
    """The CPU time for one text: the least of several passes over all of them."""
    examine = suspicions.__wrapped__  # without the cache: every text is new to a run
    least = float("inf")
    for _ in range(repeat):
        started = time.process_time_ns()
        for text in texts:
            examine(text)
        least = min(least, time.process_time_ns() - started)
    return least / len(texts) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeat", type=int, default=15)
    arguments = parser.parse_args()
    texts = ordinary(arguments.data)
    plain, other = ([text for text in texts if text.isascii() is is_ascii] for is_ascii in (True, False))
    for name, chosen in (("all", texts), ("ASCII", plain), ("other", other)):
        if chosen:
            print(f"{name}: {len(chosen)} texts, {microseconds(chosen, arguments.repeat):.1f} µs for one")
    median = statistics.median(microseconds([text], arguments.repeat) for text in texts)
    print(
        f"median of the texts, each repeated by itself: {median:.1f} µs; aim: at most"
        f" {MOST_MICROSECONDS:.0f} µs"
    )


if __name__ == "__main__":
    main()
