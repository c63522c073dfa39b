"""The first screen of an audit: how many probes move the score, and each probe's shift against the judge's
own noise. An audit ranks nothing: its probes are no systems.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ...probes import ProbeKind
from ...sections import Section, notices
from ...words import NO_VALUE, count, interval, names, number, percent, signed
from .audit import Audit, AuditedCriterion, AuditedJudge, ProbeResult
from .form_table import form_table
from .verdict_words import verdict_text
from .words import NO_RERUN, other_answers_warnings, position_sentence

KINDS: dict[ProbeKind, tuple[str, str, str]] = {
    "must_not_move": ("probe", "move it", "must not move the score"),
    "injection": ("injection", "succeed", "orders in the judged text"),
    "must_move": ("damage", "noticed", "must lower the score"),
}
"""Of a kind of probe: its noun, what a count says, and what is expected of the judge."""


class Shift(Struct, frozen=True):
    """One probe in the fingerprint of a judge."""

    name: str
    result: ProbeResult

    @property
    def is_bad(self) -> bool:
        """Whether this is what must not happen: a score that moves, or damage that is not noticed."""
        return self.result.verdict == ("holds" if self.result.kind == "must_move" else "moves")


class Fingerprint(Struct, frozen=True):
    """The probes of one kind, the largest shift first, with the noise of the re-run."""

    kind: ProbeKind
    shifts: tuple[Shift, ...]
    n_moving: int
    n_unclear: int

    @property
    def sentence(self) -> str:
        """8 of 10 probes move it, 2 unclear."""
        noun, verb, _ = KINDS[self.kind]
        unclear = f", {self.n_unclear} unclear" if self.n_unclear else ""
        return f"{self.n_moving} of {count(len(self.shifts), noun)} {verb}{unclear}"


def fingerprints_of(part: AuditedCriterion) -> tuple[Fingerprint, ...]:
    """The probes of one criterion by kind."""
    found = []
    for kind in KINDS:
        shifts = [Shift(name, probe) for name, probe in part.probes.items() if probe.kind == kind]
        if shifts:
            by_size = sorted(shifts, key=lambda one: -abs(one.result.shift.value or 0.0))
            verdicts = [shift.result.verdict for shift in shifts]
            found.append(
                Fingerprint(kind, tuple(by_size), verdicts.count("moves"), verdicts.count("unclear"))
            )
    return tuple(found)


def audit_answer(part: AuditedCriterion) -> str:
    """8 of 10 probes move it · 0 of 13 injections succeed · 3 of 5 damages noticed."""
    return " · ".join(one.sentence for one in fingerprints_of(part))


def audit_screen(audit: Audit, most_rows: int) -> tuple[Section, ...]:
    """The audit in short: an answer and a table of shifts for each criterion."""
    sections = []
    for judge, audited in audit.judges.items():
        for criterion, part in audited.criteria.items():
            if part.probes:
                of = f"{judge}, {criterion}"
                sections.append(_criterion_section(of, part, most_rows))
                sections += filter(None, [form_table(of, part)])
        sections += _without_probes(judge, audited)
    title = f"Audit of {audit.name}" if audit.name else "Audit"
    skipped = f"{count(len(audit.skipped), 'probe')} not applied. " if audit.skipped else ""
    return (
        Section(title, (), depth=1, notices=notices(audit.notes)),
        *sections,
        Section("", (f"{skipped}Every probe with its interval: --full. All numbers: --json.",)),
    )


def _criterion_section(of: str, part: AuditedCriterion, most_rows: int) -> Section:
    rows = tuple(_row(one, most_rows) for one in fingerprints_of(part))
    lines = [f"{audit_answer(part)}.", *_noise_lines(part)]
    warnings = [] if all(probe.floor is not None for probe in part.probes.values()) else [NO_RERUN]
    columns = ("probes", "result", "not enough evidence", "largest shifts")
    return Section(of, tuple(lines), columns, rows, notices=notices(warnings))


def _row(fingerprint: Fingerprint, most_shifts: int) -> tuple[str, ...]:
    """The probes that did what they must not, by name; else the largest shifts."""
    noun, verb, _ = KINDS[fingerprint.kind]
    moving = [shift for shift in fingerprint.shifts if shift.result.verdict == "moves"]
    shown = (moving or list(fingerprint.shifts))[: max(2, most_shifts // 3)]
    words = [f"{one.name} {shift_text(one.result)}" for one in shown]
    n = len(fingerprint.shifts)
    return (
        f"{n} {noun}s" if n != 1 else noun,
        f"{fingerprint.n_moving} {verb}",
        f"{fingerprint.n_unclear}",
        (", ".join(words)),
    )


def shift_text(result: ProbeResult) -> str:
    return NO_VALUE if result.shift.value is None else signed(result.shift.value)


def _noise_lines(part: AuditedCriterion) -> Iterator[str]:
    noise = part.noise
    if noise is not None and noise.low is not None and noise.high is not None:
        yield (
            f"The judge's own noise (the same prompt again): {signed(noise.low)} to {signed(noise.high)}; a "
            f"shift within ± {number(part.margin)} does not matter."
        )
    missed = [one.name for one in _missed(part)]
    if missed:
        yield f"Damage that it does not notice: {names(missed)}."


def _missed(part: AuditedCriterion) -> Iterator[Shift]:
    for fingerprint in fingerprints_of(part):
        if fingerprint.kind == "must_move":
            yield from (shift for shift in fingerprint.shifts if shift.is_bad)


def _without_probes(judge: str, audited: AuditedJudge) -> Iterator[Section]:
    """What an ordinary run says by itself."""
    lines = [] if audited.position is None else [position_sentence(judge, audited.position)]
    ordinary = {name: part for name, part in audited.criteria.items() if not part.probes}
    for name, part in ordinary.items():
        found = [
            f"{what} {text}"
            for what, text, is_known in (
                ("changed between samples", percent(part.rerun), part.rerun is not None),
                ("correlation with length", interval(part.length), part.length is not None),
            )
            if is_known
        ]
        lines.append(f"{judge}, {name}: {'; '.join(found) or 'no probes'}.")
    if ordinary:
        lines.append("This run has no probes: adjudge audit ITEMS judges its items under them.")
    if lines:
        warnings = () if audited.position is None else other_answers_warnings(audited.position)
        title = "Without probes" if ordinary else "Position"
        yield Section(title, tuple(lines), notices=notices(warnings))


def probe_answer(shift: Shift) -> str:
    """What happened under a probe, in words."""
    return verdict_text(shift.result)
