"""A cascade as a flow: shares, prices, and the items behind each part."""

from __future__ import annotations

from typing import Any

from adjudge.web.parts.cascade_flow import cascade_flow
from adjudge.web.parts.doors import Doors

CASCADE: dict[str, Any] = {
    "agree": 0.925,
    "risk": 0.1,
    "stages": [
        {
            "judge": "cheap",
            "run": "night.1",
            "reached": 200,
            "decided": 150,
            "cost_usd": 0.2,
            "threshold": 0.5,
        },
        {"judge": "dear", "run": "night.2", "reached": 50, "decided": 40, "cost_usd": 1.0},
    ],
    "to_people": 10,
    "to_check": 4,
}


def test_each_part_has_its_share_its_price_and_opens_its_items() -> None:
    flow = cascade_flow(CASCADE, Doors("night", {}))
    assert flow is not None
    assert flow.answer == "Judges decided 95 % of 200 items for $1.20; 10 items for people."
    cheap, dear, people = flow.steps
    assert cheap.about == "200 items asked · $0.20 · decides at confidence ≥ 0.5"
    assert [part.words for part in cheap.parts] == ["150 decided (75 %)", "50 passed on (25 %)"]
    assert [part.url for part in cheap.parts] == ["/items?run=night&flag=decided_by_1", "/items?run=night.2"]
    assert [part.url for part in dear.parts] == [
        "/items?run=night&flag=decided_by_2", "/items?run=night&flag=to_people",
    ]  # fmt: skip
    assert [part.words for part in people.parts] == ["10 items (5.0 %)"]
    assert 'x="75.000%" y="0" width="20.000%"' in dear.picture
    assert "at least 92.5 % agreement" in flow.notes[0]
    assert "none is labelled" in flow.notes[1]


def test_checked_items_say_whether_the_promise_still_holds() -> None:
    checked = {"n": 4, "value": 0.5, "low": 0.1, "high": 0.9, "holds": False}
    flow = cascade_flow({**CASCADE, "checked": checked})
    assert flow is not None
    assert "4 of 4 decided items labelled to check" in flow.notes[1]
    assert "no longer holds" in flow.notes[1]
    assert not any(part.url for step in flow.steps for part in step.parts)


def test_a_run_of_one_judge_has_no_flow() -> None:
    assert cascade_flow({}) is None
