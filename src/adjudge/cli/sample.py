"""`adjudge sample`: random items to label, as a CSV file to fill in; or replies to check by hand."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

from ..errors import DataError
from .options import RUN, STORE
from .output_file import as_text, writing

if TYPE_CHECKING:
    from ..analysis.sampling.draw import DrawnRows
    from ..analysis.sampling.items_to_label import Draw


def sample_command(
    run: str = RUN,
    n: int = typer.Option(50, "-n", metavar="N", min=1, help="Number of items, or replies."),
    more: int = typer.Option(
        None, "--more", metavar="N", min=1, help="Continue a draw: N items after its first -n items."
    ),
    labels: Path = typer.Option(
        None, "--labels", metavar="FILE", help="With --more: file of the earlier draw, whose rows are kept."
    ),
    where: str = typer.Option(
        None, "--where", metavar="uncertain", help="Draw items more often where the judge is uncertain."
    ),
    by: str = typer.Option(None, "--by", metavar="system", help="Draw the same number from each system."),
    replies: bool = typer.Option(
        False, "--replies", help="Draw replies and the scores read from them, to check the reading by hand."
    ),
    rater: str = typer.Option("rater", "--rater", metavar="NAME", help="Name of the rater who fills it in."),
    seed: int = typer.Option(0, "--seed", metavar="N", min=0, help="The same seed draws the same rows."),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Output file; default: the terminal."
    ),
    store: Path = STORE,
) -> None:
    """Draw random items to label, as a CSV file to fill in; or replies to check by hand."""
    from ..analysis.sampling.items_to_label import items_to_label
    from ..analysis.sampling.replies_to_check import replies_to_check
    from ..store import open_store
    from ..words import count

    if by not in (None, "system"):
        raise DataError(f"--by {by}: only 'system' is supported. Leave it out to draw from all items.")
    if by is not None and replies:
        raise DataError(
            "--by system is for items to label; replies are drawn from all systems. Leave it out."
        )
    how = _draw_of(n, more, labels, where, by_system=by is not None, seed=seed, is_replies=replies)
    with open_store(store, write=False) as opened:
        run_row = opened.run(run)
        if replies:
            drawn = replies_to_check(opened, run_row, n, seed=seed)
        else:
            drawn = items_to_label(opened, run_row, how, rater)
        name = run_row.name
    _write(drawn, output)
    noun = "replies" if replies else "items"
    typer.echo(f"{drawn.n} of {drawn.n_all} {noun} of {name}, {len(drawn.rows)} rows", err=True)
    if drawn.n_of_other_texts:
        verb = "is" if drawn.n_of_other_texts == 1 else "are"
        typer.echo(
            f"! {count(drawn.n_of_other_texts, 'value')} of {labels} {verb} of another text than the one "
            "that was judged, and left out: label these items again.",
            err=True,
        )
    if output is not None and not replies:
        typer.echo(f"Fill in the column value, then: adjudge trust {name} --labels {output}", err=True)


def _draw_of(
    n: int,
    more: int | None,
    labels: Path | None,
    where: str | None,
    *,
    by_system: bool,
    seed: int,
    is_replies: bool,
) -> Draw:
    """How items are to be drawn; an error where the flags do not go together."""
    from ..analysis.sampling.items_to_label import Draw, read_draw

    if where not in (None, "uncertain"):
        raise DataError(
            f"--where {where}: only 'uncertain' is supported. Leave it out to draw all items alike."
        )
    if is_replies and (more is not None or where is not None or labels is not None):
        raise DataError("--more, --where and --labels are for items to label. Leave them out with --replies.")
    if labels is not None and more is None:
        raise DataError("--labels names the draw to continue. Give the number of items to add: --more N.")
    earlier = read_draw(labels) if labels is not None else ()
    return Draw(n, by_system, seed, more or 0, where is not None, earlier)


def _write(drawn: DrawnRows, output: Path | None) -> None:
    """To the terminal, or to a new file: an existing file may contain labels."""
    if output is not None and os.path.lexists(output):
        raise DataError(f"{output} already exists and may contain labels. Choose another name with -o.")
    with writing(output, is_replacing=False) as file, as_text(file) as text:
        _write_csv(drawn, text)


def _write_csv(drawn: DrawnRows, file: IO[str]) -> None:
    """A cell that a spreadsheet could read as a formula gets an apostrophe; reading removes it again."""
    from ..data import guarded

    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(drawn.columns)
    for row in drawn.rows:
        writer.writerow([guarded(row.get(name, "")) for name in drawn.columns])
