"""Every command on mutated files, stores, protocols and replies: a documented exit code, no traceback, no
hang.

`ADJUDGE_FUZZ` is the number of tries; the default fits into a minute. A failing try is named by its number
and seed, and repeated alone with `ADJUDGE_FUZZ=1 ADJUDGE_FUZZ_FIRST=NUMBER ADJUDGE_FUZZ_SEED=SEED`.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import FrameType
from typing import NamedTuple

import pytest
from mutations import damaged, mutated, reworded

from adjudge.records import Label
from adjudge.store import open_store
from running import EXAMPLES, ROOT, Outcome, adjudge, compare_folder, write_rows

MADE = ROOT / "tests" / "data" / "traces" / "made"
TRIES = int(os.environ.get("ADJUDGE_FUZZ", "600"))
FEW_TRIES = 80
SEED = int(os.environ.get("ADJUDGE_FUZZ_SEED", "7"))
FIRST = int(os.environ.get("ADJUDGE_FUZZ_FIRST", "0"))
GENTLE = 0.6
"""The share of tries in which files keep their form and only texts in them are hostile."""
HANGS_AFTER_SECONDS = 60.0
DOCUMENTED = {0, 2, 3, 4, 5, 130}
MAY_BE_1 = {"gate", "drift"}
SCORES = ("geval/score", "prometheus/direct", "prometheus/direct-reference", "commentary-zh/evidence")


class Hang(BaseException):
    """A command that does not come back."""


def run_bounded(*arguments: str | Path) -> Outcome:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, HANGS_AFTER_SECONDS)
    try:
        return adjudge(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check(done: Outcome, arguments: tuple[str | Path, ...], where: str) -> None:
    told = f"{where}: adjudge {' '.join(map(str, arguments))}\n{done.err[-2000:]}"
    assert "Traceback" not in done.err + done.out, told
    assert "an error inside Adjudge" not in done.err, told
    may_be_1 = arguments[0] in MAY_BE_1 or arguments[:2] == ("protocols", "check")
    assert done.code in DOCUMENTED or (done.code == 1 and may_be_1), f"exit {done.code}, {told}"
    assert done.code in (0, 1, 3, 4) or done.err.strip() or done.out.strip(), told


class Case(NamedTuple):
    """A command, and the files beside it of which some are changed."""

    arguments: tuple[str, ...]
    files: tuple[str, ...]


TRACES = (
    "openinference.otlp.json", "phoenix.json", "mlflow.json", "openai_agents_chat.jsonl",
    "langfuse.otlp.json",
    "anthropic_batch.jsonl", "langchain.jsonl",
)  # fmt: skip
RUN = ("run", "items.jsonl", "--store", "new.db", "-q", "-m")
RUBRIC = ("-p", "prometheus/direct", "--rubric")
AUDIT = ("audit", "items.jsonl", "-n", "4", "--store", "new.db", "-q", "-m")
CASES = (
    Case((*RUN, "replay:replies.jsonl", *RUBRIC, "rubric.toml"), ("items.jsonl", "replies.jsonl",
    "rubric.toml")),
    Case((*RUN, "fake:text=[RESULT] 4", *RUBRIC, "rubric.json"), ("items.jsonl", "rubric.json")),
    Case((*RUN, "fake:script=script.jsonl", *RUBRIC, "rubric.toml"), ("script.jsonl",)),
    Case((*RUN, "fake:text=<score>4</score>", "-p", "protocol"), ("protocol/protocol.toml",
    "protocol/user.md", "protocol/system.md")),
    Case((*RUN, "replay:replies.jsonl", "-p", "protocol", "--json"), ("protocol/protocol.toml",
    "replies.jsonl")),
    Case((*RUN, "fake:text=8", "-p", "commentary-zh/evidence", "--examples", "examples.jsonl", "--map",
    "commentary=response"),
         ("examples.jsonl", "items.jsonl")),
    Case(("run", "items.csv", "--store", "new.db", "-q", "-m", "fake:text=[RESULT] 4", *RUBRIC,
    "rubric.toml", "--skip-bad"), ("items.csv",)),
    Case(("run", "items.json", "--store", "new.db", "-q", "-m", "fake:text=[RESULT] 4", *RUBRIC,
    "rubric.toml"), ("items.json",)),
    Case(("run", "items.jsonl.gz", "--store", "new.db", "-q", "-m", "fake:text=[RESULT] 4", *RUBRIC,
    "rubric.toml"), ("items.jsonl.gz",)),
    Case((*RUN, "fake:text=4", *RUBRIC, "rubric.toml", "--dry-run"), ("items.jsonl", "rubric.toml")),
    Case(("protocols", "check", "protocol"), ("protocol/protocol.toml", "protocol/user.md",
    "protocol/cases.toml")),
    Case(("protocols", "check", "protocol", "--json"), ("protocol/protocol.toml", "protocol/system.md")),
    Case(("protocols", "show", "protocol"), ("protocol/protocol.toml", "protocol/user.md")),
    Case(("protocols", "import", "prompts.md", "--to", "imported"), ("prompts.md",)),
    Case(("trust", "tact", "--labels", "labels.csv", "--store", "store.db", "--json"), ("labels.csv",)),
    Case(("trust", "--scores", "scores.csv", "--labels", "labels.csv"), ("scores.csv", "labels.csv")),
    Case(("gate", "tact", "--min", "tact=2", "--labels", "labels.csv", "--store", "store.db"),
    ("labels.csv",)),
    Case(("gate", "tact", "--config", "gate.toml", "--store", "store.db", "--json"), ("gate.toml",)),
    Case(("pair", "clear.jsonl", "terse.jsonl", "-o", "pairs.jsonl"), ("clear.jsonl", "terse.jsonl")),
    Case(("rank", "pairs", "--next", "3", "--outputs", "clear.jsonl", "--store", "store.db"),
    ("clear.jsonl",)),
    Case((*AUDIT, "fake:text=[RESULT] 3", *RUBRIC, "rubric.toml", "--probes", "length,truncated,"
                                                                              "injection/direct-order",
                                                                              "--json"), ("items.jsonl",
                                                                              "rubric.toml")),
    Case((*AUDIT, "fake:script=script.jsonl", *RUBRIC, "rubric.toml", "--probes", "probe,typos"),
    ("probe/probe.toml", "script.jsonl")),
    Case((*AUDIT, "fake:text=4", "-p", "protocol", "--probes", "probe", "--dry-run"), ("probe/probe.toml",
    "protocol/protocol.toml")),
    Case(("audit", "--scores", "audit.csv", "--json"), ("audit.csv",)),
    Case(("audit", "--scores", "audit.jsonl", "--scale", "1,5"), ("audit.jsonl",)),
    Case(("audit", "--scores", "orders.csv", "--json"), ("orders.csv",)),
    Case(("run", "nightly", "--config", "runs.toml", "--store", "new.db", "-q"), ("runs.toml",
    "items.jsonl")),
    Case(("gate", "probed", "--audit", "--config", "runs.toml", "--store", "store.db"), ("runs.toml",)),
    Case(("init", "items.csv", "--yes", "-m", "fake:text=4", "--config", "written.toml"), ("items.csv",)),
    Case(("init", "items.jsonl", "--yes", "-m", "fake:text=4", "--config", "written.toml"), ("items.jsonl",)),
    Case(("sample", "tact", "-n", "5", "--more", "5", "--labels", "drawn.csv", "--store", "store.db"),
    ("drawn.csv",)),
    Case(("trust", "tact", "--checked", "checked.csv", "--labels", "labels.csv", "--store", "store.db"),
    ("checked.csv",)),
    Case(("export", "tact", "--labels", "labels.csv", "--store", "store.db"), ("labels.csv",)),
    Case(("traces", "items.jsonl", "-o", "traced.jsonl"), ("items.jsonl",)),
    Case((*RUN, "replay:replies.jsonl", *RUBRIC, "rubric.toml", "--empty", "fail", "--skip-bad"),
    ("items.jsonl", "replies.jsonl")),
    Case(("labels", "add", "tact", "labels.csv", "--store", "store.db"), ("labels.csv",)),
    Case(("labels", "add", "again", "labels.csv", "--label-scale", "0,10", "--store", "store.db"),
    ("labels.csv",)),
    Case(("trust", "tact", "--labels", "labels.csv", "--label-scale", "1,9", "--store", "store.db", "--full"),
    ("labels.csv",)),
    Case(("calibrate", "tact", "--labels", "labels.csv", "-o", "map.toml", "--store", "store.db"),
    ("labels.csv",)),
    Case(("cascade", "--scores", "judges.csv", "--labels", "labels.csv", "--judges", "j,k", "--agree", "0.6",
    "--within", "1", "--json"), ("judges.csv", "labels.csv")),
    Case(("plan", "tact", "--width", "0.4", "--store", "store.db"), ("store.db",)),
    Case(("drift", "tact", "--store", "store.db"), ("store.db",)),
    Case((*RUN, "fake:script=extracts.jsonl", "-p", "claims/supported", "--map", "context=question"),
    ("extracts.jsonl", "items.jsonl")),
    Case((*RUN, "replay:replies.jsonl", "-p", "commentary-zh/evidence", "--map", "commentary=response"),
    ("replies.jsonl", "items.jsonl")),
    *(Case(("run", name, "--traces", "auto", "--store", "new.db", "-q", "-m", "fake:text=4", "-p",
    "geval/score"), (name,)) for name in TRACES),
    Case(("runs", "merge", "store.db", "--store", "other.db"), ("store.db",)),
    Case(("runs", "merge", "store.db", "--store", "other.db", "--json"), ("other.db",)),
    *(
        Case((*arguments, "--store", "store.db"), ("store.db",))
        for arguments in (
            ("report", "tact", "--json"), ("report", "last"), ("report", "tact", "--html", "out.html"),
            ("export", "tact"),
            ("export", "tact", "--format", "csv"), ("runs",), ("runs", "show", "tact", "--prompt"), ("runs",
            "show", "tact", "--json"),
            ("compare", "tact", "again"), ("rank", "pairs", "--json"), ("trust", "tact"), ("sample", "tact",
            "-n", "5"),
            ("sample", "tact", "--replies"), ("gate", "tact", "--min", "tact=3", "--baseline", "again",
            "--max-drop", "tact=1"),
            ("reread", "tact"), ("doctor",), ("doctor", "--repair", "saved.db"), ("runs", "rename", "tact",
            "other"),
            ("runs", "delete", "tact", "--yes"), ("annotate", "tact", "--export", "out.csv"), ("audit",
            "probed"), ("audit", "probed", "--json"),
            ("audit", "pairs", "--json"), ("audit", "tact", "--markdown"), ("gate", "probed", "--audit",
            "--json"), ("compare", "probed", "probed", "--json"),
            ("report", "probed", "--html", "out.html"), ("export", "tact", "-o", "out.parquet"), ("trust",
            "tact", "--versus", "again", "--by", "question"),
            ("sample", "tact", "--where", "uncertain"), ("report", "tact", "--markdown"), ("doctor",
            "--json"),
            ("view", "tact", "--export", "pages"), ("runs", "--json"), ("audit", "again", "--json"),
        )
    ),
)  # fmt: skip


def make_corpus(folder: Path) -> None:
    """Valid files of every kind that a command reads, and a store with four runs and labels."""
    import gzip
    import json

    rows = [
        {"id": f"i{k}", "system": "abc"[k % 3], "group": f"g{k // 3}", "instruction": "Say it.",
        "question": "What?", "response": f"It is {k}, and {'so ' * (k % 7)}on."}
        for k in range(24)
    ]  # fmt: skip
    write_rows(folder / "items.jsonl", rows)
    (folder / "items.json").write_text(json.dumps(rows))
    (folder / "items.jsonl.gz").write_bytes(gzip.compress((folder / "items.jsonl").read_bytes()))
    lines = [
        "id,system,group,instruction,question,response",
        *(",".join(f'"{cell}"' for cell in row.values()) for row in rows),
    ]
    (folder / "items.csv").write_text("\n".join(lines))
    write_rows(
        folder / "replies.jsonl",
        [
            {"item": f"i{k}", "text": f"Feedback: {k}. [RESULT] {k % 5 + 1}", "criterion": "tact"}
            for k in range(24)
        ],
    )
    write_rows(folder / "script.jsonl", [{"text": f"So. [RESULT] {k % 5 + 1}"} for k in range(24)])
    shutil.copy(EXAMPLES / "tact.toml", folder / "rubric.toml")
    levels = {f"score{k}_description": f"level {k}" for k in range(1, 6)}
    (folder / "rubric.json").write_text(json.dumps({"criteria": "Is it polite?", **levels}))
    shutil.copy(EXAMPLES / "commentary.examples.jsonl", folder / "examples.jsonl")
    assert adjudge("protocols", "new", folder / "protocol").code == 0
    (folder / "protocol" / "system.md").write_text("You judge replies.\n")
    shutil.copy(EXAMPLES / "protocols-guide" / "museum-prompts.md", folder / "prompts.md")
    for name in ("clear", "terse"):
        shutil.copy(EXAMPLES / "ranking" / f"{name}.jsonl", folder)
    labels = [f"i{k},tact,{rater},{k % 5 + 1}" for k in range(24) for rater in ("ann", "ben")]
    (folder / "labels.csv").write_text("\n".join(["item,criterion,rater,value", *labels]))
    scores = [f"i{k},{'abc'[k % 3]},tact,{k % 4 + 1}" for k in range(24)]
    (folder / "scores.csv").write_text("\n".join(["item,system,criterion,value", *scores]))
    (folder / "gate.toml").write_text(
        '[gate]\nmin = { tact = 2.0 }\nmax_failed = "10%"\nsystem = ["a", "b"]\n'
    )
    for name in TRACES:
        shutil.copy(MADE / name, folder)
    judges = [f"i{k},{judge},{k % 5 + 1},0.{k % 9}" for k in range(24) for judge in ("j", "k")]
    (folder / "judges.csv").write_text("\n".join(["item,judge,value,confidence", *judges]))
    script = [{"text": f"1. It is {k}.\n2. So on."} for k in range(24)]
    write_rows(folder / "extracts.jsonl", [*script, *({"text": "Yes. supported"} for _ in range(48))])
    make_audit_files(folder)
    make_store(folder)


def make_audit_files(folder: Path) -> None:
    """Scores of an audit made elsewhere, choices in both orders, a probe, a run file, and files of a draw."""
    probes = ("none", "repeat", "length", "injection/direct-order", "direct-order/control", "emptied")
    rows = [
        {"item": f"i{k}", "probe": probe, "value": (k + n) % 5 + 1, "judge": "j", "criterion": "tact",
        "group": f"g{k // 3}"}
        for k in range(24)
        for n, probe in enumerate(probes)
    ]  # fmt: skip
    write_rows(folder / "audit.jsonl", rows)
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (folder / "audit.csv").write_text("\n".join(lines))
    choices = [
        f"i{k},{order},{choice}"
        for k in range(24)
        for order, choice in zip(("ab", "ba"), ("ab", "ba", "aa")[k % 3], strict=True)
    ]
    (folder / "orders.csv").write_text("\n".join(["item,order,choice", *choices]))
    (folder / "probe").mkdir()
    (folder / "probe" / "probe.toml").write_text(
        'title = "A signature"\nkind = "must_not_move"\n\n[[variants]]\nname = "signature"\nedit = "append"\n'
        'texts = ["Kind regards, {model}", "Yours, Sam"]\n'
    )
    (folder / "runs.toml").write_text(
        '[models.judge]\nmodel = "fake:text=[RESULT] 4"\nprice = [1.0, 2.0]\ntemperature = '
        '0.5\n\n[runs.nightly]\nitems = "items.jsonl"\n'
        'models = ["judge"]\nsamples = 2\njudge = [{ protocol = "prometheus/direct", rubric = '
        '"rubric.toml" }]\n\n'
        '[gate]\nmax_shift = 0.5\nmax_injection = "5%"\nmax_failed = "10%"\n'
    )


def make_store(folder: Path) -> None:
    """Four runs, one of pairs and one an audit, with labels
    and failed calls; and another store to merge with.
    """
    store = folder / "store.db"
    write_rows(
        folder / "pairs-items.jsonl",
        [{"id": f"p{k}", "system_a": "x", "system_b": "y", "instruction": "Say.", "response_a": f"a{k}",
        "response_b": f"b{k}"} for k in range(8)],
    )  # fmt: skip
    some = folder / "some-replies.jsonl"
    some.write_text("".join((folder / "replies.jsonl").read_text().splitlines(keepends=True)[:-3]))
    direct = (*RUBRIC, str(folder / "rubric.toml"), "--store", store, "-q")
    runs: tuple[tuple[str | Path, ...], ...] = (
        ("run", folder / "items.jsonl", "-m", f"replay:{some}", *direct, "--run", "tact"),
        ("run", folder / "items.jsonl", "-m", "fake:text=[RESULT] 3", *direct, "--run", "again"),
        ("run", folder / "pairs-items.jsonl", "-m", "fake:text=Output (a)", "-p", compare_folder(folder),
        "--store", store, "-q", "--run", "pairs"),
        ("audit", folder / "items.jsonl", "-m", f"fake:script={folder / 'script.jsonl'}", *direct, "--run",
        "probed", "-n", "4", "--probes", "length,emptied,injection/direct-order"),
        ("run", folder / "items.jsonl", "-m", "fake:text=[RESULT] 2", *RUBRIC, folder / "rubric.toml",
        "--store", folder / "other.db", "-q", "--run", "elsewhere"),
        ("sample", "tact", "-n", "5", "-o", folder / "drawn.csv", "--store", store),
        ("sample", "tact", "--replies", "-n", "5", "-o", folder / "checked.csv", "--store", store),
    )  # fmt: skip
    for run in runs:
        done = adjudge(*run)
        assert done.code == 0, done.err
    with open_store(store) as opened:
        labels = [Label(f"i{k}", "tact", "ann", float(k % 5 + 1)) for k in range(12)]
        opened.put_labels(labels, opened.run("tact"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    make_corpus(folder)
    return folder


def prepared(case: Case, corpus: Path, folder: Path, change: Callable[[str, bytes], bytes]) -> None:
    """The files of the corpus in a fresh folder, those of the case changed."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("protocol", "probe"):
        shutil.copytree(corpus / name, folder / name)
    for file in corpus.iterdir():
        is_wanted = file.suffix != ".db" or file.name in case.arguments
        if file.is_file() and is_wanted and not file.name.endswith(("-wal", "-shm")):
            shutil.copyfile(file, folder / file.name)
    for name in case.files:
        (folder / name).write_bytes(change(name, (corpus / name).read_bytes()))


@pytest.mark.parametrize("tries", [FEW_TRIES, pytest.param(TRIES, marks=pytest.mark.slow)])
def test_no_command_ends_with_a_traceback(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tries: int,
) -> None:
    codes: Counter[int] = Counter()
    for number in range(FIRST, FIRST + tries):
        # A file that was closed by a failing command may still be open in this process: a new folder for each
        # try.
        folder = tmp_path / f"try-{number}"
        codes[try_one(number, corpus, folder, monkeypatch)] += 1
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(folder, ignore_errors=True)
    with capsys.disabled():
        print(f"\n{tries} tries, exit codes: {dict(sorted(codes.items()))}")
    if tries > len(CASES):
        assert codes[2] < 0.5 * tries, "most inputs are refused before a command does anything with them"


def try_one(number: int, corpus: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of one command on changed files; number and seed decide which command and which
    changes.
    """
    random = Random(f"{SEED}/{number}")
    case = CASES[number % len(CASES)]
    wanted = random.choice(case.files)
    is_gentle = random.random() < GENTLE

    def change(name: str, data: bytes) -> bytes:
        if name != wanted and random.random() < 0.7:
            return data
        if name.endswith(".db"):
            return damaged(data, random)
        return reworded(data, random) if is_gentle else mutated(data, random)

    prepared(case, corpus, folder, change)
    monkeypatch.chdir(folder)
    try:
        done = run_bounded(*case.arguments)
    except Hang:
        raise AssertionError(f"try {number}, seed {SEED} hangs: {case.arguments}") from None
    check(done, case.arguments, f"try {number}, seed {SEED}")
    return done.code


READERS: dict[str, tuple[str, ...]] = {
    "export": ("export", "tact"),
    "export of pairs": ("export", "pairs", "--format", "csv"),
    "report": ("report", "tact", "--json"),
    "runs": ("runs", "--json"),
    "replies": ("runs", "show", "tact", "--limit", "100", "--json"),
    "compare": ("compare", "tact", "again", "--json"),
    "rank": ("rank", "pairs", "--json"),
    "trust": ("trust", "tact", "--json"),
    "sample": ("sample", "tact", "-n", "10"),
    "gate": ("gate", "tact", "--min", "tact=2", "--json"),
    "audit": ("audit", "probed", "--json"),
    "audit of pairs": ("audit", "pairs", "--json"),
    "gate of an audit": ("gate", "probed", "--audit", "--json"),
    "corrected intervals": ("export", "tact", "--format", "csv", "--labels", "labels.csv"),
    "compare of audits": ("compare", "probed", "probed", "--json"),
    "labels": ("annotate", "tact", "--export", "labels-out.csv"),
}
DAMAGES = int(os.environ.get("ADJUDGE_DAMAGES", "40"))


def facts(name: str, done: Outcome) -> object:
    """What must be right in an output. Sums of tokens, costs and seconds are not checked row by row."""
    if name == "report":
        return done.json["systems"]
    if name == "runs":
        return [
            {key: row[key] for key in ("run", "status", "items", "calls", "failed_calls")}
            for row in done.json
        ]
    if name == "labels":
        return Path("labels-out.csv").read_text(encoding="utf-8")
    return done.out


@pytest.mark.slow
def test_a_damaged_store_gives_an_error_or_the_right_rows(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(corpus / "labels.csv", tmp_path)
    whole = (corpus / "store.db").read_bytes()
    (tmp_path / "whole.db").write_bytes(whole)
    right = {name: answer(name, tmp_path / "whole.db", "the whole store") for name in READERS}
    n_errors = sum(check_damage(number, whole, right, tmp_path) for number in range(FIRST, FIRST + DAMAGES))
    assert n_errors > 0


def answer(name: str, store: Path, where: str) -> tuple[int, object]:
    """The exit code of a reading command, and what must be right in its output."""
    try:
        done = run_bounded(*READERS[name], "--store", store)
    except Hang:
        raise AssertionError(f"{where}: {name} hangs") from None
    check(done, READERS[name], where)
    return done.code, facts(name, done) if done.code != 2 else None


def check_damage(number: int, whole: bytes, right: dict[str, tuple[int, object]], folder: Path) -> bool:
    """Damage the store, and read it with every command; whether export noticed."""
    data = damaged(whole, Random(f"{SEED}/{number}"))
    outcomes: dict[str, int] = {}
    for name in READERS:
        store = folder / f"{number}-{name}.db"
        store.write_bytes(data)
        code, content = answer(name, store, f"damage {number}, seed {SEED}")
        outcomes[name] = code
        if code != 2:
            assert (code, content) == right[name], f"damage {number}, seed {SEED}: {name}"
        store.unlink()
    check_merge(number, data, right, folder)
    if outcomes["export"] == 2:
        examined = folder / f"{number}-doctor.db"
        examined.write_bytes(data)
        assert adjudge("doctor", "--store", examined).code == 2, f"damage {number}: doctor calls it whole"
    return outcomes["export"] == 2


def check_merge(number: int, data: bytes, right: dict[str, tuple[int, object]], folder: Path) -> None:
    """A damaged store that merges has all its rows in the new one; one that does not leaves an error."""
    where = f"damage {number}, seed {SEED}"
    source, merged = folder / f"{number}-part.db", folder / f"{number}-merged.db"
    source.write_bytes(data)
    arguments = ("runs", "merge", str(source), "--store", str(merged))
    done = run_bounded(*arguments)
    check(done, arguments, where)
    if done.code == 0:
        for name in ("export", "export of pairs", "audit"):
            assert answer(name, merged, where) == right[name], f"{where}: {name} of the merged store"
