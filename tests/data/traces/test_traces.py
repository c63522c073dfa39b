"""Traces as items: the shapes of five sources, one message each, in order, and problems by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.data import ItemFile, read_traces
from adjudge.errors import DataError
from adjudge.records import Message
from adjudge.render import transcript
from running import adjudge

ARGUMENTS = {"city": "Oslo"}
EXPECTED = """\
[turn 1] system
    Be brief.
[turn 2] user
    Weather in Oslo?
[turn 3] assistant
  calls weather, id c1
    {"city": "Oslo"}
[turn 4] tool weather, result of c1
    3 degrees
[turn 5] assistant
    It is 3 degrees."""


def write(path: Path, value: Any, *, as_lines: bool = False) -> Path:
    path.write_text("\n".join(map(json.dumps, value)) if as_lines else json.dumps(value))
    return path


def shown(row: dict[str, Any], tmp_path: Path) -> str:
    """The conversation of a row as a judge sees it, after it went through an items file."""
    path = tmp_path / "row.jsonl"
    path.write_text(json.dumps(row))
    (item,) = ItemFile(path)
    value = item.fields["conversation"]
    assert any(isinstance(entry, Message) for entry in value)
    return transcript(value).text


def openai_call(arguments: str = json.dumps(ARGUMENTS)) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": arguments}}


OPENAI = {
    "id": "chat-1",
    "request": {
        "model": "gpt-x",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Oslo?"},
            {"role": "assistant", "content": None, "tool_calls": [openai_call()]},
            {"role": "tool", "tool_call_id": "c1", "content": "3 degrees"},
        ],
    },
    "response": {"id": "r", "choices": [{"message": {"role": "assistant", "content": "It is 3 degrees."}}]},
}

ANTHROPIC = {
    "id": "chat-1",
    "model": "claude-x",
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Weather in Oslo?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "weather",
        "input": ARGUMENTS}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3 degrees"}]},
    ],
    "response": {"role": "assistant", "content": [{"type": "text", "text": "It is 3 degrees."}],
    "stop_reason": "end_turn"},
}  # fmt: skip


def lc(name: str, /, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}


def langsmith() -> list[dict[str, Any]]:
    """A root chain with two model calls, the second with the history of the first, and a tool run between
    them."""
    history = [lc("SystemMessage", content="Be brief."), lc("HumanMessage", content="Weather in Oslo?")]
    call = lc(
        "AIMessage",
        content="",
        tool_calls=[{"name": "weather", "args": ARGUMENTS, "id": "c1", "type": "tool_call"}],
    )
    result = lc("ToolMessage", content="3 degrees", tool_call_id="c1", name="weather")
    last = lc("AIMessage", content="It is 3 degrees.", tool_calls=[])
    shared = {"trace_id": "t1", "extra": {"metadata": {"thread_id": "th-9"}}}
    return [
        {**shared, "id": "m2", "parent_run_id": "t1", "run_type": "llm", "name": "ChatOpenAI",
        "dotted_order": "20250101T000000Z1.3",
         "inputs": {"messages": [[*history, call, result]]}, "outputs": {"generations": [[{"text": "",
         "message": last}]]}},
        {**shared, "id": "t1", "run_type": "chain", "name": "weather-agent",
        "dotted_order": "20250101T000000Z1",
         "inputs": {"input": "Weather in Oslo?"}, "outputs": {"output": "It is 3 degrees."}},
        {**shared, "id": "m1", "parent_run_id": "t1", "run_type": "llm", "name": "ChatOpenAI",
        "dotted_order": "20250101T000000Z1.1",
         "inputs": {"messages": [history]}, "outputs": {"generations": [[{"text": "", "message": call}]]}},
        {**shared, "id": "u1", "parent_run_id": "t1", "run_type": "tool", "name": "weather",
        "dotted_order": "20250101T000000Z1.2",
         "inputs": {"input": json.dumps(ARGUMENTS)}, "outputs": {"output": "3 degrees"}},
    ]  # fmt: skip


def langfuse() -> dict[str, Any]:
    history = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}]
    call = {"role": "assistant", "content": "", "tool_calls": [openai_call()]}
    return {
        "id": "t1",
        "name": "weather-agent",
        "sessionId": "th-9",
        "input": "Weather in Oslo?",
        "output": "It is 3 degrees.",
        "observations": [
            {"id": "o3", "type": "GENERATION", "startTime": "2025-01-01T00:00:03Z", "model": "gpt-x",
             "input": [*history, call, {"role": "tool", "tool_call_id": "c1", "content": "3 degrees"}],
             "output": {"role": "assistant", "content": "It is 3 degrees."}},
            {"id": "o1", "type": "GENERATION", "startTime": "2025-01-01T00:00:01Z", "model": "gpt-x",
            "input": history, "output": call},
            {"id": "o2", "type": "TOOL", "startTime": "2025-01-01T00:00:02Z", "name": "weather",
            "input": ARGUMENTS, "output": "3 degrees"},
        ],
    }  # fmt: skip


def attribute(key: str, value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else json.dumps(value)
    return {"key": key, "value": {"stringValue": text}}


def span(number: int, operation: str, **attributes: Any) -> dict[str, Any]:
    listed = [attribute("gen_ai.operation.name", operation)]
    listed += [attribute(f"gen_ai.{key.replace('__', '.')}", value) for key, value in attributes.items()]
    return {
        "traceId": "t1", "spanId": f"s{number}", "parentSpanId": "s0" if number else "", "name": operation,
        "startTimeUnixNano": str(10**18 + number), "attributes": listed,
    }  # fmt: skip


def otel() -> dict[str, Any]:
    user = {"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo?"}]}
    call = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": ARGUMENTS}],
    }
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3 degrees"}]}
    last = {
        "role": "assistant",
        "parts": [{"type": "text", "content": "It is 3 degrees."}],
        "finish_reason": "stop",
    }
    system = [{"type": "text", "content": "Be brief."}]
    spans = [
        span(3, "chat", input__messages=[user, call, result], output__messages=[last],
        system_instructions=system),
        span(0, "invoke_agent", agent__name="weather-agent", conversation__id="th-9"),
        span(1, "chat", input__messages=[user], output__messages=[call], system_instructions=system),
        span(2, "execute_tool", tool__name="weather", tool__call__id="c1", tool__call__arguments=ARGUMENTS,
        tool__call__result="3 degrees"),
    ]  # fmt: skip
    resource = {"attributes": [attribute("service.name", "weather-service")]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}


SOURCES: dict[str, tuple[Any, bool]] = {
    "openai": ([OPENAI], True),
    "anthropic": ([ANTHROPIC], True),
    "langsmith": (langsmith(), True),
    "langfuse": (langfuse(), False),
    "otel": (otel(), False),
}


@pytest.mark.parametrize("form", SOURCES)
def test_every_source_gives_the_same_conversation(form: str, tmp_path: Path) -> None:
    value, as_lines = SOURCES[form]
    path = write(tmp_path / ("traces.jsonl" if as_lines else "traces.json"), value, as_lines=as_lines)
    traces = read_traces(path)
    assert traces.form == form
    (row,) = traces.rows
    assert shown(row, tmp_path) == EXPECTED
    assert (row["task"], row["response"]) == ("Weather in Oslo?", "It is 3 degrees.")
    if form in ("langsmith", "langfuse", "otel"):
        assert (row["id"], row["system"], row["group"]) == ("t1", "weather-agent", "th-9")


def test_a_tool_that_no_model_call_shows_is_added_in_its_place(tmp_path: Path) -> None:
    runs = [run for run in langsmith() if run["id"] != "m2"]
    (row,) = read_traces(write(tmp_path / "t.jsonl", runs, as_lines=True)).rows
    text = shown(row, tmp_path)
    assert text.count("calls weather") == 1
    assert "[turn 4] tool weather" in text
    assert text.endswith("3 degrees")


def test_a_tool_without_any_model_call_shows_its_call(tmp_path: Path) -> None:
    trace = langfuse()
    trace["observations"] = [entry for entry in trace["observations"] if entry["type"] == "TOOL"]
    trace["observations"][0] |= {"level": "ERROR", "statusMessage": "no connection", "output": None}
    (row,) = read_traces(write(tmp_path / "t.json", trace)).rows
    text = shown(row, tmp_path)
    assert text == (
        "[turn 1] user\n    Weather in Oslo?\n"
        '[turn 2] assistant\n  calls weather\n    {"city": "Oslo"}\n[turn 3] tool weather (the tool '
        "failed)\n    no connection\n"
        "[turn 4] assistant\n    It is 3 degrees."
    )


def test_a_trace_without_calls_is_its_input_and_output(tmp_path: Path) -> None:
    trace = {
        "id": "t",
        "name": "bot",
        "input": {"question": "Why?"},
        "output": "Because.",
        "observations": [],
    }
    (row,) = read_traces(write(tmp_path / "t.json", trace)).rows
    assert (row["task"], row["response"]) == ("Why?", "Because.")


def test_repeated_messages_of_one_call_are_kept(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "ok"}, {"role": "assistant", "content": "Go on."}] * 2
    (row,) = read_traces(write(tmp_path / "t.jsonl", [{"messages": messages}], as_lines=True)).rows
    assert len(row["conversation"]) == 4


def test_spans_one_per_line_in_the_form_of_the_python_sdk(tmp_path: Path) -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "reasoning",
        "content": "Hm."}, {"type": "text", "content": "Hello"}]}]),
        "gen_ai.request.model": "m",
    }  # fmt: skip
    line = {"name": "chat m", "context": {"trace_id": "0x1", "span_id": "0x2"}, "parent_id": None,
            "start_time": "2025-01-01T00:00:00Z", "attributes": attributes}  # fmt: skip
    traces = read_traces(write(tmp_path / "t.jsonl", [line], as_lines=True))
    assert traces.form == "otel"
    assert (
        shown(traces.rows[0], tmp_path)
        == "[turn 1] user\n    Hi\n[turn 2] assistant\n  thinks\n    Hm.\n  says\n    Hello"
    )


def test_a_retried_tool_with_broken_arguments_is_shown_as_written(tmp_path: Path) -> None:
    log = json.loads(json.dumps(OPENAI))
    log["request"]["messages"][2]["tool_calls"] = [openai_call('{"city": ')]
    (row,) = read_traces(write(tmp_path / "t.jsonl", [log], as_lines=True)).rows
    assert "calls weather, id c1 (the arguments are not valid JSON)" in shown(row, tmp_path)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([OPENAI, {"question": "x"}], "1 problem\n  line 2: not a trace of openai, anthropic, langsmith, "
                                      "langfuse, otel, mlflow, openai-agents, inspect, promptfoo, lm-eval "
                                      "(keys: question)"),
        ([OPENAI, langsmith()[0]], "several formats in one file: openai (line 1), langsmith (line 2)"),
        ([{"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}],
        "line 1: message 1 of field 'conversation' has a part of type 'input_audio'"),
        ([{"messages": [{"role": "user\n", "content": "x"}]}], "line 1: message 1 of field 'conversation' "
                                                               "has the role"),
        ([{"messages": []}], "line 1: trace: has no messages, no tool call, no input and no output. Looked "
                             "for 'messages'"),
        ([{"run_type": "chain", "id": "t", "inputs": None, "outputs": {}}], "trace 't': has no messages, no "
                                                                            "tool call, no input and no "
                                                                            "output. Looked in 1 of its "
                                                                            "steps for 'inputs'"),
    ],
)  # fmt: skip
def test_problems_are_listed_by_line_before_anything_is_judged(
    rows: list[Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        read_traces(write(tmp_path / "t.jsonl", rows, as_lines=True))
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["[1, 2]", "{", '"x"', "[]", "{}", "null", "[" * 100_000])
@pytest.mark.parametrize("form", ["auto", "langsmith", "langfuse", "otel", "openai"])
def test_a_file_that_is_no_trace_is_an_error_and_no_traceback(text: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(DataError):
        read_traces(path, form)


def test_the_command_writes_items_and_says_which_format_it_found(tmp_path: Path) -> None:
    path = write(tmp_path / "export.json", langfuse())
    output = tmp_path / "items.jsonl"
    done = adjudge("traces", path, "-o", output)
    assert done.code == 0
    assert "1 traces in the format langfuse" in done.err
    assert json.loads(output.read_text())["id"] == "t1"
    assert json.loads(adjudge("traces", path).out)["task"] == "Weather in Oslo?"
    wrong = adjudge("traces", path, "--format", "langchain")
    assert wrong.code == 2
    assert "choose auto, openai, anthropic, langsmith, langfuse, otel" in wrong.err


def test_a_run_takes_traces_as_they_are_and_resumes(tmp_path: Path) -> None:
    path = write(tmp_path / "export.jsonl", langsmith(), as_lines=True)
    command = (
        "run", path, "--traces", "auto", "-p", "agent/outcome", "-p", "dialogue/goal", "-m",
        "fake:text=<score>2</score>",
        "--run", "r", "--store", tmp_path / "a.db",
    )  # fmt: skip
    first = adjudge(*command)
    assert first.code == 0, first.err
    assert adjudge(*command).code == 0
    rows = adjudge("export", "r", "--store", tmp_path / "a.db").rows
    assert [(row["item"], row["system"], row["group"], row["score"]) for row in rows] == [
        ("t1", "weather-agent", "th-9", 2)
    ] * 2
    bad = write(tmp_path / "bad.jsonl", [{"x": 1}], as_lines=True)
    assert "line 1: not a trace" in adjudge("run", bad, *command[2:]).err


def test_problems_of_an_item_name_the_file_of_traces(tmp_path: Path) -> None:
    path = write(tmp_path / "export.json", langfuse())
    done = adjudge(
        "run",
        path,
        "--traces",
        "auto",
        "-p",
        "direct/reference-answer",
        "-m",
        "fake:text=x",
        "--store",
        tmp_path / "a.db",
    )
    assert done.code == 2
    assert "export.json: 1 problem" in done.err
    assert "trace 1: field 'reference' is missing" in done.err
