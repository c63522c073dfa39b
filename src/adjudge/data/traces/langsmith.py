"""Exports of LangSmith: runs with inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..json_rows import Row
from ..table import Problems
from .calls import CallKind, TracedCall, assembled
from .trace import Trace
from .values import object_of, text_of

_KINDS: Mapping[str, CallKind] = {
    "llm": "model",
    "tool": "tool",
    "retriever": "retriever",
    "embedding": "aside",
    "parser": "aside",
    "prompt": "aside",
}


def read_langsmith(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Trace]]:
    calls = (call for number, record in records for call in _langsmith_calls(number, record))
    return assembled(calls, problems, "'inputs' and 'outputs' of the runs")


def _langsmith_calls(number: int, run: Row) -> Iterator[TracedCall]:
    """A run, and its child runs where the export nests them."""
    extra = object_of(run.get("extra"))
    metadata = object_of(extra.get("metadata"))
    yield TracedCall(
        number=number,
        trace=text_of(run.get("trace_id") or run.get("id")),
        id=text_of(run.get("id")),
        parent=text_of(run.get("parent_run_id")),
        at=text_of(run.get("dotted_order") or run.get("start_time")),
        kind=_KINDS.get(text_of(run.get("run_type")), "other"),
        name=text_of(run.get("name")),
        input=run.get("inputs"),
        output=run.get("outputs"),
        error=text_of(run.get("error")),
        system=text_of(metadata.get("ls_model_name") or run.get("name")),
        group=text_of(
            metadata.get("thread_id") or metadata.get("session_id") or metadata.get("conversation_id")
        ),
    )
    for child in run.get("child_runs") or ():
        if isinstance(child, dict):
            yield from _langsmith_calls(number, {"trace_id": run.get("trace_id") or run.get("id"), **child})
