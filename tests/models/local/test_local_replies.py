"""Replies that the embedded judge writes: held to a form, and never called better than they are."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import adjudge
from adjudge import load_protocol
from adjudge.engine.reply_format import form_of
from adjudge.errors import ModelError
from adjudge.models import Form, LocalModel, Parameters
from adjudge.models.local.local_model import grammar_of
from local_judge import ask_all, call

ROOT = Path(__file__).parents[3]
SOURCE = (
    "The city council met on Monday evening and voted, by nine to four, to build a new bridge over the "
    "river. "
    "It will cost four million, most of it paid by the county, and is to open to traffic in the spring of "
    "2031. "
)
RESPONSES = (
    "The council voted on Monday to build a new bridge over the river.",
    "A bridge for four million will open in 2031.",
    "Purple the sings Friday because banana nine.",
)
INSTRUCTIONS = ("Write about this fluently.", "Write about this so that nothing contradicts it.", "In short:")


# -- generated replies


def test_a_schema_holds_the_reply_and_the_run_says_what_the_model_is(weights: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
        "required": ["score"],
        "additionalProperties": False,
    }
    model = LocalModel("local", weights, threads=1)
    params = Parameters(temperature=0.0, max_tokens=40, schema=schema, top_logprobs=5)
    first, two = ask_all(
        model, [call("Score this text from 1 to 5: It rains.", None, "generate")] * 2, params
    )
    assert json.loads(first.text)["score"] in (1, 2, 3, 4, 5)
    assert first.text == two.text
    assert first.logprobs
    assert len(first.logprobs[0].top) == 5
    assert "".join(token.token for token in first.logprobs).startswith(first.text)
    assert model.warnings


@pytest.mark.embedded
def test_a_model_without_a_chat_template_gives_likelihoods_and_refuses_to_answer(
    weights: Path, tmp_path: Path
) -> None:
    path = tmp_path / "bare.gguf"
    content = weights.read_bytes()
    assert content.count(b"tokenizer.chat_template") == 1
    path.write_bytes(content.replace(b"tokenizer.chat_template", b"tokenizer.no_template__"))
    with pytest.raises(ModelError, match="has no chat template"):
        ask_all(LocalModel("local:bare.gguf", path, threads=1), [call("How are you?", None, "generate")])
    (reply,) = ask_all(LocalModel("local:bare.gguf", path, threads=1), [call(SOURCE, "It rains.")])
    assert reply.error is None
    assert reply.logprobs


def test_a_prompt_that_is_too_long_to_answer_is_an_error(weights: Path) -> None:
    model = LocalModel("local", weights, threads=1)
    (reply,) = ask_all(model, [call("word " * 6000, None, "generate")])
    assert reply.error is not None
    assert reply.error.kind == "too_long"


# -- prompted protocols


@pytest.mark.parametrize(
    ("protocol", "fields"),
    [
        ("opinion-summary/fluency", {"summary": "It is good.", "reviews": "Good."}),
        ("prometheus/direct", {"instruction": "Say a word.", "response": "Word."}),
        ("commentary-zh/evidence", {"instruction": "写", "response": "好"}),
        ("commentary-zh/structure", {"instruction": "写", "response": "好"}),
        ("gptscore-ko/fluency", {"source_text": "비", "generated_response": "비"}),
    ],
    ids=["tag", "marker", "json", "first_line", "label"],
)
@pytest.mark.embedded
def test_a_prompted_protocol_gets_a_score_from_the_embedded_judge_and_the_run_says_what_that_is_worth(
    weights: Path, tmp_path: Path, protocol: str, fields: dict[str, str]
) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(json.dumps({"id": "1", **fields}) + "\n", encoding="utf-8")
    rubric = ROOT / "examples" / "tact.toml" if protocol.startswith("prometheus") else None
    done = adjudge.run(
        items, protocol, f"local:{weights}", store=tmp_path / "a.db", rubric=rubric, reask=False
    )  # fmt: skip
    (result,) = done.results()
    assert (result.status, result.estimator) == ("ok", "parsed")
    assert result.value is not None
    assert done.adjustments


@pytest.mark.embedded
def test_the_expected_score_is_of_the_models_own_probabilities_and_fails_where_they_are_elsewhere(
    weights: Path, tmp_path: Path
) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(json.dumps({"summary": "It is good.", "reviews": "Good."}) + "\n", encoding="utf-8")
    done = adjudge.run(
        items, "opinion-summary/fluency", f"local:{weights}", store=tmp_path / "a.db", reask=False,
        estimator="probability"
    )  # fmt: skip
    from adjudge.store import open_store

    with open_store(tmp_path / "a.db", write=False) as store:
        (judged,) = store.judgments(store.run(done.name))
    assert judged.judgment is not None
    (score,) = judged.judgment.scores
    assert score.estimator == "probability"
    assert score.distribution is not None
    assert score.caught_mass == pytest.approx(math.fsum(score.distribution.values()))
    assert (score.value is not None) == (score.status == "ok") == ((score.caught_mass or 0.0) >= 0.5)


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ("opinion-summary/fluency", Form(tuple("12345"), "<score>", "</score>")),
        ("prometheus/direct", Form(tuple("12345"), "[RESULT] ")),
        ("prometheus/pairwise", Form(("A", "B"), "[RESULT] ")),
        ("commentary-zh/structure", Form(tuple(str(n) for n in range(11)), closing="\n", is_first=True)),
        ("commentary-zh/evidence", None),
        ("geval/compare", None),
        ("gptscore/fluency", None),
    ],
)
def test_the_form_of_a_reply_is_what_its_reader_reads(protocol: str, expected: Form | None) -> None:
    assert form_of(load_protocol(protocol)) == expected


def test_a_grammar_lets_text_and_one_answer_through() -> None:
    assert grammar_of(Form(("A", "B"), "[RESULT] ")) == (
        'root ::= text "[RESULT] " value ""\nvalue ::= "A" | "B"\ntext ::= [^\\[]{0,300}\n'
    )
    assert grammar_of(Form(("0", "1"), closing="\n", is_first=True)) == (
        'root ::= "" value "\\n" text\nvalue ::= "0" | "1"\ntext ::= [^\\x00]{0,300}\n'
    )
