"""What misread replies could have done to each number of a card.

A check by hand (`adjudge sample --replies`) bounds the share of readings that are wrong. Every estimate is widened by
what that share could have done, each kind of number in its own way:

    means, distances   a wrong reading moves one score by the width of the scale at the most
    shares             a wrong reading changes one item, and every pair of items that it is in
    coefficients       a share e of readings that have nothing to do with people shrinks a coefficient by 1 - e: so the
                       true one may be larger by that, or smaller if those readings agreed by luck
    corrected means    nothing: the labels correct what was read, wrong readings included
    people alone       nothing

The first two hold whatever the misread replies said, the third on average. Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from ..data.tables import BrokenFileError, Problems, Table
from ..records import Estimate, Scale
from ..stats import AltTest, Bounds, Confidence, Retest, TieCalibration, TwoJudges, wilson
from ..stats.arrays import AnyEstimate, with_remark
from ..words import percent, share
from .human_agreement import told
from .result_types import (
    Card,
    CorrectedMean,
    CriterionCard,
    JudgesApart,
    PeopleCeiling,
    Quality,
    SystemFailures,
)
from .trust_words import opening, sentences

# How often replies are misread, from replies that a person checked by hand (`adjudge sample --replies`).


_YES = ("yes", "y", "true", "1", "right")
_NO = ("no", "n", "false", "0", "wrong")


def misread_share(path: str | Path) -> Estimate:
    """The share of checked readings that are wrong, with Wilson's interval; rows not filled in are not counted.

    Several readings of one reply (a criterion each) go wrong together, so the interval counts replies.
    """
    table = Table(path)
    problems = Problems(table)
    n_right = n_wrong = 0
    replies: set[object] = set()
    try:
        for place, row in table.rows(problems.add):
            # A truth value of JSON, or whatever a person types into a spreadsheet.
            said = str(row["right"]).strip().lower() if row.get("right") is not None else ""
            if said in _YES:
                n_right += 1
            elif said in _NO:
                n_wrong += 1
            elif said:
                problems.add(place, f"right is '{said:.40}'. Write yes or no, or leave it empty.")
            if said:
                known = row.get("item"), row.get("order"), row.get("reply")
                replies.add(place if known == (None, None, None) else tuple(map(str, known)))
    except BrokenFileError as broken:
        if not problems:
            raise
        problems.add(0, broken.problem)
    n = n_right + n_wrong
    if not problems and n == 0:
        problems.add(0, "no row is checked. Write yes or no into the column 'right'.")
    if problems:
        raise problems.error()
    found = wilson(n_wrong / n * len(replies), len(replies))
    return structs.replace(found, value=n_wrong / n, n=n, unit=f"reply (n={len(replies)})")


Widening = Callable[[Estimate], Estimate]


def with_misread(card: Card, found: Estimate) -> Card:
    """The card with every number as uncertain as the readings that it rests on, and its sentences made anew."""
    upper = 1.0 if found.high is None else found.high
    cards = {name: _criterion(own, upper) for name, own in card.criteria.items()}
    judges = tuple(_judges(apart, upper) for apart in card.judges)
    note = (
        f"Of {found.n} readings checked by hand {round((found.value or 0) * found.n)} were wrong ({percent(found)}): "
        f"every interval allows for up to {share(upper)} misread."
    )
    return structs.replace(
        card,
        summary=opening(cards, judges),
        criteria=cards,
        judges=judges,
        misread=found,
        notes=(*card.notes, note),
    )


def _criterion(card: CriterionCard, upper: float) -> CriterionCard:
    by = _Widened(upper, card.scale, is_choices=card.kind == "choices")
    wider = structs.replace(
        card,
        item={name: by.agreement(name, own, card.item) for name, own in card.item.items()},
        group={name: by.agreement(name, own, card.group) for name, own in card.group.items()},
        system={name: by.agreement(name, own, card.system) for name, own in card.system.items()},
        pairwise=None if card.pairwise is None else by.pairs(card.pairwise),
        ceiling=None if card.ceiling is None else by.ceiling(card.ceiling),
        alt_test=None if card.alt_test is None else by.alt_test(card.alt_test),
        bias=by.mean(card.bias),
        corrected={name: by.corrected(own) for name, own in card.corrected.items()},
        pooled=None if card.pooled is None else by.corrected(card.pooled),
        differences={name: by.corrected(own, times=2) for name, own in card.differences.items()},
        pass_share={name: by.held(own) for name, own in card.pass_share.items()},
        calibration={name: by.distance(own) for name, own in card.calibration.items()},
        confidence=None if card.confidence is None else by.confidence(card.confidence),
        quality=by.quality(card.quality),
    )
    return structs.replace(wider, sentences=sentences(wider))


class _Widened:
    """Each kind of number with its own allowance for a share of readings that are wrong."""

    def __init__(self, upper: float, scale: Scale | None, *, is_choices: bool) -> None:
        self.upper = upper
        self.said = f"up to {share(upper)} misread"
        low, high = (scale.low, scale.high) if scale is not None else (None, None)
        self.limits = (0.0, 1.0) if is_choices else None if low is None or high is None else (low, high)

    @property
    def width(self) -> float | None:
        return None if self.limits is None else self.limits[1] - self.limits[0]

    def shifted(
        self, own: AnyEstimate, by: float, low: float | None = None, high: float | None = None
    ) -> AnyEstimate:
        """Both ends moved outwards by as much, within `low` and `high`."""
        if own.value is None:
            return own
        if own.low is None or own.high is None:
            return with_remark(own, f"{self.said}, which is not in it")
        ends = own.low - by, own.high + by
        # An end beyond the scale already, where scores are, must not be drawn back.
        least = ends[0] if low is None else max(ends[0], min(low, own.low))
        most = ends[1] if high is None else min(ends[1], max(high, own.high))
        wider = structs.replace(own, low=least, high=most)
        return with_remark(wider, f"widened by {by:.2g} for {self.said}")

    def stretched(self, own: AnyEstimate) -> AnyEstimate:
        """A coefficient whose ends could be larger or smaller by the share that has nothing to do with people."""
        if own.value is None:
            return own
        if own.low is None or own.high is None:
            return with_remark(own, f"{self.said}, which is not in it")
        kept = max(1e-9, 1 - self.upper)
        low = min(own.low * kept, own.low / kept)
        high = max(own.high * kept, own.high / kept)
        wider = structs.replace(own, low=max(-1.0, low), high=min(1.0, high))
        return with_remark(wider, f"stretched by {kept:.3g} for {self.said}")

    def held(self, own: AnyEstimate) -> AnyEstimate:
        """A number that the labels correct for whatever was read."""
        if own.value is None:
            return own
        return with_remark(own, f"the labels correct for {self.said}")

    def mean(
        self, own: AnyEstimate, times: int = 1, limits: tuple[float, float] | None = None
    ) -> AnyEstimate:
        """A mean of scores, or of `times` of them each."""
        if own.value is None:
            return own
        if self.width is None:
            return with_remark(own, f"{self.said}, whose effect has no bound on a scale without ends")
        return self.shifted(own, times * self.upper * self.width, *(limits or (None, None)))

    def distance(self, own: AnyEstimate) -> AnyEstimate:
        return self.mean(own, limits=None if self.width is None else (0.0, self.width))

    def fraction(self, own: AnyEstimate, times: float = 1.0) -> AnyEstimate:
        return self.shifted(own, times * self.upper, 0.0, 1.0)

    def agreement(self, name: str, own: Estimate, beside: dict[str, Estimate]) -> Estimate:
        if name == "exact":
            return self.fraction(own)
        if name == "decided":
            # Readings are wrong among all items, and all of those could be among the decided ones.
            return self.fraction(own, beside["exact"].n / max(1, own.n))
        return self.stretched(own)

    def pairs(self, own: TieCalibration) -> TieCalibration:
        plain, best, held_out = (self.fraction(one, 2) for one in (own.plain, own.best, own.held_out))
        return TieCalibration(plain, best, held_out, own.eps)

    def ceiling(self, own: PeopleCeiling) -> PeopleCeiling:
        judge = self.stretched(own.judge)
        ratio = own.share
        if ratio.value is not None and ratio.low is not None and ratio.high is not None:
            kept = max(1e-9, 1 - self.upper)
            low, high = min(ratio.low * kept, ratio.low / kept), max(ratio.high * kept, ratio.high / kept)
            wider = structs.replace(ratio, low=low, high=high)
            ratio = with_remark(wider, f"stretched by {kept:.3g} for {self.said}")
        return structs.replace(own, judge=judge, share=ratio)

    def alt_test(self, own: AltTest) -> AltTest:
        if own.winning_rate.value is None:
            return own
        told = f"{self.said}: the test takes every reading for right"
        return structs.replace(own, advantage=self.fraction(own.advantage), cautions=(*own.cautions, told))

    def corrected(self, own: CorrectedMean, times: int = 1) -> CorrectedMean:
        limits = self.limits if times == 1 else None
        return structs.replace(
            self.held(own),
            judge_only=self.mean(own.judge_only, times, limits),
            bias=self.mean(own.bias, times),
        )

    def confidence(self, own: Confidence) -> Confidence:
        return structs.replace(
            own,
            error=self.fraction(own.error),
            brier=self.fraction(own.brier),
            excess=self.shifted(own.excess, self.upper, -1.0, 1.0),
        )

    def quality(self, own: Quality) -> Quality:
        return structs.replace(
            own,
            retest=None if own.retest is None else self._retest(own.retest),
            failures={name: self._failures(one) for name, one in own.failures.items()},
        )

    def _retest(self, own: Retest) -> Retest:
        return structs.replace(own, single=self.stretched(own.single), mean=self.stretched(own.mean))

    def _failures(self, own: SystemFailures) -> SystemFailures:
        bounds = own.bounds
        if bounds is not None and self.limits is not None and self.width is not None:
            by = self.upper * self.width
            bounds = Bounds(max(self.limits[0], bounds.low - by), min(self.limits[1], bounds.high + by))
        return structs.replace(own, failed=self.fraction(own.failed), bounds=bounds)


def _judges(apart: JudgesApart, upper: float) -> JudgesApart:
    """Two judges: the difference may move by what each of the two may."""
    by = _Widened(upper, None, is_choices=apart.mcnemar is not None)
    own = apart.result
    if apart.mcnemar is not None:
        first, second = by.fraction(own.first), by.fraction(own.second)
        difference = by.shifted(own.difference, 2 * upper, -1.0, 1.0)
    else:
        first, second = by.stretched(own.first), by.stretched(own.second)
        kept = max(1e-9, 1 - upper)
        apart_by = (abs(own.first.value or 0.0) + abs(own.second.value or 0.0)) * (1 / kept - 1)
        difference = by.shifted(own.difference, apart_by, -2.0, 2.0)
    wider = structs.replace(apart, result=TwoJudges(first, second, difference, own.permutation, own.williams))
    return structs.replace(wider, sentence=told(wider))
