"""How much the first thirty decisions of a review can change."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from adjudge.records import Label
from adjudge.store import open_store
from adjudge.web.review_queues import GOAL
from running import DIRECT, adjudge, answers, write_rows
from webclient import Browser


def test_thirty_decide_it_and_the_page_says_what_they_can_change(tmp_path: Path) -> None:
    n = 40
    items = answers(tmp_path / "items.jsonl", n)
    texts = [{"item": f"i{k}", "text": "[RESULT] 5"} for k in range(1, n + 1)]
    replies = write_rows(tmp_path / "replies.jsonl", texts)
    store = tmp_path / "s.db"
    adjudge("run", items, *DIRECT, "-m", f"replay:{replies}", "--run", "r", "--store", store)
    with open_store(store) as opened:
        # Thirty of them 2 too high, ten of them 1: the thirty largest are the first.
        labels = [Label(f"i{k}", "tact", "ann", 3.0 if k <= GOAL else 4.0) for k in range(1, n + 1)]
        opened.put_labels(labels, opened.run("r"))
    page = unescape(Browser(store).get("/review?run=r").text)
    assert f"{GOAL} decide it: of {n} disagreements the largest come first." in page
    assert "the mean difference from people goes from +1.75 to +0.25" in page
    assert re.search(rf'<progress class="progress" max="{GOAL}" value="0"', page)
    # The response and the reply stand before what the response was made from.
    assert page.index("Reply of the judge") < page.index("What it was made from")
