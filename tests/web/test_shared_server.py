"""`adjudge annotate --share` as a process: raters on other
machines at once, a kill, TLS, and connections that do nothing.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from adjudge.store import open_store
from running import DIRECT, adjudge, ended, started, write_rows

N = 12
HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    items = [
        {"id": f"i{k}", "system": "x", "instruction": "Say a number.", "response": f"answer {k}"}
        for k in range(N)
    ]
    write_rows(folder / "items.jsonl", items)
    write_rows(folder / "replies.jsonl", [{"item": item["id"], "text": "Well. [RESULT] 4"} for item in items])
    done = adjudge(
        "run", folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'replies.jsonl'}", "--run", "one",
        "--store", folder / "s.db",
    )  # fmt: skip
    assert done.code == 0
    return folder / "s.db"


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "s.db"))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody has signed, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-days", "2",
         "-subj", "/CN=localhost", "-addext", f"subjectAltName=IP:{HOST},DNS:localhost",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


def free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def sharing(
    store: Path, port: int, *arguments: str | Path
) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """The command, and the links that it printed by name; the user's own address has the name `you`."""
    process = started(
        "annotate", "one", "--share", "--host", HOST, "--port", str(port), *arguments, "--no-browser",
        "--store", store, PYTHONUNBUFFERED="1",
    )  # fmt: skip
    try:
        assert process.stdout is not None
        links = {"you": process.stdout.readline().strip()}
        for line in process.stdout:
            name, _, link = line.strip().partition("  ")
            if line.startswith("Press"):
                break
            links[name] = link
        yield process, links
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


class Rater:
    """A browser on another machine: a cookie, and what it finds on the pages."""

    patience = 30.0
    """seconds until it gives a request up"""

    def __init__(self, link: str, trusted: Path | None = None, host: str = "") -> None:
        """`host` is the name of the server where the link has its address."""
        parts = urlsplit(link)
        self.host = host
        self.origin = f"{parts.scheme}://{host or parts.netloc}"
        self.port = parts.port or 0
        self.trusted = trusted
        self.cookie = ""
        token = parts.fragment
        status, headers, _ = self.ask("POST", "/invited", {"token": token})
        assert status == 200
        self.cookie = (headers["set-cookie"] or "").partition(";")[0]

    def connect(self) -> http.client.HTTPConnection:
        if self.trusted is None:
            return http.client.HTTPConnection(HOST, self.port, timeout=self.patience)
        context = ssl.create_default_context(cafile=str(self.trusted))
        return http.client.HTTPSConnection(HOST, self.port, timeout=self.patience, context=context)

    def ask(
        self, method: str, url: str, body: object = None, csrf: str = ""
    ) -> tuple[int, http.client.HTTPMessage, str]:
        headers = {"Cookie": self.cookie} if self.cookie else {}
        headers |= {"Host": self.host} if self.host else {}
        if method == "POST":
            headers |= {"Content-Type": "application/json", "Origin": self.origin, "X-Adjudge-CSRF": csrf}
        with closing(self.connect()) as connection:
            connection.request(method, url, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def label_one(self, value: int) -> str | None:
        """Label the next open item; its key, or none where all are done."""
        status, _, page = self.ask("GET", "/annotate/item")
        assert status == 200, page
        key = re.search(r'data-item="([0-9a-f]+)"', page)
        if key is None:
            return None
        csrf = re.search(r'name="csrf" content="([^"]+)"', page)
        assert csrf is not None
        body = {"item": key[1], "question": 0, "value": value}
        status, _, text = self.ask("POST", "/annotate/label", body, csrf[1])
        assert status == 200, text
        return key[1]


class Patient(Rater):
    """Waits on a slow machine: what fails it is a connection that the server refuses or drops."""

    patience = 600.0


def labels(store: Path) -> dict[str, int]:
    """How many labels each rater has, each with the rater's own value."""
    with open_store(store, write=False) as opened:
        found = opened.labels(opened.run("one"))
    values = {"ann": 2.0, "ben": 5.0}
    assert all(label.value == values[label.rater] for label in found)
    return {name: sum(label.rater == name for label in found) for name in values}


@pytest.mark.slow
def test_two_raters_at_once_lose_nothing_though_the_server_is_killed(store: Path) -> None:
    port = free_port()
    given: dict[str, set[str]] = {"ann": set(), "ben": set()}
    with sharing(store, port, "--rater", "ann", "--rater", "ben") as (process, links):
        raters = {name: Rater(links[name]) for name in given}

        def work(name: str, value: int) -> None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                while (key := raters[name].label_one(value)) is not None:
                    given[name].add(key)
                    if len(given["ann"]) + len(given["ben"]) >= N:
                        process.send_signal(signal.SIGKILL)

        threads = [threading.Thread(target=work, args=pair) for pair in (("ann", 2), ("ben", 5))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    kept = labels(store)
    for name, keys in given.items():
        assert len(keys) <= kept[name] <= len(keys) + 1, name  # the last answer may not have arrived
    assert sum(kept.values()) < 2 * N
    with sharing(store, port) as (process, again):
        assert "that link still works" in again["ann"]
        for name, value in (("ann", 2), ("ben", 5)):
            while raters[name].label_one(value) is not None:  # the page was open all the time
                pass
            assert Rater(links[name]).label_one(value) is None  # the link opens again, on another machine
        process.send_signal(signal.SIGINT)
        left = ended(process, 20)
    assert left.code == 0
    assert "Traceback" not in left.err
    assert labels(store) == {"ann": N, "ben": N}


@pytest.mark.slow
def test_people_who_open_their_links_at_the_same_moment_all_get_in(store: Path) -> None:
    people = [f"rater{k}" for k in range(120)]
    flags = [word for name in people for word in ("--rater", name)]
    refused: list[str] = []
    together = threading.Barrier(len(people))
    with sharing(store, free_port(), *flags) as (_, links):

        def enter(name: str) -> None:
            together.wait()
            try:
                Patient(links[name]).label_one(2)
            except Exception as fault:  # noqa: BLE001 - any at all, of which a thread would say nothing
                refused.append(f"{name}: {fault!r}")

        threads = [threading.Thread(target=enter, args=(name,)) for name in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert refused == []
    with open_store(store, write=False) as opened:
        assert len({label.rater for label in opened.labels()}) == len(people)


@pytest.mark.slow
def test_no_secret_is_in_what_others_on_the_machine_or_in_a_log_can_read(store: Path) -> None:
    with sharing(store, free_port(), "--rater", "ann") as (process, links):
        token = urlsplit(links["ann"]).fragment
        Rater(links["ann"])
        command = Path(f"/proc/{process.pid}/cmdline")
        if command.exists():
            assert token.encode() not in command.read_bytes()
        assert urlsplit(links["ann"]).query == ""  # a fragment is sent to no server and in no Referer
        process.send_signal(signal.SIGINT)
        assert ended(process, 20).err == ""


@pytest.mark.slow
def test_the_traffic_is_encrypted_with_the_certificate_that_was_given(
    store: Path, certificate: tuple[Path, Path]
) -> None:
    with sharing(store, free_port(), "--rater", "ann", "--tls", *certificate) as (process, links):
        assert links["ann"].startswith(f"https://{HOST}:")
        assert links["you"].startswith(f"https://{HOST}:")
        assert not any("No TLS" in name for name in links)
        rater = Rater(links["ann"], trusted=certificate[0])
        assert rater.cookie.startswith("__Host-adjudge_")
        assert rater.label_one(2) is not None
        with socket.create_connection((HOST, rater.port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"HTTP" not in plain.recv(1000)
        process.send_signal(signal.SIGINT)
        left = ended(process, 20)
    assert left.code == 0
    assert "Traceback" not in left.err
    assert labels(store)["ann"] == 1


@pytest.mark.parametrize("swapped", [False, True])
def test_a_certificate_that_cannot_be_used_is_a_message(
    store: Path, certificate: tuple[Path, Path], tmp_path: Path, swapped: bool
) -> None:
    other = tmp_path / "other.pem"
    other.write_text("nothing")
    files = (certificate[1], certificate[0]) if swapped else (other, certificate[1])
    done = adjudge("annotate", "one", "--share", "--rater", "ann", "--tls", *files, "--store", store)
    assert done.code == 2
    assert "Give a certificate and its key" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("is_secured", [False, True])
def test_connections_of_strangers_keep_no_rater_out(
    store: Path, certificate: tuple[Path, Path], is_secured: bool
) -> None:
    port = free_port()
    tls = ("--tls", *certificate) if is_secured else ()
    with sharing(store, port, "--rater", "ann", *tls) as (_, links), contextlib.ExitStack() as held:
        rater = Rater(links["ann"], trusted=certificate[0] if is_secured else None)
        strangers = [held.enter_context(closing(socket.create_connection((HOST, port)))) for _ in range(700)]
        half = (
            f"POST /invited HTTP/1.1\r\nHost: {HOST}:{port}\r\nOrigin: {rater.origin}\r\nContent-Type: "
            "application/json\r\nContent-Length: 60\r\n\r\n{"
        )
        for number, stranger in enumerate(strangers):
            if number % 3:
                with contextlib.suppress(OSError):
                    # With TLS: no handshake at all, or one that never goes on.
                    stranger.sendall(b"\x16\x03\x01" if is_secured else half.encode())
        for value in (2, 2, 2):
            assert rater.label_one(value) is not None
        newcomer = Rater(links["ann"], trusted=certificate[0] if is_secured else None)
        assert newcomer.label_one(2) is not None
        assert sum(is_closed(stranger) for stranger in strangers) >= 700 - 512
    assert labels(store)["ann"] == 4


def test_what_one_rater_or_stranger_sends_keeps_nobody_out_and_prints_nothing(store: Path) -> None:
    port = free_port()
    with sharing(store, port, "--rater", "ann", "--rater", "ben") as (process, links):
        ann, ben = Rater(links["ann"]), Rater(links["ben"])
        page = ann.ask("GET", "/annotate/item")[2]
        csrf = re.search(r'name="csrf" content="([^"]+)"', page)
        assert csrf is not None
        head = (
            f"POST /annotate/label HTTP/1.1\r\nHost: {HOST}:{port}\r\nOrigin: {ann.origin}\r\nCookie: "
            f"{ann.cookie}\r\n"
            f"X-Adjudge-CSRF: {csrf[1]}\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n"
        )
        with contextlib.ExitStack() as held:
            sockets = [held.enter_context(closing(socket.create_connection((HOST, port)))) for _ in range(76)]
            for connection in sockets[:70]:  # requests of a rater whose body never comes
                connection.sendall(head.encode())
            sent = [endless(connection) for connection in sockets[70:]]
            assert max(sent) < 64 << 20
            assert ben.label_one(5) is not None
            sockets[0].sendall(b'{"item": "cut')  # and one that is cut off
        for _ in range(30):
            assert ben.ask("GET", "/?token=wrong")[0] in (303, 429)
        stranger = Rater.__new__(Rater)
        stranger.origin, stranger.port, stranger.trusted, stranger.cookie = ann.origin, port, None, ""
        stranger.host = ""
        answers = [stranger.ask("GET", "/?token=wrong")[0] for _ in range(30)]
        assert answers[0] == 401
        assert answers[-1] == 429
        wrong = [stranger.ask("POST", "/invited", {"token": "x" * 43})[0] for _ in range(30)]
        assert wrong[-1] == 429
        assert Rater(links["ben"]).label_one(5) is not None
        own = urlsplit(links["you"].split()[-1])
        assert stranger.ask("GET", f"{own.path}?{own.query}")[0] in (200, 303)
        process.terminate()
        assert process.communicate()[1] == ""


def endless(connection: socket.socket) -> int:
    """Send headers without an end; how many bytes went out before the server closed the connection."""
    n = 0
    connection.settimeout(5)
    with contextlib.suppress(OSError):
        connection.sendall(b"GET / HTTP/1.1\r\n")
        while n < 64 << 20:
            n += connection.send(b"x: " + b"y" * 8000 + b"\r\n")
    return n


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0.01)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.mark.slow
def test_view_is_shared_with_guests(store: Path) -> None:
    port = free_port()
    process = started(
        "view", "--share", "--host", HOST, "--port", str(port), "--guest", "rita", "--no-browser",
        "--store", store,
        PYTHONUNBUFFERED="1",
    )  # fmt: skip
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        assert f"Listening on {HOST}, port {port}" in lines[1]
        guest = Rater(lines[2].split()[1])
        status, _, page = guest.ask("GET", f"/run?{urlencode({'run': 'one'})}")
        assert status == 200
        assert "one" in page
        assert guest.ask("POST", "/annotate/label", {})[0] == 403
    finally:
        process.kill()
        process.communicate()
