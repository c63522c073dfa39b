"""Lines of batch files of OpenAI and Anthropic as exchanges: requests and results with one `custom_id` are
one exchange."""

from __future__ import annotations

from collections.abc import Iterator

from ..json_rows import Row
from ..messages import written
from .values import object_of, text_of


def is_batch_line(record: Row) -> bool:
    return "custom_id" in record and any(key in record for key in ("body", "params", "response", "result"))


def is_anthropic_line(record: Row) -> bool:
    return is_batch_line(record) and ("params" in record or "result" in record)


def exchanges(records: list[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    """The records with the lines of batches joined: `id`, `request`, `response` and `error`. The others stay
    as they are."""
    by_id: dict[str, tuple[int, Row]] = {}
    for number, record in records:
        if not is_batch_line(record):
            yield number, record
            continue
        name = text_of(record.get("custom_id"))
        _, exchange = by_id.setdefault(name, (number, {"id": name}))
        exchange |= _side(record)
    yield from by_id.values()


def _side(record: Row) -> Row:
    """The request or the response in one line, and why there is no response."""
    if isinstance(record.get("body"), dict) or isinstance(record.get("params"), dict):
        return {"request": object_of(record.get("body")) or object_of(record.get("params"))}
    if isinstance(record.get("result"), dict):
        result = record["result"]
        message = object_of(result.get("message"))
        return {"response": message} if message else {"error": _reason(result)}
    response = object_of(record.get("response"))
    body = object_of(response.get("body"))
    if record.get("error") or body.get("error"):
        return {"error": _reason(record.get("error") or body)}
    return {"response": body}


def _reason(value: object) -> str:
    """The words of an error, wherever they stand in it."""
    inner = object_of(value)
    while isinstance(inner.get("error"), dict):
        inner = inner["error"]
    return text_of(inner.get("message") or inner.get("type")) or written(value) or "failed"
