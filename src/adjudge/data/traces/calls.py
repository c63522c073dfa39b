"""The calls of a trace, put together into one conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from ...records import Message, ToolCall
from ..encoding import BadRowError
from ..messages import is_message, written
from ..table import Problems
from .documents import documents_in
from .messages import arguments_of, message_of, messages_in, only_text, tools_in
from .trace import Trace
from .values import text_of

CallKind = Literal["model", "tool", "retriever", "reranker", "other", "aside", "unknown"]
"""`other` is a chain or an agent, whose input and output may be those of the whole; `aside` is no part of a
conversation (an embedding, a parser); `unknown` is a span of something else, such as a request to a web
server."""


class TracedCall(NamedTuple):
    """One step of a trace, as all formats describe it."""

    number: int
    trace: str
    id: str
    parent: str
    at: str
    kind: CallKind
    name: str
    input: Any
    output: Any
    error: str = ""
    tool_call_id: str = ""
    system: str = ""
    """the model or the agent"""
    group: str = ""
    before: tuple[Any, ...] = ()
    """system messages that come with the input"""
    tools: tuple[Any, ...] = ()
    """definitions of tools that come with the input"""


def assembled(calls: Iterable[TracedCall], problems: Problems, searched: str) -> Iterator[tuple[int, Trace]]:
    """The traces, each from its calls in the order of their start. `searched` names where contents were
    looked for."""
    by_trace: dict[str, list[TracedCall]] = {}
    for call in calls:
        by_trace.setdefault(call.trace, []).append(call)
    for trace_id, of_trace in by_trace.items():
        of_trace.sort(key=lambda call: call.at)
        whole = _whole(of_trace)
        group = next((call.group for call in of_trace if call.group), "")
        trace = Trace(trace_id, _system(of_trace, whole), group)
        trace.error = whole.error
        trace.is_conversation = any(call.kind not in ("aside", "unknown") for call in of_trace)
        trace.searched = f"Looked in {len(of_trace)} of its steps for {searched}"
        try:
            for call in of_trace:
                _add(trace, call)
            _add_whole(trace, whole)
        except BadRowError as bad:
            problems.add(whole.number, f"{trace.named}: {bad}")
            continue
        yield whole.number, trace


def _whole(calls: Sequence[TracedCall]) -> TracedCall:
    """The call that stands for the whole trace: its root, or the only chain below a root without contents."""
    by_id = {call.id: call for call in calls if call.id}
    roots = [call for call in calls if not call.parent or call.parent not in by_id]
    root = roots[0] if roots else calls[0]
    if _has_contents(root) or root.kind not in ("other", "unknown"):
        return root
    chains = [call for call in calls if call.kind == "other" and _has_contents(call)]
    outer = [call for call in chains if not _is_below(call, chains, by_id)]
    return outer[0] if len(outer) == 1 else root


def _has_contents(call: TracedCall) -> bool:
    return call.input is not None or call.output is not None


def _is_below(call: TracedCall, chains: Sequence[TracedCall], by_id: dict[str, TracedCall]) -> bool:
    """Whether a call is inside one of the chains."""
    ids, seen = {chain.id for chain in chains}, {call.id}
    parent = call.parent
    while parent in by_id and parent not in seen:
        if parent in ids:
            return True
        seen.add(parent)
        parent = by_id[parent].parent
    return False


def _system(calls: Sequence[TracedCall], whole: TracedCall) -> str:
    """The name of the agent or chain; of the model where there is none."""
    names = [call.name for call in (whole, *calls) if call.kind == "other" and call.name.strip()]
    models = [call.system for call in calls if call.kind == "model" and call.system]
    return (names or models or [""])[0]


def _add(trace: Trace, call: TracedCall) -> None:
    trace.tools += [tool for tool in (*call.tools, *tools_in(call.input)) if tool not in trace.tools]
    if call.kind == "model":
        inputs, outputs = messages_in(call.input, "user"), messages_in(call.output, "assistant")
        trace.n_silent += not inputs and not outputs
        trace.add_call(call.at, [*call.before, *inputs], outputs)
    elif call.kind == "tool" and not _has_contents(call) and not call.error:
        trace.n_silent += 1
    elif call.kind == "tool":
        _add_tool(trace, call)
    elif call.kind in ("retriever", "reranker"):
        trace.add_documents(documents_in(call.output), is_ranked=call.kind == "reranker")


def _add_tool(trace: Trace, call: TracedCall) -> None:
    output, call_id = call.output, call.tool_call_id
    inner = message_of(output)
    if not is_message(inner) and isinstance(output, dict):
        inner = message_of(output.get("output"))
    if isinstance(inner, dict) and is_message(inner):
        call_id = call_id or text_of(inner.get("tool_call_id"))
        output = inner.get("content")
    elif isinstance(output, dict) and len(output) == 1 and "output" in output:
        output = output["output"]
    text = call.error if call.error and output is None else written(output)
    result = Message("tool", text, (), (), call_id, call.name, bool(call.error))
    trace.add_tool(call.at, ToolCall(call.name, written(arguments_of(call.input)), call_id), result)


def _add_whole(trace: Trace, whole: TracedCall) -> None:
    """The input and output of the whole: its task and response where they are texts, and what there is where
    no model call is known."""
    given, answered = messages_in(whole.input, "user"), messages_in(whole.output, "assistant")
    if whole.kind == "other":
        trace.task, trace.response = only_text(whole.input), only_text(whole.output)
    if whole.kind in ("other", "model"):
        trace.give(given, answered)
