"""A report as sections of text and tables, from the head of the
run to its cost; the same for terminal, Markdown and HTML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import structs

from ....records import EMPTY_RESPONSE
from ....sections import Notice, Section, how_to_read
from ....words import count, failures_text, share
from ...about import about_note
from ...brief.brief import Brief
from ...brief.words import brief_section
from ...cascade.words import decided_text
from ..summary import Summary
from .choices import pair_sections
from .cost import cost_sections
from .elements import element_sections
from .failures import failure_sections, reading_sections
from .panel import panel_sections
from .scores import score_sections

MEANING = (
    "[low, high] is a 95 % confidence interval: the same judge on other items of this kind would "
    "give a mean in about this range. It does not show that the judge is right; only human labels "
    "can."
)


_MOST_STATUSES = 3


_SEVERE = frozenset({"all_failed", "fake_model", "weak_judge", "incomplete"})


def report_sections(
    summary: Summary, *, brief: Brief | None = None, has_answer: bool = False
) -> tuple[Section, ...]:
    """All sections of the report; `brief` is the run in one line. With `has_answer` they follow the first
    screen, which has the name of the run.
    """
    head = _head(summary)
    return (
        structs.replace(head, title="The run", depth=2) if has_answer else head,
        *([] if brief is None else [brief_section(brief)]),
        *caution_sections(summary),
        *score_sections(summary),
        *element_sections(summary),
        *pair_sections(summary),
        *panel_sections(summary),
        *failure_sections(summary),
        *reading_sections(summary),
        *cost_sections(summary),
        *meaning_sections(summary),
    )


def _head(summary: Summary) -> Section:
    version = f"adjudge {summary.version}" if summary.version else ""
    about = " · ".join(text for text in (summary.started, summary.status, version) if text)
    lines = [about] if about else []
    lines += [
        f"judge: {judge_text(spec, model.names, model.is_fake)}" for spec, model in summary.models.items()
    ]
    if summary.protocols:
        named = [f"{name} ({digest[:12]})" if digest else name for name, digest in summary.protocols.items()]
        lines.append(f"protocol: {', '.join(named)}")
    if summary.estimator:
        lines.append(f"estimator: {summary.estimator}")
    lines.append(f"judged: {size_text(summary)}")
    if summary.cascade:
        lines.append(decided_text(summary.cascade))
    if summary.about == "these-items":
        lines.append(about_note("Means"))
    if pooling := pooling_text(summary):
        lines.append(f"pooling: {pooling}")
    return Section(f"Report: {summary.run}" if summary.run else "Report", tuple(lines), depth=1)


def caution_sections(summary: Summary, more: str = "") -> Iterator[Section]:
    """The warnings, and one more that is not about the judge."""
    if summary.warnings or more:
        severe = _severe_kinds(summary)
        in_order = sorted(summary.warnings, key=lambda warning: warning.kind not in severe)
        warned = tuple(Notice(warning.text, warning.kind in severe) for warning in in_order)
        others = (Notice(more),) if more else ()
        yield Section("Before you use these numbers", notices=(*warned, *others))


def _severe_kinds(summary: Summary) -> frozenset[str]:
    # A run in progress is incomplete too, but nothing is wrong with it.
    return _SEVERE - {"incomplete"} if summary.status == "running" else _SEVERE


def meaning_sections(summary: Summary) -> Iterator[Section]:
    """What an interval means and what it does not."""
    if any(cell.low is not None for cells in summary.systems.values() for cell in cells.values()):
        yield how_to_read(MEANING)


def size_text(summary: Summary) -> str:
    """How much was judged, and how much failed."""
    shown = [count(summary.n_items, "item")]
    if summary.systems:
        shown.append(count(len(summary.systems), "system"))
    noun = "choice" if summary.pairs and not summary.systems else "score"
    scores = count(summary.n_scores - summary.n_failed, noun)
    if n_empty := summary.flags.get(EMPTY_RESPONSE, 0):
        shown.append(count(n_empty, "empty response"))
    if summary.n_left_out:
        shown.append(f"{count(summary.n_left_out, 'bad line')} skipped")
    return " · ".join([*shown, f"{scores}, {_failed_text(summary)}"])


def _failed_text(summary: Summary) -> str:
    """How many failed, of how many, and the most frequent statuses."""
    if not summary.n_failed:
        return "0 failed"
    of_all = f"{summary.n_failed:,} of {summary.n_scores:,} failed"
    by_status: Counter[str] = Counter()
    for failures in summary.failures_by_system.values():
        by_status.update(failures.by_status)
    # Choices and items that were left out are not counted by status.
    known = by_status.total() == summary.n_failed
    counts = dict(by_status.most_common(_MOST_STATUSES)) if known else {}
    if n_others := sum(by_status.values()) - sum(counts.values()) if counts else 0:
        counts["other" if n_others == 1 else "others"] = n_others
    statuses = failures_text(counts)
    return f"{of_all} ({share(summary.n_failed / summary.n_scores)}{': ' if statuses else ''}{statuses})"


def pooling_text(summary: Summary) -> str:
    """How several judges are pooled; empty with one judge."""
    kinds = {panel.pooled for panel in summary.panel.values()}
    meanings = {"mean": "each score is the mean of the judges", "vote": "each choice is the judges' vote"}
    n_judges = max((len(panel.judges) for panel in summary.panel.values()), default=0)
    return f"{n_judges} judges; {', '.join(meanings[kind] for kind in sorted(kinds))}" if n_judges else ""


def judge_text(spec: str, names: Mapping[str, int], is_fake: bool) -> str:
    """The spec of a judge, and the model name that it reports where that differs."""
    reported = [name for name in names if name and name != spec.partition(":")[2]]
    suffix = f" (reported as {', '.join(reported)})" if reported else ""
    return f"{spec}{suffix}{' [fake]' if is_fake else ''}"
