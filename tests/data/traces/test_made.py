"""Files that the vendors' own packages wrote (`made/make.py`): one conversation, whichever package recorded
it."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adjudge.data import ItemFile, read_traces
from adjudge.errors import DataError
from adjudge.records import Message
from adjudge.render import transcript

MADE = Path(__file__).parent / "made"
sys.path.insert(0, str(MADE))
from desk import ANSWER, PASSAGES, QUESTION  # noqa: E402

CONVERSATION = """\
[turn 1] system
    You answer for the town library. Be brief.
[turn 2] user
    When does the reading room close on Friday?
[turn 3] assistant
  calls opening_hours, id call_hours
    {"day": "Friday"}
[turn 4] tool opening_hours, result of call_hours
    open from 9:00 to 17:30
[turn 5] assistant
    The reading room closes at 17:30 on Friday."""


def shown(row: dict[str, Any], tmp_path: Path) -> str:
    """The conversation of a row as a judge sees it; arguments are compared without regard to spaces."""
    path = tmp_path / "row.jsonl"
    path.write_text(json.dumps(row))
    (item,) = ItemFile(path)
    value = item.fields["conversation"]
    assert any(isinstance(entry, Message) for entry in value)
    return transcript(value).text.replace('{"day":"Friday"}', '{"day": "Friday"}')


def rows_by_system(name: str) -> dict[str, dict[str, Any]]:
    return {row.get("system", ""): row for row in read_traces(MADE / name).rows}


LANGCHAIN = MADE / "langchain.jsonl"
AGENTS = {
    "openinference.otlp.json": ("otel", "desk-agent"),
    "openinference.console.json": ("otel", "desk-agent"),
    "phoenix.json": ("otel", "desk-agent"),
    "phoenix_table.json": ("otel", "desk-agent"),
    "langfuse.otlp.json": ("otel", "desk-agent"),
    "langfuse_langchain.otlp.json": ("otel", "LangGraph"),
    "mlflow.json": ("mlflow", "desk-agent"),
    "mlflow_table.json": ("mlflow", "desk-agent"),
    "openai_agents_chat.jsonl": ("openai-agents", "desk-agent"),
}


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_one_item_whichever_package_recorded_it(name: str, tmp_path: Path) -> None:
    form, system = AGENTS[name]
    traces = read_traces(MADE / name)
    assert traces.form == form
    assert traces.notes == ()
    row = next(row for row in traces.rows if row["system"] == system)
    assert shown(row, tmp_path) == CONVERSATION
    assert (row["task"], row["response"]) == (QUESTION, ANSWER)
    if system == "desk-agent":
        assert row["group"] == "visit-7"
    if form != "openai-agents":  # its exports name the tools and do not define them
        assert json.loads(row["tools"][0])["function"]["name"] == "opening_hours"


@pytest.mark.parametrize(
    "name",
    ["phoenix.json", "phoenix_table.json", "langfuse.otlp.json", "mlflow_rag.json", "mlflow_table.json"],
)
def test_retrieved_passages_are_the_context_and_the_task_is_what_the_chain_was_given(name: str) -> None:
    row = rows_by_system(name)["desk-rag"]
    assert row["context"] == PASSAGES
    assert (row["task"], row["response"]) == (QUESTION, ANSWER)
    # The model was sent another text: the passages with the question.
    assert row["conversation"][0]["content"].startswith(PASSAGES[0])


def test_ids_are_those_that_the_vendors_pages_show() -> None:
    phoenix = {row["id"] for row in read_traces(MADE / "phoenix.json").rows}
    assert {row["id"] for row in read_traces(MADE / "openinference.otlp.json").rows} <= phoenix
    assert all(len(name) == 32 and int(name, 16) for name in phoenix)
    assert read_traces(MADE / "mlflow.json").rows[0]["id"].startswith("tr-")


@pytest.mark.parametrize("name", ["openai_agents_chat_session.json", "openai_agents_responses_session.json"])
def test_a_session_of_the_agents_sdk_is_one_conversation(name: str, tmp_path: Path) -> None:
    (row,) = read_traces(MADE / name).rows
    turns = shown(row, tmp_path).partition("[turn 2]")[2]
    # The instructions are no part of a session.
    expected = CONVERSATION.partition("[turn 3]")[2]
    assert turns == expected.replace("turn 5", "turn 4").replace("[turn 4] tool", "[turn 3] tool")
    assert (row["task"], row["response"]) == (QUESTION, ANSWER)


def test_model_calls_without_messages_are_counted_and_the_tools_are_kept(tmp_path: Path) -> None:
    traces = read_traces(MADE / "openai_agents_responses.jsonl")
    assert shown(traces.rows[0], tmp_path).endswith("open from 9:00 to 17:30")
    (note,) = traces.notes
    assert note.startswith("2 model and tool calls in 1 traces have no contents. Looked in ")
    assert "'input' with 'response' of responses" in note


@pytest.mark.parametrize(
    ("name", "form", "error"),
    [
        ("openai_batch.jsonl", "openai", "the model is not available"),
        ("anthropic_batch.jsonl", "anthropic", "busy"),
    ],
)
def test_requests_and_results_of_a_batch_are_joined(name: str, form: str, error: str, tmp_path: Path) -> None:
    traces = read_traces(MADE / name)
    assert traces.form == form
    done, failed = traces.rows
    assert (done["id"], done["system"], done["task"], done["response"]) == ("q1", "desk-1", QUESTION, ANSWER)
    assert [message["role"] for message in done["conversation"]] == ["system", "user", "assistant"]
    assert (failed["id"], failed["task"], failed["error"]) == ("q2", QUESTION, error)
    assert "response" not in failed
    lines = (MADE / name).read_text().splitlines()
    results = tmp_path / "results.jsonl"
    results.write_text(
        "\n".join(line for line in lines if ('"q1"' in line and "result" in line) or '"choices"' in line)
    )
    (alone,) = read_traces(results).rows
    assert (alone["id"], alone["response"]) == ("q1", ANSWER)


@pytest.mark.parametrize("form", ["dumpd", "messages_to_dict", "model_dump", "state"])
def test_messages_of_langchain_are_a_field_of_an_item(form: str) -> None:
    items = {item.id: item for item in ItemFile(MADE / "langchain.jsonl")}
    value = items[form].fields["conversation"]
    assert transcript(value).text == CONVERSATION


@pytest.mark.parametrize("form", ["dumpd", "messages_to_dict", "model_dump", "state"])
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_messages_of_langchain_may_be_a_text(form: str, suffix: str, tmp_path: Path) -> None:
    rows = {row["id"]: row["conversation"] for row in map(json.loads, LANGCHAIN.read_text().splitlines())}
    row = {
        "id": "q",
        "conversation": json.dumps(rows[form]),
        "response": '[{"role": "user", "content": "a"}]',
    }
    path = tmp_path / f"items.{suffix}"
    with path.open("w", newline="") as file:
        if suffix == "csv":
            csv.writer(file).writerows([row.keys(), row.values()])
        else:
            file.write(json.dumps(row))
    (item,) = ItemFile(path)
    assert transcript(item.fields["conversation"]).text == CONVERSATION
    assert item.fields["response"] == row["response"]  # a model may answer in JSON


def test_texts_that_dumps_of_langchain_wrote_are_messages_in_any_field(tmp_path: Path) -> None:
    rows = {row["id"]: row["conversation"] for row in map(json.loads, LANGCHAIN.read_text().splitlines())}
    each = [json.dumps(message) for message in rows["dumpd"]]
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps({"id": "q", "response": json.dumps(rows["dumpd"], indent=2), "steps": each}))
    (item,) = ItemFile(path)
    assert transcript(item.fields["response"]).text == CONVERSATION
    assert transcript(item.fields["steps"]).text == CONVERSATION


@pytest.mark.parametrize("form", ["dumpd", "messages_to_dict", "model_dump"])
def test_a_file_that_is_a_list_of_langchains_messages_is_one_conversation(form: str, tmp_path: Path) -> None:
    rows = {row["id"]: row["conversation"] for row in map(json.loads, LANGCHAIN.read_text().splitlines())}
    path = tmp_path / "list.json"
    path.write_text(json.dumps(rows[form]))
    (row,) = read_traces(path).rows
    assert shown(row, tmp_path) == CONVERSATION


@pytest.mark.parametrize(
    "text", ["[", "[]", "{}", "[1]", '[{"role": "user"}]', '{"messages": []}', "[" * 5000]
)
def test_a_text_that_only_begins_like_messages_stays_a_text(text: str, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps({"id": "q", "conversation": text}))
    (item,) = ItemFile(path)
    assert item.fields["conversation"] == text


def test_a_trace_without_contents_says_where_they_were_looked_for(tmp_path: Path) -> None:
    request = json.loads((MADE / "openinference.otlp.json").read_text())
    for scope in request["resourceSpans"][0]["scopeSpans"]:
        for span in scope["spans"]:
            kept = ("openinference.span.kind", "llm.model_name")
            span["attributes"] = [entry for entry in span["attributes"] if entry["key"] in kept]
    path = tmp_path / "silent.json"
    path.write_text(json.dumps(request))
    with pytest.raises(DataError) as caught:
        read_traces(path)
    said = str(caught.value)
    assert "has no messages, no tool call, no input and no output. Looked in 4 of its steps for" in said
    for name in (
        "gen_ai.input.messages",
        "llm.input_messages",
        "langfuse.observation.input",
        "mlflow.spanInputs",
    ):
        assert name in said
    assert "eave it out" not in said


@pytest.mark.parametrize("orient", ["records", "columns", "index", "split"])
@pytest.mark.parametrize("name", ["mlflow_table.json", "phoenix_table.json"])
def test_a_table_of_traces_is_read_however_pandas_writes_it(name: str, orient: str, tmp_path: Path) -> None:
    records = json.loads((MADE / name).read_text())
    columns = list(records[0])
    written = {
        "records": records,
        "columns": {key: {str(n): row[key] for n, row in enumerate(records)} for key in columns},
        "index": {str(n): row for n, row in enumerate(records)},
        "split": {
            "columns": columns,
            "index": list(range(len(records))),
            "data": [[row[key] for key in columns] for row in records],
        },
    }
    path = tmp_path / "table.json"
    path.write_text(json.dumps(written[orient]))
    assert read_traces(path).rows == read_traces(MADE / name).rows


def test_a_list_of_traces_as_texts_is_read_as_the_traces(tmp_path: Path) -> None:
    texts = [(MADE / name).read_text() for name in ("mlflow.json", "mlflow_rag.json")]
    path = tmp_path / "texts.json"
    path.write_text(json.dumps(texts))
    assert [row["system"] for row in read_traces(path).rows] == ["desk-agent", "desk-rag"]


def test_traces_of_something_else_are_left_out_and_counted(tmp_path: Path) -> None:
    request = json.loads((MADE / "openinference.otlp.json").read_text())
    health = {
        "traceId": "ab" * 16,
        "spanId": "cd" * 8,
        "name": "GET /health",
        "startTimeUnixNano": "1",
        "attributes": [],
    }
    request["resourceSpans"][0]["scopeSpans"][0]["spans"].append(health)
    path = tmp_path / "service.json"
    path.write_text(json.dumps(request))
    traces = read_traces(path)
    assert len(traces.rows) == 1
    assert traces.notes[0].startswith(
        "1 traces are left out: no model, agent, tool or retriever took part in them"
    )


def test_bad_traces_can_be_skipped_and_are_listed(tmp_path: Path) -> None:
    good, bad = (json.loads((MADE / "mlflow.json").read_text()) for _ in range(2))
    bad["info"]["trace_id"] = "tr-empty"
    for span in bad["data"]["spans"]:
        span["attributes"] = {"mlflow.spanType": '"CHAT_MODEL"'}
    path = tmp_path / "two.jsonl"
    path.write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
    with pytest.raises(DataError, match="tr-empty"):
        read_traces(path)
    traces = read_traces(path, skip_bad=True)
    assert [row["system"] for row in traces.rows] == ["desk-agent"]
    assert traces.bad[0].startswith("line 2: trace 'tr-empty': has no messages")


VALUES = (
    None,
    True,
    0,
    "",
    "x",
    "{",
    '[{"role": 1}]',
    [],
    {},
    [[]],
    [None],
    {"role": "user"},
    {"0": {"1": "x"}},
    [["user", "hi"]],
)


def replaced(value: Any, random: Random) -> Any:
    """The value with one part of it, at any depth, replaced by something else."""
    parts = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value))
        if isinstance(value, list)
        else []
    )
    if not parts or random.random() < 0.1:
        return random.choice(VALUES)
    key, inner = random.choice(parts)
    copy = value.copy()
    copy[key] = replaced(inner, random)
    return copy


@pytest.mark.parametrize("path", sorted(MADE.glob("*.json*")), ids=lambda path: path.name)
def test_any_change_of_a_file_gives_rows_or_problems_and_no_traceback(path: Path, tmp_path: Path) -> None:
    random = Random(path.name)
    text = path.read_text()
    whole = json.loads(text) if path.name != "openinference.console.json" and path.suffix == ".json" else None
    records = (
        whole
        if whole is not None
        else [json.loads(line) for line in text.splitlines() if line[:1] == "{" and line[1:]]
    )
    for number in range(40):
        changed = tmp_path / f"{number}.json"
        changed.write_text(json.dumps(replaced(records, random)))
        try:
            rows = read_traces(changed).rows
        except DataError:
            continue
        assert all(
            isinstance(row.get("id", ""), str) and isinstance(row["conversation"], list) for row in rows
        )
