"""The warnings of a first screen: those that say the same are one line, each with something to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import UNSET, Struct

from ...words import count, short_name
from ..trust.card import Card
from ..trust.recommendation import ENOUGH_LABELS
from ..trust.words.first_screen import card_warnings, in_brief
from .cautions import can_retry
from .summary import Caution, CautionKind, Summary

Action = Literal["open", "label", "without", "rerun", "read", "wait"]
"""open the items, label more, see the means without them, repeat the command, read the whole warning, wait"""


class ScreenWarning(Struct, frozen=True):
    """One warning: what it says in a sentence, and what to do about it."""

    kind: CautionKind | Literal["labels"]
    text: str
    action: Action = "read"
    query: tuple[tuple[str, str], ...] = ()
    """the filter of the items behind it"""
    step: str = ""
    """the command for it"""


MORE_LABELS = 30
"""How many items to label at a time."""


_STEPS: dict[CautionKind, str] = {
    "all_failed": "adjudge runs show {run}",
    "failed_calls": "repeat the command of the run",
    "incomplete": "repeat the command of the run",
    "injection_suspected": "adjudge view {run}",
    "uneven_failures": "adjudge runs show {run}",
    "position": "adjudge rank {run}",
    "order_conflict": "adjudge rank {run}",
    "panel_disagrees": "adjudge view {run}",
    "judge_apart": "adjudge view {run}",
}
"""The command for a warning; about others, the whole report says more."""


_QUERIES: dict[CautionKind, tuple[tuple[str, str], ...]] = {
    "all_failed": (("status", "failed"),),
    "failed_calls": (("status", "no_reply"),),
    "uneven_failures": (("status", "failed"),),
    "order_conflict": (("flag", "order_conflict"),),
    "position": (("flag", "order_conflict"),),
    "panel_disagrees": (("sort", "-judges"),),
    "judge_apart": (("sort", "-judges"),),
    "partial_panel": (("status", "failed"),),
    "contradiction": (("flag", "verdict_contradicts_scores"),),
    "between_levels": (("flag", "between_levels"),),
    "transcript_cut": (("flag", "transcript_cut"),),
    "identical_responses": (("flag", "identical_responses"),),
}
"""The items behind a warning."""


def screen_warnings(summary: Summary, card: Card | None) -> tuple[ScreenWarning, ...]:
    """All warnings of a run, the most severe first; those of its labels last."""
    of_labels = card_warnings(card, has_failures=False, has_steps=False) if card is not None else ()
    step = f"adjudge trust {summary.run} --full"
    notes = (ScreenWarning("labels", text, "read", step=step) for text in of_labels)
    return *_of_run(summary), *_few_labels(summary, card), *notes


def _few_labels(summary: Summary, card: Card | None) -> Iterator[ScreenWarning]:
    """Where more labels would narrow the intervals: fewer than decide, and items that have none."""
    few = {
        short_name(name): about
        for name, about in (card.criteria if card is not None else {}).items()
        if 0 < about.n_labelled < min(ENOUGH_LABELS, about.n_items)
    }
    if few:
        name, about = min(few.items(), key=lambda named: named[1].n_labelled)
        on = f" on {name}" if len(few) == 1 else f" on {count(len(few), 'criterion', 'criteria')}"
        n_items = count(about.n_items, "item")
        text = f"Only {about.n_labelled:,} of {n_items} are labelled{on}: intervals are wide."
        command = f"adjudge annotate {summary.run} -n {about.n_labelled + MORE_LABELS}"
        yield ScreenWarning("labels", text, "label", step=command)


def _of_run(summary: Summary) -> Iterator[ScreenWarning]:
    groups: dict[tuple[str, str], list[Caution]] = {}
    for caution in summary.warnings:
        system = caution.system if caution.system is not UNSET else ""
        groups.setdefault((caution.kind, system), []).append(caution)
    for (_, system), cautions in groups.items():
        kind = cautions[0].kind
        step = _STEPS.get(kind, "adjudge report {run} --full").format(run=summary.run or "last")
        if kind == "failed_calls" and not can_retry(summary):
            step = f"adjudge runs show {summary.run or 'last'} --failed"
        query = _QUERIES.get(kind, ())
        if kind == "injection_suspected":
            yield ScreenWarning(kind, _grouped(cautions), "without", (("flag", kind),), step)
            continue
        if kind == "incomplete" and summary.status == "running":
            yield ScreenWarning(kind, _grouped(cautions), "wait", step="wait until the run ends")
            continue
        if system and query:
            query = (("system", system), *query)
        action: Action = "open" if query else "rerun" if kind == "incomplete" else "read"
        yield ScreenWarning(kind, _grouped(cautions), action, query, step)


def _grouped(cautions: Sequence[Caution]) -> str:
    """M20 fails more often, 6 % against 0.7 %, on 3 criteria."""
    first = cautions[0]
    if first.brief is UNSET:
        more = f" (and {len(cautions) - 1:,} more like it)" if len(cautions) > 1 else ""
        return f"{in_brief(first.text).rstrip('.')}{more}."
    criteria = [short_name(caution.criterion) for caution in cautions if caution.criterion is not UNSET]
    if len(criteria) < len(cautions):
        return f"{first.brief}."  # over all criteria together
    return f"{first.brief}, on {criteria[0] if len(criteria) == 1 else f'{len(criteria)} criteria'}."
