"""`adjudge export`: results, reviews or elements of a run as JSONL, CSV or Parquet, or means for a paper."""

from __future__ import annotations

import contextlib
import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import typer

from ..errors import DataError
from ..records import Result
from ..words import count
from .options import RUN, STORE
from .output_file import STANDARD_OUTPUT, as_text, writing
from .paper_table import Form, paper_table

if TYPE_CHECKING:
    from ..analysis.trust.single_score import ScoreIntervals
    from ..store import RunRow, Store


def export_command(
    run: str = RUN,
    form: str = typer.Option(
        None,
        "--format",
        metavar="jsonl|csv|parquet|latex|markdown",
        help=(
            "The file format; default: by the suffix of -o (.gz too), otherwise jsonl. latex and markdown: "
            "the table of means, for a paper."
        ),
    ),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="The file to write. Default: standard output."
    ),
    labels: Path = typer.Option(
        None,
        "--labels",
        metavar="FILE",
        help="Human labels for low and high; default: the labels in the store.",
    ),
    reviews: bool = typer.Option(
        False, "--reviews", help="Export the reviews made with `adjudge view` instead: one row per review."
    ),
    elements: bool = typer.Option(
        False,
        "--elements",
        help="Export what the steps of a protocol have checked instead: one row per element.",
    ),
    store: Path = STORE,
) -> None:
    """Export one row per item, protocol, criterion, subject and model, in item order.

    With enough labels, low and high are the interval of each score: 95 % of items have a human label inside.
    Where items have tags or notes, so do the rows.
    """
    from ..store import open_store

    form = _checked_format(form, output, is_of_results=not (reviews or elements))
    with open_store(store, write=False) as opened:
        exported = opened.run(run)
        if form in ("latex", "markdown"):
            _write_table(opened, exported, "latex" if form == "latex" else "markdown", output)
            return
        if elements:
            columns, rows = _elements(opened, exported)
        else:
            columns, rows = _reviews(opened, exported) if reviews else _results(opened, exported, labels)
        with _exported(output) as file:
            if form == "jsonl":
                _write_jsonl(rows, file)
            elif form == "csv":
                _write_csv(rows, tuple(columns), file)
            else:
                from ..data import write_parquet

                write_parquet(rows, columns, file)


@contextlib.contextmanager
def _exported(output: Path | None) -> Iterator[IO[bytes]]:
    """The file of an export; compressed where its name ends in .gz, with the same bytes every time."""
    with writing(output) as file:
        if output is None or output.suffix.lower() != ".gz":
            yield file
            return
        with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as compressed:
            yield cast("IO[bytes]", compressed)


def _checked_format(form: str | None, output: Path | None, *, is_of_results: bool) -> str:
    """The format asked for; an error where it cannot be written."""
    form = form or _format_by_suffix(output)
    if form not in ("jsonl", "csv", "parquet", "latex", "markdown"):
        raise DataError(f"--format {form}: choose jsonl, csv, parquet, latex or markdown.")
    is_compressed = output is not None and output.suffix.lower() == ".gz"
    if is_compressed and form not in ("jsonl", "csv"):
        raise DataError(f"-o {output}: only jsonl and csv are written as .gz. Leave .gz out.")
    if form in ("latex", "markdown") and not is_of_results:
        raise DataError(
            f"--format {form} is the table of means. Export reviews and elements as jsonl or csv."
        )
    if form == "parquet" and output in (None, STANDARD_OUTPUT):
        raise DataError(
            "--format parquet writes binary data, which a terminal cannot show. Name a file with -o FILE."
        )
    return form


def _write_table(store: Store, run: RunRow, form: Form, output: Path | None) -> None:
    from ..analysis.report.report import summarise
    from ..analysis.run_view.tabulate import tabulate

    text = paper_table(summarise(tabulate(store, run, keep_results=False)), form)
    with writing(output) as file:
        file.write(text.encode())
    if labels := store.labels(run):
        typer.echo(
            f"{count(len(labels), 'label')} of this run not used: these are the means of the judge. "
            f"Means corrected with labels: adjudge trust {run.name} --markdown",
            err=True,
        )


def _elements(store: Store, run: RunRow) -> tuple[dict[str, type], Iterator[dict[str, Any]]]:
    from ..results.export import ELEMENT_COLUMNS, element_rows
    from ..results.manifest import protocols_of

    if not any(protocol.pipeline for protocol in protocols_of(store, run).values()):
        raise DataError(
            f"--elements: no protocol of {run.name} judges in steps, so there are no elements. Leave it out."
        )
    return ELEMENT_COLUMNS, element_rows(store, run)


def _results(
    store: Store, run: RunRow, labels: Path | None
) -> tuple[dict[str, type], Iterator[dict[str, Any]]]:
    """The columns and rows of the results, with what people wrote about the items."""
    from ..analysis.trust.single_score import intervals_of_run
    from ..results.export import EXPORT_COLUMNS, export_row
    from ..results.stored_results import results

    intervals, unused = intervals_of_run(store, run, labels)
    if unused:
        typer.echo(f"! {unused}", err=True)
    notes = store.notes(run)
    columns = {**EXPORT_COLUMNS, "low": float, "high": float} if intervals else dict(EXPORT_COLUMNS)
    tags_of: dict[str, list[str]] = {}
    texts_of: dict[str, list[str]] = {}
    for note in notes:
        tags = tags_of.setdefault(note.item, [])
        tags += [tag for tag in note.tags if tag not in tags]
        if note.text:
            texts_of.setdefault(note.item, []).append(f"{note.author}: {note.text}")
    if notes:
        columns |= {"tags": list}

    def written(row: dict[str, Any]) -> dict[str, Any]:
        """The row with the tags of people, and with what they wrote beside the notes of the judge."""
        if not notes:
            return row
        said = {"people": "\n".join(texts_of[row["item"]])} if row["item"] in texts_of else {}
        return {**row, "notes": {**row["notes"], **said}, "tags": tags_of.get(row["item"], [])}

    rows = (
        written({**export_row(result), **(_ends(result, intervals) if intervals else {})})
        for result in results(store, run)
    )
    return columns, rows


def _reviews(store: Store, run: RunRow) -> tuple[dict[str, type], Iterator[dict[str, Any]]]:
    """The columns and rows of the reviews."""
    from ..analysis.labels.reviews import REVIEW_COLUMNS, review_row

    found = store.reviews(run)
    if not found:
        raise DataError(
            f"{run.name} has no reviews. Make some: adjudge view {run.name}, page Review; or leave "
            "--reviews out."
        )
    return REVIEW_COLUMNS, map(review_row, found)


def _ends(result: Result, intervals: ScoreIntervals) -> dict[str, float | None]:
    interval = intervals.get((result.protocol, result.criterion, result.model))
    ends = None if interval is None or result.value is None else interval.around(result.value)
    return {"low": None, "high": None} if ends is None else {"low": ends[0], "high": ends[1]}


def _format_by_suffix(output: Path | None) -> str:
    """The format that the name of a file promises; a name that promises one that is not written is an
    error."""
    name = Path("") if output is None else Path(output.name.lower())
    suffix = (Path(name.stem) if name.suffix == ".gz" else name).suffix.lstrip(".")
    if suffix in ("json", "tsv", "xlsx"):
        raise DataError(
            f"-o {output}: no export is written as .{suffix}. Name it .jsonl, .csv, .jsonl.gz, .csv.gz or "
            ".parquet, or give --format."
        )
    return {"csv": "csv", "parquet": "parquet", "tex": "latex", "md": "markdown"}.get(suffix, "jsonl")


def _write_jsonl(rows: Iterator[dict[str, Any]], file: IO[bytes]) -> None:
    import msgspec

    for row in rows:
        file.write(msgspec.json.encode(row) + b"\n")


def _write_csv(rows: Iterator[dict[str, Any]], columns: tuple[str, ...], file: IO[bytes]) -> None:
    """CSV that a spreadsheet shows as text: a cell that could be a formula starts with an apostrophe."""
    import msgspec

    from ..data import guarded

    def cell(value: Any) -> Any:
        if isinstance(value, dict) or (
            isinstance(value, list) and any(isinstance(entry, dict) for entry in value)
        ):
            value = msgspec.json.encode(value).decode()
        text = " ".join(value) if isinstance(value, list) else value
        return guarded(text) if isinstance(text, str) else text

    with as_text(file) as text:
        writer = csv.writer(text)
        writer.writerow(columns)
        for row in rows:
            writer.writerow(
                [
                    cell(row[column]) if row[column] != [] or column != "evidence" else "[]"
                    for column in columns
                ]
            )
