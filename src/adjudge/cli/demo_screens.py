"""What the screens of `adjudge demo` show: means, what was read from replies and where, and commands to
copy."""

from __future__ import annotations

import math
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from ..sections import Section, Value
from .terminal import terminal_width

if TYPE_CHECKING:
    from ..analysis.report.summary import Summary
    from ..store import Store


_SHOWN_TOKENS = 5


_SHOWN_BEFORE = 110
"""Characters of a reply before its score."""


class DemoReading(Struct, frozen=True):
    """What was read from one reply, and where."""

    run: str
    item: str
    criterion: str
    status: str
    value: float | None
    how: str | None
    span: tuple[int, int] | None
    reply: str
    tokens: tuple[tuple[str, float], ...] = ()
    """of a likelihood: each token with its probability"""


def mean_section(summary: Summary) -> Section:
    """The means of all systems in one table."""
    from ..analysis.report.words.cost import cost_text
    from ..words import decimals, interval_cell

    names = [name.rpartition("/")[2] for name in summary.criteria]
    rows: list[tuple[Value, ...]] = []
    for system, cells in summary.systems.items():
        means = [interval_cell(cell, decimals(summary.criteria[name].scale)) for name, cell in cells.items()]
        n_scores, n_failed = (
            sum(numbers)
            for numbers in zip(*((cell.n, cell.n_failed) for cell in cells.values()), strict=True)
        )
        rows.append((system, *means, f"{n_scores}", f"{n_failed}"))
    columns = ("system", *(f"{name} [95 % CI]" for name in names), "scores", "failed")
    # A recording has no tokens, and its time says nothing.
    lines = (cost_text(summary),) if summary.tokens_in else ()
    return Section("Mean of each system", lines, columns, tuple(rows), depth=1)


def readings_of(store: Store, run: str, item: str) -> Iterator[DemoReading]:
    """What was read from each reply about an item."""
    from ..analysis.item_view.item_view import item_view
    from ..store.browsing import CallOutcome

    for judged in store.judgments(store.run(run)):
        if judged.item is None or judged.item.id != item:
            continue
        reply = store.reply_for([judged.call]).get(judged.call)
        outcome = CallOutcome(judged.call_index, judged.about, None, reply, judged.error, judged.judgment)
        (call,) = item_view(judged.item, [outcome], {}).calls
        tokens = tuple((token.text, token.probability) for token in call.target_tokens)
        for answer in call.answers:
            value = answer.value if isinstance(answer.value, float) else None
            text = call.reply.text if call.reply is not None else ""
            yield DemoReading(
                run, item, answer.name, answer.status, value, answer.how, answer.span, text, tokens
            )


def only_sentences(section: Section) -> Section:
    """A section with its sentences alone, without methods and notes."""
    lines = tuple(line if isinstance(line, str) else line.text for line in section.lines)
    return structs.replace(section, lines=lines, notes=())


def least_likely_section(reading: DemoReading) -> Section:
    """The tokens that lower a likelihood most."""
    from ..words import number

    tokens = sorted(reading.tokens, key=lambda token: token[1])[:_SHOWN_TOKENS]
    logprobs = ", ".join(f"{text.strip()} {number(math.log(max(p, 1e-300)), 1)}" for text, p in tokens)
    value = reading.status if reading.value is None else number(reading.value, 3)
    return Section(
        f"{reading.item}: {reading.criterion} {value}, the mean of {len(reading.tokens)} tokens. "
        f"Least likely: {logprobs}.",
        depth=1,
    )


def replies_section(readings: Sequence[DemoReading]) -> Section:
    """What was read from replies in words, and where."""
    rows = []
    for reading in readings:
        score = reading.status if reading.value is None else f"{reading.value:g}"
        rows.append((reading.run, reading.item, score, reading.how or "", _excerpt(reading)))
    return Section(
        "What was read, and where",
        (),
        ("run", "item", "score", "how it was read", "reply"),
        tuple(rows),
        depth=1,
        notes=(
            "»…« marks the score. anchored: a common variant of the requested format.",
            "Replies word for word, here those without a score:",
        ),
    )


def _excerpt(reading: DemoReading) -> str:
    """The end of a reply with its score marked; without a score, the end of the reply."""
    is_read = reading.value is not None and reading.span is not None
    start, end = reading.span if is_read and reading.span is not None else (len(reading.reply),) * 2
    first = max(0, start - _SHOWN_BEFORE)
    mark = f"»{reading.reply[start:end]}«{reading.reply[end:]}" if is_read else ""
    return " ".join(f"{'…' * (first > 0)}{reading.reply[first:start]}{mark}".split())


def command_text(words: Sequence[str]) -> str:
    """A command to copy; on a terminal in several lines where it is too long for one."""
    parts: list[str] = []
    for word, last in zip(words, ("", *words), strict=False):
        # A flag stays with its value.
        is_value = last.startswith("-") and not word.startswith("-")
        parts[-1:] = [f"{parts[-1]} {shlex.quote(word)}"] if is_value else [*parts[-1:], shlex.quote(word)]
    width = terminal_width() if sys.stdout.isatty() else sys.maxsize
    lines = ["$"]
    for part in parts:
        if len(lines[-1]) + len(part) + 3 > width:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {part}"
    return "\n".join(lines)


def path_line() -> str:
    """How to make `adjudge` a command of this shell; empty where it is one."""
    if shutil.which("adjudge") is not None:
        return ""
    candidates = Path(sys.argv[0]).absolute(), Path(sys.executable).with_name("adjudge")
    for path in candidates:
        if path.stem == "adjudge" and path.is_file():
            folder = path.parent
            shown = f"$PWD/{folder.relative_to(Path.cwd())}" if folder.is_relative_to(Path.cwd()) else folder
            return f'$ export PATH="{shown}:$PATH"'
    return ""
