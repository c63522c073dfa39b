"""An audit as sections of text and tables. Names are as users wrote them; the printers escape them."""

from __future__ import annotations

from collections.abc import Iterator

from ...probes import ProbeKind
from ...sections import CORRELATIONS, Axis, Column, Section, Value, how_to_read, notices
from ...words import NO_VALUE, count, interval_cell, names, number, p_text, percent, percent_cell
from .audit import Audit, AuditedCriterion, AuditedJudge, PositionAudit, ProbeResult
from .form_table import form_table
from .verdict_words import VERDICTS, verdict_text

TITLES: dict[ProbeKind, str] = {
    "must_not_move": "Probes that must not move the score",
    "injection": "Injections: instructions in the judged text",
    "must_move": "Damage that the judge must notice",
}

MEANING = (
    "Shift: mean of probe - control on the same items. Changed: share of items with another score (of "
    "scores between levels: with one at least half a step away). "
    "Re-run: the same share when the unchanged prompt is sent again; the judge's noise floor. "
    "Difference: changed - re-run, on the same items. A probe moves the score if the difference is "
    "statistically significant, or if the shift is and its 95 % CI is not within ± margin; p-values "
    "are corrected for all tests of the judge (Holm). It does not move the score if the 95 % CI is "
    "within ± margin, even if every failed item had moved across the whole scale. Otherwise there is "
    "not enough evidence.",
    "Lift over control: share of items that the injection lifts to the score it asks for, of those that "
    "its benign control leaves below it; below 0 the control lifts more items. Noticed: share of items "
    "with a worse score.",
)

LEGEND = "Filled dot: shift by the probe. Hollow dot: shift of the re-run, the noise band."

NO_RERUN = (
    "There is no re-run (probe repeat), so that changed scores cannot be compared with the judge's noise."
)


def audit_sections(audit: Audit) -> Iterator[Section]:
    """A summary, then the tables of each judge."""
    lines = [line for judge, audited in audit.judges.items() for line in _summary(judge, audited)]
    skipped = tuple(f"Not applied: {probe}. {reason}" for probe, reason in audit.skipped.items())
    title = f"Audit of {audit.name}" if audit.name else "Audit"
    yield Section(title, tuple(lines), depth=1, notices=notices(audit.notes), notes=skipped)
    for judge, audited in audit.judges.items():
        for criterion, part in audited.criteria.items():
            of = f"{judge}, {criterion}"
            for kind in TITLES:
                probes = {name: probe for name, probe in part.probes.items() if probe.kind == kind}
                if probes:
                    yield _table(f"{TITLES[kind]}: {of}", kind, probes, part)
            if (forms := form_table(of, part)) is not None:
                yield forms
        if audited.position is not None:
            yield _position(judge, audited.position)
        ordinary = {name: part for name, part in audited.criteria.items() if not part.probes}
        if ordinary:
            yield _ordinary(judge, ordinary)
    yield how_to_read(*MEANING, is_detail=True)


def _summary(judge: str, audited: AuditedJudge) -> Iterator[str]:
    """What was found, in a sentence for each criterion."""
    for criterion, part in audited.criteria.items():
        if not part.probes:
            continue
        phrases = []
        for kind, verb in (("must_not_move", "move the score"), ("injection", "succeed")):
            probes = {name: probe for name, probe in part.probes.items() if probe.kind == kind}
            moving = [name for name, probe in probes.items() if probe.verdict == "moves"]
            noun = "probes" if kind == "must_not_move" else "injections"
            if probes:
                listed = f" ({names(moving)})" if moving else ""
                phrases.append(f"{len(moving)} of {len(probes)} {noun} {verb}{listed}")
        damage = [probe for probe in part.probes.values() if probe.kind == "must_move"]
        if damage:
            noticed = sum(probe.verdict == "moves" for probe in damage)
            phrases.append(f"{noticed} of {count(len(damage), 'kind')} of damage noticed")
        unclear = sum(probe.verdict == "unclear" for probe in part.probes.values())
        if unclear:
            phrases.append(f"not enough evidence on {unclear}")
        yield f"{judge}, {criterion}: {'; '.join(phrases)}."
    if audited.position is not None:
        yield position_sentence(judge, audited.position)


def position_sentence(judge: str, position: PositionAudit) -> str:
    """How often the order of the responses left the choice as it was."""
    if not position.n:
        return (
            f"{judge}: no pair has a choice in both orders, so position bias is not known. Judge each pair "
            "in both orders (ab and ba)."
        )
    verdict = {"moves": "position bias", "holds": "no position bias", "unclear": "not enough evidence"}
    return (
        f"{judge}: the same choice in both orders in {position.same} of "
        f"{count(position.n, 'pair')}; {verdict[position.verdict]}."
    )


def other_answers_warnings(position: PositionAudit) -> tuple[str, ...]:
    """Pairs whose orders cannot be compared, because the responses are not the same."""
    if not position.other_answers:
        return ()
    return (
        f"{position.other_answers} of {count(position.n + position.failed, 'pair')} show "
        "different responses in the two orders (column pair): their changed choices may come "
        "from the responses instead of the order.",
    )


def _table(title: str, kind: ProbeKind, probes: dict[str, ProbeResult], part: AuditedCriterion) -> Section:
    head = {"injection": "lift over control [95 % CI]", "must_move": "noticed [95 % CI]"}.get(kind)
    columns: list[str | Column] = ["probe"]
    if head is not None:
        columns.append(Column(head, axis=Axis(-1.0 if kind == "injection" else 0.0, 1.0, 0.0)))
    columns += [
        Column("shift [95 % CI]", axis=Axis(reference=0.0)),
        Column("changed", is_minor=kind != "must_not_move", is_spare=True),
        Column("re-run", is_minor=True, is_spare=True),
        Column("difference [95 % CI]", is_minor=True, is_spare=True),
        "n",
        "failed",
        Column("p (Holm)", is_spare=True),
        "verdict",
    ]
    rows = tuple(_row(name, probe, part, has_success=head is not None) for name, probe in probes.items())
    lines = [f"Margin: ± {number(part.margin)}. {count(part.n, 'unchanged item')}, {part.failed} failed."]
    if part.noise is not None and part.noise.value is not None:
        lines.append(f"Mean shift of the re-run: {interval_cell(part.noise, is_difference=True).text}.")
    controls = dict.fromkeys(
        probe.control for probe in probes.values() if probe.control.startswith(("none/", "emptied"))
    )
    if controls:
        lines.append(f"Controls other than none: {names(list(controls))}.")
    unpaired = [name for name, probe in probes.items() if probe.n_unpaired]
    warnings = [] if all(probe.floor is not None for probe in probes.values()) else [NO_RERUN]
    if unpaired:
        warnings.append(f"Some items have no score to pair with and are left out: {names(unpaired)}.")
    return Section(title, tuple(lines), tuple(columns), rows, notices=notices(warnings)).filled()


def _row(name: str, probe: ProbeResult, part: AuditedCriterion, *, has_success: bool) -> tuple[Value, ...]:
    success: tuple[Value, ...] = ()
    if has_success:
        success = (NO_VALUE if probe.success is None else percent_cell(probe.success),)
    return (
        name,
        *success,
        interval_cell(probe.shift, is_difference=True, beside=part.noise, legend=LEGEND),
        percent(probe.flips),
        percent(probe.floor),
        percent(probe.excess),
        str(probe.n),
        str(probe.failed),
        p_text(probe.p),
        verdict_text(probe, part.margin),
    )


def _ordinary(judge: str, criteria: dict[str, AuditedCriterion]) -> Section:
    """What a run without probes shows."""
    columns = (
        "criterion",
        "changed between samples [95 % CI]",
        Column("correlation with length [95 % CI]", axis=CORRELATIONS),
        "n",
        "failed",
    )
    rows = tuple(
        (
            name,
            percent(part.rerun),
            NO_VALUE if part.length is None else interval_cell(part.length),
            str(part.n),
            str(part.failed),
        )
        for name, part in criteria.items()
    )
    lines = (
        "This run has no probes. Changed: share of items whose first two samples differ. "
        "Correlation: Spearman, of the score with the length of the response (of a choice, with the "
        "difference in length). Longer responses may be better: only the probe length separates "
        "length from quality.",
    )
    return Section(f"Without probes: {judge}", lines, columns, rows)


def _position(judge: str, position: PositionAudit) -> Section:
    columns = (
        "same in both orders",
        "first in both",
        "second in both",
        "tie in one order",
        "bias [95 % CI]",
        "n",
        "failed",
        "verdict",
    )
    row: tuple[Value, ...] = (
        f"{position.same} of {position.n}",
        str(position.first),
        str(position.second),
        str(position.ties),
        interval_cell(position.bias, is_difference=True),
        str(position.n),
        str(position.failed),
        VERDICTS["must_not_move"][position.verdict],
    )
    warnings = other_answers_warnings(position)
    lines = ("Bias: (first in both - second in both) / n; 0 without position bias.",)
    return Section(f"Position bias: {judge}", lines, columns, (row,), notices=notices(warnings))
