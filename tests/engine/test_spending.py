"""A budget holds also where many calls are in flight: they cannot spend it several times over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.errors import BudgetReached
from adjudge.public import run
from fakeserver import FakeServer, as_json, chat

PRICED = {
    **json.loads(chat("Score: 4").body),
    "usage": {"prompt_tokens": 300, "completion_tokens": 10, "total_tokens": 310},
}
"""A reply that costs 0.31 dollars at a thousand dollars for a million tokens."""

ITEMS = [{"id": f"q{k}", "task": f"Question {k}?", "response": f"Answer {k}."} for k in range(40)]


@pytest.mark.parametrize(("budget", "most"), [(0.2, 4), (2.0, 7), (6.0, 20)])
def test_calls_in_flight_count_in_the_budget(budget: float, most: int, tmp_path: Path) -> None:
    with FakeServer(default=as_json(PRICED).after(0.02)) as server:
        with pytest.raises(BudgetReached, match="budget"):
            run(
                ITEMS,
                "direct/helpful",
                f"{server.url}/v1#m",
                store=tmp_path / "s.db",
                budget=budget,
                price=(1000, 1000),
                concurrency=64,
            )
        assert 1 <= len(server.requests) <= most


def test_a_budget_that_suffices_stops_nothing(tmp_path: Path) -> None:
    with FakeServer(default=as_json(PRICED)) as server:
        done = run(
            ITEMS,
            "direct/helpful",
            f"{server.url}/v1#m",
            store=tmp_path / "s.db",
            budget=12.5,
            price=(1000, 1000),
        )
        assert (len(server.requests), len(done.results())) == (40, 40)
