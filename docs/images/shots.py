"""Makes the screenshots docs/images/{report,run,trust-map,matrix,viewer,item,annotate}*.png: the pages as
they look today.

The sixty responses of `src/adjudge/demo`, scored by a judge that is invented here and labelled by two raters
who are invented too: the pictures show the pages, not a finding. Needs playwright and a Chromium. Run from
the root of the repository: python docs/images/shots.py
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page, sync_playwright

import adjudge
from adjudge.records import Label
from adjudge.store import open_store
from adjudge.web.labelling.session import open_session
from adjudge.web.report_file import write_report

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
DEMO = HERE.parents[1] / "src" / "adjudge" / "demo"
CHROMIUM = os.environ.get("ADJUDGE_CHROMIUM") or shutil.which("chromium")
RUBRIC = """
name = "readability"
criterion = "How easily does somebody who does not know the source follow the summary?"

[levels]
1 = "Nearly every sentence has to be guessed at."
2 = "Several sentences do not follow from each other."
3 = "It can be followed, with an effort in one or two places."
4 = "Clear throughout; one transition is abrupt."
5 = "Every sentence is well formed and leads to the next."
"""
WORTH = {"faithful": 5, "altered-fact": 4, "omission": 4, "shuffled": 3, "broken-grammar": 1, "off-topic": 5}
REASONS = {
    1: "Articles and verbs are missing throughout, so a reader has to guess at what most sentences mean.",
    2: "The sentences are sound one by one, but the second and the third do not follow from the first.",
    3: "It can be followed, but it opens with a detail whose subject is named only two sentences later.",
    4: "Clear throughout, although the step to the last sentence is abrupt.",
    5: "Each sentence is well formed and prepares the next; nothing has to be read twice.",
}


def chance(*words: object) -> float:
    """A number from 0 to 1 that is the same at every run."""
    digest = hashlib.blake2s("\n".join(map(str, words)).encode(), digest_size=4).digest()
    return int.from_bytes(digest) / 2**32


def near(value: int, spread: float, *words: object) -> int:
    drawn = chance(*words)
    return min(5, max(1, value + (drawn > 1 - spread) - (drawn < spread)))


def judged(folder: Path) -> Path:
    """A store with one run, labels by two people of most of its items, and by a third who has just begun."""
    faults = [json.loads(line) for line in (DEMO / "items.jsonl").open(encoding="utf-8")]
    items = [
        {
            "id": one["id"], "group": one["group"], "system": one["system"],
            "instruction": f"Summarise this text in three sentences.\n\n{one['source_text']}",
            "response": one["generated_response"],
        }
        for one in faults
    ]  # fmt: skip
    with (folder / "large-judge.jsonl").open("w", encoding="utf-8") as file:
        for item in items:
            score = near(WORTH[item["system"]], 0.22, "judge", item["id"])
            text = f"Feedback: {REASONS[score]} [RESULT] {score}"
            if chance("silent", item["id"]) < (0.4 if item["system"] == "off-topic" else 0.03):
                text = "Feedback: This is about something else than the text; I cannot score it."
            file.write(json.dumps({"item": item["id"], "text": text}) + "\n")
    (folder / "readability.toml").write_text(RUBRIC, encoding="utf-8")
    with contextlib.chdir(folder):
        run = adjudge.run(
            items, "prometheus/direct", "replay:large-judge.jsonl", rubric="readability.toml", run="summaries"
        )
    store = folder / run.store
    with open_store(store) as opened:
        given = [
            Label(
                item["id"], "readability", rater, float(near(WORTH[item["system"]], 0.2, rater, item["id"])),
                origin="annotate",
            )
            for item in items
            for rater in ("ann", "ben")
            if chance("drawn", item["id"]) < 0.7
        ]  # fmt: skip
        opened.put_labels(given, opened.run(run.name))
    with open_session(store, run.name) as session:
        for sheet in session.sheets[:18]:
            session.give("Kim", sheet.key, 0, near(WORTH[sheet.item.system], 0.2, "Kim", sheet.item.id))
    return store


@contextlib.contextmanager
def serving(*arguments: str | Path) -> Iterator[str]:
    code = "from adjudge.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", code, *map(str, arguments), "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def shot(page: Page, name: str) -> None:
    page.screenshot(path=HERE / f"{name}.png", animations="disabled")


def take(open_page: Callable[..., Page], store: Path, folder: Path) -> None:
    """All pictures, each page once, two of them in the dark as well."""
    with open_store(store, write=False) as opened:
        write_report(opened, opened.run("summaries"), folder / "report.html", None)
    shot(open_page((folder / "report.html").as_uri()), "report")
    with serving("view", "--store", store) as url:
        home = f"http://{urlsplit(url).netloc}"
        for theme, suffix in (("light", ""), ("dark", "-dark")):
            page = open_page(url, theme)
            page.goto(f"{home}/items?run=summaries&sort=-people")
            page.wait_for_selector("table[data-rows] tbody tr")
            shot(page, f"viewer{suffix}")
        page = open_page(url)
        page.goto(f"{home}/run?run=summaries")
        page.wait_for_selector(".answer")
        shot(page, "run")
        page.locator(".pictures").first.screenshot(path=HERE / "trust-map.png", animations="disabled")
        page.goto(f"{home}/matrix?run=summaries&sort=apart")
        page.click("a[data-pane]")
        page.wait_for_selector("#pane #results-head")
        shot(page, "matrix")
        page.goto(f"{home}/item?run=summaries&n=3")
        shot(page, "item")
    with serving("annotate", "summaries", "--rater", "Kim", "--store", store) as url:
        shot(open_page(url), "annotate")


def main() -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        store = judged(folder)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])

        cookies: dict[str, Any] = {}

        def open_page(url: str, theme: Any = "light") -> Page:
            profile = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=theme)
            # An address works once; later pages of the same server borrow the cookie of the first.
            profile.add_cookies(cookies.get(urlsplit(url).netloc, []))
            page = profile.new_page()
            page.goto(url)
            cookies[urlsplit(url).netloc] = profile.cookies()
            return page

        with contextlib.chdir(
            folder
        ):  # the pages show the store by its name, without a folder of this machine
            take(open_page, Path(store.name), folder)
        browser.close()


if __name__ == "__main__":
    main()
