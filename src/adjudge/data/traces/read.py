"""Traces of agents and chats as items, and results of other tools: one reader for each format, found by the
keys of the records.

A trace becomes one item with the fields `task` (what the whole was given, or what the user wrote first),
`response` (what the whole returned, or the last answer), `conversation` (all messages, tool calls and tool
results, in their order) and `context` (the passages that were retrieved). Model calls repeat their history: a
message that a later call repeats is taken once. What cannot be read is a problem with its line, which says
where contents were looked for; nothing is left out in silence. All traces of a file are held in memory.

The shapes are those that the vendors' own packages write; tests/data/traces/made says how the examples were
made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from ...errors import DataError, PluginError
from ...plugins import loaded, plugins
from ..encoding import BadRowError, BrokenFileError
from ..json_objects import objects_in
from ..json_rows import Row
from ..langchain import chain_message
from ..messages import is_message
from ..peers.inspect_log import read_inspect_items
from ..peers.lm_eval import read_lm_eval_items
from ..peers.promptfoo import read_promptfoo_items
from ..peers.scores import peer_of
from ..table import Problems, Table
from .batch_lines import is_anthropic_line, is_batch_line
from .langfuse import read_langfuse
from .langsmith import read_langsmith
from .logs import read_logs
from .mlflow import is_mlflow, read_mlflow
from .openai_agents import is_agents_export, read_openai_agents
from .opentelemetry import read_opentelemetry
from .spans import is_request, is_span
from .trace import Trace

TraceFormat = Literal[
    "openai", "anthropic", "langsmith", "langfuse", "otel", "mlflow", "openai-agents", "inspect",
    "promptfoo", "lm-eval"
]  # fmt: skip
FORMATS: tuple[str, ...] = get_args(TraceFormat)


class Traces(NamedTuple):
    """The items of a file of traces, and the format in which they came."""

    rows: list[dict[str, Any]]
    form: str
    notes: tuple[str, ...] = ()
    """what the rows do not show of the file, in sentences"""
    bad: tuple[str, ...] = ()
    """the problems of the traces that were skipped"""


def read_traces(path: str | Path, form: str = "auto", *, skip_bad: bool = False) -> Traces:
    """The traces of a file as rows of an items file, or one error that lists every problem; with `skip_bad`
    only where none is good."""
    if form != "auto" and form not in FORMATS:
        return _read_by_plugin(path, form)
    table = Table(path)
    problems = Problems(table)
    records = _conversations(list(objects_in(table, problems)))
    known, records = _format_of(table, records, form, problems)
    try:
        traces = list(_READERS[known](records, problems)) if known is not None else []
        conversations = [numbered for numbered in traces if numbered[1].is_conversation] or traces
        rows = list(_rows(conversations, problems))
    except RecursionError:
        raise BrokenFileError(table.path, "nested too deeply. Export fewer levels.") from None
    if problems and (problems.of_file or not rows or not skip_bad):
        raise problems.error()
    if not rows or known is None:
        raise BrokenFileError(table.path, "no traces. Check that this is the right file.")
    notes = _notes(len(traces) - len(conversations), [trace for _, trace in conversations])
    return Traces(_with_unique_ids(rows), known, notes, problems.texts())


def _read_by_plugin(path: str | Path, form: str) -> Traces:
    """Traces in the format of a plug-in: a function from the records of a file to rows of an items file."""
    read = loaded("traces", form)
    if read is None:
        names = ", ".join(("auto", *FORMATS, *(name for name in plugins("traces") if name not in FORMATS)))
        raise DataError(f"trace format '{form}': choose {names}.")
    table = Table(path)
    problems = Problems(table)
    records = [record for _, record in objects_in(table, problems)]
    try:
        rows = list(read(records))
    except Exception as fault:
        raise PluginError(
            f"{table.path}: the plug-in for traces '{form}' failed: {type(fault).__name__}: "
            f"{str(fault)[:200]}. "
            "Its package must be corrected, or the file is not in its format."
        ) from fault
    if problems:
        raise problems.error()
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise BrokenFileError(
            table.path, f"no traces in the format '{form}'. Check that this is the right file."
        )
    return Traces(_with_unique_ids([{"id": "", **row} for row in rows]), form)


def _rows(traces: list[tuple[int, Trace]], problems: Problems) -> Iterator[dict[str, Any]]:
    for number, trace in traces:
        try:
            yield trace.row()
        except BadRowError as bad:
            problems.add(number, f"{trace.named}: {bad}")


def _notes(n_others: int, traces: list[Trace]) -> tuple[str, ...]:
    """What the rows do not show of the file."""
    notes = []
    if n_others:
        notes.append(
            f"{n_others} traces are left out: no model, agent, tool or retriever took part in them"
            " (embeddings, web requests)."
        )
    silent = [trace for trace in traces if trace.n_silent]
    if silent:
        notes.append(
            f"{sum(trace.n_silent for trace in silent)} model and tool calls in {len(silent)} traces have no"
            f" contents. {silent[0].searched}."
        )
    return tuple(notes)


def _with_unique_ids(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Repeated ids get numbers; a trace without one is an item without an id."""
    seen: Counter[str] = Counter()
    for row in rows:
        name = row.pop("id")
        if not name:
            continue
        seen[name] += 1
        row["id"] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return [{"id": row["id"], **row} if "id" in row else row for row in rows]


def _conversations(records: list[tuple[int, Row]]) -> list[tuple[int, Row]]:
    """The records; a file that is one list of messages, such as a session's, is one record."""
    if not records or not all("type" in record or is_message(record) for _, record in records):
        return records
    is_one = sum(is_message(record) or chain_message(record) is not None for _, record in records) * 2 >= len(
        records
    )
    return [(records[0][0], {"messages": [record for _, record in records]})] if is_one else records


def _format_of(
    table: Table, records: list[tuple[int, Row]], form: str, problems: Problems
) -> tuple[TraceFormat | None, list[tuple[int, Row]]]:
    """The one format of all records, that was named or that their keys show, and the records that are in
    it."""
    if form != "auto":
        return cast(TraceFormat, form), records
    formats: dict[TraceFormat, int] = {}
    known: list[tuple[int, Row]] = []
    for number, record in records:
        shown = _format_shown(record)
        if shown is None:
            keys = ", ".join(list(record)[:8])
            problems.add(number, f"not a trace of {', '.join(FORMATS)} (keys: {keys}). {_ADVICE}")
            continue
        formats.setdefault(shown, number)
        known.append((number, record))
    # A log of OpenAI's form may hold what Anthropic's may hold, too: one sign of Anthropic decides.
    if set(formats) == {"openai", "anthropic"}:
        return "anthropic", known
    if len(formats) > 1:
        places = ", ".join(f"{name} ({table.unit} {number})" for name, number in formats.items())
        problems.add(0, f"several formats in one file: {places}. Split the file, or name one with --format.")
        return None, known
    return next(iter(formats), None), known


_ADVICE = (
    "Looked for spans (trace_id with attributes, resourceSpans), run_type, observations, info with"
    " data.spans, object trace.span, eval with samples, doc_id, promptIdx, custom_id, and messages or input"
    " with output. Name the format with --format, or give the messages as items."
)


def _format_shown(record: Row) -> TraceFormat | None:
    if is_request(record) or is_span(record):
        return "otel"
    if is_mlflow(record):
        return "mlflow"
    if is_agents_export(record):
        return "openai-agents"
    if "run_type" in record:
        return "langsmith"
    if isinstance(record.get("observations"), list) or ("traceId" in record and "startTime" in record):
        return "langfuse"
    if (peer := peer_of(record)) is not None:
        return peer
    if is_batch_line(record):
        return "anthropic" if is_anthropic_line(record) else "openai"
    return _log_shown(record)


def _log_shown(record: Row) -> TraceFormat | None:
    """Whose log a record is, if it is one of requests."""
    request = record.get("request") if isinstance(record.get("request"), dict) else record
    response = record.get("response")
    is_anthropic = "stop_reason" in record or (isinstance(response, dict) and "stop_reason" in response)
    if isinstance(request, dict) and isinstance(request.get("messages"), list):
        has_system = "system" in request
        return "anthropic" if has_system or is_anthropic or _has_blocks(request["messages"]) else "openai"
    has_input = isinstance(request, dict) and isinstance(request.get("input"), list | str)
    return "openai" if has_input and ("output" in record or response) else None


def _has_blocks(messages: list[Any]) -> bool:
    kinds = {
        str(part.get("type"))
        for message in messages
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for part in message["content"]
        if isinstance(part, dict)
    }
    return bool(kinds & {"tool_use", "tool_result", "thinking", "image"})


_Reader = Callable[[list[tuple[int, Row]], Problems], Iterator[tuple[int, Trace]]]
_READERS: Mapping[TraceFormat, _Reader] = {
    "openai": read_logs,
    "anthropic": read_logs,
    "langsmith": read_langsmith,
    "langfuse": read_langfuse,
    "otel": read_opentelemetry,
    "mlflow": read_mlflow,
    "openai-agents": read_openai_agents,
    "inspect": read_inspect_items,
    "promptfoo": read_promptfoo_items,
    "lm-eval": read_lm_eval_items,
}
