"""How fast replies are read, and that no reply can make reading slow.

Prints replies per second and core for each reader on replies of about 1 KB: real ones from `../shared/data`
where that folder is, otherwise made up here; then the seconds that each reader takes for hostile replies of
1 MB. `READERS` is the list to extend.

    python bench/reading.py [--data DIR] [--seconds 2]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Callable
from pathlib import Path

from adjudge import load_protocol
from adjudge.parse import parse, read_choice, read_score

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SIZE = 1024
HOSTILE = 1_000_000

Reader = Callable[[str], object]
READERS: dict[str, Reader] = {
    "read_score 1-5": lambda text: read_score(text, 1, 5, 1),
    "read_score 0-10": lambda text: read_score(text, 0, 10),
    "read_choice A/B": lambda text: read_choice(text, ("A", "B"), tie=True),
    "read_choice Output (a)/(b)": lambda text: read_choice(text, ("Output (a)", "Output (b)")),
}

PROTOCOLS = {
    "tag": ("opinion-summary/fluency", "{}\n\nScore- <score>4</score>"),
    "marker": ("prometheus/direct", "Feedback: {} [RESULT] 4"),
    "marker, choice": ("prometheus/pairwise", "Feedback: {} [RESULT] B"),
    "label": ("geval/score", "{}\n\nScore: 4"),
    "first_line": ("commentary-zh/structure", "8\n{}"),
    "json": ("commentary-zh/evidence", '{{"score": 8, "reason": {}}}'),
}
"""The readers of protocols, each with a protocol that uses it and a reply as it asks for."""

_SENTENCES = (
    "The response covers the main points of the question and stays close to its wording.",
    "However, two of the 5 claims are not supported by the source, which says about 40 percent in 2019.",
    'It quotes the phrase "a good answer needs a reason" without saying where it comes from.',
    "- **Accuracy**: mostly right, with one slip in step 3.",
    "Response A explains the steps in order, while Response B jumps to the result.",
    "Output (a) keeps the requested format; Output (b) adds a table no one wanted.",
    "In terms of style, it could be improved by shorter sentences and fewer adjectives.",
    "The tone fits the audience, and the example in the second paragraph makes the point clear.",
    "Some of the details are vague: it names no source, gives no date and leaves the reader to guess.",
    "The conclusion follows from what was said before, although one step is missing.",
)
_CHINESE = (
    "该回答的结构合理，层次清晰，但论据还可以更充分。",
    "文章引用了2019年的数据，时效性有所降低。",
    "论证逻辑顺畅，语言得体，符合题目的要求。",
)
_ENDINGS = (
    "Therefore, I would give it a score of 4 out of 5.",
    "Score: 4",
    "Feedback: clear and complete. [RESULT] 4",
    "Rating: [[4]]",
    '{"score": "4", "reason": "clear, with one slip"}',
    "Therefore, Output (b) is better.",
    "My final verdict is: [[B>A]]",
    "因此，我给出4分。",
    "The discussion stops here without any verdict",
)


def made_up(count: int, seed: int = 7) -> list[str]:
    """Replies of about 1 KB with the shapes that judges use."""
    chance = random.Random(seed)
    replies = []
    for _ in range(count):
        text = ""
        sentences = _CHINESE if chance.random() < 0.2 else _SENTENCES
        while len(text) < SIZE - 60:
            text += chance.choice(sentences) + chance.choice((" ", " ", " ", "\n", "\n\n"))
        replies.append(text + chance.choice(_ENDINGS))
    return replies


def recorded(folder: Path, count: int, seed: int = 7) -> list[str]:
    """Real replies, cut from the front to 1 KB so that their ends, where the answers are, stay."""
    replies: list[str] = []
    for name in ("parser_stress.dev", "llmbar.judgments", "thoughtwave.judgments"):
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                replies += [row["text"]] if "text" in row else row["responses"]
    long = [text[-SIZE:] for text in replies if len(text) >= 0.8 * SIZE]
    random.Random(seed).shuffle(long)
    return long[:count]


def hostile() -> dict[str, str]:
    """Replies of 1 MB that make careless patterns take minutes."""
    pieces = {
        "brackets": "[", "double brackets": "[[a", "quotes": '"', "opened quotes": '"a ',
        "curly quotes": "“", "escapes": '\\"',
        "angles": "<", "open tags": "<score>", "thoughts": "<think>", "stars": "*", "backticks": "`",
        "fences": "```\n",
        "newlines": "\n", "spaces": " ", "digits": "7", "numbers": "4 ", "fractions": "4/5 ",
        "labels": "score: ",
        "scored": "score: 4 ", "colons": ":", "letters": "A ", "verdicts": "A is better ",
        "sentences": "A is better. ",
        "options": "Output (a) ", "dots": ".", "dashes": "-", "block quotes": "> \n", "underscores": "_",
        "hashes": "#\n",
        "Chinese": "满分十分", "Korean": "5점 만점에 ", "ranges": "1-", "commas": "1,234,",
        "full-width": "４分",
        "JSON keys": '"a":',
        "braces": '{"a":', "results": "[RESULT] ", "negations": "not ", "marks": "is the ", "emoji": "⭐",
        "entries": "Score: 1. a 2 ", "rows": "| a b | 4 |\n", "levels": "1 = a, ",
        "score levels": "score 1: a2 ", "boxes": "\\boxed{4} ",
        "code": "```python\nscore = 5\n```\n", "bounds": "4 or ", "brackets and numbers": "a (4) ",
    }  # fmt: skip
    replies = {name: (piece * (HOSTILE // len(piece) + 1))[:HOSTILE] for name, piece in pieces.items()}
    replies["unterminated string"] = '{"reason": "' + "a" * HOSTILE
    replies["one line of words"] = "word " * (HOSTILE // 5)
    replies["answer at the end"] = "word. " * (HOSTILE // 6) + "Score: 4"
    return replies


def in_format(reply: str, form: str) -> str:
    """A made-up reply whose answer stands where the protocol wants it."""
    body = reply.rsplit("\n", 1)[0]
    return form.format(json.dumps(body, ensure_ascii=False) if form.startswith("{{") else body)


def protocol_rates(replies: list[str], seconds: float) -> None:
    """Replies per second with the reader of a protocol: all that a judgment holds, not the score alone."""
    print(f"\n{'reader of a protocol':28}{'replies/s':>24}")
    for name, (protocol_id, form) in PROTOCOLS.items():
        protocol = load_protocol(protocol_id)
        in_place = [in_format(reply, form) for reply in replies]
        per_second = rate(lambda text, protocol=protocol: parse(protocol, text), in_place, seconds)
        print(f"{name:28}{per_second:>24,.0f}")
    print()


def rate(reader: Reader, replies: list[str], seconds: float) -> float:
    """Replies per second of one core's time."""
    done, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        for reply in replies:
            reader(reply)
        done += len(replies)
    return done / (time.process_time() - start)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, default=DATA, help="folder with recorded replies")
    options.add_argument("--seconds", type=float, default=2.0, help="how long each rate is measured")
    given = options.parse_args()
    groups = {"made up": made_up(500)}
    if (given.data / "parser_stress.dev.jsonl.gz").exists():
        groups["recorded"] = recorded(given.data, 500)
    else:
        print(f"No recorded replies in {given.data}: made-up ones only.")
    print(f"{'reader':28}" + "".join(f"{name + ', replies/s':>24}" for name in groups))
    for name, reader in READERS.items():
        print(
            f"{name:28}"
            + "".join(f"{rate(reader, replies, given.seconds):>24,.0f}" for replies in groups.values())
        )
    protocol_rates(groups["made up"], given.seconds)
    loaded = {name: load_protocol(protocol_id) for name, (protocol_id, _) in PROTOCOLS.items()}
    readers = READERS | {name: lambda text, p=p: parse(p, text) for name, p in loaded.items()}
    print(f"{'hostile reply of 1 MB':28}" + "".join(f"{name[:13]:>15}" for name in readers))
    for name, text in hostile().items():
        times = []
        for reader in readers.values():
            start = time.process_time()
            reader(text)
            times.append(time.process_time() - start)
        print(f"{name:28}" + "".join(f"{seconds:>13.3f} s" for seconds in times))


if __name__ == "__main__":
    main()
