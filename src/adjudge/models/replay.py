"""Replays recorded replies: `replay:FILE`.

A JSONL file (.gz too) of `{"item", "criterion"?, "order"?, "sample"?, "step"?, "element"?, "text",
"logprobs"?}`. It is read once to find every problem, then by byte offset: 24 bytes of each row are kept in
memory, never its text.

Which row answers a call: that of the item (its id, or its line in the file where it has none there), with the
call's criterion or else without one; with the same order, where a row without one means `ab`; with the same
sample, where rows without one count as samples 0, 1, 2 … in the order of the file. A call of a step needs a
row with the name of that `step`, and one that checks an element a row with the number of that `element`, from
1 (the first one, where a call checks several). A missing row is the error `missing`, never another row's
text. A `text` of null is a call that failed when it was recorded: the error `missing`, too. `finish`,
`reasoning` and `model_name` are optional.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from ..data.encoding import BadRowError, BrokenFileError, batches
from ..data.json_rows import WrittenNumber, exact
from ..data.table import Problems, Table
from ..did_you_mean import nearest
from ..records import Call, Order, Reply, TokenLogprob, TopToken
from .base import Model, Parameters, failed, no_logprobs

REMEMBERED = 1000
"""How many of the latest calls are kept, for tests."""


class _Token(Struct):
    token: str
    logprob: float
    top: tuple[TopToken, ...] | None = None
    top_logprobs: tuple[TopToken, ...] | None = None


class _Wrapped(Struct):
    content: list[_Token] | None = None


class _RowKey(Struct):
    """The part of a row that says which call it answers; the rest is not decoded."""

    item: str | int
    text: str | None
    criterion: str | None = None
    order: Order | None = None
    sample: int | None = None
    step: str | None = None
    element: int | None = None
    logprobs: msgspec.Raw = msgspec.Raw()


class _RecordedReply(Struct):
    """A complete row."""

    item: str | int
    text: str | None
    criterion: str | None = None
    order: Order | None = None
    sample: int | None = None
    step: str | None = None
    element: int | None = None
    logprobs: list[_Token] | _Wrapped | None = None
    finish: str | None = None
    reasoning: str | None = None
    model_name: str | None = None


_Group = tuple[str, str | None, str, str, int]


def _group(row: _RowKey | _RecordedReply) -> _Group:
    """What a row has in common with the other samples of its call."""
    return str(row.item), row.criterion, row.order or "ab", row.step or "", row.element or 0


_KEYS = frozenset(
    (
        "item",
        "text",
        "criterion",
        "order",
        "sample",
        "step",
        "element",
        "logprobs",
        "finish",
        "reasoning",
        "model_name",
    )
)
_KINDS = {
    "item": "id",
    "text": "text",
    "criterion": "text",
    "sample": "number",
    "step": "text",
    "element": "number",
}
_decode_key = msgspec.json.Decoder(_RowKey).decode
_decode_row = msgspec.json.Decoder(_RecordedReply).decode
_decode_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class ReplayModel(Model):
    """Answers each call with its recorded reply."""

    is_recorded = True
    takes_images = True

    def __init__(self, name: str, path: str | Path) -> None:
        super().__init__(name, (0.0, 0.0))
        self._path = Path(path)
        self._index = _Index(self._path)
        self._digest = ""
        self.gives_logprobs = self.gives_likelihood = self._index.has_logprobs
        self.n_asked = 0
        self.asked: deque[Call] = deque(maxlen=REMEMBERED)

    @property
    def identity(self) -> str:
        """The hash of the file's content: its name does not matter."""
        if not self._digest:
            with self._path.open("rb") as file:
                self._digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"replay|{self._digest}"

    async def ask(self, call: Call, params: Parameters) -> Reply:
        self.n_asked += 1
        self.asked.append(call)
        if call.kind == "reask":
            return failed(call, "missing", "a recorded judge cannot answer a follow-up question")
        row = self._index.find(call)
        if row is None:
            criterion = "".join(f", criterion {name}" for name in call.criteria[:1])
            if call.step:
                criterion += f", step {call.step}" + (f", element {call.element}" if call.element else "")
            return failed(
                call,
                "missing",
                f"no recorded reply: item {call.item}{criterion}, order {call.order}, sample {call.sample}",
            )
        if row.text is None:
            return failed(call, "missing", f"the recorded call of item {call.item} failed: its text is null")
        logprobs = _logprobs(row)
        if logprobs is None and (params.top_logprobs is not None or call.kind == "likelihood"):
            return failed(call, "missing", str(no_logprobs(self.name, f"recorded reply to item {call.item}")))
        return Reply(
            call.key,
            row.text,
            row.reasoning or "",
            logprobs,
            cost_usd=0.0,  # it was paid for when it was recorded
            model_name=row.model_name or "",
            finish=row.finish,
        )

    async def close(self) -> None:
        self._index.close()


def _logprobs(row: _RecordedReply) -> tuple[TokenLogprob, ...] | None:
    tokens = row.logprobs.content if isinstance(row.logprobs, _Wrapped) else row.logprobs
    if not tokens:
        return None
    return tuple(
        [TokenLogprob(token.token, token.logprob, token.top or token.top_logprobs or ()) for token in tokens]
    )


class _Index:
    """The byte offset of each row. Rows are found by the hash of their group, and compared when they are
    read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.has_logprobs = False
        self._hashes, self._offsets = array("q"), array("q")
        self._sizes, self._samples = array("i"), array("i")
        self._file = self._read(path)

    def find(self, call: Call) -> _RecordedReply | None:
        """The row that answers a call: it names the item's id, or the line of an item without one."""
        row = self._find(call, call.item)
        return row if row is not None or call.line is None else self._find(call, str(call.line))

    def _find(self, call: Call, item: str) -> _RecordedReply | None:
        for criterion in (*call.criteria, None):
            group = (item, criterion, call.order, call.step, call.element or 0)
            for position in self._positions(hash(group)):
                if self._samples[position] == call.sample:
                    row = _decode_row(self._line(position))
                    if _group(row) == group:
                        return row
        return None

    def close(self) -> None:
        self._file.close()

    def _positions(self, value: int) -> Iterator[int]:
        position = bisect_left(self._hashes, value)
        while position < len(self._hashes) and self._hashes[position] == value:
            yield position
            position += 1

    def _line(self, position: int) -> bytes:
        return os.pread(self._file.fileno(), self._sizes[position], self._offsets[position])

    def _read(self, path: Path) -> IO[bytes]:
        """Check and index the file; returns the open file that the offsets belong to."""
        table = Table(path)
        if not table.is_by_line:
            raise BrokenFileError(path, "recorded replies must be JSONL. Name the file .jsonl or .jsonl.gz.")
        problems = Problems(table)
        # Offsets in a compressed or recoded file are useless: its lines are copied to a temporary file.
        copy = None if _is_plain(path) else tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the model)
        try:
            self._sort(self._index_all(path, copy, problems), problems)
        except BrokenFileError as broken:
            problems.add(0, broken.problem)
        if not self._hashes and not problems:
            problems.add(0, "no replies. Give at least one, or check that this is the right file.")
        if problems:
            if copy is not None:
                copy.close()
            raise problems.error()
        if copy is None:
            return path.open("rb", buffering=0)
        copy.flush()
        return copy

    def _index_all(self, path: Path, copy: IO[bytes] | None, problems: Problems) -> array[int]:
        """Index every line; returns the line numbers of the rows."""
        numbers = array("i")
        offset = number = 0
        known = set(_KEYS)
        for batch in batches(path):
            for line in batch:
                number += 1
                if self._index_line(line, number, offset, known, problems):
                    numbers.append(number)
                offset += len(line) + 1
            if copy is not None:
                copy.write(b"\n".join(batch) + b"\n")
        return numbers

    def _index_line(self, line: bytes, number: int, offset: int, known: set[str], problems: Problems) -> bool:
        """Index one line; whether it is a valid row."""
        try:
            row = _decode_key(line)
            keys = _decode_keys(line).keys()
        except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
            if line.strip():
                problems.add(number, _problem_of(line))
            return False
        if not keys <= known:
            for key in keys - known:
                if near := nearest(key, _KEYS, 0.8):
                    problems.add(number, f"key '{key:.80}' is unknown. Did you mean '{near}'?")
                else:
                    known.add(key)  # another key of the user, which is ignored
        sample = -1 if row.sample is None else row.sample
        if not -1 <= sample < 2**31 or row.sample == -1:
            problems.add(
                number, f"sample {row.sample} is not a whole number of at least 0. Count samples from 0."
            )
            return False
        if bytes(row.logprobs) not in (b"", b"null"):
            self.has_logprobs = True
            try:
                _decode_row(line)
            except (ValueError, RecursionError) as error:
                problems.add(number, f"field 'logprobs': {error}. Give a list of {{token, logprob, top}}.")
                return False
        self._hashes.append(hash(_group(row)))
        self._offsets.append(offset)
        self._sizes.append(len(line))
        self._samples.append(sample)
        return True

    def _sort(self, lines: array[int], problems: Problems) -> None:
        """Sort the rows by group, in the file's order within each, and number those without a sample."""
        order = sorted(range(len(self._hashes)), key=self._hashes.__getitem__)
        for name in ("_hashes", "_offsets", "_sizes", "_samples"):
            values = getattr(self, name)
            setattr(self, name, array(values.typecode, (values[position] for position in order)))
        before, count = None, 0
        seen: dict[int, int] = {}
        for position, value in enumerate(self._hashes):
            if value != before:
                before, count = value, 0
                seen.clear()
            if self._samples[position] < 0:
                self._samples[position] = count
                count += 1
            sample = self._samples[position]
            first = seen.setdefault(sample, lines[order[position]])
            if first != lines[order[position]]:
                problems.add(
                    lines[order[position]],
                    f"sample {sample} of the same item, criterion, order and step is on line {first} already."
                    " Remove one of the two, or number the samples.",
                )


def _is_plain(path: Path) -> bool:
    """Whether offsets in the file are usable: not compressed, no byte order mark, not UTF-16."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError:
        return True  # reading the file reports the error
    return not (
        path.suffix.lower() == ".gz"
        or head.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
        or b"\0" in head
    )


def _problem_of(line: bytes) -> str:
    """What is wrong with a line that is not a row."""
    try:
        row: dict[str, Any] = exact(line)
    except BadRowError as bad:
        return str(bad)
    for key in ("item", "text"):
        if key not in row or (key == "item" and row[key] is None):
            return f"'{key}' is missing. A recorded reply has at least 'item' and 'text'."
    if row.get("order") not in (None, "ab", "ba"):
        return f"order '{row['order']!s:.40}' is unknown. Give ab (response_a was shown first) or ba."
    for key, value in row.items():
        is_integer = isinstance(value, WrittenNumber) and value.lstrip("-").isdigit()
        kind = _KINDS.get(key)
        if kind == "text" and type(value) is not str:
            return f"field '{key}' is not a text. Put it in double quotes."
        if (kind == "number" and not is_integer) or (
            kind == "id" and not is_integer and type(value) is not str
        ):
            return (
                f"field '{key}' is not"
                f" {'a whole number' if kind == 'number' else 'a text or a whole number'}. Correct it."
            )
    return "not a recorded reply. Give 'item' and 'text', and 'logprobs' as a list of {token, logprob, top}."
