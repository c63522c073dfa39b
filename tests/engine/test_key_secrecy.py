"""A key reaches its own host and nothing else: no output,
no file, no crash holds it, even if a host echoes it.
"""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from adjudge.store import open_store
from clock import until
from fakeserver import Answer, FakeServer, Request, as_json, chat, error
from running import (
    DIRECT,
    Outcome,
    adjudge,
    answers,
    by_number,
    ended,
    model_at,
    number_in,
    prompt_of,
    python,
    started,
)

KEY = "sk-canary-7f3a9c51d2e84b60"
FORMS = tuple(
    form.encode() for form in (KEY, base64.b64encode(KEY.encode()).decode()[:28], KEY.replace("-", "%2D"))
)


def echoing(request: Request) -> Answer:
    """A host that repeats the key it was sent wherever it can."""
    sent = request.headers["authorization"].removeprefix("Bearer ")
    if "legs" in prompt_of(request):  # what `adjudge models test` asks
        return chat(f"4 {sent}")
    number = number_in(request)
    if number == 1:
        return error(400, f"bad request for {sent}")
    if number == 2:
        return chat(f"Your key is {sent}. [RESULT] 3")
    if number == 3:
        return as_json({"error": {"message": f"internal: Authorization: Bearer {sent}"}}, 400)
    if number == 4:
        return chat("[RESULT] 3", reasoning_content=f"I saw {sent} in the header.")
    return by_number(request).with_headers(x_echo=sent)


def assert_clean(folder: Path, *outcomes: Outcome) -> None:
    for outcome in outcomes:
        for form in FORMS:
            assert form not in (outcome.out + outcome.err).encode()
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        for form in FORMS:
            assert form not in path.read_bytes(), path.name


def unpacked(store: Path) -> str:
    """All that a store holds of its last run, as text."""
    with open_store(store, write=False) as opened:
        run = opened.run("last")
        return repr(
            [run, *opened.asked(run), *opened.judgments(run), *opened.items(run), *opened.models_seen(run)]
        )


@pytest.mark.slow
def test_a_key_is_in_no_output_store_or_export(tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", 6), tmp_path / "adjudge.db"
    with FakeServer(echoing) as server:
        command = [
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--key-env", "JUDGE_KEY",
            "--no-reask",
        ]  # fmt: skip
        # A process of its own that is killed leaves its write-ahead log behind.
        process = started(*command, JUDGE_KEY=KEY)
        ran = ended(process)
        sent = {request.headers["authorization"] for request in server.requests}
        outcomes = [
            adjudge(*command, "--dry-run", JUDGE_KEY=KEY),
            adjudge("report", "last", "--store", store),
            adjudge("report", "last", "--store", store, "--json"),
            adjudge("report", "last", "--store", store, "--markdown"),
            adjudge("runs", "--store", store, "--json"),
            adjudge("export", "last", "--store", store),
            adjudge("export", "last", "--store", store, "-o", tmp_path / "rows.jsonl"),
            adjudge("export", "last", "--store", store, "--format", "csv", "-o", tmp_path / "rows.csv"),
            adjudge("reread", "last", "--store", store),
            adjudge("models", "test", model_at(server), "--key-env", "JUDGE_KEY", "--json", JUDGE_KEY=KEY),
        ]
    assert sent == {f"Bearer {KEY}"}, "the host itself was sent the key"
    assert ran.code == 0
    rows = outcomes[5].rows
    assert [row["status"] for row in rows] == ["no_reply", "ok", "no_reply", "ok", "ok", "ok"]
    assert_clean(tmp_path, ran, *outcomes)
    # Texts are packed in the file, so its bytes prove little: read them as well.
    assert KEY not in unpacked(store)
    assert "Your key is [key]." in unpacked(store)


def test_a_key_is_not_in_the_log_of_a_store_whose_process_was_killed(tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", 40), tmp_path / "adjudge.db"
    with FakeServer(echoing, hold_from=16) as server:
        process = started(
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--key-env", "JUDGE_KEY",
            "--concurrency", "4", "--no-reask", JUDGE_KEY=KEY,
        )  # fmt: skip
        until(lambda: server.n_requests >= 16 or process.poll() is not None)
        process.kill()
        out, err = process.communicate()
    assert Path(f"{store}-wal").stat().st_size > 0
    assert_clean(tmp_path, Outcome(process.returncode, out, err))
    assert KEY not in unpacked(store)


CRASH = """
import sys, traceback
import adjudge
from adjudge.engine import Watcher

class Crashing(Watcher):
    def progressed(self, progress):
        raise RuntimeError("the watcher broke")

items, model, rubric, store, how = sys.argv[1:]
try:
    adjudge.run(items, "prometheus/direct", model, rubric=rubric, store=store, key_env="JUDGE_KEY", reask=False,
                watcher=Crashing() if how == "crash" else None)
except Exception as fault:
    # With local variables, as debuggers and error trackers print them.
    print("".join(traceback.TracebackException.from_exception(fault, capture_locals=True).format()), file=sys.stderr)
    raise
"""  # noqa: E501


@pytest.mark.parametrize("how", ["crash", "refused"])
def test_a_key_is_not_in_a_traceback_with_local_variables(how: str, tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 6)
    plan = echoing if how == "crash" else lambda request: error(401, request.headers["authorization"])
    with FakeServer(plan) as server:
        crashed = ended(
            python(CRASH, items, model_at(server), DIRECT[3], tmp_path / "adjudge.db", how, JUDGE_KEY=KEY)
        )
    assert crashed.code == 1
    assert "Traceback" in crashed.err
    assert ("the watcher broke" if how == "crash" else "JUDGE_KEY") in crashed.err
    assert "headers = " in crashed.err or "request = " in crashed.err, "there were local variables"
    assert_clean(tmp_path, crashed)


def test_the_key_of_a_provider_goes_to_no_other_host(tmp_path: Path) -> None:
    """`http://…` models are sent no key unless one is named, whatever the environment holds."""
    items = answers(tmp_path / "items.jsonl", 1)
    with FakeServer(by_number) as server:
        adjudge(
            "run", items, *DIRECT, "-m", model_at(server), "--store", tmp_path / "s.db",
            OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY,
        )  # fmt: skip
        (request,) = server.requests
    assert "authorization" not in request.headers
    assert KEY not in str(request.headers)


def test_a_dry_run_needs_no_key_and_a_run_says_which_one_is_missing(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 1)
    command = ["run", items, *DIRECT, "-m", "http://127.0.0.1:9/v1#judge", "--store", tmp_path / "s.db"]
    command += ["--key-env", "NO_SUCH_KEY"]
    assert adjudge(*command, "--dry-run").code == 0
    refused = adjudge(*command)
    assert refused.code == 2
    assert "NO_SUCH_KEY" in refused.err
