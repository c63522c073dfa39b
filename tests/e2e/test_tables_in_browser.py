"""The tables of a run in a real browser: no row is empty space, no number stands over another, nothing is cut
off, at every width and in print.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from running import adjudge, write_rows

pytestmark = pytest.mark.browser

SYSTEMS = [f"M{number}" for number in range(8, 20)]
RUBRIC = Path(__file__).parents[2] / "examples" / "tact.toml"
MOST_TALL = 64
"""pixels of a row with one line: a name may take two"""

FAULTS = """([widest, tallest]) => {
  const found = [];
  for (const fold of document.querySelectorAll('details.drawer')) fold.open = true;
  for (const table of document.querySelectorAll('.table.drawn, .heat.dense')) {
    const box = table.parentElement;
    if (box.scrollWidth > box.clientWidth + 1) found.push(`cut off: ${table.className} ${box.scrollWidth}`);
    for (const row of table.querySelectorAll('tbody tr')) {
      const isWide = getComputedStyle(row).display === 'table-row';
      if (isWide && row.offsetHeight > tallest) found.push(`tall row: ${row.offsetHeight} ${row.innerText}`);
      const cells = [...row.children].filter((one) => one.innerText.trim() && !one.querySelector('svg'));
      for (const cell of isWide ? cells : []) {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const text = range.getBoundingClientRect(), own = cell.getBoundingClientRect();
        if (text.right > own.right + 1 || text.left < own.left - 1) found.push(`overlaps: ${cell.innerText}`);
      }
    }
  }
  return [document.querySelectorAll('.table.drawn').length, found];
}"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of twelve systems, and scores of them of which some failed."""
    folder = tmp_path_factory.mktemp("tables")
    pairs, choices, items, scores = [], [], [], []
    for prompt in range(4):
        for place, name in enumerate(SYSTEMS):
            row = f"{prompt}-{name}"
            items.append({"id": row, "system": name, "group": f"g{prompt}", "task": "t", "response": row})
            failed = (prompt + place) % 5 == 0
            text = "I would rather not." if failed else f"[RESULT] {1 + (prompt * 3 + place) % 5}"
            scores.append({"item": row, "text": text})
        for first, second in combinations(range(len(SYSTEMS)), 2):
            row = f"{prompt}-{first}-{second}"
            pairs.append(
                {
                    "id": row, "group": f"g{prompt}", "task": "t", "response_a": f"a {row}",
                    "response_b": f"b {row}", "system_a": SYSTEMS[first], "system_b": SYSTEMS[second],
                }
            )  # fmt: skip
            better = "A" if (first * 5 + second * 3 + prompt) % 7 < 3 else "B"
            choices += [
                {"item": row, "order": "ab", "text": f"[RESULT] {better}"},
                {"item": row, "order": "ba", "text": f"[RESULT] {'AB'[better == 'A']}"},
            ]
    path = folder / "adjudge.db"
    for name, rows, replies, protocol in (
        ("pairs", pairs, choices, "prometheus/pairwise"), ("scores", items, scores, "prometheus/direct"),
    ):  # fmt: skip
        done = adjudge(
            "run", write_rows(folder / f"{name}.jsonl", rows), "-p", protocol, "-m",
            f"replay:{write_rows(folder / f'{name}.replies.jsonl', replies)}", "--rubric", RUBRIC,
            "--run", name, "--store", path, "--reask", "0", "-q",
        )  # fmt: skip
        assert done.code == 0, done.err
    return path


@pytest.mark.parametrize("run", ["pairs", "scores"])
def test_no_row_is_empty_space_and_nothing_is_cut_off_or_overlaps(
    run: str, store: Path, host: Callable[..., Any], watch: Callable[..., Any]
) -> None:
    with host(store, None, "/") as home:
        watched = watch(home)
        parts = urlsplit(home)
        watched.page.goto(f"{parts.scheme}://{parts.netloc}/run?run={run}")
        watched.page.wait_for_selector(".answer", timeout=30_000)
        for width in (768, 880, 1000, 1200, 1440, 1600):
            watched.page.set_viewport_size({"width": width, "height": 900})
            n_tables, faults = watched.page.evaluate(FAULTS, [width, MOST_TALL])
            assert n_tables
            assert not faults, (width, faults[:5])
        watched.page.set_viewport_size({"width": 700, "height": 900})
        watched.page.emulate_media(media="print")
        n_tables, faults = watched.page.evaluate(FAULTS, [700, MOST_TALL])
        assert n_tables
        assert not faults, ("print", faults[:5])
        watched.check(run)
