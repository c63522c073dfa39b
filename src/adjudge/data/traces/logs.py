"""Message logs of OpenAI and Anthropic, and the lines of their batch files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..encoding import BadRowError
from ..json_rows import Row
from ..table import Problems
from .batch_lines import exchanges
from .messages import answers_of, message_of, tools_in
from .trace import Trace
from .values import first_of, object_of, text_of

_SEARCHED = (
    "Looked for 'messages' or 'input' in the request, and for 'choices', 'output' or 'content' in the"
    " response"
)


def read_logs(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Trace]]:
    for number, record in exchanges(records):
        request = object_of(record.get("request")) or record
        response = object_of(record.get("response")) or record
        trace = Trace(
            text_of(record.get("id") or response.get("id")),
            text_of(request.get("model") or response.get("model")),
            text_of(first_of(record, ("group", "conversation_id", "session_id"))),
        )
        trace.tools = tools_in(request)
        trace.searched = _SEARCHED
        trace.error = text_of(record.get("error")) if isinstance(record.get("error"), str) else ""
        try:
            trace.add_call("", _sent(request), answers_of(response))
        except BadRowError as bad:
            problems.add(number, str(bad))
            continue
        yield number, trace


def _sent(request: Row) -> list[Any]:
    """The messages of a request, with its system text before them."""
    messages = request.get("messages", request.get("input", []))
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list):
        raise BadRowError("'messages' is not a list. Give the list of messages.")
    system = request.get("system") or request.get("instructions")
    before = [{"role": "system", "content": system}] if system else []
    return [*before, *map(message_of, messages)]
