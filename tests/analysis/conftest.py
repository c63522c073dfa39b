"""What tests of several analyses share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from adjudge.analysis.trust.card import CriterionCard
from adjudge.records import Label
from judged import score
from running import Outcome, adjudge
from views import judge_card

Row = dict[str, Any]


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """`adjudge gate` on the store of the test's own folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path, **environment: str) -> Outcome:
        return adjudge("gate", *arguments, "--store", tmp_path / "adjudge.db", **environment)

    return run


@pytest.fixture(scope="session")
def expected(shared: Path) -> dict[str, Any]:
    """The published figures of the real data."""
    return json.loads((shared / "data" / "EXPECTED.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def topical_chat_cards(real_rows: Callable[[str], list[Row]]) -> Callable[..., dict[str, CriterionCard]]:
    """Cards of judgments of topical_chat: each row with the
    scores of its replies, none where one is not read.
    """
    items = {row["item_id"]: row for row in real_rows("topical_chat.items")}
    labels = [
        Label(name, dimension, "people", label["mean"])
        for name, row in items.items()
        for dimension, label in row["human"].items()
        if dimension in ("naturalness", "coherence", "engagingness", "groundedness")
    ]

    def cards(judged: Iterable[tuple[Row, Sequence[float | None]]]) -> dict[str, CriterionCard]:
        results = []
        for row, scores in judged:
            read = [value for value in scores if value is not None]
            item, mean = items[row["item_id"]], math.fsum(read) / len(read) if read else None
            about = {"protocol": row["protocol"], "criterion": row["dimension"], "model": row["judge"]}
            counts = {"n_samples": len(scores), "n_failed": len(scores) - len(read)}
            results.append(score(row["item_id"], mean, item["system"], item["group_id"], **about, **counts))
        return judge_card(results, labels, n_resamples=100).criteria

    return cards
