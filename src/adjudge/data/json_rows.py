"""JSON objects as rows: a fast path for usual lines, an exact one for the others.

Numbers are kept as written (`Number`). What JSON parsers usually accept silently is refused: duplicate keys,
NaN, lone surrogates, NULs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from .encoding import COLUMN_LIMIT, BadRowError, BrokenFileError, batches, check_blank, read_text, utf8

Row = dict[str, Any]
Report = Callable[[int, str], None]
"""Takes the number of a bad row (its line or its record number) and what is wrong with it."""

FIELD_LIMIT = 10_000_000
"""Bytes of UTF-8 in one field: 10 MB."""

ONE_OBJECT = "Each line must be one JSON object"
_BACKSLASH, _MINUS, _TAB, _RETURN = b"\\-\t\r"  # searching one byte is far faster than two
_MINUS_ZERO = re.compile(rb"[:\[,]\s*-0\s*[,\]}]")
_KEY_END = re.compile(rb'"\s*:')
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u(0000|[dD][89a-fA-F]..)|.)")
"""Any escape in valid JSON. A surrogate pair is one match, so group 1 holds a NUL or half a pair; an escaped
backslash is one match, so the u0000 after it is plain text."""

_MAYBE_BAD_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str)
"""Finds where an entry ends; numbers as texts, because int() refuses thousands of digits."""

_SPACE = re.compile(r"[ \t\r\n]*")


class WrittenNumber(str):
    """A number as it is written in the file: 4.50 stays 4.50."""

    __slots__ = ()


_decode: Callable[[bytes], Row] = msgspec.json.Decoder(Row, float_hook=WrittenNumber).decode


def jsonl_rows(path: Path, report: Report) -> Iterator[tuple[int, Row]]:
    """Each line's object with its line number; blank lines are skipped."""
    return rows_of_lines(batches(path), report, path)


def rows_of_lines(
    source: Iterable[Iterable[bytes]], report: Report, path: Path | None = None
) -> Iterator[tuple[int, Row]]:
    """The same of lines in batches, wherever they come from; `path` is their file."""
    number = n_blank = 0
    for batch in source:
        for line in batch:
            number += 1
            try:
                row = _decode(line)
                # As many colons as keys: no key is repeated. This suffices for most lines.
                if (
                    (line.count(b":") != len(row) and _may_repeat_keys(line, row))
                    or (_BACKSLASH in line and b"\\u0000" in line)
                    or (_MINUS in line and b"-0" in line and _MINUS_ZERO.search(line) is not None)
                    or len(line) > FIELD_LIMIT
                    or len(row) > COLUMN_LIMIT
                ):
                    row = exact(line)
            except (ValueError, RecursionError):  # msgspec's errors and BadRowError are ValueErrors
                # The exact reader decides: it says what is wrong, and accepts some lines that msgspec does
                # not.
                if not line.strip():
                    n_blank += 1
                    if path is not None:
                        check_blank(path, n_blank, number)
                    continue
                try:
                    row = exact(line)
                except BadRowError as bad:
                    report(number, str(bad))
                    continue
            yield number, row


def list_rows(path: Path, report: Report) -> Iterator[tuple[int, Row]]:
    """The objects of a JSON list with their numbers from 1. The file is held in memory."""
    text = read_text(path)
    for number, entry in enumerate(_entries(path, text), start=1):
        try:
            row = exact(entry.encode("utf-8"), "Each entry of the list must be one JSON object")
        except BadRowError as bad:
            report(number, str(bad))
        else:
            yield number, row


def exact(line: bytes, rule: str = ONE_OBJECT) -> Row:
    """The object with all checks, slowly; `BadRowError` says what is wrong with it."""
    text = utf8(line)
    try:
        row = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_float=WrittenNumber,
            parse_int=WrittenNumber,
            parse_constant=_refuse_constant,
        )
        if isinstance(row, dict):
            if len(row) > COLUMN_LIMIT:
                raise BadRowError(
                    f"{len(row):,} fields; the limit is {COLUMN_LIMIT:,}. Keep those that are used."
                )
            refuse_long_fields(row)
    except json.JSONDecodeError as error:
        reason = error.msg[0].lower() + error.msg[1:]
        reason = reason.removesuffix(" at").removesuffix(" starting")
        raise BadRowError(
            f"not JSON ({reason} at column {error.colno}). {rule}, with keys and texts in double quotes."
        ) from None
    except RecursionError:
        raise BadRowError("nested too deeply. Flatten it, or give the inner part as a text.") from None
    if not isinstance(row, dict):
        raise BadRowError(f'{_kind(row)}, not an object. {rule}, such as {{"id": "1", …}}.')
    _refuse_escapes(text)
    return row


def texts(value: object) -> Iterator[str]:
    """Every text in a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from texts(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield key
            yield from texts(entry)


def refuse_long_fields(row: Row) -> None:
    """`BadRowError` where a field is beyond the limit."""
    for key, value in row.items():
        if isinstance(value, str) and len(value) * 4 <= FIELD_LIMIT:
            continue  # a character has at most four bytes
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts(value))
        if size > FIELD_LIMIT:
            raise BadRowError(
                f"field '{key:.80}' has {size / 1e6:.1f} MB ({size} bytes); "
                f"the limit is {FIELD_LIMIT // 1_000_000} MB. Shorten it, or leave the item out."
            )


def json_text(value: object) -> str:
    """A value as JSON, with its numbers as they were written."""
    if isinstance(value, WrittenNumber):
        return str(value)
    if isinstance(value, dict):
        members = (
            f"{json.dumps(key, ensure_ascii=False)}: {json_text(entry)}" for key, entry in value.items()
        )
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(json_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _may_repeat_keys(line: bytes, row: Row) -> bool:
    """Whether the line may have more keys than the row on all levels; a false alarm is possible, a miss is
    not."""
    if b" :" in line or _TAB in line or _RETURN in line:
        n_keys = len(_KEY_END.findall(line))
    else:
        n_keys = line.count(b'":')
    return n_keys != len(row) and n_keys != _count_keys(row)


def _count_keys(value: object) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(entry) for entry in value.values() if type(entry) in (dict, list))
    if isinstance(value, list):
        return sum(_count_keys(entry) for entry in value if type(entry) in (dict, list))
    return 0


def _unique_keys(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise BadRowError(f"key '{repeated:.80}' is given twice. Keep one of them.")
    return row


def _refuse_constant(name: str) -> NoReturn:
    raise BadRowError(
        f"{name} is not JSON. Write null where there is no value, or give the number as a text."
    )


def _refuse_escapes(text: str) -> None:
    """`BadRowError` where an escape stands for a NUL, or for half a surrogate pair."""
    for match in _ESCAPE.finditer(text) if _MAYBE_BAD_ESCAPE.search(text) else ():
        if match[1] is None:
            continue
        if match[1] == "0000":
            raise BadRowError(f"NUL character (\\u0000) at column {match.start() + 1}. Remove it.")
        raise BadRowError(
            f"lone surrogate \\u{match[1]} at column {match.start() + 1}, half a character. "
            "Write the text again from its source; cutting an emoji in half causes this."
        )


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "a list"
    if isinstance(value, WrittenNumber):
        return "a number"
    return "a text" if isinstance(value, str) else "null" if value is None else "true or false"


def _entries(path: Path, text: str) -> Iterator[str]:
    """The source text of each entry of a JSON list."""
    at = _after_space(text, 0)
    if at == len(text):
        return
    if text[at] != "[":
        raise BrokenFileError(
            path,
            "not a list. A .json file must hold a list of objects; name it .jsonl if it has one object per "
            "line. Traces and results of other tools become items with --traces auto.",
        )
    at = _after_space(text, at + 1)
    closed = text[at : at + 1] == "]"
    while not closed:
        end = _entry_end(path, text, at)
        yield text[at:end]
        at = _after_space(text, end)
        closed = text[at : at + 1] == "]"
        if not closed and text[at : at + 1] != ",":
            raise BrokenFileError(
                path, f"{_position(text, at)}: expected a comma or the closing bracket. Complete the list."
            )
        at = at if closed else _after_space(text, at + 1)
    at = _after_space(text, at + 1)
    if at < len(text):
        raise BrokenFileError(
            path, f"{_position(text, at)}: text after the list's end. Remove it; the file must hold one list."
        )


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _entry_end(path: Path, text: str, at: int) -> int:
    """Where the entry that begins at `at` ends."""
    try:
        return _SCANNER.raw_decode(text, at)[1]
    except json.JSONDecodeError as error:
        where = _position(text, error.pos)
        raise BrokenFileError(
            path, f"{where}: not JSON ({error.msg}). Correct it; the file must hold one list of objects."
        ) from None
    except RecursionError:
        raise BrokenFileError(
            path, f"{_position(text, at)}: nested too deeply. Flatten the entry that begins there."
        ) from None


def _position(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line} column {at - text.rfind(chr(10), 0, at)}"
