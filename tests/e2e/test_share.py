"""A shared server in a real browser: an invitation link,
labels by keyboard alone, a revoked link, and a guest.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adjudge.store import open_store
from running import DIRECT, adjudge, as_id, ended, started, write_rows

pytestmark = pytest.mark.browser

N = 6
HOSTILE = (
    '"><img src=x onerror="window.canary=1">',
    "</script><script>window.canary=1;document.title='owned'</script>",
    "javascript:window.canary=1",
    "\u202egnp.exe\u2066 <svg onload=window.canary=1>",
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    items = [
        {"id": as_id(f"{k} {HOSTILE[k % 4]}"), "system": HOSTILE[k % 4], "instruction": HOSTILE[k % 4],
        "response": f"answer {k} {HOSTILE[k % 4]}"}
        for k in range(N)
    ]  # fmt: skip
    write_rows(tmp_path / "items.jsonl", items)
    write_rows(
        tmp_path / "replies.jsonl", [{"item": item["id"], "text": "Well. [RESULT] 4"} for item in items]
    )
    done = adjudge(
        "run", tmp_path / "items.jsonl", *DIRECT, "-m", f"replay:{tmp_path / 'replies.jsonl'}", "--run",
        "secret-run",
        "--store", tmp_path / "s.db",
    )  # fmt: skip
    assert done.code == 0
    return tmp_path / "s.db"


@contextmanager
def sharing(*arguments: str | Path) -> Iterator[list[str]]:
    """The command in a process of its own; gives the links that it prints."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process: subprocess.Popen[str] = started(
        *arguments,
        "--share",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--no-browser",
        PYTHONUNBUFFERED="1",
    )
    try:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Press"):
                break
        yield re.findall(r"http://\S+/invited#\S+", "".join(lines))
        process.send_signal(signal.SIGINT)
        left = ended(process, 20)
        assert (left.code, left.err) == (0, "")
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def press(page: Any, key: str) -> None:
    page.evaluate("document.querySelector('main').dataset.seen = 'yes'")
    page.keyboard.press(key)
    page.wait_for_selector("main:not([data-seen])")
    page.wait_for_selector("body:not(.is-busy)")


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_an_invited_rater_labels_by_keyboard_and_sees_nothing_else(
    store: Path, watch: Callable[..., Any], width: int, theme: str
) -> None:
    rater = "Ann \"><img src=x onerror='window.canary=1'>"
    with sharing("annotate", "secret-run", "--rater", rater, "--store", store) as (link,):
        watched = watch(link, width=width, theme=theme)
        page = watched.page
        watched.wait_for_scripts("[data-item]")
        assert "#" not in page.url
        assert page.title() == "Label"
        for _ in range(N):
            watched.check()
            press(page, "3")
        assert page.inner_text("h1") == "All items are labelled"
        for word in ("adjudge trust", "CSV", "secret-run"):
            assert word not in page.content(), word
        watched.check()
        page.goto(f"{watched.home}/annotate/labels.csv")
        assert page.inner_text("h1") == "404"
        watched.problems.clear()  # the browser notes the 404
    with open_store(store, write=False) as opened:
        assert [(label.rater, label.value) for label in opened.labels(opened.run("secret-run"))] == [
            (rater, 3.0)
        ] * N


def test_a_link_that_is_revoked_while_the_page_is_open_says_so(
    store: Path, watch: Callable[..., Any]
) -> None:
    with sharing("annotate", "secret-run", "--rater", "ann", "--store", store) as (link,):
        watched = watch(link)
        page = watched.page
        watched.wait_for_scripts("[data-item]")
        press(page, "2")
        with started("annotate", "secret-run", "--revoke", "ann", "--store", store) as process:
            assert process.wait() == 0
        page.keyboard.press("3")
        page.wait_for_selector("#problem:not([hidden])")
        assert "revoked" in page.inner_text("#problem")
        page.goto("about:blank")
        page.goto(link)
        page.wait_for_selector("[role=status]:has-text('not valid')")
        watched.problems.clear()  # the browser notes the refusals
    with open_store(store, write=False) as opened:
        assert len(opened.labels(opened.run("secret-run"))) == 1


def test_a_guest_reads_by_keyboard_and_is_offered_nothing_to_change(
    store: Path, watch: Callable[..., Any]
) -> None:
    with sharing("view", "--guest", "carol", "--store", store) as (link,):
        watched = watch(link)
        page = watched.page
        watched.wait_for_scripts("table.runs")
        page.keyboard.press("j")
        watched.open_by_key("Enter")
        assert page.locator(".tabs").count() == 1
        page.goto(f"{watched.home}/item?run=secret-run&n=0")
        assert page.query_selector("form[data-save]") is None
        assert "invited to read" in page.text_content("main")
        watched.check()
