"""Scores that were made with other tools: a table with one value per row, or a file of results of a known
tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from ..errors import DataError
from ..records import FieldValue, Item, Result
from .items import RESERVED, renamed
from .json_rows import Row
from .named_columns import CHOICES, columns_of, finite_number, named_rows, no_values, text_of_cell
from .peers.scores import PEERS, Peer, peer_of_file, peer_scores
from .table import Problems, Table
from .traces.read import read_traces

_SCORE_NEEDS = ("item", "criterion", "value")


SCORE_FORMATS = ("auto", "table", *PEERS)


class ScoreFile(Struct, frozen=True):
    """The scores of a file."""

    results: tuple[Result, ...]
    has_fields: bool
    """whether it has other columns, by which agreement can be shown"""


def read_scores(
    path: str | Path,
    renames: Mapping[str, str] | None = None,
    *,
    criterion: str = "score",
    form: str = "auto",
) -> ScoreFile:
    """Scores made with another tool, as results; or one error that lists every problem.

    `criterion` is the name of the criterion where the file has no column for it.
    """
    results: list[Result] = []
    columns: set[str] = set()
    table = Table(path)
    problems = Problems(table)
    for row_number, row in _rows(table, problems, criterion, renames or {}, form):
        columns.update(row)
        texts = {name: text_of_cell(row, name, row_number, problems) for name in ("item", "criterion")}
        value = row.get("value")
        number = None if value is None else finite_number(value)
        choice = value if isinstance(value, str) and value in CHOICES else None
        if value is not None and number is None and choice is None:
            problems.add(
                row_number, f"value '{value!s:.40}' is neither a number nor a, b or tie. Correct it."
            )
        if None in texts.values():
            continue
        results.append(
            Result(
                item=str(texts["item"]),
                protocol="",
                criterion=str(texts["criterion"]),
                model=str(row.get("model") or "scores"),
                status="unparsed" if value is None else "ok",
                system=str(row.get("system") or "all"),
                group=None if row.get("group") is None else str(row["group"]),
                value=number,
                choice=cast("Literal['a', 'b', 'tie'] | None", choice if number is None else None),
                n_samples=1,
                n_failed=int(value is None),
            )
        )
    if not results and not problems:
        problems.add(0, "no scores. Check that this is the right file.")
    if results and "value" not in columns:
        problems.add(
            0,
            no_values(
                "a value",
                columns_of(table),
                "Name the one that holds the scores: --map scores.value=COLUMN.",
            ),
        )
    if problems:
        raise problems.error()
    has_fields = _peer(table, renames or {}, form) is not None or not columns <= {*_SCORE_COLUMNS}
    return ScoreFile(tuple(results), has_fields)


def _rows(
    table: Table, problems: Problems, criterion: str, renames: Mapping[str, str], form: str
) -> Iterator[tuple[int, Row]]:
    """The rows of a table, or the scores that a known tool wrote in its format."""
    if form not in SCORE_FORMATS:
        raise DataError(f"--format {form}: choose {', '.join(SCORE_FORMATS)}.")
    peer = _peer(table, renames, form)
    if peer is not None:
        return peer_scores(table, peer, problems)
    return named_rows(table, problems, _SCORE_NEEDS, {"criterion": criterion}, renames)


def _peer(table: Table, renames: Mapping[str, str], form: str) -> Peer | None:
    """The tool whose form a file has; none for a table. Renamed columns are those of a table."""
    if form == "auto":
        return None if renames else peer_of_file(table)
    return next((peer for peer in PEERS if peer == form), None)


_SCORE_COLUMNS = ("item", "criterion", "value", "system", "group", "model")


def items_of_scores(
    path: str | Path, renames: Mapping[str, str] | None = None, form: str = "auto"
) -> Iterator[Item]:
    """The items of a file of scores with its other columns as their fields, for agreement by field."""
    table = Table(path)
    if (peer := _peer(table, renames or {}, form)) is not None:
        for row in read_traces(path, peer, skip_bad=True).rows:
            texts: dict[str, FieldValue] = {
                name: value for name, value in row.items() if isinstance(value, str) and name not in RESERVED
            }
            yield Item(row["id"], texts, group=row.get("group"))
        return
    for _, original in table.rows(lambda _line, _problem: None):
        row = renamed(original, renames) if renames else original
        if row.get("item") is not None:
            fields = {
                name: str(value)
                for name, value in row.items()
                if name not in _SCORE_COLUMNS and value is not None
            }
            group = None if row.get("group") is None else str(row["group"])
            yield Item(id=str(row["item"]), fields=cast("dict[str, FieldValue]", fields), group=group)
