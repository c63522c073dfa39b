"""A verdict as sections of text and cells, which a terminal and Markdown show alike.

Names stand here as users wrote them: whoever prints a section makes them harmless first.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..sections import Section
from ..words import NO_VALUE, interval, number, percent, share
from .shapes import WORDS, Check, Verdict

MEANING = (
    "A check is good where the whole 95 % interval is on the good side of its threshold, worse where all of it is on the other, "
    "and open in between. Where both runs have the same calls and the same replies, nothing can have changed, and a drop is ruled "
    "out without an interval. Decides: the distance from the threshold that as many items decide four times in five. "
    "Of several checks the gravest counts: failed, then worse, then open."
)


def sections(verdict: Verdict) -> Iterator[Section]:
    """The verdict, each check in a sentence, then all in a table."""
    fake = " [fake]" if verdict.is_fake else ""
    against = f" against {verdict.baseline}" if verdict.baseline is not None else ""
    title = f"Gate of {verdict.run}{against}: {WORDS[verdict.outcome]} (exit {verdict.exit_code}){fake}"
    lines = (*_sentences(verdict), *(f"! {note}" for note in verdict.notes), *_remarks(verdict))
    yield Section(title, lines, depth=1)
    columns = (
        "check",
        "criterion",
        "system",
        "threshold",
        "found [95 %]",
        "n",
        "failed",
        "decides",
        "outcome",
    )
    yield Section("Checks", (), columns, tuple(_row(check) for check in verdict.checks))
    yield Section("How to read this", (MEANING,))


def _sentences(verdict: Verdict) -> Iterator[str]:
    """The checks that are not good, the gravest first; or that all are."""
    bad = [check for check in verdict.checks if check.outcome != "good"]
    if not bad:
        n = len(verdict.checks)
        yield {1: "The check is good.", 2: "Both checks are good."}.get(n, f"All {n} checks are good.")
    for outcome in ("failed", "worse", "open"):
        for check in bad:
            if check.outcome == outcome:
                yield f"{WORDS[check.outcome]}: {check.text}"


def _remarks(verdict: Verdict) -> Iterator[str]:
    for check in verdict.checks:
        for remark in check.remarks:
            yield f"{check.rule.replace('_', '-')} {check.criterion} of {check.system}: {remark}."


def _row(check: Check) -> tuple[str, ...]:
    is_failure = check.rule == "max_failed"
    found = (
        percent(check.estimate)
        if is_failure or check.is_share
        else interval(check.estimate, is_difference=check.rule == "max_drop")
    )
    write = share if check.is_share else number
    return (
        check.rule.replace("_", "-"),
        check.criterion,
        check.system,
        check.asked,
        found,
        str(check.estimate.n),
        str(check.estimate.n_failed)
        if not is_failure
        else str(round((check.estimate.value or 0.0) * check.estimate.n)),
        NO_VALUE if check.minimum_detectable is None else f"± {write(check.minimum_detectable)}",
        WORDS[check.outcome],
    )
