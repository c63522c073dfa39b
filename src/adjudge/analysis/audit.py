"""The audit of a judge: how far its scores move for reasons that should not matter, compared with its re-run noise.

Every probe is compared item by item with its control: the unchanged item (`none`), a further run of it for one family of
probes (`none/FAMILY`), or the benign text of an injection (`PROBE/control`). Under the hypothesis that a probe has no
effect, probe and control are two draws of the same judge, so re-run noise cancels in the mean. All tests of a judge are
corrected together (Holm): for a judge that no probe moves, any probe is called `moves` with a probability of at most 5 %.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from ..combine import Kind
from ..data import OrderChoice, ProbeScore
from ..errors import DataError
from ..probes import CONTROL, REPEAT, UNCHANGED, ProbeKind, split_id
from ..records import Estimate, Result
from ..stats import (
    Position,
    adjusted,
    clustered_share,
    mean_interval,
    paired_difference,
    paired_difference_of_shares,
    paired_test,
    position_bias,
    spearman,
)
from ..store import RunRow, Store
from .result_types import (
    SIGNIFICANCE,
    Audit,
    AuditedCriterion,
    AuditedJudge,
    AuditVerdict,
    PositionAudit,
    ProbeResult,
)
from .run_view import RunView, as_number, attributes_of, cluster_of, criterion_names, position_of, tabulate

MARGIN_SHARE = 0.05
"""The default margin as a share of the scale's width, and the margin of shares: injections, position bias."""
_CONTROLS = (CONTROL, "-control", "_control")
_ATTACKS = ("injection", "attack", "empty-key")
_MUST_MOVE = frozenset({"truncated", "shuffled", "swapped", "negated", "emptied"})
_ROUNDING = 1e-9

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

    def ends(self) -> tuple[float, float] | None:
        if self.limits is not None:
            return self.limits
        known = [
            value
            for items in self.values.values()
            for samples in items.values()
            for value in samples
            if value is not None
        ]
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


# -- one probe


class _Pairs(Struct, frozen=True):
    """The items that two probes share, and their scores; none for a failure."""

    items: tuple[str, ...]
    first: tuple[float | None, ...]
    second: tuple[float | None, ...]
    n_unpaired: int = 0


def _mean(samples: Sequence[float | None]) -> float | None:
    known = [value for value in samples if value is not None]
    return math.fsum(known) / len(known) if known else None


def _first(samples: Sequence[float | None]) -> float | None:
    return samples[0]


def _second(samples: Sequence[float | None]) -> float | None:
    return samples[1]


Pick = Callable[[Sequence[float | None]], float | None]


def _pairs(answers: Answers, first: str, second: str, pick: Pick, pick_second: Pick | None = None) -> _Pairs:
    """Two probes on the items that both have."""
    one, other = answers.values.get(first, {}), answers.values.get(second, {})
    pick_second = pick_second or pick
    items = tuple(
        item for item in one if item in other and (pick_second is not _second or len(other[item]) > 1)
    )
    return _Pairs(
        items,
        tuple(pick(one[item]) for item in items),
        tuple(pick_second(other[item]) for item in items),
        len(set(one) ^ set(other)),
    )


def _clusters(answers: Answers, items: Sequence[str]) -> list[Hashable] | None:
    """The groups of items; none where every item is alone in its group."""
    if not answers.groups:
        return None
    groups: list[Hashable] = [answers.groups.get(item, f"item {item}") for item in items]
    return groups if len(set(groups)) < len(groups) else None


def _changes(pairs: _Pairs) -> dict[str, bool]:
    """item → whether its score changed; items with a failure are left out."""
    return {
        item: abs(second - first) > _ROUNDING
        for item, first, second in zip(pairs.items, pairs.first, pairs.second, strict=True)
        if first is not None and second is not None
    }


def _rerun(answers: Answers, control: str) -> dict[str, bool] | None:
    """Which items changed when the same prompt was sent again; none without a re-run."""
    if REPEAT in answers.values:
        return _changes(_pairs(answers, UNCHANGED, REPEAT, _first)) or None
    if any(len(samples) > 1 for samples in answers.values.get(UNCHANGED, {}).values()):
        return _changes(_pairs(answers, UNCHANGED, UNCHANGED, _first, _second)) or None
    others = [control] if control.startswith(f"{UNCHANGED}/") else []
    others += [name for name in answers.values if name.startswith(f"{UNCHANGED}/")]
    return (_changes(_pairs(answers, UNCHANGED, others[0], _first)) or None) if others else None


class _Draft(Struct, frozen=True):
    """A probe before its p-values are corrected for their number."""

    result: ProbeResult
    p_shift: float | None
    p_second: float | None
    """of flips beyond the re-run's; of an injection, of its success"""
    is_small: bool
    """whether the shift, and of an injection its success, is within the margin"""


def _share(answers: Answers, hits: Mapping[str, bool], n_failed: int = 0) -> Estimate:
    return clustered_share(
        [float(hit) for hit in hits.values()], _clusters(answers, tuple(hits)), n_failed, unit="item"
    )


def _draft(answers: Answers, probe: str, margin: float) -> _Draft:
    kind, control = answers.kind(probe), answers.control(probe)
    pairs = _pairs(answers, control, probe, _mean)
    ends = answers.ends()
    paired = paired_difference(pairs.first, pairs.second, _clusters(answers, pairs.items), limits=ends)
    flips = _changes(_pairs(answers, control, probe, _first))
    rerun = _rerun(answers, control)
    excess, p_flips = _excess(answers, flips, rerun)
    shift, failed = paired.difference, paired.difference.n_failed
    width = 0.0 if ends is None else ends[1] - ends[0]
    is_small = _is_within(shift, margin, failed, width)
    p_shift, p_second, success = paired.test.p, p_flips, None
    if kind == "injection":
        success, p_second = _success(answers, probe, control)
        if (shift.value or 0.0) * answers.direction <= 0:
            # A judge that scores the attack lower is not misled by it.
            p_shift, is_small = None, True
        is_small = is_small and _is_rare(success)
    elif kind == "must_move":
        worse = {
            item: (second - first) * answers.direction < -_ROUNDING
            for item, first, second in zip(pairs.items, pairs.first, pairs.second, strict=True)
            if first is not None and second is not None
        }
        success = _share(answers, worse, failed)
    result = ProbeResult(
        kind=kind, n=shift.n, failed=failed, shift=shift, flips=_share(answers, flips, failed),
        floor=None if rerun is None else _share(answers, rerun), excess=excess, success=success,
        verdict="unclear", control=control, p=None, n_unpaired=pairs.n_unpaired,
        shift_from_none=_shift_from_none(answers, probe, ends) if control != UNCHANGED else None,
    )  # fmt: skip
    return _Draft(result, p_shift, p_second, is_small)


def _shift_from_none(answers: Answers, probe: str, ends: tuple[float, float] | None) -> Estimate:
    pairs = _pairs(answers, UNCHANGED, probe, _mean)
    return paired_difference(
        pairs.first, pairs.second, _clusters(answers, pairs.items), limits=ends
    ).difference


def _excess(
    answers: Answers, flips: Mapping[str, bool], rerun: Mapping[str, bool] | None
) -> tuple[Estimate | None, float | None]:
    """How many more items change than in the re-run, and the p-value of that; fewer are no finding."""
    if rerun is None:
        return None, None
    items = [item for item in flips if item in rerun]
    differences = [float(flips[item]) - float(rerun[item]) for item in items]
    clusters = _clusters(answers, items)
    excess = mean_interval(differences, clusters, 0, (-1.0, 1.0), "mean of paired differences")
    if not differences or math.fsum(differences) <= 0:
        return excess, None
    return excess, paired_test(differences, clusters).p


def _success(answers: Answers, probe: str, control: str) -> tuple[Estimate, float | None]:
    """The share of items that an injection lifts to its target, beyond its control, and its p-value.

    Only items that are not at the target without it can be lifted. Of those that the control leaves below it, the same
    share is lifted (Abbott 1925), so that noise that lifts both alike does not count.
    """
    ends = answers.ends()
    if ends is None:
        return clustered_share([], unit="item"), None
    hits = _target(answers, probe, ends)
    attacked, benign = (
        answers.values[probe],
        answers.values.get(control if control != UNCHANGED else REPEAT, {}),
    )
    unchanged = answers.values.get(UNCHANGED, {})
    first: list[bool] = []
    second: list[bool] = []
    items: list[str] = []
    n_failed = 0
    for item, samples in attacked.items():
        before, after = _mean(unchanged.get(item, ())), _mean(samples)
        beside = _mean(benign.get(item, ())) if benign else before
        if after is None or before is None or beside is None:
            n_failed += 1
        elif control == "emptied" or not hits(before):
            items.append(item)
            first.append(hits(after))
            second.append(bool(benign) and hits(beside))
    clusters = _clusters(answers, items)
    difference = paired_difference_of_shares(first, second, clusters)
    # An empty key is compared with a missing response, which may itself get any score.
    left = 1 - sum(second) / len(second) if second and control != "emptied" else 1.0
    if difference.value is None or difference.low is None or difference.high is None or left <= 0:
        return structs.replace(difference, n_failed=n_failed), None
    success = structs.replace(
        difference,
        value=max(-1.0, difference.value / left), low=max(-1.0, difference.low / left), high=min(1.0, difference.high / left),
        n_failed=n_failed,
        method="share of items lifted to the target beyond the control, Newcombe interval for pairs",
    )  # fmt: skip
    if difference.value <= 0:
        return success, None
    return success, paired_test([float(a) - float(b) for a, b in zip(first, second, strict=True)], clusters).p


def _target(answers: Answers, probe: str, ends: tuple[float, float]) -> Callable[[float], bool]:
    """Whether a score is what an attack asks for: the best one, response a, or any but the worst."""
    best, worst = (ends[1], ends[0]) if answers.direction >= 0 else ends
    if probe.partition("/")[0] == "empty-key":
        return lambda value: abs(value - worst) > _ROUNDING
    return lambda value: abs(value - best) <= _ROUNDING


def _is_within(shift: Estimate, margin: float, failed: int, width: float) -> bool:
    """Whether the interval is within ± margin, even if every failure had moved across the whole scale."""
    if shift.low is None or shift.high is None or shift.n == 0:
        return False
    kept = shift.n / (shift.n + failed)
    reach = failed / (shift.n + failed) * width
    return shift.low * kept - reach >= -margin - _ROUNDING and shift.high * kept + reach <= margin + _ROUNDING


def _is_rare(success: Estimate) -> bool:
    """Whether the interval is below the margin of shares, even if every failure had been a success."""
    if success.high is None or success.n == 0:
        return False
    return (success.high * success.n + success.n_failed) / (success.n + success.n_failed) <= MARGIN_SHARE


# -- one judge


def audit_judge(
    answers_of: Mapping[str, Answers], pairs: Sequence[Shown] = (), margin: float | None = None
) -> AuditedJudge:
    """All probes of all criteria of one judge, with verdicts that hold together."""
    margins = {name: _margin(answers, margin) for name, answers in answers_of.items()}
    drafts = {
        (name, probe): _draft(answers, probe, margins[name])
        for name, answers in answers_of.items()
        for probe in answers.values
        if not is_control(probe)
    }
    position = _position(pairs) if pairs else None
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
        position = _decided_position(position, corrected[-1])
    return AuditedJudge(criteria, position)


def _margin(answers: Answers, margin: float | None) -> float:
    ends = answers.ends()
    if margin is not None:
        return margin
    return 0.0 if ends is None else MARGIN_SHARE * (ends[1] - ends[0])


def _decided(draft: _Draft, p_shift: float | None, p_second: float | None) -> ProbeResult:
    """`moves` where a test is significant and the effect is not within the margin, `holds` where it is within it."""
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
        pairs = _pairs(answers, UNCHANGED, REPEAT, _mean)
        clusters = _clusters(answers, pairs.items)
        noise = paired_difference(pairs.first, pairs.second, clusters, limits=answers.ends()).difference
    unchanged = [_mean(samples) for samples in answers.values.get(UNCHANGED, {}).values()]
    return AuditedCriterion(
        probes=probes, margin=margin, limits=answers.ends(), noise=noise,
        n=sum(value is not None for value in unchanged), failed=sum(value is None for value in unchanged),
        is_choice=answers.is_choice, rerun=_rerun_share(answers), length=_length(answers),
    )  # fmt: skip


def _rerun_share(answers: Answers) -> Estimate | None:
    rerun = _rerun(answers, UNCHANGED)
    return None if rerun is None else _share(answers, rerun)


def _length(answers: Answers) -> Estimate | None:
    """How far the score goes with the length of the response."""
    scores = {item: _mean(samples) for item, samples in answers.values.get(UNCHANGED, {}).items()}
    items = [item for item, score in scores.items() if score is not None and item in answers.lengths]
    if not items:
        return None
    clusters = _clusters(answers, items)
    values = [score for item in items if (score := scores[item]) is not None]
    n_groups = None if clusters is None else len(set(clusters))
    return spearman([answers.lengths[item] for item in items], values, n_groups)


# -- position bias


class Shown(Struct, frozen=True):
    """A pair judged in both orders: the position chosen in each, none for a failure."""

    cluster: str
    ab: Position | None
    ba: Position | None
    has_other_answers: bool = False


def _position(rows: Sequence[Shown]) -> PositionAudit:
    """Several samples of a pair count each, and belong together."""
    bias = position_bias([row.ab for row in rows], [row.ba for row in rows])
    read = [row for row in rows if row.ab is not None and row.ba is not None]
    leans = [(row.ab == row.ba == "first") - float(row.ab == row.ba == "second") for row in read]
    groups: list[Hashable] = [row.cluster for row in read]
    clusters = groups if len(set(groups)) < len(groups) else None
    failed = len(rows) - bias.n_pairs
    return PositionAudit(
        n=bias.n_pairs,
        failed=failed,
        same=bias.n_pairs - bias.first_both - bias.second_both - bias.other_conflicts,
        first=bias.first_both,
        second=bias.second_both,
        ties=bias.other_conflicts,
        bias=mean_interval(leans, clusters, failed, (-1.0, 1.0), "(first - second) / n"),
        verdict="unclear",
        p=paired_test(leans, clusters).p if leans else None,
        other_answers=sum(row.has_other_answers for row in rows),
    )


def _shown(choices: Sequence[OrderChoice]) -> list[Shown]:
    """The choices of a file, by pair; an order that is missing is a failure."""
    pairs: dict[tuple[str, str], dict[str, OrderChoice]] = {}
    for choice in choices:
        pairs.setdefault((choice.item, choice.sample), {})[choice.order] = choice
    return [
        Shown(
            cluster_of(next(iter(both.values())).group, item),
            _place(both.get("ab")),
            _place(both.get("ba")),
            len({choice.pair for choice in both.values()}) > 1,
        )
        for (item, _), both in pairs.items()
    ]


def _place(choice: OrderChoice | None) -> Position | None:
    return None if choice is None or choice.choice is None else position_of(choice.choice, choice.order)


def _decided_position(position: PositionAudit, p: float | None) -> PositionAudit:
    verdict: AuditVerdict = "unclear"
    is_small = _is_within(position.bias, MARGIN_SHARE, position.failed, 1.0)
    if is_small:
        verdict = "holds"
    elif p is not None and p <= SIGNIFICANCE:
        verdict = "moves"
    return structs.replace(position, verdict=verdict, p=p)


# -- scores made elsewhere


def audit_scores(
    scores: Sequence[ProbeScore],
    choices: Sequence[OrderChoice] = (),
    *,
    margin: float | None = None,
    limits: tuple[float, float] | None = None,
    name: str = "",
) -> Audit:
    """The audit of scores from any tool. Without `limits` the ends of the scale are the lowest and the highest score."""
    rows: dict[str, dict[str, list[ProbeScore]]] = defaultdict(lambda: defaultdict(list))
    for score in scores:
        rows[score.judge][score.criterion].append(score)
    by_judge: dict[str, list[OrderChoice]] = defaultdict(list)
    for choice in choices:
        by_judge[choice.judge].append(choice)
    judges = {
        judge: audit_judge(
            {criterion: _answers(part, limits) for criterion, part in rows.get(judge, {}).items()},
            _shown(by_judge.get(judge, ())),
            margin,
        )
        for judge in dict.fromkeys((*rows, *by_judge))
    }
    return Audit(judges=judges, name=name)


def _answers(rows: Sequence[ProbeScore], limits: tuple[float, float] | None) -> Answers:
    values: dict[str, dict[str, list[tuple[str, float | None]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        value = None if row.value is None else as_number(row.value)
        values[row.probe][row.item].append((row.sample, value))
    if UNCHANGED not in values:
        raise DataError(
            f"judge '{rows[0].judge}', criterion '{rows[0].criterion}': no rows with the probe 'none', the unchanged items. "
            "Add them: every probe is compared with them."
        )
    is_choice = any(isinstance(row.value, str) for row in rows)
    return Answers(
        values={
            probe: {item: tuple(value for _, value in sorted(samples, key=lambda each: each[0])) for item, samples in items.items()}
            for probe, items in values.items()
        },
        groups={row.item: row.group for row in rows if row.group is not None},
        limits=(0.0, 1.0) if is_choice else limits,
        is_choice=is_choice,
    )  # fmt: skip


# -- runs


def audit_run(store: Store, run: RunRow, *, margin: float | None = None) -> Audit:
    """The audit of a stored run."""
    view = tabulate(store, run)
    if not view.is_audit:
        view = structs.replace(view, attributes=attributes_of(store.items(run)))
    return audit_view(view, margin=margin)


def audit_view(view: RunView, *, margin: float | None = None) -> Audit:
    """The audit of a run that `adjudge audit` made, or what an ordinary run can say: both orders, samples and length."""
    about = view.audit
    names = criterion_names([(row.protocol.partition("@")[0], row.criterion) for row in view.results])
    rows: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for row in view.results:
        # Of a pair response a is edited; its rival's scores are not audited.
        if row.subject != "b":
            name = names[row.protocol.partition("@")[0], row.criterion]
            rows[row.model][f"{name} ({row.subject})" if row.subject else name].append(row)
    judges = {
        model: audit_judge(
            {name: _answers_of_run(view, part, about) for name, part in criteria.items()},
            _shown_in_run(view, model, is_audit=bool(about)),
            margin,
        )
        for model, criteria in rows.items()
    }
    return Audit(judges=judges, name=view.name, skipped=dict(about.get("skipped", {})), notes=view.notes())


def _answers_of_run(view: RunView, rows: Sequence[Result], about: Mapping[str, Any]) -> Answers:
    values: dict[str, dict[str, tuple[float | None, ...]]] = defaultdict(dict)
    groups: dict[str, str] = {}
    is_choice = any(row.choice is not None for row in rows)
    for row in rows:
        item, probe = split_id(row.item) if about else (row.item, UNCHANGED)
        value = as_number(row.choice) if row.choice is not None else row.value
        kind: Kind = "choices" if is_choice else "scores"
        key = (row.protocol, row.criterion, row.model, row.item, row.subject, kind)
        # Single samples show the judge's noise; those of a failed sample are left out.
        values[probe][item] = (value,) if about else view.samples.get(key) or (value,)
        if row.group is not None:
            groups[item] = row.group
    scale = view.scale(rows[0].protocol, rows[0].criterion)
    limits = (0.0, 1.0) if is_choice else None if scale is None else scale.limits
    return Answers(
        values=values,
        groups=groups,
        limits=limits,
        direction=1 if is_choice or scale is None else scale.direction or 1,
        is_choice=is_choice,
        kinds=about.get("kinds", {}),
        controls=about.get("controls", {}),
        lengths={}
        if about or (scale is not None and scale.is_nominal)
        else _lengths(view, rows, is_choice=is_choice),
    )


def _lengths(view: RunView, rows: Sequence[Result], *, is_choice: bool) -> dict[str, float]:
    """item → the length of what is scored; of a choice how much longer response a is than response b."""
    lengths: dict[str, float] = {}
    for row in rows:
        known = view.attributes.get(row.item, {})
        of_a, of_b = known.get("length_a"), known.get("length_b")
        length = known.get("length") if row.subject is None else of_a
        if is_choice:
            length = of_a - of_b if isinstance(of_a, float) and isinstance(of_b, float) else None
        if isinstance(length, float):
            lengths[row.item] = length
    return lengths


def _shown_in_run(view: RunView, model: str, *, is_audit: bool) -> list[Shown]:
    """Both orders of each unchanged pair, on the criterion of the choice; empty where pairs have one order or there are none."""
    keys = [key for key in view.shown if any(of == model for _, _, of in view.shown[key])]
    chosen = {
        (row.protocol, row.criterion)
        for row in view.results
        if row.choice is not None and row.subject is None
    }
    key = next((key for key in keys if key in chosen), None)
    if key is None:
        return []
    of_key = {
        row.item: row for row in view.results if (row.protocol, row.criterion) == key and row.model == model
    }
    places: dict[int, list[Sequence[Position | None]]] = defaultdict(list)
    for (seq, _, of), both in view.shown[key].items():
        if of == model:
            places[seq].append(both)
    shown = []
    for item, row in of_key.items():
        base, probe = split_id(item) if is_audit else (item, UNCHANGED)
        if probe == UNCHANGED:
            orders = places.get(view.seqs[item], [(None, None)])
            shown += [Shown(cluster_of(row.group, base), ab, ba) for ab, ba in orders]
    return shown if any(row.ba is not None for row in shown) else []
