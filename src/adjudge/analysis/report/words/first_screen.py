"""The first screen of a report: may the judge be used, which system is best, and at most three warnings.

At most thirty lines at 80 columns; `--full` prints the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....sections import Column, Section, cell_text
from ....words import NO_VALUE, decimals, interval, percent, short_name
from ...brief.brief import Brief
from ...rank.ranking import Ranking
from ...trust.card import Card, CriterionCard
from ...trust.words.first_screen import short_system, systems_table, warning_section
from ..first_screen import FirstScreen, first_screen
from ..summary import PairSummary, Summary
from .scores import score_sections

_Table = tuple[tuple[str | Column, ...], tuple[tuple[str, ...], ...]]


_MOST_CRITERIA = 4


def report_screen(
    summary: Summary,
    brief: Brief | None,
    card: Card | None,
    most_rows: int,
    ranking: Ranking | None = None,
) -> tuple[Section, ...]:
    """The report in short; no table has more than `most_rows` rows. `card` compares the run with people."""
    screen = first_screen(summary, brief, card, ranking)
    title = f"Report: {summary.run}" if summary.run else "Report"
    columns, rows = _table(summary, card, most_rows)
    seen = f" Failures: adjudge runs show {summary.run} --failed." if summary.run and summary.n_failed else ""
    footer = f"{screen.judged}{seen} The whole report: --full."
    warnings = [f"{warning.text} Next: {warning.step}" for warning in screen.warnings]
    return Section(title, tuple(_lines(screen)), columns, rows, 1), warning_section(warnings, footer)


def _lines(screen: FirstScreen) -> Iterator[str]:
    """The verdict; of several criteria also that of the worst one, and what leads on each."""
    yield " ".join(filter(None, (screen.verdict, screen.reason)))
    rated = [about for about in screen.criteria if about.card]
    worst = screen.criteria[screen.opened] if screen.criteria else None
    if len(rated) > 1 and worst is not None:
        yield " ".join(filter(None, (worst.verdict, worst.recommendation.reason, worst.lead)))
    if screen.next:
        yield f"Next: {screen.next}"
    if len(rated) == 1 and len(screen.criteria) == 1:
        return
    for about in screen.criteria[:_MOST_CRITERIA]:
        if about.lead and not (len(rated) > 1 and about is worst):
            yield f"{about.name}: {about.lead}" if about.card else about.lead


def _table(summary: Summary, card: Card | None, most: int) -> _Table:
    """The systems: corrected where there are labels of one criterion, otherwise their means by the judge."""
    cards = [about for about in card.criteria.values() if about.corrected] if card is not None else []
    if len(cards) == 1 and len(summary.criteria) + len(summary.pairs) == 1:
        return systems_table(cards[0], most)
    scales = [about.scale for about in summary.criteria.values()]
    if scales and all(scale is not None and scale.is_nominal for scale in scales):
        return _shares(summary, most)
    return _means(summary, cards, most) if summary.systems else _pairs(summary, most)


def _shares(summary: Summary, most: int) -> _Table:
    """The share of each label for each system, of the first criterion."""
    section = next(iter(score_sections(summary)))
    rows = [tuple(cell_text(cell) for cell in row[:4]) for row in section.rows[:most]]
    if len(section.rows) > most:
        rows.append((f"and {len(section.rows) - most} more", "", "", ""))
    return section.columns[:4], tuple(rows)


def _means(summary: Summary, cards: list[CriterionCard], most: int) -> _Table:
    """Systems by criteria: the corrected mean of a criterion with labels, otherwise the mean of the judge."""
    corrected = {(about.protocol, about.criterion): about.corrected for about in cards}

    def cell_text(system: str, name: str) -> str:
        about, cell = summary.criteria[name], summary.systems[system].get(name)
        of_labels = corrected.get((about.protocol, about.criterion))
        found = cell if of_labels is None else of_labels.get(system)
        return NO_VALUE if found is None else interval(found, decimals(about.scale))

    def head(name: str) -> str:
        about = summary.criteria[name]
        is_corrected = (about.protocol, about.criterion) in corrected
        return f"{short_system(short_name(name))} {'corrected' if is_corrected else '[95 % CI]'}"

    criteria = [
        name for name, about in summary.criteria.items() if about.scale is None or not about.scale.is_nominal
    ]
    systems = list(summary.systems)
    rows = [
        (short_system(system), *(cell_text(system, name) for name in criteria), _failed(summary, system))
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
    systems = f"{short_system(pair.system_a)} vs {short_system(pair.system_b)}"
    won = NO_VALUE if pair.won_by_a.value is None else percent(pair.won_by_a)
    n = pair.a + pair.b + pair.tie + pair.failed
    return short_system(short_name(name)), systems, won, f"{pair.failed} of {n}"
