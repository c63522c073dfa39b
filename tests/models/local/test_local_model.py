"""The embedded judge for real. Its weights are not in the repository: without them these tests are
skipped."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec import structs

import adjudge
from adjudge.errors import ModelError
from adjudge.models import LocalModel, Parameters, parse_model
from adjudge.models.local.llama_cpp import Scorer, TooLong, Unscored, check_installed, open_library
from adjudge.models.local.local_model import Server, check_against_server, default_threads, n_shared
from adjudge.records import Call, Message, Reply
from local_judge import ask_all, call
from running import adjudge as command

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


@pytest.fixture(scope="module")
def scorer(weights: Path) -> Iterator[Scorer]:
    scorer = Scorer(weights, 1)
    yield scorer
    scorer.close()


def calls() -> list[Call]:
    return [
        call(f"{SOURCE}\n\n{instruction}\n", response, key=f"{n}/{m}")
        for n, response in enumerate(RESPONSES)
        for m, instruction in enumerate(INSTRUCTIONS)
    ]


# -- likelihoods


@pytest.mark.embedded
def test_one_pass_gives_what_asking_the_server_token_by_token_gives(scorer: Scorer, weights: Path) -> None:
    prompt, target = f"{SOURCE}\n\nIn short:\n", "The council will build a bridge."
    scored = scorer.score(prompt, target)
    library = scorer.library
    before = library.tokenize(scorer.vocab, prompt, begins=True)
    after = library.tokenize(scorer.vocab, target, begins=False)
    assert len(scored.logprobs) == len(after) > 5
    server = Server(weights, n_ctx=256, parallel=1, threads=1)
    gaps = []
    try:
        for n in (0, 1, len(after) - 1):
            # Enough alternatives for a token that is not very likely to be among them.
            request = {
                "prompt": before + after[:n],
                "max_tokens": 1,
                "n_probs": 3000,
                "temperature": 0.0,
            }
            (content,) = server.complete(request)["choices"][0]["logprobs"]["content"]
            slow = {entry["id"]: entry["logprob"] for entry in content["top_logprobs"]}
            gaps.append(scored.logprobs[n] - slow[after[n]])
    finally:
        server.close()
        library.listen()
    # The server evaluates single tokens, which rounds differently; a token too early or too late makes nats.
    assert max(abs(gap) for gap in gaps) < 0.2
    assert abs(math.fsum(gaps)) / len(gaps) < 0.05


def test_one_pass_gives_to_the_last_bit_what_a_pass_for_each_token_gives(scorer: Scorer) -> None:
    before = f"{SOURCE}\n\nIn short:\n"
    scored = scorer.score(before, "The council will build a bridge.")
    tokens = scorer.library.tokenize(scorer.vocab, "The council will build a bridge.", begins=False)
    for piece, token, logprob in zip(scored.pieces, tokens, scored.logprobs, strict=True):
        assert scorer.next_logprobs(before, [token]) == [logprob]
        before += piece


def test_a_response_of_one_token_scores_the_same_alone_and_after_others(scorer: Scorer) -> None:
    fresh = scorer.score(SOURCE, "The").logprobs
    for target in ("A bridge.", "The", "The council"):
        assert scorer.score(SOURCE, target).logprobs[:1] == (
            fresh if target.startswith("The") else scorer.score(SOURCE, "A").logprobs
        )


@pytest.mark.embedded
def test_no_length_leaves_a_batch_of_a_single_token(scorer: Scorer) -> None:
    for n_words in (126, 127, 128):
        prompt = "word " * n_words
        fresh = scorer.score(prompt, "and then it ended").logprobs
        scorer.score(prompt[: len(prompt) // 2], "x y z")
        assert scorer.score(prompt, "and then it ended").logprobs == fresh


def test_the_probabilities_of_all_next_tokens_add_up_to_one(scorer: Scorer) -> None:
    logprobs = scorer.next_logprobs("The capital of France is", range(scorer.n_vocab))
    assert math.fsum(math.exp(logprob) for logprob in logprobs) == pytest.approx(1.0, abs=1e-9)


def test_a_score_is_the_same_to_the_last_bit_whatever_was_asked_before(scorer: Scorer) -> None:
    fresh: dict[str, tuple[float, ...]] = {}
    some = [calls()[n] for n in (0, 1, 5)]
    for scored_call in some:
        scorer.score("Something else entirely.\n", "And nothing shared.")
        fresh[scored_call.key] = scorer.score(
            scored_call.messages[0].content, scored_call.target or ""
        ).logprobs
    for scored_call in reversed(some):
        again = scorer.score(scored_call.messages[0].content, scored_call.target or "")
        assert again.logprobs == fresh[scored_call.key]


@pytest.mark.embedded
def test_a_larger_context_and_more_threads_give_the_same_bits(weights: Path) -> None:
    first, other = Scorer(weights, 1), Scorer(weights, 2)
    expected = first.score(SOURCE, RESPONSES[0]).logprobs
    assert other.score(SOURCE, RESPONSES[0]).logprobs == expected
    first.score("word " * 1500 + "\n", "longer than the first context")
    assert first.score(SOURCE, RESPONSES[0]).logprobs == expected
    first.close()
    other.close()


def test_a_shared_beginning_is_evaluated_once(scorer: Scorer) -> None:
    first = scorer.score(f"{SOURCE}\n\nIn short:\n", RESPONSES[0])
    second = scorer.score(f"{SOURCE}\n\nIn short:\n", RESPONSES[1])
    third = scorer.score(f"{SOURCE}\n\nAt length:\n", RESPONSES[1])
    # The last token of the prompt is evaluated again: it says how likely the first of the target is.
    assert second.evaluated == len(second.logprobs)
    assert third.evaluated <= len(third.logprobs) + 8
    assert first.tokens_in > 60


def test_concurrent_calls_are_answered_each_with_its_own_and_share_what_they_can(weights: Path) -> None:
    asked = calls()[:6]
    model = LocalModel("local", weights, threads=1)
    together = ask_all(model, asked)
    assert [reply.call for reply in together] == [call.key for call in asked]
    (apart,) = ask_all(LocalModel("local", weights, threads=1), [asked[4]])
    assert apart.logprobs == together[4].logprobs
    separate = sum(reply.tokens_in for reply in together)
    assert model.n_evaluated < 0.6 * separate
    assert all(json.loads(reply.text)["unconditional"] < 0 for reply in together)


def test_sense_is_likelier_than_nonsense_after_its_source(weights: Path) -> None:
    model = LocalModel("local", weights, threads=1)
    prompt = f"{SOURCE}\n\nIn short:\n"
    sense, nonsense = ask_all(model, [call(prompt, RESPONSES[0]), call(prompt, RESPONSES[2])])
    means = []
    for reply in (sense, nonsense):
        assert reply.logprobs
        assert "".join(token.token for token in reply.logprobs) in RESPONSES
        means.append(math.fsum(token.logprob for token in reply.logprobs) / len(reply.logprobs))
    assert means[0] > means[1] + 2
    # The source makes the summary of it likelier, and has nothing to say about the rest.
    assert means[0] > json.loads(sense.text)["unconditional"] + 1


def test_the_event_loop_goes_on_while_the_model_works(weights: Path) -> None:
    async def run() -> int:
        model = LocalModel("local", weights, threads=1)
        work = asyncio.ensure_future(model.ask(call("word " * 150 + "\n", "and so on"), Parameters()))
        n_turns = 0
        while not work.done():
            n_turns += 1
            await asyncio.sleep(0.01)
        await model.close()
        return n_turns

    assert asyncio.run(run()) > 10


def test_judged_text_cannot_spell_a_control_token(scorer: Scorer) -> None:
    tokens = scorer.library.tokenize(scorer.vocab, "<|im_end|>", begins=False)
    assert len(tokens) > 1
    assert "".join(scorer.library.piece(scorer.vocab, token) for token in tokens) == "<|im_end|>"


# -- what cannot be scored


def test_a_text_that_is_too_long_or_empty_is_an_error_and_the_others_go_on(weights: Path) -> None:
    model = LocalModel("local", weights, threads=1)
    asked = [
        call("word " * 9000, "x"),
        call(SOURCE, "word " * 9000),
        call(SOURCE, ""),
        call(SOURCE, " \n"),
        call(SOURCE, "Fine."),
    ]
    replies = ask_all(model, asked)
    assert [reply.error.kind if reply.error else None for reply in replies] == [
        "too_long", "too_long", "bad_reply", "bad_reply", None,
    ]  # fmt: skip
    assert replies[0].error is not None
    assert "9001 tokens" in replies[0].error.message
    assert "Nothing was cut off" in replies[0].error.message
    assert replies[0].logprobs is None


def test_the_scorer_refuses_what_has_no_likelihood(scorer: Scorer) -> None:
    with pytest.raises(Unscored, match="empty"):
        scorer.score(SOURCE, "")
    with pytest.raises(Unscored, match="prompt is empty"):
        scorer.score("", "text")
    with pytest.raises(TooLong):
        scorer.score_alone("word " * 9000)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not a model", "is not a GGUF file"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 64, "cannot be loaded"),
        (b"", "is not a GGUF file"),
    ],
)
def test_a_broken_file_is_reported_with_what_to_do(
    weights: Path, tmp_path: Path, content: bytes, words: str
) -> None:
    assert weights
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=words):
        ask_all(LocalModel("local:broken.gguf", path), [call(SOURCE, "x")])


def test_half_a_file_is_reported_with_what_to_do(weights: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    with weights.open("rb") as whole:
        path.write_bytes(whole.read(40_000_000))
    with pytest.raises(ModelError, match="cannot be loaded"):
        ask_all(LocalModel("local:half.gguf", path), [call(SOURCE, "x")])


def test_what_failed_to_load_fails_every_call_without_another_attempt(tmp_path: Path, weights: Path) -> None:
    assert weights
    path = tmp_path / "late.gguf"
    path.write_bytes(b"no model")
    model = LocalModel("local:late.gguf", path)

    async def run() -> list[Reply | BaseException]:
        asked = [model.ask(call, Parameters()) for call in calls()]
        return await asyncio.gather(*asked, return_exceptions=True)

    assert {type(outcome) for outcome in asyncio.run(run())} == {ModelError}


def test_a_file_that_is_not_there_is_reported_before_anything_is_asked() -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    with pytest.raises(ModelError, match=r"there is no file nowhere\.gguf"):
        parse_model("local:nowhere.gguf").check(Parameters(), ("likelihood",))


def test_without_the_extra_the_command_to_install_it_is_printed() -> None:
    code = (
        "import sys; sys.modules['xllamacpp'] = None\n"
        "from adjudge.errors import ModelError\nfrom adjudge.models import Parameters, parse_model\n"
        "try: parse_model('local').check(Parameters())\nexcept ModelError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'adjudge[local]'" in done.stdout


def test_naming_the_embedded_judge_loads_nothing() -> None:
    code = (
        "import sys; from adjudge.models import parse_model; parse_model('local').identity; "
        "print([m for m in ('xllamacpp', 'numpy', 'ctypes.util') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- the check of the library


class _Skewed(Scorer):
    """A library whose words lie elsewhere, as seen from outside: it tells something else."""

    def next_logprobs(self, prompt: str, places: Sequence[int]) -> list[float]:
        return [logprob - 1.0 for logprob in super().next_logprobs(prompt, places)]


def test_a_library_whose_two_interfaces_differ_is_refused(weights: Path, tmp_path: Path) -> None:
    other = tmp_path / "same.gguf"
    other.symlink_to(weights)
    skewed = _Skewed(other, 1)
    try:
        with pytest.raises(ModelError, match="cannot be trusted"):
            check_against_server(skewed, other, 1)
    finally:
        skewed.close()
    honest = Scorer(other, 1)
    check_against_server(honest, other, 1)
    honest.close()


def test_the_installed_release_is_the_one_that_is_described(weights: Path) -> None:
    assert weights
    check_installed()
    library = open_library()
    context = library.new_context(library.load(str(weights)), 1024, 64, 1)
    assert context
    library.llama_free(context)


# -- a run


def test_a_run_on_the_embedded_judge_scores_items_and_keeps_the_baselines(
    weights: Path, tmp_path: Path
) -> None:
    assert weights
    rows = [
        {"id": str(n), "group": "bridge", "source_text": SOURCE, "generated_response": text}
        for n, text in enumerate((*RESPONSES, "", "word " * 9000))
    ]
    items = tmp_path / "items.jsonl"
    items.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    store = tmp_path / "a.db"
    done = adjudge.run(items, ["gptscore/fluency", "gptscore/consistency"], "local", store=store)
    values = {(result.item, result.criterion): result.value for result in done.results()}
    assert len(values) == 10
    assert values["3", "fluency"] is values["4", "fluency"] is None
    assert {result.flags for result in done.results() if result.item == "4"} == {("too_long",)}
    for criterion in ("fluency", "consistency"):
        sense, nonsense = values["0", criterion], values["2", criterion]
        assert sense is not None
        assert nonsense is not None
        assert sense > nonsense
    again = adjudge.run(
        items, ["gptscore/fluency", "gptscore/consistency"], "local", store=store, run="again"
    )
    assert {(result.item, result.criterion): result.value for result in again.results()} == values
    from adjudge.store import open_store

    with open_store(store, write=False) as opened:
        judged = list(opened.judgments(opened.run(done.name)))
    notes = next(judged_call.judgment.notes for judged_call in judged if judged_call.judgment is not None)
    assert set(notes) == {"tokens", "unconditional_logprob", "words", "copied_bigrams"}


def test_a_broken_file_ends_a_run_with_a_message_and_without_a_traceback(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF\x03\0\0\0" + b"\xff" * 64)
    items = tmp_path / "items.jsonl"
    items.write_text(json.dumps({"source_text": SOURCE, "generated_response": "x"}) + "\n", encoding="utf-8")
    done = command(
        "run", items, "-p", "gptscore/fluency", "-m", f"local:{broken}", "--store", tmp_path / "a.db"
    )
    assert done.code == 2
    assert "cannot be loaded" in done.err
    assert "download it again" in done.err
    assert "Traceback" not in done.err


# -- small parts


def test_the_shared_beginning_of_two_texts_is_counted_exactly() -> None:
    for text, other, expected in [
        ("", "", 0),
        ("abc", "abd", 2),
        ("abc", "abc", 3),
        ("abc", "abcd", 3),
        ("x", "y", 0),
    ]:
        assert n_shared(text, other) == expected
        assert n_shared(other, text) == expected
    long = "a" * 5000
    assert n_shared(long + "b", long + "c") == 5000


def test_threads_stay_below_the_number_of_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.delenv("ADJUDGE_THREADS", raising=False)
    assert 1 <= default_threads() <= max(1, (os.cpu_count() or 1) - 1)
    monkeypatch.setenv("ADJUDGE_THREADS", "3")
    assert default_threads() == 3


def test_a_target_that_begins_like_the_last_one_is_evaluated_from_where_they_part(scorer: Scorer) -> None:
    prompt = f"{SOURCE}\n\nIn short:\n"
    begun, longer = "The council voted to build", "The council voted to build a bridge over the river."
    scorer.score("Something else.\n", "Nothing shared.")
    fresh = scorer.score(prompt, longer)
    shorter = scorer.score(prompt, begun)
    assert shorter.logprobs == fresh.logprobs[: len(shorter.logprobs)]
    assert shorter.evaluated == 0
    again = scorer.score(prompt, longer)
    assert again.logprobs == fresh.logprobs
    other = scorer.score(prompt, longer.replace("river", "road"))
    assert 0 < other.evaluated < 4
    scorer.score("Something else.\n", "Nothing shared.")
    assert scorer.score(prompt, longer.replace("river", "road")).logprobs == other.logprobs


def test_both_directions_are_scored_as_two_calls_would_score_them(weights: Path) -> None:
    there, back = f"{SOURCE}\n\nIn short:\n", f"{RESPONSES[0]}\n\nAt length:\n"
    both = Call(
        "both", "1", "p@1", ("c",), "local",
        (Message("user", there), Message("assistant", RESPONSES[0]), Message("user", back)),
        kind="likelihood", target=SOURCE,
    )  # fmt: skip
    reply, first, other, empty = ask_all(
        LocalModel("local", weights, threads=1),
        [both, call(there, RESPONSES[0]), call(back, SOURCE), structs.replace(both, target=" ")],
    )
    assert first.logprobs
    assert other.logprobs
    assert reply.logprobs == first.logprobs + other.logprobs
    answer = json.loads(reply.text)
    assert answer["parts"] == [len(first.logprobs), len(other.logprobs)]
    alone = [json.loads(single.text)["unconditional"] for single in (first, other)]
    assert answer["unconditional"] == pytest.approx(sum(alone) / 2)
    assert empty.error is not None
    assert "empty" in empty.error.message


def test_two_lanes_give_the_same_bits_as_one_and_answer_every_call(weights: Path) -> None:
    asked = calls()[:5]
    model = LocalModel("local", weights, threads=2)
    at_once = ask_all(model, asked)
    in_turn = ask_all(LocalModel("local", weights, threads=1), asked)
    assert [reply.logprobs for reply in at_once] == [reply.logprobs for reply in in_turn]
    assert [reply.call for reply in at_once] == [call.key for call in asked]
    assert not model._workers


# -- too little memory


class _Poor(Scorer):
    """A machine that has room for a small context, and for no larger one."""

    def free_bytes(self) -> int | None:
        return 220_000_000


def test_a_text_that_memory_cannot_hold_is_an_error_and_shorter_ones_go_on(weights: Path) -> None:
    scorer = _Poor(weights, 1)
    try:
        with pytest.raises(TooLong, match=r"need \d+ MB of memory, and 220 MB are free"):
            scorer.score("word " * 5000 + "\n", "too much")
        assert scorer.score(SOURCE, "It rains.").logprobs
    finally:
        scorer.close()


class _Tiny(Scorer):
    def free_bytes(self) -> int | None:
        return 50_000_000


def test_a_model_that_memory_cannot_hold_is_reported_before_it_is_loaded(weights: Path) -> None:
    with pytest.raises(ModelError, match=r"takes 98 MB of memory, and 50 MB are free\. Use a smaller"):
        _Tiny(weights, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_the_limit_of_the_process_counts_as_memory() -> None:
    code = (
        "import resource\nfrom pathlib import Path\nfrom adjudge.models.local.llama_cpp import free_bytes\n"
        "resource.setrlimit(resource.RLIMIT_AS, (400_000_000, 400_000_000))\nprint(free_bytes())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 400_000_000
