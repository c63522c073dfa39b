"""A fake judge with prepared replies, for the tests of this package and of its users.

`fake:text=TEXT` gives the same reply to every call. `fake:script=FILE.jsonl` gives the replies of a file:

    {"match"?, "text", "logprobs"?, "reasoning"?, "finish"?, "error"?, "seconds"?}

A line with `match` answers the calls whose last message contains that text; of several lines with the same
`match` each is used once, and the last one from then on. Lines without `match` answer all other calls, each
once, in the order of the calls; after the last one there is no reply. `error` is a kind of `ReplyError`;
`auth` and `quota` stop a run as they do with a real judge. `seconds` is how long the reply takes. Words are
counted as tokens, so that a price gives a cost.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import Struct

from ..data.encoding import BrokenFileError
from ..data.table import Problems, Table
from ..records import Call, ErrorKind, Reply, TokenLogprob
from .base import Model, Parameters, failed, no_logprobs, stop_error
from .prices import Price

REMEMBERED = 1000
"""How many of the latest calls are kept, for tests."""


class Line(Struct, frozen=True, forbid_unknown_fields=True):
    """One reply of a fake judge."""

    text: str = ""
    match: str | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    reasoning: str = ""
    finish: str = "stop"
    error: ErrorKind | None = None
    seconds: float = 0.0


Respond = Callable[[Call], "Line | str"]
"""The reply of a fake judge as a function of the call."""


class FakeModel(Model):
    """A judge with prepared replies: one text, a list of lines, or a function of the call."""

    is_fake = True
    takes_images = True

    def __init__(
        self,
        replies: str | Sequence[Line | str] | Respond,
        *,
        name: str = "fake:",
        price: Price | None = None,
    ) -> None:
        super().__init__(name, price)
        if isinstance(replies, str):
            line = Line(replies)
            self._respond: Respond = lambda _call: line
        else:
            self._respond = replies if callable(replies) else _Script(replies)
        self.gives_logprobs = None if callable(replies) else _has_logprobs(replies)
        self._digest = "" if callable(replies) else hashlib.sha256(repr(replies).encode()).hexdigest()
        self.gives_likelihood = self.gives_logprobs is not False
        self.n_asked = 0
        self.asked: deque[Call] = deque(maxlen=REMEMBERED)

    @property
    def identity(self) -> str:
        """A hash of the replies: a changed script is another judge."""
        return f"{self.spec}|{self._digest}"

    async def ask(self, call: Call, params: Parameters) -> Reply:
        self.check(params, (call.kind,))
        self.n_asked += 1
        self.asked.append(call)
        response = self._respond(call)
        line = Line(response) if isinstance(response, str) else response
        if line.seconds:
            await asyncio.sleep(line.seconds)
        if line.error in ("auth", "quota"):
            raise stop_error(line.error, f"{self.name}: {line.text or 'as its script says'}")
        if line.error is not None:
            return failed(call, line.error, line.text or f"{self.name}: as its script says", line.seconds)
        needs_logprobs = call.kind == "likelihood" or (params.top_logprobs is not None and line.text)
        if needs_logprobs and line.logprobs is None:
            return failed(call, "bad_reply", str(no_logprobs(self.name)), line.seconds)
        tokens_in = sum(len(message.content.split()) for message in call.messages)
        tokens_out = len(line.text.split())
        return Reply(
            call.key,
            str(line.text),  # a number in a script is a text of another type
            str(line.reasoning),
            line.logprobs,
            tokens_in,
            tokens_out,
            self.cost(tokens_in, tokens_out),
            line.seconds,
            "fake",
            "",
            line.finish,
        )


class _Script:
    """Replies from a list of lines; see the module docstring."""

    def __init__(self, replies: Sequence[Line | str]) -> None:
        lines = [Line(reply) if isinstance(reply, str) else reply for reply in replies]
        self._in_turn = deque(line for line in lines if line.match is None)
        self._matched: dict[str, deque[Line]] = {}
        for line in lines:
            if line.match is not None:
                self._matched.setdefault(line.match, deque()).append(line)

    def __call__(self, call: Call) -> Line:
        last = call.messages[-1].content if call.messages else ""
        for text, lines in self._matched.items():
            if text in last:
                return lines.popleft() if len(lines) > 1 else lines[0]
        if self._in_turn:
            return self._in_turn.popleft()
        return Line("the script has no more lines for this call", error="missing")


def _has_logprobs(replies: Iterable[Line | str]) -> bool:
    return any(isinstance(reply, Line) and reply.logprobs is not None for reply in replies)


def read_script(path: str | Path) -> list[Line]:
    """The lines of a script; a `DataError` that lists every problem."""
    table = Table(path)
    problems = Problems(table)
    lines: list[Line] = []
    try:
        for row_number, row in table.rows(problems.add):
            try:
                lines.append(_line(row))
            except ValueError as bad:  # msgspec's errors are ValueErrors
                problems.add(row_number, str(bad))
    except BrokenFileError as broken:
        problems.add(0, broken.problem)
    if not lines and not problems:
        problems.add(0, "no lines. Give at least one.")
    if problems:
        raise problems.error()
    return lines


def _line(row: dict[str, Any]) -> Line:
    if row.get("text") is None and row.get("error") is None:
        raise ValueError("neither 'text' nor 'error'. Give what the judge says, or why it does not.")
    if row.get("error") is not None and row["error"] not in get_args(ErrorKind):
        raise ValueError(
            f"error '{row['error']!s:.40}' is unknown. Give one of {', '.join(get_args(ErrorKind))}."
        )
    values = {key: value for key, value in row.items() if value is not None}
    try:
        # Not strict: numbers come as the text in the file.
        return msgspec.convert(values, Line, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{error}. The keys are {', '.join(Line.__struct_fields__)}.") from None
