"""A baseline that costs nothing: labels predicted from words and length of the texts, beside the judge.

Each label is predicted from the others in three ways: by their mean, by a ridge regression on words and
length, and by a line through the judge's scores. A judge that predicts no better than the regression adds
nothing to the labels. For pairs, the regression and the judge choose, and the share of equal choices counts.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

from ...records import Estimate
from ...stats import constant_baseline, mean_interval, score_baseline, text_baseline
from ..labels.labelled import LabelledItem, LabelledTable, numbers
from ..run_view.result_facts import as_number
from ..run_view.run_view import Texts
from .card import TextBaseline

MOST_TEXTS = 1000
"""Labelled items of which the texts are kept."""


def with_text(items: Sequence[str]) -> set[str]:
    """The labelled items of which the texts are read: at most `MOST_TEXTS`, by a hash of their ids."""
    return set(sorted(set(items), key=lambda item: (zlib.crc32(item.encode()), item))[:MOST_TEXTS])


def baseline_of(table: LabelledTable, texts: Texts) -> TextBaseline | None:
    """None without texts, for classes, and with fewer than 20 labelled items (or groups) with an answer."""
    if table.classes:
        return None
    rows = [row for row in table.labelled() if row.answer is not None and row.item in texts]
    shown = [_shown(row, texts[row.item]) for row in rows]
    width = 2 if table.kind == "choices" else 1
    rows, shown = (
        [row for row, texts_of in zip(rows, shown, strict=True) if len(texts_of) == width],
        [texts_of for texts_of in shown if len(texts_of) == width],
    )
    if not rows:
        return None
    groups = table.groups(rows)
    labels = [as_number(row.label) for row in rows if row.label is not None]
    predicted = text_baseline(
        [texts_of[0] for texts_of in shown],
        labels,
        against=[texts_of[1] for texts_of in shown] if width == 2 else None,
        clusters=groups,
    )
    if predicted is None:
        return None
    kept = [place for place, value in enumerate(predicted) if value is not None]
    of_kept = [rows[place] for place in kept]
    values = [value for value in predicted if value is not None]
    return (_of_choices if width == 2 else _of_scores)(table, of_kept, values)


def _shown(row: LabelledItem, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The text that a score is about: of a pair, the response of its side."""
    if row.subject is not None and len(texts) == 2:
        return (texts[0 if row.subject == "a" else 1],)
    return texts


def _of_scores(
    table: LabelledTable, rows: Sequence[LabelledItem], regression: Sequence[float]
) -> TextBaseline | None:
    groups = table.groups(rows)
    labels = [label for label in numbers(row.label for row in rows) if label is not None]
    by_judge = score_baseline(numbers(row.answer for row in rows), labels, groups)
    if by_judge is None:
        return None
    of_judge, of_regression, of_constant = (
        [(value - label) ** 2 for value, label in zip(made, labels, strict=True) if value is not None]
        for made in (by_judge, regression, constant_baseline(labels, groups))
    )
    variance = math.fsum(of_constant) / len(of_constant)
    if variance <= 0:
        return None
    gained = [(other - judge) / variance for other, judge in zip(of_regression, of_judge, strict=True)]
    name = "share of the labels' variance that the judge explains more than a regression on words and length"
    return TextBaseline(
        judge=1 - math.fsum(of_judge) / len(labels) / variance,
        regression=1 - math.fsum(of_regression) / len(labels) / variance,
        lead=mean_interval(gained, groups, name=name),
    )


def _of_choices(
    table: LabelledTable, rows: Sequence[LabelledItem], regression: Sequence[float]
) -> TextBaseline:
    """The regression chooses the response that it predicts to win."""
    chosen = ["a" if value >= 0.5 else "b" for value in regression]
    of_judge = [float(row.answer == row.label) for row in rows]
    of_regression = [float(answer == row.label) for answer, row in zip(chosen, rows, strict=True)]
    gained = [judge - other for judge, other in zip(of_judge, of_regression, strict=True)]
    lead: Estimate = mean_interval(
        gained,
        table.groups(rows),
        limits=(-1.0, 1.0),
        name="exact agreement of the judge − of the regression",
    )
    n = len(rows)
    return TextBaseline(math.fsum(of_judge) / n, math.fsum(of_regression) / n, lead)
