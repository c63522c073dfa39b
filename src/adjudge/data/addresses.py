"""Tables that are not files on this machine: standard input, the Hugging Face hub.

They are copied to a temporary file once, because a table is read several times: checked, hashed and judged.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import zlib
from pathlib import Path

from ..errors import DataError
from .encoding import BLOCK, GZIP_MAGIC, encoding_of
from .parquet_and_excel import PARQUET_MAGIC, polars_for

STANDARD_INPUT = "-"
_HUB = "hf://"
_COPIES: dict[str, Path] = {}
"""address → its copy, until the process ends"""


def is_address(name: str | Path) -> bool:
    """Whether a name stands for standard input or for a table on the Hugging Face hub."""
    text = str(name)
    return text == STANDARD_INPUT or text.startswith("hf:/")


def local_file(name: str | Path) -> Path:
    """The file itself, or the copy of standard input or of a table on the hub."""
    if not is_address(name):
        return Path(name)
    text = str(name)
    if text.startswith("hf:/") and not text.startswith(_HUB):
        text = text.replace("hf:/", _HUB, 1)  # a path loses a slash
    if text not in _COPIES:
        folder = tempfile.mkdtemp(prefix="adjudge-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        copy = _copy_of_input if text == STANDARD_INPUT else _copy_of_hub
        _COPIES[text] = copy(text, Path(folder))
    return _COPIES[text]


def _copy_of_input(_: str, folder: Path) -> Path:
    """Standard input as a file with the suffix of its format."""
    if sys.stdin is None or sys.stdin.isatty():
        raise DataError(
            "- reads the table from standard input, which is a terminal. Pipe a file into it: … < FILE"
        )
    plain = folder / "standard-input"
    with plain.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with plain.open("rb") as file:
        head = file.read(BLOCK)
    return plain.rename(plain.with_suffix(_suffix_by_content(head)))


def _suffix_by_content(head: bytes) -> str:
    """The format by the first bytes: standard input has no name."""
    if head.startswith(GZIP_MAGIC):
        return _suffix_by_content(zlib.decompressobj(wbits=31).decompress(head, BLOCK)) + ".gz"
    if head.startswith(PARQUET_MAGIC):
        return ".parquet"
    if head.startswith(b"PK\x03\x04"):
        return ".xlsx"
    encoding, mark = encoding_of(head)
    text = head[mark:].decode(encoding, "ignore").lstrip()
    if text.startswith(("{", "[")):
        return ".jsonl" if text.startswith("{") else ".json"
    return ".tsv" if "\t" in text.partition("\n")[0] else ".csv"


def _copy_of_hub(address: str, folder: Path) -> Path:
    """A table on the Hugging Face hub as a local Parquet file; polars downloads it."""
    pl = polars_for("A table on the Hugging Face hub")
    suffix = Path(address).suffix.lower()
    scan = {".csv": pl.scan_csv, ".jsonl": pl.scan_ndjson, ".ndjson": pl.scan_ndjson}.get(
        suffix, pl.scan_parquet
    )
    path = folder / "hub.parquet"
    try:
        scan(address).collect().write_parquet(path)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise DataError(
            f"{address}: cannot be read ({str(error)[:300]}). The form is"
            " hf://datasets/OWNER/NAME/FILE.parquet; a private dataset needs the variable HF_TOKEN."
        ) from None
    return path
