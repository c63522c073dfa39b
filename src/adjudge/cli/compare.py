"""`adjudge compare`: the same items judged twice."""

from __future__ import annotations

from pathlib import Path

import typer

from .options import AS_JSON, STORE
from .output import print_json, print_text
from .sections import markdown_of, print_sections


def compare_command(
    first: str = typer.Argument(..., metavar="RUN_A", help="The name of a run, or 'last'."),
    second: str = typer.Argument(..., metavar="RUN_B", help="Another run on the same items."),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same digits."),
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """The same items judged twice (two prompts, two judges, two versions): does it change the conclusion?"""
    from ..contrast import contrast, side_of_run
    from ..contrast.tables import sections
    from ..store import open_store

    with open_store(store, write=False) as opened:
        sides = [side_of_run(opened, opened.run(name)) for name in (first, second)]
    found = contrast(sides[0], sides[1], seed)
    if as_json:
        print_json(found)
    elif markdown:
        print_text(markdown_of(sections(found)))
    else:
        print_sections(sections(found))
