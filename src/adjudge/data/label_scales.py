"""The scales that labels must be on: a value off its scale is a typing error, or of another scale.

Values between the steps of a scale are labels like others, because people's means are used too. A criterion
without a bounded scale, or unknown here, takes any number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ..records import Label, Scale

Ends = tuple[float, float]
"""the lowest and the highest value of a scale"""


OTHER_SCALE = (
    "If all labels are on another scale than the judge, name it: adjudge trust RUN --labels FILE "
    "--label-scale "
    "LOW,HIGH; or for every command and page: adjudge labels add RUN FILE --label-scale LOW,HIGH."
)
"""What to do about labels that are off the judge's scale, other than to correct them."""


class LabelScales(Struct, frozen=True):
    """The scales of the judged criteria, or the one that the user names for the labels."""

    by_criterion: Mapping[str, tuple[Scale, ...]]
    """criterion → its scales: several protocols may judge it"""
    ends: Ends | None = None
    """the scale of all labels, where the user names one"""
    advice: str = OTHER_SCALE
    """what else may be the cause of labels off the scale; empty where the user named their scale"""

    def problem(self, label: Label) -> str:
        """Why a label cannot be on its scale; empty where it can be."""
        scales = self._scales_of(label.criterion)
        nominal = [scale for scale in scales if scale.is_nominal]
        if scales and len(nominal) == len(scales):
            return _problem_of_class(label.value, nominal)
        if isinstance(label.value, str):
            return ""
        if self.ends is not None:
            low, high = self.ends
            is_off = not low <= label.value <= high
            return f"value {label.value:g} is off the scale {low:g} to {high:g}." if is_off else ""
        limits = [scale.limits for scale in scales]
        bounded = [ends for ends in limits if ends is not None]
        if (
            not bounded
            or len(bounded) < len(limits)
            or any(low <= label.value <= high for low, high in bounded)
        ):
            return ""
        shown = " or ".join(dict.fromkeys(f"{low:g} to {high:g}" for low, high in bounded))
        on = f" of '{label.criterion}'" if label.criterion else ""
        return f"value {label.value:g} is off the scale {shown}{on}."

    def _scales_of(self, criterion: str) -> tuple[Scale, ...]:
        if not criterion and len(self.by_criterion) == 1:
            return next(iter(self.by_criterion.values()))
        return self.by_criterion.get(criterion, ())


def _problem_of_class(value: float | str, scales: Iterable[Scale]) -> str:
    names = [name for scale in scales for name in scale.classes]
    if isinstance(value, str):
        is_known = value.strip().casefold() in {name.casefold() for name in names}
    else:
        is_known = any(value in scale.names for scale in scales)
    return "" if is_known else f"value '{value}' is none of {', '.join(names)}."


def scales_by_criterion(scales: Iterable[tuple[str, Scale | None]]) -> dict[str, tuple[Scale, ...]]:
    """criterion → its scales, of pairs of both; none stands for a criterion with choices alone."""
    known: dict[str, list[Scale]] = defaultdict(list)
    for criterion, scale in scales:
        if scale is not None and scale not in known[criterion]:
            known[criterion].append(scale)
    return {name: tuple(scales) for name, scales in known.items()}
