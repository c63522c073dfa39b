"""Proxies and certificates of the environment: a real proxy with credentials, and TLS under a private
authority."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from adjudge.errors import ModelError
from adjudge.models import Network, Parameters, parse_model
from adjudge.models.proxies import is_excluded, proxy_for
from adjudge.records import Call, Message, Reply
from clock import PATIENCE_SECONDS
from fakeproxy import FakeProxy
from fakeserver import FakeServer
from running import DIRECT, adjudge, answers, by_number

CALL = Call("key-1", "item-1", "p@1", ("clarity",), "m", (Message("user", "Judge this."),))
CREDENTIALS = "ann%40work:canary-0123456789-pass"
PLAIN = "ann@work:canary-0123456789-pass"
PASSWORD = "canary-0123456789-pass"


def certificate_in(folder: Path, name: str, *more: str) -> None:
    """A key and a certificate signed by the authority in the folder, or the authority itself."""
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        f"/CN={name}",
    ]
    files = ["-keyout", f"{name}.key", "-out", f"{name}.pem"]
    subprocess.run([*command, *files, *more], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a private authority, ca.pem, and a certificate that it signed for judge.internal and
    localhost."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates")
    folder = tmp_path_factory.mktemp("authority")
    certificate_in(
        folder, "ca", "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=keyCertSign"
    )
    subprocess.run(
        "openssl req -newkey rsa:2048 -nodes -keyout host.key -out host.csr -subj /CN=judge.internal".split(),
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    (folder / "names").write_text("subjectAltName=DNS:judge.internal,DNS:localhost\n", encoding="utf-8")
    subprocess.run(
        "openssl x509 -req -in host.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out "
        "host.pem".split(),
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder


def tls_of(authority: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "host.pem", authority / "host.key")
    return context


def ask(address: str, n: int = 1) -> list[Reply]:
    async def run() -> list[Reply]:
        network = Network(backoff_seconds=0.01)
        model = parse_model(f"{address}/v1#judge", network=network)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return [await model.ask(CALL, Parameters()) for _ in range(n)]
        finally:
            await network.close()

    return asyncio.run(run())


@pytest.mark.parametrize("is_proxy_secure", [False, True], ids=["http proxy", "https proxy"])
def test_an_https_host_is_reached_through_a_tunnel_with_credentials(
    is_proxy_secure: bool, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = tls_of(authority)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority / "ca.pem"))
    with (
        FakeServer(tls=tls) as server,
        FakeProxy(
            {"judge.internal": server.port}, credentials=PLAIN, tls=tls if is_proxy_secure else None
        ) as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", proxy.url(CREDENTIALS))
        replies = ask("https://judge.internal:8443", n=2)
        assert [reply.text for reply in replies] == ["4", "4"]
        assert [(head.method, head.target) for head in proxy.requests] == [
            ("CONNECT", "judge.internal:8443")
        ], "one tunnel serves both calls"
        assert all("proxy-authorization" not in request.headers for request in server.requests)
        assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2


def test_an_http_host_gets_the_request_from_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        FakeServer() as server,
        FakeProxy({"judge.internal": server.port}, credentials=PLAIN) as proxy,
    ):
        monkeypatch.setenv("http_proxy", proxy.url(CREDENTIALS))
        (reply,) = ask("http://judge.internal")
        assert reply.text == "4"
        (head,) = proxy.requests
        assert (head.method, head.target) == ("POST", "http://judge.internal/v1/chat/completions")
        assert "proxy-authorization" not in server.requests[0].headers
        assert server.requests[0].headers["host"] == "judge.internal"


@pytest.mark.parametrize("excluded", ["127.0.0.1", "localhost,127.0.0.0/8", "*"])
def test_a_host_that_no_proxy_names_is_reached_directly(
    excluded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer() as server, FakeProxy({}) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url())
        monkeypatch.setenv("NO_PROXY", excluded)
        assert ask(server.url)[0].text == "4"
        assert (server.n_requests, proxy.n_connections) == (1, 0)


def test_a_loopback_host_goes_through_the_proxy_unless_it_is_excluded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with FakeServer() as server, FakeProxy({}) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url())
        assert ask(server.url)[0].text == "4"
        assert (server.n_requests, proxy.n_connections) == (1, 1)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_wrong_credentials_stop_the_run_and_are_in_no_output_and_no_store(
    scheme: str, tmp_path: Path
) -> None:
    items, store = answers(tmp_path / "items.jsonl", 3), tmp_path / "adjudge.db"
    with FakeProxy({}, credentials="ann:other") as proxy:
        run = adjudge(
            "run", items, *DIRECT, "-m", f"{scheme}://judge.internal/v1#judge", "--store", store,
            HTTPS_PROXY=proxy.url(CREDENTIALS), HTTP_PROXY=proxy.url(CREDENTIALS),
        )  # fmt: skip
        assert run.code == 2
        assert "407" in run.err
        assert f"{scheme.upper()}_PROXY" in run.err
        token = proxy.requests[0].headers["proxy-authorization"].removeprefix("Basic ")
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for secret in (PASSWORD, CREDENTIALS, PLAIN, token):
        assert secret not in run.out + run.err
        assert secret.encode() not in kept


def test_credentials_that_a_proxy_repeats_in_a_page_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeProxy({}, credentials=PLAIN, refuses_with=502) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url(CREDENTIALS))
        (reply,) = ask("http://judge.internal")
        token = proxy.requests[0].headers["proxy-authorization"].removeprefix("Basic ")
    assert reply.error is not None
    assert token not in reply.error.message
    assert "denied" in reply.error.message


@pytest.mark.parametrize("is_proxy_secure", [False, True], ids=["http proxy", "https proxy"])
def test_a_run_through_a_proxy_reads_every_reply(
    is_proxy_secure: bool, tmp_path: Path, authority: Path
) -> None:
    items, store = answers(tmp_path / "items.jsonl", 40), tmp_path / "adjudge.db"
    tls = tls_of(authority)
    with (
        FakeServer(by_number, tls=tls) as server,
        FakeProxy(
            {"judge.internal": server.port}, credentials=PLAIN, tls=tls if is_proxy_secure else None
        ) as proxy,
    ):
        run = adjudge(
            "run", items, *DIRECT, "-m", "https://judge.internal/v1#judge", "--store", store, "--json",
            HTTPS_PROXY=proxy.url(CREDENTIALS), SSL_CERT_FILE=str(authority / "ca.pem"),
        )  # fmt: skip
        assert (run.code, server.n_requests) == (0, 40), run.err
        assert {head.target for head in proxy.requests} == {"judge.internal:443"}
    assert run.json["n_failed"] == 0
    assert PASSWORD.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize(("status", "is_final"), [(403, True), (502, False)])
def test_a_proxy_that_opens_no_tunnel_is_named(
    status: int, is_final: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeProxy({}, refuses_with=status) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url(CREDENTIALS))
        with pytest.raises(ModelError) as stopped:
            ask("https://judge.internal")
        assert proxy.n_connections == (1 if is_final else 3)
    assert f"answered {status}" in str(stopped.value)
    assert "https_proxy" in str(stopped.value)
    assert PASSWORD not in str(stopped.value)


@pytest.mark.parametrize(
    ("value", "word"),
    [("socks5://ann:canary-pass@127.0.0.1:1080", "SOCKS"), ("http://ann:canary-pass@:80", "ALL_PROXY"),
    ("ftp://x", "ALL_PROXY")],
)  # fmt: skip
def test_a_proxy_that_cannot_be_used_is_an_error_and_never_left_out(
    value: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", value)
    with FakeServer() as server, pytest.raises(ModelError) as stopped:
        ask(server.url)
    assert word in str(stopped.value)
    assert "canary" not in str(stopped.value)
    assert server.n_requests == 0


@pytest.mark.parametrize(
    ("environment", "is_secure", "expected"),
    [
        ({}, True, None),
        ({"HTTPS_PROXY": "http://p:1"}, True, ("p", 1, "HTTPS_PROXY")),
        ({"HTTPS_PROXY": "http://p:1"}, False, None),
        ({"HTTP_PROXY": "p:1"}, False, ("p", 1, "HTTP_PROXY")),
        ({"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, False, None),
        ({"http_proxy": "http://p", "REQUEST_METHOD": "GET"}, False, ("p", 80, "http_proxy")),
        ({"https_proxy": "http://a:1", "HTTPS_PROXY": "http://b:1"}, True, ("a", 1, "https_proxy")),
        ({"https_proxy": "", "HTTPS_PROXY": "http://b:1"}, True, None),
        ({"all_proxy": "http://[::1]:3128"}, True, ("::1", 3128, "all_proxy")),
        ({"ALL_PROXY": "https://p"}, False, ("p", 443, "ALL_PROXY")),
        ({"ALL_PROXY": "http://p:1", "no_proxy": "judge.internal"}, True, None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": ""}, True, ("p", 1, "ALL_PROXY")),
    ],
)
def test_the_proxy_is_that_of_the_first_variable_that_is_set(
    environment: dict[str, str], is_secure: bool, expected: tuple[str, int, str] | None
) -> None:
    proxy = proxy_for("judge.internal", 443, is_secure, environment)
    assert (None if proxy is None else (proxy.host, proxy.port, proxy.variable)) == expected


@pytest.mark.parametrize(
    ("host", "listed", "expected"),
    [
        ("judge.internal", "judge.internal", True),
        ("judge.internal", "internal", True),
        ("judge.internal", ".internal", True),
        ("judge.internal", "*.internal", True),
        ("Judge.Internal.", "other, JUDGE.internal", True),
        ("judge.internal", "dge.internal", False),
        ("judge.internal", "judge.internal:8443", True),
        ("judge.internal", "judge.internal:80", False),
        ("judge.internal", "a b judge.internal", True),
        ("judge.internal", "", False),
        ("judge.internal", ".", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2", False),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("::1", "[::1]:8443", True),
        ("::1", "::1", True),
        ("fe80::1", "fe80::/10", True),
    ],
)
def test_no_proxy_names_hosts_domains_addresses_and_networks(host: str, listed: str, expected: bool) -> None:
    assert is_excluded(host, 8443, listed) is expected


# -- certificates


def test_a_certificate_of_an_unknown_authority_names_the_variable(
    authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with FakeServer(tls=tls_of(authority)) as server:
        with pytest.raises(ModelError, match="set SSL_CERT_FILE"):
            ask(f"https://localhost:{server.port}")
        other = authority / "host.pem"  # a certificate, but not that of the authority
        monkeypatch.setenv("SSL_CERT_FILE", str(other))
        with pytest.raises(ModelError) as stopped:
            ask(f"https://localhost:{server.port}")
        assert str(other) in str(stopped.value)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority / "ca.pem"))
        assert ask(f"https://localhost:{server.port}")[0].text == "4"
        with pytest.raises(ModelError, match="host name"):
            ask(f"https://127.0.0.1:{server.port}")
        assert server.n_requests == 1


def test_a_folder_of_certificates_is_used(
    authority: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = subprocess.run(
        ["openssl", "x509", "-hash", "-noout", "-in", "ca.pem"], cwd=authority, check=True,
        capture_output=True, text=True
    )  # fmt: skip
    (tmp_path / f"{hashed.stdout.strip()}.0").write_bytes((authority / "ca.pem").read_bytes())
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    with FakeServer(tls=tls_of(authority)) as server:
        assert ask(f"https://localhost:{server.port}")[0].text == "4"


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_certificates_that_are_not_there_are_an_error_before_anything_is_sent(
    variable: str, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "/no/such/place")
    with FakeServer(tls=tls_of(authority)) as server, pytest.raises(ModelError) as stopped:
        ask(f"https://localhost:{server.port}")
    assert variable in str(stopped.value)
    assert "/no/such/place" in str(stopped.value)
    assert server.n_requests == 0
