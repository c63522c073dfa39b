"""A mean corrected with labels and with several judges, each with a slope that the labels give it.

The generalised regression estimator (Särndal, Swensson and Wretman 1992): judges whose errors differ explain
more of the labels together than their mean does. The slopes are held out label by label (`regression`), so
that more judges do not flatter the interval. With few labels for each judge, the mean of the panel is the one
covariate.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import structs

from .arrays import Numbers, floats, is_constant, label_codes, same_length
from .ppi import Corrected, as_estimate, is_thin, ppi_mean, worth
from .regression_mean import fit

LABELS_PER_JUDGE = 10
"""Labels, or groups of them, for each judge from which it has its own slope."""


def has_slopes(labels: Numbers, n_judges: int, clusters: Sequence[Hashable] | None = None) -> bool:
    """Whether the labels give each judge of a panel a separate slope."""
    import numpy as np

    known = ~np.isnan(floats(labels))
    units = np.flatnonzero(known) if clusters is None else label_codes(clusters)[0][known]
    return len(np.unique(units)) >= LABELS_PER_JUDGE * n_judges and not bool(known.all())


def ppi_panel(
    labels: Numbers,
    judges: Sequence[Numbers],
    *,
    clusters: Sequence[Hashable] | None = None,
    probabilities: Numbers | None = None,
    limits: tuple[float, float] | None = None,
    is_finite: bool = False,
    pooled: Numbers | None = None,
) -> Corrected:
    """The mean of people's scores over all items; `judges` has the scores of each judge, none where it
    failed.

    The judge alone, and the bias, are those of `pooled`, which the panel has decided; default: its mean.
    """
    import numpy as np

    same_length(labels, *judges, clusters, probabilities, pooled)
    y, scores = floats(labels), np.column_stack([floats(judge) for judge in judges])
    is_silent = np.isnan(scores).all(axis=1)
    means = np.where(
        is_silent, np.nan, np.nansum(scores, axis=1) / np.maximum(1, (~np.isnan(scores)).sum(axis=1))
    )
    what = "mean" if pooled is None else "score"
    as_one = ppi_mean(
        labels, means.tolist() if pooled is None else pooled, clusters=clusters, probabilities=probabilities,
        limits=limits, name=f"PPI++ mean with the {what} of the panel", is_finite=is_finite,
    )  # fmt: skip
    known = ~np.isnan(y)
    groups, n_groups = (None, 0) if clusters is None or is_finite else label_codes(clusters)
    is_each = has_slopes(labels, len(judges), None if is_finite else clusters)
    if as_one.power is None or is_constant(y[known]) or not is_each:
        return as_one
    drawn = None if probabilities is None else floats(probabilities)
    fitted = fit(y, scores, groups, drawn, is_finite=is_finite)
    if fitted is None:
        return as_one
    name = f"PPI++ mean with {len(judges)} judges, lambda = {fitted.power:.3g} in all"
    unit = "label" if groups is None else f"group (n={n_groups})"
    corrected = as_estimate(fitted, name, unit, int(is_silent.sum()), limits)
    effective = worth(corrected, as_one.labels_only, len(y))
    return structs.replace(
        as_one, corrected=corrected, power=fitted.power, effective_labels=effective, is_thin=is_thin(fitted)
    )
