"""The table that pytest prints at the end: each use of `judge` with its result, calls and cost.

Texts come from judges and from users' files: all are escaped for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ..judge.verdict import shortened
from ..terminal_text import aligned, fitted, n_columns
from ..untrusted import safe
from ..words import NO_VALUE, count, decimals, failures_text, interval, price
from .judge_fixture import Use

_MOST_ROWS = 40


_LEAST_ROOM = 24
"""the least width of the column of test names, on any terminal"""


_LONGEST_PROTOCOL = 36


LONGEST_MODEL = 60


def summary_rows(nodeid: str, uses: Iterable[Use]) -> list[dict[str, Any]]:
    """The rows of the summary, as plain values that can be sent to another process."""
    return [
        {
            "test": nodeid,
            "protocol": use.verdicts[0].protocol,
            "model": use.verdicts[0].origin.model,
            "is_fake": use.verdicts[0].origin.is_fake,
            "score": means_text(use) if use.is_many else use.verdicts[0].in_words(),
            "status": statuses_text(use),
            "n_failed": len(use.verdicts.failed),
            "asked": use.asked,
            "from_store": use.from_store,
            "cost_usd": use.cost_usd,
        }
        for use in uses
        if use.verdicts
    ]


def means_text(use: Use) -> str:
    origin = use.verdicts[0].origin
    estimates = use.verdicts.estimates
    text = []
    for name, estimate in estimates.items():
        lead = "" if len(estimates) == 1 else f"{name} "
        text.append(f"{lead}{interval(estimate, decimals(origin.scale_of(name)))}")
    return ", ".join(text)


def statuses_text(use: Use) -> str:
    if not use.is_many:
        return use.verdicts[0].status
    counts = Counter(verdict.status for verdict in use.verdicts)
    return failures_text({status: counts[status] for status in sorted(counts, key=lambda s: s != "ok")})


def summary_table(rows: Sequence[dict[str, Any]], width: int, *, is_long: bool) -> Iterable[str]:
    """The table at the end: each use of `judge` with its result, calls and cost."""
    shown = rows if is_long or len(rows) <= _MOST_ROWS else rows[:_MOST_ROWS]
    heads = ["protocol", "score", "status", "sent", "from store", "cost"]
    numbers = aligned([heads, *map(_cells, shown)])
    room = max(_LEAST_ROOM, width - 2 - max(map(n_columns, numbers)))
    names = ["test", *(safe(row["test"]) for row in shown)]
    if max(map(n_columns, names)) > room:
        names = [name.partition("::")[2] or name for name in names]
    column = min(room, max(map(n_columns, names)))
    for name, line in zip(names, numbers, strict=True):
        yield f"{fitted(name, column)}  {line}".rstrip()
    if len(shown) < len(rows):
        yield f"… and {len(rows) - len(shown)} more; pytest -v shows all"
    yield _total(rows)
    fakes = dict.fromkeys(safe(shortened(row["model"], LONGEST_MODEL)) for row in rows if row["is_fake"])
    if fakes:
        verb = "is a fake judge" if len(fakes) == 1 else "are fake judges"
        yield f"{', '.join(fakes)} {verb}: these scores say nothing about any system."


def _cells(row: dict[str, Any]) -> list[str]:
    mark = " [fake]" if row["is_fake"] else ""
    protocol = shortened(row["protocol"], _LONGEST_PROTOCOL)
    return [
        safe(f"{protocol}{mark}"),
        safe(shortened(row["score"], 60)),
        row["status"],
        str(row["asked"]),
        str(row["from_store"]),
        _cost(row),
    ]


def _cost(row: dict[str, Any]) -> str:
    """What this run of pytest spent; a dash where calls were made and no price is known."""
    if row["cost_usd"]:
        return price(row["cost_usd"])
    return NO_VALUE if row["asked"] else "$0"


def _total(rows: Sequence[dict[str, Any]]) -> str:
    asked, stored = sum(row["asked"] for row in rows), sum(row["from_store"] for row in rows)
    failed = sum(row["n_failed"] for row in rows)
    text = [
        f"{count(asked, 'call')} sent, {stored:,} from the store",
        f"{count(failed, 'judgment')} failed" if failed else "",
        price(cost) if (cost := sum(row["cost_usd"] for row in rows)) else "",
    ]
    return " · ".join(text for text in text if text)
