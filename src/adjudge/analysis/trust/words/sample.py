"""What a reader must know of the sample of labels: is it random, and which systems lack labels?"""

from __future__ import annotations

from ....results.combine import Kind
from ....stats import LabelledSample
from ....words import count, interval, names, number, percent, share
from ..card import SampleOfLabels

_MOST_NAMES = 3


def sample_notes(sample: SampleOfLabels, kind: Kind, *, is_drawn: bool) -> list[str]:
    """`is_drawn` where the file has the probabilities with which Adjudge drew the items."""
    notes = []
    part = f"on {sample.n_labelled} of {count(sample.n_items, 'item' if kind == 'scores' else 'pair')}"
    labels = f"Labels {part}"
    judge = sample.judge
    if judge is not None and judge.is_selected:
        notes.append(
            f"The labels {part} are not a random sample: {_both_means(judge, kind)}, a significant "
            "difference. Corrected means may be wrong: draw the items with adjudge sample."
        )
    elif not is_drawn and judge is not None and judge.difference.value is not None:
        notes.append(
            f"{labels}: {_both_means(judge, kind)}, no significant difference. Corrected means need a "
            "random sample (adjudge sample draws one), which the judge's scores alone cannot prove."
        )
    elif not is_drawn:
        notes.append(f"{labels}: corrected means need a random sample (adjudge sample draws one).")
    if sample.without_labels:
        notes.append(
            f"Fewer than two labels of {_listed(sample.without_labels)}: no corrected mean of these "
            "systems, and none over all systems."
        )
    return notes


def _both_means(judge: LabelledSample, kind: Kind) -> str:
    """the judge's mean is 3.32 on them and 3.25 on the others (0.07 [-0.35, 0.49])"""
    if kind == "choices":
        difference = percent(judge.difference)
        return (
            f"the judge chooses a in {share(judge.labelled)} of them and {share(judge.others)} of the others "
            f"({difference})"
        )
    return (
        f"the judge's mean is {number(judge.labelled)} on them and {number(judge.others)} on the others "
        f"({interval(judge.difference)})"
    )


def _listed(systems: tuple[str, ...]) -> str:
    n_more = len(systems) - _MOST_NAMES
    if n_more <= 0:
        return names(list(systems))
    return f"{', '.join(systems[:_MOST_NAMES])} and {count(n_more, 'more system', 'more systems')}"
