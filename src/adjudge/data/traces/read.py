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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from ...errors import DataError
from ..encoding import BadRowError, BrokenFileError, read_text
from ..json_rows import Row
from ..table import Problems, Table
from .langfuse import read_langfuse
from .langsmith import read_langsmith
from .logs import read_logs
from .opentelemetry import read_opentelemetry
from .trace import Trace

TraceFormat = Literal["openai", "anthropic", "langsmith", "langfuse", "otel"]
FORMATS: tuple[str, ...] = get_args(TraceFormat)


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


_Reader = Callable[[list[tuple[int, Row]], Problems], Iterator[tuple[int, Trace]]]
_TRACES: Mapping[TraceFormat, _Reader] = {
    "openai": read_logs,
    "anthropic": read_logs,
    "langsmith": read_langsmith,
    "langfuse": read_langfuse,
    "otel": read_opentelemetry,
}
