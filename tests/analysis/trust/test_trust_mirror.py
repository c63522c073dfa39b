"""Which way a scale points is a convention: the card of data
turned round (v → low + high - v) has the same figures.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.analysis.trust.card import CriterionCard
from adjudge.records import Estimate, Label, Result, Scale
from thorough import tries
from views import judge_card

RATERS = ("ann", "ben", "eve")
LEVELS = st.integers(1, 5).map(float)
ITEM = st.tuples(
    # A judge that was asked twice gives halves, too.
    st.integers(2, 10).map(lambda twice: twice / 2),
    st.lists(st.none() | LEVELS, min_size=3, max_size=3).filter(any),
)


def card_of(
    items: list[tuple[float, list[float | None]]], scale: Scale | None, turned: float | None = None
) -> CriterionCard:
    """The card of a judge and three raters; `turned` is low + high of a scale that is to point the other
    way."""

    def shown(value: float) -> float:
        return value if turned is None else turned - value

    results = [
        Result(
            item=f"i{k}", protocol="p@1", criterion="tact", model="judge", status="ok", value=shown(answer)
        )
        for k, (answer, _) in enumerate(items)
    ]
    labels = [
        Label(f"i{k}", "tact", rater, shown(given))
        for k, (_, ratings) in enumerate(items)
        for rater, given in zip(RATERS, ratings, strict=True)
        if given is not None
    ]
    card = judge_card(results, labels, scales={"tact": scale}, n_resamples=20)
    return card.criteria["tact"]


def assert_same(estimate: Estimate, other: Estimate) -> None:
    assert estimate.reason == other.reason
    for first, second in (
        (estimate.value, other.value),
        (estimate.low, other.low),
        (estimate.high, other.high),
    ):
        assert first == (None if second is None else pytest.approx(second, abs=1e-6))


@pytest.mark.slow
@settings(max_examples=tries(60))
@given(st.lists(ITEM, min_size=2, max_size=12), st.booleans())
def test_a_scale_turned_round_gives_the_same_agreement(
    items: list[tuple[float, list[float | None]]], is_known: bool
) -> None:
    scale = Scale(low=1, high=5, best=5, step=1) if is_known else None
    there, back = card_of(items, scale), card_of(items, scale, turned=6)
    assert there.item["exact"].reason == back.item["exact"].reason
    for name in ("exact", "kappa", "alpha", "gwet"):
        assert_same(there.item[name], back.item[name])
    for name in ("pearson", "spearman", "kendall"):
        value, other = there.item[name].value, back.item[name].value
        assert value == (None if other is None else pytest.approx(other))


def test_raters_who_differ_by_one_level_count_half_for_each() -> None:
    scale = Scale(low=1, high=5, best=5, step=1)
    upper = card_of([(4.0, [3.0, 4.0, None])] * 4 + [(2.0, [2.0, 2.0, None])] * 4, scale)
    lower = card_of([(3.0, [3.0, 4.0, None])] * 4 + [(2.0, [2.0, 2.0, None])] * 4, scale)
    for card in (upper, lower):
        assert card.item["exact"].value == pytest.approx(0.75)


def test_scores_made_elsewhere_have_the_same_agreement_as_those_of_a_run() -> None:
    items = [(float(1 + k % 5), [float(1 + (k + k // 7) % 5), float(1 + k % 4), None]) for k in range(25)]
    known = card_of(items, Scale(low=1, high=5, best=5, step=1)).item
    unknown = card_of(items, None).item
    for name in ("exact", "kappa", "alpha"):
        assert_same(known[name], unknown[name])


def test_a_share_of_passes_is_one_minus_the_share_of_fails() -> None:
    items: list[tuple[float, list[float | None]]] = [(0.0, [0.0, 0.0, None]), (1.0, [1.0, 1.0, None])] * 8
    items += [(1.0, [1.0, 0.0, None]), (0.0, [1.0, 0.0, None]), (0.5, [1.0, 1.0, None])] * 3
    results = [
        Result(item=f"i{k}", protocol="p@1", criterion="tact", model="judge", status="ok", value=answer)
        for k, answer in enumerate([*(answer for answer, _ in items), *[1.0] * 9, *[0.0] * 4])
    ]
    labels = [
        Label(f"i{k}", "tact", rater, given)
        for k, (_, ratings) in enumerate(items)
        for rater, given in zip(RATERS, ratings, strict=True)
        if given is not None
    ]
    shares = []
    for best in (1.0, 0.0):
        scale = Scale(low=0, high=1, best=best, step=1)
        card = judge_card(results, labels, scales={"tact": scale}, n_resamples=20).criteria["tact"]
        shares.append(card.pass_share["all"])
    assert shares[0].value is not None
    assert shares[1].value is not None
    assert shares[0].low is not None
    assert shares[0].value == pytest.approx(1 - shares[1].value)
    assert shares[0].low == pytest.approx(1 - (shares[1].high or 0))
