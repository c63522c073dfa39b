"""`adjudge plan`: items, groups and labels for a width, a difference or a gate, before any label exists."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import DataError
from .options import AS_JSON, STORE
from .terminal import print_json, print_sections

if TYPE_CHECKING:
    from ..analysis.pilot import Pilot
    from ..analysis.plan import Goal


def plan_command(
    run: str = typer.Argument(
        None, metavar="[RUN]", help="A pilot run: its spread, ICC and groups.", show_default=False
    ),
    width: float = typer.Option(
        None, "--width", metavar="W", help="The whole width of the interval of a mean."
    ),
    difference: float = typer.Option(
        None, "--difference", metavar="D", help="The difference of two systems on the same items to detect."
    ),
    gate: float = typer.Option(
        None, "--gate", metavar="D", help="The distance from a gate's threshold at which it should decide."
    ),
    sd: float = typer.Option(
        None,
        "--sd",
        metavar="S",
        help="Standard deviation of the scores; for --difference of the paired differences.",
    ),
    icc: float = typer.Option(
        None, "--icc", metavar="X", help="Intraclass correlation of items of one group, 0 to 1."
    ),
    group_size: int = typer.Option(None, "--group-size", metavar="N", help="Items in a group; default: 1."),
    correlation: float = typer.Option(
        0.0,
        "--correlation",
        metavar="R",
        help="Expected correlation of judge and people, which saves labels.",
    ),
    power: float = typer.Option(0.8, "--power", metavar="P", help="Probability to detect what is there."),
    criterion: str = typer.Option(
        None, "--criterion", metavar="NAME", help="The criterion of the pilot run."
    ),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Say how many items, groups and labels a goal takes: --width, --difference or --gate."""
    from ..analysis.plan import plan_sections, planned

    given: dict[Goal, float | None] = {"width": width, "difference": difference, "gate": gate}
    goals = {name: value for name, value in given.items() if value is not None}
    if len(goals) != 1:
        raise DataError("Give one goal: --width W, --difference D or --gate D.")
    ((goal, target),) = goals.items()
    _check(target, sd, icc, group_size, correlation, power)
    pilot = _pilot(run, store, criterion, sd, icc, group_size, is_difference=goal == "difference")
    plan = planned(goal, target, pilot, correlation, power)
    if as_json:
        print_json(plan)
    else:
        print_sections(plan_sections(plan, pilot.source))


def _check(
    target: float,
    sd: float | None,
    icc: float | None,
    group_size: int | None,
    correlation: float,
    power: float,
) -> None:
    if not 0 < target < math.inf:
        raise DataError(f"{target:g}: give a goal above 0, in points of the scale.")
    if sd is not None and not sd > 0:
        raise DataError(f"--sd {sd:g}: give a number above 0.")
    if icc is not None and not 0 <= icc <= 1:
        raise DataError(f"--icc {icc:g}: give a number from 0 to 1.")
    if group_size is not None and group_size < 1:
        raise DataError(f"--group-size {group_size}: give 1 or more.")
    if not 0 <= correlation < 1:
        raise DataError(f"--correlation {correlation:g}: give a number from 0 to below 1.")
    if not 0 < power < 1:
        raise DataError(f"--power {power:g}: give a number between 0 and 1.")


def _pilot(
    run: str | None,
    store: Path,
    criterion: str | None,
    sd: float | None,
    icc: float | None,
    group_size: int | None,
    *,
    is_difference: bool,
) -> Pilot:
    """What was given, and from the pilot run what was not."""
    from ..analysis.pilot import Pilot, pilot_of
    from ..analysis.run_view.tabulate import tabulate
    from ..store import open_store

    if run is None:
        if sd is None:
            raise DataError(
                "Give the spread of the scores, --sd S, or a pilot run: adjudge plan RUN --width W."
            )
        return Pilot(sd, icc or 0.0, group_size or 1)
    with open_store(store, write=False) as opened:
        pilot = pilot_of(tabulate(opened, opened.run(run)), criterion, is_difference=is_difference)
    return Pilot(
        pilot.sd if sd is None else sd,
        pilot.icc if icc is None else icc,
        pilot.group_size if group_size is None else group_size,
        pilot.source,
    )
