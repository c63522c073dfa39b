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
from adjudge.errors import DataError, ModelError, ProtocolError
from adjudge.models import FakeModel, Line
from adjudge.models.likelihood_passages import Passage, passages_of
from adjudge.parse.likelihood import copied_bigrams, lower_words, mean_logprob, read_likelihood
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
    mean = mean_logprob(tokens(*vector["inputs"]["target_token_logprobs"]))
    assert mean is not None
    assert mean == pytest.approx(vector["expected"]["gptscore_mean_logprob"], abs=vector["tol"])
    assert math.exp(-mean) == pytest.approx(vector["expected"]["perplexity"], abs=vector["tol"])


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
    assert copied_bigrams(lower_words("A bridge, over"), lower_words("a Bridge over the river")) == 1.0
    assert copied_bigrams(lower_words("bridge a"), lower_words("a bridge")) == 0.0
    assert copied_bigrams(lower_words("word"), lower_words("word")) is None
    assert lower_words("桥在河上 built") == ["桥", "在", "河", "上", "built"]


@given(st.text(), st.text())
def test_the_share_of_copied_pairs_is_a_share(text: str, other: str) -> None:
    share = copied_bigrams(lower_words(text), lower_words(other))
    assert share is None or 0.0 <= share <= 1.0
    if share is not None:
        assert copied_bigrams(lower_words(text), lower_words(text)) == 1.0


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
    with pytest.raises(ModelError, match="cannot compute the likelihood"):
        adjudge.run(items, "gptscore/fluency", "anthropic:m", store=tmp_path / "a.db")


# -- the other direction, both, and demonstrations


def as_call(name: str, item: Item = ITEM, examples: Path | None = None) -> Call:
    rendered = render(load_protocol(f"gptscore/{name}", examples=examples or ()), item)
    return Call("k", "1", "p@1", ("c",), "m", rendered.messages, kind="likelihood", target=rendered.target)


def test_backward_the_source_is_asked_after_the_response_and_the_response_is_what_is_judged() -> None:
    ((prompt, target),) = passages_of(as_call("relevance-backward"))
    assert target == SOURCE
    assert prompt.startswith("The council voted to build a boat.")
    assert SOURCE not in prompt
    judgment = read_likelihood(
        load_protocol("gptscore/relevance-backward"), ITEM, Reply("k", logprobs=tokens(-2.0))
    )
    assert judgment.scores[0].criterion == "relevance"
    assert (judgment.notes["words"], judgment.notes["copied_bigrams"]) == ("7", f"{4 / 6:.6f}")


@pytest.mark.parametrize("name", ["accuracy-both", "semantic-appropriateness-both"])
def test_in_both_directions_each_text_is_asked_after_the_other_with_the_same_words(name: str) -> None:
    there, back = passages_of(as_call(name))
    response = "The council voted to build a boat."
    assert (there.target, back.target) == (response, SOURCE)
    assert there.prompt.startswith(SOURCE)
    assert back.prompt == there.prompt.replace(SOURCE, response)


def test_the_score_of_both_directions_is_the_mean_of_the_two_means() -> None:
    protocol = load_protocol("gptscore/accuracy-both")
    token_logprobs = tokens(-1.0, -3.0, -6.0)
    both = read_likelihood(protocol, ITEM, Reply("k", '{"parts": [2, 1]}', logprobs=token_logprobs))
    assert both.scores[0].value == -4.0
    for text in ("", '{"parts": [3]}', '{"parts": [1, 1]}', '{"parts": [3, 0]}'):
        judgment = read_likelihood(protocol, ITEM, Reply("k", text, logprobs=token_logprobs))
        assert (judgment.scores[0].value, judgment.scores[0].status) == (None, "no_reply")


def demonstrations(folder: Path, *kinds: str) -> Path:
    rows = [
        {"source_text": f"Source {n}.", "generated_response": f"Response {n}.", "judgment": "5", "kind": kind}
        for n, kind in enumerate(kinds)
    ]
    path = folder / "examples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_demonstrations_stand_before_the_source_as_the_item_itself_does(tmp_path: Path) -> None:
    ((plain, _),) = passages_of(as_call("fluency"))
    ((shown, target),) = passages_of(
        as_call("fluency", examples=demonstrations(tmp_path, "positive", "positive"))
    )
    first = plain.replace(SOURCE, "Source 0.") + "Response 0."
    second = plain.replace(SOURCE, "Source 1.") + "Response 1."
    assert shown == f"{first}\n\n{second}\n\n{plain}"
    assert target == "The council voted to build a boat."


def test_demonstrations_go_the_same_way_as_what_is_asked(tmp_path: Path) -> None:
    there, back = passages_of(as_call("accuracy-both", examples=demonstrations(tmp_path, "positive")))
    assert there.prompt.startswith("Source 0.")
    assert back.prompt.startswith("Response 0.")
    assert there.prompt.index("Response 0.") < there.prompt.index(SOURCE)
    assert back.prompt.index("Source 0.") < back.prompt.index("boat")
    ((prompt, _),) = passages_of(as_call("relevance-backward", examples=demonstrations(tmp_path, "positive")))
    assert prompt.index("Response 0.") < prompt.index("Source 0.") < prompt.index("boat")


def test_a_bad_response_is_no_demonstration(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="would make bad responses likelier"):
        as_call("fluency", examples=demonstrations(tmp_path, "positive", "negative"))


def test_a_call_without_an_answer_in_it_asks_for_its_target_alone() -> None:
    messages = (Message("system", "A"), Message("user", "B"))
    call = Call("k", "1", "p", ("c",), "m", messages, kind="likelihood", target="T")
    assert passages_of(call) == [Passage("A\n\nB", "T")]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("elsewhere", "target 'elsewhere' is not in inputs"),
        ("generated_response, elsewhere", "target 'elsewhere' is not in inputs"),
        ("generated_response, generated_response", "Name one, or two different ones"),
    ],
)
def test_a_target_that_is_no_input_is_a_problem_of_the_folder(
    tmp_path: Path, target: str, words: str
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    builtin = Path(load_protocol("gptscore/accuracy-both").folder)
    settings = (builtin / "protocol.toml").read_text(encoding="utf-8")
    settings = settings.replace("generated_response, source_text", target)
    (folder / "protocol.toml").write_text(settings, encoding="utf-8")
    (folder / "user.md").write_text("{{source_text}} {{generated_response}}\n", encoding="utf-8")
    with pytest.raises(ProtocolError, match=words):
        load_protocol(folder)
