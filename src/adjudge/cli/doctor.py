"""`adjudge doctor`: checks every page and row of a store, and saves what is whole of a damaged one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import StoreError
from ..exit_codes import MISTAKE
from .options import AS_JSON, STORE
from .terminal import print_json, print_table, print_text

if TYPE_CHECKING:
    from ..store.repair import Damage


def doctor_command(
    store: Path = STORE,
    repair: Path = typer.Option(
        None,
        "--repair",
        metavar="FILE",
        help="Save what is intact into this new store; the old one is not changed.",
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Check every page and every row of a store; damaged replies are quarantined and requested again.

    A store that cannot be written is only checked.
    """
    from ..store import open_store
    from ..store.repair import examine

    if repair is not None:
        _repair(store, repair, as_json)
        return
    with open_store(store, write=False):
        pass  # a missing store is an error; opening it for writing would create one
    # Damaged replies can be set aside; a reply that is gone cannot.
    damage = [part for part in examine(store) if part.what != "replies" or part.run is not None]
    damaged: list[str] = []
    runs: list[str] = []
    not_done: str | None = None
    if not damage:
        with open_store(store, write=False) as opened:
            damaged = opened.verify()
            runs = [run.name for run in opened.runs()]
    if damaged:
        not_done = _set_aside(store)
    if as_json:
        print_json(
            {"store": str(store), "runs": runs, "damaged": damaged, "problems": damage, "not_done": not_done}
        )
    elif damage:
        print_text("\n".join([f"{store} is damaged:", *(f"  {_damage_text(part)}" for part in damage)]))
        print_text(f"Save what is whole: adjudge doctor --store {store} --repair NEW.db")
    else:
        _print_whole(store, runs, damaged, not_done)
    if damage or not_done:
        raise typer.Exit(MISTAKE)


def _set_aside(store: Path) -> str | None:
    """Quarantine the damaged replies; why they could not be, or none."""
    from ..store import open_store

    try:
        with open_store(store) as opened:
            opened.verify()
    except StoreError as refusal:
        return str(refusal)
    return None


def _repair(store: Path, out: Path, as_json: bool) -> None:
    """Save what is whole, and say what is not."""
    from ..store import open_store
    from ..store.repair import repair

    if not store.exists():
        open_store(store, write=False)  # raises
    saved, damage = repair(store, out)
    if as_json:
        print_json({"store": str(store), "repaired": str(out), "runs": saved, "problems": damage})
        return
    columns = ("run", "items", "calls", "judgments")
    rows = [
        (
            run.run,
            *(
                f"{n} of {n_all}"
                for n, n_all in (
                    (run.items, run.items_written),
                    (run.calls, run.calls_written),
                    (run.judgments, run.judgments_written),
                )
            ),
        )
        for run in saved
    ]
    print_table(columns, rows)
    print_text(
        "\n".join([f"{out} has what is whole of {store}.", *(f"  {_damage_text(part)}" for part in damage)])
    )
    if not all(run.is_whole for run in saved):
        print_text(f"To fill in what is missing, give the command of each run again with --store {out}.")


def _damage_text(part: Damage) -> str:
    """One line: what is missing or damaged, and how much of it."""
    where = f" of run {part.run}" if part.run is not None else ""
    number = f"{part.n} " if part.n else ""
    detail = f": {part.detail}" if part.detail else " missing or damaged"
    return f"{number}{part.what}{where}{detail}"


def _print_whole(store: Path, runs: list[str], damaged: list[str], not_done: str | None) -> None:
    print_text(f"{store}: {len(runs)} run{'' if len(runs) == 1 else 's'}, the file is intact.")
    if damaged:
        is_single = len(damaged) == 1
        done = "damaged, but could not be quarantined" if not_done else "damaged and quarantined"
        print_text(f"{len(damaged)} repl{'y is' if is_single else 'ies are'} {done}.")
        print_text(
            not_done or f"Run the command of the run again to request {'it' if is_single else 'them'} again."
        )
    else:
        print_text("Every reply is intact.")
