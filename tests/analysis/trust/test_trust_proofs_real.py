"""Published figures, reproduced from what judges really answered: raw replies and log-probabilities."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge.analysis.trust.card import CriterionCard
from adjudge.records import Reading
from adjudge.stats import mean_interval, standard_error, token_preference
from running import adjudge as command
from running import write_rows

Rows = Callable[[str], list[dict[str, Any]]]
DIMENSIONS = ("naturalness", "coherence", "engagingness", "groundedness")
PROTOCOLS = ("geval", "geval_no_auto_cot", "rate_explain")


Read = list[tuple[dict[str, Any], list[Reading]]]


@pytest.fixture(scope="module")
def replies_read(real_rows: Rows) -> Read:
    """Every judgment of topical_chat with what our reader makes
    of its twenty replies; equal replies are read once.
    """
    known: dict[tuple[str, float, float], Reading] = {}

    def read(text: str, low: float, high: float) -> Reading:
        if (text, low, high) not in known:
            known[text, low, high] = adjudge.read_score(text, low, high)
        return known[text, low, high]

    return [
        (row, [read(text, *row["scale"]) for text in row["responses"]])
        for row in real_rows("topical_chat.judgments")
    ]


@pytest.fixture(scope="module")
def topical_chat(
    replies_read: Read, topical_chat_cards: Callable[..., dict[str, CriterionCard]]
) -> dict[str, CriterionCard]:
    return topical_chat_cards(
        (row, [reading.value for reading in readings]) for row, readings in replies_read
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_raw_replies_give_the_published_correlations_nearly(
    protocol: str, dimension: str, topical_chat: dict[str, CriterionCard], expected: dict[str, Any]
) -> None:
    """Nearly: the published rule reads "0.5" as 0 and keeps values off the scale; ours does neither."""
    name = f"{protocol}/{dimension}"
    card, figures = topical_chat[name], expected["topical_chat"][name]
    assert card.item["pearson"].value == pytest.approx(figures["dataset_pearson"], abs=0.04)
    assert card.item["pearson"].n == figures["n"]
    for kind in ("pearson", "spearman", "kendall"):
        assert card.group[kind].value == pytest.approx(figures[f"doc_{kind}"], abs=0.04), kind


def test_failed_replies_are_dropped_and_counted(
    topical_chat: dict[str, CriterionCard], replies_read: Read
) -> None:
    failed: Counter[str] = Counter()
    for row, readings in replies_read:
        failed[f"{row['protocol']}/{row['dimension']}"] += sum(reading.value is None for reading in readings)
    assert sum(failed.values()) > 0
    for name, card in topical_chat.items():
        failures = card.quality.failures.values()
        assert sum(failure.n_samples_failed for failure in failures) == failed[name], name
        assert sum(failure.n_samples for failure in failures) == 20 * card.n_items, name


def test_what_the_published_rule_reads_otherwise_is_known_reply_by_reply(replies_read: Read) -> None:
    """The rule takes the first digits it meets. It cuts decimals, takes list numbers and facts for scores."""
    reasons: Counter[str] = Counter()
    listed: Counter[tuple[str, float | None, object]] = Counter()
    n_replies = 0
    for row, readings in replies_read:
        for text, theirs, ours in zip(row["responses"], row["recorded"], readings, strict=True):
            n_replies += 1
            if ours.value == theirs:
                continue
            listed[" ".join(text.split())[:60], theirs, ours.value] += 1
            reasons[_why(text, theirs, ours, row["scale"])] += 1
    print(f"\n{sum(listed.values())} of {n_replies} replies are read differently: {dict(reasons)}")
    for (text, theirs, our_value), n in listed.most_common():
        print(f"{n:5} {text!r}: the published rule reads {theirs:g}, ours {our_value}")
    assert n_replies == 85_700
    assert sum(listed.values()) < 0.01 * n_replies
    assert listed["0.5", 0.0, 0.5] > 500
    assert reasons["a decimal cut to its first digit"] > 0.85 * sum(listed.values())
    assert reasons["no reason known"] == 0


def _why(text: str, theirs: float, ours: Reading, scale: list[float]) -> str:
    if isinstance(ours.value, float) and math.floor(ours.value) == theirs and ours.value % 1:
        return "a decimal cut to its first digit"
    if not scale[0] <= theirs <= scale[1]:
        return "a number off the scale"
    if ours.value is None:
        return "a list of several, or no answer"
    # What is left begins with another number: "1. Groundedness: 0", "Fact: until 1805 …".
    first = next(character for character in text if character.isdigit())
    return "a number that is no score" if float(first) == theirs else "no reason known"


@pytest.mark.slow
def test_recorded_replies_run_through_the_command_line_give_the_published_correlations(
    real_rows: Rows, expected: dict[str, Any], tmp_path: Path
) -> None:
    """items, a protocol folder and replies in; `run`, then
    `trust`: the same figures as the reader alone gives.
    """
    protocol, dimension = "geval_no_auto_cot", "groundedness"
    items = real_rows("topical_chat.items")
    write_rows(
        tmp_path / "items.jsonl",
        [
            {"id": row["item_id"], "system": row["system"], "group": row["group_id"],
             "source": row["source"], "response": row["output"]}
            for row in items
        ],
    )  # fmt: skip
    replies, judged = [], set()
    for row in real_rows("topical_chat.judgments"):
        if (row["protocol"], row["dimension"]) == (protocol, dimension):
            judged.add(row["item_id"])
            replies += [
                {"item": row["item_id"], "sample": k, "text": text} for k, text in enumerate(row["responses"])
            ]
    write_rows(tmp_path / "replies.jsonl", replies)
    write_rows(
        tmp_path / "labels.jsonl",
        [
            {"item": row["item_id"], "criterion": dimension, "rater": "people",
            "value": row["human"][dimension]["mean"]}
            for row in items
        ],
    )  # fmt: skip
    folder = tmp_path / "grounded"
    folder.mkdir()
    (folder / "protocol.toml").write_text(_PROTOCOL, encoding="utf-8")
    (folder / "user.md").write_text("{{source}}\n\n{{response}}\n\nGroundedness, 0 to 1:\n", encoding="utf-8")
    done = command(
        "run", tmp_path / "items.jsonl", "-p", folder, "-m", f"replay:{tmp_path / 'replies.jsonl'}",
        "--samples", "20", "--run", "tc", "--store", tmp_path / "s.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    asked = ("trust", "tc", "--labels", tmp_path / "labels.jsonl", "--json", "--store", tmp_path / "s.db")
    card = command(*asked).json["criteria"][dimension]
    figures = expected["topical_chat"][f"{protocol}/{dimension}"]
    assert card["n_failed"] == len(items) - len(judged)
    assert card["item"]["pearson"]["n"] == figures["n"]
    assert card["item"]["pearson"]["value"] == pytest.approx(figures["dataset_pearson"], abs=0.04)
    for kind in ("pearson", "spearman", "kendall"):
        assert card["group"][kind]["value"] == pytest.approx(figures[f"doc_{kind}"], abs=0.04)
    assert card["quality"]["retest"]["n_items"] == len(judged)


_PROTOCOL = """\
title = "Groundedness of a reply in a conversation"
task = "score"
language = { prompt = "en", reply = "en" }
source = "G-Eval's conversation task, without evaluation steps"
inputs = ["source", "response"]

[[criteria]]
name = "groundedness"
scale = { low = 0, high = 1, best = 1 }

[answer]
reader = "free"
"""


@pytest.mark.parametrize("system", ["alpaca-7b", "claude-2", "Qwen-14B-Chat"])
def test_alpacaeval_win_rates_come_from_the_log_probabilities(
    system: str, real_rows: Rows, expected: dict[str, Any]
) -> None:
    preferences: list[float] = []
    for row in real_rows("alpacaeval2.judgments"):
        if row["system"] != system:
            continue
        if row["top_logprobs"] is None:
            # Both outputs were the same text: nothing was asked, and it counts as a tie.
            assert row["len_baseline"] == row["len_system"]
            preferences.append(0.5)
            continue
        preferred, other = ("M", "m") if row["order_inferred"] == "ab" else ("m", "M")
        preference = token_preference(
            [(token, logprob) for token, logprob in row["top_logprobs"]], preferred, other
        )
        assert preference is not None
        assert preference.share == pytest.approx(row["recorded_preference"] - 1, abs=1e-6)
        preferences.append(preference.share)
    rate, figures = mean_interval(preferences), expected["alpacaeval2"][system]
    precision = standard_error(preferences)
    assert precision is not None
    assert rate.n == 805
    assert 100 * (rate.value or 0) == pytest.approx(figures["win_rate"], abs=1e-4)
    assert 100 * precision.se == pytest.approx(figures["standard_error"], abs=1e-4)
