"""The checks that need no labels, in words: spread, retest, failures."""

from __future__ import annotations

from collections.abc import Iterator

from ....sections import Section
from ....stats import InformativeFailures, Retest
from ....words import NO_VALUE, count, interval, number, percent_cell, share, status_text
from ..card import CriterionCard
from .probabilities import probability_line


def quality_section(card: CriterionCard) -> Section:
    """Failures by system with the range of the mean, and the spread of the answers."""
    quality = card.quality
    rows = []
    for system, failures in quality.failures.items():
        bounds = failures.bounds
        span = NO_VALUE if bounds is None else f"{number(bounds.low)} to {number(bounds.high)}"
        statuses = ", ".join(f"{n} {status_text(status)}" for status, n in failures.by_status.items())
        samples = f"{failures.n_samples_failed} of {failures.n_samples}"
        rows.append((system, str(failures.n), percent_cell(failures.failed), span, samples, statuses))
    columns = (
        "system",
        "items",
        "failed [95 % CI]",
        "mean, range including failures",
        "failed samples",
        "statuses",
    )
    return Section(
        "Checks that need no labels", tuple(_spread_lines(card)), columns, tuple(rows), 3, is_detail=True
    )


def _spread_lines(card: CriterionCard) -> Iterator[str]:
    quality = card.quality
    spread = quality.spread
    if spread is not None and spread.mode is not None and spread.mode_share is not None:
        text = f"Most frequent score: {spread.mode:g} ({share(spread.mode_share)} of {spread.n})"
        if spread.relative_entropy is not None:
            text += f"; entropy: {share(spread.relative_entropy)} of the maximum"
        yield text
    if quality.counts:
        yield "Choices: " + ", ".join(f"{choice} {n}" for choice, n in quality.counts.items())
    if quality.sample_sd is not None:
        yield f"Standard deviation of repeated samples within items: {number(quality.sample_sd)}"
    if quality.retest is not None:
        yield from _retest_lines(quality.retest)
    if quality.minimum_detectable is not None and len(quality.failures) > 1:
        yield (
            "Smallest detectable difference between two systems (80 % power): "
            f"{number(quality.minimum_detectable)}"
        )
    if card.informative_failures is not None:
        yield from _failure_lines(card.informative_failures)
    if card.confidence is not None:
        yield f"Calibration error of the stated confidence: {interval(card.confidence.error)}"
    if card.probabilities is not None:
        yield probability_line(card.probabilities)


def _failure_lines(failures: InformativeFailures) -> Iterator[str]:
    """People's labels where the judge failed, and where it did not."""
    failed, others, difference = failures.failed, failures.others, failures.difference
    why = f" ({difference.reason})" if difference.reason else ""
    yield (
        f"Mean label of items on which the judge failed: {interval(failed)} (n={failed.n}), of the others "
        f"{interval(others)} (n={others.n}); difference {interval(difference, is_difference=True)}{why}"
    )
    if failures.imputed.value is not None:
        yield f"The judge's mean with failures imputed from labels: {interval(failures.imputed)}"


def _retest_lines(retest: Retest) -> Iterator[str]:
    """Test-retest reliability of the scores."""
    if retest.within is None or retest.between is None:
        yield f"Test-retest reliability: {NO_VALUE} ({retest.single.reason})"
        return
    why = retest.single.reason
    yield (
        f"Test-retest reliability (ICC, {count(retest.n_items, 'item')}): one sample "
        f"{interval(retest.single)}, mean of all samples {interval(retest.mean)}; variance within "
        f"items {number(retest.within)}, between items {number(retest.between)}" + (f": {why}" if why else "")
    )
