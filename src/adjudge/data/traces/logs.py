"""Message logs of OpenAI and Anthropic."""

from __future__ import annotations

from collections.abc import Iterator

from ..encoding import BadRowError
from ..json_rows import Row
from ..table import Problems
from .messages import answers_of, message_of
from .trace import Trace
from .values import object_of, text_of


def read_logs(records: list[tuple[int, Row]], _problems: Problems) -> Iterator[tuple[int, Trace]]:
    for number, record in records:
        request = object_of(record.get("request")) or record
        response = object_of(record.get("response")) or record
        trace = Trace(
            text_of(record.get("id") or response.get("id")),
            text_of(request.get("model") or response.get("model")),
            text_of(record.get("group") or record.get("conversation_id") or record.get("session_id")),
        )
        messages = request.get("messages", request.get("input", []))
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        system = request.get("system") or request.get("instructions")
        before = [{"role": "system", "content": system}] if system else []
        if not isinstance(messages, list):
            _problems.add(number, "'messages' is not a list. Give the list of messages.")
            continue
        try:
            trace.add_call("", [*before, *map(message_of, messages)], answers_of(response))
        except BadRowError as bad:
            _problems.add(number, str(bad))
            continue
        yield number, trace
