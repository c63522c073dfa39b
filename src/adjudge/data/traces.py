"""Traces of agents and chats as items: message logs of OpenAI and Anthropic, exports of LangSmith and Langfuse, OpenTelemetry spans.

A trace becomes one item with the fields `task` (what the user wrote first), `response` (the last answer) and
`conversation` (all messages, tool calls and tool results, in their order). Model calls repeat their history: a message
that a later call repeats is taken once. What cannot be read is a problem with its line; nothing is left out in silence. All
traces of a file are held in memory.

The shapes follow the documentation: LangSmith's run format (`run_type`, `inputs`, `outputs`, `trace_id`,
`dotted_order`), Langfuse's traces with `observations`, and the OpenTelemetry conventions for generative AI (`gen_ai.*`
attributes of spans in OTLP/JSON, messages with `role` and `parts`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from msgspec import structs

from ..errors import DataError
from ..records import Message, ToolCall
from .messages import conversation, is_message, plain, scalar_text, written
from .tables import BadRowError, BrokenFileError, Problems, Row, Table, read_text

TraceFormat = Literal["openai", "anthropic", "langsmith", "langfuse", "otel"]
FORMATS: tuple[str, ...] = get_args(TraceFormat)

FIELD = "conversation"
_ROLES = {
    "human": "user",
    "ai": "assistant",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "model": "assistant",
}
_CLASSES = {
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
    "ChatMessage": "user",
}


class Traces(NamedTuple):
    """The items of a file of traces, and the format in which they came."""

    rows: list[dict[str, Any]]
    form: TraceFormat


def read_traces(path: str | Path, form: str = "auto") -> Traces:
    """The traces of a JSON or JSONL file as rows of an items file, or one error that lists every problem."""
    if form != "auto" and form not in FORMATS:
        raise DataError(f"trace format '{form}': choose auto, {', '.join(FORMATS)}.")
    table = Table(path)
    problems = Problems(table)
    records = list(_records(table, problems))
    known = _format_of(table, records, form, problems)
    rows: list[dict[str, Any]] = []
    if known is not None:
        for number, trace in _TRACES[known](records, problems):
            try:
                rows.append(trace.row())
            except BadRowError as bad:
                problems.add(number, f"{trace.named}: {bad}")
            except RecursionError:
                problems.add(number, f"{trace.named}: nested too deeply. Leave the trace out.")
    if problems:
        raise problems.error()
    if not rows or known is None:
        raise BrokenFileError(table.path, "no traces. Check that this is the right file.")
    return Traces(_with_unique_ids(rows), known)


def _with_unique_ids(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Logs without ids, or with repeated ones, get numbers."""
    seen: Counter[str] = Counter()
    for number, row in enumerate(rows, 1):
        name = row["id"] or str(number)
        seen[name] += 1
        row["id"] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return rows


# -- the records of a file


def _records(table: Table, problems: Problems) -> Iterator[tuple[int, Row]]:
    """Each object of the file with its number; a JSON file may hold one object, or one that wraps a list."""
    if table.suffix != ".json":
        if not table.is_by_line:
            raise BrokenFileError(table.path, "traces come as JSON or JSONL. Export them so.")
        yield from table.rows(problems.add)
        return
    try:
        whole = json.loads(read_text(table.path), parse_float=str, parse_int=str)
    except RecursionError:
        raise BrokenFileError(table.path, "nested too deeply. Export fewer levels.") from None
    except ValueError as error:
        raise BrokenFileError(table.path, f"not JSON ({error}). Export the traces again.") from None
    for wrapper in ("data", "runs", "traces"):
        if isinstance(whole, dict) and isinstance(whole.get(wrapper), list):
            whole = whole[wrapper]
    for number, record in enumerate(whole if isinstance(whole, list) else [whole], 1):
        if isinstance(record, dict):
            yield number, record
        else:
            problems.add(number, "not an object. Each trace must be one JSON object.")


def _format_of(
    table: Table, records: list[tuple[int, Row]], form: str, problems: Problems
) -> TraceFormat | None:
    """The one format of all records: the one that was named, or the one that their keys show."""
    formats: dict[TraceFormat, int] = {}
    for number, record in records:
        shown = _format_shown(record)
        if shown is None and form == "auto":
            keys = ", ".join(list(record)[:8])
            problems.add(
                number,
                f"not a trace of {', '.join(FORMATS)} (keys: {keys}). Name the format with --format, or give the messages as items.",
            )
        elif shown is not None:
            formats.setdefault(shown, number)
    if form != "auto":
        return form  # type: ignore[return-value]
    # A log of OpenAI's form may hold what Anthropic's may hold, too: one sign of Anthropic decides.
    if set(formats) == {"openai", "anthropic"}:
        return "anthropic"
    if len(formats) > 1:
        places = ", ".join(f"{name} ({table.unit} {number})" for name, number in formats.items())
        problems.add(0, f"several formats in one file: {places}. Split the file, or name one with --format.")
        return None
    return next(iter(formats), None)


def _format_shown(record: Row) -> TraceFormat | None:
    if "resourceSpans" in record or _is_span(record):
        return "otel"
    if "run_type" in record:
        return "langsmith"
    if isinstance(record.get("observations"), list) or ("traceId" in record and "startTime" in record):
        return "langfuse"
    request = record.get("request") if isinstance(record.get("request"), dict) else record
    response = record.get("response")
    is_anthropic = "stop_reason" in record or (isinstance(response, dict) and "stop_reason" in response)
    if isinstance(request, dict) and isinstance(request.get("messages"), list):
        has_system = "system" in request
        return "anthropic" if has_system or is_anthropic or _has_blocks(request["messages"]) else "openai"
    if (
        isinstance(request, dict)
        and isinstance(request.get("input"), list | str)
        and ("output" in record or response)
    ):
        return "openai"
    return None


def _is_span(record: Row) -> bool:
    has_id = "traceId" in record or "trace_id" in record or isinstance(record.get("context"), dict)
    return has_id and "attributes" in record


def _has_blocks(messages: list[Any]) -> bool:
    kinds = {
        part.get("type")
        for message in messages
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for part in message["content"]
        if isinstance(part, dict)
    }
    return bool(kinds & {"tool_use", "tool_result", "thinking", "image"})


# -- one trace


class _Trace:
    """The messages of one trace, put together from its calls."""

    def __init__(self, trace_id: str, system: str = "", group: str = "") -> None:
        self.id, self.system, self.group = trace_id, system, group
        self.error = ""
        self._entries: list[tuple[str, Message]] = []
        self._tools: list[tuple[str, ToolCall, Message]] = []
        self._given: list[Any] = []

    @property
    def named(self) -> str:
        return f"trace '{self.id:.80}'" if self.id else "trace"

    def add_call(self, at: str, messages: Iterable[Any], outputs: Iterable[Any]) -> None:
        """A model call: its history, of which earlier calls may have had a part, and its answer."""
        records = [
            entry for entry in conversation(FIELD, [*messages, *outputs]) if isinstance(entry, Message)
        ]
        seen = Counter(_key(message) for _, message in self._entries)
        met: Counter[Any] = Counter()
        for message in records:
            key = _key(message)
            met[key] += 1
            if met[key] > seen[key]:
                self._entries.append((at, message))

    def add_tool(self, at: str, call: ToolCall, result: Message) -> None:
        """A tool that ran; it is shown where no model call shows it."""
        self._tools.append((at, call, result))

    def give(self, *messages: Any) -> None:
        """The input and output of the whole, used where no call is known."""
        self._given += messages

    def row(self) -> dict[str, Any]:
        """The trace as a row of an items file."""
        messages = self._messages()
        if not messages:
            messages = [m for m in conversation(FIELD, self._given) if isinstance(m, Message)]
        if not messages:
            raise BadRowError("has no model call, no tool call, no input and no output. Leave it out.")
        users = [
            message.content for message in messages if message.role == "user" and message.content.strip()
        ]
        answers = [
            message.content
            for message in messages
            if message.role == "assistant" and message.content.strip() and not message.is_thought
        ]
        row: dict[str, Any] = {"id": self.id}
        row |= {
            key: value for key, value in (("system", self.system), ("group", self.group)) if value.strip()
        }
        row |= {"task": users[0]} if users else {}
        row |= {"response": answers[-1]} if answers else {}
        row |= {"error": self.error} if self.error else {}
        return row | {FIELD: plain(tuple(messages))}

    def _messages(self) -> list[Message]:
        entries = list(self._entries)
        results = {message.tool_call_id for _, message in entries if message.tool_call_id}
        texts = {message.content for _, message in entries if message.role in ("tool", "function")}
        calls = {(call.name, call.id) for _, message in entries for call in message.tool_calls}
        names = Counter(call.name for _, message in entries for call in message.tool_calls)
        for at, call, result in sorted(self._tools, key=lambda tool: tool[0]):
            if (call.id and call.id in results) or result.content in texts:
                continue
            new = [result]
            if (call.name, call.id) not in calls and not (not call.id and names[call.name]):
                new = [Message("assistant", "", tool_calls=(call,)), result]
            names[call.name] -= 1
            place = next((i for i, (other, _) in enumerate(entries) if other > at), len(entries))
            entries[place:place] = [(at, message) for message in new]
        messages = [message for _, message in entries]
        return [
            structs.replace(message, continues=False)
            if message.continues and (not place or messages[place - 1].role != message.role)
            else message
            for place, message in enumerate(messages)
        ]


def _key(message: Message) -> Any:
    """What makes two messages the same in the histories of two calls: ids of results, otherwise all that is said."""
    if message.tool_call_id:
        return ("result", message.tool_call_id)
    calls = tuple((call.name, call.arguments) for call in message.tool_calls)
    images = tuple(image.sha256 for image in message.images)
    return (message.role, message.content, calls, images, message.is_thought)


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else scalar_text(value)


def _object(value: object) -> Row:
    return value if isinstance(value, dict) else {}


def _parsed(value: object) -> object:
    """A value that may be JSON inside a text, as spans hold it."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json.loads(value, parse_float=str, parse_int=str)
        except (ValueError, RecursionError):
            return value
    return value


# -- message logs of OpenAI and Anthropic


def _logs(records: list[tuple[int, Row]], _problems: Problems) -> Iterator[tuple[int, _Trace]]:
    for number, record in records:
        request = _object(record.get("request")) or record
        response = _object(record.get("response")) or record
        trace = _Trace(
            _text(record.get("id") or response.get("id")),
            _text(request.get("model") or response.get("model")),
            _text(record.get("group") or record.get("conversation_id") or record.get("session_id")),
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
            trace.add_call("", [*before, *map(_message, messages)], _answers(response))
        except BadRowError as bad:
            _problems.add(number, str(bad))
            continue
        yield number, trace


def _answers(response: Row) -> list[Any]:
    """The message in a response: of chat completions, of the Responses API, or Anthropic's."""
    if isinstance(response.get("choices"), list):
        return [
            _message(choice["message"])
            for choice in response["choices"][:1]
            if isinstance(_object(choice).get("message"), dict)
        ]
    if isinstance(response.get("output"), list):
        return [_message(entry) for entry in response["output"]]
    if isinstance(response.get("content"), list | str) and "role" in response:
        return [{"role": response["role"], "content": response["content"]}]
    if isinstance(response.get("output"), str):
        return [{"role": "assistant", "content": response["output"]}]
    return []


# -- messages in the forms of LangChain and OpenTelemetry


def _message(entry: object) -> Any:
    """A message in a form that `conversation` reads; what is no message stays as it is."""
    if not isinstance(entry, dict):
        return entry
    if isinstance(entry.get("kwargs"), dict) and isinstance(entry.get("id"), list):
        inner, name = entry["kwargs"], str(entry["id"][-1]).removesuffix("Chunk")
        role = _ROLES.get(name) or _CLASSES.get(name) or _text(inner.get("role")) or name
        return _chained({**inner, "role": role})
    if isinstance(entry.get("data"), dict) and isinstance(entry.get("type"), str):
        return _chained({**entry["data"], "role": _ROLES.get(entry["type"], entry["type"])})
    if "role" not in entry and isinstance(entry.get("type"), str) and "content" in entry:
        return _chained({**entry, "role": _ROLES.get(entry["type"], entry["type"])})
    if isinstance(entry.get("parts"), list):
        role = _text(entry.get("role")) or "assistant"
        return {"role": _ROLES.get(role, role), "content": [_part(part) for part in entry["parts"]]}
    return _chained(entry) if "role" in entry else entry


def _chained(message: Row) -> Row:
    """A message with the tool calls that LangChain keeps beside the content, once."""
    extra = _object(message.get("additional_kwargs"))
    calls = message.get("tool_calls") or extra.get("tool_calls")
    content = message.get("content")
    if calls and isinstance(content, list):
        # The content of some providers repeats the calls.
        content = [
            part
            for part in content
            if not str(_object(part).get("type", "")).endswith(("tool_use", "tool_call"))
        ]
    message = {
        **message,
        "role": _ROLES.get(_text(message.get("role")), message.get("role")),
        "content": content,
    }
    message["content"] = "" if content in ([], None) and (calls or message["role"] == "tool") else content
    if message.get("status") == "error":
        message["is_error"] = True
    return {**message, "tool_calls": calls} if calls else {**message, "tool_calls": []}


def _part(part: object) -> Any:
    """A part of an OpenTelemetry message as a part of a content list."""
    if not isinstance(part, dict):
        return part
    kind, content = part.get("type"), part.get("content")
    if kind == "text":
        return {"type": "text", "text": _text(content if content is not None else part.get("text"))}
    if kind == "reasoning":
        return {"type": "thinking", "thinking": _text(content)}
    if kind == "tool_call":
        return {
            "type": "tool_use",
            "id": part.get("id"),
            "name": part.get("name"),
            "input": _parsed(part.get("arguments")),
        }
    if kind == "tool_call_response":
        result = part.get("response", part.get("result"))
        return {"type": "tool_result", "tool_use_id": part.get("id"), "content": written(_parsed(result))}
    if kind == "blob" and part.get("modality", "image") == "image":
        source = {
            "type": "base64",
            "media_type": _text(part.get("mime_type")),
            "data": content or part.get("data"),
        }
        return {"type": "image", "source": source}
    if kind == "uri" and part.get("modality", "image") == "image":
        return {"type": "image_url", "image_url": {"url": part.get("uri")}}
    return part


def _messages_in(value: object, role: str) -> list[Any]:
    """The messages in an input or output of a call: a list of them, one, a wrapper around them, or a text."""
    value = _parsed(value)
    if isinstance(value, list):
        flat = [inner for entry in value for inner in (entry if isinstance(entry, list) else [entry])]
        messages = [_message(entry) for entry in flat]
        return messages if any(is_message(message) for message in messages) else _said(role, value)
    if not isinstance(value, dict):
        return _said(role, value)
    for key in ("messages", "input", "output", "inputs", "outputs"):
        if isinstance(value.get(key), list | dict):
            return _messages_in(value[key], role)
    if isinstance(value.get("generations"), list):
        return _generated(value["generations"])
    if isinstance(value.get("choices"), list):
        return _answers(value)
    message = _message(value.get("message") if isinstance(value.get("message"), dict) else value)
    if is_message(message):
        return [message]
    texts = [
        value[key]
        for key in ("input", "output", "text", "content", "question", "answer", "query")
        if isinstance(value.get(key), str)
    ]
    if len(texts) == 1:
        return _said(role, texts[0])
    return _said(role, value) if value else []


def _generated(generations: list[Any]) -> list[Any]:
    """The first message that a LangChain model generated."""
    first: Any = generations
    while isinstance(first, list) and first:
        first = first[0]
    message = _message(_object(first).get("message"))
    if is_message(message):
        return [message]
    return _said("assistant", _object(first).get("text"))


def _said(role: str, value: object) -> list[Any]:
    text = written(value) if value is not None else ""
    return [{"role": role, "content": text}] if text.strip() else []


# -- calls of LangSmith, Langfuse and OpenTelemetry


class _Call(NamedTuple):
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


def _assembled(calls: Iterable[_Call], problems: Problems) -> Iterator[tuple[int, _Trace]]:
    """The traces, each from its calls in the order of their start."""
    by_trace: dict[str, list[_Call]] = {}
    for call in calls:
        by_trace.setdefault(call.trace, []).append(call)
    for trace_id, of_trace in by_trace.items():
        of_trace.sort(key=lambda call: call.at)
        ids = {call.id for call in of_trace}
        roots = [call for call in of_trace if not call.parent or call.parent not in ids]
        root = roots[0]
        models = [call.system for call in of_trace if call.kind == "model" and call.system]
        group = next((call.group for call in of_trace if call.group), "")
        trace = _Trace(trace_id, (root.name if root.kind == "other" else "") or (models or [""])[0], group)
        trace.error = root.error
        try:
            for call in of_trace:
                _add(trace, call)
            trace.give(*_messages_in(root.input, "user"), *_messages_in(root.output, "assistant"))
        except BadRowError as bad:
            problems.add(root.number, f"{trace.named}: {bad}")
            continue
        yield root.number, trace


def _add(trace: _Trace, call: _Call) -> None:
    if call.kind == "model":
        trace.add_call(
            call.at, [*call.before, *_messages_in(call.input, "user")], _messages_in(call.output, "assistant")
        )
    elif call.kind == "tool":
        output = call.output
        inner = _message(_object(output).get("output")) if isinstance(output, dict) else None
        call_id = call.tool_call_id
        if isinstance(inner, dict) and is_message(inner):
            call_id = call_id or _text(inner.get("tool_call_id"))
            output = inner.get("content")
        elif isinstance(output, dict) and len(output) == 1 and "output" in output:
            output = output["output"]
        arguments = call.input
        if isinstance(arguments, dict) and len(arguments) == 1 and "input" in arguments:
            arguments = arguments["input"]
        text = call.error if call.error and output is None else written(output)
        result = Message("tool", text, (), (), call_id, call.name, bool(call.error))
        trace.add_tool(call.at, ToolCall(call.name, written(arguments), call_id), result)


def _langsmith(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, _Trace]]:
    return _assembled(
        (call for number, record in records for call in _langsmith_calls(number, record)), problems
    )


def _langsmith_calls(number: int, run: Row) -> Iterator[_Call]:
    """A run, and its child runs where the export nests them."""
    extra = _object(run.get("extra"))
    metadata = _object(extra.get("metadata"))
    kinds: dict[str, Literal["model", "tool"]] = {"llm": "model", "tool": "tool"}
    yield _Call(
        number=number,
        trace=_text(run.get("trace_id") or run.get("id")),
        id=_text(run.get("id")),
        parent=_text(run.get("parent_run_id")),
        at=_text(run.get("dotted_order") or run.get("start_time")),
        kind=kinds.get(_text(run.get("run_type")), "other"),
        name=_text(run.get("name")),
        input=run.get("inputs"),
        output=run.get("outputs"),
        error=_text(run.get("error")),
        system=_text(metadata.get("ls_model_name") or run.get("name")),
        group=_text(
            metadata.get("thread_id") or metadata.get("session_id") or metadata.get("conversation_id")
        ),
    )
    for child in run.get("child_runs") or ():
        if isinstance(child, dict):
            yield from _langsmith_calls(number, {"trace_id": run.get("trace_id") or run.get("id"), **child})


def _langfuse(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, _Trace]]:
    return _assembled(
        (call for number, record in records for call in _langfuse_calls(number, record)), problems
    )


def _langfuse_calls(number: int, record: Row) -> Iterator[_Call]:
    """The observations of a trace, with the trace itself as their root; or one observation of an export."""
    if not isinstance(record.get("observations"), list):
        yield _observation(number, record, _text(record.get("traceId")), _text(record.get("sessionId")))
        return
    trace = _object(record.get("trace")) or record
    trace_id, group = _text(trace.get("id")), _text(trace.get("sessionId"))
    yield _Call(
        number, trace_id, trace_id, "", "", "other", _text(trace.get("name")), trace.get("input"),
        trace.get("output"), group=group,
    )  # fmt: skip
    for observation in record["observations"]:
        if isinstance(observation, dict):
            call = _observation(number, observation, trace_id, group)
            yield call if call.parent else call._replace(parent=trace_id)


def _observation(number: int, observation: Row, trace: str, group: str) -> _Call:
    kinds: dict[str, Literal["model", "tool"]] = {"GENERATION": "model", "TOOL": "tool"}
    is_error = observation.get("level") == "ERROR"
    return _Call(
        number=number,
        trace=_text(observation.get("traceId")) or trace,
        id=_text(observation.get("id")),
        parent=_text(observation.get("parentObservationId")),
        at=_text(observation.get("startTime")),
        kind=kinds.get(_text(observation.get("type")).upper(), "other"),
        name=_text(observation.get("name")),
        input=_parsed(observation.get("input")),
        output=_parsed(observation.get("output")),
        error=(_text(observation.get("statusMessage")) or "failed") if is_error else "",
        system=_text(observation.get("model") or observation.get("providedModelName")),
        group=group,
    )


def _otel(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, _Trace]]:
    return _assembled(
        (_span(number, span, service) for number, record in records for span, service in _spans(record)),
        problems,
    )


def _spans(record: Row) -> Iterator[tuple[Row, str]]:
    """The spans of an OTLP request with the name of their service; or one span alone."""
    if "resourceSpans" not in record:
        yield record, _text(_object(record.get("resource")).get("service.name"))
        return
    for resource in record["resourceSpans"] or ():
        attributes = _attributes(_object(_object(resource).get("resource")).get("attributes"))
        for scope in _object(resource).get("scopeSpans") or ():
            for span in _object(scope).get("spans") or ():
                if isinstance(span, dict):
                    yield span, _text(attributes.get("service.name"))


def _attributes(value: object) -> dict[str, Any]:
    """Attributes as a mapping, from OTLP's list of keys and typed values or as they are."""
    if isinstance(value, dict):
        return value
    pairs = value if isinstance(value, list) else []
    return {str(pair.get("key")): _any_value(pair.get("value")) for pair in pairs if isinstance(pair, dict)}


def _any_value(value: object) -> Any:
    inner = _object(value)
    if "kvlistValue" in inner:
        return _attributes(_object(inner["kvlistValue"]).get("values"))
    if "arrayValue" in inner:
        return [_any_value(entry) for entry in _object(inner["arrayValue"]).get("values") or ()]
    return next(iter(inner.values()), None)


_MODEL_OPERATIONS = ("chat", "text_completion", "generate_content")


def _span(number: int, span: Row, service: str) -> _Call:
    context = _object(span.get("context"))
    attributes = _attributes(span.get("attributes"))
    for event in span.get("events") or ():
        # Some exporters put the messages into an event of the span.
        attributes = {**_attributes(_object(event).get("attributes")), **attributes}
    operation = _text(attributes.get("gen_ai.operation.name"))
    has_messages = "gen_ai.input.messages" in attributes or "gen_ai.output.messages" in attributes
    is_agent = operation in ("invoke_agent", "create_agent", "invoke_workflow")
    kind: Literal["model", "tool", "other"] = "other"
    if operation == "execute_tool":
        kind = "tool"
    elif operation in _MODEL_OPERATIONS or (has_messages and not is_agent):
        kind = "model"
    status = _object(span.get("status"))
    is_error = _text(status.get("code") or status.get("status_code")) in ("2", "ERROR", "STATUS_CODE_ERROR")
    system = _parsed(attributes.get("gen_ai.system_instructions"))
    before = (
        ({"role": "system", "content": [_part(part) for part in system]},) if isinstance(system, list) else ()
    )
    start = _text(span.get("startTimeUnixNano") or span.get("start_time") or span.get("startTime"))
    is_tool = kind == "tool"
    return _Call(
        number=number,
        trace=_text(span.get("traceId") or span.get("trace_id") or context.get("trace_id")),
        id=_text(span.get("spanId") or span.get("span_id") or context.get("span_id")),
        parent=_text(span.get("parentSpanId") or span.get("parent_id") or span.get("parent_span_id")),
        at=start.zfill(24) if start.isdecimal() else start,
        kind=kind,
        name=_text(attributes.get("gen_ai.tool.name") if is_tool else attributes.get("gen_ai.agent.name"))
        or (service if kind == "other" else _text(span.get("name"))),
        input=_parsed(attributes.get("gen_ai.tool.call.arguments" if is_tool else "gen_ai.input.messages")),
        output=_parsed(attributes.get("gen_ai.tool.call.result" if is_tool else "gen_ai.output.messages")),
        error=(_text(status.get("message") or status.get("description")) or "failed") if is_error else "",
        tool_call_id=_text(attributes.get("gen_ai.tool.call.id")),
        system=_text(attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")),
        group=_text(attributes.get("gen_ai.conversation.id")),
        before=before,
    )


_Reader = Callable[[list[tuple[int, Row]], Problems], Iterator[tuple[int, _Trace]]]
_TRACES: Mapping[TraceFormat, _Reader] = {
    "openai": _logs,
    "anthropic": _logs,
    "langsmith": _langsmith,
    "langfuse": _langfuse,
    "otel": _otel,
}
