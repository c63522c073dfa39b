"""The warning where judgments of one system fail more often than those of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from ...stats import difference_of_shares
from ...words import listed, share
from ..significance import CLEAR_P
from .summary import Caution, Summary

_CLEAR_GAP = 0.02
"""Smaller differences of failure rates do not matter, even if they are significant."""


class _Failed(NamedTuple):
    """Replies, failed replies, and their items: only items are independent."""

    n: int
    failed: int
    n_items: int

    @property
    def rate(self) -> float:
        return self.failed / self.n if self.n else 0.0


def uneven_failures(summary: Summary) -> Iterator[Caution]:
    """Systems whose replies fail more often than the others', over all criteria or on one of them."""
    noun = "replies" if summary.n_samples > summary.n_scores else "scores"
    shares = summary.failures_by_system.items()
    overall = {
        name: _Failed(share.n_samples, share.n_samples_failed, share.n_items) for name, share in shares
    }
    uneven = _failing_more(overall) if _are_unequal(summary.failures_p) else {}
    if uneven:
        yield _uneven(UNSET, noun, overall, uneven)
    for criterion, about in summary.criteria.items() if len(summary.criteria) > 1 else ():
        if not _are_unequal(about.failures_p, len(summary.criteria)):
            continue
        cells = {name: by[criterion] for name, by in summary.systems.items() if criterion in by}
        counts = {
            name: _Failed(cell.n_samples, cell.n_samples_failed, cell.n + cell.n_failed)
            for name, cell in cells.items()
        }
        more = _failing_more(counts, len(summary.criteria))
        if any(name not in uneven for name in more):
            yield _uneven(criterion, noun, counts, more)


def _are_unequal(p: float | None, n_tests: int = 1) -> bool:
    """Whether failure rates differ at all: only then is a system
    singled out, or the largest of many would be by chance.
    """
    return p is not None and p * n_tests < CLEAR_P


def _failing_more(systems: Mapping[str, _Failed], n_criteria: int = 1) -> dict[str, str]:
    """Systems that fail more often than all others together, or than the one that fails least.

    The worst first, each with what it was compared with. The confidence level rises with the number of
    comparisons.
    """
    least = min(systems, key=lambda name: systems[name].rate, default="")
    compared_with = {}
    for name in sorted(systems, key=lambda name: -systems[name].rate):
        n_pairs = len(systems) * (len(systems) - 1) // 2
        if _is_clear(systems[name], _rest(systems, name), len(systems) * n_criteria):
            compared_with[name] = "the other systems"
        elif name != least and _is_clear(systems[name], systems[least], n_pairs * n_criteria):
            compared_with[name] = least
    return compared_with


def _is_clear(counts: _Failed, other: _Failed, n_tests: int) -> bool:
    gap = difference_of_shares(
        counts.rate * counts.n_items,
        counts.n_items,
        other.rate * other.n_items,
        other.n_items,
        1 - 0.05 / n_tests,
    )
    return gap.value is not None and gap.low is not None and gap.low > 0 and gap.value >= _CLEAR_GAP


def _rest(systems: Mapping[str, _Failed], name: str) -> _Failed:
    others = [counts for other, counts in systems.items() if other != name]
    return _Failed(*(sum(numbers) for numbers in zip(*others, strict=True))) if others else _Failed(0, 0, 0)


def _uneven(
    criterion: str | UnsetType, noun: str, systems: Mapping[str, _Failed], more: Mapping[str, str]
) -> Caution:
    worst, *others = more
    counts = systems[worst]
    reference = more[worst]
    other = systems[reference] if reference in systems else _rest(systems, worst)
    where = "" if criterion is UNSET else f"On {criterion}, "
    also = f" The same holds for {listed(others)}." if others else ""
    return Caution(
        "uneven_failures",
        f"{where}{counts.failed:,} of {counts.n:,} {noun} of {worst} failed ({share(counts.rate)}), "
        f"compared with {other.failed:,} of {other.n:,} ({share(other.rate)}) of {reference}. Poor "
        f"outputs cause more unreadable replies, so the mean over the rest overstates {worst}: check "
        f"the range including failures.{also}",
        criterion=criterion,
        system=worst,
        brief=f"The judge fails more often on {worst}, {share(counts.rate)} against {share(other.rate)}",
    )
