"""`adjudge rank` and `adjudge pair`: which system is better, and the pairs that this takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_args

import typer

from ..errors import DataError
from .options import AS_JSON, RUN, STORE
from .output import print_json, print_text, writing
from .sections import markdown_of, print_sections


def rank_command(
    run: str = RUN,
    criterion: str = typer.Option(
        None, "--criterion", metavar="NAME", help="One criterion of several; default: all, choices first."
    ),
    n_next: int = typer.Option(
        0, "--next", metavar="K", min=0, help="Propose K comparisons that would settle most of what is open."
    ),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Write the proposed pairs whose outputs are known."
    ),
    outputs: list[Path] = typer.Option(
        [], "--outputs", metavar="FILE", help="Outputs to propose from, beside those in the run; repeatable."
    ),
    ties: str = typer.Option(
        "davidson",
        "--ties",
        metavar="davidson|half",
        help="How strengths treat ties: a model of them, or half a win.",
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same digits."),
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Which system is better: win rates, strengths, and which places cannot be told apart."""
    from ..ranking import ranking_of_run
    from ..ranking.of_run import rows_to_ask
    from ..ranking.tables import sections
    from ..stats import Ties
    from ..store import open_store

    if ties not in get_args(Ties):
        raise DataError(f"--ties {ties}: choose davidson or half.")
    if output is not None and not n_next:
        raise DataError("-o writes the comparisons that --next proposes. Say how many: --next K.")
    with open_store(store, write=False) as opened:
        found = opened.run(run)
        ranking = ranking_of_run(
            opened,
            found,
            criterion=criterion,
            seed=seed,
            ties=cast("Ties", ties),
            n_next=n_next,
            outputs=outputs,
        )
        rows = rows_to_ask(opened, found, ranking.next, outputs) if output is not None else []
    if as_json:
        print_json(ranking)
    elif markdown:
        print_text(markdown_of(sections(ranking)))
    else:
        print_sections(sections(ranking))
    if output is not None:
        _write_rows(rows, output)
        told = (
            ""
            if len(rows) == n_next
            else f" of {n_next}: no more outputs are known that were not compared; --outputs FILE gives more"
        )
        typer.echo(f"{len(rows)} pairs written to {output}{told}", err=True)


def pair_command(
    files: list[Path] = typer.Argument(
        ..., metavar="FILE…", help="Outputs, a file for each system or all in one."
    ),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Where to (JSONL); default: the terminal."
    ),
    field: str = typer.Option(
        "response", "--field", metavar="NAME", help="The field that becomes response_a and response_b."
    ),
    by: str = typer.Option("id", "--by", metavar="id|group", help="What outputs of one input share."),
    design: str = typer.Option(
        "all", "--design", metavar="all|ring|random", help="Which pairs of systems meet on an input."
    ),
    per_item: int = typer.Option(
        None, "--per-item", metavar="K", min=1, help="So many pairs of each input, for ring and random."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same pairs."),
    as_json: bool = typer.Option(False, "--json", help="Print what became of the outputs as JSON; needs -o."),
) -> None:
    """Pairs from the outputs of several systems, joined by id, for a protocol that compares."""
    from ..data.pairs import By, Design, make_pairs

    if design not in get_args(Design):
        raise DataError(f"--design {design}: choose all, ring or random.")
    if by not in get_args(By):
        raise DataError(f"--by {by}: choose id or group.")
    if as_json and output is None:
        raise DataError(
            "--json and the pairs cannot both go to the terminal. Say where the pairs go with -o FILE."
        )
    pairs = make_pairs(
        files, field=field, by=cast("By", by), design=cast("Design", design), per_item=per_item, seed=seed
    )
    _write_rows(pairs.rows, output)
    if as_json:
        print_json(
            {
                "pairs": len(pairs.rows),
                "inputs": pairs.n_inputs,
                "systems": pairs.systems,
                "unmatched": pairs.unmatched,
                "missing": pairs.missing,
                "differing": pairs.differing,
            }
        )
        return
    from ..report.terminal import safe

    where = f" in {output}" if output is not None else ""
    typer.echo(
        f"{len(pairs.rows)} pairs of {len(pairs.systems)} systems on {pairs.n_inputs} inputs{where}", err=True
    )
    for note in pairs.notes():
        typer.echo(f"! {safe(note)}", err=True)


def _write_rows(rows: Sequence[dict[str, Any]], output: Path | None) -> None:
    import msgspec

    with writing(output) as file:
        for row in rows:
            file.write(msgspec.json.encode(row) + b"\n")
