"""A run in a few lines: the best system and the agreement with people on each criterion, failures, cost."""

from __future__ import annotations

from collections.abc import Iterator

from ...sections import Section
from ...words import count, listed, number, price, share, signed
from .brief import FEW_LABELS, Brief, CriterionBrief

_MOST_LINES = 8


def brief_section(brief: Brief) -> Section:
    """The lines for the terminal and for Markdown."""
    of_all = " · ".join(_of_run(brief)) if brief.n_scores else "nothing judged yet"
    lines = []
    if brief.n_scores and not brief.is_all_failed:
        for line in brief.criteria[:_MOST_LINES]:
            lead = f"{line.name}: " if len(brief.criteria) > 1 else ""
            lines.append(lead + " · ".join((*_best(line), *_trust(brief, line))))
    if len(brief.criteria) > _MOST_LINES:
        rest = [line.name for line in brief.criteria[_MOST_LINES:]]
        lines.append(f"and {count(len(rest), 'more criterion', 'more criteria')}: {listed(rest)}")
    return Section("In short", (*lines, of_all))


def _of_run(brief: Brief) -> Iterator[str]:
    """The parts that are about all criteria together."""
    failed = "everything" if brief.is_all_failed else "none"
    if brief.n_failed and not brief.is_all_failed:
        failed = share(brief.n_failed / brief.n_scores)
    n_failed = f"{brief.n_failed:,} of {brief.n_scores:,}" if brief.n_failed else ""
    yield _part("failed", failed, n_failed)
    yield _part("cost", price(brief.cost_usd), count(brief.n_calls, "call"))


def _best(line: CriterionBrief) -> Iterator[str]:
    if line.best is not None:
        yield _part("best", line.best, _lead(line))
    elif line.mean is not None and line.mean.value is not None:
        yield _part("mean", number(line.mean.value), f"n={line.mean.n:,}")


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


def _trust(brief: Brief, line: CriterionBrief) -> Iterator[str]:
    if line.agreement is None or line.agreement.value is None:
        yield _part(
            "trust", "not known", "see the judge card" if brief.is_labelled else f"label {FEW_LABELS} items"
        )
        return
    written = share if line.kind == "choices" else number
    more = "agreement with people"
    if line.people is not None and line.people.value is not None:
        more = f"where people reach {written(line.people.value)}"
    yield _part("trust", written(line.agreement.value), more)
    if line.bias is not None and line.bias.value is not None:
        yield _part("bias", signed(line.bias.value), "judge − people")
    if line.n_reviewed:
        text = f"{line.n_reviewed} of {count(line.n_labels, 'label')}"
        yield _part("reviewed", text, f"{line.n_changed} changed")


def _part(name: str, text: str, more: str = "") -> str:
    return f"{name}: {text} ({more})" if more else f"{name}: {text}"
