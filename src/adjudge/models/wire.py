"""HTTP/1.1 on one connection: the bytes of an answer become a status, headers and a body.

Just what a judge's host needs, and strict about it: one request at a time, an answer with a length, in chunks
or up to the end of the connection, bounded in size. What does not hold together is `Malformed`, never a
part of an answer. Knows no hosts, no time and no retries.
"""

from __future__ import annotations

import asyncio
import zlib
from typing import cast

LARGEST_HEAD = 65_536
"""Bytes of a status line with all headers, or of the lines behind the last chunk."""

_NAMES: dict[bytes, str] = {}
"""Header names as they came, in small letters: hosts repeat the same few."""


class Malformed(Exception):
    """The bytes are no answer, or not a whole one."""


class TooLarge(Exception):
    """The answer is larger than anyone should keep."""


class Incoming:
    """One answer while it comes in, in whatever pieces."""

    __slots__ = ("_body", "_buffer", "_left", "_size", "_state", "headers", "keeps", "largest", "status")

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.status = 0
        self.headers: dict[str, str] = {}
        self.keeps = False
        """whether the connection may be used again"""
        self._state = "head"
        self._buffer = b""
        self._left = 0
        self._size = 0
        self._body: list[bytes] = []

    @property
    def has_begun(self) -> bool:
        return bool(self._buffer) or self._state != "head"

    def feed(self, data: bytes) -> bool:
        """Take what has come; whether the answer is whole."""
        if self._state == "head":
            rest = self._head(self._buffer + data if self._buffer else data)
            if rest is None:
                return False
            data = rest
        if self._state == "length":
            return self._by_length(data)
        if self._state == "chunks":
            return self._in_chunks(self._buffer + data if self._buffer else data)
        if self._state == "open":
            self._keep(data)
            return False
        self.keeps = self.keeps and not data
        return True

    def end(self) -> bool:
        """The host has closed the connection; whether the answer is whole."""
        self.keeps = False
        return self._state == "open"

    def body(self) -> bytes:
        """The body of a whole answer, unpacked."""
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        encoding = self.headers.get("content-encoding", "identity").lower()
        if encoding == "identity":
            return body
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise Malformed(f"the answer is packed as {encoding[:20]}, which nobody asked for")
        return _unpacked(body, self.largest)

    # -- the head

    def _head(self, data: bytes) -> bytes | None:
        """What follows the head; none where the head is not whole yet."""
        while True:
            if not data.startswith(b"HTTP/1."[: len(data)]):
                raise Malformed("it does not speak HTTP")
            end = data.find(b"\r\n\r\n")
            if end < 0 and len(data) <= LARGEST_HEAD:
                self._buffer = data
                return None
            if end < 0 or end > LARGEST_HEAD:
                raise Malformed("the headers are too long")
            self._read_head(data[:end])
            data = data[end + 4 :]
            self._buffer = b""
            if self.status >= 200:
                self._choose_body()
                return data
            if self.status == 101:
                raise Malformed("it changes the protocol, which nobody asked for")
            if not data:  # only a notice before the answer (100, 103)
                return None

    def _read_head(self, head: bytes) -> None:
        lines = head.split(b"\r\n")
        first = lines[0]
        if first[7:9] not in (b"1 ", b"0 ") or not first[9:12].isdigit() or first[12:13] not in (b" ", b""):
            raise Malformed("the status line cannot be read")
        self.status = int(first[9:12])
        headers: dict[str, str] = {}
        for line in lines[1:]:
            raw, colon, value = line.partition(b":")
            name = _NAMES.get(raw) or _name(raw)
            if not colon or not name:
                raise Malformed("a header cannot be read")
            text = value.strip(b" \t").decode("latin-1")
            if name in headers:
                if name == "content-length" and headers[name] != text:
                    raise Malformed("two lengths are stated")
                text = text if name == "content-length" else f"{headers[name]}, {text}"
            headers[name] = text
        self.headers = headers
        connection = headers.get("connection", "").lower()
        self.keeps = "close" not in connection and (first[7:8] == b"1" or "keep-alive" in connection)

    def _choose_body(self) -> None:
        headers = self.headers
        if self.status in (204, 304):
            self._state = "none"
        elif (coding := headers.get("transfer-encoding")) is not None:
            if coding.lower() != "chunked":
                raise Malformed(f"the answer is sent as {coding[:20]}, which nobody asked for")
            # A length beside chunks is a sign of somebody in between who reads differently.
            self.keeps = self.keeps and "content-length" not in headers
            self._state = "chunks"
        elif (length := headers.get("content-length")) is not None:
            if not (length.isascii() and length.isdigit()):
                raise Malformed("the stated length is no number")
            self._left = int(length)
            if self._left > self.largest:
                raise TooLarge
            self._state = "length" if self._left else "none"
        else:
            self._state, self.keeps = "open", False

    # -- the body

    def _by_length(self, data: bytes) -> bool:
        n = len(data)
        if n > self._left:
            # Bytes that nobody asked for: whatever they are, they must not begin the next answer.
            self.keeps = False
            data = data[: self._left]
            n = self._left
        self._left -= n
        if data:
            self._body.append(data)
        return self._left == 0

    def _in_chunks(self, data: bytes) -> bool:
        """Chunks as far as they have come: size in hexadecimal, data, an empty line."""
        at = 0
        while True:
            line_end = data.find(b"\r\n", at)
            if line_end < 0:
                return self._wait(data, at)
            size = _chunk_size(data[at:line_end])
            if size == 0:
                return self._after_chunks(data, at, line_end)
            end = line_end + 2 + size
            if self._size + size > self.largest:
                raise TooLarge
            if len(data) < end + 2:
                # The size is read again when the rest has come; data is not copied piece by piece.
                return self._wait(data, at, limit=self.largest + LARGEST_HEAD)
            if data[end : end + 2] != b"\r\n":
                raise Malformed("a chunk does not end where it should")
            self._keep(data[line_end + 2 : end])
            at = end + 2

    def _after_chunks(self, data: bytes, at: int, line_end: int) -> bool:
        """The lines behind the last chunk, which are not used, up to an empty one."""
        if data[line_end + 2 : line_end + 4] == b"\r\n":
            end = line_end + 4
        else:
            found = data.find(b"\r\n\r\n", line_end)
            if found < 0:
                return self._wait(data, at)
            end = found + 4
        self.keeps = self.keeps and len(data) == end
        return True

    def _wait(self, data: bytes, at: int, limit: int = LARGEST_HEAD) -> bool:
        self._buffer = data[at:]
        if len(self._buffer) > limit:
            raise Malformed("the chunks cannot be read")
        return False

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self.largest:
            raise TooLarge
        self._body.append(data)


def _name(raw: bytes) -> str:
    """A header's name in small letters; empty where it is none."""
    name = raw.decode("latin-1").lower()
    if not raw or not raw.isascii() or any(letter <= " " for letter in name):
        return ""
    if len(_NAMES) < 200:
        _NAMES[raw] = name
    return name


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip(b" \t")
    if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
        raise Malformed("the size of a chunk cannot be read")
    return int(digits, 16)


def _unpacked(body: bytes, largest: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=47)
    try:
        raw = unpacker.decompress(body, largest + 1)
    except zlib.error as error:
        raise Malformed("the packed answer is damaged") from error
    if len(raw) > largest:
        raise TooLarge
    if not unpacker.eof:
        raise Malformed("the packed answer is cut off")
    return raw


class Connection(asyncio.Protocol):
    """One connection to a host: one request, one answer, then perhaps the next."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._incoming: Incoming | None = None
        self._answered: asyncio.Future[Incoming] | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._stall_seconds = 0.0
        self.idle_since = 0.0
        self.is_open = False
        self.is_lost = loop.create_future()

    async def ask(self, request: bytes, largest: int, stall_seconds: float) -> Incoming:
        """Send a request and wait for the whole answer.

        Raises `Malformed`, `TooLarge`, `TimeoutError` where an answer stops half-way, and `OSError`
        where the connection is lost.
        """
        if self._transport is None or not self.is_open:
            raise ConnectionResetError("the connection was closed")
        self._incoming = Incoming(largest)
        self._stall_seconds = stall_seconds
        self._answered = self._loop.create_future()
        self._transport.write(request)
        try:
            return await self._answered
        finally:
            self._answered = self._incoming = None
            if self._stall is not None:
                self._stall.cancel()
                self._stall = None

    def abort(self) -> None:
        """Close at once; what is under way is lost."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    # -- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # other event loops have classes of their own
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        incoming, answered = self._incoming, self._answered
        if incoming is None or answered is None or answered.done():
            self.abort()  # nobody asked for anything
            return
        try:
            is_whole = incoming.feed(data)
        except (Malformed, TooLarge) as fault:
            self._fail(fault)
            return
        if is_whole:
            answered.set_result(incoming)
        else:
            if self._stall is not None:
                self._stall.cancel()
            self._stall = self._loop.call_later(self._stall_seconds, self._stalled)

    def eof_received(self) -> None:
        self._end(ConnectionResetError("it closed the connection"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._end(exc or ConnectionResetError("it closed the connection"))
        if not self.is_lost.done():
            self.is_lost.set_result(None)

    def _end(self, fault: Exception) -> None:
        self.is_open = False
        if self._answered is None or self._answered.done():
            return
        if self._incoming is not None and self._incoming.end():
            self._answered.set_result(self._incoming)
        elif self._incoming is not None and self._incoming.has_begun:
            self._answered.set_exception(
                ConnectionResetError("it closed the connection in the middle of an answer")
            )
        else:
            self._answered.set_exception(fault)

    def _stalled(self) -> None:
        self._fail(TimeoutError())

    def _fail(self, fault: Exception) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(fault)
        self.abort()
