"""The readers on real judge replies: how many are right, and how few are wrong without saying so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from adjudge import read_choice, read_score
from adjudge.records import Reading

Rows = Callable[[str], list[dict[str, Any]]]


def read_row(row: dict[str, Any]) -> Reading:
    """A row of the stress corpus, read on its scale or with its options."""
    if row["kind"] == "score":
        return read_score(row["text"], *row["scale"])
    shown = row["scale"]
    if "[[A>B]]" in shown:
        return read_choice(row["text"], ("A", "B"), tie=True)
    return read_choice(row["text"], (shown[0], shown[1]), tie=any("tie" in option for option in shown))


@pytest.mark.parametrize("kind", ["score", "verdict"])
def test_ninety_nine_in_a_hundred_are_right_and_three_in_a_thousand_silently_wrong_at_most(
    real_rows: Rows, kind: str
) -> None:
    rows = [row for row in real_rows("parser_stress.dev") if row["kind"] == kind]
    assert len(rows) > 200
    values = [(row["truth"], read_row(row).value) for row in rows]
    right = sum(truth == value for truth, value in values)
    silent = sum(truth != value and value is not None for truth, value in values)
    assert right >= 0.99 * len(rows)
    assert silent <= 0.003 * len(rows)


def test_every_llmbar_reply_agrees_with_its_recorded_verdict(real_rows: Rows) -> None:
    rows = real_rows("llmbar.judgments")
    assert len(rows) == 5028
    frames = {"ab": {"first": "a", "second": "b"}, "ba": {"first": "b", "second": "a"}}
    wrong = []
    for row in rows:
        reading = read_choice(row["responses"][0], ("Output (a)", "Output (b)"))
        choice = frames[row["order"]][str(reading.value)] if reading.status == "ok" else None
        if choice != row["recorded"]:
            wrong.append(row["judgment_id"])
    assert wrong == []


def test_every_n_out_of_five_in_summeval_reads_as_n(real_rows: Rows) -> None:
    counted = 0
    for row in real_rows("summeval.judgments"):
        for text in row["responses"]:
            said = {float(n) for n in re.findall(r"\b(\d(?:\.\d)?)(?:/| out of )5\b", text)}
            if len(said) == 1:
                counted += 1
                assert {read_score(text, 1, 5).value} == said, text
    assert counted > 50


def test_every_thoughtwave_reply_is_read(real_rows: Rows) -> None:
    replies = [text for row in real_rows("thoughtwave.judgments") for text in row["responses"]]
    assert len(replies) == 1438
    assert [text for text in replies if read_score(text, 0, 10).status != "ok"] == []


def test_feedback_that_gives_no_score_is_hardly_ever_taken_for_one(real_rows: Rows) -> None:
    rows = real_rows("prometheus_absolute.judgments")
    pairs = [
        (text, score) for row in rows for text, score in zip(row["feedback"], row["recorded"], strict=True)
    ]
    wrong = [text for text, score in pairs if read_score(text, 1, 5).value not in (None, score)]
    assert len(wrong) <= 0.003 * len(pairs)
    assert all(read_score(f"Feedback: {text} [RESULT] {score}", 1, 5).value == score for text, score in pairs)


def judged_texts(real_rows: Rows) -> list[str]:
    """Texts that judges are shown, which are no judgments: one
    in five of the longer ones, cut to 1,500 characters.
    """
    names = ("autoj_pairwise", "faireval", "llmbar", "pandalm", "summeval", "topical_chat")
    texts = {
        value[:1500].rstrip()
        for name in names
        for row in real_rows(f"{name}.items")
        for key, value in row.items()
        if isinstance(value, str) and len(value) > 40 and not key.endswith("_id")
    }
    return sorted(texts)[::5]


def test_a_text_that_judges_nothing_is_hardly_ever_read_as_a_judgment(real_rows: Rows) -> None:
    texts = judged_texts(real_rows)
    assert len(texts) > 1000
    scored = [text for text in texts if read_score(text, 1, 5, 1).status == "ok"]
    chosen = [text for text in texts if read_choice(text, ("Response 1", "Response 2"), True).status == "ok"]
    assert len(scored) <= 0.005 * len(texts)
    assert len(chosen) <= 0.002 * len(texts)


AROUND: dict[str, tuple[str, Callable[[str], Reading], float | str]] = {
    "rating": ("{}\n\nRating: [[7]]", lambda text: read_score(text, 1, 10), 7),
    "result": ("Feedback: {} [RESULT] 4", lambda text: read_score(text, 1, 5, 1), 4),
    "score": ("{}\n\nScore: 4", lambda text: read_score(text, 1, 5, 1), 4),
    "rating first": ("Rating: 2\nRationale: {}", lambda text: read_score(text, 1, 3), 2),
    "first line": ("8\n{}", lambda text: read_score(text, 0, 10), 8),
    "arena": ("{}\n\nMy final verdict is: [[A>B]]", lambda text: read_choice(text, tie=True), "first"),
    "bracket": ("{}\n\nFinal verdict: [[B]]", lambda text: read_choice(text, ("[[A]]", "[[B]]")), "second"),
}


@pytest.mark.parametrize("name", AROUND)
def test_a_verdict_is_found_whatever_text_stands_around_it(real_rows: Rows, name: str) -> None:
    form, read, value = AROUND[name]
    texts = judged_texts(real_rows)
    values = [read(form.replace("{}", text)).value for text in texts]
    assert sum(read_value == value for read_value in values) >= 0.99 * len(texts)
    assert [
        text for text, read_value in zip(texts, values, strict=True) if read_value not in (value, None)
    ] == []


FREE_SCORES = {
    "parse-02": "conflicting", "parse-04": 4, "parse-06": "out_of_range", "parse-08": "out_of_range",
    "parse-10": "unparsed",
    "parse-12": "unparsed", "parse-14": "unparsed", "parse-18": "out_of_range", "parse-20": "conflicting",
    "parse-22": 4, "parse-24": 4,
    "parse-26": "refused", "parse-28": "unparsed", "parse-30": "unparsed", "parse-32": "unparsed",
    "parse-34": "out_of_range",
}  # fmt: skip


@pytest.mark.parametrize("name", FREE_SCORES)
def test_an_attack_on_the_reader_is_read_as_it_should_be(attacks: list[dict[str, str]], name: str) -> None:
    payload = next(attack["payload"] for attack in attacks if attack["id"] == name)
    reading = read_score(payload, 1, 5, 1)
    assert (reading.value if reading.status == "ok" else reading.status) == FREE_SCORES[name]


def test_attacks_on_other_scales_and_on_verdicts(attacks: list[dict[str, str]]) -> None:
    payloads = {attack["id"]: attack["payload"] for attack in attacks}
    assert read_score(payloads["parse-16"], 0, 10).value == 8
    assert read_score(payloads["parse-18"], 0, 10).value == 8
    assert read_choice(payloads["parse-28"]).status == "unparsed"
    assert read_choice(payloads["parse-30"], ("baseline", "enhanced")).value == "second"
