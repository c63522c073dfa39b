"""The run in one line: its numbers are those of the summary,
the ranking and the card; terminal and pages show the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.analysis.brief.brief import Brief, brief_of_run, estimates_of
from adjudge.analysis.brief.words import brief_section
from adjudge.analysis.rank.rank import rank_view
from adjudge.analysis.report.report import summarise
from adjudge.analysis.run_view.tabulate import tabulate
from adjudge.analysis.trust.trust import card_of_views
from adjudge.records import Label
from adjudge.store import open_store
from running import DIRECT, EXAMPLES, adjudge, write_rows

SYSTEMS = ("north", "south", "west")


def score(k: int) -> int:
    """North is far ahead; south and west differ by nothing but noise."""
    return 5 if k % 3 == 0 else (k // 3) % 3 + 1


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("brief")
    items = [
        {"id": f"i{k}", "group": f"g{k // 3}", "system": SYSTEMS[k % 3], "instruction": "Say it.",
        "response": f"r{k}"}
        for k in range(90)
    ]  # fmt: skip
    replies = [
        {"item": f"i{k}", "text": "hm" if k % 30 == 1 else f"So. [RESULT] {score(k)}"} for k in range(90)
    ]
    write_rows(folder / "items.jsonl", items)
    write_rows(folder / "replies.jsonl", replies)
    write_rows(folder / "none.jsonl", [{"item": "nobody", "text": "x"}])
    store = folder / "s.db"
    for code, arguments in (
        (0, (folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'replies.jsonl'}", "--run", "scores")),
        (0, (folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'replies.jsonl'}", "--run",
        "unlabelled")),
        (4, (folder / "items.jsonl", *DIRECT, "-m", f"replay:{folder / 'none.jsonl'}", "--run", "failed")),
        (0, (EXAMPLES / "advice.jsonl", "-p", "geval/compare", "-m",
        f"replay:{EXAMPLES / 'advice.replies.jsonl'}", "--run", "pairs")),
    ):  # fmt: skip
        done = adjudge("run", *arguments, "--store", store)
        assert done.code == code, done.err
    with open_store(store) as opened:
        labels = [
            Label(f"i{k}", "tact", rater, min(5, max(1, score(k) - 1 + (k + turn) % 2)))
            for k in range(90)
            for turn, rater in enumerate(("ann", "ben"))
        ]
        opened.put_labels(labels, opened.run("scores"))
    return store


def brief(store: Path, name: str) -> Brief:
    with open_store(store, write=False) as opened:
        view = tabulate(opened, opened.run(name))
        return brief_of_run(opened, view, summarise(view))


@pytest.mark.slow
def test_the_best_system_and_those_tied_with_it_are_those_of_the_ranking(store: Path) -> None:
    with open_store(store, write=False) as opened:
        ranking = rank_view(opened, tabulate(opened, opened.run("scores")))
    (line,) = brief(store, "scores").criteria
    assert (line.best, *line.tied) == tuple(
        standing.system for standing in ranking.systems if standing.places[0] == 1
    )
    assert (line.best, line.tied) == ("north", ())


def test_trust_and_bias_are_those_of_the_card(store: Path) -> None:
    with open_store(store, write=False) as opened:
        card = card_of_views(opened, [tabulate(opened, opened.run("scores"))], None).criteria["tact"]
    (line,) = brief(store, "scores").criteria
    assert card.ceiling is not None
    assert line.agreement is not None
    assert line.people is not None
    assert line.bias is not None
    assert line.agreement.value == card.ceiling.judge.value
    assert line.people.value == card.ceiling.value
    assert line.bias.value == card.bias.value


def test_without_labels_trust_is_not_known_and_leads_to_labelling(store: Path) -> None:
    of_criterion, _ = brief_section(brief(store, "unlabelled")).lines
    assert "trust: not known (label 50 items)" in of_criterion
    assert "bias" not in of_criterion


def test_a_run_that_failed_altogether_is_bad_and_has_no_best_system(store: Path) -> None:
    (of_run,) = brief_section(brief(store, "failed")).lines
    assert of_run.startswith("failed: everything (")


def test_choices_have_the_best_system_of_their_ranking(store: Path) -> None:
    with open_store(store, write=False) as opened:
        view = tabulate(opened, opened.run("pairs"))
        ranking = estimates_of(opened, view, summarise(view)).ranking
    assert ranking is not None
    line = next(one for one in brief(store, "pairs").criteria if one.kind == "choices")
    assert line.best == ranking.systems[0].system


@pytest.mark.slow
def test_terminal_and_pages_show_the_same_numbers(store: Path) -> None:
    from webclient import Browser

    (line,) = brief(store, "scores").criteria
    assert line.agreement is not None
    assert line.agreement.value is not None
    number = f"{line.agreement.value:.2f}"
    printed = adjudge("report", "scores", "--full", "--store", store).out
    assert f"trust: {number}" in printed
    page = Browser(store).get("/run?run=scores").text
    answer = page[page.index('class="answer') : page.index("</section>", page.index('class="answer'))]
    assert all(text in answer for text in (f"Agreement with people {number}", "north"))
