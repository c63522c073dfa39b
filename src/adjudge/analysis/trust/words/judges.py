"""The tables that compare judges: two of them, and the best of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ....sections import Section
from ....stats import Test
from ....words import NO_VALUE, interval, names
from ..card import BestJudge, Card
from .estimate_rows import sourced


def judges_section(card: Card) -> Section:
    """Two judges on the same labelled items."""
    columns = (
        "criterion",
        "first",
        "second",
        "first [95 % CI]",
        "second [95 % CI]",
        "first − second [95 % CI]",
        "p",
        "p (Williams)",
        "n",
        "remark",
    )
    rows = tuple(
        (
            pair.criterion,
            pair.first,
            pair.second,
            interval(pair.result.first),
            interval(pair.result.second),
            interval(pair.result.difference),
            _p(pair.mcnemar or pair.result.permutation),
            _p(pair.result.williams),
            str(pair.result.difference.n),
            pair.result.difference.reason or pair.result.difference.caution or pair.result.permutation.why,
        )
        for pair in card.judges
    )
    n_pairs = Counter(pair.criterion for pair in card.judges)
    # Of many judges the next table says which differences are significant, corrected for their number.
    lines = sourced(pair.sentence for pair in card.judges if n_pairs[pair.criterion] == 1)
    tests = (
        "Scores: Spearman with people, p from a permutation test. Choices: exact agreement with "
        "people, p from McNemar's exact test."
    )
    if len(lines) < len(n_pairs):
        tests += " Intervals and p-values are for each pair alone, not adjusted for the number of pairs."
    return Section("Which judge agrees better with people?", (*lines, tests), columns, rows)


def _p(test: Test) -> str:
    return NO_VALUE if test.p is None else f"{test.p:.3f}"


def best_judge_section(best: BestJudge) -> Section:
    """Several judges of one criterion, corrected for the choice among them."""

    def name(judge: str) -> str:
        return judge.removeprefix(f"{best.criterion} · ")

    columns = (
        "judge", "agreement [95 % CI]", "judge − first [95 % CI]", "best − judge [95 % CI]", "n", "remark",
    )  # fmt: skip
    rows = tuple(
        (
            name(judge),
            interval(estimate),
            interval(best.over_first.get(judge)) if judge in best.over_first else "",
            interval(best.behind_best.get(judge)) if judge in best.behind_best else "",
            str(estimate.n),
            "; ".join(text for text in (estimate.reason, estimate.caution) if text),
        )
        for judge, estimate in best.agreement.items()
    )
    return Section(f"Best judge for {best.criterion}", tuple(_best_judge_lines(best, name)), columns, rows)


def _best_judge_lines(best: BestJudge, name: Callable[[str], str]) -> Iterator[str]:
    if best.best is None:
        yield f"The judges cannot be ranked: {best.reason}."
        return
    others = [name(judge) for judge in best.leading if judge != best.best]
    tied = (
        f"; not significantly better than {names(others)}"
        if others
        else "; significantly better than all others"
    )
    yield f"Highest agreement: {name(best.best)}{tied}."
    if best.improved:
        better = names([name(judge) for judge in best.improved])
        yield (
            f"Significantly better than {name(best.first)} (one-sided, corrected for the number of "
            f"judges): {better}."
        )
    else:
        yield f"No judge is significantly better than {name(best.first)}."
    chosen = best.held_out
    if chosen is not None:
        yield (
            f"Chosen on one half of the labels: {name(chosen.judge)}; on the other half its agreement is "
            f"{interval(chosen.agreement)}, its lead over {name(best.first)} {interval(chosen.lead)}."
        )
    yield (
        "The intervals of the differences hold for all judges together, so they allow for the choice "
        "among many."
    )
