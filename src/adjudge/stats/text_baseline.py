"""A baseline that costs nothing: people's labels predicted from words and length, without a judge.

Ridge regression on the words of each text (weighted by how rare they are) and on its length; for pairs, on
the difference of the two texts. Each label is predicted without it, and without the labels of its group; the
strength of the ridge is chosen by generalised cross-validation (Golub, Heath and Wahba 1979). A judge that
does not beat this adds nothing to the labels.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from .arrays import Numbers, floats, label_codes, same_length
from .resample import generator

if TYPE_CHECKING:
    from .arrays import Codes, Floats

FEWEST = 20
"""Labelled items, or groups of them, from which the baseline is fitted."""
_STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
_MOST_LABELS = 400
"""Labels that are used, drawn at random: a fit takes the cube of their number."""
_MOST_WORDS = 2000
_MOST_CHARACTERS = 20_000
"""Of a text that are read for words."""
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff]+")
"""Chinese and Japanese are written without spaces: each character is a word."""


def text_baseline(
    texts: Sequence[str],
    labels: Numbers,
    *,
    against: Sequence[str] | None = None,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> list[float | None] | None:
    """The label of each text as words and length predict it, from the labels of others; none where there are
    too few.

    `against` are the second texts of pairs. Items without a label have no prediction.
    """
    import numpy as np

    same_length(texts, labels, against, clusters)
    y = floats(labels)
    known = np.flatnonzero(~np.isnan(y))
    if len(known) > _MOST_LABELS:
        known = np.sort(generator(seed).permutation(known)[:_MOST_LABELS])
    places = known.tolist()
    groups = places if clusters is None else [clusters[place] for place in places]
    codes, n_units = label_codes(groups)
    if n_units < FEWEST or bool((y[known] == y[known[0]]).all()):
        return None
    sides = [[side[place] for place in places] for side in (texts, against) if side is not None]
    predicted = np.full(len(y), np.nan)
    predicted[known] = _held_out(_features(sides), y[known], codes)
    return [None if math.isnan(value) else value for value in predicted.tolist()]


def score_baseline(
    scores: Numbers, labels: Numbers, clusters: Sequence[Hashable] | None = None
) -> list[float | None] | None:
    """The label of each item as a line through the judge's scores predicts it, from the labels of others."""
    import numpy as np

    same_length(scores, labels, clusters)
    f, y = floats(scores), floats(labels)
    known = np.flatnonzero(~np.isnan(y) & ~np.isnan(f))
    places = known.tolist()
    codes, n_units = label_codes(places if clusters is None else [clusters[place] for place in places])
    if n_units < FEWEST or bool((y[known] == y[known[0]]).all()):
        return None
    column = f[known] - f[known].mean()
    predicted = np.full(len(y), np.nan)
    predicted[known] = _held_out((column / (column.std() or 1.0))[:, None], y[known], codes)
    return [None if math.isnan(value) else value for value in predicted.tolist()]


def constant_baseline(labels: Numbers, clusters: Sequence[Hashable] | None = None) -> list[float]:
    """The label of each item as the mean of the labels of others (of other groups) predicts it."""
    import numpy as np

    y = floats(labels)
    codes, n_units = label_codes(range(len(y)) if clusters is None else clusters)
    sums, sizes = np.bincount(codes, weights=y), np.bincount(codes)
    if n_units < 2:
        return [float(y.mean())] * len(y)
    of_others: list[float] = ((sums.sum() - sums) / (sizes.sum() - sizes))[codes].tolist()
    return of_others


def _features(sides: Sequence[Sequence[str]]) -> Floats:
    """Weighted words and the length of each text; of pairs the difference of both."""
    import numpy as np

    texts = [text for side in sides for text in side]
    counts = [Counter(word.lower() for word in _WORD.findall(text[:_MOST_CHARACTERS])) for text in texts]
    in_texts = Counter(word for words in counts for word in words)
    frequent = [word for word, n in in_texts.most_common(_MOST_WORDS) if n > 1]
    place = {word: number for number, word in enumerate(frequent)}
    rows = np.zeros((len(texts), len(place) + 1))
    for row, words in zip(rows, counts, strict=True):
        for word, n in words.items():
            if word in place:
                row[place[word]] = (1 + math.log(n)) * math.log(len(texts) / in_texts[word] + 1)
    rows /= np.maximum(np.sqrt((rows**2).sum(axis=1, keepdims=True)), 1e-12)
    lengths = np.log1p([len(text) for text in texts])
    rows[:, -1] = (lengths - lengths.mean()) / (lengths.std() or 1.0)
    if len(sides) == 1:
        return rows
    difference: Floats = rows[: len(sides[0])] - rows[len(sides[0]) :]
    return difference


def _held_out(features: Floats, y: Floats, codes: Codes) -> Floats:
    """The prediction of each label by the fit without its group, in closed form from the fit of all.

    With e the residuals of all and H the matrix that turns labels into predictions, the residuals of a group
    that was left out are (I - H of the group)^-1 e of the group.
    """
    import numpy as np

    around, target = features - features.mean(axis=0), y - y.mean()
    values, vectors = np.linalg.eigh(around @ around.T)
    values = np.maximum(values, 0.0)
    size = float(values.mean())
    turned = vectors.T @ target

    def left(strength: float) -> Floats:
        """The share of each direction that the ridge takes away."""
        taken: Floats = strength * size / (values + strength * size) if size > 0 else np.ones(len(values))
        return taken

    def error(strength: float) -> float:
        return float(((left(strength) * turned) ** 2).sum()) / float(left(strength).sum()) ** 2

    kept = 1 - left(min(_STRENGTHS, key=error))
    hat = (vectors * kept) @ vectors.T + 1 / len(y)
    residuals = y - hat @ y
    predicted = np.empty(len(y))
    for members in np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1]):
        block = np.eye(len(members)) - hat[np.ix_(members, members)]
        predicted[members] = y[members] - np.linalg.solve(block, residuals[members])
    return predicted
