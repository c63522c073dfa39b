"""A difference never contradicts the two means beside it, however the labels were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest

from adjudge.analysis.labels.labelled import LabelledItem, LabelledTable
from adjudge.analysis.trust.corrected_differences import differences
from adjudge.analysis.trust.corrected_means import corrected_means
from adjudge.records import Scale

FIVE = Scale(1, 5, 5)


class Design(NamedTuple):
    """Two systems on the same inputs, judges with these errors and biases, and labels drawn in one way."""

    name: str
    drawn: str
    errors: Sequence[float]
    n_labels: int
    turns: int = 1


DESIGNS = (
    Design("any items", "items", (1.2,), 50),
    Design("inputs with both outputs", "inputs", (1.5,), 40),
    Design("uncertain items more often", "uncertain", (1.0,), 60),
    Design("a panel, any items", "items", (0.5, 1.5, 2.5), 80),
    Design("a panel, inputs with both outputs", "inputs", (0.5, 1.5, 2.5), 80),
    Design("a panel with few labels", "inputs", (0.5, 1.5, 2.5), 40),
    Design("several turns of a dialogue", "items", (1.2,), 60, 3),
    Design("eight labels of each", "inputs", (1.0,), 16),
)


def levels(values: np.ndarray) -> np.ndarray:
    return np.clip(np.round(values), 1, 5)


def drawn_of(design: Design, rng: np.random.Generator, unsure: np.ndarray) -> np.ndarray:
    """The probability of each item of both systems, and 0 where it has no label."""
    n = len(unsure)
    flags = np.zeros(n)
    if design.drawn == "inputs":
        inputs = rng.choice(n // 2, design.n_labels // 2, replace=False)
        flags[inputs] = flags[inputs + n // 2] = 1
    elif design.drawn == "items":
        flags[rng.choice(n, design.n_labels, replace=False)] = 1
    else:
        chance = np.where(unsure, 4.0, 1.0)
        chance *= design.n_labels / chance.sum()
        return np.where(rng.random(n) < chance, chance, 0.0)
    return flags


def table_of(design: Design, seed: int) -> LabelledTable:
    rng = np.random.default_rng(seed)
    n = 150 * design.turns
    hard = np.repeat(rng.normal(size=150), design.turns)
    people = np.concatenate([levels(3.2 + hard + shift + rng.normal(0, 0.7, n)) for shift in (0.0, 0.3)])
    bias = np.repeat([-0.4, 0.4], n)
    judges = np.array([levels(people + bias + rng.normal(0, error, 2 * n)) for error in design.errors])
    unsure = np.abs(judges[0] - 3) < 1
    chances = drawn_of(design, rng, unsure)
    rows = tuple(
        LabelledItem(
            item=f"{place}", subject=None, system="AB"[place // n], systems=("", ""),
            group=f"g{place % n // design.turns}", status="ok", answer=float(judges[:, place].mean()),
            label=float(people[place]) if chances[place] else None,
            probability=float(chances[place]) if 0 < chances[place] < 1 else None,
            by_judge={f"j{k}": float(one[place]) for k, one in enumerate(judges)} if len(judges) > 1 else {},
        )
        for place in range(2 * n)
    )  # fmt: skip
    return LabelledTable("c", "p@1", "judge", "scores", FIVE, ("ann",), rows, 0, True, ())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_a_difference_lies_within_half_its_half_width_of_that_of_the_means(design: Design, seed: int) -> None:
    table = table_of(design, seed)
    means = corrected_means(table)
    (difference,) = differences(table, means).values()
    assert difference.value is not None
    assert difference.low is not None
    assert difference.high is not None
    between = (means["A"].value or 0.0) - (means["B"].value or 0.0)
    assert abs(difference.value - between) <= (difference.high - difference.low) / 4 + 1e-9


def test_the_difference_of_a_panel_weighs_its_judges_as_the_means_do() -> None:
    table = table_of(DESIGNS[3], 1)
    means = corrected_means(table)
    (difference,) = differences(table, means).values()
    between = (means["A"].value or 0.0) - (means["B"].value or 0.0)
    assert difference.value == pytest.approx(between, abs=1e-9)


def test_inputs_that_only_one_system_answered_are_named() -> None:
    table = table_of(DESIGNS[0], 2)
    rows = tuple(row for row in table.rows if row.system == "A" or int(row.item) % 3)
    part = LabelledTable("c", "p@1", "judge", "scores", FIVE, ("ann",), rows, 0, True, ())
    (difference,) = differences(part, corrected_means(part)).values()
    assert "of the 100 inputs that both answered" in difference.caution
