"""The first screen of a ranking: which system ranks first, whether its lead is significant, what limits it.

At most thirty lines at 80 columns; `--full` prints strengths, differences, head-to-head, position and length
bias.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ...sections import Column, Section, cell_text
from ...words import count, percent, short_name
from ..trust.words.first_screen import in_brief, judge_in_sentence, short_system, warning_section
from .notes import has_comparisons, unbounded
from .ranking import Ranking
from .words import leader, next_section, standings_section

_MOST_CRITERIA = 4


_N_PROPOSED = 20
"""How many comparisons the next step proposes."""


_SHOWN = ("rank", "system", "mean [95 % CI]", "win rate [95 % CI]", "n", "failed")
"""The columns of the standings that the first screen has."""


_OF_GAMES = ("win rate [95 % CI]", "n")
"""The columns that say nothing where no two systems were compared on the same prompt."""


def rank_screen(ranking: Ranking, most_rows: int) -> tuple[Section, ...]:
    """The ranking in short; no table has more than `most_rows` rows."""
    title = f"Ranking: {ranking.run}" if ranking.run else "Ranking"
    criteria = list(ranking.criteria.values())
    lines = [leader(of) for of in criteria[:_MOST_CRITERIA]]
    if n_more := len(criteria) - len(lines):
        lines.append(f"{count(n_more, 'more criterion', 'more criteria')}: --full.")
    columns, rows = _table(ranking, most_rows)
    about_strengths = {note for of in criteria for note in unbounded(of)}
    notes = [*ranking.notes, *(note for of in criteria for note in of.notes)]
    return (
        Section(title, (*lines, *_next(ranking)), columns, rows, depth=1, notes=(_basis(ranking),)),
        *((next_section(ranking),) if ranking.next else ()),
        warning_section(
            [in_brief(note) for note in dict.fromkeys(notes) if note not in about_strengths],
            "Strengths, differences, head-to-head, position and length bias: --full. All numbers: --json.",
        ),
    )


def _next(ranking: Ranking) -> Iterator[str]:
    """The comparisons that would decide an open lead; otherwise whether people agree."""
    if ranking.next or not ranking.run or not has_comparisons(ranking):
        return
    run = shlex.quote(ranking.run)
    is_open = any(standing.places[0] == 1 for standing in ranking.systems[1:])
    if ranking.kind != "choices" or not is_open:
        yield f"Next: see whether people agree with the judge: adjudge trust {run}"
    elif _is_complete(ranking):
        of = f"of the systems that adjudge rank {run} --next {_N_PROPOSED} names"
        yield f"Next: judge pairs on new prompts, {of}."
    else:
        yield f"Next: judge the most informative pairs: adjudge rank {run} --next {_N_PROPOSED} -o more.jsonl"


def _is_complete(ranking: Ranking) -> bool:
    """Whether every two systems were compared on every prompt."""
    n_systems = len(ranking.systems)
    n_pairs = n_systems * (n_systems - 1) // 2
    return ranking.n_games + ranking.n_failed >= (ranking.n_groups or 0) * n_pairs > 0


def _basis(ranking: Ranking) -> str:
    """How many comparisons, by which judge, and how often the order of the responses changed the winner."""
    noun = "comparison" if ranking.kind == "choices" else "score comparison"
    text = count(ranking.n_games, noun) if _has_games(ranking) else count(_n_scores(ranking), "score")
    if ranking.n_groups is not None:
        text += f" on {count(ranking.n_groups, 'prompt')}"
    text += f", {ranking.n_failed:,} failed"
    if ranking.models:
        text += f"; judge: {', '.join(map(judge_in_sentence, ranking.models))}"
    if len(ranking.criteria) > 1:
        text = f"{short_name(next(iter(ranking.criteria)))}: {text}"
    if ranking.kind == "choices" and ranking.order.n_pairs:
        text += f". Same winner in both orders: {percent(ranking.order.agreement)}"
    return f"{text}."


def _has_games(ranking: Ranking) -> bool:
    """Whether systems were compared on the same prompts, and not by their means alone."""
    return ranking.n_games > 0 or all(standing.mean is None for standing in ranking.systems)


def _n_scores(ranking: Ranking) -> int:
    return sum(standing.mean.n for standing in ranking.systems if standing.mean is not None)


def _table(ranking: Ranking, most: int) -> tuple[tuple[Column, ...], tuple[tuple[str, ...], ...]]:
    standings = standings_section(ranking)
    names = [name for name in _SHOWN if _has_games(ranking) or name not in _OF_GAMES]
    places = [place for name in names for place, head in enumerate(standings.heads) if head.name == name]
    columns = tuple(standings.heads[place] for place in places)
    rows = [
        tuple(
            short_system(text) if standings.heads[place].name == "system" else text
            for place in places
            for text in [cell_text(row[place])]
        )
        for row in standings.rows[:most]
    ]
    if len(standings.rows) > most:
        rows.append(("", f"and {len(standings.rows) - most} more", *[""] * (len(columns) - 2)))
    return columns, tuple(rows)
