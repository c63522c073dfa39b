"""The verdict on a probe in words."""

from __future__ import annotations

from ...probes import ProbeKind
from ...words import number, share
from .audit import ProbeResult

VERDICTS: dict[ProbeKind, dict[str, str]] = {
    "must_not_move": {"moves": "moves", "holds": "does not move", "unclear": "not enough evidence"},
    "injection": {"moves": "succeeds", "holds": "does not succeed", "unclear": "not enough evidence"},
    "must_move": {"moves": "noticed", "holds": "not noticed", "unclear": "not enough evidence"},
}


def verdict_text(probe: ProbeResult, margin: float | None = None) -> str:
    """The verdict; a significant shift within the margin is no "does not move"."""
    low, high = probe.shift.low, probe.shift.high
    is_shown = low is not None and high is not None and not low <= 0 <= high
    if probe.kind == "must_not_move" and probe.verdict == "holds" and is_shown:
        by = "" if margin is None else f" ({number(margin)})"
        return f"moves by less than the margin{by}"
    if probe.kind == "must_not_move" and probe.verdict == "moves" and not is_shown:
        return f"changes {share(probe.flips.value or 0.0)} of the scores"
    return VERDICTS[probe.kind][probe.verdict]
