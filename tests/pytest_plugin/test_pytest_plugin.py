"""The fixture `judge` in a user's own tests, run by pytest in a folder of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

# Loaded before pytester takes note of the modules: it unloads what a run of pytest has loaded, and numpy
# bears that once.
import aiohttp  # noqa: F401
import numpy  # noqa: F401
import pytest
import rich.cells  # noqa: F401
import scipy.special  # noqa: F401

import adjudge.engine
import adjudge.models.http_client
import adjudge.pytest_plugin.judge_fixture  # noqa: F401
from adjudge.store import open_store
from fakeserver import FakeServer, chat

pytest_plugins = "pytester"

FINE = "fake:text=It greets as asked. Score: 5"
POOR = "fake:text=It never greets anybody. Score: 2"
MUTE = "fake:text=What a lovely day"
GREETING = 'task="Greet the guest.", response="Good evening!"'
WARNINGS = ("-W", "error", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")


def outcome_of(pytester: pytest.Pytester, code: str, *flags: str) -> pytest.RunResult:
    """Run tests as a user would, in this process, with every warning an error."""
    pytester.makepyfile(test_greeting=code)
    return pytester.runpytest_inprocess(*WARNINGS, *flags)


def output_of(result: pytest.RunResult) -> str:
    return result.stdout.str()


def test_a_test_can_assert_a_score(pytester: pytest.Pytester) -> None:
    code = f"""
def test_polite(judge):
    assert judge("geval/score", {GREETING}).score >= 4
"""
    result = outcome_of(pytester, code, "--adjudge-model", FINE)
    result.assert_outcomes(passed=1)
    assert (pytester.path / "adjudge.db").exists(), "the store lies in the root folder of the tests"


def test_the_fixture_is_a_judge_in_async_code_and_where_a_tool_copies_it(pytester: pytest.Pytester) -> None:
    code = f"""
import adjudge, asyncio, copy

def test_polite(judge):
    assert isinstance(judge, adjudge.Judge)
    assert copy.deepcopy(judge)("geval/score", {GREETING}) >= 4
    assert asyncio.run(judge.ask("geval/score", {GREETING})) >= 4
"""
    outcome_of(pytester, code, "--adjudge-model", FINE).assert_outcomes(passed=1)


def test_an_outcome_says_all_that_was_read(pytester: pytest.Pytester) -> None:
    code = f"""
def test_all(judge):
    outcome = judge("geval/score", {GREETING}, criterion="Is it kind?", id="one", model={FINE!r})
    assert (outcome.score, outcome.normalized, outcome.status) == (5, 1.0, "ok")
    assert outcome.explanation == "It greets as asked."
    assert outcome.reply == "It greets as asked. Score: 5"
    assert outcome.item == "one"
    assert outcome.criteria["score"].score == 5
    assert repr(outcome).startswith("<geval/score: 5 ")
    assert repr(outcome).endswith("ok; 'It greets as asked.'>")
"""
    outcome_of(pytester, code).assert_outcomes(passed=1)


def test_conversations_labels_and_rules_are_judged_in_tests(pytester: pytest.Pytester) -> None:
    code = """
TRACE = [
    {"role": "user", "content": "Book it."},
    {"role": "assistant", "content": None, "tool_calls": [{"name": "book", "args": {}, "id": "c1"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "booked"},
]
LABELS = 'criterion = "What is it?"\\n[labels]\\npraise = "Thanks."\\nother = "Else."'

def test_trace(judge):
    assert judge("agent/outcome", task="Book it.", trace=TRACE, model="fake:text=<score>2</score>").score == 2

def test_turns(judge):
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    outcome = judge("dialogue/turn", conversation=talk, model="fake:text=<score>4</score>")
    assert outcome.criteria["turn"].score == 4

def test_label(judge, tmp_path):
    (tmp_path / "kind.toml").write_text(LABELS)
    outcome = judge("classify", response="Thanks!", rubric=tmp_path / "kind.toml", model="fake:text=<label>praise</label>")
    assert outcome.label == "praise"

def test_rule(judge):
    outcome = judge("direct/reference-answer", task="6 x 7?", response="42", reference="42", model="fake:text=none")
    assert (outcome.score, outcome.flags) == (1, ("checked_by_rule",))

def test_pair(judge):
    outcome = judge("agent/versus", task="Book it.", response_a=TRACE, response_b=TRACE[:1], model="fake:text=<winner>tie</winner>")
    assert outcome.choice == "tie"
"""  # noqa: E501
    outcome_of(pytester, code).assert_outcomes(passed=5)


def test_a_failed_assertion_shows_the_score_the_reasons_and_where_the_reply_is(
    pytester: pytest.Pytester,
) -> None:
    code = f"""
def test_polite(judge):
    assert judge("geval/score", {GREETING}).score >= 4
"""
    result = outcome_of(pytester, code, "--adjudge-model", POOR)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*assert 2.0 >= 4",
            "*- adjudge -*",
            "geval/score *fake:*: 2 (1–5*ok",
            "  It never greets anybody.",
            "*adjudge runs show pytest/test_polite/*",
        ]
    )
    name = output_of(result).split("adjudge runs show ")[1].split()[0]
    with open_store(pytester.path / "adjudge.db", write=False) as store:
        assert [asked.reply.text for asked in store.asked(store.run(name))] == [
            POOR.removeprefix("fake:text=")
        ]


def test_a_score_that_does_not_exist_is_no_type_error(pytester: pytest.Pytester) -> None:
    code = f"""
def test_compared(judge):
    assert judge("geval/score", {GREETING}).score >= 4

def test_of_a_mean(judge):
    items = [dict({GREETING}), dict({GREETING})]
    assert judge.many("geval/score", items).mean > 4

def test_output_of(judge):
    outcome = judge("geval/score", {GREETING})
    assert outcome.score is None
    assert outcome.status == "unparsed"

def test_another_mistake():
    assert None > 4
"""
    result = outcome_of(pytester, code, "--adjudge-model", MUTE)
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*NoScore: *unparsed*",
            "E*fake:text=What a lovely day *: What a lovely day",
            "E*adjudge runs show pytest/test_compared/*",
            "*NoScore: *",
        ]
    )
    assert output_of(result).count("E       TypeError") == 1, "that of the test that judges nothing"


def test_an_unchanged_test_asks_nothing_the_second_time(pytester: pytest.Pytester) -> None:
    code = f"""
def test_polite(judge):
    assert judge("geval/score", {GREETING}).score == 4

def test_set(judge):
    items = [{{"task": "Greet.", "response": str(number)}} for number in range(6)]
    assert judge.many("geval/score", items).mean == 4
"""
    with FakeServer(lambda _: chat("Score: 4")) as server:
        flags = ("--adjudge-model", f"{server.url}/v1#judge")
        first = outcome_of(pytester, code, *flags)
        assert server.n_requests == 7
        second = outcome_of(pytester, code, *flags)
        assert server.n_requests == 7
        changed = outcome_of(pytester, code.replace("Good evening", "Good morning"), *flags)
        assert server.n_requests == 8
    for result, n_asked, n_stored in ((first, 7, 0), (second, 0, 7), (changed, 1, 6)):
        result.assert_outcomes(passed=2)
        assert re.search(rf"^{n_asked} call.*, {n_stored} ", output_of(result), re.MULTILINE)


def test_a_set_is_asked_for_at_once(pytester: pytest.Pytester) -> None:
    code = """
def test_set(judge):
    items = [{"task": "Greet.", "response": str(number)} for number in range(20)]
    outcomes = judge.many("geval/score", items)
    assert len(outcomes) == 20
    assert len({outcome.item for outcome in outcomes}) == 20
"""
    with FakeServer(lambda _: chat("Score: 4"), latency=0.05) as server:
        outcome_of(pytester, code, "--adjudge-model", f"{server.url}/v1#judge").assert_outcomes(passed=1)
        assert server.most_in_flight > 5


def test_a_set_has_a_mean_with_its_interval_and_counts_what_failed(pytester: pytest.Pytester) -> None:
    script = [{"match": f"number {k}.", "text": f"Score: {k}"} for k in (1, 2, 3, 4)]
    script.append({"match": "number 5.", "text": "no idea"})
    (pytester.path / "script.jsonl").write_text("\n".join(map(json.dumps, script)), encoding="utf-8")
    code = """
def test_set(judge):
    items = [{"id": f"i{k}", "task": "Count.", "response": f"number {k}."} for k in range(1, 6)]
    outcomes = judge.many("geval/score", items, reask=False)
    estimate = outcomes.estimate
    assert (estimate.value, estimate.n, estimate.n_failed) == (2.5, 4, 1)
    assert estimate.low < 2.5 < estimate.high
    assert outcomes.estimates["score"] == estimate
    assert outcomes.mean == 2.5
    assert [outcome.item for outcome in outcomes.failed] == ["i5"]
    assert estimate.low > 3
"""
    result = outcome_of(pytester, code, "--adjudge-model", "fake:script=script.jsonl")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "geval/score *fake:script=script.jsonl *: 2.50 [[]*; 4 ok, 1 unparsed",
            "  i5: none*unparsed",
            "  no idea",
            "  i1: 1 *",
        ]
    )


def test_groups_widen_the_interval_of_a_set(pytester: pytest.Pytester) -> None:
    code = """
def test_set(judge):
    items = [{"id": f"i{k}", "group": f"g{k % 2}", "task": "Count.", "response": f"number {k % 2}."} for k in range(8)]
    script = judge.many("geval/score", items)
    assert script.estimate.unit.startswith("group")
"""  # noqa: E501
    lines = [{"match": "number 0.", "text": "Score: 2"}, {"match": "number 1.", "text": "Score: 4"}]
    (pytester.path / "script.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    outcome_of(pytester, code, "--adjudge-model", "fake:script=script.jsonl").assert_outcomes(passed=1)


def test_a_pair_has_a_choice_and_scores_of_both_sides(pytester: pytest.Pytester) -> None:
    names = ("accuracy", "completeness", "clarity", "actionability", "relevance", "overall")
    part = {"reasoning": "r", "evidence": [], "confidence": 0.9}
    reply = {name: {"response_a": {**part, "score": 4}, "response_b": {**part, "score": 2}} for name in names}
    code = f"""
import json
REPLY = {json.dumps(reply)!r}

def test_pair(judge):
    outcome = judge("geval/compare", task="t", response_a="x", response_b="y", order="given", model="fake:text=" + REPLY)
    assert outcome.criteria["clarity"].a.score == 4
    assert outcome.criteria["clarity"].b.score == 2
    outcome.score

def test_choice(judge):
    outcome = judge("prometheus/pairwise", instruction="t", response_a="x", response_b="y", rubric="tact.toml",
                    order="given", model="fake:text=Feedback: a is better. [RESULT] A")
    assert outcome.choice == "a"
    assert judge.many("prometheus/pairwise", [dict(instruction="t", response_a="x", response_b="y")], rubric="tact.toml",
                      order="given", model="fake:text=[RESULT] B").estimate.value == 0
    outcome.score
"""  # noqa: E501
    rubric = Path(__file__).parents[2] / "examples" / "tact.toml"
    (pytester.path / "tact.toml").write_text(rubric.read_text(encoding="utf-8"), encoding="utf-8")
    result = outcome_of(pytester, code)
    result.assert_outcomes(failed=2)
    assert re.search(r"geval/compare .*12 .*\.criteria\['accuracy'\]\.a\.score", output_of(result))
    assert re.search(r"prometheus/pairwise .* \.choice\b", output_of(result))


def test_recorded_replies_are_found_by_the_name_of_the_test_or_by_an_id(pytester: pytest.Pytester) -> None:
    rows = [
        {"item": "test_greeting.py::test_named", "text": "Score: 3"},
        {"item": "test_greeting.py::test_named #2", "text": "Score: 2"},
        {"item": "mine", "text": "Score: 1"},
    ]
    (pytester.path / "replies.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    pytester.makeini("[pytest]\nadjudge_model = replay:replies.jsonl\nadjudge_store = kept/judged.db\n")
    (pytester.path / "kept").mkdir()
    code = f"""
def test_named(judge, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert judge("geval/score", {GREETING}).score == 3
    assert judge("geval/score", {GREETING}).score == 2

def test_mine(judge):
    assert judge("geval/score", {GREETING}, id="mine").score == 1

def test_nothing_recorded(judge):
    assert judge("geval/score", {GREETING}).status == "no_reply"
"""
    result = outcome_of(pytester, code)
    result.assert_outcomes(passed=3)
    assert (pytester.path / "kept" / "judged.db").exists()
    assert "fake" not in output_of(result)


def test_the_command_line_goes_before_the_environment_and_that_before_the_file(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\nadjudge_model = fake:text=Score: 1\n")
    code = f"""
def test_score(judge):
    print("given", judge("geval/score", {GREETING}).score)
    print("called", judge("geval/score", {GREETING}, model="fake:text=Score: 4").score)
"""
    assert "given 1.0" in output_of(outcome_of(pytester, code, "-s"))
    monkeypatch.setenv("ADJUDGE_MODEL", "fake:text=Score: 2")
    monkeypatch.setenv("ADJUDGE_STORE", "elsewhere.db")
    assert "given 2.0" in output_of(outcome_of(pytester, code, "-s"))
    assert (pytester.path / "elsewhere.db").exists()
    result = outcome_of(pytester, code, "-s", "--adjudge-model", "fake:text=Score: 3")
    assert "given 3.0" in output_of(result)
    assert "called 4.0" in output_of(result)


def test_a_run_file_beside_the_tests_is_not_read(pytester: pytest.Pytester) -> None:
    pytester.makefile(".toml", adjudge='[models.m]\nmodel = "http://127.0.0.1:9/v1#x"\nkey_env = "HOME"\n')
    code = f"""
def test_score(judge):
    judge("geval/score", {GREETING}, model="m")
"""
    assert "'m' is not a model." in output_of(outcome_of(pytester, code))


def test_mistakes_are_reported_at_the_line_of_the_test(pytester: pytest.Pytester) -> None:
    code = f"""
def test_no_judge(judge):
    judge("geval/score", {GREETING})

def test_misspelt(judge):
    judge("geval/score", task="t", respnse="r", model={FINE!r})

def test_missing(judge):
    judge("geval/score", task="t", model={FINE!r})

def test_unknown_protocol(judge):
    judge("geval/scor", {GREETING}, model={FINE!r})

def test_truth(judge):
    assert judge("geval/score", {GREETING}, model={FINE!r})

def test_items(judge):
    judge.many("geval/score", [{{"task": "t"}}, {{"task": "t", "response": "r"}}], model={FINE!r})

def test_option(judge):
    judge.many("geval/score", [], sample=3, model={FINE!r})

def test_no_rubric(judge):
    judge("prometheus/direct", instruction="i", response="r", rubric="none.toml", model={FINE!r})
"""
    result = outcome_of(pytester, code)
    result.assert_outcomes(failed=8)
    result.stdout.fnmatch_lines(
        [
            "E*ModelError: *--adjudge-model*",
            "E*geval/score *'respnse'*'response'*",
            "E*DataError: *'response'*geval/score*",
            "E*'geval/scor'*",
            "E* .score*",
            "E*line 1: *'response'*",
            "E*judge.many *'sample'*'samples'*",
            "E*none.toml*",
        ]
    )
    assert "adjudge/pytest_plugin/" not in output_of(result), "no frame of ours"
    assert "items.jsonl" not in output_of(result)
    assert "TypeError" not in output_of(result)


def test_one_table_at_the_end_says_what_was_judged_and_that_a_judge_is_fake(
    pytester: pytest.Pytester,
) -> None:
    code = f"""
import pytest

@pytest.fixture(scope="module")
def early(judge):
    return judge("geval/score", {GREETING}, price=(1000, 0))

def test_early(early):
    assert early.score == 5

@pytest.mark.parametrize("word", ["a", "b"])
def test_each(judge, word):
    assert judge("geval/score", task="t", response=word).score == 5
"""
    result = outcome_of(pytester, code, "--adjudge-model", FINE)
    result.stdout.fnmatch_lines(
        [
            "*= adjudge =*",
            "test_early *geval/score [[]fake] *5 *ok *1 *0 *$0.*",
            "test_each[[]a] *geval/score [[]fake] *5 *ok *1 *0 *–",
            "test_each[[]b] *",
            "3 calls *, 0 * · $0.*",
            "fake:text=It greets as asked. Score: 5 *",
        ]
    )
    quiet = outcome_of(pytester, "def test_plain(): pass")
    assert "= adjudge =" not in output_of(quiet)


@pytest.mark.slow
def test_many_rows_are_cut_unless_asked_for(pytester: pytest.Pytester) -> None:
    code = """
import pytest

@pytest.mark.parametrize("word", range(43))
def test_each(judge, word):
    judge("geval/score", task="t", response="same")
"""
    result = outcome_of(pytester, code, "--adjudge-model", FINE)
    result.stdout.fnmatch_lines(["… * 3 *pytest -v*", "1 call *, 42 *"])


def test_text_that_would_act_on_the_terminal_does_not(pytester: pytest.Pytester) -> None:
    code = f"""
def test_polite(judge):
    assert judge("geval/score", {GREETING}, model="fake:text=\\x1b[31mred\\n::error::x Score: 2").score > 3
"""
    result = outcome_of(pytester, code)
    result.assert_outcomes(failed=1)
    shown = output_of(result).split("- adjudge -")[1]
    assert "\x1b[31m" not in shown
    assert "\n::error" not in shown


def test_a_fixture_of_the_users_own_wins(pytester: pytest.Pytester) -> None:
    code = """
import pytest

@pytest.fixture
def judge():
    return "mine"

def test_mine(judge):
    assert judge == "mine"
"""
    outcome_of(pytester, code).assert_outcomes(passed=1)


def test_it_works_beside_a_running_event_loop(pytester: pytest.Pytester) -> None:
    code = f"""
import asyncio

def test_async(judge):
    async def work():
        return judge("geval/score", {GREETING}).score
    assert asyncio.run(work()) == 5
"""
    outcome_of(pytester, code, "--adjudge-model", FINE).assert_outcomes(passed=1)


@pytest.mark.slow
def test_several_processes_share_one_store_and_ask_once(pytester: pytest.Pytester) -> None:
    code = """
import pytest

@pytest.mark.parametrize("word", range(6))
def test_each(judge, word):
    assert judge("geval/score", task="t", response="the same").score == 4
    assert judge("geval/score", task="t", response=f"word {word}").score == 4
"""
    pytester.makepyfile(test_greeting=code)
    with FakeServer(lambda _: chat("Score: 4"), latency=0.05) as server:
        flags = ("-n", "2", "--adjudge-model", f"{server.url}/v1#judge")
        result = pytester.runpytest_subprocess(*WARNINGS, *flags)
        assert server.n_requests == 7
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["7 calls *, 5 *"])


def test_a_project_that_does_not_judge_loads_nothing_of_ours(pytester: pytest.Pytester) -> None:
    code = """
import sys

def test_modules():
    ours = {name for name in sys.modules if name.startswith("adjudge")}
    assert ours == {"adjudge", "adjudge.version", "adjudge.pytest_plugin"}
    assert "numpy" not in sys.modules
"""
    pytester.makepyfile(test_plain=code)
    pytester.runpytest_subprocess(*WARNINGS).assert_outcomes(passed=1)


def test_names_for_annotations_are_found() -> None:
    code = (
        "from adjudge import Judge, NoScore, Verdict, Verdicts\n"
        "from adjudge.pytest_plugin import Judge as J, NoScore as N, Outcome, Outcomes\n"
        "print((J, N, Outcome, Outcomes) == (Judge, NoScore, Verdict, Verdicts))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_protocol_with_steps_gives_a_score_and_its_elements(pytester: pytest.Pytester) -> None:
    verdict = '{"reason": "r", "passage": "1", "evidence": ["born in 1815"], "verdict": "supported"}'
    lines = [
        {"match": "List the factual claims", "text": "1. Ada was born in 1815.\n2. Ada was born."},
        {"match": "</element>", "text": verdict},
    ]
    script = pytester.path / "script.jsonl"
    script.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    code = """
def test_faithful(judge):
    outcome = judge("rag/faithfulness", response="Ada was born in 1815.", context=["Ada, born in 1815, was English."])
    assert outcome.score == 1
    assert [element.text for element in outcome.elements] == ["Ada was born in 1815.", "Ada was born."]
    assert outcome.elements[0].passage == 1
    assert outcome.reply.startswith("1. Ada was born")
"""  # noqa: E501
    result = outcome_of(pytester, code, "--adjudge-model", f"fake:script={script}")
    result.assert_outcomes(passed=1)
    assert "3 calls sent" in output_of(result)


def test_every_call_that_the_server_got_is_counted(pytester: pytest.Pytester) -> None:
    """Also the one for evaluation steps, and follow-up questions."""
    code = """
def test_steps(judge):
    judge("geval/score", task="t", response="Good evening!", criterion="Is it kind?", steps="generate")

def test_asked_again(judge):
    judge("geval/score", task="t", response="Good morning!", criterion="Is it kind?")
"""
    replies = [chat("1. Read.\n2. Judge."), chat("Fine. Score: 4"), chat("It is fine."), chat("Score: 4")]
    with FakeServer(replies) as server:
        model = f"{server.url}/v1#m"
        result = outcome_of(pytester, code, "--adjudge-model", model)
        assert server.n_requests == 4
        assert "4 calls sent, 0 from the store" in output_of(result)
        again = outcome_of(pytester, code, "--adjudge-model", model)
        assert server.n_requests == 4
        assert "0 calls sent" in output_of(again)
    result.assert_outcomes(passed=2)
