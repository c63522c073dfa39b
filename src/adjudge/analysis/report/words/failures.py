"""The failures of a report, and how replies were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....sections import Counts, Part, Section, Value
from ....words import count, failures_text, listed, percent_cell, share, status_text
from ..summary import FailureShare, QuoteShare, RungShare, Summary

_READINGS = {
    "strict": "exactly the requested format",
    "anchored": "a common variant of the requested format",
    "reask": "asked again for the answer alone",
    "rule": "decided by a rule, without asking the judge",
}


FAILURE_MEANING = (
    "A failure is excluded from every mean. If one system fails more often than another, its mean "
    "overstates it."
)


STATUSES = ("unparsed", "out_of_range", "conflicting", "refused", "truncated", "no_reply", "skipped")


def failure_sections(summary: Summary) -> Iterator[Section]:
    """Failures by system; nothing where nothing failed, or where there are only choices."""
    by_system = summary.failures_by_system
    if not any(failures.n_samples_failed for failures in by_system.values()):
        return
    columns = ("system", "scores", "failed [95 % CI]", "n", "remark")
    rows = tuple(_failure_row(system, failures) for system, failures in by_system.items())
    yield Section("Failures", (), columns, rows, notes=(FAILURE_MEANING,))


def _failure_row(system: str, failures: FailureShare) -> tuple[Value, ...]:
    statuses = {name: failures.by_status[name] for name in STATUSES if name in failures.by_status}
    counts = {"ok": failures.n - failures.failed, **statuses}
    samples = ""
    if failures.n_samples > failures.n and failures.n_samples_failed:
        samples = f"{failures.n_samples_failed:,} of {failures.n_samples:,} samples failed"
    scores = Counts(failures_text(counts), _parts(counts))
    return system, scores, percent_cell(failures.share), f"{failures.n:,}", samples


def _parts(counts: Mapping[str, int]) -> tuple[Part, ...]:
    return tuple(Part(status_text(name), n, name) for name, n in counts.items())


def reading_sections(summary: Summary) -> Iterator[Section]:
    """How the replies of each judge were read, and their flags."""
    has_quotes = any(isinstance(model.evidence, QuoteShare) for model in summary.models.values())
    rows = tuple(
        (judge, *_rungs(rungs), *((_quotes(summary, judge),) if has_quotes else ()))
        for judge, rungs in summary.rungs.items()
        if rungs
    )
    if rows:
        rungs = {name for by_name in summary.rungs.values() for name in by_name}
        meaning = ". ".join(f"{name}: {text}" for name, text in _READINGS.items() if name in rungs)
        notes: tuple[str, ...] = (f"{meaning}.",) if meaning and not rungs <= {"strict", "failed"} else ()
        if silent := summary.without_explanation or ():
            verb = "answers" if len(silent) == 1 else "answer"
            notes += (f"{listed(silent)} {verb} typed questions with probabilities, without an explanation.",)
        columns = ("judge", "how it was read", "n", *(("quotes found",) if has_quotes else ()))
        if has_quotes:
            notes += (
                "Quotes found: how many passages that the judge quotes are in the text that it judges.",
            )
        yield Section("How replies were read", (), columns, rows, notes=notes)
    if summary.flags:
        flags = [f"{flag}: {count(n, 'item')}" for flag, n in summary.flags.items()]
        yield Section("Flags", (", ".join(flags),), kind="flags")


def _quotes(summary: Summary, judge: str) -> str:
    """10 of 12 (83 %); – where nothing could be checked."""
    model = summary.models.get(judge)
    if model is None or not isinstance(model.evidence, QuoteShare):
        return "–"
    return f"{model.evidence.n_grounded:,} of {model.evidence.n:,} ({share(model.evidence.share)})"


def _rungs(rungs: Mapping[str, RungShare]) -> tuple[Value, str]:
    """strict 96 %, anchored 3 %, failed 1 %; and of how many."""
    text = ", ".join(f"{name} {share(rung.share)}" for name, rung in rungs.items())
    return Counts(
        text, _parts({name: rung.n for name, rung in rungs.items()})
    ), f"{sum(rung.n for rung in rungs.values()):,}"
