"""The words of a run in one line, each with how good it is and where its evidence stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from ...sections import Section
from ...words import count, listed, number, price, share, signed
from .brief import FEW_LABELS, Brief, CriterionBrief

Level = Literal["", "good", "warn", "bad"]


Evidence = Literal["scores", "ranking", "card", "failures", "timing", "label"]
"""where the numbers behind a part are: a part of the
report, or `label` where people have to label items first
"""


class BriefPart(Struct, frozen=True):
    """One part of the line: its name, its text, how bad it is, and where its evidence is."""

    name: str
    text: str
    more: str = ""
    level: Level = ""
    evidence: Evidence = "scores"


def brief_parts(brief: Brief, line: CriterionBrief | None = None) -> tuple[BriefPart, ...]:
    """All parts about one criterion, the first by default."""
    if not brief.n_scores:
        return (BriefPart("Judged", "nothing yet"), *_spent(brief))
    line = line or (brief.criteria[0] if brief.criteria else None)
    of_criterion = (
        (*_best(line), *_trust(brief, line)) if line is not None and not brief.is_all_failed else ()
    )
    return (*of_criterion, *run_parts_of(brief))


def criterion_parts(brief: Brief, line: CriterionBrief) -> tuple[BriefPart, ...]:
    """The parts that differ from criterion to criterion."""
    return () if brief.is_all_failed or not brief.n_scores else (*_best(line), *_trust(brief, line))


def run_parts_of(brief: Brief) -> tuple[BriefPart, ...]:
    """The parts that are about all criteria together."""
    failed = BriefPart("Failed", "none", evidence="failures")
    if brief.n_failed:
        level: Level = "bad" if brief.is_all_failed else "warn"
        text = "everything" if brief.is_all_failed else share(brief.n_failed / brief.n_scores)
        failed = BriefPart(
            "Failed", text, f"{brief.n_failed:,} of {brief.n_scores:,}", level, evidence="failures"
        )
    elif brief.is_all_failed:
        failed = BriefPart("Failed", "everything", level="bad", evidence="failures")
    return (failed, *_spent(brief))


def _spent(brief: Brief) -> Iterator[BriefPart]:
    calls = count(brief.n_calls, "call")
    yield BriefPart("Cost", price(brief.cost_usd), calls, evidence="timing")


def _best(line: CriterionBrief) -> Iterator[BriefPart]:
    if line.best is not None:
        evidence: Evidence = "ranking" if line.kind == "choices" else "scores"
        yield BriefPart("Best", line.best, _lead(line), "" if line.tied else "good", evidence)
    elif line.mean is not None and line.mean.value is not None:
        yield BriefPart("Mean", number(line.mean.value), f"n={line.mean.n:,}")


def _lead(line: CriterionBrief) -> str:
    """Whether the lead of the best system is significant."""
    by = "" if line.is_corrected else "by the judge, "
    if not line.tied:
        return f"{by}significantly ahead of all others"
    n = f" (n = {line.n_best:,})" if line.n_best else ""
    over = line.tied[0] if len(line.tied) == 1 else count(len(line.tied), "other")
    return f"{by}no significant lead over {over}{n}"


def best_sentence(line: CriterionBrief, *, is_only: bool) -> str:
    """Which system is best; empty with one system, or where it is not known."""
    if line.best is None:
        return ""
    on = "" if is_only else f" on {line.name}"
    how = ", after correction" if line.is_corrected else ""
    return f"Best{on}{how}: {line.best}, {_lead(line)}."


def _trust(brief: Brief, line: CriterionBrief) -> Iterator[BriefPart]:
    if line.agreement is None or line.agreement.value is None:
        more = f"label {FEW_LABELS} items" if not brief.is_labelled else "see the judge card"
        yield BriefPart("Trust", "not known", more, "warn", "card" if brief.is_labelled else "label")
        return
    is_share = line.kind == "choices"
    text = share(line.agreement.value) if is_share else number(line.agreement.value)
    more = "agreement with people"
    if line.people is not None and line.people.value is not None:
        more = f"where people reach {share(line.people.value) if is_share else number(line.people.value)}"
    levels: dict[str, Level] = {"below": "warn", "above": "good", "on par": "good"}
    yield BriefPart("Trust", text, more, levels.get(line.standing, ""), "card")
    if line.bias is not None and line.bias.value is not None:
        low, high = line.bias.low, line.bias.high
        is_clear = low is not None and high is not None and not low <= 0 <= high
        yield BriefPart("Bias", signed(line.bias.value), "judge − people", "warn" if is_clear else "", "card")
    if line.n_reviewed:
        text = f"{line.n_reviewed} of {count(line.n_labels, 'label')}"
        yield BriefPart("Reviewed", text, f"{line.n_changed} changed", "", "card")


def brief_section(brief: Brief) -> Section:
    """The same for the terminal and for Markdown."""
    of_all = (
        " · ".join(_text(part) for part in run_parts_of(brief)) if brief.n_scores else "nothing judged yet"
    )
    lines = []
    for line in brief.criteria[:_MOST_LINES]:
        parts = criterion_parts(brief, line)
        lead = f"{line.name}: " if len(brief.criteria) > 1 else ""
        if parts:
            lines.append(lead + " · ".join(_text(part) for part in parts))
    if len(brief.criteria) > _MOST_LINES:
        rest = [line.name for line in brief.criteria[_MOST_LINES:]]
        lines.append(f"and {count(len(rest), 'more criterion', 'more criteria')}: {listed(rest)}")
    return Section("In short", (*lines, of_all))


_MOST_LINES = 8


def _text(part: BriefPart) -> str:
    name = part.name.lower()
    return f"{name}: {part.text} ({part.more})" if part.more else f"{name}: {part.text}"
