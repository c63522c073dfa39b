"""What the tests in a real browser share: Chromium, servers in processes of their own, and a watch over every
page.

Nothing is downloaded: the browser is Debian's, driven by playwright. Where either is missing, the tests are
skipped and say so.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from adjudge.web.labelling.session import Session
from adjudge.web.routes import build_app
from adjudge.web.security import Secrets
from adjudge.web.server import HOST, address
from clock import until
from running import started

CHROMIUM = os.environ.get("ADJUDGE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for all tests of a file; each page gets a profile of its own.

    Not for the whole session: while playwright is on, this thread has a running event loop, and tests of
    other files start loops of their own.
    """
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: `make e2e` installs Debian's")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("playwright is not installed: pip install 'adjudge[e2e]'")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


def axe_script() -> str:
    """The script of axe-core, which a package of the tests brings along; nothing is fetched."""
    try:
        import axe_playwright_python
    except ImportError:
        pytest.skip("axe is not installed: pip install 'adjudge[e2e]'")
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


class Watched:
    """A page, and all that happened on it which must not happen."""

    def __init__(self, page: Any, home: str) -> None:
        self.page = page
        self.home = home
        self.problems: list[str] = []
        page.on("dialog", self._dialog)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"script error: {error}"))
        page.on("request", self._request)
        page.on("popup", lambda opened: self.problems.append(f"opened a window: {opened.url}"))

    def _dialog(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: Any) -> None:
        # What the policy forbids is said here, even where nothing else would show it.
        if message.type == "error":
            self.problems.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        url = urlsplit(request.url)
        if url.scheme != "data" and f"{url.scheme}://{url.netloc}" != self.home:
            self.problems.append(f"request to {request.url}")

    def check_quiet(self, where: str = "") -> None:
        """Nothing ran, and nothing left this machine."""
        ran = self.page.evaluate("[window.canary, document.title === 'owned']")
        assert ran == [None, False], f"a script ran on {where or self.page.url}"
        assert self.problems == [], f"on {where or self.page.url}"

    def open_whole(self, address: str) -> Any:
        """Go to a page and wait until it is whole: one that is being made shows a placeholder first, which
        has none of the faults that a test looks for.
        """
        answers: list[Any] = []

        def is_whole() -> bool:
            answers.append(self.page.goto(address))
            return self.page.locator("[data-live]").count() == 0

        until(is_whole, f"the whole page {address}")
        return answers[-1]

    def wait_for_scripts(self, selector: str) -> None:
        """Wait for a page that a script leads to, and then for its own scripts: an element can be there
        before any key that is pressed on it is heard.
        """
        self.page.wait_for_selector(selector)
        self.page.wait_for_load_state("load")

    def open_by_key(self, key: str) -> None:
        """Press a key that opens another page, and wait until that page and its scripts are ready: an element
        that is there already may be one that no script acts on yet.
        """
        with self.page.expect_navigation(wait_until="load"):
            self.page.keyboard.press(key)

    def axe(self, *rules: str) -> list[str]:
        """What axe finds on the page with everything on it opened:
        rule, how many elements, the first of them and why.
        """
        self.page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(axe_script())
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        if rules:
            options["runOnly"] = list(rules)
        found = self.page.evaluate("(options) => axe.run(document, options)", options)["violations"]
        return [
            f"{one['id']} × {len(one['nodes'])}: {one['nodes'][0]['html'][:200]} "
            f"{one['nodes'][0]['failureSummary']}"
            for one in found
        ]

    def n_too_wide(self) -> int:
        """How many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))

    def check(self, where: str = "") -> None:
        """Nothing ran, nothing left this machine, and the page is no wider than its window."""
        self.check_quiet(where)
        wide = self.n_too_wide()
        assert wide <= 0, f"{where or self.page.url} is {wide} pixels wider than the window"


COOKIES: dict[str, list[Any]] = {}
"""By host and port. A token opens a server in one profile; the others borrow its cookie."""


@pytest.fixture
def watch(chromium: Any) -> Iterator[Callable[..., Watched]]:
    """Opens an address in a profile of its own; whatever it did wrong fails the test at its end."""
    opened: list[tuple[Any, Watched]] = []

    def open_page(
        url: str, *, width: int = 1440, height: int = 900, theme: str = "light", script: bool = True
    ) -> Watched:
        profile = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, java_script_enabled=script
        )
        page = profile.new_page()
        page.set_default_timeout(15_000)
        parts = urlsplit(url)
        watched = Watched(page, f"{parts.scheme}://{parts.netloc}")
        opened.append((profile, watched))
        profile.add_cookies(COOKIES.get(parts.netloc, []))
        page.goto(url)
        COOKIES[parts.netloc] = profile.cookies()
        return watched

    yield open_page
    for profile, watched in opened:
        profile.close()
        assert watched.problems == []


@contextmanager
def serving(*arguments: str | Path) -> Iterator[str]:
    """`adjudge view` or `adjudge annotate` in a process of its own; gives the address that it prints."""
    process: subprocess.Popen[str] = started(*arguments, "--no-browser", PYTHONUNBUFFERED="1")
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        if not url.startswith("http://127.0.0.1:"):
            process.kill()
            raise AssertionError(f"no address but {url!r}: {process.communicate()[1]}")
        yield url
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert "Traceback" not in err, err


@contextmanager
def hosting(store: Path, session: Session | None = None, path: str = "/") -> Iterator[str]:
    """The same application in a thread of this process, for
    tests that are not about the command: it starts at once.
    """
    import uvicorn

    with socket.create_server((HOST, 0)) as listener:
        secrets, port = Secrets(), listener.getsockname()[1]
        app = build_app(store, port=port, secrets=secrets, session=session)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield address(port, path, secrets.token)
        finally:
            server.should_exit = server.force_exit = True
            thread.join(20)


@pytest.fixture(scope="session")
def host() -> Callable[..., Any]:
    return hosting


@pytest.fixture(scope="session")
def serve() -> Callable[..., Any]:
    return serving
