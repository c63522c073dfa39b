"""`adjudge gate` on pairs: a win rate is that of a ranking, in its interval and in its words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import adjudge as package
from adjudge.analysis.gate.decision import decision_by_values
from adjudge.analysis.gate.not_enough_evidence import more_needed, outcome_of
from running import EXAMPLES, Outcome, adjudge, write_rows

Gated = Callable[..., Outcome]


def test_a_win_rate_is_the_one_that_a_ranking_prints(tmp_path: Path, gate: Gated) -> None:
    pairs = [("new", "old"), ("new", "other"), ("old", "other")]
    items = [
        {"id": f"p{k}-{a}-{b}", "group": f"g{k}", "system_a": a, "system_b": b, "instruction": f"q{k}"}
        | {"response_a": f"{a} {k}", "response_b": f"{b} {k}"}
        for k in range(12)
        for a, b in pairs
    ]
    # Every third prompt is a tie in all its pairs: the two orders name different winners.
    replies = [
        {"item": item["id"], "order": order, "text": f"[RESULT] "
                                                     f"{'A' if (order == 'ab') != (n % 5 == 4) or n // 3 % 3 == 0 else 'B'}"}  # noqa: E501
        for n, item in enumerate(items)
        for order in ("ab", "ba")
    ]  # fmt: skip
    file = write_rows(tmp_path / "r.jsonl", replies)
    package.run(
        items, "prometheus/pairwise", f"replay:{file}", rubric=EXAMPLES / "tact.toml", run="pairs",
        store=tmp_path / "adjudge.db"
    )  # fmt: skip
    ranked = adjudge("rank", "pairs", "--store", tmp_path / "adjudge.db", "--json").json
    expected = {entry["system"]: entry["win_rate"] for entry in ranked["systems"]}
    done = gate(
        "pairs", "--min", "tact=50%", *(flag for name in expected for flag in ("--system", name)), "--json"
    )
    checks = [check for check in done.json["checks"] if check["rule"] == "min"]
    assert {check["system"] for check in checks} == {"new", "old", "other"}
    for check in checks:
        for key in ("value", "low", "high", "n", "n_failed"):
            assert check["estimate"][key] == expected[check["system"]][key]
        assert (check["threshold"], check["is_share"]) == (0.5, True)
    assert any(0 < win_rate["value"] < 1 and win_rate["n"] == 24 for win_rate in expected.values())


def test_as_many_more_groups_as_are_asked_for_decide_a_win_rate() -> None:
    # 12 wins and 6 losses, a group each, do not show that the win rate is above one half.
    shares = [1.0] * 12 + [0.0] * 6
    needed = more_needed(shares, list(range(18)), 0.5, (0.0, 1.0))
    assert needed.n is not None
    more = shares * round((18 + needed.n) / 18)
    decision = decision_by_values(more, list(range(len(more))), (0.0, 1.0), 0.5, 1)
    assert outcome_of(decision) == "good"
    assert more_needed([1.0, 0.0] * 9, None, 0.5, (0.0, 1.0)).n is None
    assert more_needed([], None, 0.5, (0.0, 1.0)).n is None


def test_a_win_rate_is_gated_for_the_system_that_is_named(tmp_path: Path, gate: Gated) -> None:
    items = [
        {
            "id": f"p{k}",
            "system_a": "old",
            "system_b": "new",
            "instruction": "q",
            "response_a": "x",
            "response_b": "y",
        }
        for k in range(20)
    ]
    replies = [
        {"item": f"p{k}", "order": order, "text": f"[RESULT] {'B' if order == 'ab' else 'A'}"}
        for k in range(20)
        for order in ("ab", "ba")
    ]
    file = write_rows(tmp_path / "r.jsonl", replies)
    package.run(
        items,
        "prometheus/pairwise",
        f"replay:{file}",
        rubric=EXAMPLES / "tact.toml",
        run="pairs",
        store=tmp_path / "adjudge.db",
    )
    asked = gate("pairs", "--min", "tact=50%")
    assert asked.code == 2
    assert "--system NAME" in asked.err
    assert gate("pairs", "--min", "tact=50%", "--system", "new").code == 0
    assert gate("pairs", "--min", "tact=50%", "--system", "old").code == 1
    assert gate("pairs", "--max-drop", "tact=0.1", "--baseline", "pairs", "--system", "new").code == 2
