"""`adjudge view` as a process: where it listens, what it prints, how it ends, and what it leaves behind."""

from __future__ import annotations

import contextlib
import http.client
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from adjudge.store import open_store
from clock import until
from running import DIRECT, EXAMPLES, adjudge, answers, ended, started


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("server") / "a.db"
    replies = f"replay:{EXAMPLES / 'answers.replies.jsonl'}"
    done = adjudge(
        "run", EXAMPLES / "answers.jsonl", *DIRECT, "-m", replies, "--run", "tact", "--store", path
    )
    assert done.code == 0
    return path


@contextmanager
def viewing(*arguments: str | Path, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and the address that it printed."""
    process = started("view", "--no-browser", *arguments, **environment)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


class Page(NamedTuple):
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    text: str


def fetched(url: str, **headers: str) -> Page:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=20)
    with closing(connection):
        connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
        answer = connection.getresponse()
        return Page(answer.status, answer.headers, answer.read().decode())


def opened(url: str) -> tuple[str, str]:
    """What a browser has after opening the address: the cookie, and the page that it was sent to."""
    first = fetched(url)
    assert first.status == 303
    cookie = (first.headers["set-cookie"] or "").partition(";")[0]
    location = first.headers["location"] or ""
    assert "token" not in location
    page = fetched(f"http://127.0.0.1:{urlsplit(url).port}{location}", cookie=cookie)
    assert page.status == 200
    return cookie, page.text


@pytest.mark.slow
def test_the_address_that_is_printed_opens_the_run_and_ctrl_c_ends_quietly(store: Path) -> None:
    with viewing("tact", "--store", store) as (process, url):
        assert url.startswith("http://127.0.0.1:")
        _, page = opened(url)
        assert "tact" in page
        process.send_signal(signal.SIGINT)
        left = ended(process, 20)
    assert left.code == 0
    assert left.err == ""
    assert "Traceback" not in left.out


@pytest.mark.slow
def test_it_listens_on_the_loopback_address_alone(store: Path) -> None:
    with viewing("--store", store) as (_, url):
        port = urlsplit(url).port
        opened(url)
        others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)}
        for address in others - {"127.0.0.1"}:
            if address.startswith("127."):
                continue
            with pytest.raises(OSError, match=r"."):
                socket.create_connection((str(address), port or 0), timeout=2).close()
        table = Path("/proc/net/tcp")
        if table.exists():
            held = [line.split()[1] for line in table.read_text().splitlines()[1:] if line.split()[3] == "0A"]
            assert [local for local in held if local.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]


def test_a_wrong_name_of_the_host_is_refused_over_the_wire(store: Path) -> None:
    with viewing("--store", store) as (_, url):
        refused = fetched(url, Host=f"evil.example:{urlsplit(url).port}")
        assert refused.status == 403
        assert refused.headers["server"] is None


@pytest.mark.slow
def test_the_server_writes_no_files_of_its_own(store: Path, tmp_path: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        with viewing("--store", store, TMPDIR=str(tmp_path)) as (process, url):
            cookie, _ = opened(url)
            assert list(tmp_path.iterdir()) == []
            page = fetched(f"http://127.0.0.1:{urlsplit(url).port}/items?run=tact", cookie=cookie)
            assert page.status == 200
            assert list(tmp_path.iterdir()) == []
            process.send_signal(number)
            assert ended(process, 20).code == (0 if number == signal.SIGINT else 143)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_two_servers_at_once_do_not_take_each_others_cookies(store: Path) -> None:
    with viewing("--store", store) as (_, first), viewing("--store", store) as (_, two):
        cookie, _ = opened(first)
        assert fetched(f"http://127.0.0.1:{urlsplit(two).port}/", cookie=cookie).status == 401


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(("--store", "none.db"), "none.db"), (("nobody", "--store", "STORE"), "'nobody'"),
     (("--port", "TAKEN", "--store", "STORE"), "--port")],
)  # fmt: skip
def test_a_mistake_is_a_message_and_exit_2(store: Path, arguments: tuple[str, ...], named: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        values = {"STORE": str(store), "TAKEN": str(taken.getsockname()[1])}
        done = adjudge("view", "--no-browser", *(values.get(argument, argument) for argument in arguments))
    assert done.code == 2
    assert named in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_a_run_in_another_process_is_followed(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 40)
    script = tmp_path / "script.jsonl"
    script.write_text('{"text": "[RESULT] 4"}\n' * 40)
    path = tmp_path / "a.db"
    open_store(path).close()
    with viewing("--store", path) as (_, url):
        cookie, page = opened(url)
        assert "adjudge run" in page
        base = f"http://127.0.0.1:{urlsplit(url).port}"
        done = ended(
            started("run", items, *DIRECT, "-m", f"fake:script={script}", "--run", "new", "--store", path), 60
        )
        assert done.code == 0, done.err
        until(lambda: "of 40<" in fetched(f"{base}/live/items?run=new", cookie=cookie).text, "all 40 items")
        assert "new" in fetched(f"{base}/", cookie=cookie).text


def test_help_imports_no_server() -> None:
    code = (
        "import sys; sys.argv = ['adjudge', 'view', '--help']\nfrom adjudge.cli import main\ntry: "
        "main()\nexcept SystemExit: pass\nprint([m for m in sys.modules if m in ('starlette', 'uvicorn', "
        "'jinja2')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")


def a_browser(folder: Path) -> Path:
    """A program that writes down how it was called, in place of a browser."""
    script = folder / "browser"
    script.write_text(
        f'#!/bin/sh\nprintf %s "$*" > {folder}/called.part && mv {folder}/called.part {folder}/called\n'
    )
    script.chmod(0o700)
    return script


@pytest.mark.slow
def test_the_browser_is_handed_the_token_by_a_file_of_the_users_alone(store: Path, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    environment = {"BROWSER": str(a_browser(tmp_path)), "TMPDIR": str(private)}
    process = started("view", "--store", store, PYTHONUNBUFFERED="1", **environment)
    try:
        assert process.stdout is not None
        printed = process.stdout.readline().strip()
        until(lambda: (tmp_path / "called").exists())
        command = (tmp_path / "called").read_text()
        assert command.startswith("file://")
        assert "token" not in command
        (folder,) = private.iterdir()
        (file,) = folder.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert file.stat().st_mode & 0o777 == 0o600
        handed = re.search(r'href="([^"]+)"', file.read_text())
        assert handed is not None
        assert handed[1] != printed
        for url in (handed[1], printed):  # either opens the pages once
            opened(url)
            assert fetched(url).status == 401
        process.send_signal(signal.SIGINT)
        assert ended(process, 20).code == 0
        assert list(private.iterdir()) == []
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


N_STRANGERS = 640
"""More than a server keeps."""


@pytest.mark.slow
def test_idle_connections_of_others_do_not_keep_the_user_out(store: Path) -> None:
    with viewing("--store", store) as (_, url), contextlib.ExitStack() as held:
        port = urlsplit(url).port or 0
        cookie, _ = opened(url)
        own = held.enter_context(closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)))

        def ask_again() -> int:
            own.request("GET", "/", headers={"cookie": cookie})
            answer = own.getresponse()
            answer.read()
            return answer.status

        assert ask_again() == 200
        kept = own.sock
        strangers = [
            held.enter_context(closing(socket.create_connection(("127.0.0.1", port))))
            for _ in range(N_STRANGERS)
        ]
        for number, stranger in enumerate(strangers):
            if number % 2:
                with contextlib.suppress(OSError):  # dropped already
                    stranger.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")  # half a request
        assert ask_again() == 200
        assert own.sock is kept  # the connection with a session was not dropped for theirs
        assert fetched(f"http://127.0.0.1:{port}/", cookie=cookie).status == 200
        dropped = sum(is_closed(stranger) for stranger in strangers)
        assert dropped >= N_STRANGERS - 512


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0.01)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True
