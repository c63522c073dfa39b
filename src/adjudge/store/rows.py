"""Converts records to database columns and back: compression and checksums.

This file runs no SQL. Data comes back byte for byte. A reply or item whose checksum does not match
raises `DamagedError`, so that damaged data is never used as an answer.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from ..records import Call, FieldValue, Item, Judgment, Message, Order, Reply, TokenLogprob

_PACKED_FROM = 1024
"""Bytes. Shorter texts are stored uncompressed: compressing them takes longer than writing them."""

_OFTEN_PACKED_FROM = 4096
"""The same for prompts and judgments, which are written most often. Compressing releases the GIL, and the
writer thread then has to get it back from a busy event loop.
"""

_to_json = msgspec.json.Encoder().encode
# A log-probability may be minus infinity, which MessagePack can hold and JSON cannot.
_to_msgpack = msgspec.msgpack.Encoder().encode
_judgment = msgspec.json.Decoder(Judgment).decode
_messages = msgspec.json.Decoder(tuple[Message, ...]).decode
_fields = msgspec.json.Decoder(dict[str, FieldValue]).decode
_criteria = msgspec.json.Decoder(tuple[str, ...]).decode
_logprobs = msgspec.msgpack.Decoder(tuple[TokenLogprob, ...]).decode

Columns = tuple[Any, ...]

REPLY_COLUMNS = (
    "text, reasoning, logprobs, tokens_in, tokens_out, cost_usd, seconds, model_name, fingerprint, "
    "finish, checksum"
)
ITEM_COLUMNS = 'seq, id, line, system, system_a, system_b, "group", fields, content, checksum'

ITEM_SEALED = 'seq, id, line, system, system_a, system_b, "group"'
UNCHECKED = -1
"""In place of a checksum: an older file, which has none, is read as it is."""

# What the checksum of a row covers. A place has one only where it has an error or a parent: a judgment names
# its call.
RUN_SEALED = "id, name, identity, manifest, status, turn, reading, started, ended, seconds"
SLOT_SEALED = 'run, slot, protocol, criteria, model, "order", sample, kind'
PLACE_SEALED = "run, item, slot, call, parent, error_kind, error_message"
LABEL_SEALED = "run, item, criterion, rater, value, subject, probability, origin, text_hash"
REVIEW_SEALED = (
    "run, item, protocol, criterion, subject, model, reviewer, verdict, answer, label, reason, note, made"
)
NOTE_SEALED = "run, item, author, text, tags, made"
INVITATION_SEALED = "run, kind, name, secret, made, revoked"
BATCH_SEALED = (
    "id, name, run, model, identity, state, provider_state, file, mark, remote, outputs, n_calls, "
    "n_done, n_failed, estimate_usd, note, created, changed"
)
BATCH_CALL_SEALED = "batch, call, slot, outcome, error_kind, error_message, flags, reply"


class DamagedError(ValueError):
    """A row does not hold what was written to it, or is missing."""


DECODE_FAULTS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    zlib.error,
    RecursionError,
)
"""What decoding a damaged row can raise."""


class CallSpec(Struct, frozen=True):
    """What the calls with one index have in common across all items of a run."""

    protocol: str
    criteria: tuple[str, ...]
    model: str
    order: Order
    sample: int
    kind: str


def checksum(row: Columns) -> int:
    """The checksum of a row's values."""
    return zlib.crc32(_to_json(row))


def check_checksum(row: Columns, stored: object) -> None:
    """`DamagedError` where the checksum differs or is missing."""
    if stored != UNCHECKED and zlib.crc32(_to_json(row)) != stored:
        raise DamagedError("the checksum differs")


def label_checksum(row: Columns) -> int:
    """The checksum of `LABEL_SEALED`; without a text hash, the one that labels had before they had one."""
    return checksum(row if row[-1] is not None else row[:-1])


def check_label(row: Columns, stored: object) -> None:
    """`DamagedError` where the checksum of `LABEL_SEALED` differs or is missing."""
    if stored not in (UNCHECKED, label_checksum(row)):
        raise DamagedError("the checksum differs")


def batch_call_checksum(row: Columns) -> int:
    """The checksum of `BATCH_CALL_SEALED`, whose last column is binary."""
    return zlib.crc32(row[-1] or b"", checksum((*row[:-1], None)))


def pack(raw: bytes, packed_from: int = _PACKED_FROM, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    """Compress bytes where that is worth the time; the first byte of the result says whether it was done."""
    if len(raw) < packed_from:
        return b"\0" + raw
    # On texts of this size zlib spends most of its time allocating and clearing its usual 256 KB
    # of working memory; a small window compresses them just as well.
    packer = zlib.compressobj(level=1, wbits=13, memLevel=6, strategy=strategy)
    return b"\1" + packer.compress(raw) + packer.flush()


def unpack(packed: bytes) -> bytes:
    """The inverse of `pack`."""
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


def reply_columns(key: str, reply: Reply) -> Columns:
    """The values of `REPLY_COLUMNS`."""
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


def _reply_checksum(key: str, texts: Sequence[bytes | None], facts: Columns) -> int:
    # The key is included: an intact reply stored under another call is damage too.
    check = zlib.crc32(_to_json((key, *facts)))
    for text in texts:
        if text is not None:
            check = zlib.crc32(text, check)
    return check


def is_sound_reply(key: str, row: Columns) -> bool:
    """Whether the checksum of `REPLY_COLUMNS` matches; much faster than decoding them."""
    try:
        return bool(_reply_checksum(key, row[:3], row[3:10]) == row[10])
    except (TypeError, ValueError, msgspec.MsgspecError):
        return False


def read_reply(key: str, row: Columns) -> Reply:
    """Decode `REPLY_COLUMNS`."""
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


def judgment_columns(judgment: Judgment) -> tuple[bytes, int]:
    """The encoded judgment and its checksum."""
    body = pack(_to_json(judgment), _OFTEN_PACKED_FROM)
    return body, zlib.crc32(body)


def is_sound_judgment(body: object, checksum: object) -> bool:
    return isinstance(body, bytes) and zlib.crc32(body) == checksum


def read_judgment(key: str, body: object, checksum: object) -> Judgment | None:
    """The judgment of the call `key`; none where it is absent
    or in an old format, since the reply can be parsed again.
    """
    if body is None:
        return None
    if not is_sound_judgment(body, checksum):
        raise DamagedError("the checksum of a judgment differs")
    try:
        judgment = _judgment(unpack(body))  # type: ignore[arg-type]
    except (ValueError, zlib.error, msgspec.MsgspecError):
        return None
    if judgment.call != key and judgment.call:
        raise DamagedError("a judgment belongs to another call")
    return judgment


def call_checksum(key: str, messages: bytes, target: bytes | None) -> int:
    """Covers the prompt as it is stored."""
    return zlib.crc32(target or b"", zlib.crc32(messages, zlib.crc32(key.encode())))


def _without_data(message: Message) -> Message:
    """A store keeps no image data: the hash in it identifies the image."""
    return structs.replace(message, images=tuple(structs.replace(image, data="") for image in message.images))


def packed_messages(call: Call) -> bytes:
    # Every call has a prompt, usually a long one. Huffman coding alone takes two thirds of the time
    # for a tenth more bytes.
    messages: Sequence[Message] = call.messages
    if any(message.images for message in messages):
        messages = tuple(_without_data(message) for message in messages)
    return pack(_to_json(messages), _OFTEN_PACKED_FROM, zlib.Z_HUFFMAN_ONLY)


def read_call(
    key: str,
    item: str,
    spec: CallSpec,
    parent: str | None,
    messages: bytes,
    target: bytes | None,
    checksum: int | None,
) -> Call:
    """Decode a call as it was sent."""
    try:
        if checksum is not None and call_checksum(key, messages, target) != checksum:
            raise DamagedError("the checksum of the prompt differs")
        return Call(
            key=key,
            item=item,
            protocol=spec.protocol,
            criteria=spec.criteria,
            model=spec.model,
            messages=_messages(unpack(messages)),
            order=spec.order,
            sample=spec.sample,
            kind=spec.kind,  # type: ignore[arg-type]
            parent=parent,
            target=None if target is None else unpack(target).decode(),
        )
    except (TypeError, ValueError, zlib.error, msgspec.MsgspecError) as fault:
        raise DamagedError(str(fault)) from fault


def spec_of(call: Call) -> CallSpec:
    return CallSpec(call.protocol, call.criteria, call.model, call.order, call.sample, call.kind)


def spec_columns(spec: CallSpec) -> Columns:
    return (spec.protocol, _to_json(spec.criteria).decode(), spec.model, spec.order, spec.sample, spec.kind)


def read_spec(row: Columns) -> CallSpec:
    protocol, criteria, model, order, sample, kind = row
    return CallSpec(protocol, _criteria(criteria), model, order, sample, kind)


def content_hash(item: Item, fields: bytes) -> bytes:
    """A hash of an item's text, id, systems and group, but not of its line number."""
    names = _to_json((item.id, item.system, item.system_a, item.system_b, item.group))
    return hashlib.blake2b(names + fields, digest_size=16).digest()


def _field_without_data(value: FieldValue) -> FieldValue:
    if isinstance(value, str) or not any(isinstance(entry, Message) and entry.images for entry in value):
        return value
    return tuple(_without_data(entry) if isinstance(entry, Message) else entry for entry in value)


def item_columns(seq: int, item: Item) -> Columns:
    """The values of `ITEM_COLUMNS`, with the fields not yet compressed."""
    fields = _to_json(
        {name: _field_without_data(value) for name, value in item.fields.items()}
        if any(type(value) is not str for value in item.fields.values())
        else item.fields
    )
    names = (seq, item.id, item.line, item.system, item.system_a, item.system_b, item.group)
    return (*names, fields, content_hash(item, fields), checksum(names))


def read_item(row: Columns, *, with_fields: bool) -> Item:
    """Decode `ITEM_COLUMNS`."""
    _, name, line, system, system_a, system_b, group, packed, content, stored = row
    check_checksum(row[:7], stored)
    try:
        raw = unpack(packed) if with_fields else b"{}"
        item = Item(name, _fields(raw), system, system_a, system_b, group, line)
    except (TypeError, ValueError, zlib.error, msgspec.MsgspecError) as fault:
        raise DamagedError(str(fault)) from fault
    if with_fields and content_hash(item, raw) != content:
        raise DamagedError("the checksum differs")
    return item
