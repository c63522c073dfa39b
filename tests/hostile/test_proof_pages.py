"""Any query string and any posted body: a page, a redirect or a refusal, never a fault of the server.

`ADJUDGE_QUERIES` is the number of tries; a failing one is named by its address.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from urllib.parse import quote, quote_plus

import pytest
from mutations import WEIRD_VALUES
from test_proof_fuzz import make_corpus

from adjudge.web.labelling.session import open_session
from webclient import Browser

TRIES = int(os.environ.get("ADJUDGE_QUERIES", "600"))
SEED = int(os.environ.get("ADJUDGE_FUZZ_SEED", "7"))
PATHS = (
    "/",
    "/run",
    "/items",
    "/item",
    "/compare",
    "/live/runs",
    "/live/run",
    "/live/items",
    "/live/compare",
    "/api/runs",
    "/nothing",
)
NAMES = (
    "run", "run", "run", "with", "n", "row", "q", "low", "high", "least", "apart", "sort", "page", "part",
    "version", "system", "status", "flag",
    "criterion", "model", "protocol", "group", "rater", "item", "question", "choice", "how", "labels",
    "token", "x",
)  # fmt: skip
VALUES = (
    "tact", "again", "pairs", "last", "0", "1", "23", "24", "-1", "99999999999999999999", "1e400", "nan",
    "inf", "-inf", "1.5", "a", "b", "ok", "tact@", "%",
    "%00", "%ff", "%ed%a0%80", "%F0%9F%92%A9", "'", '"', "' OR 1=1 --", "*", "a* NEAR b", '"a', "AND", "(",
    "[", "{{x}}", "../..", "<script>", "\\", ";", "&&", "=", "é",
)  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    make_corpus(folder)
    return folder / "store.db"


def queries(random: Random, paths: tuple[str, ...]) -> Iterator[str]:
    while True:
        pairs = []
        for _ in range(random.choice((0, 1, 2, 3, 4, 8))):
            value = random.choice(VALUES)
            if random.random() < 0.3:
                value = quote_plus(str(random.choice(WEIRD_VALUES))[:2000].encode("utf-8", "replace"))
            elif "%" not in value and random.random() < 0.8:
                value = quote(value)
            pairs.append(f"{random.choice(NAMES)}={value}" if random.random() < 0.95 else value)
        text = "&".join(pairs).encode("ascii", "ignore").decode()
        yield f"{random.choice(paths)}?{text}".replace("#", "%23").replace("\n", "%0a")


@pytest.mark.slow
def test_no_query_string_makes_the_viewer_fail(store: Path) -> None:
    browser = Browser(store)
    asked = queries(Random(SEED), PATHS)
    statuses: dict[int, int] = {}
    for _ in range(TRIES):
        url = next(asked)
        status = browser.get(url).status
        statuses[status] = statuses.get(status, 0) + 1
        assert status < 500, url
    assert statuses[200] > TRIES // 10


def test_no_query_string_or_body_makes_the_labelling_page_fail(store: Path) -> None:
    random = Random(SEED)
    paths = (
        "/",
        "/annotate",
        "/annotate/start",
        "/annotate/label",
        "/annotate/undo",
        "/annotate/skip",
        "/annotate/comment",
    )
    with open_session(store, "tact", 10, 0, []) as session:
        browser = Browser(store, session=session)
        asked = queries(random, paths)
        for _ in range(TRIES // 3):
            url = next(asked)
            assert browser.get(url).status < 500, url
            body = {
                name: random.choice((*WEIRD_VALUES[:10], *WEIRD_VALUES[11:], "i1", "tact", "ann", 3, 4.0))
                for name in ("rater", "item", "question", "value")
                if random.random() < 0.8
            }
            assert browser.post(random.choice(paths), body).status < 500, body
