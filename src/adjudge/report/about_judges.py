"""What a reader must know of the judges: that one is too weak, judges its own kin, stands apart, or goes by the place.

Rules as in `cautions`: each looks at a finished summary and says nothing where there is nothing to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import words
from .facts import RunFacts
from .families import family_of, family_of_judge
from .shapes import Caution, Summary
from .words import listed

_MANY_CONFLICTS = 0.1
_LITTLE_ALPHA = 0.667
"""Krippendorff's own limit for tentative conclusions (2004)."""
_FEWEST_FOR_ALPHA = 10
_CLEAR_P = 0.05
_SMALL = re.compile(r"smollm2?-?135m")


def weak_judges(summary: Summary, facts: RunFacts) -> Iterator[Caution]:
    """The embedded model writes scores, but they do not follow the rubric; its likelihoods are another matter."""
    is_prompted = any(protocol.reader not in (None, "likelihood") for protocol in facts.protocols)
    weak = [spec for spec, model in summary.models.items() if is_small(spec, list(model.names))]
    if weak and is_prompted:
        yield Caution(
            "weak_judge",
            f"{listed(weak)}: this model does not follow rubrics, so a score that it writes says next to nothing. Use a "
            "larger model, or judge by likelihood (the protocols gptscore/…).",
        )


def is_small(spec: str, names: list[str]) -> bool:
    """Whether a judge is the embedded model, or a file of the same one."""
    if spec == "local":
        return True
    own = [spec.rpartition("/")[2], *names]
    return spec.startswith("local:") and any(_SMALL.search(name.lower()) for name in own)


def own_families(summary: Summary) -> Iterator[Caution]:
    """Judges tend to prefer texts of their own kind (Panickssery et al. 2024)."""
    pairs = [pair for pairs in summary.pairs.values() for pair in pairs]
    named = [*summary.systems, *(name for pair in pairs for name in (pair.system_a, pair.system_b))]
    systems = {name: family for name in dict.fromkeys(named) if (family := family_of(name))}
    for spec, model in summary.models.items():
        family = family_of_judge(spec, model.names)
        kin = [name for name, own in systems.items() if own == family]
        if kin and len(dict.fromkeys(named)) > 1:
            yield Caution(
                "self_preference",
                f"{spec} judges systems of its own family ({family}): {listed(kin)}. Judges tend to prefer texts of "
                "their own kind: check what they win by with a judge of another family, or with labels by people.",
            )


def apart(summary: Summary) -> Iterator[Caution]:
    """Judges that agree little, and the one that the others agree better without."""
    for criterion, panel in summary.panel.items():
        alpha = panel.alpha
        if alpha.value is None or alpha.n < _FEWEST_FOR_ALPHA:
            continue
        if panel.stands_apart is not None:
            without = panel.judges[panel.stands_apart].alpha_without
            yield Caution(
                "judge_apart",
                f"On {criterion} {panel.stands_apart} stands apart: without it the other judges agree with alpha "
                f"{words.interval(without, 2)}, with it {words.interval(alpha, 2)} (n={alpha.n}).",
            )
        elif alpha.value < _LITTLE_ALPHA:
            yield Caution(
                "panel_disagrees",
                f"On {criterion} the judges agree little: alpha {words.interval(alpha, 2)}, n={alpha.n}. Their "
                f"{panel.pooled} hides that they do not measure the same.",
            )


def order_effects(summary: Summary) -> Iterator[Caution]:
    """Choices that change with the order, and a place that wins too often."""
    if summary.pairs and summary.parameters.get("order") == "given":
        yield Caution(
            "one_order",
            "Each pair was shown in the order of the file alone (--order given): a judge that favours a place cannot be "
            "told from a better response. --order both asks in both orders.",
        )
    for criterion, pairs in summary.pairs.items():
        n = sum(pair.order_conflicts.n for pair in pairs)
        changed = round(sum((pair.order_conflicts.value or 0.0) * pair.order_conflicts.n for pair in pairs))
        if n and changed / n >= _MANY_CONFLICTS:
            yield Caution(
                "order_conflict",
                f"{changed} of {n} choices on {criterion} changed when the two responses changed places. "
                "They count as ties.",
            )
    yield from _favoured_places(summary)


def _favoured_places(summary: Summary) -> Iterator[Caution]:
    if summary.parameters.get("order") == "given":
        return
    judges = {spec: model.order for spec, model in summary.models.items() if model.order}
    looked_at = judges or {"the judge": summary.order}
    n_looks = sum(len(by_criterion) for by_criterion in looked_at.values())
    for judge, by_criterion in looked_at.items():
        for criterion, found in by_criterion.items():
            share = found.first_share
            if found.p is None or found.p * n_looks >= _CLEAR_P or share.value is None:
                continue
            place = "first" if share.value > 0.5 else "second"
            fair = "Only both orders together are fair." if found.n_pairs else "--order both would settle it."
            yield Caution(
                "position",
                f"On {criterion} {judge} favours the response shown {place}: the first won {words.percent(share)} of "
                f"{share.n} choices ({words.p_text(found.p)}). {fair}",
            )


def contradictions(summary: Summary) -> Iterator[Caution]:
    n = summary.flags.get("verdict_contradicts_scores", 0)
    if n:
        yield Caution(
            "contradiction",
            f"In {n} of {words.count_of(summary.n_items, 'item')} the judge chose the response that it gave the lower score "
            "(verdict_contradicts_scores): its choices and its scores do not tell the same.",
        )
