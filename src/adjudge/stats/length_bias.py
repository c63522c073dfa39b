"""Length bias: win rates at equal length.

    logit P(i beats j) = strength of i - strength of j + gamma x (length difference)

As in length-controlled AlpacaEval (Dubois et al. 2024), the difference of lengths is fitted as a feature, and
win rates are predicted with the difference set to 0. A tie is half a win. Lengths are divided by the root
mean square of their differences, so gamma is per typical difference; they are not centred, because 0 must
stay "equally long".

Where all systems play against one and the same system, the baseline, each prompt also has a difficulty:

    logit P(i beats the baseline on x) = strength of i + gamma x tanh(length difference) + difficulty of x
    difficulty of x ~ normal(beta x (mean of tanh(length difference) on x), tau)

On a hard prompt every system loses to the baseline, and the baseline is often the longer there: without the
term, gamma takes that for an effect of length. A difficulty that may go with the lengths (Mundlak 1978)
leaves to gamma what differs between responses to one prompt. tanh, as in AlpacaEval, keeps a few very long
responses from deciding.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from ..records import Estimate
from .arrays import Interval, Numbers, floats, make_estimate, no_interval, t_quantile, undefined
from .connected import components
from .games import Games, win_matrix

if TYPE_CHECKING:
    from .arrays import Codes, Floats


_STEPS = 60
_BEYOND = 30.0
_LEAST_WITHIN = 0.1
"""With less of the variation of lengths than this within pairs of systems, length and system are one and the
same."""
_LITTLE_WITHIN = 0.3
_TINY = 1e-9
"""Half an interval below this is rounding: the games agree with the fit to the last digit, and say nothing of
others."""
_NO_VARIANCE = "the games leave no variance"


class LengthControl(Struct, frozen=True):
    """How length moves the judge, and what each system wins at equal length."""

    coefficient: Estimate
    """change of the log odds per typical difference of lengths; above 0 the longer response wins more
    often"""
    typical_difference: float | None
    """the root mean square of the differences, in the unit they were given in"""
    win_rates: tuple[Estimate, ...]
    """by system: the mean over its games of the chance to win, were both responses equally long"""
    differences: tuple[float | None, ...]
    """by system: how much longer its responses are than its opponents', on the mean"""
    difficulty_sd: float | None = None
    """standard deviation of the prompts' difficulty on log odds; none where the model has no difficulty"""


class _Fit(NamedTuple):
    strength: Floats
    gamma: float
    covariance: Floats
    """HC0, clustered; systems, then gamma"""


def length_controlled(games: Games, differences: Numbers) -> LengthControl:
    """The win rates at equal length; `differences` are length of the first - length of the second, game by
    game."""
    import numpy as np

    lengths = floats(differences)
    if len(lengths) != games.n:
        raise ValueError(f"{len(lengths)} differences for {games.n} games")
    kept = ~np.isnan(lengths)
    known = Games(
        games.first[kept], games.second[kept], games.share[kept],
        np.unique(games.cluster[kept], return_inverse=True)[1], games.n_systems,
    )  # fmt: skip
    x = lengths[kept]
    typical = float(np.sqrt(np.mean(x**2))) if len(x) else 0.0
    means = _mean_differences(known, x)
    unexplained = _unexplained_share(known, x)
    why = _unfit(known, typical, unexplained)
    by_prompt = None if why else _with_difficulty(known, x, typical, games.n - known.n)
    if by_prompt is not None:
        return LengthControl(
            by_prompt.coefficient, typical, by_prompt.win_rates, means, by_prompt.difficulty_sd
        )
    fitted = None if why else _fit(known, x / typical)
    if fitted is None:
        missing = undefined(
            why or "length decides the games: no estimate exists", n=known.n, n_undefined=games.n - known.n
        )
        return LengthControl(missing, typical or None, (missing,) * games.n_systems, means)
    z = t_quantile(known.n_clusters - 1) * math.sqrt(known.n_clusters / (known.n_clusters - 1))
    se = math.sqrt(max(0.0, float(fitted.covariance[-1, -1])))
    unit = "game" if known.n_clusters == known.n else f"group (n={known.n_clusters})"
    n_left_out = games.n - known.n
    coefficient = _coefficient(fitted.gamma, z * se, known.n, n_left_out, unit)
    cautions = []
    if unexplained < _LITTLE_WITHIN:
        cautions.append(
            f"{1 - unexplained:.0%} of the variation in length is between systems: equal length is far from"
            " the data"
        )
    rates = tuple(_rate(known, fitted, i, z, unit, n_left_out, cautions) for i in range(games.n_systems))
    return LengthControl(coefficient, typical, rates, means)


def _coefficient(
    gamma: float, half: float, n: int, n_left_out: int, unit: str, name: str = "logistic regression"
) -> Estimate:
    interval = Interval(gamma - half, gamma + half, ", HC0 sandwich t interval")
    if half < _TINY:
        interval = no_interval(_NO_VARIANCE)
    return make_estimate(gamma, interval, name, n=n, n_undefined=n_left_out, unit=unit)


def _unexplained_share(games: Games, x: Floats) -> float:
    """The share of the variation of lengths that the systems do not explain: 1 - R² of a fit by the systems
    alone."""
    import numpy as np

    total = float((x**2).sum())
    if total == 0:
        return 0.0
    design = np.zeros((games.n_systems, games.n_systems))
    np.add.at(design, (games.first, games.first), 1)
    np.add.at(design, (games.second, games.second), 1)
    np.add.at(design, (games.first, games.second), -1)
    np.add.at(design, (games.second, games.first), -1)
    sums = np.bincount(games.first, weights=x, minlength=games.n_systems)
    sums -= np.bincount(games.second, weights=x, minlength=games.n_systems)
    explained = float(sums @ np.linalg.pinv(design) @ sums)
    return max(0.0, 1 - explained / total)


def _unfit(games: Games, typical: float, unexplained: float) -> str:
    if games.n == 0:
        return "no lengths are known"
    if typical == 0:
        return "all compared responses have the same length"
    if games.n_clusters < 3:
        return "too few games"
    if unexplained < _LEAST_WITHIN:
        return "the systems differ in length so consistently that length and system are confounded"
    if len(components(win_matrix(games))) > 1:
        return (
            "not all strengths exist, because a system never won or never lost, or because no chain of wins"
            " joins them"
        )
    return ""


def _fit(games: Games, x: Floats) -> _Fit | None:
    """Newton's method; none where it runs away, because length or a system decides everything."""
    import numpy as np
    from scipy.sparse import coo_array

    k, n = games.n_systems, games.n
    point = np.zeros(k + 1)
    rows = np.tile(np.arange(n), 3)
    columns = np.concatenate([games.first, games.second, np.full(n, k)])
    design = coo_array(
        (np.concatenate([np.ones(n), -np.ones(n), x]), (rows, columns)), shape=(n, k + 1)
    ).tocsr()
    for _ in range(_STEPS):
        share = 1 / (1 + np.exp(-np.clip(design @ point, -500, 500)))
        missed = games.share - share
        curve = (design.T @ (design * (share * (1 - share))[:, None])).toarray()
        curve[:k, :k] += 1 / k
        if np.linalg.cond(curve) > 1e12:
            return None
        step = np.linalg.solve(curve, design.T @ missed)
        longest = float(np.abs(step).max())
        point += step * min(1.0, 2.0 / max(longest, 1e-300))
        if float(np.abs(point).max()) > _BEYOND:
            return None
        if longest < 1e-10:
            break
    else:
        return None
    inverse = np.linalg.inv(curve)
    clusters = coo_array((np.ones(n), (games.cluster, np.arange(n))), shape=(games.n_clusters, n)).tocsr()
    slopes = clusters @ (design * missed[:, None])
    meat = (slopes.T @ slopes).toarray()
    return _Fit(point[:k], float(point[k]), inverse @ meat @ inverse)


def _rate(
    games: Games, fitted: _Fit, system: int, z: float, unit: str, n_left_out: int, cautions: list[str]
) -> Estimate:
    """The mean chance of one system against the opponents that it had; the interval by the delta method on
    log odds."""
    import numpy as np

    others = np.concatenate([games.second[games.first == system], games.first[games.second == system]])
    if not len(others):
        return undefined("it has no games of known lengths", n_undefined=n_left_out)
    met = np.bincount(others, minlength=games.n_systems) / len(others)
    chance = 1 / (1 + np.exp(-(fitted.strength[system] - fitted.strength)))
    rate = float(met @ chance)
    slope = np.zeros(games.n_systems + 1)
    slope[:-1] = -met * chance * (1 - chance)
    slope[system] += float(met @ (chance * (1 - chance)))
    on_odds = slope / (rate * (1 - rate))
    half = z * math.sqrt(max(0.0, float(on_odds @ fitted.covariance @ on_odds)))
    name = "win rate at equal length, logistic regression"
    interval = no_interval(_NO_VARIANCE)
    if half >= _TINY:
        middle = math.log(rate / (1 - rate))
        low, high = (1 / (1 + math.exp(-(middle + side * half))) for side in (-1, 1))
        interval = Interval(low, high, ", HC0 sandwich t interval on log odds")
    return make_estimate(
        rate, interval, name, n=len(others), n_undefined=n_left_out, unit=unit, cautions=cautions
    )


# -- length control with the difficulty of the prompts

_FEWEST_PROMPTS = 20
"""With fewer prompts than this, the spread of their difficulty is not known well enough."""
_NODES = 41
_FARTHEST = 5.0
"""The difficulty is integrated over so many standard deviations on both sides; with so many nodes the sum is
exact."""
_NEWTON_STEPS = 100
_BLOCK = 1 << 22
"""Numbers that one block of prompts may take: 32 megabytes."""


class _ByPrompt(NamedTuple):
    coefficient: Estimate
    win_rates: tuple[Estimate, ...]
    difficulty_sd: float


class _BaselineGames(NamedTuple):
    """Games against the baseline, by prompt."""

    share: Floats
    """what the other system took"""
    system: Codes
    """the other systems as 0, 1, 2, …"""
    length: Floats
    prompt_length: Floats
    """mean length feature of the prompt, centred"""
    prompt: Codes
    """0, 1, 2, … in ascending order"""
    n_systems: int

    @property
    def n_parameters(self) -> int:
        """A strength for each system, then gamma, beta and tau."""
        return self.n_systems + 3


class _Marginal(NamedTuple):
    log_likelihood: float
    scores: Floats
    """prompts × parameters"""
    information: Floats


def _with_difficulty(games: Games, x: Floats, typical: float, n_left_out: int) -> _ByPrompt | None:
    """The win rates at equal length with a difficulty of each prompt; none where the games do not identify
    it."""
    import numpy as np

    data = _baseline_games(games, np.tanh(x / typical))
    if data is None:
        return None
    of_baseline, played = data
    point, fitted = _newton(played)
    if fitted is None:
        return None
    inverse = np.linalg.pinv(fitted.information, rcond=1e-12, hermitian=True)
    influence = fitted.scores @ inverse
    n_prompts = len(influence)
    factor = t_quantile(n_prompts - 1) * math.sqrt(n_prompts / (n_prompts - 1))
    unit = f"group (n={n_prompts})"
    half = factor * math.sqrt(float((influence[:, played.n_systems] ** 2).sum()))
    coefficient = _coefficient(
        float(point[played.n_systems]),
        half,
        games.n,
        n_left_out,
        unit,
        "logistic regression with prompt difficulty",
    )
    chances, slopes = _chances(played, point)
    others = [system for system in range(games.n_systems) if system != of_baseline]
    rates: list[Estimate] = []
    for system in range(games.n_systems):
        is_baseline = system == of_baseline
        kept = np.ones(games.n, dtype=bool) if is_baseline else played.system == others.index(system)
        own = 1 - chances[kept] if is_baseline else chances[kept]
        rate = float(own.mean())
        by_prompt = np.bincount(played.prompt[kept], weights=own - rate, minlength=n_prompts) / len(own)
        slope = slopes[kept].mean(axis=0) * (-1 if is_baseline else 1)
        error = math.sqrt(float(((by_prompt + influence @ slope) ** 2).sum()))
        rates.append(_rate_estimate(rate, factor * error, len(own), n_left_out, unit))
    return _ByPrompt(coefficient, tuple(rates), _difficulty_sd(played, point))


def _difficulty_sd(games: _BaselineGames, point: Floats) -> float:
    """The spread of the prompts' difficulty: what goes with their lengths, and the rest."""
    import numpy as np

    _, at = np.unique(games.prompt, return_index=True)
    by_length = float(np.mean((point[games.n_systems + 1] * games.prompt_length[at]) ** 2))
    return math.sqrt(by_length + float(point[-1]) ** 2)


def _baseline_games(games: Games, feature: Floats) -> tuple[int, _BaselineGames] | None:
    """The baseline and the games against it; none without one, or where prompts do not have several games."""
    import numpy as np

    k = games.n_systems
    played = np.bincount(games.first, minlength=k) + np.bincount(games.second, minlength=k)
    if k < 3 or (played == games.n).sum() != 1 or (played == 0).any() or games.n_clusters < _FEWEST_PROMPTS:
        return None
    baseline = int(np.argmax(played))
    is_turned = games.first == baseline
    order = np.argsort(games.cluster, kind="stable")
    share = np.where(is_turned, 1 - games.share, games.share)[order]
    length = np.where(is_turned, -feature, feature)[order]
    other = np.where(is_turned, games.second, games.first)[order]
    system = other - (other > baseline)
    prompt = games.cluster[order]
    sizes = np.bincount(prompt)
    of_prompt = np.bincount(prompt, weights=length) / sizes
    within = length - of_prompt[prompt]
    of_system = np.bincount(system, weights=within) / np.bincount(system)
    own = float(((within - of_system[system]) ** 2).sum())
    if own < _LEAST_WITHIN * float(((length - length.mean()) ** 2).sum()):
        return None
    return baseline, _BaselineGames(
        share, system, length, (of_prompt - of_prompt.mean())[prompt], prompt, k - 1
    )


def _rate_estimate(rate: float, half: float, n: int, n_left_out: int, unit: str) -> Estimate:
    """A win rate with the interval of `half` its width, carried over to log odds."""
    interval = no_interval(_NO_VARIANCE)
    if half >= _TINY:
        on_odds, middle = half / (rate * (1 - rate)), math.log(rate / (1 - rate))
        low, high = (1 / (1 + math.exp(-(middle + side * on_odds))) for side in (-1, 1))
        interval = Interval(low, high, ", cluster-robust t interval on log odds")
    name = "win rate at equal length, logistic regression with prompt difficulty"
    return make_estimate(rate, interval, name, n=n, n_undefined=n_left_out, unit=unit)


def _nodes() -> tuple[Floats, Floats]:
    """Where the standardised difficulty is evaluated, and the log of each weight."""
    import numpy as np

    nodes = np.linspace(-_FARTHEST, _FARTHEST, _NODES)
    weights = np.exp(-(nodes**2) / 2)
    return nodes, np.log(weights / weights.sum())


def _logits(games: _BaselineGames, point: Floats) -> Floats:
    """The log odds of each game at a difficulty of 0."""
    k = games.n_systems
    logits: Floats = point[games.system] + point[k] * games.length + point[k + 1] * games.prompt_length
    return logits


def _newton(games: _BaselineGames) -> tuple[Floats, _Marginal | None]:
    """The most likely parameters; none where the search runs away, because length or a system decides
    everything."""
    import numpy as np

    point = np.zeros(games.n_parameters)
    point[-1] = 1.0
    here = _marginal(games, point)
    for _ in range(_NEWTON_STEPS):
        values, vectors = np.linalg.eigh(here.information)
        # Far from the maximum the curvature may have the wrong sign.
        curve = np.maximum(np.abs(values), 1e-8 * float(np.abs(values).max()))
        step = vectors @ ((vectors.T @ here.scores.sum(axis=0)) / curve)
        longest = float(np.abs(step).max())
        if longest < 1e-9:
            return point, here
        step *= min(1.0, 2.0 / longest)
        there = _marginal(games, point + step)
        for _ in range(30):
            if there.log_likelihood >= here.log_likelihood - 1e-12 * abs(here.log_likelihood):
                break
            step /= 2
            there = _marginal(games, point + step)
        point, here = point + step, there
        if not bool((np.abs(point) < _BEYOND).all()):
            return point, None
    return point, None


def _marginal(games: _BaselineGames, point: Floats) -> _Marginal:
    """The log-likelihood with the difficulty integrated out, its slope for each prompt, and its curvature
    (Louis 1982)."""
    import numpy as np

    p, n_prompts = games.n_parameters, int(games.prompt[-1]) + 1
    starts = np.searchsorted(games.prompt, np.arange(n_prompts + 1))
    scores, information, total = np.zeros((n_prompts, p)), np.zeros((p, p)), 0.0
    per_block = max(1, _BLOCK // (_NODES * p))
    for first in range(0, n_prompts, per_block):
        last = min(n_prompts, first + per_block)
        part, likelihood, curve = _block(
            games, point, slice(int(starts[first]), int(starts[last])), first, last
        )
        scores[first:last] = part
        information += curve
        total += likelihood
    return _Marginal(total, scores, information)


def _block(
    games: _BaselineGames, point: Floats, at: slice, first: int, last: int
) -> tuple[Floats, float, Floats]:
    """The same for the prompts from `first` to `last`."""
    import numpy as np

    k, tau = games.n_systems, point[-1]
    nodes, log_weights = _nodes()
    share, system, prompt = games.share[at], games.system[at], games.prompt[at] - first
    logits = _logits(games, point)[at, None] + tau * nodes
    chance = 1 / (1 + np.exp(-np.clip(logits, -500, 500)))
    joint = np.zeros((last - first, _NODES))
    np.add.at(joint, prompt, share[:, None] * logits - np.logaddexp(0, logits))
    joint += log_weights
    largest = joint.max(axis=1, keepdims=True)
    posterior = np.exp(joint - largest)
    likelihood = float((largest[:, 0] + np.log(posterior.sum(axis=1))).sum())
    posterior /= posterior.sum(axis=1, keepdims=True)
    missed, variance = share[:, None] - chance, chance * (1 - chance)
    features = np.stack([games.length[at], games.prompt_length[at]], axis=1)
    # The slopes as if the difficulty were known: prompts × nodes × parameters.
    known = np.zeros((last - first, _NODES, k + 3))
    np.add.at(known, (prompt[:, None], np.arange(_NODES)[None, :], system[:, None]), missed)
    for column in range(2):
        np.add.at(known[:, :, k + column], prompt, missed * features[:, column, None])
    np.add.at(known[:, :, k + 2], prompt, missed * nodes)
    scores = np.einsum("ck,ckp->cp", posterior, known)
    flat = (known * np.sqrt(posterior)[:, :, None]).reshape(-1, k + 3)
    weight = posterior[prompt] * variance
    design = np.zeros((len(share), k + 2))
    design[np.arange(len(share)), system] = 1.0
    design[:, k:] = features
    curve = np.zeros((k + 3, k + 3))
    curve[:-1, :-1] = design.T @ (design * weight.sum(axis=1)[:, None])
    curve[:-1, -1] = curve[-1, :-1] = design.T @ (weight @ nodes)
    curve[-1, -1] = float((weight @ nodes**2).sum())
    curve -= flat.T @ flat - scores.T @ scores
    return scores, likelihood, curve


def _chances(games: _BaselineGames, point: Floats) -> tuple[Floats, Floats]:
    """The chance to win each game at equal length, over all difficulties, and its slopes by the
    parameters."""
    import numpy as np

    k = games.n_systems
    nodes, log_weights = _nodes()
    weights = np.exp(log_weights)
    fair = games._replace(length=np.zeros(len(games.length)))
    chance = 1 / (1 + np.exp(-np.clip(_logits(fair, point)[:, None] + point[-1] * nodes, -500, 500)))
    variance = chance * (1 - chance)
    slopes = np.zeros((len(chance), k + 3))
    each = variance @ weights
    slopes[np.arange(len(chance)), games.system] = each
    slopes[:, k + 1] = each * games.prompt_length
    slopes[:, k + 2] = variance @ (weights * nodes)
    return chance @ weights, slopes


def _mean_differences(games: Games, x: Floats) -> tuple[float | None, ...]:
    import numpy as np

    k = games.n_systems
    total = np.bincount(games.first, weights=x, minlength=k) - np.bincount(
        games.second, weights=x, minlength=k
    )
    n = np.bincount(games.first, minlength=k) + np.bincount(games.second, minlength=k)
    return tuple(float(total[i] / n[i]) if n[i] else None for i in range(k))
