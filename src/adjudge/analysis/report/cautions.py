"""The warnings of a report: what to know before using a number, and why it matters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ...records import Estimate
from ...words import count, interval, listed, number, short_name
from ..run_view.run_facts import RunFacts
from ..run_view.run_view import short_spec
from ..run_view.tally import key_text
from .position_bias import order_effects
from .self_preference import self_preference
from .summary import Caution, Cell, QuoteShare, Spreads, Summary
from .uneven_failures import uneven_failures

_LITTLE_ALPHA = 0.667
"""Krippendorff's own limit for tentative conclusions (2004)."""


_FEWEST_FOR_ALPHA = 10


_SMALL = re.compile(r"smollm2?-?135m")


def weak_judges(summary: Summary, facts: RunFacts) -> Iterator[Caution]:
    """The embedded model writes scores that do not follow the rubric; its likelihoods are usable."""
    is_prompted = any(protocol.reader not in (None, "likelihood") for protocol in facts.protocols)
    weak = [spec for spec, model in summary.models.items() if is_small(spec, list(model.names))]
    if weak and is_prompted:
        yield Caution(
            "weak_judge",
            f"{listed(weak)}: this model is too small to follow a rubric, so its written scores "
            "carry almost no information. Use a larger model, or judge by likelihood (protocols "
            "gptscore/…).",
        )


def is_small(spec: str, names: list[str]) -> bool:
    """Whether a judge is the embedded model, or a file of the same one."""
    if spec == "local":
        return True
    candidates = [spec.rpartition("/")[2], *names]
    return spec.startswith("local:") and any(_SMALL.search(name.lower()) for name in candidates)


def panel_disagreement(summary: Summary) -> Iterator[Caution]:
    """Judges that agree poorly, and the outlier among them."""
    for criterion, panel in summary.panel.items():
        alpha = panel.alpha
        if alpha.value is None or alpha.n < _FEWEST_FOR_ALPHA:
            continue
        if panel.stands_apart is not None:
            without = panel.judges[panel.stands_apart].alpha_without
            yield Caution(
                "judge_apart",
                f"On {short_name(criterion)}, {panel.stands_apart} is an outlier: Krippendorff's alpha is "
                f"{interval(without, 2)} without it and {interval(alpha, 2)} with it (n = {alpha.n:,}).",
            )
        elif alpha.value < _LITTLE_ALPHA:
            yield Caution(
                "panel_disagrees",
                f"On {short_name(criterion)}, the judges agree poorly: Krippendorff's alpha "
                f"{interval(alpha, 2)}, n = {alpha.n:,}. Their {panel.pooled} hides this disagreement.",
                criterion,
                brief=f"The judges agree poorly (Krippendorff's alpha below {_LITTLE_ALPHA:g})",
            )


def contradictions(summary: Summary) -> Iterator[Caution]:
    n = summary.flags.get("verdict_contradicts_scores", 0)
    if n:
        yield Caution(
            "contradiction",
            f"In {n} of {count(summary.n_items, 'item')}, the judge chose the response to which it "
            "gave the lower score (verdict_contradicts_scores): its choices and its scores disagree.",
        )


def between_levels(summary: Summary) -> Iterator[Caution]:
    n = summary.flags.get("between_levels", 0)
    if n:
        yield Caution(
            "between_levels",
            f"In {n} of {count(summary.n_items, 'item')}, the judge gave a score between levels, "
            "such as 4.5 on a scale of whole numbers, which counts as failed. To accept half "
            "points: adjudge run … --step 0.5.",
        )


_FEW_FOUND = 0.5
"""Below this share of quotes that stand in the judged text, a judge makes its evidence up."""


_FEWEST_QUOTES = 5


def ungrounded_evidence(summary: Summary) -> Iterator[Caution]:
    """Judges whose quotes are not in the text that they judge."""
    for spec, model in summary.models.items():
        quotes = model.evidence
        if isinstance(quotes, QuoteShare) and quotes.n >= _FEWEST_QUOTES and quotes.share < _FEW_FOUND:
            yield Caution(
                "evidence_not_found",
                f"{spec}: {100 * quotes.share:.0f} % of {quotes.n:,} quotes are in the response that it "
                "judges. Its evidence is not quoted from there.",
            )


_SAME = 0.9
"""From this share of one value on, scores do not discriminate between items."""


_LITTLE_ENTROPY = 0.2
"""Below this share of the possible entropy they do not either."""


_FEWEST_FOR_SPREAD = 5


_FEW_GROUPS = 10


_NEAR_DUPLICATE = 0.9


_FEWEST_FOR_DUPLICATES = 10


def cautions(summary: Summary, spreads: Spreads, facts: RunFacts) -> tuple[Caution, ...]:
    """All warnings, the most severe first."""
    return (
        *_incomplete(summary, facts),
        *_all_failed(summary),
        *_fake_models(summary),
        *weak_judges(summary, facts),
        *(Caution("judge_ends", text) for text in facts.ends),
        *_changed_models(summary),
        *uneven_failures(summary),
        *_partial_panels(summary),
        *panel_disagreement(summary),
        *self_preference(summary),
        *_unknown_directions(summary),
        *_not_comparable(summary),
        *_identical_samples(summary, facts),
        *_no_information(summary, spreads),
        *_few_groups(summary),
        *_injections(summary),
        *_cut_conversations(summary),
        *order_effects(summary),
        *contradictions(summary),
        *between_levels(summary),
        *ungrounded_evidence(summary),
        *_near_duplicates(summary),
    )


_WHY_INCOMPLETE = {
    "running": "the run is still in progress.",
    "submitted": "calls are in open batches. Repeat its command to collect the answers.",
}


_SHARDS_SHOWN = 10


def _missing_part(facts: RunFacts) -> str:
    """Which shards of a run are in its store, and how to get the others."""
    missing, n = facts.missing_shards, facts.n_shards
    here = [number for number in range(1, n + 1) if number not in missing]
    kept = (
        f"shard{'s' if len(here) > 1 else ''} {_numbers(here)} of {n}" if here else f"no whole shard of {n}"
    )
    absent = f"shard {missing[0]} is" if len(missing) == 1 else f"shards {_numbers(missing)} are"
    return (
        f"this store has {kept}; {absent} missing or incomplete. Run the same command with --shard "
        f"K/{n} for each, then merge the stores of all shards: adjudge runs merge FILE… --store FILE."
    )


def _numbers(numbers: Sequence[int]) -> str:
    more = ", …" if len(numbers) > _SHARDS_SHOWN else ""
    return ", ".join(map(str, numbers[:_SHARDS_SHOWN])) + more


def _incomplete(summary: Summary, facts: RunFacts) -> Iterator[Caution]:
    """Items and calls that are missing from the numbers."""
    n_reasks_failed = facts.n_reasks_failed
    if summary.n_planned is not None and summary.n_items < summary.n_planned:
        why = "the run was interrupted. Repeat its command to resume it."
        if summary.status in _WHY_INCOMPLETE:
            why = _WHY_INCOMPLETE[summary.status]
        elif facts.missing_shards:
            why = _missing_part(facts)
        yield Caution(
            "incomplete", f"Only {summary.n_items:,} of {summary.n_planned:,} items are judged: {why}"
        )
    elif summary.status == "submitted":
        yield Caution("incomplete", f"Not all judges have answered: {_WHY_INCOMPLETE['submitted']}")
    if summary.n_left_out:
        lines = (
            "1 bad line of the items file was"
            if summary.n_left_out == 1
            else f"{summary.n_left_out} bad lines of the items file were"
        )
        yield Caution("left_out", f"{lines} skipped (--skip-bad).")
    if summary.call_errors:
        n_failed = sum(summary.call_errors.values())
        kinds = ", ".join(f"{kind.replace('_', ' ')} {n}" for kind, n in sorted(summary.call_errors.items()))
        such = f", such as: {facts.first_error.rstrip('.')}" if facts.first_error else ""
        again = (
            "Repeat the command to retry them." if n_failed > n_reasks_failed and can_retry(summary) else ""
        )
        if summary.call_errors.get("too_long"):
            again += (
                " Prompts that are too long stay so: use a model with a longer context, or shorten the items"
                " (conversations: --transcript-tokens)."
            )
        if n_reasks_failed:
            again += (
                f" {n_reasks_failed} of them asked again after an unreadable reply: that reply counts as "
                "unread."
            )
        yield Caution(
            "failed_calls",
            f"{count(n_failed, 'call')} got no reply ({kinds}){such}. {again.strip()}",
        )


def can_retry(summary: Summary) -> bool:
    """Whether some call that failed may be answered when the command is repeated."""
    return any(n for kind, n in summary.call_errors.items() if kind != "too_long")


def _identical_samples(summary: Summary, facts: RunFacts) -> Iterator[Caution]:
    if facts.has_identical_samples:
        yield Caution(
            "identical_samples",
            f"All {summary.parameters.get('samples')} samples of every item are the same reply, so "
            "they say no more than one. Sample at a temperature above 0, and check that the server "
            "varies its seed.",
        )


def _all_failed(summary: Summary) -> Iterator[Caution]:
    if summary.n_scores and summary.n_failed == summary.n_scores:
        yield Caution(
            "all_failed",
            f"None of the {summary.n_scores:,} scores could be read. Check the replies first: adjudge "
            f"runs show {summary.run or 'last'}.",
        )


def _fake_models(summary: Summary) -> Iterator[Caution]:
    fakes = [spec for spec, model in summary.models.items() if model.is_fake]
    if fakes:
        named = listed(list(map(short_spec, fakes)))
        yield Caution(
            "fake_model",
            f"{named} is a fake judge for tests: these numbers say nothing about any system.",
        )


def _changed_models(summary: Summary) -> Iterator[Caution]:
    # Each stage of a cascade has a separate model.
    n_expected = len(summary.cascade["stages"]) if summary.cascade else 1
    for spec, model in summary.models.items():
        if len(model.names) > n_expected:
            seen = listed([f"{name} ({n} replies)" for name, n in model.names.items()])
            yield Caution(
                "model_changed",
                f"{spec} reported {len(model.names)} model names during this run: {seen}. Scores before and "
                "after the change come from different judges.",
            )
        elif len(model.fingerprints) > n_expected:
            yield Caution(
                "model_changed",
                f"{spec} replied under {len(model.fingerprints)} system fingerprints: the provider changed "
                "its backend during this run.",
            )


def _partial_panels(summary: Summary) -> Iterator[Caution]:
    cells = [cell for cells in summary.systems.values() for cell in cells.values()]
    pairs = [pair for pairs in summary.pairs.values() for pair in pairs]
    n_partial = sum(cell.n_partial for cell in cells) + sum(pair.n_partial for pair in pairs)
    n = sum(cell.n for cell in cells) + sum(pair.won_by_a.n for pair in pairs)
    if n_partial:
        yield Caution(
            "partial_panel",
            f"{n_partial:,} of {n:,} pooled scores lack at least one judge: they are based on the judges "
            "that answered.",
        )


def _unknown_directions(summary: Summary) -> Iterator[Caution]:
    unknown = [
        name
        for name, about in summary.criteria.items()
        if about.scale is not None and about.scale.best == "unknown"
    ]
    if unknown:
        yield Caution(
            "direction_unknown",
            f"It is unknown which end of the scale of {listed(unknown)} is good: the report shows "
            "raw values and does not rank systems by them.",
        )


def _not_comparable(summary: Summary) -> Iterator[Caution]:
    unbounded = [
        name
        for name, about in summary.criteria.items()
        if about.scale is not None and (about.scale.low is None or about.scale.high is None)
    ]
    if unbounded and len(summary.models) > 1:
        yield Caution(
            "not_comparable",
            f"Log-probabilities of different models have no common scale: for {listed(unbounded)}, "
            "read each judge separately, not the mean over judges.",
        )


def _no_information(summary: Summary, spreads: Spreads) -> Iterator[Caution]:
    for (criterion, model), spread in spreads.items():
        if spread.n < _FEWEST_FOR_SPREAD or spread.mode_share is None or spread.mode is None:
            continue
        is_narrow = spread.relative_entropy is not None and spread.relative_entropy < _LITTLE_ENTROPY
        if spread.mode_share >= _SAME or is_narrow:
            whose = f" of {model}" if len(summary.models) > 1 else ""
            verb = "round to" if _has_values_between(summary, criterion) else "are"
            yield Caution(
                "no_information",
                f"{round(spread.mode_share * spread.n):,} of {spread.n:,} scores{whose} on {criterion} "
                f"{verb} {spread.mode:g}: they hardly discriminate between items. A narrow interval "
                "here is no sign of quality.",
            )


def _has_values_between(summary: Summary, criterion: str) -> bool:
    """Whether scores lie between the levels, as means of samples and of probabilities do."""
    about = summary.criteria.get(criterion)
    scale = None if about is None else about.scale
    levels = {key_text(level) for level in scale.values()} if scale is not None else set()
    cells = [cells[criterion] for cells in summary.systems.values() if criterion in cells]
    return bool(levels) and any(
        cell.distribution_of == "nearest levels" or not levels.issuperset(cell.distribution) for cell in cells
    )


def _few_groups(summary: Summary) -> Iterator[Caution]:
    few = {
        criterion: cell.n_groups
        for cells in summary.systems.values()
        for criterion, cell in cells.items()
        if cell.n_groups is not None and cell.n_groups < _FEW_GROUPS and cell.n > 1
    }
    if few:
        fewest = min(few.values())
        yield Caution(
            "few_groups",
            "Items of one group are not independent, so intervals count groups, and there are as "
            f"few as {fewest}. The intervals of {listed(list(few))} are wide and approximate.",
        )


def _cut_conversations(summary: Summary) -> Iterator[Caution]:
    if n := summary.flags.get("transcript_cut", 0):
        whose = "1 item has a conversation" if n == 1 else f"{n} items have conversations"
        yield Caution(
            "transcript_cut",
            f"{whose} longer than the limit: the judge saw the beginning and the end (transcript_cut). "
            "--transcript-tokens N shows more.",
        )


def _injections(summary: Summary) -> Iterator[Caution]:
    changes: list[tuple[float, str]] = []
    flagged: Counter[str] = Counter()
    for system, cells in summary.systems.items():
        for criterion, cell in cells.items():
            flagged[criterion] += cell.n_flagged
            if cell.without_flagged is not None:
                changes.append(_change(system, short_name(criterion), cell, cell.without_flagged))
    # The same text has a score, and its flag, on every criterion.
    n_flagged = max(flagged.values(), default=0)
    if n_flagged:
        largest = [text for _, text in sorted(changes, key=lambda change: -change[0])]
        yield Caution(
            "injection_suspected",
            f"{count(n_flagged, 'judged text')} may contain instructions to the judge (injection_suspected). "
            "Mean with and without them: "
            f"{listed(largest, between='; ')}.",
        )


def _change(system: str, criterion: str, cell: Cell, without: Estimate) -> tuple[float, str]:
    """How far a mean moves without the flagged items, as a number and as text."""
    if cell.value is None or without.value is None:
        return 0.0, f"{system} {criterion} {_number(cell)}, without {without.reason or 'none'}"
    moved = abs(cell.value - without.value)
    return (
        moved,
        f"{system} {criterion} {_number(cell)} and {_number(without)} (n={cell.n:,} and {without.n:,})",
    )


def _near_duplicates(summary: Summary) -> Iterator[Caution]:
    alike = [
        f"{correlation.criteria[0]} and {correlation.criteria[1]} "
        f"({number(correlation.spearman.value)}, n={correlation.spearman.n:,})"
        for correlation in summary.correlations
        if correlation.spearman.value is not None
        and correlation.spearman.value >= _NEAR_DUPLICATE
        and correlation.spearman.n >= _FEWEST_FOR_DUPLICATES
    ]
    if alike:
        yield Caution(
            "near_duplicates",
            f"These criteria have nearly the same scores (Spearman): {listed(alike, between='; ')}. "
            "Do not average them as if they were independent: the mean would look more certain than "
            "it is.",
        )


def _number(estimate: Estimate) -> str:
    return "none" if estimate.value is None else number(estimate.value)
