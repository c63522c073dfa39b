"""Recorded replies: which row answers which call, what is wrong with a file, and what it costs in memory."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import DataError, ModelError
from adjudge.models import Parameters, ReplayModel, parse_model
from adjudge.records import Call, Message, Reply, TokenLogprob, TopToken

MESSAGES = (Message("user", "Judge this."),)


def call(item: str = "a", *criteria: str, **more: Any) -> Call:
    return Call("k", item, "p@1", criteria or ("clarity",), "m", MESSAGES, **more)


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def replayed(path: Path, *calls: Call, params: Parameters | None = None) -> list[Reply]:
    async def run() -> list[Reply]:
        model = parse_model(f"replay:{path}")
        try:
            return [await model.ask(each, params or Parameters()) for each in calls]
        finally:
            await model.close()

    return asyncio.run(run())


def texts(path: Path, *calls: Call) -> list[str | None]:
    """The text of each reply; none where it is missing."""
    replies = replayed(path, *calls)
    assert all(reply.error is None or reply.error.kind == "missing" for reply in replies)
    return [reply.text if reply.error is None else None for reply in replies]


def test_a_reply_is_found_by_item_criterion_order_and_sample(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.jsonl",
        {"item": "a", "criterion": "clarity", "order": "ba", "sample": 1, "text": "here"},
        {"item": "b", "text": "other"},
    )
    replies = texts(
        path,
        call("a", order="ba", sample=1),
        call("a", order="ba"),
        call("a", sample=1),
        call("a", "depth", order="ba", sample=1),
        call("b"),
        call("c"),
    )
    assert replies == ["here", None, None, None, "other", None]


def test_a_row_without_a_criterion_answers_any_and_one_with_it_goes_first(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.jsonl",
        {"item": "a", "text": "any"},
        {"item": "a", "criterion": "clarity", "text": "own"},
    )
    assert texts(path, call("a", "clarity"), call("a", "depth"), call("a", "depth", "clarity")) == [
        "own",
        "any",
        "own",
    ]


def test_a_row_without_an_order_stands_for_ab_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", {"item": "a", "text": "A is better"})
    assert texts(path, call("a", order="ab"), call("a", order="ba")) == ["A is better", None]


def test_rows_without_a_sample_are_samples_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows = [{"item": item, "text": f"{item}{n}"} for n in range(20) for item in ("a", "b")]
    path = write(tmp_path / "r.jsonl", *rows)
    calls = [call(item, sample=n) for item in ("b", "a") for n in (0, 19, 7, 20)]
    assert texts(path, *calls) == ["b0", "b19", "b7", None, "a0", "a19", "a7", None]


def test_a_text_of_null_is_a_call_that_failed_when_it_was_recorded(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", {"item": "a", "text": None}, {"item": "a", "text": "b1"})
    assert texts(path, call("a"), call("a", sample=1)) == [None, "b1"]


def test_an_id_that_is_a_number_is_the_same_as_its_text(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "r.jsonl", {"item": 17, "text": "x"}), call("17")) == ["x"]


@pytest.mark.parametrize("form", ["plain", "gzip", "bom", "utf-16", "crlf"])
def test_a_file_is_read_however_it_was_saved(form: str, tmp_path: Path) -> None:
    lines = [json.dumps({"item": f"项目{n}", "text": f"分数：{n} 🙂"}, ensure_ascii=False) for n in range(50)]
    text = ("\r\n" if form == "crlf" else "\n").join(["", *lines])
    path = tmp_path / ("r.jsonl.gz" if form == "gzip" else "r.jsonl")
    encoding = {"bom": "utf-8-sig", "utf-16": "utf-16"}.get(form, "utf-8")
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if form == "gzip" else data)
    assert texts(path, call("项目49"), call("项目0"), call("项目7")) == [
        "分数：49 🙂",
        "分数：0 🙂",
        "分数：7 🙂",
    ]


def test_log_probabilities_are_read_in_our_shape_and_in_openais(tmp_path: Path) -> None:
    ours = [{"token": "4", "logprob": -0.1, "top": [{"token": "5", "logprob": -2.5}]}]
    theirs = {
        "content": [
            {"token": "4", "logprob": -0.1, "bytes": [52], "top_logprobs": [{"token": "5", "logprob": -2.5}]}
        ]
    }
    path = write(
        tmp_path / "r.jsonl",
        {"item": "a", "text": "4", "logprobs": ours},
        {"item": "b", "text": "4", "logprobs": theirs},
        {"item": "c", "text": "4", "logprobs": None},
    )
    a, b, c = replayed(path, call("a"), call("b"), call("c"), params=Parameters(top_logprobs=5))
    assert a.logprobs == b.logprobs == (TokenLogprob("4", -0.1, (TopToken("5", -2.5),)),)
    assert c.error is not None
    assert c.error.kind == "missing"
    assert "no log-probabilities" in c.error.message


def test_a_file_without_log_probabilities_says_so_before_the_run(tmp_path: Path) -> None:
    model = ReplayModel("replay:r", write(tmp_path / "r.jsonl", {"item": "a", "text": "4"}))
    assert model.gives_logprobs is False
    with pytest.raises(ModelError, match="returns no log-probabilities"):
        model.check(Parameters(top_logprobs=5))
    asyncio.run(model.close())


def test_a_recorded_judge_is_not_asked_again_and_remembers_what_it_was_asked(tmp_path: Path) -> None:
    async def run() -> None:
        model = ReplayModel(
            "replay:r", write(tmp_path / "r.jsonl", {"item": "a", "text": "4", "finish": "length"})
        )
        assert (model.is_recorded, model.is_fake, model.needs_network) == (True, False, False)
        reply = await model.ask(call("a", kind="reask"), Parameters())
        assert reply.error is not None
        assert reply.error.kind == "missing"
        assert (await model.ask(call("a"), Parameters())).finish == "length"
        assert [each.kind for each in model.asked] == ["reask", "generate"]
        await model.close()

    asyncio.run(run())


def test_all_problems_of_a_file_are_reported_together(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    lines = [
        '{"item": "a", "text": "fine"}',
        "not json",
        '{"item": "a"}',
        '{"text": "x"}',
        '{"item": "a", "text": 4}',
        '{"item": 1.5, "text": "x"}',
        '{"item": "a", "text": "x", "order": "first"}',
        '{"item": "a", "text": "x", "sample": "2"}',
        '{"item": "a", "text": "x", "sample": -1}',
        '{"item": "a", "text": "x", "critereon": "c"}',
        '{"item": "a", "text": "x", "logprobs": [{"token": "4"}]}',
        '{"item": "b", "sample": 3, "text": "x", "mine": 1}',
        '{"item": "b", "sample": 3, "text": "y"}',
        '{"item": "b", "text": "\\ud800"}',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError) as raised:
        ReplayModel("replay:r", path)
    message_lines = str(raised.value).splitlines()
    assert message_lines[0] == f"{path}: 12 problems"
    expected = {
        2: "not JSON", 3: "'text' is missing", 4: "'item' is missing", 5: "'text' is not a text",
        6: "'item' is not",
        7: "order 'first' is unknown", 8: "'sample' is not a whole number", 9: "sample -1",
        10: "Did you mean 'criterion'?",
        11: "'logprobs'", 13: "is on line 12 already", 14: "surrogate",
    }  # fmt: skip
    assert len(message_lines) == 13
    for line, (number, words) in zip(message_lines[1:], expected.items(), strict=True):
        assert line.startswith(f"  line {number}: ")
        assert words in line


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("r.jsonl", b"", "no replies"),
        ("r.jsonl", None, "no such file"),
        ("r.csv", b"item,text\n", "must be JSONL"),
        ("r.jsonl.gz", b"no gzip", "not gzip data"),
        ("r.jsonl.gz", gzip.compress(b'{"item": "a", "text": "x"}\n' * 9, mtime=0)[:-12], "damaged"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported_at_once(
    name: str, content: bytes | None, words: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=words):
        parse_model(f"replay:{path}")


MEASURE = """
import asyncio, resource, sys
from adjudge.models import Parameters, parse_model
from adjudge.records import Call, Message
async def run():
    model = parse_model(f"replay:{sys.argv[1]}")
    messages = (Message("user", "Judge this."),)
    for number in range(int(sys.argv[2])):
        call = Call(str(number), f"item-{number}", "p@1", ("clarity",), "m", messages)
        reply = await model.ask(call, Parameters())
        assert reply.text.startswith(f"{number} "), reply
    await model.close()
asyncio.run(run())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.slow
def test_a_hundred_thousand_replies_need_little_more_memory_than_a_thousand(tmp_path: Path) -> None:
    megabytes = {}
    for n in (1000, 100_000):
        path = tmp_path / f"{n}.jsonl"
        tail = " The summary is faithful." * 20 + "[RESULT] 4"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(
                json.dumps({"item": f"item-{number}", "text": f"{number}{tail}"}) + "\n"
                for number in range(n)
            )
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path), str(n)], capture_output=True, text=True, check=True
        )
        megabytes[n] = float(done.stdout)
    assert megabytes[100_000] - megabytes[1000] < 20


def test_recorded_samples_of_real_judges_all_come_back(real_rows: Any, tmp_path: Path) -> None:
    rows = [row for row in real_rows("topical_chat.judgments") if row["protocol"] == "geval"][:200]
    recorded = [
        {"item": row["item_id"], "criterion": row["dimension"], "text": text}
        for row in rows
        for text in row["responses"]
    ]
    path = write(tmp_path / "r.jsonl", *recorded)
    calls = [
        call(row["item_id"], row["dimension"], sample=n)
        for row in reversed(rows)
        for n in range(len(row["responses"]))
    ]
    assert texts(path, *calls) == [text for row in reversed(rows) for text in row["responses"]]
