"""What the embedded judge costs: loading, memory, and how many tokens shared beginnings save.

Nine criteria for the summaries of one document (or of several) are asked at once, as a run asks them.
Compared are the tokens that were evaluated with those that separate passes would evaluate. Uses the documents
of `../shared/data` where that folder is, otherwise a text made up here. The unconditional likelihood of each
summary is counted on the side of what was evaluated, though separate passes would not have it.

    python bench/local.py [--documents 1] [--data DIR] [--threads N]
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from adjudge import Item, load_protocol
from adjudge.models import LocalModel, Parameters
from adjudge.models.local import SMOLLM2, pull
from adjudge.records import Call, Reply
from adjudge.render import render

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CRITERIA = (
    "factuality consistency relevance fluency coherence accuracy multidimensional-quality "
    "semantic-appropriateness understandability"
).split()
MOST_SHARE, MOST_LOAD_SECONDS, MOST_MEGABYTES = 0.35, 3.0, 700.0


def documents(data: Path, count: int) -> list[list[Item]]:
    """The items of so many documents."""
    if not data.is_dir():
        source = " ".join(f"On day {n} the council met and spoke about bridge number {n}." for n in range(40))
        return [[_item(f"{n}", source, f"The council spoke about bridge {n} and more.") for n in range(12)]]
    texts = {row["doc_id"]: row["text"] for row in _rows(data / "summeval.docs.jsonl.gz")}
    items = list(_rows(data / "summeval.items.jsonl.gz"))
    return [
        [_item(row["item_id"], text, row["output"]) for row in items if row["group_id"] == name]
        for name, text in list(texts.items())[:count]
    ]


def _item(name: str, source: str, response: str) -> Item:
    return Item(name, {"source_text": source, "generated_response": response})


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def calls_for(items: list[Item]) -> list[Call]:
    """All calls of all items, in the order in which a run makes them."""
    calls = []
    for item in items:
        for criterion in CRITERIA:
            rendered = render(load_protocol(f"gptscore/{criterion}"), item)
            key = f"{item.id}/{criterion}"
            calls.append(
                Call(key, item.id, criterion, (criterion,), "local", rendered.messages, kind="likelihood",
                target=rendered.target)
            )  # fmt: skip
    return calls


async def ask(model: LocalModel, calls: list[Call]) -> list[Reply]:
    return list(await asyncio.gather(*(model.ask(call, Parameters()) for call in calls)))


async def measure(arguments: argparse.Namespace) -> dict[str, float]:
    pull(SMOLLM2, lambda text: print(text, file=sys.stderr))
    model = LocalModel("local", threads=arguments.threads)
    started = time.perf_counter()
    await ask(
        model,
        [
            Call(
                "k",
                "1",
                "p",
                ("c",),
                "local",
                calls_for([_item("1", "A", "B")])[0].messages,
                kind="likelihood",
                target="B",
            )
        ],
    )
    load_seconds = time.perf_counter() - started
    model.n_evaluated = separate = failures = 0
    started = time.perf_counter()
    for items in documents(arguments.data, arguments.documents):
        for reply in await ask(model, calls_for(items)):
            failures += reply.error is not None
            # The last token of a text is never evaluated: nothing is asked after it.
            separate += reply.tokens_in - 1
    seconds = time.perf_counter() - started
    evaluated = model.n_evaluated
    await model.close()
    return {
        "load_seconds": load_seconds,
        "megabytes": (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1e6)
        ),
        "tokens_separate": separate,
        "tokens_evaluated": evaluated,
        "share": evaluated / separate,
        "seconds": seconds,
        "tokens_per_second": evaluated / seconds,
        "failures": failures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--threads", type=int, default=None)
    figures = asyncio.run(measure(parser.parse_args()))
    print(f"load and check     {figures['load_seconds']:.2f} s (at most {MOST_LOAD_SECONDS:g})")
    print(f"memory at most     {figures['megabytes']:.0f} MB (at most {MOST_MEGABYTES:g})")
    print(f"separate passes    {figures['tokens_separate']:.0f} tokens")
    print(
        f"evaluated          {figures['tokens_evaluated']:.0f} tokens, {figures['share']:.1%} (at most"
        f" {MOST_SHARE:.0%})"
    )
    print(
        f"took               {figures['seconds']:.1f} s, {figures['tokens_per_second']:.0f} tokens a second"
    )
    is_met = (
        figures["load_seconds"] < MOST_LOAD_SECONDS
        and figures["megabytes"] < MOST_MEGABYTES
        and figures["share"] <= MOST_SHARE
        and not figures["failures"]
    )
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
