"""Scores of items that belong to inputs and to systems: a coefficient at three levels, and its resamples.

Inputs are groups (documents, prompts), or single items where there are no groups. What is undefined
is NaN in here. Two judges with the same items and seed get the same resamples, so that their
difference is a paired one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .arrays import Numbers, codes, floats, same_length, scaled
from .coefficients import Kind, rows, single, weighted
from .resample import Resample, blocks, draw, draw_cells, generator

if TYPE_CHECKING:
    from numpy.random import Generator

    from .arrays import Codes, Floats

Level = Literal["item", "group", "system"]

_FEW_CELLS = 8
"""Items per distinct pair of values from which drawing from the pairs is faster."""


class Pairs(NamedTuple):
    """The items that both sides scored, one after the other, with the input and the system of each."""

    x: Floats
    y: Floats
    inputs: Codes
    systems: Codes
    n_inputs: int
    n_systems: int
    n_missing: int
    has_groups: bool
    has_systems: bool


def pairs(
    judge: Numbers,
    human: Numbers,
    groups: Sequence[Hashable] | None = None,
    systems: Sequence[Hashable] | None = None,
) -> Pairs:
    """Judge and people side by side; without groups each item is an input of its own."""
    import numpy as np

    same_length(judge, human, groups, systems)
    x, y = floats(judge), floats(human)
    kept = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
    known = kept.tolist()
    rows_, n_rows = (np.arange(len(kept)), len(kept)) if groups is None else codes([groups[i] for i in known])
    labels: Sequence[Hashable] = ["all"] * len(kept) if systems is None else [systems[i] for i in known]
    columns, n_columns = codes(labels)
    missing = len(x) - len(kept)
    has = groups is not None, systems is not None
    return Pairs(x[kept], y[kept], rows_, columns, n_rows, n_columns, missing, *has)


def value(data: Pairs, kind: Kind, level: Level) -> tuple[float | None, int, int]:
    """The coefficient, how many items, groups or systems it rests on, and how many have none."""
    import numpy as np

    if level == "group":
        each = by_group(data, kind)
        used = each[~np.isnan(each)]
        return _number(used.mean()) if len(used) else None, len(used), len(each) - len(used)
    if level == "system" and data.n_systems < 2:
        return None, data.n_systems, data.n_missing
    if level == "system":
        x, y = _system_means(data, np.ones((data.n_inputs, 1)))
        return _number(rows(x[0], y[0], kind)), data.n_systems, data.n_missing
    return single(data.x, data.y, kind), len(data.x), data.n_missing


def _number(found: Any) -> float | None:
    number = float(found)
    return None if number != number else number


def by_group(data: Pairs, kind: Kind) -> Floats:
    """The correlation within each group, NaN where it has none."""
    import numpy as np

    if not data.has_groups:
        return np.empty(0)
    return rows(*tables(data), kind)


def tables(data: Pairs) -> tuple[Floats, Floats]:
    """Both sides as inputs × systems, or × places where there are no systems; NaN where there is no item."""
    import numpy as np

    if data.has_systems:
        columns, width = data.systems, data.n_systems
    else:
        columns = _places(data.inputs)
        width = int(columns.max(initial=-1)) + 1
    cells = data.inputs * width + columns
    shape = data.n_inputs, width
    counts = np.bincount(cells, minlength=data.n_inputs * width)
    with np.errstate(all="ignore"):
        x, y = (
            (np.bincount(cells, weights=side, minlength=data.n_inputs * width) / counts).reshape(shape)
            for side in (data.x, data.y)
        )
    return x, y


def stacked(data: Pairs, columns: Floats, kind: Kind, level: Level) -> Floats:
    """The coefficient for each of many judges of the same items: judges × items."""
    import numpy as np

    if level == "item":
        if kind == "kendall":
            found = [single(column, data.y, kind) for column in columns]
            return np.array([np.nan if one is None else one for one in found])
        return rows(columns, np.broadcast_to(data.y, columns.shape), kind)
    if level == "system":
        of_system = [data.systems == system for system in range(data.n_systems)]
        x = np.stack([np.round(columns[:, own].mean(axis=1), 12) for own in of_system], axis=1)
        y = np.array([np.round(data.y[own].mean(), 12) for own in of_system])
        return rows(x, np.broadcast_to(y, x.shape), kind)
    both = [tables(data._replace(x=column)) for column in columns]
    each = rows(np.stack([x for x, _ in both]), np.stack([y for _, y in both]), kind)
    return _mean_by_counts(each, np.ones(each.shape))


def _places(inputs: Codes) -> Codes:
    """0, 1, 2, … within each input."""
    import numpy as np

    order = np.argsort(inputs, kind="stable")
    ordered = inputs[order]
    starts = np.searchsorted(ordered, ordered)
    places = np.empty(len(inputs), dtype=np.int64)
    places[order] = np.arange(len(inputs)) - starts
    return places


def _system_means(data: Pairs, counts: Floats) -> tuple[Floats, Floats]:
    """The systems' means where the inputs count as often as given: resamples × systems, NaN where empty."""
    import numpy as np

    by_system = [np.flatnonzero(data.systems == system) for system in range(data.n_systems)]
    n = np.stack([counts[data.inputs[kept]].sum(axis=0) for kept in by_system], axis=1)
    sides = []
    with np.errstate(all="ignore"):
        for side in (scaled(data.x), scaled(data.y)):
            sums = [np.einsum("ib,i->b", counts[data.inputs[kept]], side[kept]) for kept in by_system]
            # Means of the same scores must be equal whatever the order of the sum.
            sides.append(np.round(np.stack(sums, axis=1) / n, 12))
    return sides[0], sides[1]


def replicates(
    data: Pairs,
    kind: Kind,
    level: Level,
    resample: Resample,
    n_resamples: int,
    seed: int,
    *,
    is_alone: bool = True,
) -> Floats | None:
    """The coefficient in each resample; none where it cannot be resampled.

    `is_alone=False` draws the same items for every judge of the same items.
    """
    import numpy as np

    rng = generator(seed)
    if level == "item":
        return _item_replicates(data, kind, resample, n_resamples, rng, is_alone)
    of_level = _group_replicates if level == "group" else _system_replicates
    return np.concatenate(list(of_level(data, kind, resample, n_resamples, rng)))


def _group_replicates(
    data: Pairs, kind: Kind, resample: Resample, n_resamples: int, rng: Generator
) -> Iterator[Floats]:
    import numpy as np

    if resample == "inputs":
        each = by_group(data, kind)
        for size in blocks(n_resamples, len(each)):
            yield _mean_by_counts(each[None, :], draw(rng, len(each), size).T)
        return
    x, y = tables(data)
    for size in blocks(n_resamples, x.size):
        picked = rng.integers(0, data.n_systems, size=(size, data.n_systems))
        counts = draw(rng, data.n_inputs, size).T if resample == "both" else np.ones((size, data.n_inputs))
        each = rows(np.moveaxis(x[:, picked], 0, 1), np.moveaxis(y[:, picked], 0, 1), kind)
        yield _mean_by_counts(each, counts)


def _system_replicates(
    data: Pairs, kind: Kind, resample: Resample, n_resamples: int, rng: Generator
) -> Iterator[Floats]:
    import numpy as np

    for size in blocks(n_resamples, max(data.n_inputs, len(data.x))):
        counts = np.ones((data.n_inputs, size)) if resample == "systems" else draw(rng, data.n_inputs, size)
        x, y = _system_means(data, counts)
        if resample != "inputs":
            picked = rng.integers(0, data.n_systems, size=(size, data.n_systems))
            x, y = np.take_along_axis(x, picked, axis=1), np.take_along_axis(y, picked, axis=1)
        yield rows(x, y, kind)


def _mean_by_counts(each: Floats, counts: Floats) -> Floats:
    """The mean over groups that have a value, each as often as it was drawn."""
    import numpy as np

    is_defined = ~np.isnan(each)
    with np.errstate(all="ignore"):
        total: Floats = (np.where(is_defined, each, 0) * counts).sum(axis=1) / (is_defined * counts).sum(
            axis=1
        )
    return total


def _item_replicates(
    data: Pairs, kind: Kind, resample: Resample, n_resamples: int, rng: Generator, is_alone: bool
) -> Floats | None:
    import numpy as np

    x, y, sizes = data.x, data.y, None
    if is_alone and resample == "inputs" and not data.has_groups:
        cells, counted = np.unique(np.stack([x, y], axis=1), axis=0, return_counts=True)
        # Items that stand alone may be drawn in any order, and a sorted side need not be gathered.
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
        if len(cells) * _FEW_CELLS <= len(x):
            x, y, sizes = cells[:, 0], cells[:, 1], counted.astype(np.float64)
    found = weighted(x, y, kind)
    if found is None:
        return None
    parts = []
    for size in blocks(n_resamples, len(x)):
        if sizes is not None:
            parts.append(found(draw_cells(rng, sizes, size)))
            continue
        counts = draw(rng, data.n_inputs, size) if resample != "systems" else None
        if counts is not None and data.has_groups:
            counts = counts[data.inputs]
        if resample != "inputs":
            by_system = draw(rng, data.n_systems, size)[data.systems]
            counts = by_system if counts is None else counts * by_system
        assert counts is not None
        parts.append(found(counts))
    return np.concatenate(parts)
