"""The audit of one judge: every probe on every criterion, and its position bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from ...probes import REPEAT, UNCHANGED
from ...records import Estimate
from ...stats import adjusted, paired_difference, spearman
from ..significance import SIGNIFICANCE
from .answers import Answers, is_control
from .audit import AuditedCriterion, AuditedJudge, AuditVerdict, ProbeResult
from .position_bias import PairInBothOrders, decided_position, position_audit
from .probe_effect import (
    MARGIN_SHARE,
    ProbeDraft,
    clusters_of_items,
    mean_score,
    pairs_of,
    probe_draft,
    rerun_of,
    share_of_items,
)


def audit_judge(
    answers_of: Mapping[str, Answers], pairs: Sequence[PairInBothOrders] = (), margin: float | None = None
) -> AuditedJudge:
    """All probes of all criteria of one judge, with verdicts that hold together."""
    margins = {name: _margin(answers, margin) for name, answers in answers_of.items()}
    drafts = {
        (name, probe): probe_draft(answers, probe, margins[name])
        for name, answers in answers_of.items()
        for probe in answers.values
        if not is_control(probe)
    }
    position = position_audit(pairs) if pairs else None
    p_values: list[float | None] = []
    for draft in drafts.values():
        p_values += [draft.p_shift, draft.p_second]
    corrected = adjusted([*p_values, None if position is None else position.p])
    probes: dict[str, dict[str, ProbeResult]] = {name: {} for name in answers_of}
    for place, ((name, probe), draft) in enumerate(drafts.items()):
        probes[name][probe] = _decided(draft, corrected[2 * place], corrected[2 * place + 1])
    criteria = {
        name: _criterion(answers, probes[name], margins[name]) for name, answers in answers_of.items()
    }
    if position is not None:
        position = decided_position(position, corrected[-1])
    return AuditedJudge(criteria, position)


def _margin(answers: Answers, margin: float | None) -> float:
    ends = answers.ends()
    if margin is not None:
        return margin
    return 0.0 if ends is None else MARGIN_SHARE * (ends[1] - ends[0])


def _decided(draft: ProbeDraft, p_shift: float | None, p_second: float | None) -> ProbeResult:
    """`moves` where a test is significant and the effect is
    not within the margin, `holds` where it is within it.
    """
    known = [p for p in (p_shift, p_second) if p is not None]
    is_injection = draft.result.kind == "injection"
    # More flips than in the re-run are a finding even where gains and losses cancel in the mean.
    is_scrambled = not is_injection and p_second is not None and p_second <= SIGNIFICANCE
    is_significant = any(p <= SIGNIFICANCE for p in known)
    verdict: AuditVerdict = "unclear"
    if is_significant and (is_scrambled or not draft.is_small):
        verdict = "moves"
    elif draft.is_small:
        verdict = "holds"
    return structs.replace(draft.result, verdict=verdict, p=min(known, default=None))


def _criterion(answers: Answers, probes: dict[str, ProbeResult], margin: float) -> AuditedCriterion:
    noise = None
    if REPEAT in answers.values:
        pairs = pairs_of(answers, UNCHANGED, REPEAT, mean_score)
        clusters = clusters_of_items(answers, pairs.items)
        noise = paired_difference(pairs.first, pairs.second, clusters, limits=answers.ends()).difference
    unchanged = [mean_score(samples) for samples in answers.values.get(UNCHANGED, {}).values()]
    return AuditedCriterion(
        probes=probes, margin=margin, limits=answers.ends(), noise=noise,
        n=sum(value is not None for value in unchanged), failed=sum(value is None for value in unchanged),
        is_choice=answers.is_choice, rerun=_rerun_share(answers), length=_length(answers),
    )  # fmt: skip


def _rerun_share(answers: Answers) -> Estimate | None:
    rerun = rerun_of(answers, UNCHANGED)
    return None if rerun is None else share_of_items(answers, rerun)


def _length(answers: Answers) -> Estimate | None:
    """How far the score goes with the length of the response."""
    scores = {item: mean_score(samples) for item, samples in answers.values.get(UNCHANGED, {}).items()}
    items = [item for item, score in scores.items() if score is not None and item in answers.lengths]
    if not items:
        return None
    clusters = clusters_of_items(answers, items)
    values = [score for item in items if (score := scores[item]) is not None]
    n_groups = None if clusters is None else len(set(clusters))
    return spearman([answers.lengths[item] for item in items], values, n_groups)
