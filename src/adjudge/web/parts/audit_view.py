"""The first screen of an audit as HTML: an answer for each criterion, and a fingerprint for each kind of
probe. An audit ranks nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup
from msgspec import Struct

from ...analysis.audit.audit import Audit, AuditedCriterion
from ...analysis.audit.first_screen import (
    KINDS,
    Fingerprint,
    Shift,
    audit_answer,
    fingerprints_of,
    probe_answer,
    shift_text,
)
from ...words import count
from .charts.axis import Domain, axis, domain_of
from .charts.fingerprint import Dot, fingerprint
from .names import judge_name


class ProbeView(Struct, frozen=True):
    """One probe of a fingerprint, with the items behind it."""

    name: str
    shift: str
    verdict: str
    is_bad: bool
    url: str


class KindView(Struct, frozen=True):
    """One row of the fingerprint: a kind of probe."""

    sentence: str
    expected: str
    picture: Markup
    probes: tuple[ProbeView, ...]


class AuditView(Struct, frozen=True):
    """One judge on one criterion."""

    judge: str
    criterion: str
    answer: str
    axis: Markup
    noise: str
    kinds: tuple[KindView, ...]
    n_unclear: str


def audit_views(audit: Audit | None, link: Callable[[str], str] | None = None) -> tuple[AuditView, ...]:
    """The first screen; `link` gives the address of the items of a probe."""
    return tuple(
        _view(judge, criterion, part, link)
        for judge, audited in (audit.judges.items() if audit is not None else ())
        for criterion, part in audited.criteria.items()
        if part.probes
    )


def _view(judge: str, criterion: str, part: AuditedCriterion, link: Callable[[str], str] | None) -> AuditView:
    rows = fingerprints_of(part)
    noise = None
    if part.noise is not None and part.noise.low is not None and part.noise.high is not None:
        noise = (part.noise.low, part.noise.high)
    shifts = [shift.result.shift.value for row in rows for shift in row.shifts]
    domain = domain_of(None, [*shifts, *(noise or ()), -part.margin, part.margin])
    n_unclear = sum(row.n_unclear for row in rows)
    n = sum(len(row.shifts) for row in rows)
    return AuditView(
        judge_name(judge),
        criterion,
        audit_answer(part),
        axis(domain),
        "" if noise is None else "Band: the judge's own noise, the same prompt sent again.",
        tuple(_kind_view(row, noise, domain, link) for row in rows),
        f"Not enough evidence on {n_unclear} of {count(n, 'probe')}." if n_unclear else "",
    )


def _kind_view(
    row: Fingerprint,
    noise: tuple[float, float] | None,
    domain: Domain,
    link: Callable[[str], str] | None,
) -> KindView:
    dots = [
        Dot(
            f"{shift.name}: {shift_text(shift.result)}",
            shift.result.shift.value,
            shift.result.verdict == "moves",
        )
        for shift in row.shifts
        if shift.result.shift.value is not None
    ]
    return KindView(
        row.sentence,
        KINDS[row.kind][2],
        fingerprint(dots, noise, domain, f"{row.sentence}: shifts of the score"),
        tuple(_probe_view(shift, link) for shift in row.shifts),
    )


def _probe_view(one: Shift, link: Callable[[str], str] | None) -> ProbeView:
    url = link(one.name) if link is not None else ""
    return ProbeView(one.name, shift_text(one.result), probe_answer(one), one.is_bad, url)
