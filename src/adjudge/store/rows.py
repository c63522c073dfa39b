"""Between records and the columns of a row: packing, checksums, and unpacking with suspicion.

This file runs no SQL. What it packs it gives back byte for byte; what has changed on the
disk it refuses by its checksum, so that a damaged reply is never read as an answer.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ..records import Call, FieldValue, Item, Judgment, Message, Order, Reply, TokenLogprob

_PACKED_FROM = 1024
"""Shorter texts are kept as they are: little would be saved, and it would take longer than writing them."""

_OFTEN_PACKED_FROM = 4096
"""Prompts and judgments are written most often. Packing takes longer than writing, and gives up Python's lock, which
the writer then has to win back from a busy event loop."""

_to_json = msgspec.json.Encoder().encode
# Unlike JSON, MessagePack can say minus infinity, which a log-probability may be.
_to_msgpack = msgspec.msgpack.Encoder().encode
_judgment = msgspec.json.Decoder(Judgment).decode
_messages = msgspec.json.Decoder(tuple[Message, ...]).decode
_fields = msgspec.json.Decoder(dict[str, FieldValue]).decode
_criteria = msgspec.json.Decoder(tuple[str, ...]).decode
_logprobs = msgspec.msgpack.Decoder(tuple[TokenLogprob, ...]).decode

Row = tuple[Any, ...]

REPLY_COLUMNS = "text, reasoning, logprobs, tokens_in, tokens_out, cost_usd, seconds, model_name, fingerprint, finish, checksum"
ITEM_COLUMNS = 'seq, id, line, system, system_a, system_b, "group", fields, content'


class DamagedError(ValueError):
    """A row does not hold what was written into it."""


class Slot(Struct, frozen=True):
    """What all calls in one column of a run have in common: everything but the item."""

    protocol: str
    criteria: tuple[str, ...]
    model: str
    order: Order
    sample: int
    kind: str


def pack(raw: bytes, packed_from: int = _PACKED_FROM, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    """Bytes in as few bytes as is worth the time; the first one says how."""
    if len(raw) < packed_from:
        return b"\0" + raw
    # With its usual 256 KB of working memory zlib spends most of its time, on texts of this
    # size, on getting and clearing that memory; a small window packs them as well.
    packer = zlib.compressobj(level=1, wbits=13, memLevel=6, strategy=strategy)
    return b"\1" + packer.compress(raw) + packer.flush()


def unpack(packed: bytes) -> bytes:
    """What `pack` was given."""
    if packed[:1] == b"\1":
        return zlib.decompress(memoryview(packed)[1:])
    if packed[:1] == b"\0":
        return packed[1:]
    raise DamagedError("unknown packing")


def json_of(value: object) -> bytes:
    return _to_json(value)


def packed_json(value: object) -> bytes:
    return pack(_to_json(value))


def unpacked_json(packed: bytes) -> Any:
    return msgspec.json.decode(unpack(packed))


def reply_row(key: str, reply: Reply) -> Row:
    """The columns of `REPLY_COLUMNS`."""
    cost = None if reply.cost_usd is None else float(reply.cost_usd)
    texts = (
        pack(reply.text.encode()),
        pack(reply.reasoning.encode()) if reply.reasoning else None,
        None if reply.logprobs is None else pack(_to_msgpack(reply.logprobs)),
    )
    facts = (
        reply.tokens_in,
        reply.tokens_out,
        cost,
        float(reply.seconds),
        reply.model_name,
        reply.fingerprint,
        reply.finish,
    )
    return (*texts, *facts, _reply_checksum(key, texts, facts))


def _reply_checksum(key: str, texts: Sequence[bytes | None], facts: Row) -> int:
    # The key is part of it: a sound reply that stands at another call's place is damage too.
    check = zlib.crc32(_to_json((key, *facts)))
    for text in texts:
        if text is not None:
            check = zlib.crc32(text, check)
    return check


def is_sound_reply(key: str, row: Row) -> bool:
    """Whether a row of `REPLY_COLUMNS` is what was written; much quicker than reading it."""
    try:
        return bool(_reply_checksum(key, row[:3], row[3:10]) == row[10])
    except (TypeError, ValueError, msgspec.MsgspecError):
        return False


def read_reply(key: str, row: Row) -> Reply:
    """The reply in a row of `REPLY_COLUMNS`."""
    if not is_sound_reply(key, row):
        raise DamagedError("the checksum differs")
    try:
        (
            text,
            reasoning,
            logprobs,
            tokens_in,
            tokens_out,
            cost,
            seconds,
            model_name,
            fingerprint,
            finish,
            _,
        ) = row
        return Reply(
            call=key,
            text=unpack(text).decode(),
            reasoning="" if reasoning is None else unpack(reasoning).decode(),
            logprobs=None if logprobs is None else _logprobs(unpack(logprobs)),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=cost,
            seconds=seconds,
            model_name=model_name,
            fingerprint=fingerprint,
            finish=finish,
        )
    except (ValueError, zlib.error, msgspec.MsgspecError) as fault:
        raise DamagedError(str(fault)) from fault


def judgment_row(judgment: Judgment) -> tuple[bytes, int]:
    """The body of a judgment and its checksum."""
    body = pack(_to_json(judgment), _OFTEN_PACKED_FROM)
    return body, zlib.crc32(body)


def is_sound_judgment(body: object, checksum: object) -> bool:
    return isinstance(body, bytes) and zlib.crc32(body) == checksum


def read_judgment(body: object, checksum: object) -> Judgment | None:
    """The judgment, or none where it is absent, damaged or of an older form: the reply can be read again."""
    if not isinstance(body, bytes) or zlib.crc32(body) != checksum:
        return None
    try:
        return _judgment(unpack(body))
    except (ValueError, zlib.error, msgspec.MsgspecError):
        return None


def packed_messages(call: Call) -> bytes:
    # Every call brings a prompt, mostly a long one: two thirds of the time for a tenth more bytes.
    return pack(_to_json(call.messages), _OFTEN_PACKED_FROM, zlib.Z_HUFFMAN_ONLY)


def read_call(
    key: str, item: str, slot: Slot, parent: str | None, messages: bytes, target: bytes | None
) -> Call:
    """The call as it was asked."""
    try:
        return Call(
            key=key,
            item=item,
            protocol=slot.protocol,
            criteria=slot.criteria,
            model=slot.model,
            messages=_messages(unpack(messages)),
            order=slot.order,
            sample=slot.sample,
            kind=slot.kind,  # type: ignore[arg-type]
            parent=parent,
            target=None if target is None else unpack(target).decode(),
        )
    except (TypeError, ValueError, zlib.error, msgspec.MsgspecError) as fault:
        raise DamagedError(str(fault)) from fault


def slot_of(call: Call) -> Slot:
    return Slot(call.protocol, call.criteria, call.model, call.order, call.sample, call.kind)


def slot_row(slot: Slot) -> Row:
    return (slot.protocol, _to_json(slot.criteria).decode(), slot.model, slot.order, slot.sample, slot.kind)


def read_slot(row: Row) -> Slot:
    protocol, criteria, model, order, sample, kind = row
    return Slot(protocol, _criteria(criteria), model, order, sample, kind)


def content_hash(item: Item, fields: bytes) -> bytes:
    """What an item says and whom it belongs to, but not where it stands in a file."""
    whose = _to_json((item.id, item.system, item.system_a, item.system_b, item.group))
    return hashlib.blake2b(whose + fields, digest_size=16).digest()


def item_row(seq: int, item: Item) -> Row:
    """The columns of `ITEM_COLUMNS`, with the fields not yet packed."""
    fields = _to_json(item.fields)
    return (
        seq,
        item.id,
        item.line,
        item.system,
        item.system_a,
        item.system_b,
        item.group,
        fields,
        content_hash(item, fields),
    )


def read_item(row: Row, *, with_fields: bool) -> Item:
    """The item in a row of `ITEM_COLUMNS`."""
    _, name, line, system, system_a, system_b, group, packed, content = row
    try:
        raw = unpack(packed) if with_fields else b"{}"
        item = Item(name, _fields(raw), system, system_a, system_b, group, line)
    except (TypeError, ValueError, zlib.error, msgspec.MsgspecError) as fault:
        raise DamagedError(str(fault)) from fault
    if with_fields and content_hash(item, raw) != content:
        raise DamagedError("the checksum differs")
    return item
