"""What pytest prints: the judgments of a test that failed, and a table of all at the end.

Texts come from judges and from users' files: all are escaped for the terminal.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ..analysis.report_words import judge_text, scale_text
from ..errors import AdjudgeError
from ..untrusted import safe
from ..words import NO_VALUE, aligned, count, decimals, failures_text, fitted, interval, n_columns
from .judge_fixture import CurrentTest, NoScore, Origin, Outcome, Use, shortened

_LONGEST_EXPLANATION = 400
_MOST_ITEMS = 5
"""of one `many`, shown for a failed test"""
_MOST_ROWS = 40
_LEAST_ROOM = 24
"""the least width of the column of test names, on any terminal"""
_LONGEST_PROTOCOL = 36
_LONGEST_MODEL = 60


def explained(
    excinfo: pytest.ExceptionInfo[BaseException] | None, test: CurrentTest, folder: Path
) -> pytest.ExceptionInfo[BaseException] | None:
    """The error of a test; where it compared a missing score, an error that says so."""
    if excinfo is None or not isinstance(excinfo.value, TypeError) or "NoneType" not in str(excinfo.value):
        return excinfo
    failed = [outcome for use in test.uses for outcome in use.outcomes if not outcome.is_read]
    if not failed:
        return excinfo
    outcome = failed[0]
    lines = [
        f"there is no score to compare: the judgment failed ({outcome.status}).",
        _why(outcome),
        reply_hint(outcome, folder),
        # The comparison may have failed for another reason: keep the original message.
        f"(Python: {excinfo.value})",
    ]
    error = NoScore("\n".join(lines))
    # With the traceback of the comparison, so that pytest shows the user's line.
    return pytest.ExceptionInfo.from_exc_info((NoScore, error, excinfo.tb))


def _why(outcome: Outcome) -> str:
    if outcome.status == "no_reply":
        return safe(f"{shortened(outcome.origin.model, _LONGEST_MODEL)} gave no reply for {outcome.item}.")
    text = shortened(_reply(outcome), _LONGEST_EXPLANATION)
    return safe(f"{shortened(outcome.origin.model, _LONGEST_MODEL)} replied: {text or '(nothing)'}")


def section(uses: Sequence[Use], folder: Path) -> str:
    """The judgments of a test that failed, with the judge's reasons and how to see its replies."""
    return "\n".join(line for use in uses for line in _use_lines(use, folder))


def _use_lines(use: Use, folder: Path) -> Iterable[str]:
    if not use.outcomes:
        return
    origin = use.outcomes[0].origin
    if use.is_many:
        yield f"{safe(_by(origin))}: {_means(use)}; {_statuses(use)}"
    # The failed ones first, then the lowest scores.
    shown = sorted(use.outcomes, key=lambda outcome: (outcome.is_read, _lowest(outcome)))[:_MOST_ITEMS]
    for outcome in shown:
        lead = f"  {outcome.item}" if use.is_many else _by(origin)
        yield safe(f"{lead}: {outcome.verdict()}{_scale(outcome)}, {outcome.status}")
        text = outcome.explanation or ("" if outcome.is_read else _reply(outcome))
        if text:
            yield f"  {safe(shortened(text, _LONGEST_EXPLANATION))}"
    if len(use.outcomes) > len(shown):
        yield f"  … and {len(use.outcomes) - len(shown)} more"
    yield f"  {reply_hint(shown[0], folder)}"


def _reply(outcome: Outcome) -> str:
    try:
        return outcome.reply
    except AdjudgeError:
        return ""  # a test may have removed its store: that must not hide its failure


def _lowest(outcome: Outcome) -> float:
    return min((result.value for result in outcome.results if result.value is not None), default=0.0)


def _by(origin: Origin) -> str:
    judge = shortened(origin.model, _LONGEST_MODEL)
    return f"{origin.protocol.id} by {judge_text(judge, {}, origin.is_fake)}"


def _scale(outcome: Outcome) -> str:
    names = {result.criterion for result in outcome.results if result.choice is None}
    scale = outcome.origin.scale_of(names.pop()) if len(names) == 1 else None
    return f" ({scale_text(scale)})" if scale is not None else ""


def reply_hint(outcome: Outcome, folder: Path) -> str:
    """The command that shows a reply word for word, to be run in this folder."""
    relative = os.path.relpath(outcome.origin.store, folder)
    store = outcome.origin.store if relative.startswith("..") else relative
    # The option is left out where it would only repeat the default.
    where = "" if relative == "adjudge.db" else f" --store {shlex.quote(store)}"
    return safe(f"the reply: adjudge runs show {outcome.origin.run}{where}")


def rows_of(nodeid: str, uses: Iterable[Use]) -> list[dict[str, Any]]:
    """The rows of the summary, as plain values that can be sent to another process."""
    return [
        {
            "test": nodeid,
            "protocol": use.outcomes[0].protocol,
            "model": use.outcomes[0].origin.model,
            "is_fake": use.outcomes[0].origin.is_fake,
            "score": _means(use) if use.is_many else use.outcomes[0].verdict(),
            "status": _statuses(use),
            "n_failed": len(use.outcomes.failed),
            "asked": use.asked,
            "from_store": use.from_store,
            "cost_usd": use.cost_usd,
        }
        for use in uses
        if use.outcomes
    ]


def _means(use: Use) -> str:
    origin = use.outcomes[0].origin
    estimates = use.outcomes.estimates
    text = []
    for name, estimate in estimates.items():
        lead = "" if len(estimates) == 1 else f"{name} "
        text.append(f"{lead}{interval(estimate, decimals(origin.scale_of(name)))}")
    return ", ".join(text)


def _statuses(use: Use) -> str:
    if not use.is_many:
        return use.outcomes[0].status
    counts = Counter(outcome.status for outcome in use.outcomes)
    return failures_text({status: counts[status] for status in sorted(counts, key=lambda s: s != "ok")})


def summary(rows: Sequence[dict[str, Any]], width: int, *, is_long: bool) -> Iterable[str]:
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
    fakes = dict.fromkeys(safe(shortened(row["model"], _LONGEST_MODEL)) for row in rows if row["is_fake"])
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
    """What this session spent; a dash where calls were made and no price is known."""
    if row["cost_usd"]:
        return f"${row['cost_usd']:.4f}"
    return NO_VALUE if row["asked"] else "$0"


def _total(rows: Sequence[dict[str, Any]]) -> str:
    asked, stored = sum(row["asked"] for row in rows), sum(row["from_store"] for row in rows)
    failed = sum(row["n_failed"] for row in rows)
    text = [
        f"{count(asked, 'call')} sent, {stored:,} from the store",
        f"{count(failed, 'judgment')} failed" if failed else "",
        f"${cost:.4f}" if (cost := sum(row["cost_usd"] for row in rows)) else "",
    ]
    return " · ".join(text for text in text if text)
