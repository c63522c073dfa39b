"""The archives in which Inspect keeps a log (`.eval`): a ZIP file with a header and one file for each
sample."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..encoding import WHOLE_LIMIT, BrokenFileError
from ..json_rows import Row, WrittenNumber

SUFFIX = ".eval"
_ZSTANDARD = 93
"""The number of the compression in ZIP files; Python reads it from version 3.14 on."""


def read_eval_archive(path: Path) -> Row:
    """The log as Inspect writes it into one JSON file: the header, with the samples under `samples`."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = {info.filename: info for info in archive.infolist()}
            # The header is written last; a run that was stopped has only the journal's.
            first = names.get("header.json") or names.get("_journal/start.json")
            if first is None:
                raise BrokenFileError(path, "not a log of Inspect: it has no header.json. Check the file.")
            header = _member(path, archive, first)
            return {**header, "samples": list(_samples(path, archive))}
    except zipfile.BadZipFile as error:
        raise BrokenFileError(path, f"not a log of Inspect ({error}). Copy the file again.") from None
    except FileNotFoundError:
        raise BrokenFileError(path, "there is no such file. Check the name and the folder.") from None
    except OSError as error:
        raise BrokenFileError(path, f"cannot be read ({error}). Check the path and the disk.") from None


def _samples(path: Path, archive: zipfile.ZipFile) -> Iterator[Row]:
    for info in archive.infolist():
        if info.filename.startswith("samples/") and info.filename.endswith(".json"):
            sample = _member(path, archive, info)
            # Events are most of a log and repeat the messages.
            yield {key: value for key, value in sample.items() if key not in ("events", "events_data")}


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Row:
    """One file of the archive."""
    if info.file_size > WHOLE_LIMIT:
        raise BrokenFileError(path, f"{info.filename} is larger than {WHOLE_LIMIT // 1_000_000} MB.")
    try:
        text = _text(path, archive, info)
        value: Any = json.loads(text, parse_float=WrittenNumber, parse_int=WrittenNumber)
    except (ValueError, RecursionError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise BrokenFileError(
            path, f"{info.filename} cannot be read ({error}). Copy the file again."
        ) from None
    if not isinstance(value, dict):
        raise BrokenFileError(path, f"{info.filename} is not an object. Copy the file again.")
    return value


def _text(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    try:
        with archive.open(info) as file:
            return file.read(WHOLE_LIMIT).decode()
    except NotImplementedError:
        if info.compress_type != _ZSTANDARD:
            raise BrokenFileError(path, f"{info.filename} has an unknown compression. {_ADVICE}") from None
        return _from_zstandard(path, info)


_ADVICE = "Convert the log with: inspect log convert --to json --output-dir DIR FILE."


def _from_zstandard(path: Path, info: zipfile.ZipInfo) -> str:
    """The text of a member that is compressed with Zstandard, which polars decompresses."""
    try:
        import polars
    except ImportError:
        raise BrokenFileError(
            path, f"compressed with Zstandard. Install adjudge[data], or Python 3.14. {_ADVICE}"
        ) from None
    with path.open("rb") as file:
        file.seek(info.header_offset + 26)
        n_name, n_extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
        file.seek(n_name + n_extra, 1)
        packed = file.read(info.compress_size)
    # JSON has no control characters, so the whole text is one cell of a table.
    try:
        table = polars.read_csv(
            packed, has_header=False, separator="\x01", eol_char="\x02", quote_char=None, infer_schema=False
        )
    except polars.exceptions.PolarsError as error:
        raise ValueError(str(error)) from None
    return str(table.item())
