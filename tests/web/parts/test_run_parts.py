"""What a page chooses to show of a run: the telling items,
the replies behind them, and the parts beside the means.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from adjudge.analysis.rank.rank import rank
from adjudge.analysis.rank.words import rank_sections
from adjudge.analysis.report.summary import Summary
from adjudge.analysis.report.words.scores import score_sections
from adjudge.records import Choice, Label, Result, Scale
from adjudge.sections import Bars, Section, Shade
from adjudge.store import open_store
from adjudge.store.browsing import Spent, calls_of_item
from adjudge.web.notable_items import MOST_ITEMS, notable_items
from adjudge.web.parts.names import judge_name
from adjudge.web.parts.run import RunParts, run_parts
from adjudge.web.report_file import MOST_CALLS, calls_to_show
from adjudge.web.templating import environment
from judged import FIVE, choice, score
from pageparsing import Page
from running import DIRECT, adjudge, answers, write_rows
from views import facts, join, judge_card, summarise

SCALES = {("p@1", "tact"): FIVE}


def result(item: str, value: float | None = None, **fields: Any) -> Result:
    counts = {"n_samples": 1, "n_failed": int(value is None)}
    return score(item, value, **{"criterion": "tact", "system": "s", "how": "strict", **counts, **fields})


def reasons(results: list[Result], **more: object) -> dict[str, tuple[str, ...]]:
    return {notable.item: notable.reasons for notable in notable_items(results, SCALES, **more)}  # type: ignore[arg-type]


def summary_of(results: list[Result], scales: dict[tuple[str, str], Scale | None] | None = None) -> Summary:
    return summarise(results, facts=facts(run="r", scales=scales if scales is not None else dict(SCALES)))


def shown(parts: RunParts) -> Page:
    page = Page(environment().get_template("parts/run.html").render(parts=parts))
    assert page.unbalanced == []
    return page


# -- telling items


def test_the_lowest_scores_tell_and_the_highest_possible_never_does() -> None:
    reasons_by_item = reasons([result(f"i{k}", float(k)) for k in range(1, 6)])
    assert list(reasons_by_item) == ["i1", "i2", "i3"]
    assert "i5" not in reasons([result("i5", 5.0)])


def test_where_less_is_better_the_highest_score_is_the_worst() -> None:
    scales = {("p@1", "tact"): Scale(1, 5, 1, step=1)}
    notable = notable_items([result(f"i{k}", float(k)) for k in range(1, 6)], scales)
    assert notable[0].item == "i5"


def test_a_likelihood_has_a_worst_item_too_and_an_unknown_direction_has_none() -> None:
    rows = [result(f"i{k}", -float(k)) for k in range(5)]
    assert notable_items(rows, {("p@1", "tact"): Scale(None, None, "high")})[0].item == "i4"
    assert notable_items(rows, {("p@1", "tact"): Scale(None, None, "unknown")}) == []


def test_a_refusal_tells_more_than_a_missing_reply() -> None:
    rows = [result(f"i{k}", None, status="no_reply") for k in range(9)]
    rows.append(result("refused", None, status="refused"))
    assert next(iter(reasons(rows))) == "refused"


def test_samples_orders_and_judges_that_disagree_are_listed_with_their_reason() -> None:
    rows = [
        result("samples", 3.0, spread=1.4, n_samples=5),
        result("order", 4.0, flags=("order_conflict",)),
        result("judges", 1.0, model="a"),
        result("judges", 5.0, model="b"),
        result("unsure", 4.0, confidence=0.2),
    ]
    reasons_by_item = reasons(rows)
    for name, data in (("samples", "1.40"), ("order", "tact"), ("judges", "1 and 5"), ("unsure", "0.20")):
        assert any(data in reason for reason in reasons_by_item[name])


def test_the_farthest_from_people_come_first() -> None:
    rows = [result(f"i{k}", 5.0) for k in range(6)]
    labels = [Label(f"i{k}", "tact", "ann", float(k % 5 + 1)) for k in range(6)]
    reasons_by_item = reasons(rows, points=join(rows, labels, SCALES))
    assert len(reasons_by_item["i0"]) == 1
    assert next(iter(reasons_by_item)) == "i0"


def test_no_kind_crowds_out_the_others_and_all_are_few() -> None:
    rows = [result(f"low{k}", 1.0) for k in range(500)] + [result("failed", None)]
    reasons_by_item = reasons(rows)
    assert "failed" in reasons_by_item
    assert len(reasons_by_item) <= MOST_ITEMS


def test_the_same_run_tells_the_same_items_every_time() -> None:
    rows = [result(f"i{k}", float(k % 3 + 1), spread=k % 7 / 10) for k in range(300)]
    assert notable_items(rows, SCALES) == notable_items(rows, SCALES)


# -- replies


def store_of(folder: Path, *flags: str | Path) -> Path:
    store = folder / "adjudge.db"
    run = adjudge("run", answers(folder / "items.jsonl", 3), *DIRECT, *flags, "--store", store, "-q")
    assert run.code == 0, run.err
    return store


def test_what_a_second_question_brought_is_marked_in_the_second_reply(tmp_path: Path) -> None:
    script = write_rows(
        tmp_path / "script.jsonl",
        [
            {"match": "Say a number.", "text": "I find it tactful, and so do my friends."},
            {"text": "[RESULT] 2"},
            {"text": "[RESULT] 2"},
            {"text": "[RESULT] 2"},
        ],
    )
    store = store_of(tmp_path, "-m", f"fake:script={script}")
    adjudge("report", "last", "--html", tmp_path / "report.html", "--store", store)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert set(page.marks()) == {"2"}
    assert "[RESULT] <mark" in page.source


def test_of_many_samples_the_lowest_and_the_highest_are_shown(tmp_path: Path) -> None:
    replies = write_rows(
        tmp_path / "replies.jsonl",
        (
            {"item": f"i{k}", "sample": n, "text": f"[RESULT] {(n * 2) % 5 + 1}"}
            for k in range(1, 4)
            for n in range(10)
        ),
    )
    store = store_of(tmp_path, "-m", f"replay:{replies}", "--samples", "10")
    with open_store(store, write=False) as opened:
        places = calls_of_item(opened, opened.run("last"), 0)
    kept = calls_to_show(places, {"tact"})
    values = [place.judgment.scores[0].value for place in kept if place.judgment is not None]
    assert len(places) == 10
    assert sorted(value or 0 for value in values) == [1, 1, 5, 5]
    assert [place.call_index for place in kept] == sorted(place.call_index for place in kept)


def test_the_same_fault_is_shown_once(tmp_path: Path) -> None:
    replies = write_rows(tmp_path / "replies.jsonl", [{"item": "i1", "sample": 0, "text": "[RESULT] 3"}])
    store = store_of(tmp_path, "-m", f"replay:{replies}", "--samples", "8")
    with open_store(store, write=False) as opened:
        places = calls_of_item(opened, opened.run("last"), 0)
    kept = calls_to_show(places, {"tact"})
    assert sum(place.error is not None for place in places) == 7
    assert sum(place.error is not None for place in kept) == 1
    assert len(kept) == 2 <= MOST_CALLS


# -- parts


def spreads(section: Section) -> list[Bars]:
    return [value for row in section.rows for value in row if isinstance(value, Bars)]


def test_scores_between_levels_are_counted_in_bins_and_none_is_lost() -> None:
    values = [random.Random(k).uniform(1, 5) for k in range(200)]
    summary = summary_of([result(f"i{k}", value) for k, value in enumerate(values)])
    (spread,) = spreads(next(score_sections(summary, {("tact", "s"): values})))
    assert sum(spread.counts) == 200


def test_levels_that_were_never_given_have_a_place_among_the_bars() -> None:
    summary = summary_of([result("i1", 5.0), result("i2", 5.0)])
    (spread,) = spreads(next(score_sections(summary)))
    assert spread.levels == (1, 2, 3, 4, 5)
    assert spread.counts == (0, 0, 0, 0, 2)


def test_several_judges_are_held_against_each_other_and_shown_one_by_one() -> None:
    rows = [
        result(f"i{k}", float((k + shift) % 5 + 1), model=f"openai:{name}")
        for k in range(40)
        for name, shift in (("one", 0), ("two", 0), ("three", k % 2))
    ]
    page = shown(run_parts(summary_of(rows)))
    assert "panel" in page.ids()
    assert "openai:three" in page.text
    assert len(page.having("dot")) == 1 + 3 + 3, "the mean, each judge's mean, and each judge with the others"


def pairs_of(n: int) -> list[Result]:
    names = ("alpha", "beta", "gamma")
    rows = []
    for k in range(n):
        a, b = names[k % 3], names[(k + 1) % 3]
        winner: Choice = "tie" if k % 7 == 0 else "b" if (a, b) == ("gamma", "alpha") else "a"
        rows.append(choice(f"i{k}", winner, a, b, criterion="better", how="strict", n_samples=1))
    return rows


def test_a_ranking_has_every_system_with_its_interval_and_the_matrix_of_all() -> None:
    rows = pairs_of(60)
    ranking = rank(rows)
    summary = summary_of(rows, {("p@1", "better"): None})
    page = shown(run_parts(summary, ranking=ranking))
    assert "ranking" in page.ids()
    assert ranking.systems[0].system == "alpha"
    (matrix,) = [
        section.rows
        for section in rank_sections(ranking)
        if any(isinstance(value, Shade) for row in section.rows for value in row)
    ]
    cells = [row[1:] for row in matrix]
    for i in range(3):
        assert cells[i][i] == "", "no system meets itself"
        for j in range(3):
            here, there = cells[i][j], cells[j][i]
            if isinstance(here, Shade) and isinstance(there, Shade):
                assert here.share + there.share == pytest.approx(1)


def test_scores_alone_make_no_ranking_of_choices() -> None:
    rows = [result(f"i{k}", float(k % 5 + 1), system=f"s{k % 2}", group=f"g{k // 2}") for k in range(40)]
    parts = run_parts(summary_of(rows), ranking=rank(rows, scales={"tact": FIVE}))
    assert not parts.has("ranking")


def test_stated_confidence_is_drawn_against_being_right() -> None:
    rows = [result(f"i{k}", float(k % 5 + 1), confidence=0.95 if k % 4 else 0.55) for k in range(80)]
    labels = [Label(f"i{k}", "tact", "ann", float((k + (k % 4 == 0)) % 5 + 1)) for k in range(80)]
    parts = run_parts(
        summary_of(rows), judge_card(rows, labels, scales=SCALES), points=join(rows, labels, SCALES)
    )
    page = shown(parts)
    assert page.having("curve")


def test_time_and_cost_are_drawn_where_they_are_known_and_left_out_where_not() -> None:
    rows = [result("i1", 4.0)]
    spent = [Spent(k / 10, 50 + k, k / 1e5) for k in range(1, 30)]
    page = shown(run_parts(summary_of(rows), timing=spent))
    assert "timing" in page.ids()
    assert "1.5 s" in page.text
    assert "timing" not in shown(run_parts(summary_of(rows))).ids()


@pytest.mark.parametrize(("status", "css"), [("running", "warn"), ("interrupted", "bad")])
def test_only_a_run_that_has_ended_is_marked_as_stopped(status: str, css: str) -> None:
    known = facts(run="r", status=status, n_planned=1200, scales=dict(SCALES))
    page = shown(run_parts(summarise([result("i1", 3.0)], facts=known)))
    (notice,) = page.having("notice")
    assert css in notice["class"].split()
    assert "1 of 1,200" in page.text


def test_a_summary_of_nothing_has_parts_that_render() -> None:
    page = shown(run_parts(summary_of([])))
    assert page.having("dot") == []


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("replay:/home/x/replies.jsonl", "replay:replies.jsonl"),
        ("replay:C:\\x\\replies.jsonl", "replay:replies.jsonl"),
        ("local:/models/small.gguf", "local:small.gguf"),
        ("openai:gpt-4o", "openai:gpt-4o"),
        ("http://127.0.0.1:80/v1#a/b", "http://127.0.0.1:80/v1#a/b"),
        ("local", "local"),
    ],
)
def test_a_judge_in_a_file_is_named_without_its_folders(spec: str, name: str) -> None:
    assert judge_name(spec) == name
