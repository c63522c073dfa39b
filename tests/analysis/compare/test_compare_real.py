"""Real judgments compared: three prompts of one judge on
the same dialogues, and two judges on the same pairs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

import adjudge
from adjudge.analysis.compare.comparison import Comparison
from adjudge.records import Result, Scale
from running import EXAMPLES
from running import adjudge as command

Rows = Callable[[str], list[dict[str, Any]]]
SCALES = {name: Scale(1.0, 3.0, 3.0) for name in ("naturalness", "coherence", "engagingness")}


@pytest.fixture(scope="module")
def by_prompt(real_rows: Rows) -> dict[str, list[Result]]:
    items = {row["item_id"]: row for row in real_rows("topical_chat.items")}
    results_by_name: dict[str, list[Result]] = defaultdict(list)
    for judged in real_rows("topical_chat.judgments"):
        if judged["dimension"] not in SCALES:
            continue
        item = items[judged["item_id"]]
        scores = [score for score in judged["recorded"] if score is not None]
        results_by_name[judged["protocol"]].append(
            Result(
                item=item["item_id"], protocol=judged["protocol"], criterion=judged["dimension"],
                model=judged["judge"],
                status="ok" if scores else "unparsed", system=item["system"], group=item["group_id"],
                value=math.fsum(scores) / len(scores) if scores else None,
            )
        )  # fmt: skip
    return results_by_name


@pytest.fixture(scope="module")
def comparison(by_prompt: dict[str, list[Result]]) -> Comparison:
    return adjudge.compare(
        by_prompt["geval"], by_prompt["rate_explain"], scales=SCALES, names=("steps", "rate")
    )


def test_every_difference_is_that_of_a_paired_t_test(
    by_prompt: dict[str, list[Result]], comparison: Comparison
) -> None:
    sides = [
        {(row.item, row.criterion): row for row in by_prompt[name]} for name in ("geval", "rate_explain")
    ]
    n_checked = 0
    for criterion, compared_criterion in comparison.criteria.items():
        for system, compared_system in compared_criterion.systems.items():
            pairs = [
                (first.value, sides[1][key].value)
                for key, first in sides[0].items()
                if key in sides[1] and first.criterion == criterion and first.system == system
            ]
            kept = [(a, b) for a, b in pairs if a is not None and b is not None]
            expected = stats.ttest_rel([b for _, b in kept], [a for a, _ in kept])
            ends = expected.confidence_interval()
            # One response of each system to each dialogue, so that groups and items are the same here.
            assert (compared_system.difference.low, compared_system.difference.high) == pytest.approx(
                (ends.low, ends.high)
            )
            assert compared_system.difference.n_failed == len(pairs) - len(kept)
            n_checked += 1
    assert n_checked == 18


def test_the_prompts_agree_on_the_best_system_and_not_on_the_level(comparison: Comparison) -> None:
    coherence = comparison.criteria["coherence"]
    assert coherence.order is not None
    assert coherence.order.first[0] == coherence.order.second[0] == "New Human Generated"
    assert coherence.conclusion == "differs"
    assert sum(compared_system.is_shown for compared_system in coherence.systems.values()) == 4
    spearman = coherence.agreement["spearman"]
    assert spearman.value == pytest.approx(0.78, abs=0.01)


def test_a_prompt_agrees_with_itself(by_prompt: dict[str, list[Result]]) -> None:
    comparison = adjudge.compare(by_prompt["geval"], by_prompt["geval"], scales=SCALES)
    assert {criterion.conclusion for criterion in comparison.criteria.values()} == {"holds"}
    assert all(
        each.difference.value == 0
        for criterion in comparison.criteria.values()
        for each in criterion.systems.values()
    )


def test_two_judges_of_pairs_agree_as_scikit_learn_says(real_rows: Rows) -> None:
    by_judge: dict[str, list[Result]] = defaultdict(list)
    for row in real_rows("pandalm.judgments"):
        by_judge[row["judge"]].append(
            Result(
                item=row["item_id"], protocol="pandalm", criterion="overall", model=row["judge"],
                choice=row["recorded"],
                status="ok" if row["recorded"] else "unparsed", system_a="one", system_b="other",
            )
        )  # fmt: skip
    comparison = adjudge.compare(by_judge["gpt-3.5-turbo"], by_judge["pandalm-7b"]).criteria["overall"]
    other = {row.item: row.choice for row in by_judge["pandalm-7b"]}
    both = [
        (row.choice, other[row.item]) for row in by_judge["gpt-3.5-turbo"] if row.choice and other[row.item]
    ]
    first, second = zip(*both, strict=True)
    assert comparison.agreement["exact"].n == len(both) == 974
    metrics = pytest.importorskip("sklearn.metrics", reason="an oracle: pip install adjudge[oracles]")
    assert comparison.agreement["kappa"].value == pytest.approx(metrics.cohen_kappa_score(first, second))
    compared_system = comparison.systems["one vs other"]
    assert (compared_system.n_failed_first, compared_system.n_failed_second) == (25, 0)
    # There are ties, so the test is one of the shares: by signs of the differences, near the normal for so
    # many.
    share = {"a": 1.0, "b": 0.0, "tie": 0.5}
    apart = [share[b] - share[a] for a, b in both]
    z = abs(sum(apart)) / math.sqrt(sum(gap**2 for gap in apart))
    assert compared_system.p == pytest.approx(2 * stats.norm.sf(z), abs=0.03)
    assert compared_system.difference.value == pytest.approx(sum(apart) / len(apart))


def test_an_imported_original_is_held_against_the_repaired_protocol(shared: Path, tmp_path: Path) -> None:
    store = tmp_path / "adjudge.db"
    document = next((shared / "seeds").glob("002_*"))
    assert command("protocols", "import", document, "--to", tmp_path / "originals").code == 0
    for name, protocol in (
        ("original", tmp_path / "originals" / "faithfulness"),
        ("repaired", "opinion-summary/faithfulness"),
    ):
        replies = f"replay:{EXAMPLES / 'products.replies.jsonl'}"
        adjudge.run(EXAMPLES / "products.jsonl", protocol, replies, run=name, store=store)
    comparison = command("compare", "original", "repaired", "--store", store, "--json").json
    assert comparison["criteria"]["faithfulness"]["unit"] == "points"
    assert comparison["n_items"] == 4
    assert comparison["n_content_differs"] == 0
    assert any("opinion-summary/faithfulness@" in text for text in comparison["changed"])
