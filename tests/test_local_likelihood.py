"""GPTScore as it is read: the mean log-probability of a given text, and what stands beside it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjudge
from adjudge import load_protocol
from adjudge.errors import ModelError
from adjudge.models import FakeModel, Line
from adjudge.parse.likelihood import copied_bigrams, mean_logprob, read_likelihood, words_of
from adjudge.protocols import builtin_ids
from adjudge.records import Call, Item, Message, Reply, Scale, TokenLogprob
from adjudge.render import render

CRITERIA = (
    "factuality consistency relevance fluency coherence accuracy multidimensional-quality "
    "semantic-appropriateness understandability"
).split()
SOURCE = "The council voted on Monday to build a bridge over the river."
ITEM = Item("1", {"source_text": SOURCE, "generated_response": "The council voted to build a boat."})


def tokens(*logprobs: float) -> tuple[TokenLogprob, ...]:
    return tuple(TokenLogprob("x", logprob) for logprob in logprobs)


def items_file(folder: Path, *responses: str) -> Path:
    rows = [{"id": text, "source_text": SOURCE, "generated_response": text} for text in responses]
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_score_is_that_of_the_published_formula(shared: Path) -> None:
    vector = json.loads((shared / "vectors.json").read_text(encoding="utf-8"))["gptscore"]
    found = mean_logprob(tokens(*vector["inputs"]["target_token_logprobs"]))
    assert found is not None
    assert found == pytest.approx(vector["expected"]["gptscore_mean_logprob"], abs=vector["tol"])
    assert math.exp(-found) == pytest.approx(vector["expected"]["perplexity"], abs=vector["tol"])


def test_the_score_of_known_tokens_is_their_mean() -> None:
    assert mean_logprob(tokens(-1.0, -2.0, -6.0)) == -3.0


@pytest.mark.parametrize("logprob", [float("nan"), float("-inf"), 0.5])
def test_a_number_that_is_no_log_probability_gives_no_score(logprob: float) -> None:
    assert mean_logprob(tokens(-1.0, logprob)) is None
    assert mean_logprob(()) is None


def test_a_judgment_carries_the_token_count_the_unconditional_likelihood_and_both_baselines() -> None:
    reply = Reply("k", '{"unconditional": -4.5}', logprobs=tokens(-1.0, -2.0))
    judgment = read_likelihood(load_protocol("gptscore/coherence"), ITEM, reply)
    (score,) = judgment.scores
    assert (score.criterion, score.value, score.status) == ("coherence", -1.5, "ok")
    assert (score.how, score.estimator) == ("likelihood", "likelihood")
    assert judgment.notes == {
        "tokens": "2",
        "unconditional_logprob": "-4.500000",
        "words": "7",
        # the council, council voted, to build, build a; not: voted to, a boat
        "copied_bigrams": f"{4 / 6:.6f}",
    }


@pytest.mark.parametrize("text", ["", "no JSON", '{"unconditional": "much"}', "[]"])
def test_a_recorded_likelihood_without_more_still_gives_its_score(text: str) -> None:
    reply = Reply("k", text, logprobs=tokens(-1.0))
    judgment = read_likelihood(load_protocol("gptscore/coherence"), ITEM, reply)
    assert judgment.scores[0].value == -1.0
    assert "unconditional_logprob" not in judgment.notes


def test_a_reply_without_log_probabilities_is_a_failure_that_is_not_asked_again() -> None:
    judgment = read_likelihood(load_protocol("gptscore/coherence"), ITEM, Reply("k", "4"))
    assert [(score.status, score.value) for score in judgment.scores] == [("no_reply", None)]


def test_the_share_of_copied_pairs_counts_words_and_not_punctuation_or_case() -> None:
    assert copied_bigrams(words_of("A bridge, over"), words_of("a Bridge over the river")) == 1.0
    assert copied_bigrams(words_of("bridge a"), words_of("a bridge")) == 0.0
    assert copied_bigrams(words_of("word"), words_of("word")) is None
    assert words_of("桥在河上 built") == ["桥", "在", "河", "上", "built"]


@given(st.text(), st.text())
def test_the_share_of_copied_pairs_is_a_share(one: str, other: str) -> None:
    share = copied_bigrams(words_of(one), words_of(other))
    assert share is None or 0.0 <= share <= 1.0
    if share is not None:
        assert copied_bigrams(words_of(one), words_of(one)) == 1.0


# -- the protocols


def test_there_are_nine_and_each_is_unbounded_with_high_as_its_good_end() -> None:
    assert {f"gptscore/{name}" for name in CRITERIA} <= set(builtin_ids())
    for name in CRITERIA:
        protocol = load_protocol(f"gptscore/{name}")
        assert protocol.criteria == {name: Scale(None, None, "high")}
        assert (protocol.answer.reader, protocol.answer.target) == ("likelihood", "generated_response")
        assert not protocol.fence


def test_the_prompt_begins_with_the_source_ends_with_a_line_break_and_does_not_show_the_response() -> None:
    prompts = set()
    for name in CRITERIA:
        rendered = render(load_protocol(f"gptscore/{name}"), ITEM)
        (message,) = rendered.messages
        assert message.content.startswith(SOURCE)
        assert message.content.endswith("\n")
        assert "boat" not in message.content
        assert rendered.target == "The council voted to build a boat."
        prompts.add(message.content)
    assert len(prompts) == len(CRITERIA)


def test_a_run_by_likelihood_scores_each_item_and_counts_what_failed(tmp_path: Path) -> None:
    def says(call: Call) -> Line:
        assert call.kind == "likelihood"
        assert call.messages == (Message("user", call.messages[0].content),)
        if call.target == "bad":
            return Line("too long", error="too_long")
        return Line('{"unconditional": -3.0}', logprobs=tokens(-0.5, -1.5))

    items = items_file(tmp_path, "good", "bad")
    model = FakeModel(says, name="fake:likelihood")
    done = adjudge.run(items, ["gptscore/fluency", "gptscore/accuracy"], model, store=tmp_path / "a.db")
    results = {(result.item, result.criterion): result for result in done.results()}
    assert len(results) == 4
    assert results["good", "fluency"].value == -1.0
    assert results["good", "fluency"].normalized is None
    assert results["good", "accuracy"].estimator == "likelihood"
    assert results["bad", "fluency"].value is None
    assert results["bad", "fluency"].flags == ("too_long",)
    assert results["bad", "fluency"].n_failed == 1


def test_a_model_that_cannot_tell_likelihoods_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    items = items_file(tmp_path, "x")
    with pytest.raises(ModelError, match="cannot tell the likelihood"):
        adjudge.run(items, "gptscore/fluency", "http://127.0.0.1:9/v1#m", store=tmp_path / "a.db")
