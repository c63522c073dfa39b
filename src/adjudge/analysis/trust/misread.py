"""What misread replies do to a card: the share found by hand, and every interval widened for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from ...data.encoding import BrokenFileError
from ...data.table import Problems, Table
from ...records import Estimate, Scale
from ...stats import AltTest, Bounds, Confidence, PartAgreement, Retest, TieCalibration, TwoJudges, wilson
from ...stats.arrays import AnyEstimate, with_remark
from ...words import percent, share
from .card import (
    BestConstant,
    BestJudge,
    Card,
    ChosenJudge,
    CorrectedMean,
    CriterionCard,
    JudgePair,
    PeopleCeiling,
    Quality,
    SystemFailures,
)
from .recommendation import with_recommendation
from .replacement import replacement_verdict
from .two_judges import adjusted_sentences, two_judges_sentence
from .words.sentences import card_sentences, opening

_YES = ("yes", "y", "true", "1", "right")


_NO = ("no", "n", "false", "0", "wrong")


def misread_share(path: str | Path) -> Estimate:
    """The share of wrong readings in a file checked by hand, with Wilson's interval; empty rows are not
    counted.

    Several readings of one reply (one per criterion) go wrong together, so the interval counts replies.
    """
    table = Table(path)
    problems = Problems(table)
    n_right = n_wrong = 0
    replies: set[object] = set()
    try:
        for row_number, row in table.rows(problems.add):
            # A Boolean in JSON, or text that a person typed into a spreadsheet.
            answer = str(row["right"]).strip().lower() if row.get("right") is not None else ""
            if answer in _YES:
                n_right += 1
            elif answer in _NO:
                n_wrong += 1
            elif answer:
                problems.add(row_number, f"right is '{answer:.40}'. Write yes or no, or leave it empty.")
            if answer:
                reply_id = row.get("item"), row.get("order"), row.get("reply")
                replies.add(row_number if reply_id == (None, None, None) else tuple(map(str, reply_id)))
    except BrokenFileError as broken:
        if not problems:
            raise
        problems.add(0, broken.problem)
    n = n_right + n_wrong
    if not problems and n == 0:
        problems.add(0, "no row is checked. Write yes or no into the column 'right'.")
    if problems:
        raise problems.error()
    estimate = wilson(n_wrong / n * len(replies), len(replies))
    return structs.replace(estimate, value=n_wrong / n, n=n, unit=f"reply (n={len(replies)})")


def with_misread(card: Card, misread: Estimate) -> Card:
    """The card with every interval widened for misread replies, and its sentences rewritten."""
    upper = 1.0 if misread.high is None else misread.high
    run = card.run if card.is_stored else ""
    cards = {
        name: with_recommendation(_widen_criterion(criterion_card, upper), run)
        for name, criterion_card in card.criteria.items()
    }
    widened = [_widen_judges(pair, upper) for pair in card.judges]
    by_criterion: dict[str, list[JudgePair]] = defaultdict(list)
    for pair in widened:
        by_criterion[pair.criterion].append(pair)
    judges = tuple(pair for pairs in by_criterion.values() for pair in adjusted_sentences(pairs))
    note = (
        f"Of {misread.n} readings checked by hand, {round((misread.value or 0) * misread.n)} were "
        f"wrong ({percent(misread)}): every interval allows for up to {share(upper)} misread replies."
    )
    return structs.replace(
        card,
        summary=opening(cards, judges),
        criteria=cards,
        judges=judges,
        best=tuple(_widen_best(best, upper) for best in card.best),
        misread=misread,
        notes=(*card.notes, note),
    )


def _widen_criterion(card: CriterionCard, upper: float) -> CriterionCard:
    allowance = _Allowance(upper, card.scale, is_choices=card.kind == "choices")
    wider = structs.replace(
        card,
        item={name: allowance.agreement(name, estimate, card.item) for name, estimate in card.item.items()},
        group={
            name: allowance.agreement(name, estimate, card.group) for name, estimate in card.group.items()
        },
        system={
            name: allowance.agreement(name, estimate, card.system) for name, estimate in card.system.items()
        },
        pairwise=None if card.pairwise is None else allowance.pairs(card.pairwise),
        ceiling=None if card.ceiling is None else allowance.ceiling(card.ceiling),
        alt_test=None if card.alt_test is None else allowance.alt_test(card.alt_test),
        bias=allowance.mean(card.bias, limits=allowance.gaps),
        constant=None if card.constant is None else allowance.constant(card.constant),
        corrected={name: allowance.corrected(estimate) for name, estimate in card.corrected.items()},
        pooled=None if card.pooled is None else allowance.corrected(card.pooled),
        differences={
            name: allowance.corrected(estimate, times=2) for name, estimate in card.differences.items()
        },
        pass_share={
            name: allowance.corrected_by_labels(estimate) for name, estimate in card.pass_share.items()
        },
        calibration={name: allowance.distance(estimate) for name, estimate in card.calibration.items()},
        confidence=None if card.confidence is None else allowance.confidence(card.confidence),
        quality=allowance.quality(card.quality),
        by={
            name: {part: allowance.part(own, card.kind == "choices") for part, own in parts.items()}
            for name, parts in card.by.items()
        },
    )
    verdict = replacement_verdict(wider.alt_test, wider.ceiling)
    wider = structs.replace(wider, verdict=verdict)
    return structs.replace(wider, sentences=card_sentences(wider))


class _Allowance:
    """Widens each kind of estimate for a share of wrong readings."""

    def __init__(self, upper: float, scale: Scale | None, *, is_choices: bool) -> None:
        self.upper = upper
        self.text = f"up to {share(upper)} misread"
        self.limits = (0.0, 1.0) if is_choices else scale.limits if scale is not None else None

    @property
    def width(self) -> float | None:
        return None if self.limits is None else self.limits[1] - self.limits[0]

    @property
    def gaps(self) -> tuple[float, float] | None:
        """How far judge and people can be apart."""
        return None if self.width is None else (-self.width, self.width)

    def shifted(
        self, estimate: AnyEstimate, by: float, low: float | None = None, high: float | None = None
    ) -> AnyEstimate:
        """Both ends of the interval moved outwards by `by`, within `low` and `high`."""
        if estimate.value is None:
            return estimate
        if estimate.low is None or estimate.high is None:
            return with_remark(estimate, f"{self.text}, not included")
        ends = estimate.low - by, estimate.high + by
        # An interval that reaches beyond the scale already must not become narrower.
        least = ends[0] if low is None else max(ends[0], min(low, estimate.low))
        most = ends[1] if high is None else min(ends[1], max(high, estimate.high))
        wider = structs.replace(estimate, low=least, high=most)
        return with_remark(wider, f"widened by {by:.2g} for {self.text}")

    def stretched(self, estimate: AnyEstimate) -> AnyEstimate:
        """A coefficient with both ends stretched by the factor of random readings."""
        if estimate.value is None:
            return estimate
        if estimate.low is None or estimate.high is None:
            return with_remark(estimate, f"{self.text}, not included")
        kept = max(1e-9, 1 - self.upper)
        low = min(estimate.low * kept, estimate.low / kept)
        high = max(estimate.high * kept, estimate.high / kept)
        wider = structs.replace(estimate, low=max(-1.0, low), high=min(1.0, high))
        return with_remark(wider, f"stretched by {kept:.3g} for {self.text}")

    def corrected_by_labels(self, estimate: AnyEstimate) -> AnyEstimate:
        """A number that needs no widening, because labels correct for misread replies."""
        if estimate.value is None:
            return estimate
        return with_remark(estimate, f"the labels correct for {self.text}")

    def mean(
        self, estimate: AnyEstimate, times: int = 1, limits: tuple[float, float] | None = None
    ) -> AnyEstimate:
        """A mean of scores, or of values that each depend on `times` scores."""
        if estimate.value is None:
            return estimate
        if self.width is None:
            remark = f"{self.text}, whose effect is unbounded on an unbounded scale"
            return with_remark(estimate, remark)
        return self.shifted(estimate, times * self.upper * self.width, *(limits or (None, None)))

    def distance(self, estimate: AnyEstimate) -> AnyEstimate:
        return self.mean(estimate, limits=None if self.width is None else (0.0, self.width))

    def fraction(self, estimate: AnyEstimate, times: float = 1.0) -> AnyEstimate:
        return self.shifted(estimate, times * self.upper, 0.0, 1.0)

    def agreement(self, name: str, estimate: Estimate, estimates: dict[str, Estimate]) -> Estimate:
        if name in ("exact", "both_orders"):
            return self.fraction(estimate)
        if name == "decided":
            # All wrong readings could be among the decided items.
            return self.fraction(estimate, estimates["exact"].n / max(1, estimate.n))
        return self.stretched(estimate)

    def pairs(self, calibration: TieCalibration) -> TieCalibration:
        plain, best, held_out = (
            self.fraction(share, 2) for share in (calibration.plain, calibration.best, calibration.held_out)
        )
        return TieCalibration(plain, best, held_out, calibration.eps)

    def ceiling(self, people: PeopleCeiling) -> PeopleCeiling:
        judge = self.stretched(people.judge)
        ratio = people.share
        if ratio.value is not None and ratio.low is not None and ratio.high is not None:
            kept = max(1e-9, 1 - self.upper)
            low, high = min(ratio.low * kept, ratio.low / kept), max(ratio.high * kept, ratio.high / kept)
            wider = structs.replace(ratio, low=low, high=high)
            ratio = with_remark(wider, f"stretched by {kept:.3g} for {self.text}")
        corrected = None if people.corrected is None else self.stretched(people.corrected)
        return structs.replace(people, judge=judge, share=ratio, corrected=corrected)

    def part(self, part: PartAgreement, is_choices: bool) -> PartAgreement:
        agreement = self.fraction(part.agreement) if is_choices else self.stretched(part.agreement)
        return PartAgreement(agreement, None if part.bias is None else self.mean(part.bias, limits=self.gaps))

    def alt_test(self, test: AltTest) -> AltTest:
        if test.winning_rate.value is None:
            return test
        caution = f"{self.text}: the test assumes that every reading is right"
        return structs.replace(
            test, advantage=self.fraction(test.advantage), cautions=(*test.cautions, caution)
        )

    def constant(self, constant: BestConstant) -> BestConstant:
        corrected = self.mean(constant.corrected, limits=self.gaps)
        if constant.corrected is not constant.lead and self.width is not None:
            # A score that is wrong by the whole scale changes a squared error by at most the square of the
            # scale.
            corrected = self.shifted(constant.corrected, self.upper * self.width**2)
        return structs.replace(constant, lead=self.mean(constant.lead, limits=self.gaps), corrected=corrected)

    def corrected(self, mean: CorrectedMean, times: int = 1) -> CorrectedMean:
        limits = self.limits if times == 1 else None
        return structs.replace(
            self.corrected_by_labels(mean),
            judge_only=self.mean(mean.judge_only, times, limits),
            bias=self.mean(mean.bias, times),
        )

    def confidence(self, confidence: Confidence) -> Confidence:
        return structs.replace(
            confidence,
            error=self.fraction(confidence.error),
            brier=self.fraction(confidence.brier),
            excess=self.shifted(confidence.excess, self.upper, -1.0, 1.0),
        )

    def quality(self, quality: Quality) -> Quality:
        return structs.replace(
            quality,
            retest=None if quality.retest is None else self._retest(quality.retest),
            failures={name: self._failures(failures) for name, failures in quality.failures.items()},
        )

    def _retest(self, retest: Retest) -> Retest:
        return structs.replace(retest, single=self.stretched(retest.single), mean=self.stretched(retest.mean))

    def _failures(self, failures: SystemFailures) -> SystemFailures:
        bounds = failures.bounds
        if bounds is not None and self.limits is not None and self.width is not None:
            by = self.upper * self.width
            bounds = Bounds(max(self.limits[0], bounds.low - by), min(self.limits[1], bounds.high + by))
        return structs.replace(failures, failed=self.fraction(failures.failed), bounds=bounds)


def _widen_best(best: BestJudge, upper: float) -> BestJudge:
    """Many judges: every difference may move by the allowance of both."""
    is_choices = best.kind == "choices"
    allowance = _Allowance(upper, None, is_choices=is_choices)
    highest = max((abs(estimate.value or 0.0) for estimate in best.agreement.values()), default=0.0)
    by = 2 * upper if is_choices else 2 * highest * (1 / max(1e-9, 1 - upper) - 1)
    limit = 1.0 if is_choices else 2.0

    def agreement(estimate: Estimate) -> Estimate:
        return allowance.fraction(estimate) if is_choices else allowance.stretched(estimate)

    def lead(estimate: Estimate) -> Estimate:
        return allowance.shifted(estimate, by, -limit, limit)

    over_first = {name: lead(estimate) for name, estimate in best.over_first.items()}
    behind_best = {name: lead(estimate) for name, estimate in best.behind_best.items()}
    chosen = best.held_out
    return structs.replace(
        best,
        agreement={name: agreement(estimate) for name, estimate in best.agreement.items()},
        over_first=over_first,
        behind_best=behind_best,
        improved=significantly_above(over_first),
        leading=tuple(name for name in best.agreement if name not in significantly_above(behind_best)),
        held_out=None
        if chosen is None
        else ChosenJudge(chosen.judge, agreement(chosen.agreement), lead(chosen.lead)),
    )


def significantly_above(leads: Mapping[str, Estimate]) -> tuple[str, ...]:
    """The names whose interval is above 0."""
    return tuple(name for name, lead in leads.items() if lead.low is not None and lead.low > 0)


def _widen_judges(judges: JudgePair, upper: float) -> JudgePair:
    """Two judges: the difference may move by the allowance of each."""
    allowance = _Allowance(upper, None, is_choices=judges.mcnemar is not None)
    versus = judges.result
    if judges.mcnemar is not None:
        first, second = allowance.fraction(versus.first), allowance.fraction(versus.second)
        difference = allowance.shifted(versus.difference, 2 * upper, -1.0, 1.0)
    else:
        first, second = allowance.stretched(versus.first), allowance.stretched(versus.second)
        kept = max(1e-9, 1 - upper)
        shift = (abs(versus.first.value or 0.0) + abs(versus.second.value or 0.0)) * (1 / kept - 1)
        difference = allowance.shifted(versus.difference, shift, -2.0, 2.0)
    wider = structs.replace(
        judges, result=TwoJudges(first, second, difference, versus.permutation, versus.williams)
    )
    return structs.replace(wider, sentence=two_judges_sentence(wider))
