"""What pytest prints of a test that failed: its judgments, with the judge's reasons and how to see its
replies.

Texts come from judges and from users' files: all are escaped for the terminal."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from ..analysis.report.words.report import judge_text
from ..analysis.report.words.scores import scale_text
from ..errors import AdjudgeError, NoScore
from ..judge.verdict import Origin, Verdict, shortened
from ..untrusted import safe
from .judge_fixture import CurrentTest, Use
from .summary import LONGEST_MODEL, means_text, statuses_text

_LONGEST_SHOWN = 400


_MOST_ITEMS = 5
"""of one `many`, shown for a failed test"""


def explained(
    excinfo: pytest.ExceptionInfo[BaseException] | None, test: CurrentTest, folder: Path
) -> pytest.ExceptionInfo[BaseException] | None:
    """The error of a test; where it compared a missing score, an error that says so."""
    if excinfo is None or not isinstance(excinfo.value, TypeError) or "NoneType" not in str(excinfo.value):
        return excinfo
    failed = [verdict for use in test.uses for verdict in use.verdicts if not verdict.is_read]
    if not failed:
        return excinfo
    verdict = failed[0]
    lines = [
        f"there is no score to compare: the judgment failed ({verdict.status}).",
        _why(verdict),
        reply_hint(verdict, folder),
        # The comparison may have failed for another reason: keep the original message.
        f"(Python: {excinfo.value})",
    ]
    error = NoScore("\n".join(lines))
    # With the traceback of the comparison, so that pytest shows the user's line.
    return pytest.ExceptionInfo.from_exc_info((NoScore, error, excinfo.tb))


def _why(verdict: Verdict) -> str:
    if verdict.status == "no_reply":
        why = f": {shortened(verdict.error, _LONGEST_SHOWN)}" if verdict.error else "."
        return safe(f"{shortened(verdict.origin.model, LONGEST_MODEL)} gave no reply for {verdict.item}{why}")
    text = shortened(_reply(verdict), _LONGEST_SHOWN)
    return safe(f"{shortened(verdict.origin.model, LONGEST_MODEL)} replied: {text or '(nothing)'}")


def section(uses: Sequence[Use], folder: Path) -> str:
    """The judgments of a test that failed, with the judge's reasons and how to see its replies."""
    return "\n".join(line for use in uses for line in _use_lines(use, folder))


def _use_lines(use: Use, folder: Path) -> Iterable[str]:
    if not use.verdicts:
        return
    origin = use.verdicts[0].origin
    if use.is_many:
        yield f"{safe(_by(origin))}: {means_text(use)}; {statuses_text(use)}"
    # The failed ones first, then the lowest scores.
    shown = sorted(use.verdicts, key=lambda verdict: (verdict.is_read, _lowest(verdict)))[:_MOST_ITEMS]
    for verdict in shown:
        lead = f"  {verdict.item}" if use.is_many else _by(origin)
        yield safe(f"{lead}: {verdict.in_words()}{_scale(verdict)}, {verdict.status}")
        text = verdict.explanation or ("" if verdict.is_read else _reply(verdict))
        if text:
            yield f"  {safe(shortened(text, _LONGEST_SHOWN))}"
    if len(use.verdicts) > len(shown):
        yield f"  … and {len(use.verdicts) - len(shown)} more"
    yield f"  {reply_hint(shown[0], folder)}"


def _reply(verdict: Verdict) -> str:
    try:
        return verdict.reply
    except AdjudgeError:
        return ""  # a test may have removed its store: that must not hide its failure


def _lowest(verdict: Verdict) -> float:
    return min((result.value for result in verdict.results if result.value is not None), default=0.0)


def _by(origin: Origin) -> str:
    judge = shortened(origin.model, LONGEST_MODEL)
    return f"{origin.protocol.id} by {judge_text(judge, {}, origin.is_fake)}"


def _scale(verdict: Verdict) -> str:
    names = {result.criterion for result in verdict.results if result.choice is None}
    scale = verdict.origin.scale_of(names.pop()) if len(names) == 1 else None
    return f" ({scale_text(scale)})" if scale is not None else ""


def reply_hint(verdict: Verdict, folder: Path) -> str:
    """The command that shows a reply word for word, to be run in this folder."""
    relative = os.path.relpath(verdict.origin.store, folder)
    store = verdict.origin.store if relative.startswith("..") else relative
    # The option is left out where it would only repeat the default.
    where = "" if relative == "adjudge.db" else f" --store {shlex.quote(store)}"
    return safe(f"the reply: adjudge runs show {verdict.origin.run}{where}")
