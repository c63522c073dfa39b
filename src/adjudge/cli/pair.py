"""`adjudge pair`: pairs of the outputs of several systems, for a protocol that compares."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import typer

from ..errors import DataError
from ..words import count
from .flag_values import parse_renames
from .output_file import write_rows
from .terminal import print_json

if TYPE_CHECKING:
    from ..data.pairs import PairSet


def pair_command(
    files: list[Path] = typer.Argument(
        ..., metavar="FILE…", help="Outputs, one file per system or all in one file."
    ),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Output file (JSONL); default: the terminal."
    ),
    field: str = typer.Option(
        "response", "--field", metavar="NAME", help="The field that becomes response_a and response_b."
    ),
    by: str = typer.Option(
        "id", "--by", metavar="id|group", help="The field that outputs of the same input share."
    ),
    design: str = typer.Option(
        "all", "--design", metavar="all|ring|random", help="Which pairs of systems to compare on each input."
    ),
    per_item: int = typer.Option(
        None, "--per-item", metavar="K", min=1, help="Number of pairs per input, for ring and random."
    ),
    renames: list[str] = typer.Option(
        [],
        "--map",
        metavar="NAME=FIELD",
        help="Take a field from another one: --map id=question_id. Repeatable.",
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", min=0, help="The same seed gives the same pairs."),
    as_json: bool = typer.Option(False, "--json", help="Print a summary as JSON; needs -o."),
) -> None:
    """Make pairs from the outputs of several systems, matched by id, for a protocol that compares."""
    from ..data.pairs import By, Design, make_pairs
    from .proposed_columns import columns_of_outputs

    if design not in get_args(Design):
        raise DataError(f"--design {design}: choose all, ring or random.")
    if by not in get_args(By):
        raise DataError(f"--by {by}: choose id or group.")
    if as_json and output is None:
        raise DataError(
            "--json and the pairs cannot both go to the terminal. Write the pairs to a file with -o FILE."
        )
    pairs = make_pairs(
        files,
        field=field,
        by=cast("By", by),
        design=cast("Design", design),
        per_item=per_item,
        seed=seed,
        renames=columns_of_outputs(files, field, parse_renames(renames)),
    )
    write_rows(pairs.rows, output)
    _print_pairs(pairs, output, as_json)


def _print_pairs(pairs: PairSet, output: Path | None, as_json: bool) -> None:
    """How many pairs there are, and what became of the other outputs."""
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
    from ..untrusted import safe

    where = f" in {output}" if output is not None else ""
    n_pairs, n_inputs = count(len(pairs.rows), "pair"), count(pairs.n_inputs, "input")
    typer.echo(f"{n_pairs} of {len(pairs.systems)} systems on {n_inputs}{where}", err=True)
    for note in pairs.notes():
        typer.echo(f"! {safe(note)}", err=True)
