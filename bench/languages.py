"""Does the embedded model read Korean and Chinese at all? What can be measured without ratings of people.

Takes N short texts of each language from `../shared/data` (summaries in English and their Korean
translations, and GPT-4's Chinese feedback), cuts each in the middle, and asks how likely the second half is
after its own first half and after another text's. A model that reads the language expects the right one more.
Prints the share of texts for which it does with Wilson's interval, by how much of itself the surprise (the
negative log-probability) shrinks, which can be compared between languages as nats a token cannot, and how
many tokens a character takes.

    python bench/languages.py [--limit 8] [--data DIR] [--threads 1]
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import math
import sys
from pathlib import Path

from adjudge.models import LocalModel, Parameters
from adjudge.models.local import SMOLLM2, pull
from adjudge.records import Call, Message, Reply
from adjudge.stats import wilson

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def texts(data: Path, limit: int) -> dict[str, list[str]]:
    """language → texts, each of another document."""
    texts_by_language: dict[str, dict[str, str]] = {"English": {}, "Korean": {}, "Chinese": {}}
    with gzip.open(data / "geval_ko.judgments.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            language = {"geval-eng_eng(prompt_text)": "English", "geval-kor_kor(prompt_text)": "Korean"}
            if row["protocol"] in language:
                texts_by_language[language[row["protocol"]]].setdefault(row["source"][:200], row["output"])
    with gzip.open(data / "thoughtwave.judgments.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            # The score on the first line is no text.
            summary = row["responses"][0].partition("\n")[2].strip()[:200]
            if len(summary) == 200:
                texts_by_language["Chinese"].setdefault(row["item_id"], summary)
    return {language: list(kept.values())[:limit] for language, kept in texts_by_language.items()}


def halves(text: str) -> tuple[str, str]:
    """Cut at the space nearest to the middle; anywhere where a script has none."""
    middle = len(text) // 2
    space = text.rfind(" ", 0, middle)
    at = space if space > len(text) // 4 else middle
    return text[:at], text[at:]


def mean(reply: Reply) -> float:
    assert reply.logprobs, reply.error
    return math.fsum(token.logprob for token in reply.logprobs) / len(reply.logprobs)


async def gains(model: LocalModel, given: list[str]) -> tuple[list[float], float, float]:
    """For each text by how many nats a token its own first half helps more than the next text's; the same as
    a share of the surprise after the other; and tokens a character."""
    parts = [halves(text) for text in given]
    calls = [
        Call(f"{n}", "1", "p", ("c",), "local", (Message("user", before),), kind="likelihood", target=after)
        for n, (beginning, after) in enumerate(parts)
        for before in (beginning, parts[(n + 1) % len(parts)][0])
    ]
    replies = await asyncio.gather(*(model.ask(call, Parameters()) for call in calls))
    means = [mean(reply) for reply in replies]
    tokens = sum(len(reply.logprobs or ()) for reply in replies[::2])
    gaps = [matching - other for matching, other in zip(means[::2], means[1::2], strict=True)]
    share = math.fsum(gaps) / -math.fsum(means[1::2])
    return gaps, share, tokens / sum(len(after) for _, after in parts)


async def measure(arguments: argparse.Namespace) -> None:
    pull(SMOLLM2, lambda text: print(text, file=sys.stderr))
    model = LocalModel("local", threads=arguments.threads)
    print(
        f"{'language':<10}{'own beginning likelier':<28}{'less surprise':<16}{'nats a token':<16}tokens a"
        " character"
    )
    for language, given in texts(arguments.data, arguments.limit).items():
        gap_values, less, per_character = await gains(model, given)
        share = wilson(sum(gain > 0 for gain in gap_values), len(gap_values))
        wins = (
            f"{sum(gain > 0 for gain in gap_values)} of {len(gap_values)} [{share.low:.0%}, {share.high:.0%}]"
        )
        gain = math.fsum(gap_values) / len(gap_values)
        print(f"{language:<10}{wins:<28}{less:<16.1%}{gain:<16.2f}{per_character:.2f}", flush=True)
    await model.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=int, default=8)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        sys.exit(f"{arguments.data} is not there: the texts are not part of this repository.")
    asyncio.run(measure(arguments))


if __name__ == "__main__":
    main()
