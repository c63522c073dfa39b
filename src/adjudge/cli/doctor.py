"""`adjudge doctor`: is a store sound? What is damaged is set aside, never read as an answer."""

from __future__ import annotations

from pathlib import Path

from .options import AS_JSON, STORE
from .output import print_json, print_text


def doctor_command(store: Path = STORE, as_json: bool = AS_JSON) -> None:
    """Look at every page and every reply of a store; damaged replies are set aside and will be asked again."""
    from ..store import open_store

    with open_store(store, write=False):
        pass  # says so where there is none, instead of making one
    with open_store(store) as opened:
        damaged = opened.verify()
        runs = [run.name for run in opened.runs()]
    if as_json:
        print_json({"store": str(store), "runs": runs, "damaged": damaged})
        return
    print_text(f"{store}: {len(runs)} run{'' if len(runs) == 1 else 's'}, the file is whole.")
    if damaged:
        one = len(damaged) == 1
        print_text(
            f"{len(damaged)} repl{'y is' if one else 'ies are'} damaged and set aside. "
            f"Give the command of the run again: it asks for {'it' if one else 'them'} once more."
        )
    else:
        print_text("Every reply is as it was written.")
