"""Makes the traces of this folder with the vendors' own packages, against the stand-in of `desk`. No network
is needed.

    python -m venv /tmp/made
    /tmp/made/bin/pip install arize-phoenix openinference-instrumentation-openai
    openinference-instrumentation-langchain \
        langfuse mlflow openai-agents langchain langchain-openai inspect_ai lm_eval "graphql-core<3.4,>=3.3"
    /tmp/made/bin/python make.py [NAME …]

Made with arize-phoenix 20.26, openinference-instrumentation-openai 0.1.66, langfuse 5.0.4, mlflow 3.17.2,
openai-agents 0.24.0, langchain-core 1.7.2, inspect_ai 0.3.285 and lm_eval 0.4.13. promptfoo.json comes from
promptfoo 0.121.20: `python desk.py 18123 &`, then `npx promptfoo eval -c promptfoo.yaml --no-cache -o
promptfoo.json -o promptfoo.jsonl`. Ids and times differ each time; nothing else may. Kept as the packages
wrote them, without indentation.
"""

# ruff: noqa: ARG001 - the packages record the arguments of the functions
from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from desk import (
    ANSWER,
    HOURS,
    PASSAGES,
    QUESTION,
    SESSION,
    SYSTEM,
    TOOL,
    chat_completion,
    message,
    start,
)

HERE = Path(__file__).parent
MESSAGES = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]


def write(name: str, value: Any) -> None:
    (HERE / name).write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")


def write_lines(name: str, values: list[Any]) -> None:
    lines = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
    (HERE / name).write_text(lines, encoding="utf-8")


def recorder() -> tuple[Any, Any]:
    """A provider of tracers, and the exporter that keeps its spans."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider, spans = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return provider, spans


def otlp(spans: Any) -> dict[str, Any]:
    """The spans as an OTLP request in JSON."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    return MessageToDict(encode_spans(spans.get_finished_spans()))


def converse(client: Any, hours: Callable[..., str]) -> str:
    """Two model calls with a tool between them."""
    messages: list[Any] = list(MESSAGES)
    first = client.chat.completions.create(model="desk-1", messages=messages, tools=[TOOL]).choices[0].message
    call = first.tool_calls[0]
    messages.append({"role": "assistant", "tool_calls": [call.model_dump()]})
    result = hours(**json.loads(call.function.arguments))
    messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    last = client.chat.completions.create(model="desk-1", messages=messages, tools=[TOOL])
    return last.choices[0].message.content


def stuffed() -> list[Any]:
    """A prompt with the passages in it, as a RAG chain sends it."""
    return [{"role": "user", "content": "\n".join([*PASSAGES, f"Question: {QUESTION}"])}]


def openinference() -> None:
    import openai
    from openinference.instrumentation import TracerProvider, using_session
    from openinference.instrumentation.openai import OpenAIInstrumentor
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider, spans = recorder()
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    decorated = TracerProvider()
    decorated.add_span_processor(SimpleSpanProcessor(spans))
    tracer = decorated.get_tracer("library")
    client = openai.OpenAI(base_url=f"{start()}/v1", api_key="none")

    @tracer.tool(name="opening_hours")
    def hours(day: str) -> str:
        return HOURS

    @tracer.agent(name="desk-agent")
    def agent(question: str) -> str:
        return converse(client, hours)

    @tracer.chain(name="desk-rag")
    def rag(question: str) -> str:
        with tracer.start_as_current_span("search", openinference_span_kind="retriever") as span:
            span.set_input(question)
            for place, passage in enumerate(PASSAGES):
                span.set_attribute(f"retrieval.documents.{place}.document.content", passage)
                span.set_attribute(f"retrieval.documents.{place}.document.score", 0.9 - place / 10)
        reply = client.chat.completions.create(model="desk-1", messages=stuffed())
        return reply.choices[0].message.content

    with using_session(SESSION):
        agent(QUESTION)
    write("openinference.otlp.json", otlp(spans))
    (HERE / "openinference.console.json").write_text(
        "\n".join(s.to_json() for s in spans.get_finished_spans())
    )
    rag(QUESTION)
    phoenix(otlp(spans))
    OpenAIInstrumentor().uninstrument()


def phoenix(request: dict[str, Any]) -> None:
    """What Phoenix' client returns of the same spans: `get_spans` and `get_spans_dataframe`."""
    import httpx
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from phoenix.client import Client

    url = "http://127.0.0.1:16006"
    settings = {"PHOENIX_PORT": "16006", "PHOENIX_GRPC_PORT": "16007", "PHOENIX_TELEMETRY_ENABLED": "false"}
    environment = {**os.environ, **settings, "PHOENIX_WORKING_DIR": tempfile.mkdtemp()}
    command = [sys.executable, "-m", "phoenix.server.main", "serve"]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        for _ in range(200):
            try:
                httpx.get(f"{url}/healthz")
                break
            except httpx.HTTPError:
                time.sleep(0.5)
        body = ParseDict(request, ExportTraceServiceRequest()).SerializeToString()
        httpx.post(f"{url}/v1/traces", content=body, headers={"content-type": "application/x-protobuf"})
        time.sleep(5)
        client = Client(base_url=url)
        write("phoenix.json", client.spans.get_spans(project_identifier="default"))
        table = client.spans.get_spans_dataframe(project_identifier="default")
        write("phoenix_table.json", json.loads(table.to_json(orient="records", date_format="iso")))
    finally:
        server.terminate()
        server.wait()


def langfuse() -> None:
    import openai
    from langfuse import Langfuse, observe, propagate_attributes
    from langfuse.langchain import CallbackHandler
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, base = InMemorySpanExporter(), start()
    client = Langfuse(public_key="pk-lf-made", secret_key="sk-lf-made", host=base, span_exporter=spans)
    model = openai.OpenAI(base_url=f"{base}/v1", api_key="none")

    @observe(as_type="tool", name="opening_hours")
    def hours(day: str) -> str:
        return HOURS

    @observe(as_type="retriever", name="search")
    def search(question: str) -> list[str]:
        return PASSAGES

    @observe(name="desk-rag")
    def rag(question: str) -> str:
        search(question)
        with client.start_as_current_observation(
            as_type="generation", name="answer", input=stuffed()
        ) as span:
            span.update(output=ANSWER, model="desk-1")
        return ANSWER

    @observe(as_type="agent", name="desk-agent")
    def agent(question: str) -> str:
        return converse(Generations(client, model), hours)

    with propagate_attributes(session_id=SESSION):
        agent(QUESTION)
    rag(QUESTION)
    client.flush()
    write("langfuse.otlp.json", otlp(spans))
    spans.clear()
    langchain_agent(base).invoke(
        {"messages": [("user", QUESTION)]}, config={"callbacks": [CallbackHandler()]}
    )
    client.flush()
    write("langfuse_langchain.otlp.json", otlp(spans))


class Generations:
    """An OpenAI client whose calls are generations of Langfuse."""

    def __init__(self, langfuse_client: Any, model: Any) -> None:
        self.chat = self.completions = self
        self._langfuse, self._model = langfuse_client, model

    def create(self, **request: Any) -> Any:
        given = {"messages": request["messages"], "tools": request["tools"]}
        observation = self._langfuse.start_as_current_observation(
            as_type="generation", name="chat", input=given
        )
        with observation as span:
            reply = self._model.chat.completions.create(**request)
            span.update(output=reply.choices[0].message.model_dump(exclude_none=True), model="desk-1")
        return reply


def langchain_agent(base: str) -> Any:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    @tool("opening_hours")
    def hours(day: str) -> str:
        """Opening hours"""
        return HOURS

    return create_agent(
        ChatOpenAI(model="desk-1", base_url=f"{base}/v1", api_key="none"), [hours], system_prompt=SYSTEM
    )


def langchain() -> None:
    """One conversation in each form in which LangChain writes messages."""
    from langchain_core.load import dumpd
    from langchain_core.messages import SystemMessage, messages_to_dict

    state = langchain_agent(start()).invoke({"messages": [("user", QUESTION)]})
    messages = [SystemMessage(SYSTEM), *state["messages"]]
    forms = {
        "dumpd": dumpd(messages),
        "messages_to_dict": messages_to_dict(messages),
        "model_dump": [one.model_dump() for one in messages],
        "state": dumpd({"messages": messages}),
    }
    write_lines("langchain.jsonl", [{"id": name, "conversation": form} for name, form in forms.items()])


def mlflow() -> None:
    os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"
    import mlflow as flow
    import openai
    from mlflow.entities import Document, SpanType

    folder = tempfile.mkdtemp()
    os.chdir(folder)
    flow.set_tracking_uri(f"sqlite:///{folder}/made.db")
    flow.set_experiment("desk")
    flow.openai.autolog()
    client = openai.OpenAI(base_url=f"{start()}/v1", api_key="none")

    @flow.trace(span_type=SpanType.TOOL, name="opening_hours")
    def hours(day: str) -> str:
        return HOURS

    @flow.trace(span_type=SpanType.AGENT, name="desk-agent")
    def agent(question: str) -> str:
        flow.update_current_trace(metadata={"mlflow.trace.session": SESSION})
        return converse(client, hours)

    @flow.trace(span_type=SpanType.RETRIEVER, name="search")
    def search(question: str) -> list[Any]:
        return [Document(passage) for passage in PASSAGES]

    @flow.trace(name="desk-rag")
    def rag(question: str, k: int) -> str:
        search(question)
        return client.chat.completions.create(model="desk-1", messages=stuffed()).choices[0].message.content

    for name, ask in (
        ("mlflow.json", lambda: agent(QUESTION)),
        ("mlflow_rag.json", lambda: rag(QUESTION, k=2)),
    ):
        ask()
        trace = flow.get_trace(flow.get_last_active_trace_id())
        (HERE / name).write_text(trace.to_json().replace(folder, "made") + "\n", encoding="utf-8")
    table = flow.search_traces().to_json(orient="records", force_ascii=False).replace("\\/", "/")
    write("mlflow_table.json", json.loads(table.replace(folder, "made")))


def openai_agents() -> None:
    import openai
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        RunConfig,
        Runner,
        function_tool,
    )
    from agents.tracing import set_trace_processors
    from agents.tracing.processors import BatchTraceProcessor

    class Kept:
        def __init__(self) -> None:
            self.exported: list[Any] = []

        def export(self, items: list[Any]) -> None:
            self.exported += [item.export() for item in items]

    @function_tool
    def opening_hours(day: str) -> str:
        """Opening hours"""
        return HOURS

    kept = Kept()
    processor = BatchTraceProcessor(kept)
    set_trace_processors([processor])
    client = openai.AsyncOpenAI(base_url=f"{start()}/v1", api_key="none")

    async def run() -> None:
        for name, kind in (("chat", OpenAIChatCompletionsModel), ("responses", OpenAIResponsesModel)):
            agent = Agent(
                "desk-agent", instructions=SYSTEM, model=kind("desk-1", client), tools=[opening_hours]
            )
            settings = RunConfig(workflow_name="Library desk", group_id=SESSION)
            result = await Runner.run(agent, QUESTION, run_config=settings)
            processor.force_flush()
            write_lines(f"openai_agents_{name}.jsonl", kept.exported)
            kept.exported.clear()
            write(f"openai_agents_{name}_session.json", result.to_input_list())

    asyncio.run(run())


def batches() -> None:
    """Batch files: the lines of requests, then those of results; the last request fails."""
    body = {"model": "desk-1", "messages": MESSAGES}
    request = {"method": "POST", "url": "/v1/chat/completions"}
    refused = {"error": {"message": "the model is not available", "type": "invalid_request_error"}}
    lines = [{"custom_id": f"q{number}", **request, "body": body} for number in (1, 2)]
    for number, (status, answer) in enumerate([(200, chat_completion(body)), (400, refused)], 1):
        reply = {"status_code": status, "request_id": f"r{number}", "body": answer}
        lines.append(
            {"id": f"batch_req_{number}", "custom_id": f"q{number}", "response": reply, "error": None}
        )
    write_lines("openai_batch.jsonl", lines)
    params = {"model": "desk-1", "max_tokens": 99, "system": SYSTEM, "messages": MESSAGES[1:]}
    done = {"type": "succeeded", "message": {**message(params), "stop_reason": "end_turn"}}
    failed = {
        "type": "errored",
        "error": {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
    }
    requests = [{"custom_id": f"q{number}", "params": params} for number in (1, 2)]
    results = [
        {"custom_id": f"q{number}", "result": result} for number, result in enumerate([done, failed], 1)
    ]
    write_lines("anthropic_batch.jsonl", [*requests, *results])


def inspect() -> None:
    """One log as JSON and as an archive: two samples in two epochs, a grade and a score of two values."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.model import get_model
    from inspect_ai.scorer import Score, includes, mean, scorer
    from inspect_ai.solver import generate, system_message, use_tools
    from inspect_ai.tool import tool

    @tool
    def opening_hours() -> Any:
        async def execute(day: str) -> str:
            """Opening hours.

            Args:
                day: The day.
            """
            return HOURS

        return execute

    @scorer(metrics={"tone": [mean()], "fact": [mean()]})
    def manners() -> Any:
        async def score(state: Any, target: Any) -> Score:
            return Score(value={"tone": 4, "fact": 1}, explanation="Friendly.")

        return score

    model = get_model("openai-api/desk/desk-1", base_url=f"{start()}/v1", api_key="none")
    samples = [
        Sample(QUESTION, target="17:30", id="hours", metadata={"topic": "opening"}),
        Sample(QUESTION, target=["12:00", "noon"], id=2),
    ]
    steps = [system_message(SYSTEM), use_tools(opening_hours()), generate()]
    task = Task(MemoryDataset(samples), solver=steps, scorer=[includes(), manners()], name="desk", epochs=2)
    (log,) = eval(task, model=model, log_dir=tempfile.mkdtemp(), display="none")
    whole = read_eval_log(log.location)
    for sample in whole.samples or []:
        # Events repeat the messages, and are most of a log.
        sample.events, sample.events_data = [], None
    for name in ("inspect.json", "inspect.eval"):
        write_eval_log(whole, str(HERE / name))


def lm_eval() -> None:
    """Samples of a task with generated answers, and of one with choices."""
    import lm_eval as harness
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    folder = Path(tempfile.mkdtemp())
    documents = [
        {"q": QUESTION, "a": "17:30", "days": ["Friday", "Saturday"], "day": number} for number in (0, 1)
    ]
    (folder / "desk.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    common = {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(folder / "desk.jsonl")}}}
    common |= {"test_split": "test", "doc_to_text": "Q: {{q}}\nA:"}
    generated = {"task": "desk", "output_type": "generate_until", "doc_to_target": "{{a}}"}
    generated |= {"generation_kwargs": {"until": ["\n"]}, "metric_list": [{"metric": "exact_match"}]}
    choices = {"task": "days", "output_type": "multiple_choice", "doc_to_choice": "{{days}}"}
    choices |= {"doc_to_target": "{{day}}", "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}]}
    for task in (generated, choices):
        (folder / f"{task['task']}.yaml").write_text(json.dumps({**common, **task}))
    settings = f"model=desk-1,base_url={start()}/v1/chat/completions,tokenizer_backend=None"
    tasks = TaskManager(include_path=str(folder))
    for name, model, arguments in (("desk", "local-chat-completions", settings), ("days", "dummy", "")):
        is_chat = name == "desk"
        results = harness.simple_evaluate(
            model, model_args=arguments, tasks=[name], task_manager=tasks, apply_chat_template=is_chat
        )
        tracker = EvaluationTracker(output_path=str(folder / "out"))
        samples = results.pop("samples")
        tracker.save_results_aggregated(results=results, samples=samples)
        tracker.save_results_samples(task_name=name, samples=samples[name])
        (path,) = (folder / "out").rglob(f"samples_{name}_*.jsonl")
        (HERE / f"lm_eval_{name}.jsonl").write_text(path.read_text())


MAKERS = {
    maker.__name__: maker
    for maker in (openinference, langfuse, langchain, mlflow, openai_agents, batches, inspect, lm_eval)
}

if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    for name in sys.argv[1:] or MAKERS:
        # In a process of its own: each package patches the client of OpenAI.
        if len(sys.argv) == 2:
            MAKERS[name]()
        else:
            subprocess.run([sys.executable, __file__, name], check=True)
