"""`adjudge trust` and `adjudge sample` as a user calls them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.data import read_labels
from adjudge.errors import DataError
from running import DIRECT, EXAMPLES, adjudge, write_rows

N = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of forty items by two systems, of which the judge could not be read on four of system `odd`."""
    path = tmp_path_factory.mktemp("trust")
    items = [
        {
            "id": f"i{k}", "group": f"g{k // 2}", "system": "odd" if k % 2 else "even",
            "instruction": "Say a number.", "response": f"=answer {k}",
        }
        for k in range(N)
    ]  # fmt: skip
    replies = [
        {"item": f"i{k}",
        "text": "I would rather not put a number on it." if k % 10 == 1 else f"Well. [RESULT] {score(k)}"}
        for k in range(N)
    ]  # fmt: skip
    write_rows(path / "items.jsonl", items)
    write_rows(path / "replies.jsonl", replies)
    done = adjudge(
        "run", path / "items.jsonl", *DIRECT, "-m", f"replay:{path / 'replies.jsonl'}", "--run", "one",
        "--store", path / "s.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    rows = [
        f"i{k},tact,{rater},{min(5, max(1, score(k) + (k + place) % 3 - 1))}"
        for k in range(N)
        for place, rater in enumerate(("ann", "ben"))
    ]
    (path / "labels.csv").write_text(
        "\n".join(["item,criterion,rater,value", *rows]) + "\n", encoding="utf-8"
    )
    return path


def score(k: int) -> int:
    return (k * 7) % 5 + 1


def trust(folder: Path, *arguments: str | Path) -> Any:
    return adjudge("trust", *arguments, "--full", "--store", folder / "s.db")


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_card_opens_with_three_sentences_and_their_sources(folder: Path) -> None:
    asked = ("one", "--labels", folder / "labels.csv")
    printed, card = trust(folder, *asked).out, trust(folder, *asked, "--json").json
    assert [set(sentence) for sentence in card["summary"]] == [{"text", "source"}] * 3
    shown = " ".join(printed.split())
    places = [shown.index(sentence["text"]) for sentence in card["summary"]]
    assert places == sorted(places)
    assert card["criteria"]["tact"]["item"]["spearman"]["n"] == 36


def test_the_json_has_the_documented_paths(folder: Path) -> None:
    card = trust(folder, "last", "--labels", folder / "labels.csv", "--json", "--seed", "3").json
    tact = card["criteria"]["tact"]
    for level in ("item", "group", "system"):
        for statistic in ("pearson", "spearman", "kendall"):
            assert {"value", "low", "high", "n", "n_failed", "n_undefined", "method", "unit", "seed"} <= set(
                tact[level][statistic]
            )
    assert tact["item"]["spearman"]["n"] == 36
    assert tact["item"]["spearman"]["n_failed"] == 4
    assert tact["item"]["spearman"]["seed"] == 3
    assert set(tact["corrected"]) == {"even", "odd"}
    assert tact["corrected"]["odd"]["judge_only"]["n_failed"] == 4
    assert tact["ceiling"]["value"] is not None
    assert tact["alt_test"]["winning_rate"]["value"] is not None
    assert tact["scale"]["high"] == 5


def test_scores_made_elsewhere_give_the_same_card(folder: Path) -> None:
    rows = adjudge("export", "one", "--store", folder / "s.db").rows
    columns = ("item", "system", "group", "criterion")
    scores = [{**{name: row[name] for name in columns}, "value": row["score"]} for row in rows]
    write_rows(folder / "scores.jsonl", scores)
    card = trust(folder, "one", "--labels", folder / "labels.csv", "--json").json["criteria"]["tact"]
    theirs = adjudge(
        "trust", "--scores", folder / "scores.jsonl", "--labels", folder / "labels.csv", "--json"
    ).json["criteria"]["tact"]
    for level in ("item", "group", "system"):
        assert theirs[level]["spearman"] == card[level]["spearman"]
    assert theirs["corrected"]["odd"]["value"] == pytest.approx(card["corrected"]["odd"]["value"])
    for statistic in ("exact", "kappa", "alpha"):
        assert theirs["item"][statistic] == card["item"][statistic]
    assert theirs["item"]["gwet"]["value"] is None


@pytest.mark.parametrize("width", ["-1", "0", "nan", "inf"])
def test_a_plan_for_no_width_is_refused(folder: Path, width: str) -> None:
    asked = trust(folder, "one", "--labels", folder / "labels.csv", "--plan", width)
    assert asked.code == 2
    assert f"--plan {width}" in asked.err


def test_a_plan_is_made_where_it_is_asked_for(folder: Path) -> None:
    for flags, systems in ((("--plan", "0.8"), {"even", "odd"}), ((), set())):
        card = trust(folder, "one", "--labels", folder / "labels.csv", "--json", *flags).json
        assert set(card["criteria"]["tact"]["plan"]) == systems


def test_what_is_asked_for_stands_on_the_first_screen(folder: Path) -> None:
    """Agreement in parts and a plan, beside the verdict; the whole card is still --full."""
    shown = adjudge(
        "trust", "one", "--labels", folder / "labels.csv", "--store", folder / "s.db", "--by", "system",
        "--plan", "0.8",
    ).out  # fmt: skip
    assert len(shown.splitlines()) <= 30
    assert "Agreement by system" in shown
    assert "Labels needed" in shown
    assert "--full" in shown


def test_agreement_by_the_group_of_the_items(tmp_path: Path) -> None:
    rows = [{"item": k, "group": ("en", "ko")[k % 2], "value": 1 + k % 5} for k in range(40)]
    scores = write_rows(tmp_path / "s.jsonl", rows)
    people = write_rows(tmp_path / "l.jsonl", ({"item": row["item"], "value": row["value"]} for row in rows))
    card = adjudge("trust", "--scores", scores, "--labels", people, "--by", "group", "--json").json
    assert {
        part: card["criteria"]["score"]["by"]["group"][part]["agreement"]["n"] for part in ("en", "ko")
    } == {
        "en": 20,
        "ko": 20,
    }


def test_a_run_is_trusted_from_python_by_the_labels_in_its_store(folder: Path) -> None:
    from adjudge.analysis.trust.trust import trust as trust_run
    from adjudge.data import read_labels
    from adjudge.engine import Progress, Run
    from adjudge.store import open_store

    store = folder / "copy.db"
    store.write_bytes((folder / "s.db").read_bytes())
    run = Run(name="one", store=str(store), status="done", progress=Progress())
    with pytest.raises(DataError, match="one"):
        trust_run(run)
    labels = read_labels(folder / "labels.csv").labels
    with open_store(store) as opened:
        opened.put_labels(labels, opened.run("one"))
    cards = [trust_run(run), trust_run(run, folder / "labels.csv"), trust_run(run, labels)]
    # The command of the next step names where the labels are.
    steps = [card.criteria["tact"].recommendation.next.rpartition(" ")[2] for card in cards]
    assert steps == ["store", str(folder / "labels.csv"), "store"]
    shown = [str(card).replace(f"--labels {step}", "") for card, step in zip(cards, steps, strict=True)]
    assert len(set(shown)) == 1


def test_markdown_has_tables_that_names_cannot_break(folder: Path, tmp_path: Path) -> None:
    write_rows(
        tmp_path / "scores.jsonl",
        [{"item": f"i{k}", "system": "<b>|x", "criterion": "tact", "value": score(k)} for k in range(N)],
    )
    done = adjudge(
        "trust", "--scores", tmp_path / "scores.jsonl", "--labels", folder / "labels.csv", "--markdown"
    )
    assert done.code == 0
    assert "scores.jsonl" in done.out.splitlines()[0]
    assert "<b>" not in done.out
    assert "&lt;b>&#124;x" in done.out


def test_a_name_cannot_act_on_the_terminal(folder: Path, tmp_path: Path) -> None:
    write_rows(
        tmp_path / "scores.jsonl",
        [{"item": f"i{k}", "system": "\x1b[2Jx", "criterion": "tact", "value": score(k)} for k in range(N)],
    )
    done = adjudge("trust", "--scores", tmp_path / "scores.jsonl", "--labels", folder / "labels.csv")
    assert "\x1b[2J" not in done.out
    assert "\\u001b[2Jx" in done.out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "one has no labels"),
        (("--scores", "s.csv", "--labels", "l.csv", "--scale", "5,1"), "--scale 5,1"),
        (("--scores", "s.csv", "--labels", "l.csv", "--label-scale", "1,5"), "--scale LOW,HIGH"),
        (("one", "--scale", "1,5"), "--scores"),
        (("one", "--scores", "s.csv"), "--scores"),
        (("--scores", "s.csv"), "--labels"),
        (("one",), "--labels"),
        (("one", "--labels", "missing.csv"), "missing.csv"),
        (("one", "--resample", "people"), "--resample people"),
    ],
)
def test_a_mistake_is_named_and_exits_with_2(folder: Path, arguments: tuple[str, ...], named: str) -> None:
    done = trust(folder, *arguments)
    assert done.code == 2
    assert named in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("x9,tact,ann,3", "'x9'"),
        ("i1,tackt,ann,3", "Did you mean 'tact'?"),
        ("i1,tact,ann,tie", "choices (a, b, tie)"),
    ],
)
def test_labels_of_which_none_matches_are_an_error(folder: Path, tmp_path: Path, row: str, says: str) -> None:
    (tmp_path / "labels.csv").write_text(f"item,criterion,rater,value\n{row}\n", encoding="utf-8")
    for command in (("trust", "one", "--labels"), ("labels", "add", "one")):
        done = adjudge(*command, tmp_path / "labels.csv", "--store", folder / "s.db")
        assert done.code == 2, command
        assert says in done.err or command[0] == "labels"


def test_a_sample_can_be_filled_in_and_read_back(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "to-label.csv"
    done = adjudge("sample", "one", "-n", "20", "-o", target, "--store", folder / "s.db")
    assert done.code == 0, done.err
    rows = table(target.read_text(encoding="utf-8"))
    assert len({row["item"] for row in rows}) == 20
    assert list(rows[0])[:5] == ["item", "criterion", "rater", "value", "probability"]
    assert {row["value"] for row in rows} == {""}
    assert {float(row["probability"]) for row in rows} == {0.5}
    assert "system" not in rows[0]
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(
            {**row, "value": "" if place == 0 else score(int(row["item"][1:]))}
            for place, row in enumerate(rows)
        )
    card = trust(folder, "one", "--labels", target, "--json").json
    assert card["n_labels_empty"] == 1
    assert card["criteria"]["tact"]["n_labelled"] == 19
    assert card["criteria"]["tact"]["notes"] == []


def test_a_file_of_labels_is_never_overwritten(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "labels.csv"
    target.write_text("precious", encoding="utf-8")
    done = adjudge("sample", "one", "-o", target, "--store", folder / "s.db")
    assert done.code == 2
    assert "labels.csv" in done.err
    assert target.read_text(encoding="utf-8") == "precious"


def test_a_sample_is_reproducible_random_and_shows_no_score(folder: Path) -> None:
    def drawn(*more: str) -> str:
        return adjudge("sample", "one", "-n", "10", *more, "--store", folder / "s.db").out

    assert drawn() == drawn()
    assert drawn() != drawn("--seed", "1")
    rows = table(drawn())
    order = [int(row["item"][1:]) for row in rows]
    assert order != sorted(order)
    assert "RESULT" not in drawn()
    # A response that begins like a formula is shown as text by a spreadsheet.
    assert all(row["response"].startswith("'=answer") for row in rows)


def test_a_sample_by_system_draws_as_many_of_each(folder: Path) -> None:
    rows = table(adjudge("sample", "one", "-n", "10", "--by", "system", "--store", folder / "s.db").out)
    assert sum(int(row["item"][1:]) % 2 for row in rows) == 5
    assert {float(row["probability"]) for row in rows} == {0.25}


def test_more_than_there_is_draws_everything(folder: Path) -> None:
    rows = table(adjudge("sample", "one", "-n", "500", "--store", folder / "s.db").out)
    assert len(rows) == N
    assert {row["probability"] for row in rows} == {"1"}


def test_replies_to_check_show_what_was_read(folder: Path) -> None:
    rows = table(adjudge("sample", "one", "--replies", "-n", "40", "--store", folder / "s.db").out)
    assert len(rows) == N
    assert list(rows[0]) == ["item", "criterion", "reply", "read", "status", "right"]
    for row in rows:
        k = int(row["item"][1:])
        wanted = ("", "unparsed") if k % 10 == 1 else (str(score(k)), "ok")
        assert (row["read"], row["status"], row["right"]) == (*wanted, "")
        assert k % 10 == 1 or row["reply"].endswith(f"[RESULT] {score(k)}")


def test_a_pair_is_drawn_with_its_subjects_and_its_reply_with_the_order_shown(tmp_path: Path) -> None:
    store = tmp_path / "pairs.db"
    replies = f"replay:{EXAMPLES / 'advice.replies.jsonl'}"
    done = adjudge("run", EXAMPLES / "advice.jsonl", "-p", "geval/compare", "-m", replies, "--store", store)
    assert done.code == 0, done.err
    rows = table(adjudge("sample", "last", "-n", "1", "--store", store).out)
    assert {row["subject"] for row in rows if row["criterion"] == "accuracy"} == {"a", "b"}
    assert {row["subject"] for row in rows if row["criterion"] == "overall"} == {"a", "b", ""}
    checked = table(adjudge("sample", "last", "--replies", "-n", "9", "--store", store).out)
    assert {row["order"] for row in checked} == {"ab", "ba"}
    for row in checked:
        # What is read is in the item's frame: response_a of a reply to the order ba is the item's b.
        if row["criterion"] == "accuracy":
            shown = row["subject"] if row["order"] == "ab" else {"a": "b", "b": "a"}[row["subject"]]
            text = row["reply"]
            reply = json.loads(text[text.index("{") : text.rindex("}") + 1])
            said = float(reply["accuracy"][f"response_{shown}"]["score"])
            assert float(row["read"]) == said


def test_replies_checked_by_hand_go_onto_the_card(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "check.csv"
    assert (
        adjudge("sample", "one", "--replies", "-n", "20", "-o", target, "--store", folder / "s.db").code == 0
    )
    rows = table(target.read_text(encoding="utf-8"))
    for right, code in (("maybe", 2), ("", 2), ("yes", 0)):
        with target.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(
                {**row, "right": "no" if right and k < 2 else right} for k, row in enumerate(rows)
            )
        done = trust(folder, "one", "--labels", folder / "labels.csv", "--checked", target, "--json")
        assert done.code == code, done.err
    assert done.json["misread"]["value"] == pytest.approx(0.1)
    assert done.json["misread"]["n"] == 20


def test_a_fake_judge_is_called_one(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "fake.db"
    adjudge("run", folder / "items.jsonl", *DIRECT, "-m", "fake:text=Fine. [RESULT] 4", "--store", store)
    done = adjudge("trust", "last", "--labels", folder / "labels.csv", "--store", store)
    assert "fake:text=Fine. [RESULT] 4" in done.out


@pytest.mark.parametrize("arguments", [("--by", "group"), ("--by", "system", "--replies")])
def test_a_stratum_that_cannot_be_drawn_by_is_reported(folder: Path, arguments: tuple[str, ...]) -> None:
    done = adjudge("sample", "one", *arguments, "--store", folder / "s.db")
    assert done.code == 2
    assert "--by" in done.err


def test_ids_like_formulas_are_harmless_in_a_drawn_file_and_come_back(tmp_path: Path) -> None:
    ids = ["=1+1", "-2", "@x", "'=quoted", "plain"]
    write_rows(tmp_path / "items.jsonl", [{"id": name, "task": "t", "response": name} for name in ids])
    store = ("--store", tmp_path / "s.db")
    command = ("-p", "geval/score", "--criterion", "clear", "-m", "fake:text=<score>4</score>", "-q", *store)
    assert adjudge("run", tmp_path / "items.jsonl", *command).code == 0
    drawn = tmp_path / "drawn.csv"
    assert adjudge("sample", "last", "-n", "5", "-o", drawn, *store).code == 0
    with drawn.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert not [row["item"] for row in rows if row["item"].startswith(("=", "-", "+", "@"))]
    with drawn.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "value": "4"} for row in rows)
    assert {label.item for label in read_labels(drawn).labels} == set(ids)


def test_a_draw_is_continued_without_drawing_an_item_twice(folder: Path, tmp_path: Path) -> None:
    def items(*arguments: str | Path) -> list[str]:
        done = adjudge("sample", "one", *arguments, "--store", folder / "s.db")
        assert done.code == 0, done.err
        return [row["item"] for row in table(done.out)]

    first, more, both = items("-n", "10"), items("-n", "10", "--more", "5"), items("-n", "15")
    assert both == first + more
    file = tmp_path / "first.csv"
    assert adjudge("sample", "one", "-n", "10", "-o", file, "--store", folder / "s.db").code == 0
    text = file.read_text(encoding="utf-8").replace(f"{first[3]},tact,rater,,", f"{first[3]},tact,rater,4,")
    file.write_text(text, encoding="utf-8")
    done = adjudge("sample", "one", "--more", "5", "--labels", file, "--store", folder / "s.db")
    rows = table(done.out)
    assert [row["item"] for row in rows] == both
    assert {row["item"]: row["value"] for row in rows if row["value"]} == {first[3]: "4"}
    assert {row["probability"] for row in rows} == {"0.375"}


def test_uncertain_items_are_drawn_more_often_with_their_probability(tmp_path: Path) -> None:
    items = [{"id": f"i{k}", "instruction": "Say a number.", "response": f"answer {k}"} for k in range(60)]
    replies = [
        {"item": f"i{k}", "sample": sample, "text": f"[RESULT] {(1, 5, 3)[sample] if k % 3 == 0 else 3}"}
        for k in range(60)
        for sample in range(3)
    ]
    file = write_rows(tmp_path / "replies.jsonl", replies)
    command = (
        "run",
        write_rows(tmp_path / "items.jsonl", items),
        *DIRECT,
        "-m",
        f"replay:{file}",
        "--samples",
        "3",
    )
    assert adjudge(*command, "--run", "noisy", "--store", tmp_path / "s.db").code == 0
    done = adjudge("sample", "noisy", "-n", "20", "--where", "uncertain", "--store", tmp_path / "s.db")
    assert done.code == 0, done.err
    rows = table(done.out)
    by_doubt: dict[bool, set[str]] = {True: set(), False: set()}
    for row in rows:
        by_doubt[int(row["item"][1:]) % 3 == 0].add(row["probability"])
    assert len(by_doubt[True]) == len(by_doubt[False]) == 1
    # A third of the items has all the uncertainty: its weight is 0.5 + 0.5 * 3, that of the others 0.5.
    assert float(by_doubt[True].pop()) == pytest.approx(4 * float(by_doubt[False].pop()), rel=1e-4)
    labels = [
        {
            "item": row["item"],
            "criterion": "tact",
            "rater": "ann",
            "value": 3,
            "probability": float(row["probability"]),
        }
        for row in rows
    ]
    labels[0]["value"] = 4
    said = write_rows(tmp_path / "labels.jsonl", labels)
    card = adjudge("trust", "noisy", "--labels", said, "--store", tmp_path / "s.db", "--json").json
    assert any("different probabilities" in note for note in card["criteria"]["tact"]["notes"])
    weights = [1 / row["probability"] for row in labels]
    mean = sum(w * row["value"] for w, row in zip(weights, labels, strict=True)) / sum(weights)
    assert card["criteria"]["tact"]["corrected"]["all"]["labels_only"]["value"] == pytest.approx(mean)


def test_a_judge_that_shows_no_uncertainty_cannot_be_drawn_by_it(tmp_path: Path) -> None:
    items = write_rows(
        tmp_path / "items.jsonl", [{"id": f"i{k}", "instruction": "q", "response": "r"} for k in range(5)]
    )
    done = adjudge(
        "run", items, *DIRECT, "-m", "fake:text=[RESULT] 3", "--run", "sure", "--store", tmp_path / "s.db"
    )
    assert done.code == 0
    done = adjudge("sample", "sure", "--where", "uncertain", "--store", tmp_path / "s.db")
    assert done.code == 2
    assert "--samples N" in done.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--where", "odd"), "--where odd"),
        (("--replies", "--more", "3"), "--replies"),
        (("--labels", "x.csv"), "--more N"),
        (("-n", "40", "--more", "3"), "none to add"),
    ],
)
def test_a_draw_that_makes_no_sense_is_refused(folder: Path, arguments: tuple[str, ...], named: str) -> None:
    done = adjudge("sample", "one", *arguments, "--store", folder / "s.db")
    assert done.code == 2
    assert named in done.err


def test_trust_says_whether_the_labels_suffice(folder: Path) -> None:
    asked = ("one", "--labels", folder / "labels.csv")
    found = trust(folder, *asked, "--stop", "mean>=1.5", "--json").json["stop"]
    assert (found["rule"], found["decision"], found["answer"]) == ("mean>=1.5", "stop", "yes")
    assert set(found["criteria"]["tact"]) == {"odd", "even"}
    assert found["criteria"]["tact"]["odd"]["mean"]["low"] > 1.5
    assert "Stop rule mean>=1.5" in trust(folder, *asked, "--stop", "mean>=1.5").out
    assert trust(folder, *asked, "--json").json["stop"] is None
    for rule in ("mean=4", "mean>=9", "width<=0"):
        done = trust(folder, *asked, "--stop", rule)
        assert done.code == 2
        assert rule in done.err
