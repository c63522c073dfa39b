"""How quickly the viewer answers at 100,000 judgments: the items table filtered, sorted and searched, and one
item.

    python bench/viewer.py [--items 100000] [--store FILE] [--rounds 5]

Judges made-up items with recorded replies (or takes a store that a former run of this program left with
--store), then asks the application itself, without a socket, the way a browser would: first until the
table and the texts are read, then again. Prints one table: what, median, 95th percentile, target. Exits
with 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from adjudge.records import Label, Note, Review  # noqa: E402
from adjudge.store import open_store  # noqa: E402
from webclient import Browser  # noqa: E402

ADJUDGE = str(Path(sys.executable).with_name("adjudge"))
TARGET_MS = 100.0
TARGET_95_MS = 300.0
"""Of the pages that decide and compare, at 95 %."""

QUERIES = {
    "first page": "page={n}",
    "a deep page": "page=150{n}",
    "one system": "system=system-{n4}&page={n}",
    "failed": "status=failed&system=system-{n4}&page={n}",
    "score from …": "low=0.{n}",
    "sorted by score": "sort=-score&high=9{n}",
    "sorted by item, reversed": "sort=-item&high=8{n}",
    "system, score, sorted": "system=system-{n4}&low=2.0{n}&sort=score",
    "search, frequent word": "q={frequent}",
    "search, frequent word, sorted": "q={frequent}&sort=-score",
    "search, a phrase": "q={phrase}",
    "search, rare": "q=item-0424{n}",
    "search, nothing found": "q=zzzzz{n}",
    "search, two characters": "q=z{letter}",
    "search, system, sorted": "q={frequent}&system=system-{n4}&sort=-score",
}
"""Each with something that differs from round to round: nothing is answered from what was counted before."""
MATRICES = {
    "matrix": "page={n}",
    "matrix, largest disagreement": "sort=apart&page={n}",
    "matrix, rare text": "q=item-0424{n}",
    "matrix, two columns": "col=system-0&col=system-1&colour=score&page={n}",
}
OTHERS = {
    "review, judge and people": "/review?run=big&by=people&cell={row}",
    "review, random check": "/review?run=big&by=random&cell={row}",
    "review, first open": "/review?run=big&by=injection",
    "items with a tag": "/items?run=big&tag=odd&part=1",
    "an item in two runs": "/compare/item?with=big&with=again&item=item-{item:06}&n={item}",
    "comparison of two runs": "/compare?with=big&with=again",
}
"""Pages that decide and compare; the comparison is made before it is timed."""
LABELLED = 5000
FREQUENT = ("the", "reply", "score", "item", "judge", "model", "run", "and", "are", "with")
PHRASES = (
    "score of the",
    "a reply that",
    "the store is",
    "is not a",
    "of the item",
    "the judge is",
    "a run of",
    "and the",
)


def words() -> list[str]:
    return re.findall(
        r"\w+", "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md")))
    )


def made(folder: Path, n_items: int) -> Path:
    """A store with one run of so many items, each with one recorded reply; some cannot be read."""
    draw, vocabulary = random.Random(7), words()

    def text(n: int) -> str:
        start = draw.randrange(len(vocabulary) - n)
        return " ".join(vocabulary[start : start + n])

    with (folder / "items.jsonl").open("w") as items, (folder / "replies.jsonl").open("w") as replies:
        for number in range(n_items):
            item = {"id": f"item-{number:06}", "system": f"system-{number % 4}", "group": f"g{number // 4}"}
            items.write(json.dumps({**item, "instruction": text(20), "response": text(80)}) + "\n")
            end = f"[RESULT] {draw.randint(1, 5)}" if draw.random() > 0.03 else ""
            replies.write(json.dumps({"item": item["id"], "text": f"Feedback: {text(40)} {end}"}) + "\n")
    store = folder / "bench.db"
    command = [
        ADJUDGE, "run", folder / "items.jsonl", "-p", "prometheus/direct", "--rubric",
        ROOT / "examples" / "tact.toml",
        "-m", f"replay:{folder / 'replies.jsonl'}", "--run", "big", "--store", store, "--json",
    ]  # fmt: skip
    # A second run of the same items has all replies in the store already.
    for name in ("again", "big"):
        command[command.index("--run") + 1] = name
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    write_as_people(store, draw, n_items)
    return store


def write_as_people(store: Path, draw: random.Random, n_items: int) -> None:
    """Labels on some items, and a few reviews and notes."""
    with open_store(store) as opened:
        run = opened.run("big")
        numbers = draw.sample(range(n_items), min(n_items, LABELLED))
        labels = [Label(f"item-{k:06}", "tact", "ann", float(draw.randint(1, 5))) for k in numbers]
        opened.put_labels(labels, run)
        for label in labels[:50]:
            about = ("p", "tact", "judge", "ann", "people")
            opened.put_review(run, Review(label.item, *about, None, 1.0, label.value, "people"))
            opened.put_note(run, Note(label.item, "ann", "look again", ("odd",)))


def timed(browser: Browser, url: str) -> float:
    began = time.perf_counter()
    answer = browser.get(url)
    assert answer.status == 200, (url, answer.text)
    return (time.perf_counter() - began) * 1000


def filled(query: str, n: int) -> str:
    more = {"frequent": FREQUENT[n % len(FREQUENT)], "phrase": PHRASES[n % len(PHRASES)].replace(" ", "+")}
    return query.format(n=n, n4=n % 4, letter="abcdefghij"[n % 10], **more)


def percentile(values: Sequence[float], share: float) -> float:
    in_order = sorted(values)
    return in_order[min(len(in_order) - 1, int(share * len(in_order)))]


def until_whole(browser: Browser, query: str) -> float:
    """Seconds until the table, or with a text the search, covers all items; asks as a live page does."""
    began = time.perf_counter()
    while browser.get(f"/live/items?run=last{query}").json["is_live"]:
        pass
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = given.store or made(Path(folder), given.items)
        browser = Browser(store)
        missed = measured(browser, given.rounds)
    return 1 if missed else 0


def measured(browser: Browser, rounds: int) -> list[str]:
    """Print the table; which lines miss the target."""
    began = time.perf_counter()
    first = timed(browser, "/items?run=last")
    whole = until_whole(browser, "") + first / 1000
    searched = timed(browser, "/items?run=last&q=reply")
    searchable = until_whole(browser, "&q=reply") + searched / 1000
    print(f"first page                           {first:8.0f} ms")
    print(f"all rows in the table after          {whole:8.1f} s")
    print(f"first search                         {searched:8.0f} ms")
    print(f"all items can be searched after      {searchable:8.1f} s")
    missed = []
    everything: list[float] = []
    print(f"{'':34} {'median':>9} {'95 %':>9}   target {TARGET_MS:.0f} ms")
    for name, query in QUERIES.items():
        times = [timed(browser, f"/items?run=last&{filled(query, n)}&part=1") for n in range(1, rounds + 1)]
        everything += times
        is_missed = percentile(times, 0.95) > TARGET_MS
        missed += [name] if is_missed else []
        line = f"{name:34} {statistics.median(times):6.1f} ms {percentile(times, 0.95):6.1f} ms"
        print(line + ("   missed" if is_missed else ""))
    for name, query in MATRICES.items():
        times = [timed(browser, f"/matrix?run=last&{query.format(n=n)}&part=1") for n in range(1, rounds + 1)]
        everything += times
        print(f"{name:34} {statistics.median(times):6.1f} ms {percentile(times, 0.95):6.1f} ms")
    while "Computing the comparison" in browser.get("/compare?with=big&with=again").text:
        time.sleep(0.2)
    for name, url in OTHERS.items():
        for n in range(rounds + 1):
            took = timed(browser, url.format(row=(37 * n) << 16, item=41 * n))
            times = [] if n == 0 else [*times, took]
        everything += times
        is_missed = statistics.median(times) > TARGET_MS or percentile(times, 0.95) > TARGET_95_MS
        missed += [name] if is_missed else []
        line = f"{name:34} {statistics.median(times):6.1f} ms {percentile(times, 0.95):6.1f} ms"
        print(line + ("   missed" if is_missed else ""))
    times = [timed(browser, f"/item?run=last&n={7 * n}&sort=-score&q=reply") for n in range(4 * rounds)]
    print(f"{'one item':34} {statistics.median(times):6.1f} ms {percentile(times, 0.95):6.1f} ms")
    print(
        f"{'all table requests':34} {statistics.median(everything):6.1f} ms"
        f" {percentile(everything, 0.95):6.1f} ms"
    )
    print(f"{time.perf_counter() - began:.0f} s in all")
    return missed


if __name__ == "__main__":
    sys.exit(main())
