"""What pytest prints of the judging: beside a test that failed, and in one table at the end of the run.

Texts come from judges and from users' files: none of them can act on the terminal.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ..analysis import report_words
from ..analysis.report_words import aligned, fitted, n_columns, safe
from ..errors import AdjudgeError
from .judge_fixture import CurrentTest, Told
from .outcome import NoScore, Origin, Outcome, shortened

_LONGEST_EXPLANATION = 400
_MOST_ITEMS = 5
"""so many items of one `many` are told beside a failed test"""
_MOST_ROWS = 40
_LEAST_ROOM = 24
"""columns that the name of a test gets, however narrow the terminal is"""
_LONGEST_PROTOCOL = 36
_LONGEST_MODEL = 60


def explained(
    excinfo: pytest.ExceptionInfo[BaseException] | None, test: CurrentTest, folder: Path
) -> pytest.ExceptionInfo[BaseException] | None:
    """The error of a test; where it compared a score that does not exist, one that says so."""
    if excinfo is None or not isinstance(excinfo.value, TypeError) or "NoneType" not in str(excinfo.value):
        return excinfo
    failed = [outcome for told in test.told for outcome in told.outcomes if not outcome.is_read]
    if not failed:
        return excinfo
    one = failed[0]
    lines = [
        f"there is no score to compare: the judgment failed ({one.status}).",
        _why(one),
        reply_hint(one, folder),
        # Should the mistake be another one after all, its own words are not lost.
        f"(Python: {excinfo.value})",
    ]
    error = NoScore("\n".join(lines))
    # The place stays that of the comparison: pytest shows the line that the user wrote.
    return pytest.ExceptionInfo.from_exc_info((NoScore, error, excinfo.tb))


def _why(outcome: Outcome) -> str:
    if outcome.status == "no_reply":
        return safe(f"{shortened(outcome.origin.model, _LONGEST_MODEL)} gave no reply for {outcome.item}.")
    said = shortened(_reply(outcome), _LONGEST_EXPLANATION)
    return safe(f"{shortened(outcome.origin.model, _LONGEST_MODEL)} replied: {said or '(nothing)'}")


def section(told: Sequence[Told], folder: Path) -> str:
    """What was judged in a test that failed, with the judge's reasons and where its replies are."""
    return "\n".join(line for one in told for line in _told(one, folder))


def _told(told: Told, folder: Path) -> Iterable[str]:
    if not told.outcomes:
        return
    origin = told.outcomes[0].origin
    if told.is_many:
        yield f"{safe(_by(origin))}: {_means(told)}; {_statuses(told)}"
    # Of many, those that a reader looks for first: the failed, then the lowest.
    shown = sorted(told.outcomes, key=lambda outcome: (outcome.is_read, _lowest(outcome)))[:_MOST_ITEMS]
    for outcome in shown:
        lead = f"  {outcome.item}" if told.is_many else _by(origin)
        yield safe(f"{lead}: {outcome.verdict()}{_scale(outcome)}, {outcome.status}")
        said = outcome.explanation or ("" if outcome.is_read else _reply(outcome))
        if said:
            yield f"  {safe(shortened(said, _LONGEST_EXPLANATION))}"
    if len(told.outcomes) > len(shown):
        yield f"  … and {len(told.outcomes) - len(shown)} more"
    yield f"  {reply_hint(shown[0], folder)}"


def _reply(outcome: Outcome) -> str:
    try:
        return outcome.reply
    except AdjudgeError:
        return ""  # a test may have removed its store: that must not hide why it failed


def _lowest(outcome: Outcome) -> float:
    return min((result.value for result in outcome.results if result.value is not None), default=0.0)


def _by(origin: Origin) -> str:
    judge = shortened(origin.model, _LONGEST_MODEL)
    return f"{origin.protocol.id} by {report_words.judge_text(judge, {}, origin.is_fake)}"


def _scale(outcome: Outcome) -> str:
    names = {result.criterion for result in outcome.results if result.choice is None}
    scale = outcome.origin.scale_of(names.pop()) if len(names) == 1 else None
    return f" ({report_words.scale_text(scale)})" if scale is not None else ""


def reply_hint(outcome: Outcome, folder: Path) -> str:
    """The command that shows a reply word for word, as it is given in a folder."""
    near = os.path.relpath(outcome.origin.store, folder)
    store = outcome.origin.store if near.startswith("..") else near
    # The option is left out where it would only repeat the default.
    where = "" if near == "adjudge.db" else f" --store {shlex.quote(store)}"
    return safe(f"the reply: adjudge runs show {outcome.origin.run}{where}")


def rows_of(nodeid: str, told: Iterable[Told]) -> list[dict[str, Any]]:
    """The rows of the summary, as plain values that can be sent to another process."""
    return [
        {
            "test": nodeid,
            "protocol": one.outcomes[0].protocol,
            "model": one.outcomes[0].origin.model,
            "is_fake": one.outcomes[0].origin.is_fake,
            "score": _means(one) if one.is_many else one.outcomes[0].verdict(),
            "status": _statuses(one),
            "n_failed": len(one.outcomes.failed),
            "asked": one.asked,
            "from_store": one.from_store,
            "cost_usd": one.cost_usd,
        }
        for one in told
        if one.outcomes
    ]


def _means(told: Told) -> str:
    origin = told.outcomes[0].origin
    estimates = told.outcomes.estimates
    said = []
    for name, estimate in estimates.items():
        lead = "" if len(estimates) == 1 else f"{name} "
        said.append(f"{lead}{report_words.interval(estimate, report_words.decimals(origin.scale_of(name)))}")
    return ", ".join(said)


def _statuses(told: Told) -> str:
    if not told.is_many:
        return told.outcomes[0].status
    counts = Counter(outcome.status for outcome in told.outcomes)
    return report_words.failures_text(
        {status: counts[status] for status in sorted(counts, key=lambda s: s != "ok")}
    )


def summary(rows: Sequence[dict[str, Any]], width: int, *, is_long: bool) -> Iterable[str]:
    """The table at the end: what was judged, what came of it, what was asked and what it cost."""
    shown = rows if is_long or len(rows) <= _MOST_ROWS else rows[:_MOST_ROWS]
    heads = ["protocol", "score", "status", "asked", "from store", "cost"]
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
    """What was spent now; a dash where something was asked and no price is known."""
    if row["cost_usd"]:
        return f"${row['cost_usd']:.4f}"
    return report_words.NO_VALUE if row["asked"] else "$0"


def _total(rows: Sequence[dict[str, Any]]) -> str:
    asked, stored = sum(row["asked"] for row in rows), sum(row["from_store"] for row in rows)
    failed = sum(row["n_failed"] for row in rows)
    said = [
        f"{report_words.count_of(asked, 'call')} asked, {stored:,} from the store",
        f"{report_words.count_of(failed, 'judgment')} failed" if failed else "",
        f"${cost:.4f}" if (cost := sum(row["cost_usd"] for row in rows)) else "",
    ]
    return " · ".join(text for text in said if text)
