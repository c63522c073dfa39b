"""The first screen of a report: may the judge be used, which system is best, and at most three warnings.

At most thirty lines at 80 columns; `--full` prints the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....sections import Column, Section
from ....words import NO_VALUE, count, decimals, interval, names, percent, short_name
from ...brief.brief import Brief
from ...brief.words import best_sentence, cost_word
from ...trust.card import Card, CriterionCard
from ...trust.words.first_screen import (
    in_brief,
    judge_name,
    shortened,
    systems_table,
    verdict_lines,
    verdict_of_all,
    warning_section,
    worst_of,
)
from ..summary import CautionKind, PairSummary, Summary
from .report import size_text

_Table = tuple[tuple[str | Column, ...], tuple[tuple[str, ...], ...]]


_MOST_CRITERIA = 4


def report_screen(
    summary: Summary, brief: Brief | None, card: Card | None, most_rows: int
) -> tuple[Section, ...]:
    """The report in short; no table has more than `most_rows` rows. `card` compares the run with people."""
    title = f"Report: {summary.run}" if summary.run else "Report"
    lines = (*_verdict(summary, card), *_best(brief, card))
    columns, rows = _table(summary, card, most_rows)
    judged = f"Judged: {size_text(summary)}; cost {cost_word(summary.cost_usd)}."
    footer = f"{judged} The whole report: --full."
    return Section(title, lines, columns, rows, 1), warning_section(list(_warnings(summary)), footer)


def _verdict(summary: Summary, card: Card | None) -> Iterator[str]:
    if not summary.n_scores:
        yield "Nothing is judged yet."
        return
    if any(caution.kind == "all_failed" for caution in summary.warnings):
        yield "No score could be read, so there is no result."
        return
    if card is None:
        yield from _unknown(summary)
        return
    if len(card.criteria) > 1:
        yield verdict_of_all(card.criteria)
    yield from verdict_lines(card.criteria[worst_of(card.criteria)])


def _unknown(summary: Summary) -> Iterator[str]:
    """The verdict of a run without labels."""
    found = [about.recommendation for about in summary.criteria.values()]
    known = [one for one in (*found, *summary.pair_recommendations.values()) if one]
    criteria = dict.fromkeys(map(short_name, (*summary.criteria, *summary.pair_recommendations)))
    judges = list(summary.models)
    judge = judge_name(judges[0]) if len(judges) == 1 else f"the panel of {len(judges)} judges"
    yield f"It is not known whether {judge} can be used for {names(list(criteria))}: no item has a human label."
    if known:
        yield f"Next: {known[0].next}"


def _best(brief: Brief | None, card: Card | None) -> Iterator[str]:
    """Which system is best, where the verdict does not say it."""
    if brief is None or brief.is_all_failed or (card is not None and len(card.criteria) == 1):
        return
    for line in brief.criteria[:_MOST_CRITERIA]:
        if sentence := best_sentence(line, is_only=len(brief.criteria) == 1):
            yield sentence


def _table(summary: Summary, card: Card | None, most: int) -> _Table:
    """The systems: corrected where there are labels of one criterion, otherwise their means by the judge."""
    cards = [about for about in card.criteria.values() if about.corrected] if card is not None else []
    if len(cards) == 1 and len(summary.criteria) + len(summary.pairs) == 1:
        return systems_table(cards[0], most)
    return _means(summary, cards, most) if summary.systems else _pairs(summary, most)


def _means(summary: Summary, cards: list[CriterionCard], most: int) -> _Table:
    """Systems by criteria: the corrected mean of a criterion with labels, otherwise the mean of the judge."""
    corrected = {(about.protocol, about.criterion): about.corrected for about in cards}

    def cell_text(system: str, name: str) -> str:
        about, cell = summary.criteria[name], summary.systems[system].get(name)
        found = corrected.get((about.protocol, about.criterion), {}).get(system)
        return interval(found if found is not None else cell, decimals(about.scale))

    def head(name: str) -> str:
        about = summary.criteria[name]
        is_corrected = (about.protocol, about.criterion) in corrected
        return f"{shortened(short_name(name))} {'corrected' if is_corrected else '[95 % CI]'}"

    criteria = [
        name for name, about in summary.criteria.items() if about.scale is None or not about.scale.is_nominal
    ]
    systems = list(summary.systems)
    rows = [
        (shortened(system), *(cell_text(system, name) for name in criteria), _failed(summary, system))
        for system in systems[:most]
    ]
    if len(systems) > most:
        rows.append((f"and {len(systems) - most} more", *[""] * (len(criteria) + 1)))
    spare = [Column(head(name), is_spare=place > 0) for place, name in reversed(list(enumerate(criteria)))]
    return ("system", *reversed(spare), "failed"), tuple(rows)


def _failed(summary: Summary, system: str) -> str:
    cells = summary.systems[system].values()
    n_failed, n = sum(cell.n_failed for cell in cells), sum(cell.n + cell.n_failed for cell in cells)
    return f"{n_failed} of {n}"


def _pairs(summary: Summary, most: int) -> _Table:
    """Which of two systems wins."""
    pairs = [(name, pair) for name, of_criterion in summary.pairs.items() for pair in of_criterion]
    columns = ("criterion", "systems", "win rate of the first", Column("failed", is_spare=True))
    rows = [_pair_row(name, pair) for name, pair in pairs[:most]]
    if len(pairs) > most:
        rows.append((f"and {len(pairs) - most} more", "", "", ""))
    return (columns, tuple(rows)) if pairs else ((), ())


def _pair_row(name: str, pair: PairSummary) -> tuple[str, ...]:
    systems = f"{shortened(pair.system_a)} vs {shortened(pair.system_b)}"
    won = NO_VALUE if pair.won_by_a.value is None else percent(pair.won_by_a)
    n = pair.a + pair.b + pair.tie + pair.failed
    return shortened(short_name(name)), systems, won, f"{pair.failed} of {n}"


_NEXT: dict[CautionKind, str] = {
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
"""What to do about a warning; about others, the whole report says more."""


def _warnings(summary: Summary) -> Iterator[str]:
    """A line for each kind of warning, the most severe first, with its next step."""
    grouped: dict[CautionKind, list[str]] = {}
    for caution in summary.warnings:
        grouped.setdefault(caution.kind, []).append(caution.text)
    for kind, texts in grouped.items():
        more = f" (and {count(len(texts) - 1, 'more like it', 'more like it')})" if len(texts) > 1 else ""
        step = _NEXT.get(kind, "adjudge report {run} --full").format(run=summary.run or "last")
        yield f"{in_brief(texts[0])}{more} Next: {step}"
