"""The rule of position bias in a report: when to warn that
choices follow the order in which responses are shown.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...words import count, p_phrase, percent
from ..significance import CLEAR_P
from .summary import Caution, Summary

# Judges that are too weak, of the same family as a system, outliers in a panel, or biased by position

_MANY_CONFLICTS = 0.1


def order_effects(summary: Summary) -> Iterator[Caution]:
    """Choices that change with the order, and position bias."""
    if summary.pairs and summary.parameters.get("order") == "given":
        yield Caution(
            "one_order",
            "Each pair was shown in one order only (--order given), so position bias cannot be "
            "separated from a better response. --order both shows each pair in both orders.",
        )
    for criterion, pairs in summary.pairs.items():
        n = sum(pair.order_conflicts.n for pair in pairs)
        changed = round(sum((pair.order_conflicts.value or 0.0) * pair.order_conflicts.n for pair in pairs))
        if n and changed / n >= _MANY_CONFLICTS:
            yield Caution(
                "order_conflict",
                f"{changed:,} of {n:,} choices on {criterion} changed when the two responses were swapped. "
                "They count as ties.",
            )
    if n := summary.flags.get("identical_responses", 0):
        yield Caution(
            "identical_responses",
            f"{count(n, 'pair')} with two identical responses (identical_responses): a tie, without "
            "a position.",
        )
    yield from _position_bias(summary)


def _position_bias(summary: Summary) -> Iterator[Caution]:
    if summary.parameters.get("order") == "given":
        return
    judges = {spec: model.order for spec, model in summary.models.items() if model.order}
    biases = judges or {"the judge": summary.order}
    n_tests = sum(len(by_criterion) for by_criterion in biases.values())
    for judge, by_criterion in biases.items():
        for criterion, bias in by_criterion.items():
            share = bias.first_share
            if bias.p is None or bias.p * n_tests >= CLEAR_P or share.value is None:
                continue
            if share.low is not None and share.high is not None and share.low <= 0.5 <= share.high:
                continue
            position = "first" if share.value > 0.5 else "second"
            advice = (
                "Only results over both orders are unbiased."
                if bias.n_pairs
                else "--order both removes this bias."
            )
            yield Caution(
                "position",
                f"On {criterion}, {judge} prefers the response shown {position} (position bias): the "
                f"first response won {percent(share)} of {share.n:,} choices ({p_phrase(bias.p)}). "
                f"{advice}",
            )
