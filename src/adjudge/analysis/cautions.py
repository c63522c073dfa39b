"""The warnings of a report: what to know before using a number, and why it matters.

Each rule reads a finished summary and yields nothing where it does not apply. Texts may contain names that users chose;
the printers escape them.

Also the family of a model, by its name, because judges tend to prefer texts of their own family. One small table of
patterns matches whole words: a name that only contains the letters of another (`philosophy`, `command-line`, `metaphor`)
has no family. A name that is not in the table has none either, and there is no warning about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..records import Estimate
from ..stats import difference_of_shares
from ..words import count, interval, listed, number, p_phrase, percent, share
from .result_types import Caution, Cell, Spreads, Summary
from .run_view import RunFacts

# Judges that are too weak, of the same family as a system, outliers in a panel, or biased by position

_MANY_CONFLICTS = 0.1
_LITTLE_ALPHA = 0.667
"""Krippendorff's own limit for tentative conclusions (2004)."""
_FEWEST_FOR_ALPHA = 10
_CLEAR_P = 0.05
_SMALL = re.compile(r"smollm2?-?135m")


def weak_judges(summary: Summary, facts: RunFacts) -> Iterator[Caution]:
    """The embedded model writes scores that do not follow the rubric; its likelihoods are usable."""
    is_prompted = any(protocol.reader not in (None, "likelihood") for protocol in facts.protocols)
    weak = [spec for spec, model in summary.models.items() if is_small(spec, list(model.names))]
    if weak and is_prompted:
        yield Caution(
            "weak_judge",
            f"{listed(weak)}: this model is too small to follow a rubric, so its written scores carry almost no "
            "information. Use a larger model, or judge by likelihood (protocols gptscore/…).",
        )


def is_small(spec: str, names: list[str]) -> bool:
    """Whether a judge is the embedded model, or a file of the same one."""
    if spec == "local":
        return True
    candidates = [spec.rpartition("/")[2], *names]
    return spec.startswith("local:") and any(_SMALL.search(name.lower()) for name in candidates)


def self_preference(summary: Summary) -> Iterator[Caution]:
    """Judges tend to prefer texts of their own family (Panickssery et al. 2024)."""
    pairs = [pair for pairs in summary.pairs.values() for pair in pairs]
    named = [*summary.systems, *(name for pair in pairs for name in (pair.system_a, pair.system_b))]
    systems = {name: family for name in dict.fromkeys(named) if (family := family_of(name))}
    for spec, model in summary.models.items():
        family = family_of_judge(spec, model.names)
        related = [name for name, system_family in systems.items() if system_family == family]
        if related and len(dict.fromkeys(named)) > 1:
            yield Caution(
                "self_preference",
                f"{spec} judges systems of its own model family ({family}): {listed(related)}. Judges tend to prefer texts "
                "of their own family (self-preference bias). Check the results with a judge of another family or with human labels.",
            )


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
                f"On {criterion}, {panel.stands_apart} is an outlier: Krippendorff's alpha is {interval(without, 2)} without it "
                f"and {interval(alpha, 2)} with it (n={alpha.n}).",
            )
        elif alpha.value < _LITTLE_ALPHA:
            yield Caution(
                "panel_disagrees",
                f"On {criterion}, the judges agree poorly: Krippendorff's alpha {interval(alpha, 2)}, n={alpha.n}. Their "
                f"{panel.pooled} hides this disagreement.",
            )


def order_effects(summary: Summary) -> Iterator[Caution]:
    """Choices that change with the order, and position bias."""
    if summary.pairs and summary.parameters.get("order") == "given":
        yield Caution(
            "one_order",
            "Each pair was shown in one order only (--order given), so position bias cannot be separated from a better "
            "response. --order both shows each pair in both orders.",
        )
    for criterion, pairs in summary.pairs.items():
        n = sum(pair.order_conflicts.n for pair in pairs)
        changed = round(sum((pair.order_conflicts.value or 0.0) * pair.order_conflicts.n for pair in pairs))
        if n and changed / n >= _MANY_CONFLICTS:
            yield Caution(
                "order_conflict",
                f"{changed} of {n} choices on {criterion} changed when the two responses were swapped. "
                "They count as ties.",
            )
    if n := summary.flags.get("identical_responses", 0):
        yield Caution(
            "identical_responses",
            f"{count(n, 'pair')} with two identical responses (identical_responses): a tie, without a position.",
        )
    yield from _position_bias(summary)


def _position_bias(summary: Summary) -> Iterator[Caution]:
    if summary.parameters.get("order") == "given":
        return
    judges = {spec: model.order for spec, model in summary.models.items() if model.order}
    biases = judges or {"the judge": summary.order}
    n_tests = sum(len(by_criterion) for by_criterion in biases.values())
    for judge, by_criterion in biases.items():
        for criterion, bias in by_criterion.items():
            share = bias.first_share
            if bias.p is None or bias.p * n_tests >= _CLEAR_P or share.value is None:
                continue
            position = "first" if share.value > 0.5 else "second"
            advice = (
                "Only results over both orders are unbiased."
                if bias.n_pairs
                else "--order both removes this bias."
            )
            yield Caution(
                "position",
                f"On {criterion}, {judge} prefers the response shown {position} (position bias): the first response won "
                f"{percent(share)} of {share.n} choices ({p_phrase(bias.p)}). {advice}",
            )


def contradictions(summary: Summary) -> Iterator[Caution]:
    n = summary.flags.get("verdict_contradicts_scores", 0)
    if n:
        yield Caution(
            "contradiction",
            f"In {n} of {count(summary.n_items, 'item')}, the judge chose the response to which it gave the lower score "
            "(verdict_contradicts_scores): its choices and its scores disagree.",
        )


def between_levels(summary: Summary) -> Iterator[Caution]:
    n = summary.flags.get("between_levels", 0)
    if n:
        yield Caution(
            "between_levels",
            f"In {n} of {count(summary.n_items, 'item')}, the judge gave a score between levels, such as 4.5 on a scale of whole "
            "numbers, which counts as failed. To accept half points: adjudge run … --step 0.5.",
        )


_SAME = 0.9
"""From this share of one value on, scores do not discriminate between items."""
_LITTLE_ENTROPY = 0.2
"""Below this share of the possible entropy they do not either."""
_FEWEST_FOR_SPREAD = 5
_FEW_GROUPS = 10
_NEAR_DUPLICATE = 0.9
_FEWEST_FOR_DUPLICATES = 10
_CLEAR_GAP = 0.02
"""Smaller differences of failure rates do not matter, even if they are significant."""


def cautions(summary: Summary, spreads: Spreads, facts: RunFacts) -> tuple[Caution, ...]:
    """All warnings, the most severe first."""
    return (
        *_incomplete(summary, facts),
        *_all_failed(summary),
        *_fake_models(summary),
        *weak_judges(summary, facts),
        *_changed_models(summary),
        *_uneven_failures(summary),
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
        f"this store has {kept}; {absent} missing or incomplete. Run the same command with --shard K/{n} for each, then "
        "merge the stores of all shards: adjudge runs merge FILE… --store FILE."
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
        yield Caution("incomplete", f"Only {summary.n_items} of {summary.n_planned} items are judged: {why}")
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
        again = "Repeat the command to retry them." if n_failed > n_reasks_failed else ""
        if n_reasks_failed:
            again += f" {n_reasks_failed} of them asked again after an unreadable reply: that reply counts as unread."
        yield Caution(
            "failed_calls",
            f"{count(n_failed, 'call')} got no reply ({kinds}). {again.strip()}",
        )


def _identical_samples(summary: Summary, facts: RunFacts) -> Iterator[Caution]:
    if facts.has_identical_samples:
        yield Caution(
            "identical_samples",
            f"All {summary.parameters.get('samples')} samples of every item are the same reply, so they say no more than one. "
            "Sample at a temperature above 0, and check that the server varies its seed.",
        )


def _all_failed(summary: Summary) -> Iterator[Caution]:
    if summary.n_scores and summary.n_failed == summary.n_scores:
        yield Caution(
            "all_failed",
            f"None of the {summary.n_scores} scores could be read. Check the replies first: adjudge runs show {summary.run or 'last'}.",
        )


def _fake_models(summary: Summary) -> Iterator[Caution]:
    fakes = [spec for spec, model in summary.models.items() if model.is_fake]
    if fakes:
        yield Caution(
            "fake_model",
            f"{listed(fakes)} is a fake judge for tests: these numbers say nothing about any system.",
        )


def _changed_models(summary: Summary) -> Iterator[Caution]:
    for spec, model in summary.models.items():
        if len(model.names) > 1:
            seen = listed([f"{name} ({n} replies)" for name, n in model.names.items()])
            yield Caution(
                "model_changed",
                f"{spec} reported {len(model.names)} model names during this run: {seen}. Scores before and "
                "after the change come from different judges.",
            )
        elif len(model.fingerprints) > 1:
            yield Caution(
                "model_changed",
                f"{spec} replied under {len(model.fingerprints)} system fingerprints: the provider changed "
                "its backend during this run.",
            )


class _Failed(NamedTuple):
    """Replies, failed replies, and their items: only items are independent."""

    n: int
    failed: int
    n_items: int

    @property
    def rate(self) -> float:
        return self.failed / self.n if self.n else 0.0


def _uneven_failures(summary: Summary) -> Iterator[Caution]:
    """Systems whose replies fail more often than the others', over all criteria or on one of them."""
    noun = "replies" if summary.n_samples > summary.n_scores else "scores"
    shares = summary.failures_by_system.items()
    overall = {
        name: _Failed(share.n_samples, share.n_samples_failed, share.n_items) for name, share in shares
    }
    uneven = _failing_more(overall) if _are_unequal(summary.failures_p) else {}
    if uneven:
        yield _uneven("", noun, overall, uneven)
    for criterion, about in summary.criteria.items() if len(summary.criteria) > 1 else ():
        if not _are_unequal(about.failures_p, len(summary.criteria)):
            continue
        cells = {name: by[criterion] for name, by in summary.systems.items() if criterion in by}
        counts = {
            name: _Failed(cell.n_samples, cell.n_samples_failed, cell.n + cell.n_failed)
            for name, cell in cells.items()
        }
        more = _failing_more(counts, len(summary.criteria))
        if any(name not in uneven for name in more):
            yield _uneven(f"On {criterion}, ", noun, counts, more)


def _are_unequal(p: float | None, n_tests: int = 1) -> bool:
    """Whether failure rates differ at all: only then is a system singled out, or the largest of many would be by chance."""
    return p is not None and p * n_tests < _CLEAR_P


def _failing_more(systems: Mapping[str, _Failed], n_criteria: int = 1) -> dict[str, str]:
    """Systems that fail more often than all others together, or than the one that fails least.

    The worst first, each with what it was compared with. The confidence level rises with the number of
    comparisons.
    """
    least = min(systems, key=lambda name: systems[name].rate, default="")
    compared_with = {}
    for name in sorted(systems, key=lambda name: -systems[name].rate):
        n_pairs = len(systems) * (len(systems) - 1) // 2
        if _is_clear(systems[name], _rest(systems, name), len(systems) * n_criteria):
            compared_with[name] = "the other systems"
        elif name != least and _is_clear(systems[name], systems[least], n_pairs * n_criteria):
            compared_with[name] = least
    return compared_with


def _is_clear(counts: _Failed, other: _Failed, n_tests: int) -> bool:
    gap = difference_of_shares(
        counts.rate * counts.n_items,
        counts.n_items,
        other.rate * other.n_items,
        other.n_items,
        1 - 0.05 / n_tests,
    )
    return gap.value is not None and gap.low is not None and gap.low > 0 and gap.value >= _CLEAR_GAP


def _rest(systems: Mapping[str, _Failed], name: str) -> _Failed:
    others = [counts for other, counts in systems.items() if other != name]
    return _Failed(*(sum(numbers) for numbers in zip(*others, strict=True))) if others else _Failed(0, 0, 0)


def _uneven(where: str, noun: str, systems: Mapping[str, _Failed], more: Mapping[str, str]) -> Caution:
    worst, *others = more
    counts = systems[worst]
    reference = more[worst]
    other = systems[reference] if reference in systems else _rest(systems, worst)
    also = f" The same holds for {listed(others)}." if others else ""
    return Caution(
        "uneven_failures",
        f"{where}{counts.failed:,} of {counts.n:,} {noun} of {worst} failed ({share(counts.rate)}), compared with "
        f"{other.failed:,} of {other.n:,} ({share(other.rate)}) of {reference}. Poor outputs cause more unreadable "
        f"replies, so the mean over the rest overstates {worst}: check the range including failures.{also}",
    )


def _partial_panels(summary: Summary) -> Iterator[Caution]:
    cells = [cell for cells in summary.systems.values() for cell in cells.values()]
    pairs = [pair for pairs in summary.pairs.values() for pair in pairs]
    n_partial = sum(cell.n_partial for cell in cells) + sum(pair.n_partial for pair in pairs)
    n = sum(cell.n for cell in cells) + sum(pair.won_by_a.n for pair in pairs)
    if n_partial:
        yield Caution(
            "partial_panel",
            f"{n_partial} of {n} pooled scores lack at least one judge: they are based on the judges that answered.",
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
            f"It is unknown which end of the scale of {listed(unknown)} is good: the report shows raw values and does "
            "not rank systems by them.",
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
            f"Log-probabilities of different models have no common scale: for {listed(unbounded)}, read each judge "
            "separately, not the mean over judges.",
        )


def _no_information(summary: Summary, spreads: Spreads) -> Iterator[Caution]:
    for (criterion, model), spread in spreads.items():
        if spread.n < _FEWEST_FOR_SPREAD or spread.mode_share is None or spread.mode is None:
            continue
        is_narrow = spread.relative_entropy is not None and spread.relative_entropy < _LITTLE_ENTROPY
        if spread.mode_share >= _SAME or is_narrow:
            whose = f" of {model}" if len(summary.models) > 1 else ""
            # Means of samples lie between the levels, and are counted at the nearest.
            verb = "round to" if summary.estimator in ("samples", "probability") else "are"
            yield Caution(
                "no_information",
                f"{round(spread.mode_share * spread.n)} of {spread.n} scores{whose} on {criterion} {verb} {spread.mode:g}: "
                "they hardly discriminate between items. A narrow interval here is no sign of quality.",
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
            f"Items of one group are not independent, so intervals count groups, and there are as few as {fewest}. "
            f"The intervals of {listed(list(few))} are wide and approximate.",
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
    n_flagged = 0
    for system, cells in summary.systems.items():
        for criterion, cell in cells.items():
            n_flagged += cell.n_flagged
            if cell.without_flagged is not None:
                changes.append(_change(system, criterion, cell, cell.without_flagged))
    if n_flagged:
        largest = [text for _, text in sorted(changes, key=lambda change: -change[0])]
        yield Caution(
            "injection_suspected",
            f"{n_flagged} {'score is of a text that seems' if n_flagged == 1 else 'scores are of texts that seem'} "
            f"to address the judge (injection_suspected). "
            f"Mean with and without them: {listed(largest, between='; ')}.",
        )


def _change(system: str, criterion: str, cell: Cell, without: Estimate) -> tuple[float, str]:
    """How far a mean moves without the flagged items, as a number and as text."""
    if cell.value is None or without.value is None:
        return 0.0, f"{system} {criterion} {_number(cell)}, without {without.reason or 'none'}"
    moved = abs(cell.value - without.value)
    return moved, f"{system} {criterion} {_number(cell)} and {_number(without)} (n={cell.n} and {without.n})"


def _near_duplicates(summary: Summary) -> Iterator[Caution]:
    alike = [
        f"{correlation.criteria[0]} and {correlation.criteria[1]} ({number(correlation.spearman.value)}, n={correlation.spearman.n})"
        for correlation in summary.correlations
        if correlation.spearman.value is not None
        and correlation.spearman.value >= _NEAR_DUPLICATE
        and correlation.spearman.n >= _FEWEST_FOR_DUPLICATES
    ]
    if alike:
        yield Caution(
            "near_duplicates",
            f"These criteria have nearly the same scores (Spearman): {listed(alike, between='; ')}. Do not average them as if "
            "they were independent: the mean would look more certain than it is.",
        )


def _number(estimate: Estimate) -> str:
    return "none" if estimate.value is None else number(estimate.value)


_FAMILIES = {
    "OpenAI": r"openai|chatgpt|gpt-?\d\w*|gpt-(?:oss|image)|gpt|o[134]|text-davinci|davinci",
    "Anthropic": r"anthropic|claude(?:-?v?\d+)?|claude",
    "Google": r"gemini|gemma-?\d*|palm-?2?|bard|google|text-bison",
    "Meta": r"(?:code)?llama-?\d*|llama",
    "Mistral": r"mistral(?:ai)?|mixtral|ministral|magistral|codestral",
    "Qwen": r"qwen-?\d*|qwq",
    "DeepSeek": r"deepseek",
    "01.AI": r"yi-(?:\d+b|large|lightning|medium|spark|vision)|yi-1-5",
    "Zhipu": r"(?:chat)?glm-?\d*",
    "Cohere": r"cohere|command-(?:r|a|light|nightly|xlarge)|aya",
    "xAI": r"xai|grok-?\d*",
    "Microsoft": r"phi-?\d|wizardlm",
    "Hugging Face": r"smollm-?\d?|zephyr",
    "Moonshot": r"moonshot|kimi",
    "Nvidia": r"nemotron",
    "Amazon": r"amazon-nova|nova-(?:micro|lite|pro|premier)|titan-text",
    "AI21": r"ai21|jamba",
    "Baidu": r"ernie",
    "InternLM": r"internlm-?\d*",
    "Baichuan": r"baichuan-?\d*",
}
"""family → names, as whole words of a name in which all other characters are hyphens"""

_NOT_OPENAI = re.compile(r"gpt-(?:j|neo|neox|2|bigcode)(?![a-z])|gpt2|[a-z]+gpt(?<!chatgpt)")
"""Models that are named after GPT but made by others, or too old to be related."""

_PATTERNS = {
    family: re.compile(rf"(?<![a-z0-9])(?:{names})(?![a-z0-9])") for family, names in _FAMILIES.items()
}


def family_of(name: str) -> str | None:
    """The family that a name belongs to, if any."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower())
    for family, pattern in _PATTERNS.items():
        if pattern.search(plain) and not (family == "OpenAI" and _NOT_OPENAI.search(plain)):
            return family
    return None


def family_of_judge(spec: str, names: Iterable[str]) -> str | None:
    """The family of a judge, by the name it reports or by its spec; a fake or a file of replies has none."""
    for name in names:
        if family := family_of(name):
            return family
    start, _, rest = spec.partition(":")
    if start in ("fake", "replay"):
        return None
    if start in ("http", "https"):
        return family_of(spec.partition("#")[2])
    if start == "local":
        return family_of(rest.rpartition("/")[2]) if rest else "Hugging Face"
    # openai:NAME may be any model on an OpenAI-compatible server.
    return family_of(rest) or ("Anthropic" if start == "anthropic" else None)
