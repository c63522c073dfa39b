"""Labels without an order: read, counted, compared with people, and refused where an order is needed."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

import adjudge as api
from adjudge.data import EXPORT_HEADER, read_rubric
from adjudge.errors import DataError, ProtocolError
from adjudge.stats import fleiss_kappa
from running import EXAMPLES, Outcome, adjudge
from webclient import Browser

FOLDER = EXAMPLES / "classify"
RUN = (FOLDER / "messages.jsonl", "-p", "classify", "--rubric", FOLDER / "topic.toml")
LABELS = ("refund", "delivery", "account", "other")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("classes") / "a.db"
    done = adjudge(
        "run", *RUN, "-m", f"replay:{FOLDER / 'replies.jsonl'}", "--run", "topics", "--store", store
    )
    assert done.code == 0, done.err
    assert (
        adjudge("run", *RUN, "-m", "fake:text=<label>other</label>", "--run", "fake", "--store", store).code
        == 0
    )
    return store


def card(store: Path, *more: str) -> Outcome:
    return adjudge("trust", "topics", "--labels", FOLDER / "labels.csv", "--store", store, "--full", *more)


def test_a_report_shows_shares_with_intervals_and_no_mean(store: Path) -> None:
    systems = adjudge("report", "topics", "--json", "--store", store).json["systems"]
    cell = systems["chat"]["topic"]
    assert cell["value"] is None
    assert cell["reason"] == "labels have no mean"
    assert cell["distribution"] == {"refund": 2, "delivery": 3, "account": 3, "other": 3}
    assert cell["n"] == 11
    assert cell["failures"] == {"unparsed": 1}
    shares = cell["shares"]
    assert sum(share["value"] for share in shares.values()) == pytest.approx(1)
    assert all(share["low"] < share["value"] < share["high"] for share in shares.values())


def test_an_export_keeps_its_columns_and_has_the_label_as_the_choice(store: Path) -> None:
    rows = adjudge("export", "topics", "--store", store).rows
    assert list(rows[0]) == list(EXPORT_HEADER)
    assert (rows[0]["choice"], rows[0]["score"], rows[0]["normalized"]) == ("refund", None, None)
    assert (rows[-1]["choice"], rows[-1]["status"]) == (None, "unparsed")
    shown = adjudge("runs", "show", "topics", "--item", "m01", "--store", store).out
    assert "topic: refund (strict" in shown


def test_a_judge_card_has_kappa_matrix_precision_and_recall(store: Path) -> None:
    about = card(store, "--json").json["criteria"]["topic"]
    labels: dict[str, list[str]] = {}
    for line in (FOLDER / "labels.csv").read_text().splitlines()[1:]:
        item, _, value = line.split(",")
        labels.setdefault(item, []).append(value)
    agreed = {item: values[0] for item, values in labels.items() if len(set(values)) == 1}
    replies = [json.loads(line) for line in (FOLDER / "replies.jsonl").read_text().splitlines()]
    judged = {
        row["item"]: row["text"].split("<label>")[1].split("<")[0]
        for row in replies
        if "<label>" in row["text"]
    }
    both = [(judged[item], label) for item, label in agreed.items() if item in judged]
    assert about["item"]["exact"]["value"] == pytest.approx(sum(a == b for a, b in both) / len(both))
    first, second = Counter(a for a, _ in both), Counter(b for _, b in both)
    chance = sum(first[name] * second[name] for name in LABELS) / len(both) ** 2
    observed = sum(a == b for a, b in both) / len(both)
    assert about["item"]["kappa"]["value"] == pytest.approx((observed - chance) / (1 - chance))
    for name in LABELS:
        chosen, right = [b for a, b in both if a == name], [a for a, b in both if b == name]
        found = about["classes"][name]
        assert found["precision"]["value"] == pytest.approx(chosen.count(name) / len(chosen))
        assert found["recall"]["value"] == pytest.approx(right.count(name) / len(right))
        assert found["recall"]["low"] < found["recall"]["value"]
    assert about["confusion"]["human"] == list(LABELS)
    assert about["confusion"]["judge"] == [*LABELS, "failed"]
    assert about["confusion"]["n_ratings"] == 40
    assert about["corrected"] == {}
    # Two raters who split are no label, but they count as disagreement of people.
    pairs = [len(set(values)) == 1 for item, values in labels.items() if item in judged]
    assert about["ceiling"]["value"] == pytest.approx(sum(pairs) / len(pairs))


def test_the_card_in_words_speaks_of_items_and_of_no_mean(store: Path) -> None:
    text = card(store).out
    for words in (
        "Cohen kappa",
        "Fleiss kappa of the raters",
        "precision [95 % CI]",
        "Confusion matrix",
        "labelled items",
    ):
        assert words in text
    assert "corrected with human labels" not in text
    assert "labelled pair" not in text


def test_two_judges_of_labels_are_compared(store: Path) -> None:
    out = card(store, "--versus", "fake").out
    assert "agrees significantly better with people" in out


def test_labels_of_a_file_that_are_none_of_the_classes_are_listed_by_line(
    store: Path, tmp_path: Path
) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,value\nm01,refund\nm02,billing\n")
    done = adjudge("trust", "topics", "--labels", path, "--store", store)
    assert done.code == 2
    assert "line 3: value 'billing' is neither a number" in done.err
    assert "one of refund, delivery, account, other" in done.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("gate", "topics", "--min", "topic=1"), "labels without an order, so no end is good"),
        (("rank", "topics"), "nothing to rank by"),
        (
            ("trust", "topics", "--labels", FOLDER / "labels.csv", "--stop", "width<=0.3"),
            "labels without an order have none",
        ),
        (("compare", "topics", "fake"), "4 of 19 items have the same label in both runs, 1 failed"),
        (("audit", *RUN, "-m", "fake:text=x"), "chooses labels without an order"),
    ],
)
def test_what_needs_an_order_says_so(store: Path, command: tuple[str | Path, ...], said: str) -> None:
    done = adjudge(*command, "--store", store)
    assert done.code == 2
    assert said in " ".join(done.err.split())


def test_replies_to_check_by_hand_show_the_label_that_was_read(store: Path) -> None:
    out = adjudge("sample", "topics", "-n", "20", "--replies", "--store", store).out
    assert ",refund,ok," in out


def test_numbers_from_the_labelling_page_are_labels_too(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,value\n" + "".join(f"m{n:02},{(n - 1) // 5}\n" for n in range(1, 20)))
    about = adjudge("trust", "topics", "--labels", path, "--json", "--store", store).json["criteria"]["topic"]
    assert about["confusion"]["human"] == list(LABELS)
    assert about["item"]["exact"]["n"] == 19


def test_samples_vote_and_a_draw_is_no_label(tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text('{"id": "a", "response": "x"}\n{"id": "b", "response": "y"}\n')
    texts = {"a": ("refund", "other", "refund"), "b": ("refund", "other", "?")}
    replies = tmp_path / "replies.jsonl"
    replies.write_text(
        "".join(
            json.dumps({"item": item, "sample": number, "text": f"<label>{label}</label>"}) + "\n"
            for item, labels in texts.items()
            for number, label in enumerate(labels)
        )
    )
    store = tmp_path / "a.db"
    run = (
        "run",
        items,
        *RUN[1:],
        "-m",
        f"replay:{replies}",
        "--samples",
        "3",
        "--run",
        "r",
        "--store",
        store,
    )
    assert adjudge(*run).code == 0
    rows = {row["item"]: row for row in adjudge("export", "r", "--store", store).rows}
    assert (rows["a"]["choice"], rows["a"]["status"]) == ("refund", "ok")
    assert (rows["b"]["choice"], rows["b"]["status"], rows["b"]["n_failed"]) == (None, "conflicting", 1)


def test_labels_in_the_run_file_need_no_rubric_file(tmp_path: Path) -> None:
    judge = {
        "labels": {"question": "It asks something.", "praise": "It thanks or praises."},
        "criterion": "What kind of message is it?",
        "name": "kind",
    }
    run = api.run(
        [{"response": "Thanks!"}],
        judge=[judge],
        model="fake:text=<label>praise</label>",
        store=tmp_path / "a.db",
    )
    assert [(row.criterion, row.label, row.value) for row in run.results()] == [("kind", "praise", 1.0)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('criterion = "?"\n[labels]\na = "x"', "needs 2 to 50 labels"),
        ('criterion = "?"\n[labels]\n"a b" = "x"\n"A-B" = "y"', "read the same"),
        ('criterion = "?"\n[labels]\na = "x"\nb = ""', "'labels b' is empty"),
        ('criterion = "?"\nbest = 1\n[labels]\na = "x"\nb = "y"', "Labels have no levels"),
        ("[labels]\na = 'x'\nb = 'y'", "'criterion' is missing"),
    ],
)
def test_labels_that_cannot_be_told_apart_or_lack_a_description_are_refused(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "topic.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        read_rubric(path)


def test_a_rubric_of_the_other_kind_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"Give it \[labels\]"):
        api.load_protocol("classify", rubric=EXAMPLES / "tact.toml")
    with pytest.raises(ProtocolError, match="Use classify"):
        api.load_protocol("prometheus/direct", rubric=FOLDER / "topic.toml")


def test_the_prompt_lists_each_label_with_its_description() -> None:
    shown = adjudge(
        "protocols", "show", "classify", "--rubric", FOLDER / "topic.toml", "--item", f"{RUN[0]}:1"
    )
    text = shown.out if shown.code == 0 else adjudge("run", *RUN, "-m", "fake:text=x", "--dry-run").out
    assert "- refund: The customer wants money back." in text


def test_pages_of_a_run_with_labels_open(store: Path, tmp_path: Path) -> None:
    browser = Browser(store)
    for url in ("/run?run=topics", "/items?run=topics", "/item?run=topics&n=1"):
        answer = browser.get(url)
        assert answer.status == 200, url
    assert "refund" in browser.get("/items?run=topics").text
    assert "0.00" not in browser.get("/items?run=topics").text
    assert browser.get("/matrix?run=topics").status == 200
    page = tmp_path / "report.html"
    assert (
        adjudge("report", "topics", "--html", page, "--labels", FOLDER / "labels.csv", "--store", store).code
        == 0
    )
    assert "refund" in page.read_text()


# -- Fleiss' kappa


def test_fleiss_kappa_is_that_of_his_example() -> None:
    """The worked example of Fleiss (1971) as it is widely
    reprinted: ten subjects, fourteen raters, kappa 0.210.
    """
    counts = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    ratings = [[category for category, n in enumerate(row) for _ in range(n)] for row in counts]
    estimate = fleiss_kappa(ratings, range(5))
    assert estimate.value == pytest.approx(0.20993, abs=1e-4)
    assert estimate.low is not None
    assert estimate.low < 0.21 < (estimate.high or 0)


def test_fleiss_kappa_of_two_raters_is_scotts_pi() -> None:
    ratings = [["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"], ["c", "a"]]
    everything = [one for row in ratings for one in row]
    observed = sum(a == b for row in ratings for a, b in combinations(row, 2)) / len(ratings)
    chance = sum((everything.count(name) / 10) ** 2 for name in "abc")
    assert fleiss_kappa(ratings, "abc").value == pytest.approx((observed - chance) / (1 - chance))


def test_fleiss_kappa_without_variation_or_pairs_is_undefined() -> None:
    assert fleiss_kappa([["a", "a"], ["a", "a"]], "ab").value is None
    assert fleiss_kappa([["a"], []], "ab").reason == "no item has two ratings"
