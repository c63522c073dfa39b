"""The calls of a trace, put together into one conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from ...records import Message, ToolCall
from ..encoding import BadRowError
from ..messages import is_message, written
from ..table import Problems
from .messages import message_of, messages_in
from .trace import Trace
from .values import object_of, text_of


class TracedCall(NamedTuple):
    """One step of a trace, as all three describe it."""

    number: int
    trace: str
    id: str
    parent: str
    at: str
    kind: Literal["model", "tool", "other"]
    name: str
    input: object
    output: object
    error: str = ""
    tool_call_id: str = ""
    system: str = ""
    """the model or the agent"""
    group: str = ""
    before: tuple[Any, ...] = ()
    """system messages that stand beside the input"""


def assembled(calls: Iterable[TracedCall], problems: Problems) -> Iterator[tuple[int, Trace]]:
    """The traces, each from its calls in the order of their start."""
    by_trace: dict[str, list[TracedCall]] = {}
    for call in calls:
        by_trace.setdefault(call.trace, []).append(call)
    for trace_id, of_trace in by_trace.items():
        of_trace.sort(key=lambda call: call.at)
        ids = {call.id for call in of_trace}
        roots = [call for call in of_trace if not call.parent or call.parent not in ids]
        root = roots[0]
        models = [call.system for call in of_trace if call.kind == "model" and call.system]
        group = next((call.group for call in of_trace if call.group), "")
        trace = Trace(trace_id, (root.name if root.kind == "other" else "") or (models or [""])[0], group)
        trace.error = root.error
        try:
            for call in of_trace:
                _add(trace, call)
            trace.give(*messages_in(root.input, "user"), *messages_in(root.output, "assistant"))
        except BadRowError as bad:
            problems.add(root.number, f"{trace.named}: {bad}")
            continue
        yield root.number, trace


def _add(trace: Trace, call: TracedCall) -> None:
    if call.kind == "model":
        trace.add_call(
            call.at, [*call.before, *messages_in(call.input, "user")], messages_in(call.output, "assistant")
        )
    elif call.kind == "tool":
        output = call.output
        inner = message_of(object_of(output).get("output")) if isinstance(output, dict) else None
        call_id = call.tool_call_id
        if isinstance(inner, dict) and is_message(inner):
            call_id = call_id or text_of(inner.get("tool_call_id"))
            output = inner.get("content")
        elif isinstance(output, dict) and len(output) == 1 and "output" in output:
            output = output["output"]
        arguments = call.input
        if isinstance(arguments, dict) and len(arguments) == 1 and "input" in arguments:
            arguments = arguments["input"]
        text = call.error if call.error and output is None else written(output)
        result = Message("tool", text, (), (), call_id, call.name, bool(call.error))
        trace.add_tool(call.at, ToolCall(call.name, written(arguments), call_id), result)
