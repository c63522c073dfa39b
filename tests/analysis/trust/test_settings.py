"""The settings of a judge card are checked in Python as on the command line."""

from __future__ import annotations

from typing import Any

import pytest

import adjudge
from adjudge.analysis.trust.settings import check_settings
from adjudge.errors import DataError

GOOD: dict[str, Any] = {
    "resample": "both", "plan_width": 0.5, "epsilon": 0.0, "margin": 0.05, "seed": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("resample", "items"),
        *[("plan_width", value) for value in (0.0, -1.0, float("nan"), float("inf"))],
        *[("epsilon", value) for value in (-0.1, 1.0, float("nan"))],
        *[("margin", value) for value in (0.0, 1.0, float("nan"), float("inf"))],
        ("seed", -1),
    ],
)
def test_a_setting_that_says_nothing_is_refused(name: str, value: object) -> None:
    check_settings(**GOOD)
    with pytest.raises(DataError, match=f"^--{'plan' if name == 'plan_width' else name} "):
        check_settings(**{**GOOD, name: value})
    labels = [adjudge.Label("i", "c", "a", "r", 4.0)]
    result = adjudge.Result("i", "p@1", "c", "m", "ok", value=3.0)
    with pytest.raises(DataError):
        adjudge.trust([result], labels, scales={"c": adjudge.Scale(1, 5, 5)}, **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("function", ["trust", "compare", "rank"])
def test_a_name_in_place_of_a_run_says_how_to_open_it(function: str) -> None:
    names = ["last"] * (2 if function == "compare" else 1)
    with pytest.raises(DataError, match=rf"adjudge\.{function}\(adjudge\.open_run\('last'\)\)"):
        getattr(adjudge, function)(*names)
