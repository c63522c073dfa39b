"""`adjudge rank`: which system is better, and the comparisons to run next."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import cast, get_args

import typer

from ..errors import DataError
from .first_screen import show_screen, show_sections
from .options import AS_JSON, FULL, RUN, STORE
from .output_file import write_rows
from .terminal import print_json


def rank_command(
    run: str = RUN,
    criterion: str = typer.Option(
        None, "--criterion", metavar="NAME", help="Rank by this criterion only; default: all, choices first."
    ),
    n_next: int = typer.Option(
        0, "--next", metavar="K", min=0, help="Propose the K most informative comparisons to run next."
    ),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Write the proposed pairs whose outputs are known."
    ),
    outputs: list[Path] = typer.Option(
        [],
        "--outputs",
        metavar="FILE",
        help="More outputs to propose from, in addition to those in the run; repeatable.",
    ),
    ties: str = typer.Option(
        "davidson",
        "--ties",
        metavar="davidson|half",
        help="How strengths treat ties: Davidson's model, or half a win.",
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", min=0, help="The same seed gives the same digits."),
    full: bool = FULL,
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Rank the systems: win rates, strengths, and which differences are significant."""
    from ..analysis.rank.first_screen import rank_screen
    from ..analysis.rank.proposals import rows_to_ask
    from ..analysis.rank.rank import rank_run
    from ..analysis.rank.words import rank_sections
    from ..stats import Ties
    from ..store import open_store

    if ties not in get_args(Ties):
        raise DataError(f"--ties {ties}: choose davidson or half.")
    if output is not None and not n_next:
        raise DataError("-o writes the comparisons that --next proposes. Give their number: --next K.")
    with open_store(store, write=False) as opened:
        run_row = opened.run(run)
        ranking = rank_run(
            opened,
            run_row,
            criterion=criterion,
            seed=seed,
            ties=cast("Ties", ties),
            n_next=n_next,
            outputs=outputs,
        )
        rows = rows_to_ask(opened, run_row, ranking.next, outputs) if output is not None else []
    if as_json:
        print_json(ranking)
    elif full or markdown:
        show_sections(rank_sections(ranking), as_markdown=markdown)
    else:
        show_screen(partial(rank_screen, ranking), as_markdown=False)
    if output is not None:
        write_rows(rows, output)
        missing = (
            ""
            if len(rows) == n_next
            else (
                f" of {n_next}: all other known outputs are compared already; add outputs with --outputs FILE"
            )
        )
        typer.echo(f"{len(rows)} pairs written to {output}{missing}", err=True)
