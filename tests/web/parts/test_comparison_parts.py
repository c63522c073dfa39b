"""The parts of a comparison: what a section is never depends on what its criterion is called."""

from __future__ import annotations

import pytest

import adjudge
from adjudge.records import Result, Scale
from adjudge.web.parts.comparison import comparison_parts


def results(criterion: str, shift: int) -> list[Result]:
    return [
        Result(
            item=f"{n}-{system}",
            protocol="p@1",
            criterion=criterion,
            model="m",
            status="ok",
            system=system,
            value=float(1 + (n + shift * (system == "b")) % 5),
        )
        for n in range(30)
        for system in ("a", "b")
    ]


@pytest.mark.parametrize(
    "name", ["How to read this", "Items that moved most", "Ranks of the systems", "Flags", "clarity"]
)
def test_a_criterion_may_have_the_name_of_a_section(name: str) -> None:
    scales = {name: Scale(1, 5, 5, 1), "other": Scale(1, 5, 5, 1)}
    first, second = ([*results(name, shift), *results("other", shift)] for shift in (0, 1))
    parts = comparison_parts(adjudge.compare(first, second, scales=scales))
    assert [part.name for part in parts.criteria] == [name, "other"]
    assert [part.sections[0].section.criterion for part in parts.criteria] == [name, "other"]
    assert all(part.moved is not None for part in parts.criteria)
    assert [view.section.kind for view in parts.folded] == ["how_to_read"]
