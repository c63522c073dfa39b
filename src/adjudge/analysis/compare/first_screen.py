"""The first screen of a comparison: what changed, whether the conclusion does, and whose side people take.

At most thirty lines at 80 columns; `--full` prints the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...sections import Section
from ...words import NO_VALUE, listed, p_text, short_name
from ..trust.words.first_screen import in_brief, short_system, warning_section
from .comparison import Comparison, CriterionComparison, SystemComparison
from .sentences import estimate_text, value_in_unit
from .words import changes_line

_MOST_CRITERIA = 4


def compare_screen(comparison: Comparison, most_rows: int) -> tuple[Section, ...]:
    """The comparison in short; no table has more than `most_rows` rows."""
    is_one = len(comparison.criteria) == 1
    rows = list(_rows(comparison, is_one=is_one))
    shown = rows[:most_rows]
    if len(rows) > len(shown):
        shown.append((f"and {len(rows) - len(shown)} more", *[""] * 5))
    what = (
        "pair" if all(criterion.kind == "choices" for criterion in comparison.criteria.values()) else "system"
    )
    columns = (
        what if is_one else f"criterion, {what}",
        comparison.first,
        comparison.second,
        "difference [95 % CI]",
        "p",
        "n",
    )
    lines = (*comparison.summary, *_people(comparison))
    title = f"{comparison.first} → {comparison.second}"
    notes = (changes_line(comparison),)
    answer = Section(title, lines, columns if shown else (), tuple(shown), depth=1, notes=notes)
    footer = "Every system, order and item that moved: --full. All numbers: --json."
    return answer, warning_section(_warnings(comparison), footer)


def _warnings(comparison: Comparison) -> list[str]:
    of_criteria = [note for card in comparison.criteria.values() for note in card.notes]
    return [in_brief(text) for text in dict.fromkeys((*comparison.notes, *of_criteria))]


def _people(comparison: Comparison) -> Iterator[str]:
    """With which run people agree better: in full for one criterion, by run for several."""
    sides = {name: card.people.pair for name, card in comparison.criteria.items() if card.people is not None}
    if len(sides) == 1:
        yield next(iter(sides.values())).sentence.text
        return
    by_answer: dict[str, list[str]] = {}
    for name, pair in sides.items():
        is_better = "significantly better" in pair.sentence.text
        nearer = comparison.first if (pair.result.difference.value or 0.0) > 0 else comparison.second
        answer = f"significantly better with {nearer}" if is_better else "with neither significantly better"
        by_answer.setdefault(answer, []).append(short_name(name))
    if by_answer:
        answers = (
            f"{answer} on {listed(criteria, _MOST_CRITERIA)}" for answer, criteria in by_answer.items()
        )
        yield f"People agree {'; '.join(answers)}."


def _rows(comparison: Comparison, *, is_one: bool) -> Iterator[tuple[str, ...]]:
    """The systems, those with the largest difference first, of each criterion in turn."""
    of_criteria = [
        [_row(name, system, one, card, is_one=is_one) for system, one in _largest_first(card)]
        for name, card in comparison.criteria.items()
    ]
    for place in range(max(map(len, of_criteria), default=0)):
        yield from (rows[place] for rows in of_criteria if place < len(rows))


def _largest_first(card: CriterionComparison) -> list[tuple[str, SystemComparison]]:
    return sorted(card.systems.items(), key=lambda pair: -abs(pair[1].difference.value or 0.0))


def _row(
    name: str, system: str, one: SystemComparison, card: CriterionComparison, *, is_one: bool
) -> tuple[str, ...]:
    means = [
        NO_VALUE if mean.value is None else value_in_unit(card, mean.value)
        for mean in (one.first, one.second)
    ]
    return (
        short_system(system if is_one else f"{short_name(name)}, {system}"),
        *means,
        estimate_text(card, one.difference, is_difference=True),
        p_text(one.p_adjusted),
        f"{one.difference.n:,}",
    )
