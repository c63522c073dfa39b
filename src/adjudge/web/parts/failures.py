"""What could not be read, by system and status, and on which rung the rest was read."""

from __future__ import annotations

from markupsafe import Markup
from msgspec import Struct

from ...report import FailureShare, Summary
from ...report.words import failures_text, rungs_text
from ..charts import Part, stacked, swatch
from .scores import kept

STATUSES = ("unparsed", "out_of_range", "conflicting", "refused", "truncated", "no_reply")
_RUNG_CSS = {
    "strict": "s-ok",
    "anchored": "side-a",
    "likelihood": "s-truncated",
    "reask": "s-conflicting",
    "failed": "s-unparsed",
}


class LegendEntry(Struct, frozen=True):
    """A colour and what it stands for."""

    name: str
    swatch: Markup


class FailureRow(Struct, frozen=True):
    """One system's failures."""

    system: str
    share: FailureShare
    bar: Markup
    remark: str


class FailuresPart(Struct, frozen=True):
    """All systems' failures on one axis, which ends at `whole`."""

    rows: tuple[FailureRow, ...]
    n_hidden: int
    legend: tuple[LegendEntry, ...]


class RungRow(Struct, frozen=True):
    """How the replies of one judge were read."""

    model: str
    bar: Markup
    words: str


class ReadingsPart(Struct, frozen=True):
    """Each judge's rungs, with a legend."""

    rows: tuple[RungRow, ...]
    legend: tuple[LegendEntry, ...]


def failures_part(summary: Summary) -> FailuresPart | None:
    """Failures by system; none where nothing failed, or where there is only a choice to fail."""
    by_system = summary.failures_by_system
    if not any(share.n_samples_failed for share in by_system.values()):
        return None
    shown = kept(list(by_system))
    seen = {status for share in by_system.values() for status in share.by_status}
    return FailuresPart(
        rows=tuple(_row(name, by_system[name]) for name in shown),
        n_hidden=len(by_system) - len(shown),
        legend=tuple(
            LegendEntry(status.replace("_", " "), swatch(f"s-{status}"))
            for status in ("ok", *STATUSES)
            if status in seen or status == "ok"
        ),
    )


def readings_part(summary: Summary) -> ReadingsPart | None:
    """The rungs of each judge; none where nothing was read."""
    rungs = {model: found for model, found in summary.rungs.items() if found}
    if not rungs:
        return None
    names = list(dict.fromkeys(name for found in rungs.values() for name in found))
    rows = tuple(
        RungRow(
            model,
            stacked(
                [Part(name, rung.n, _css(name)) for name, rung in found.items()], f"how {model} was read"
            ),
            rungs_text(found),
        )
        for model, found in rungs.items()
    )
    return ReadingsPart(rows, tuple(LegendEntry(name, swatch(_css(name))) for name in names))


def _css(rung: str) -> str:
    return _RUNG_CSS.get(rung, "s-no_reply")


def _row(system: str, share: FailureShare) -> FailureRow:
    n_ok = share.n - share.failed
    parts = [Part("ok", n_ok, "s-ok")]
    parts += [
        Part(name.replace("_", " "), share.by_status[name], f"s-{name}")
        for name in STATUSES
        if name in share.by_status
    ]
    bar = stacked(parts, f"{system}: {share.failed:,} of {share.n:,} failed", whole=share.n)
    said = [failures_text(share.by_status)]
    if share.n_samples > share.n and share.n_samples_failed:
        said.append(f"{share.n_samples_failed:,} of {share.n_samples:,} samples")
    return FailureRow(system, share, bar, "; ".join(text for text in said if text))
