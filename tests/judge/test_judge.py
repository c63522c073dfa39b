"""A judge as an object: one item, many, in async code, as a panel, with a map of scores and as a cascade."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import adjudge
from adjudge.errors import BudgetReached, DataError, NoScore
from adjudge.models.fake import FakeModel, Line
from adjudge.score_map import ScoreCurve, ScoreMap, written_score_map
from adjudge.store import open_store
from running import EXAMPLES
from running import adjudge as command

RUBRIC = EXAMPLES / "tact.toml"
FOUR = "fake:text=Feedback: It is kind. [RESULT] 4"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def judge() -> Iterator[adjudge.Judge]:
    with adjudge.Judge("prometheus/direct", FOUR, rubric=RUBRIC) as judge:
        yield judge


def test_a_verdict_is_a_number_with_its_origin(judge: adjudge.Judge) -> None:
    verdict = judge(task="Where is my refund?", response="It is on its way.")
    assert (verdict.score, verdict.status, verdict.how) == (4, "ok", "strict")
    assert verdict.explanation == "It is kind."
    assert float(verdict) == 4
    assert verdict == 4
    assert 3 < verdict <= 4.0
    assert verdict.normalized == 0.75
    assert verdict.cost_usd is None or verdict.cost_usd == 0


def test_a_failed_judgment_is_no_number() -> None:
    judge = adjudge.Judge("prometheus/direct", "fake:text=What a day.", rubric=RUBRIC)
    verdict = judge(task="t", response="r")
    assert (verdict.score, verdict.status) == (None, "unparsed")
    for use in (float, lambda v: v > 3, lambda v: v == 3, lambda v: v <= 5, lambda v: v != 4, bool):
        with pytest.raises(adjudge.AdjudgeError):
            use(verdict)
    with pytest.raises(NoScore, match=r"failed \(unparsed\)"):
        float(verdict)
    judge.close()


def test_all_items_of_a_judge_are_one_run_and_cost_nothing_again() -> None:
    model = FakeModel(lambda call: f"ok [RESULT] {len(call.messages[-1].content) % 5 + 1}")
    judge = adjudge.Judge("prometheus/direct", model, rubric=RUBRIC)
    first = [judge(task="t", response=text).score for text in ("a", "bb", "ccc")]
    again = judge.many([{"task": "t", "response": text} for text in ("ccc", "a", "dddd")])
    assert [verdict.score for verdict in again][:2] == [first[2], first[0]]
    assert model.n_asked == 4
    name = judge.run
    judge.close()
    run = adjudge.open_run(name)
    assert len(run.results()) == 4
    assert run.status == "done"
    later = adjudge.Judge("prometheus/direct", model, rubric=RUBRIC)
    assert later(task="t", response="bb").score == first[1]
    assert model.n_asked == 4
    later.close()
    for words in (("report", name), ("export", name), ("runs", "show", name), ("sample", name, "-n", "2")):
        done = command(*words)
        assert done.code == 0, done.err


def test_an_id_with_another_text_is_another_item(judge: adjudge.Judge) -> None:
    judge(id="x", task="t", response="one")
    assert judge(id="x", task="t", response="two").item == "x-2"
    assert judge(id="x", task="t", response="one").item == "x"
    assert judge(id="x", task="t", response="two").item == "x-2"


def test_many_callers_in_async_code_share_a_judge(judge: adjudge.Judge) -> None:
    async def all_of_them() -> list[adjudge.Verdict]:
        return await asyncio.gather(*(judge.ask(task="t", response=f"text {k % 20}") for k in range(60)))

    verdicts = asyncio.run(all_of_them())
    assert {verdict.score for verdict in verdicts} == {4}
    with open_store("adjudge.db", write=False) as store:
        assert store.totals(store.run(judge.run)).items == 20


@pytest.mark.slow
def test_two_processes_use_one_judge_at_once() -> None:
    code = (
        "import adjudge, sys\n"
        f"judge = adjudge.Judge('prometheus/direct', {FOUR!r}, rubric={str(RUBRIC)!r})\n"
        "for k in range(15): judge(task='t', response=f'{sys.argv[1]} {k}'); judge(task='t', "
        "response=str(k))\n"
        "print(judge.run)"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, name], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    names = {process.communicate()[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(names) == 1
    results = adjudge.open_run(names.pop()).results()
    assert len(results) == len({result.item for result in results}) == 45


def test_a_judge_is_copied_and_pickled_as_its_settings(judge: adjudge.Judge) -> None:
    """Tools copy their metrics, and send them to other processes."""
    judge(task="t", response="r")
    others = [copy.copy(judge), copy.deepcopy(judge), pickle.loads(pickle.dumps(judge))]
    for other in others:
        assert other.run == judge.run
        assert other(task="t", response="r") == 4
        other.close()
    assert judge(task="t", response="after the copies are closed") == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_judge_works_in_a_forked_process() -> None:
    """A trainer's workers are forks: the thread of the judge is not among what they get."""
    code = (
        "import adjudge, multiprocessing\n"
        f"judge = adjudge.Judge('prometheus/direct', {FOUR!r}, rubric={str(RUBRIC)!r})\n"
        "judge(task='t', response='in the parent')\n"
        "def score(k): return judge(task='t', response=f'in a child {k}').score\n"
        "with multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "    print(pool.map_async(score, range(4)).get(60), judge(task='t', response='after').score)\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[4.0, 4.0, 4.0, 4.0] 4.0", done.stderr


def test_a_judge_that_is_closed_while_it_is_asked_leaves_no_caller_waiting() -> None:
    judge = adjudge.Judge("prometheus/direct", FakeModel([Line("[RESULT] 4", seconds=600)]), rubric=RUBRIC)
    ended = threading.Event()

    def ask() -> None:
        with suppress(BaseException):
            judge(task="t", response="r")
        ended.set()

    threading.Thread(target=ask, daemon=True).start()
    while not judge._thread._runs:
        time.sleep(0.01)
    judge.close()
    assert ended.wait(60)


def test_a_judge_that_a_program_gives_up_ends_with_it_without_a_word() -> None:
    code = (
        "import adjudge, asyncio\n"
        "from adjudge.models.fake import FakeModel, Line\n"
        "slow = FakeModel([Line('[RESULT] 4', seconds=600)])\n"
        f"judge = adjudge.Judge('prometheus/direct', slow, rubric={str(RUBRIC)!r})\n"
        "async def main(): await asyncio.wait_for(judge.ask(task='t', response='r'), 1)\n"
        "try: asyncio.run(main())\n"
        "except TimeoutError: print('given up')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "given up\n", "")


def test_a_score_compared_with_a_text_is_a_mistake(judge: adjudge.Judge) -> None:
    with pytest.raises(DataError, match=r"gives a score\. Compare it with a number"):
        assert judge(task="t", response="r") == "4"


def test_a_label_is_no_number() -> None:
    Path("topic.toml").write_text('criterion = "About?"\n[labels]\nrefund = "Money."\nother = "Not."\n')
    judge = adjudge.Judge("classify", "fake:script=s.jsonl", rubric="topic.toml", reask=0)
    lines = [{"match": "strange", "text": "What a day."}, {"text": "<label>refund</label>"}]
    Path("s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    verdict, failed = (verdicts := judge.many([{"response": "good"}, {"response": "strange"}]))
    assert (verdict.label, verdict.choice, verdict.answer) == ("refund", "refund", "refund")
    assert verdict == "refund"
    assert "classify: refund" in repr(verdict)
    for use in (float, lambda v: v >= 0, lambda v: v == 0, lambda v: v.score, lambda v: v.normalized):
        with pytest.raises(DataError, match=r"gives a label and no score\. Use \.label"):
            use(verdict)
    assert (failed.label, failed.answer) == (None, None)
    with pytest.raises(NoScore):
        assert failed == "refund"
    estimate = verdicts.estimate
    assert (estimate.value, estimate.n, estimate.n_failed) == (None, 1, 1)
    assert "labels" in estimate.reason
    judge.close()


def test_a_response_without_anything_to_score_is_no_number_and_no_failure() -> None:
    judge = adjudge.Judge("claims/supported", "fake:text=NONE", reask=0)
    verdicts = judge.many([{"response": "Hello!", "source": "A text."}])
    verdict = verdicts[0].criteria["supported"]
    assert (verdict.status, verdict.score, verdict.answer) == ("ok", None, None)
    with pytest.raises(NoScore, match="nothing to score"):
        float(verdict)
    estimate = verdicts.estimates["supported"]
    assert (estimate.value, estimate.n_failed, estimate.n_undefined) == (None, 0, 1)
    judge.close()


def test_many_takes_a_frame(judge: adjudge.Judge) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([{"task": "t", "response": "one"}, {"task": "t", "response": "two"}])
    assert [verdict.score for verdict in judge.many(frame)] == [4, 4]


def test_many_items_have_a_progress_bar_in_a_notebook(
    judge: adjudge.Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"task": "t", "response": f"text {k}"} for k in range(30)]
    judge.many(rows)
    assert capsys.readouterr().err == ""  # nobody could see it move
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    judge.many(rows)
    first, *_, last = capsys.readouterr().err.removesuffix("\n").split("\r")
    assert (first, last) == ("", f"{'━' * 40} 30/30 0 failed, 30 from the store")


def test_a_panel_is_the_mean_and_shows_every_judge() -> None:
    judge = adjudge.Judge("prometheus/direct", "fake:text=[RESULT] 2", rubric=RUBRIC)
    panel = judge.panel("fake:text=[RESULT] 5", "fake:text=no answer")
    verdict = panel(task="t", response="r")
    assert verdict == 3.5
    assert [v.status for v in verdict.judges.values()] == ["ok", "ok", "unparsed"]
    assert [v.score for v in verdict.judges.values()] == [2, 5, None]
    panel.close()


def test_a_panel_of_choices_votes() -> None:
    models = ["fake:text=[RESULT] A", "fake:text=nothing"]
    judge = adjudge.Judge("prometheus/pairwise", models, rubric=RUBRIC, order="given")
    verdict = judge(instruction="i", response_a="x", response_b="y")
    assert verdict == "a"
    assert verdict.status == "ok"
    judge.close()


def test_a_map_of_scores_belongs_to_the_judge() -> None:
    curve = ScoreCurve(FOUR, "tact", "isotonic", 50, x=(0.0, 0.75, 1.0), y=(0.0, 0.25, 1.0))
    Path("map.toml").write_text(written_score_map(ScoreMap((curve,))), encoding="utf-8")
    judge = adjudge.Judge("prometheus/direct", FOUR, rubric=RUBRIC, map_scores="map.toml")
    verdict = judge(task="t", response="r")
    assert verdict == 2
    assert "mapped" in verdict.flags
    judge.close()


def test_a_budget_holds_for_all_uses_together() -> None:
    judge = adjudge.Judge("prometheus/direct", FOUR, rubric=RUBRIC, price=(1e6, 1e6), budget=200.0)
    with pytest.raises(BudgetReached):
        [judge(task="t", response=f"text {k}") for k in range(50)]
    assert 0 < len(adjudge.open_run(judge.run).results()) < 10
    judge.close()


def test_mistakes_name_the_field_and_no_temporary_file(judge: adjudge.Judge) -> None:
    with pytest.raises(DataError, match="Did you mean 'response'"):
        judge(task="t", respnse="r")
    with pytest.raises(DataError, match="'response'") as missing:
        judge(task="t")
    assert "items.jsonl" not in str(missing.value)
    with pytest.raises(DataError) as several:
        judge.many([{"task": "t"}, {"task": "t", "response": "r"}])
    assert str(several.value).startswith("the items: 1 problem\nline 1: field 'response' is missing")
    assert "--" not in str(several.value)
    with pytest.raises(DataError, match="Did you mean 'samples'"):
        adjudge.Judge("prometheus/direct", FOUR, sample=3)


@pytest.mark.slow
def test_a_cascade_asks_the_dear_judge_only_where_the_cheap_one_is_unsure() -> None:
    def kind(k: int) -> str:
        return "doubtful" if k % 10 == 0 else "hard" if k % 3 == 0 else "easy"

    def write(name: str, rows: list[dict[str, object]]) -> None:
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    texts = {k: f"{kind(k)} answer number {k} ends" for k in range(120)}
    write("items.jsonl", [{"id": f"i{k}", "instruction": "Hi.", "response": t} for k, t in texts.items()])
    write(
        "labels.jsonl",
        [{"item": f"i{k}", "rater": "r", "value": 1 if kind(k) == "doubtful" else 4} for k in range(120)],
    )
    for name, sure in (("cheap", ("easy",)), ("dear", ("easy", "hard"))):
        scores = {k: (4, 4, 4) if kind(k) in sure else (1, 3, 5) for k in range(240)}
        write(
            f"{name}.jsonl",
            [
                {"match": f"number {k} ends", "text": f"So. [RESULT] {score}"}
                for k, three in scores.items()
                for score in three
            ],
        )
        done = command(
            "run", "items.jsonl", "-p", "prometheus/direct", "--rubric", RUBRIC, "-m",
            f"fake:script={name}.jsonl", "--samples", "3", "--run", name, "--concurrency", "1", "--quiet",
        )  # fmt: skip
        assert done.code == 0, done.err
    made = command(
        "cascade", "cheap", "dear", "--labels", "labels.jsonl", "--agree", "0.9", "--within", "0.5",
        "--risk", "0.2", "-o", "cascade.toml",
    )  # fmt: skip
    assert made.code == 0, made.err
    judge = adjudge.Judge(cascade="cascade.toml", concurrency=1)
    rows = [{"instruction": "Hi.", "response": f"{kind(k)} answer number {k} ends"} for k in (121, 123, 130)]
    easy, hard, doubtful = (verdicts := judge.many(rows))
    assert (verdicts.mean, verdicts.estimate.n, verdicts.estimate.n_failed) == (4, 2, 1)
    assert "undecided" in repr(doubtful)
    assert (easy.decided_by, easy.score) == ("cheap", 4)
    assert (hard.decided_by, hard.score) == ("dear", 4)
    assert (doubtful.decided_by, doubtful.score) == (None, None)
    with pytest.raises(NoScore, match="no judge was sure"):
        float(doubtful)
    single = judge(response="easy answer number 121 ends", instruction="Hi.")
    assert (single.decided_by, single.score) == ("cheap", 4)
    reward = adjudge.adapters.trl_reward(judge)
    responses = [str(row["response"]) for row in rows]
    assert repr(reward(prompts=["Hi."] * 3, completions=responses)) == "[4.0, 4.0, nan]"
    assert reward.n_unscored == 1  # type: ignore[attr-defined]
    for mistake, said in (
        (lambda: judge(instruction="Hi.", respnse="x"), "no input 'respnse'"),
        (lambda: judge(instruction="Hi.", response="x", samples=5), "leave out samples"),
        (lambda: judge.many(rows, model="fake:text=4"), "leave out model"),
        (lambda: judge.run, "Each judge of a cascade"),
        (lambda: judge.panel("fake:text=4"), "no panel"),
    ):
        with pytest.raises(DataError, match=said):
            mistake()


def test_mistakes_in_items_are_named_without_a_file_also_in_async_code() -> None:
    with adjudge.Judge("prometheus/direct", FakeModel(lambda _: "[RESULT] 3"), rubric=RUBRIC) as judge:
        messages = []
        for ask in (
            lambda: judge(instruction="t"),
            lambda: asyncio.run(judge.ask(instruction="t")),
            lambda: judge.many([{"instruction": "t"}]),
            lambda: judge.many([]),
        ):
            with pytest.raises(DataError) as refused:
                ask()
            messages.append(str(refused.value))
    assert messages[0] == messages[1]
    assert 'map={"response": "FIELD"}' in messages[0]
    assert messages[2].startswith("the items: 1 problem\n")
    assert not [text for text in messages if "file" in text or "--" in text or "given in Python" in text]
