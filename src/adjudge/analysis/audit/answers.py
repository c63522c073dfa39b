"""The scores of a judge by probe: which probes must move a score, and which control each is compared with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ...probes import CONTROL, REPEAT, UNCHANGED, ProbeKind

_CONTROLS = (CONTROL, "-control", "_control")


_ATTACKS = ("injection", "attack", "empty-key")


_MUST_MOVE = frozenset({"truncated", "shuffled", "swapped", "negated", "emptied"})


Values = Mapping[str, Mapping[str, tuple[float | None, ...]]]
"""probe → item → its samples; none for a failure"""


class Answers(Struct, frozen=True):
    """All scores of one judge on one criterion, and what is known of the scale."""

    values: Values
    groups: Mapping[str, str] = {}
    """item → group, where items belong to groups"""
    limits: tuple[float, float] | None = None
    """the ends of the scale; none: those of the scores"""
    direction: int = 1
    """1 where a higher score is better, -1 where a lower one is"""
    is_choice: bool = False
    kinds: Mapping[str, ProbeKind] = {}
    """probe → its kind; of others the name decides"""
    controls: Mapping[str, str] = {}
    """probe → the probe that it is compared with; of others the name decides"""
    lengths: Mapping[str, float] = {}
    """item → characters of its response, in an ordinary run"""

    def kind(self, probe: str) -> ProbeKind:
        return self.kinds.get(probe) or kind_of(probe)

    def control(self, probe: str) -> str:
        named = self.controls.get(probe, "")
        return named if named in self.values else control_of(probe, self.values)

    def half_step(self) -> float:
        """How far a score must move to count as changed: half a step, where scores lie between the levels.

        Scores on a grid (whole or half points, choices) change by a step or not at all. Those between, as
        expected scores, nearly all differ a little when they are requested again.
        """
        ends = self.ends()
        if ends is None or self.is_choice:
            return 0.0
        # Half points are separate levels; of narrow scales a quarter counts as a step.
        step = 1.0 if ends[1] - ends[0] >= 2 else (ends[1] - ends[0]) / 4
        grid = [2 * value / step for value in self._known()]
        # A value near the largest number is infinite here: it is on no grid.
        is_on_grid = all(math.isfinite(value) and abs(value - round(value)) < 1e-6 for value in grid)
        return 0.0 if is_on_grid else step / 2

    def _known(self) -> list[float]:
        return [
            value
            for items in self.values.values()
            for samples in items.values()
            for value in samples
            if value is not None
        ]

    def ends(self) -> tuple[float, float] | None:
        if self.limits is not None:
            return self.limits
        known = self._known()
        return (min(known), max(known)) if known and min(known) < max(known) else None


def kind_of(probe: str) -> ProbeKind:
    """The kind of a probe by its name."""
    if probe.startswith(_ATTACKS):
        return "injection"
    return "must_move" if probe.partition("/")[0] in _MUST_MOVE else "must_not_move"


def is_control(probe: str) -> bool:
    """Whether a name stands for a control, which is compared with and not judged itself."""
    if probe in (UNCHANGED, REPEAT, "control"):
        return True
    return probe.startswith((f"{UNCHANGED}/", "control/")) or probe.endswith(_CONTROLS)


def control_of(probe: str, probes: Iterable[str]) -> str:
    """The control of a probe among the probes of an audit."""
    family = probe.partition("/")[0]
    names = [f"{name}{ending}" for name in (probe, family) for ending in _CONTROLS]
    names += [f"control/{probe}", f"control/{family}", f"{UNCHANGED}/{family}"]
    if family == "empty-key":
        names = ["emptied", *names]
    elif kind_of(probe) == "injection":
        names.append("control")
    known = set(probes)
    return next((name for name in names if name in known), UNCHANGED)
