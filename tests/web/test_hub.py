"""A team's hub: runs go there and come back, by members with a token, and nothing is lost."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_shared_server import HOST, Patient, Rater, certificate, free_port

from adjudge.store import open_store
from adjudge.web.hub.hub import Hub
from adjudge.web.invitation import Invitations
from adjudge.web.labelling.questions import sheet_key
from running import DIRECT, Outcome, adjudge, started, write_rows
from webclient import ask

__all__ = ["certificate"]  # a fixture
N = 8
NAMES = {"hub.example": "https://hub.example"}


def judged(folder: Path, run: str, score: int, store: str = "s.db", n: int = N) -> Path:
    """A store with a run, with labels of two raters."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"id": f"i{k}", "system": "x", "instruction": "Greet.", "response": f"Hi {run} {k}."}
        for k in range(n)
    ]
    items = write_rows(folder / "items.jsonl", rows)
    path = folder / store
    model = ("-m", f"fake:text=Kind. [RESULT] {score}")
    done = adjudge("run", items, *DIRECT, *model, "--run", run, "--store", path)
    assert done.code == 0, done.err
    return path


@contextmanager
def hub(store: Path, port: int, *flags: str | Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """A shared viewer, with the tokens and links that it printed by name."""
    process = started(
        "view", "--share", "--host", HOST, "--port", str(port), *flags, "--no-browser", "--store", store,
        PYTHONUNBUFFERED="1",
    )  # fmt: skip
    try:
        assert process.stdout is not None
        given = {}
        for line in process.stdout:
            name, _, words = line.strip().partition("  ")
            if line.startswith("Press"):
                break
            given[name] = words.rpartition(" ")[2]
        yield process, given
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def exported(store: Path, run: str) -> list[dict[str, Any]]:
    return adjudge("export", run, "--store", store, "--format", "jsonl").rows


def test_a_run_goes_to_the_hub_comes_back_and_is_a_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, change = judged(tmp_path / "main", "main", 4), judged(tmp_path / "change", "change", 3)
    shared, port = tmp_path / "hub.db", free_port()
    url = f"http://{HOST}:{port}"
    with hub(shared, port, "--member", "ci") as (_, given):
        monkeypatch.setenv("ADJUDGE_HUB_TOKEN", given["ci"])
        dry = adjudge("push", "main", url, "--store", main, "--dry-run")
        assert "would be sent" in dry.out
        first = adjudge("push", "main", url, "--store", main, "--json").json["runs"]
        again = adjudge("push", "main", url, "--store", main, "--json").json["runs"]
        assert [(one["into"], one["items"], one["calls"]) for one in first] == [("main", N, N)]
        assert [(one["items"], one["calls"], one["judgments"]) for one in again] == [(0, 0, 0)]
        back = adjudge("pull", url, "main", "--store", tmp_path / "back.db")
        assert back.code == 0, back.err
        assert exported(tmp_path / "back.db", "main") == exported(main, "main") == exported(shared, "main")
        gate = ("gate", "change", "--store", change, "--max-drop", "tact=0.2")
        compared = adjudge(*gate, "--baseline", f"{url}/main")
        local = adjudge(*gate, "--baseline", "main", "--baseline-store", main)
        assert (compared.code, compared.out) == (local.code, local.out)
        assert "Change of x on tact" in compared.out, compared.err
        unknown = adjudge("pull", url, "nothing", "--store", tmp_path / "back.db")
        assert (unknown.code, "no run 'nothing'" in unknown.err) == (2, True)
        assert str(tmp_path) not in unknown.err
        assert adjudge("view", "--revoke", "ci", "--store", shared).code == 0
        for command in (("push", "main", url), ("pull", url, "main")):
            refused = adjudge(*command, "--store", tmp_path / "back.db")
            assert (refused.code, "revoked" in refused.err) == (2, True)


def a_hub(tmp_path: Path, **more: Any) -> tuple[Hub, str]:
    """The application alone, and the token of a member."""
    store = judged(tmp_path, "main", 4)
    members = Invitations(store, "member")
    token = members.invite(["ci"])["ci"]

    async def pages(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001
        await send({"type": "http.response.start", "status": 299, "headers": []})
        await send({"type": "http.response.body", "body": b"a page"})

    return Hub(pages, store, members, NAMES, **more), token


def push(app: Hub, body: bytes, token: str, host: str = "hub.example", **headers: str) -> tuple[int, str]:
    sent = {"host": host, "authorization": f"Bearer {token}", **headers}
    answer = ask(app, "POST", "/hub/runs", sent, [body[:100_000], body[100_000:]])
    return answer.status, answer.text


def test_without_a_token_a_caller_gets_nothing(tmp_path: Path) -> None:
    app, token = a_hub(tmp_path)
    guest = Invitations(tmp_path / "s.db", "guest").invite(["ann"])["ann"]
    before = (tmp_path / "s.db").read_bytes()
    for wrong in ("", "x" * 43, guest):
        headers = {"host": "hub.example", "authorization": f"Bearer {wrong}"}
        for path in ("/hub/runs/main", "/hub/runs/nothing", "/hub/other"):
            answer = ask(app, "GET", path, headers)
            assert answer.status == 401
            assert "main" not in answer.text
        assert push(app, b"SQLite format 3\x00", wrong)[0] == 401
    assert push(app, b"", token, host="evil.example")[0] == 403
    assert ask(app, "GET", "/items", {"host": "hub.example"}).status == 299  # pages have checks of their own
    assert (tmp_path / "s.db").read_bytes() == before


def test_a_push_is_bounded_and_checked_as_a_strangers_store(tmp_path: Path) -> None:
    app, token = a_hub(tmp_path, largest=600_000)
    other = judged(tmp_path / "other", "other", 3)
    content = other.read_bytes()
    assert push(app, b"x" * 700_000, token)[0] == 413
    assert push(app, b"", token, **{"content-length": "700000"})[0] == 413
    for bad in (b"", b"no database at all", content[:5000], content[: len(content) // 2]):
        status, said = push(app, bad, token)
        assert status == 422
        assert str(tmp_path) not in said
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END")
        connection.commit()
    assert push(app, other.read_bytes(), token)[0] == 422
    assert [row["run"] for row in adjudge("runs", "--store", tmp_path / "s.db", "--json").json] == ["main"]
    assert not list(tmp_path.glob(".adjudge-*"))


def test_a_push_that_is_cut_off_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    app, token = a_hub(tmp_path)
    content = judged(tmp_path / "other", "other", 3).read_bytes()
    headers = {"host": "hub.example", "authorization": f"Bearer {token}", "content-length": str(len(content))}
    for pieces in ([b""], [content[:5000]], [content[:5000], content[5000:9000]]):
        answer = ask(app, "POST", "/hub/runs", headers, pieces, is_cut=True)
        assert answer.status == 400
        assert "connection ended" in answer.text
    assert [row["run"] for row in adjudge("runs", "--store", tmp_path / "s.db", "--json").json] == ["main"]
    assert not list(tmp_path.glob(".adjudge-*"))


def test_a_refusal_names_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app, token = a_hub(Path())
    status, said = push(app, b"no database at all", token)
    assert status == 422
    assert ".adjudge-" not in said


def test_two_runs_of_one_name_are_both_kept(tmp_path: Path) -> None:
    app, token = a_hub(tmp_path)
    other = judged(tmp_path / "other", "main", 2)
    assert push(app, other.read_bytes(), token)[0] == 200
    names = [row["run"] for row in adjudge("runs", "--store", tmp_path / "s.db", "--json").json]
    assert len(names) == len(set(names)) == 2


def test_a_new_baseline_takes_the_name_and_the_old_one_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = judged(tmp_path / "old", "main", 4), judged(tmp_path / "new", "main", 2)
    change = judged(tmp_path / "change", "change", 2)
    shared, port = tmp_path / "hub.db", free_port()
    url = f"http://{HOST}:{port}"

    def drop(run: str, store: Path) -> tuple[int, str]:
        done = adjudge("gate", run, "--store", store, "--max-drop", "tact=0.2", "--baseline", f"{url}/main")
        return done.code, done.out

    with hub(shared, port, "--member", "ci") as (_, given):
        monkeypatch.setenv("ADJUDGE_HUB_TOKEN", given["ci"])
        assert adjudge("push", "main", url, "--store", old).code == 0
        other = adjudge("push", "main", url, "--store", new)
        assert (f"main-2 has {N} new" in other.out, "--replace" in other.err) == (True, True)
        code, text = drop("main", new)
        assert (code, "is the run itself" in text) == (1, False)
        for _ in range(2):  # a second push changes nothing
            (moved,) = adjudge("push", "main", url, "--store", new, "--replace", "--json").json["runs"]
            assert (moved["into"], moved["items"]) == ("main", 0)
            assert exported(shared, "main") == exported(new, "main")
            assert exported(shared, "main-2") == exported(old, "main")
        assert drop("change", change)[0] == 3  # no drop, on few items
        code, text = drop("main", new)
        assert (code, "is the run itself" in text) == (0, True)
        (back,) = adjudge("push", "main", url, "--store", old, "--json").json["runs"]
        assert (back["into"], back["items"]) == ("main-2", 0)
        assert adjudge("doctor", "--store", shared).code == 0
    done = adjudge("push", "main", "otlp:logs", "--store", old, "--replace")
    assert (done.code, "for runs that go to a hub" in done.err) == (2, True)


def test_a_token_travels_by_https_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = judged(tmp_path, "main", 4)
    monkeypatch.setenv("ADJUDGE_HUB_TOKEN", "secret-token")
    done = adjudge("push", "main", "http://hub.example", "--store", store)
    assert (done.code, "not sent over plain http" in done.err, "secret-token" in done.err) == (2, True, False)
    monkeypatch.delenv("ADJUDGE_HUB_TOKEN")
    done = adjudge("push", "main", "https://hub.example", "--store", store)
    assert (done.code, "ADJUDGE_HUB_TOKEN" in done.err) == (2, True)


def test_the_recipe_for_nginx_serves_pages_and_pushes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate: tuple[Path, Path]
) -> None:
    """The block of docs/team.md with another name, other ports and a certificate of our own."""
    if (nginx := shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")) is None:
        pytest.skip("there is no nginx here")
    port, outer = free_port(), free_port()
    page = (Path(__file__).parents[2] / "docs" / "team.md").read_text(encoding="utf-8")
    block = page.split("```nginx\n")[1].split("```")[0]
    for old, new in (
        ("listen 443 ssl", f"listen {HOST}:{outer} ssl"), ("judges.example.org", "localhost"),
        ("/etc/ssl/judges.pem", str(certificate[0])), ("/etc/ssl/judges.key", str(certificate[1])),
        ("127.0.0.1:8347", f"127.0.0.1:{port}"),
    ):  # fmt: skip
        assert old in block
        block = block.replace(old, new)
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{name}_temp_path {tmp_path}/{name};" for name in places)
    config = tmp_path / "nginx.conf"
    config.write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/errors;\nevents {{}}\n"
        f"http {{ access_log off; {temporary}\n{block}}}\n"
    )
    main, shared = judged(tmp_path / "main", "main", 4, n=300), tmp_path / "hub.db"
    assert main.stat().st_size > 100_000
    url = f"https://localhost:{outer}"
    server = subprocess.Popen([nginx, "-p", str(tmp_path), "-c", str(config), "-e", str(tmp_path / "errors")])
    try:
        with hub(shared, port, "--public-url", url, "--member", "ci", "--guest", "ann") as (_, given):
            monkeypatch.setenv("ADJUDGE_HUB_TOKEN", given["ci"])
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
            done = adjudge("push", "main", url, "--store", main)
            assert done.code == 0, done.err + (tmp_path / "errors").read_text()
            back = adjudge("pull", url, "main", "--store", tmp_path / "back.db")
            assert back.code == 0, back.err
            assert exported(tmp_path / "back.db", "main") == exported(main, "main")
            guest = Rater(given["ann"].replace("localhost", HOST), certificate[0], host=f"localhost:{outer}")
            assert "main" in guest.ask("GET", "/")[2]
    finally:
        server.terminate()
        server.wait()


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_push_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = judged(tmp_path / "run", "large", 4, n=3000)
    shared, port = tmp_path / "hub.db", free_port()
    url = f"http://{HOST}:{port}"
    token = ""
    for seconds in (0.4, 0.8, 1.2, 1.6):
        with hub(shared, port, *(() if token else ("--member", "ci"))) as (process, given):
            token = token or given["ci"]
            monkeypatch.setenv("ADJUDGE_HUB_TOKEN", token)
            pushing = started("push", "large", url, "--store", run)
            time.sleep(seconds)
            process.kill()
            pushing.kill()
            pushing.communicate()
    with hub(shared, port):
        done = adjudge("push", "large", url, "--store", run)
        assert done.code == 0, done.err
    assert adjudge("doctor", "--store", shared).code == 0
    assert exported(shared, "large") == exported(run, "large")


@pytest.mark.slow
def test_fifty_people_label_while_ten_jobs_push(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is turned away, and the store has what was confirmed and no more; `bench/hub.py` measures how
    long a page takes meanwhile."""
    shared = judged(tmp_path / "hub", "one", 4, "hub.db")
    runs = {f"job{k}": judged(tmp_path / f"job{k}", f"job{k}", 3) for k in range(10)}
    hub_port, label_port = free_port(), free_port()
    people = [f"rater{k}" for k in range(50)]
    raters = [word for name in people for word in ("--rater", name)]
    annotate = started(
        "annotate", "one", "--share", "--host", HOST, "--port", str(label_port), *raters, "--no-browser",
        "--store", shared, PYTHONUNBUFFERED="1",
    )  # fmt: skip
    pushed: dict[str, Outcome] = {}
    confirmed: set[tuple[str, str]] = set()
    failures: list[str] = []
    try:
        assert annotate.stdout is not None
        links = {}
        for line in annotate.stdout:
            name, _, link = line.strip().partition("  ")
            if line.startswith("Press"):
                break
            links[name] = link
        with hub(shared, hub_port, "--member", "ci", "--member", "other") as (_, given):
            monkeypatch.setenv("ADJUDGE_HUB_TOKEN", given["ci"])

            def label(name: str) -> None:
                try:
                    rater = Patient(links[name])
                    while (key := rater.label_one(3)) is not None:
                        confirmed.add((name, key))
                except Exception as fault:  # noqa: BLE001 - any at all, of which a thread would say nothing
                    failures.append(f"{name}: {fault!r}")

            def job(name: str) -> None:
                words = ["push", name, f"http://{HOST}:{hub_port}", "--store", runs[name]]
                process = started(*words)
                out, err = process.communicate()
                pushed[name] = Outcome(process.returncode, out, err)

            threads = [threading.Thread(target=label, args=(name,)) for name in people]
            threads += [threading.Thread(target=job, args=(name,)) for name in runs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        annotate.kill()
        annotate.communicate()
    assert failures == []
    assert [done.err for done in pushed.values() if done.code] == []
    known = {row["run"] for row in adjudge("runs", "--store", shared, "--json").json}
    assert known == {"one", *runs}
    assert len(adjudge("export", "one", "--store", shared).rows) == N
    with open_store(shared, write=False) as store:
        run = store.run("one")
        kept = {(label.rater, sheet_key(run.identity, label.item)) for label in store.labels(run)}
    assert kept == confirmed
    assert len(kept) == 50 * N
