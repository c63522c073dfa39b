"""`adjudge labels add`: put the labels of a file into the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .flag_values import parse_ends, parse_renames
from .options import AS_JSON, NAMED_RUN, STORE
from .terminal import print_json, print_text

if TYPE_CHECKING:
    from ..analysis.labels.adding import AddedLabels


labels_app = typer.Typer(
    help="Put human labels into the store, for every command and page.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@labels_app.callback()
def _labels() -> None:
    pass


@labels_app.command("add")
def add(
    run: str = NAMED_RUN,
    file: Path = typer.Argument(
        ..., metavar="FILE", help="Labels: CSV or JSONL with item, criterion, rater, value."
    ),
    renames: list[str] = typer.Option(
        [], "--map", metavar="NAME=COLUMN", help="Take a column from another one."
    ),
    label_scale: str = typer.Option(
        None,
        "--label-scale",
        metavar="LOW,HIGH",
        help="The scale of the labels, if it is not that of the judge: they are stored on the judge's.",
    ),
    replace: bool = typer.Option(
        False, "--replace", help="Replace labels that the same rater gave with another value."
    ),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Put the labels of a file into the store. Adding a file twice changes nothing."""
    from ..analysis.labels.adding import add_labels
    from ..analysis.labels.read import read_labels_of
    from ..results.manifest import protocols_of
    from ..store import open_store
    from ..untrusted import safe

    ends = parse_ends(label_scale, "--label-scale")
    with open_store(store, write=False) as opened:
        found = opened.run(run)
        protocols = protocols_of(opened, found).values()
    columns = {name.removeprefix("labels."): column for name, column in parse_renames(renames).items()}
    labels = read_labels_of([found], protocols, file, columns, ends)
    with open_store(store) as opened:
        added = add_labels(opened, opened.run(run), labels, label_scale=ends, replace=replace)
    if as_json:
        print_json(added)
        return
    print_text(_sentence(added))
    for note in added.notes:
        typer.echo(f"! {safe(note)}", err=True)


def _sentence(added: AddedLabels) -> str:
    from ..words import count, names

    raters = f" by {names(added.raters)}" if added.raters else ""
    rest = [
        f"{n:,} {what}"
        for n, what in (
            (added.n_replaced, "replaced"),
            (added.n_unchanged, "unchanged"),
            (added.n_not_used, "not used"),
            (added.n_empty, "without a value"),
        )
        if n
    ]
    others = f" ({', '.join(rest)})" if rest else ""
    added_labels = f"Added {count(added.n_added, 'label')} to run {added.run}"
    return (
        f"{added_labels}, of {count(added.n_items, 'item')}{raters}{others}.\nNext: adjudge trust {added.run}"
    )
