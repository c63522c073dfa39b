"""Published figures, reproduced by the card from recorded scores and verdicts of real judges."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from scipy import stats

import adjudge
from adjudge.analysis.trust.card import CriterionCard
from adjudge.records import Label, Result
from adjudge.stats import cohen_kappa
from views import judge_card

Rows = Callable[[str], list[dict[str, Any]]]
DIMENSIONS = ("naturalness", "coherence", "engagingness", "groundedness")
PROTOCOLS = ("geval", "geval_no_auto_cot", "rate_explain")


@pytest.fixture(scope="module")
def topical_chat(
    real_rows: Rows, topical_chat_cards: Callable[..., dict[str, CriterionCard]]
) -> dict[str, CriterionCard]:
    return topical_chat_cards((row, row["recorded"]) for row in real_rows("topical_chat.judgments"))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_topical_chat_gives_the_published_correlations(
    protocol: str, dimension: str, topical_chat: dict[str, CriterionCard], expected: dict[str, Any]
) -> None:
    card, figures = (
        topical_chat[f"{protocol}/{dimension}"],
        expected["topical_chat"][f"{protocol}/{dimension}"],
    )
    assert card.item["pearson"].value == pytest.approx(figures["dataset_pearson"], abs=1e-5)
    assert card.item["pearson"].n == figures["n"]
    for kind in ("pearson", "spearman", "kendall"):
        assert card.group[kind].value == pytest.approx(figures[f"doc_{kind}"], abs=1e-5), kind
        assert card.group[kind].n == figures["docs_used"]


def test_autoj_agrees_with_people_as_published(real_rows: Rows, expected: dict[str, Any]) -> None:
    gold = {row["item_id"]: row["gold"] for row in real_rows("autoj_pairwise.items")}
    verdicts: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in real_rows("autoj_pairwise.judgments"):
        verdicts[row["item_id"]][row["order"]] = row["recorded"]
    labels = [Label(name, "overall", "gold", choice) for name, choice in gold.items()]

    def card(choices: dict[str, Any]) -> CriterionCard:
        results = [
            Result(
                item=name, protocol="pairwise", criterion="overall", model="autoj-13b", choice=choice,
                status="ok" if choice else "conflicting", system_a="first", system_b="second",
            )
            for name, choice in choices.items()
        ]  # fmt: skip
        return judge_card(results, labels).criteria["overall"]

    single = card({name: orders["ab"] for name, orders in verdicts.items()})
    assert round(100 * (single.item["exact"].value or 0), 2) == expected["autoj"]["agreement_single"]
    both = card(
        {
            name: item_choices["ab"] if item_choices["ab"] == item_choices["ba"] else None
            for name, item_choices in verdicts.items()
        }
    )
    consistent = both.item["exact"].n
    assert both.n_failed == len(gold) - consistent
    assert round(100 * consistent / len(gold), 2) == expected["autoj"]["consistency"]
    agreement = (both.item["exact"].value or 0) * consistent / len(gold)
    assert round(100 * agreement, 2) == expected["autoj"]["agreement_both"]


def test_pandalms_raters_agree_as_published(real_rows: Rows, expected: dict[str, Any]) -> None:
    items = real_rows("pandalm.items")
    labels = [
        Label(row["item_id"], "overall", f"rater {place}", choice)
        for row in items
        for place, choice in enumerate(row["annotators"])
    ]
    results = [
        Result(
            item=row["item_id"], protocol="pandalm", criterion="overall", model=row["judge"],
            choice=row["recorded"],
            status="ok" if row["recorded"] else "unparsed",
        )
        for row in real_rows("pandalm.judgments")
    ]  # fmt: skip
    cards = judge_card(results, labels).criteria
    judged = cards["overall · gpt-3.5-turbo"]
    assert (judged.n_labelled, judged.n_failed, judged.item["exact"].n) == (999, 25, 974)
    columns = list(zip(*(row["annotators"] for row in items), strict=True))
    kappas = [
        cohen_kappa(columns[rater], columns[other], ("a", "b", "tie")).value
        for rater, other in ((0, 1), (0, 2), (1, 2))
    ]
    assert [round(kappa or 0, 4) for kappa in kappas] == expected["pandalm"]["kappa"]
    majority = Counter(Counter(row["annotators"]).most_common(1)[0][0] for row in items)
    assert majority == expected["pandalm"]["majority"]
    equal = sum(
        row["recorded"] == Counter(item["annotators"]).most_common(1)[0][0]
        for row, item in zip(
            (row for row in real_rows("pandalm.judgments") if row["judge"] == "pandalm-7b"),
            items,
            strict=True,
        )
    )
    assert cards["overall · pandalm-7b"].item["exact"].value == pytest.approx(equal / 999)


@pytest.mark.parametrize(
    ("judge", "criterion"), [("gpt-4-0314", "relevance"), ("gpt-3.5-turbo-0301", "coherence")]
)
def test_summeval_correlates_as_scipy_says(judge: str, criterion: str, real_rows: Rows) -> None:
    items = {row["item_id"]: row for row in real_rows("summeval.items")}
    labels = [
        Label(name, criterion, f"expert {place}", value)
        for name, row in items.items()
        for place, value in enumerate(row["human"][criterion]["expert"])
    ]
    results = []
    for row in real_rows("summeval.judgments"):
        if (row["judge"], row["protocol"], row["dimension"]) != (judge, "rts", criterion):
            continue
        reading = adjudge.read_score(row["responses"][0], 1, 5)
        item = items[row["item_id"]]
        value = float(reading.value) if reading.value is not None else None
        results.append(
            Result(
                item=row["item_id"], protocol="rts", criterion=criterion, model=judge, status=reading.status,
                system=item["system"], group=item["group_id"], value=value,
            )
        )  # fmt: skip
    card = judge_card(results, labels, n_resamples=100).criteria[criterion]
    means = {name: sum(row["human"][criterion]["expert"]) / 3 for name, row in items.items()}
    both = [(result, means[result.item]) for result in results if result.value is not None]
    whole = stats.spearmanr([row.value for row, _ in both], [round(mean, 9) for _, mean in both])
    assert card.item["spearman"].n == len(both)
    assert card.n_failed == len(items) - len(both)
    assert card.item["spearman"].value == pytest.approx(whole.statistic, abs=1e-9)
    documents = defaultdict(list)
    for judged, mean in both:
        documents[judged.group].append((judged.value, round(mean, 9)))
    usable = [
        stats.spearmanr(*zip(*pairs, strict=True)).statistic
        for pairs in documents.values()
        if all(len(set(side)) > 1 for side in zip(*pairs, strict=True))
    ]
    assert card.group["spearman"].n == len(usable)
    assert card.group["spearman"].value == pytest.approx(sum(usable) / len(usable), abs=1e-9)
    assert card.ceiling is not None
    assert card.ceiling.value is not None
    assert set(card.ceiling.by_rater) == {"expert 0", "expert 1", "expert 2"}
