"""Real replies of real judges, replayed through a whole run: each one is accounted for, read or failed.

The default suite takes a part of each set; `-m slow` takes them whole. What was read is also held against
the scores that the sets' publishers recorded, which misread a few replies themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from adjudge.store import Judged, open_store
from running import Outcome, adjudge, compare_folder, write_rows

Row = dict[str, Any]
Read = Callable[[str], list[Row]]

SIZES = [
    pytest.param(12, id="part"),
    pytest.param(None, id="whole", marks=pytest.mark.slow),
]


def score_folder(folder: Path, criterion: str, scale: Sequence[float], labels: Sequence[str] = ()) -> Path:
    """A protocol of the test's own for one criterion on the scale of the recorded judge."""
    home = folder / criterion
    home.mkdir()
    low, high = scale
    reader = f'reader = "label"\nlabels = {list(labels)!r}' if labels else 'reader = "free"'
    (home / "protocol.toml").write_text(
        f'''title = "{criterion} of a response"
task = "score"
language = {{ prompt = "en", reply = "en" }}
source = "a test"
inputs = ["response"]

[[criteria]]
name = "{criterion}"
scale = {{ low = {low}, high = {high}, step = 1, best = {high} }}

[answer]
{reader}
'''
    )
    (home / "user.md").write_text(f"Rate the {criterion} of this response.\n\n{{{{response}}}}\n")
    return home


def replay(
    folder: Path, items: Iterable[Row], replies: Mapping[str, Sequence[Row]], *flags: str | Path
) -> tuple[Outcome, list[Judged]]:
    """Run recorded replies, a file for each judge; what the run said, and all its places."""
    path = write_rows(folder / "items.jsonl", items)
    judges: list[str] = []
    for name, rows in replies.items():
        judges += ["-m", f"replay:{write_rows(folder / f'{name}.jsonl', rows)}"]
    store = folder / "adjudge.db"
    run = adjudge("run", path, *judges, *flags, "--store", store, "--json", "-q")
    assert run.code == 0, run.err
    with open_store(store, write=False) as opened:
        return run, list(opened.judgments(opened.run("last")))


def statuses(places: Iterable[Judged]) -> Counter[str]:
    """How often each status came out over all scores and choices; a call without a reply has but one."""
    counts: Counter[str] = Counter()
    for place in places:
        if place.judgment is None:
            assert place.error is not None
            counts["no_reply"] += 1
        elif place.judgment.choice_status is not None:
            counts[place.judgment.choice_status] += 1
        else:
            counts.update(score.status for score in place.judgment.scores)
    return counts


def account(run: Outcome, places: Sequence[Judged], n_replies: int, n_asked: int) -> Counter[str]:
    """Every reply is ok or has failed with a status, in the store, in the report and in the export alike."""
    counts = statuses(places)
    assert counts.total() == n_asked
    assert counts["no_reply"] == n_asked - n_replies, "no reply but for those that were never recorded"
    assert (
        counts["ok"] + sum(n for status, n in counts.items() if status not in ("ok", "no_reply")) == n_replies
    )
    assert run.json["n_samples"] == n_asked
    assert run.json["n_samples_failed"] == n_asked - counts["ok"]
    assert sum(share["n_samples"] for share in run.json["failures_by_system"].values()) == n_asked
    cells = [cell for by_name in run.json["systems"].values() for cell in by_name.values()]
    assert all(sum(cell["failures"].values()) == cell["n_failed"] for cell in cells)
    return counts


def exported(folder: Path) -> list[Row]:
    return adjudge("export", "last", "--store", folder / "adjudge.db").rows


# -- topical_chat: 20 samples for each judgment


@pytest.mark.parametrize("n_items", SIZES)
@pytest.mark.parametrize("variant", ["geval", "rate_explain"])
def test_topical_chat_with_20_samples(
    variant: str, n_items: int | None, real_rows: Read, tmp_path: Path
) -> None:
    items = real_rows("topical_chat.items")[:n_items]
    known = {item["item_id"] for item in items}
    judgments = [
        row
        for row in real_rows("topical_chat.judgments")
        if row["protocol"] == variant and row["item_id"] in known
    ]
    scales = {row["dimension"]: row["scale"] for row in judgments}
    flags: list[str | Path] = ["--samples", "20"]
    for name, scale in scales.items():
        labels = [name.capitalize(), "Rating", "Score"] if variant == "geval" else []
        flags += ["-p", score_folder(tmp_path, name, scale, labels)]
    replies = [
        {"item": row["item_id"], "criterion": row["dimension"], "sample": sample, "text": text}
        for row in judgments
        for sample, text in enumerate(row["responses"])
    ]
    run, places = replay(tmp_path, map(_item, items), {"judge": replies}, *flags)
    totals = account(run, places, len(replies), len(items) * len(scales) * 20)
    assert totals["ok"] > 0.9 * len(replies)
    means = {(row["item_id"], row["dimension"]): _mean(row) for row in judgments}
    rows = exported(tmp_path)
    assert len(rows) == len(items) * len(scales)
    assert {row["samples"] for row in rows} == {20}
    assert sum(row["n_failed"] for row in rows) == len(items) * len(scales) * 20 - totals["ok"]
    compared = [
        abs(row["score"] - means[row["item"], row["criterion"]]) < 1e-9
        for row in rows
        if row["score"] is not None and means.get((row["item"], row["criterion"])) is not None
    ]
    assert sum(compared) > 0.9 * len(compared)


def _item(row: Row) -> Row:
    return {
        "id": row["item_id"],
        "system": row["system"],
        "group": row["group_id"],
        "response": row["output"],
    }


def _mean(row: Row) -> float | None:
    """The mean of the recorded scores that are on the scale."""
    low, high = row["scale"]
    values = [value for value in row["recorded"] if value is not None and low <= value <= high]
    return sum(values) / len(values) if values else None


# -- summeval: two judges


@pytest.mark.parametrize("n_items", SIZES)
def test_summeval_by_a_panel_of_two_judges(n_items: int | None, real_rows: Read, tmp_path: Path) -> None:
    items = real_rows("summeval.items")[: n_items and 4 * n_items]
    known = {item["item_id"] for item in items}
    replies: dict[str, list[Row]] = {}
    scales: dict[str, Sequence[float]] = {}
    for row in real_rows("summeval.judgments"):
        if row["protocol"] == "rts" and row["item_id"] in known:
            scales[row["dimension"]] = row["scale"]
            replies.setdefault(row["judge"], []).append(
                {"item": row["item_id"], "criterion": row["dimension"], "text": row["responses"][0]}
            )
    flags: list[str | Path] = []
    for name, scale in scales.items():
        flags += ["-p", score_folder(tmp_path, name, scale)]
    run, places = replay(tmp_path, map(_item, items), replies, *flags)
    assert set(replies) == {"gpt-3.5-turbo-0301", "gpt-4-0314"}
    n_replies = sum(map(len, replies.values()))
    assert n_replies == len(items) * 4 * 2
    totals = account(run, places, n_replies, n_replies)
    assert totals["ok"] > 0.97 * n_replies
    assert Counter(row["model"] for row in exported(tmp_path)) == {
        f"replay:{tmp_path / name}.jsonl": len(items) * 4 for name in replies
    }


@pytest.mark.slow
def test_summeval_answered_with_letters_where_numbers_were_asked_is_all_failures(
    real_rows: Read, tmp_path: Path
) -> None:
    items = real_rows("summeval.items")
    replies = [
        {"item": row["item_id"], "criterion": row["dimension"], "text": row["responses"][0]}
        for row in real_rows("summeval.judgments")
        if row["protocol"] == "mcq" and row["dimension"] == "fluency"
    ]
    path = write_rows(tmp_path / "items.jsonl", map(_item, items))
    judge = write_rows(tmp_path / "mcq.jsonl", replies)
    run = adjudge(
        "run", path, "-p", score_folder(tmp_path, "fluency", [1, 5]), "-m", f"replay:{judge}", "--json", "-q",
        "--store", tmp_path / "adjudge.db",
    )  # fmt: skip
    assert run.json["n_samples"] == len(replies) == 1200
    assert run.json["n_samples_failed"] > 0.95 * 1200, "a letter is no number"


# -- thoughtwave: the Chinese commentary protocols

CRITERIA = {
    "立论": "thesis",
    "结构": "structure",
    "论证": "reasoning",
    "语言": "language",
    "论据": "evidence",
}


@pytest.mark.parametrize("n_items", SIZES)
def test_thoughtwave_by_the_chinese_protocols(n_items: int | None, real_rows: Read, tmp_path: Path) -> None:
    judgments = [row for row in real_rows("thoughtwave.judgments") if row["dimension"] in CRITERIA]
    systems = {row["item_id"]: row["system"] for row in judgments}
    known = list(systems)[: n_items and 3 * n_items]
    replies = [
        {"item": row["item_id"], "criterion": CRITERIA[row["dimension"]], "text": row["responses"][0]}
        for row in judgments
        if row["item_id"] in set(known)
    ]
    items = (
        {"id": name, "system": systems[name], "instruction": "写一篇短评。", "response": f"短评：{name}"}
        for name in known
    )
    flags = [part for name in CRITERIA.values() for part in ("-p", f"commentary-zh/{name}")]
    run, places = replay(tmp_path, items, {"gpt-4": replies}, *flags)
    totals = account(run, places, len(replies), len(known) * len(CRITERIA))
    assert totals["ok"] > 0.95 * len(replies)
    hows = Counter(row["how"] for row in exported(tmp_path))
    assert hows["anchored"] > 0.1 * len(replies), "a good part does not begin with a digit"


# -- llmbar: pairs in both orders


@pytest.mark.parametrize("n_items", SIZES)
@pytest.mark.parametrize("variant", ["Vanilla", "CoT", "Swap"])
def test_llmbar_in_both_orders(variant: str, n_items: int | None, real_rows: Read, tmp_path: Path) -> None:
    items = real_rows("llmbar.items")[:: 1 if n_items is None else 20]
    known = {item["item_id"] for item in items}
    judgments = [
        row for row in real_rows("llmbar.judgments") if row["protocol"] == variant and row["item_id"] in known
    ]
    replies: dict[str, list[Row]] = {}
    for row in judgments:
        replies.setdefault(row["judge"], []).append(
            {"item": row["item_id"], "order": row["order"], "text": row["responses"][0]}
        )
    pairs = (
        {
            "id": item["item_id"],
            "instruction": item["input"],
            "response_a": item["output_a"],
            "response_b": item["output_b"],
            "system_a": "first",
            "system_b": "second",
        }
        for item in items
    )
    run, places = replay(tmp_path, pairs, replies, "-p", compare_folder(tmp_path))
    assert len(judgments) == len(items) * 2 * 2
    # Failures belong to pairs here, not to one of the two systems.
    counts = statuses(places)
    assert counts.total() == len(judgments)
    assert counts["no_reply"] == 0
    assert run.json["n_samples"] == len(judgments)
    rows = exported(tmp_path)
    assert sum(row["samples"] for row in rows) == len(judgments)
    assert sum(row["n_failed"] for row in rows) == len(judgments) - counts["ok"]
    assert counts["ok"] > 0.95 * len(judgments)
    recorded = {
        (f"replay:{tmp_path / row['judge']}.jsonl", row["item_id"], row["order"]): row["recorded"]
        for row in judgments
    }
    same = [
        place.judgment.choice == recorded[place.about.model, place.item.id, place.about.order]
        for place in places
        if place.item is not None and place.judgment is not None and place.judgment.choice in ("a", "b")
    ]
    assert sum(same) > 0.97 * len(same), "choices come out in the frame of the item"
