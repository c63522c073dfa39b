"""The scenarios of the golden outputs: what is judged, and which commands are asked about it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stage import PAGE, Stage, ask, command, open_web, query

TACT = ("-p", "prometheus/direct", "--rubric", "examples/tact.toml")
HELPFUL = ("-p", "prometheus/pairwise", "--rubric", "examples/ranking/helpful.toml")
COURTESY = ("-p", "examples/protocols-guide/courtesy")
STYLES = tuple(f"examples/ranking/{name}.jsonl" for name in ("clear", "terse", "wordy"))


def judge(stage: Stage, run: str, items: str, *how: str) -> None:
    """A run whose end is written down: its messages, its report is the one of `report`."""
    done = command("run", items, *how, "--run", run, "--quiet")
    stage.exits[f"run-{run}"] = done.code
    if done.err:
        stage.write(f"run-{run}.err", done.err)


def analyses(
    stage: Stage, run: str, labels: str, gate: Sequence[str], *, tag: str = "", forms: str = "t"
) -> None:
    """What there is to say about one run; `forms` are those of `Stage.forms`."""
    stage.forms(f"report{tag}", "report", run, forms=forms)
    stage.forms(f"trust{tag}", "trust", run, "--labels", labels, forms=forms)
    stage.forms(f"rank{tag}", "rank", run, forms=forms)
    stage.forms(f"gate{tag}", "gate", run, *gate, forms=forms)
    stage.say(f"export{tag}.jsonl", "export", run, width=None)


def pages(stage: Stage, run: str, place: int, *also: str) -> None:
    """The page of a run and of one item; `also`: "items", the list of items, or "runs", that of runs."""
    written = {"view-run": query("/run", run=run), "view-item": query("/item", run=run, n=str(place))}
    more = {"items": query("/items", run=run), "runs": "/"}
    stage.pages(**written, **{f"view-{name}": more[name] for name in also})


def compared(first: str, second: str) -> str:
    """The address of the comparison of two runs."""
    return query("/compare", **{"with": (first, second)})


def a_system(
    name: str, gate: Sequence[str], *how: str, low: int = 1, high: int = 5
) -> Callable[[Stage], None]:
    """One of the five systems on the shipped examples, from items to scores read again."""

    def play(stage: Stage) -> None:
        given = (f"examples/{name}.jsonl", *how, "-m", f"replay:examples/{name}.replies.jsonl")
        stage.say("dry-run.txt", "run", *given, "--dry-run")
        stage.say("run.txt", "run", *given, "--run", name)
        labels = stage.labels("labels.csv", name, low, high)
        stage.say("report.txt", "report", name, like="run.txt")
        for command_name, more in (("trust", ("--labels", labels)), ("rank", ()), ("gate", gate)):
            stage.say(f"{command_name}.txt", command_name, name, *more)
        stage.say("export.jsonl", "export", name, width=None)
        stage.say("reread.txt", "reread", name)
        if name == "answers":
            every_form(stage, name, labels, gate, given)
        if name == "advice":
            stage.say("gate-share.txt", "gate", name, "--min", "overall=50%", "--system", "short")
            stage.forms("report", "report", name, forms="j")
            stage.forms("rank", "rank", name, forms="j")
            stage.say("sample.csv", "sample", name, "-n", "2", width=None)
            stage.say("sample-replies.csv", "sample", name, "--replies", "-n", "1", width=None)
            stage.say("runs-show.txt", "runs", "show", name, "--limit", "2")
            pages(stage, name, 1, "items")
            labelling_page(stage, name)
        if name == "products":
            stage.say("sample.csv", "sample", name, "-n", "2", width=None)
            stage.say("runs-show.txt", "runs", "show", name, "--limit", "2")

    return play


def every_form(stage: Stage, run: str, labels: str, gate: Sequence[str], given: Sequence[str]) -> None:
    """The same run in the forms and pages that the other systems have in common with it."""
    others = "njm"
    stage.forms("report", "report", run, forms=others)
    stage.forms("trust", "trust", run, "--labels", labels, forms=others)
    stage.forms("rank", "rank", run, forms=others)
    stage.forms("gate", "gate", run, *gate, forms=others)
    stage.say("run-again.json", "run", *given, "--run", run, "--json", width=None, like="report.json")
    stage.say("export.csv", "export", run, "--format", "csv", width=None)
    stage.say("trust-without-labels.txt", "trust", run)
    stage.say("sample.csv", "sample", run, "-n", "2", width=None)
    stage.say("sample-replies.csv", "sample", run, "--replies", "-n", "1", width=None)
    stage.forms("reread", "reread", run, forms="j")
    stage.forms("runs", "runs", forms="tj")
    stage.forms("runs-show", "runs", "show", run, "--limit", "2", forms="tj")
    stage.say("report-html.txt", "report", run, "--html", "written.html")
    stage.say("runs-show-prompt.txt", "runs", "show", run, "--item", "refund-calm", "--prompt")
    pages(stage, run, 1, "items", "runs")
    annotate(stage, run)


def annotate(stage: Stage, run: str) -> None:
    """The labelling pages before and after a label, and the labels in the store."""
    with open_web(stage.work / "adjudge.db", run, 2) as app:
        stage.page(app, "annotate-start", "/annotate")
        page = stage.page(app, "annotate-item", "/annotate/item?rater=eva")
        key = re.search(r'data-item="([0-9a-f]+)"', page)
        if key is not None:
            value = "left" if "left&#34;}" in page else 3
            given = {"rater": "eva", "item": key[1], "question": 0, "value": value}
            status, text = ask(app, "/annotate/label", given)
            stage.exits["annotate-label.json"] = status
            stage.write("annotate-label.json", text)
            stage.page(app, "annotate-labelled", "/annotate/item?rater=eva", like="annotate-item")
    stage.say("annotate-export.txt", "annotate", run, "--export", "stored.csv")
    stage.file("annotate-export.csv", "stored.csv")


def labelling_page(stage: Stage, run: str) -> None:
    """The page on which one item is labelled."""
    with open_web(stage.work / "adjudge.db", run, 2) as app:
        stage.page(app, "annotate-item", "/annotate/item?rater=eva")


def styles(stage: Stage) -> None:
    """Pairs of three styles: ranking in all its forms, and what to ask next."""
    stage.say("pair.txt", "pair", *STYLES, "-o", "pairs.jsonl")
    stage.file("pairs.jsonl", "pairs.jsonl")
    stage.say("pair.json", "pair", *STYLES, "-o", "again.jsonl", "--json", width=None)
    replies = ("-m", "replay:examples/ranking/replies.jsonl")
    judge(stage, "styles", "pairs.jsonl", *HELPFUL, *replies)
    labels = stage.labels("labels.csv", "styles")
    analyses(stage, "styles", labels, ("--min", "helpful=50%", "--system", "clear"), forms="tj")
    stage.say("export.csv", "export", "styles", "--format", "csv", width=None)
    stage.forms("rank", "rank", "styles", forms="nm")
    stage.forms("rank-next", "rank", "styles", "--next", "4", forms="tj", like="rank")
    stage.forms(
        "rank-half", "rank", "styles", "--ties", "half", "--criterion", "helpful", forms="t", like="rank"
    )
    stage.say("pair-ring.txt", "pair", *STYLES, "--design", "ring", "--per-item", "1", "-o", "some.jsonl")
    judge(stage, "some", "some.jsonl", *HELPFUL, *replies)
    outputs = [part for name in STYLES for part in ("--outputs", name)]
    stage.say("rank-some-next.txt", "rank", "some", "--next", "6", "-o", "more.jsonl", *outputs)
    stage.file("rank-some-next.jsonl", "more.jsonl")
    judge(stage, "given", "pairs.jsonl", *HELPFUL, *replies, "--order", "given")
    stage.say("report-given.txt", "report", "given", like="report.txt")
    stage.say("rank-given.txt", "rank", "given", like="rank.txt")
    stage.forms("compare-given", "compare", "given", "styles", forms="tj")
    stage.say(
        "trust-versus.txt", "trust", "styles", "--versus", "given", "--labels", labels, like="trust.txt"
    )
    stage.report_page("report", "styles", "--labels", labels)
    pages(stage, "styles", 0)
    stage.pages(view_compare=compared("given", "styles"))
    annotate(stage, "styles")


def demo(stage: Stage) -> None:
    """The recorded demo, where `adjudge` is a command of the shell."""
    given = ("--recorded", "--store", "adjudge-demo.db", "--report", "demo.html", "--quiet")
    path = os.environ.get("PATH", "")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{path}"
    try:
        stage.say("demo.txt", "demo", *given)
        stage.file(f"demo{PAGE}", "demo.html")
        stage.say("demo.json", "demo", *given, "--json", width=None)
    finally:
        os.environ["PATH"] = path


def likelihood(stage: Stage) -> None:
    """Log-probabilities: a scale without ends."""
    items, replies = [], []
    for k in range(18):
        source = f"Train {k // 3} leaves at {6 + k // 3} o'clock from platform {k % 7 + 1}, and it is late."
        words = f"Train {k // 3} is late and leaves at {6 + k // 3 + (k % 3 == 2)}."
        item = {"id": f"t{k}", "group": f"g{k // 3}", "system": ("plain", "long", "wrong")[k % 3]}
        items.append({**item, "source_text": source, "generated_response": words})
        tokens = re.findall(r" ?[^ ]+", words)
        chances = [-0.5 - (k * 7 + place * 3) % 11 / 4 - (k % 3 == 2) for place in range(len(tokens))]
        scored_tokens = [{"token": t, "logprob": c} for t, c in zip(tokens, chances, strict=True)]
        for criterion in ("factuality", "fluency"):
            moved = [
                {**token, "logprob": token["logprob"] - 0.25 * (criterion == "fluency")}
                for token in scored_tokens
            ]
            text = json.dumps({"unconditional": -3.5 - k / 10})
            replies.append({"item": f"t{k}", "criterion": criterion, "text": text, "logprobs": moved})
    given = (stage.rows("items.jsonl", items), "-p", "gptscore/factuality", "-p", "gptscore/fluency")
    judge(stage, "likely", *given, "-m", f"replay:{stage.rows('likely.jsonl', replies)}")
    lines = [
        f"t{k},{name},ann,{5 - k % 3 * 2 + (k % 4 == 0) - (k % 5 == 0)}"
        for k in range(18)
        for name in ("factuality", "fluency")
    ]
    labels = stage.text("labels.csv", "item,criterion,rater,value", *lines)
    analyses(stage, "likely", labels, ("--min", "factuality=-2"))
    judge(stage, "part", *given, "-m", f"replay:{stage.rows('part.jsonl', replies[:30])}")
    stage.forms("report", "report", "likely", forms="j")
    stage.say("compare.txt", "compare", "part", "likely")
    stage.say("runs-show.txt", "runs", "show", "likely", "--item", "t1")
    pages(stage, "likely", 1)
    labelling_page(stage, "likely")


def one_sided(stage: Stage) -> None:
    """Pairs without the names of systems, by two judges of which the second can never be read."""
    items = [
        {"id": f"p{k}", "instruction": f"Question {k}?", "response_a": f"Yes {k}.", "response_b": f"No, {k}."}
        for k in range(12)
    ]
    given = (stage.rows("pairs.jsonl", items), *HELPFUL)
    good = []
    for k in range(12):
        for order in ("ab", "ba"):
            is_first = (k % 4 != 3) == (order == "ab") or k == 5
            good.append(
                {"item": f"p{k}", "order": order, "text": f"Well. [RESULT] {'A' if is_first else 'B'}"}
            )
    junk = [{**row, "text": "Both of them have something."} for row in good]
    clear = f"replay:{stage.rows('clear.jsonl', good)}"
    mute = f"replay:{stage.rows('mute.jsonl', junk)}"
    judge(stage, "two", *given, "-m", clear, "-m", mute)
    judge(stage, "one", *given, "-m", clear)
    judge(stage, "none", *given, "-m", mute)
    lines = [
        f"p{k},helpful,{who},{'ab'[(k + turn) % 4 == 3]}"
        for k in range(12)
        for turn, who in enumerate(("ann", "ben"))
    ]
    labels = stage.text("labels.csv", "item,criterion,rater,value", *lines)
    half = ("--min", "helpful=50%", "--system", "a")
    analyses(stage, "two", labels, half, forms="tj")
    stage.forms("gate-lenient", "gate", "two", *half, "--max-failed", "100%", forms="tj", like="gate")
    stage.say("gate-no-system.txt", "gate", "two", "--min", "helpful=50%")
    stage.say("gate-failed.txt", "gate", "two", "--max-failed", "5%")
    drop = ("--max-drop", "helpful=10%", "--baseline", "two", "--system", "a")
    stage.forms("gate-drop", "gate", "one", *drop, forms="tj")
    for name in ("report", "rank"):
        stage.say(f"{name}-one.txt", name, "one", like=f"{name}.txt")
        stage.say(f"{name}-none.txt", name, "none")
    stage.say("trust-one.txt", "trust", "one", "--labels", labels, like="trust.txt")
    stage.say("trust-none.txt", "trust", "none", "--labels", labels)
    for name in ("one", "none"):
        stage.say(f"gate-{name}.txt", "gate", name, *half, like="gate.txt")
    stage.say("export-none.jsonl", "export", "none", width=None)
    stage.forms("compare", "compare", "one", "two", forms="t")
    stage.forms("compare-none", "compare", "one", "none", forms="tj")
    stage.say("trust-versus.txt", "trust", "one", "--versus", "two", "--labels", labels, like="trust-one.txt")
    stage.say("runs-show-failed.txt", "runs", "show", "two", "--failed", "--limit", "3")
    stage.say("sample.csv", "sample", "two", "-n", "3", width=None)
    pages(stage, "two", 3)
    stage.pages(view_run_none=query("/run", run="none"), view_compare_none=compared("one", "none"))


def direct(
    stage: Stage, name: str, scores: Mapping[str, Sequence[Any]], *, version: str = ""
) -> tuple[str, str]:
    """Items and replies of `prometheus/direct`: the k-th of a system is judged by its k-th score, or a
    text."""
    items, replies = [], []
    for system, values in scores.items():
        for k, value in enumerate(values):
            item = {"id": f"{system}-{k}", "system": system, "group": f"g{k}"}
            items.append(
                {**item, "instruction": f"Question {k}?", "response": f"Answer {k} of {system}{version}."}
            )
            text = value if isinstance(value, str) else f"So be it. [RESULT] {value:g}"
            if value is not None and value != "missing":
                replies.append({"item": item["id"], "text": text})
    return stage.rows(f"{name}.jsonl", items), stage.rows(f"{name}.replies.jsonl", replies)


def panel(stage: Stage) -> None:
    """Three judges on scores of two systems: a kind one, a strict one, one that stands apart."""
    kind = {"new": [5, 4, 5, 4, 5, 3, 5, 4, 5, 5], "old": [4, 3, 4, 3, 2, 3, 4, 3, 4, 2]}
    strict = {"new": [4, 3, 4, 4, 4, 2, 5, 3, 4, 4], "old": [3, 2, 3, 3, 1, 2, 4, 2, 3, 1]}
    apart = {
        "new": [1, 5, 2, "I cannot judge this.", 2, 5, 1, 4, 3, 1],
        "old": [5, 1, 4, 2, 5, "[RESULT] 9", 1, 5, 2, 4],
    }
    files = [
        direct(stage, name, said) for name, said in (("kind", kind), ("strict", strict), ("apart", apart))
    ]
    models = [part for _, replies in files for part in ("-m", f"replay:{replies}")]
    judge(stage, "panel", files[0][0], *TACT, *models)
    judge(stage, "single", files[0][0], *TACT, *models[:2])
    labels = stage.labels("labels.csv", "panel", raters=("ann", "ben", "cho"))
    analyses(stage, "panel", labels, ("--min", "tact=3", "--max-failed", "10%"))
    stage.forms("report", "report", "panel", forms="j")
    stage.forms("compare", "compare", "single", "panel", forms="tj")
    stage.say("gate-drop.txt", "gate", "panel", "--max-drop", "tact=0.5", "--baseline", "single")
    stage.report_page("report", "panel")
    pages(stage, "panel", 3, "items")


def failures(stage: Stage) -> None:
    """Half of the replies failed, in every way there is, more of them for one of two systems."""
    bad = [
        "It is fine.",
        "I cannot evaluate this content.",
        "[RESULT] 9",
        "good [RESULT] 1 [RESULT] 5",
        "missing",
        "",
    ]
    scores: dict[str, list[Any]] = {
        "new": [*bad, *bad, *bad[:2], 5, 4, 5, 4, 5, 5],
        "old": [*bad, 3, 2, 3, 4, 3, 2, 3, 4, 2, 3, 3, 3, 4, 2],
    }
    items, replies = direct(stage, "half", scores)
    judge(stage, "half", items, *TACT, "-m", f"replay:{replies}", "--no-reask")
    whole = {
        name: [v if isinstance(v, int) else 1 + k % 2 for k, v in enumerate(vs)]
        for name, vs in scores.items()
    }
    judge(stage, "whole", items, *TACT, "-m", f"replay:{direct(stage, 'whole', whole)[1]}")
    labels = stage.labels("labels.csv", "whole")
    analyses(stage, "half", labels, ("--min", "tact=2", "--max-failed", "60%"))
    stage.forms("report", "report", "half", forms="j")
    stage.forms("gate-failed", "gate", "half", "--min", "tact=2", forms="tjm")
    stage.say("gate-labels.txt", "gate", "half", "--min", "tact=2", "--max-failed", "20", "--labels", labels)
    stage.forms("compare", "compare", "whole", "half", forms="tm")
    stage.forms("runs-show-failed", "runs", "show", "half", "--failed", "--limit", "20", forms="tj")
    stage.forms("reread", "reread", "half", forms="tj")
    stage.say("runs.txt", "runs")
    stage.say("sample-replies.csv", "sample", "half", "--replies", "-n", "8", width=None)
    pages(stage, "half", 3)
    stage.pages(
        view_items_failed=query("/items", run="half", status="failed"),
        view_compare=compared("whole", "half"),
    )
    # All replies fail; and a fake judge.
    judge(stage, "hopeless", items, *TACT, "-m", "fake:text=sorry", "--no-reask")
    stage.forms("hopeless-report", "report", "hopeless", forms="tj")
    stage.say("hopeless-trust.txt", "trust", "hopeless", "--labels", labels)
    stage.say("hopeless-rank.txt", "rank", "hopeless")
    stage.say("hopeless-gate.txt", "gate", "hopeless", "--min", "tact=2")
    stage.say("hopeless-compare.txt", "compare", "whole", "hopeless")
    stage.report_page("hopeless-report", "hopeless")


def gates(stage: Stage) -> None:
    """Every outcome of a gate, in every form."""
    for name, file in (("main", "before"), ("change", "after"), ("unchanged", "before")):
        judge(
            stage,
            name,
            f"examples/inbox/{file}.jsonl",
            *COURTESY,
            "-m",
            f"replay:examples/inbox/{file}.replies.jsonl",
        )
    asked: dict[str, tuple[str, ...]] = {
        "good": ("change", "--min", "courtesy=4", "--max-drop", "courtesy=0.2", "--baseline", "main"),
        "unchanged": ("unchanged", "--max-drop", "courtesy=0.1", "--baseline", "main"),
        "worse": ("main", "--min", "courtesy=4"),
        "dropped": ("main", "--max-drop", "courtesy=0.2", "--baseline", "change"),
        "open": ("change", "--min", "courtesy=4.5"),
        "failed": ("change", "--min", "courtesy=4", "--max-failed", "0"),
        "mistake": ("change", "--min", "politeness=4"),
        "turned": ("change", "--max", "courtesy=4"),
        "no-baseline": ("change", "--max-drop", "courtesy=0.2"),
        "no-system": ("change", "--min", "courtesy=4", "--system", "nobody"),
        "nothing": ("change",),
    }
    for name, given in asked.items():
        in_every_form = name in ("good", "worse", "open", "mistake")
        stage.forms(name, "gate", *given, "--junit", "junit.xml", forms="tjm" if in_every_form else "t")
        if in_every_form:
            stage.file(f"{name}.xml", "junit.xml")
        (stage.work / "junit.xml").unlink(missing_ok=True)
    stage.forms("open", "gate", *asked["open"], forms="np")
    lines = [
        f"{row['id']},courtesy,ann,{3 + k % 3 % 2}"
        for k, row in enumerate(rows_of(stage, "examples/inbox/after.jsonl"))
        if k % 2 == 0
    ]
    labels = stage.text("labels.csv", "item,criterion,rater,value", *lines)
    stage.forms("labels", "gate", "change", "--min", "courtesy=4", "--labels", labels, forms="tj")
    config = stage.text(
        "thresholds.toml",
        "[gate]",
        "min = { courtesy = 4.0 }",
        'baseline = "main"',
        'max_failed = "10%"',
        "max_drop = { courtesy = 0.2 }",
    )
    stage.forms("config", "gate", "change", "--config", config, forms="t")
    stage.text("adjudge.toml", "[gate]", "minimum = { courtesy = 4.0 }")
    stage.say("config-mistake.txt", "gate", "change")


def rows_of(stage: Stage, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (stage.work / name).read_text(encoding="utf-8").splitlines()]


def comparisons(stage: Stage) -> None:
    """Two versions of a system, and two versions of a prompt."""
    for name in ("before", "after"):
        judge(
            stage,
            name,
            f"examples/inbox/{name}.jsonl",
            *COURTESY,
            "-m",
            f"replay:examples/inbox/{name}.replies.jsonl",
        )
    for name, protocol in (("draft", "courtesy-draft"), ("repaired", "courtesy")):
        judge(
            stage,
            name,
            "examples/inbox/both.jsonl",
            "-p",
            f"examples/protocols-guide/{protocol}",
            "-m",
            f"replay:examples/inbox/both.{name}.replies.jsonl",
        )
    stage.forms("compare-versions", "compare", "before", "after", forms="tnjm")
    stage.forms("compare-prompts", "compare", "draft", "repaired", forms="tj")
    stage.say("compare-same.txt", "compare", "after", "after")
    stage.say("compare-apart.txt", "compare", "before", "draft")
    labels = stage.labels("labels.csv", "repaired")
    stage.say("trust.txt", "trust", "draft", "--labels", labels)
    stage.say(
        "trust-versus.txt", "trust", "draft", "--versus", "repaired", "--labels", labels, like="trust.txt"
    )
    for name in ("report", "rank"):
        stage.say(f"{name}-draft.txt", name, "draft")
        stage.say(f"{name}-repaired.txt", name, "repaired", like=f"{name}-draft.txt")
    stage.say("gate-draft.txt", "gate", "draft", "--min", "courtesy=2")
    stage.say("runs.txt", "runs")
    stage.pages(
        view_compare_versions=compared("before", "after"),
        view_compare_prompts=compared("draft", "repaired"),
        view_items_sorted=query("/items", run="repaired", system="warm", low="5"),
        view_item=query("/item", run="repaired", n="1"),
    )


def trusted(stage: Stage) -> None:
    """A judge card with all its parts: six systems, two raters on a part of the items, a second judge."""
    systems = ("faithful", "altered", "omission", "shuffled", "broken", "off-topic")
    items, kind, grammar = [], [], []
    for k in range(60):
        name, text = systems[k % 6], k // 6
        item = f"t{text}-{name}"
        truth = 2 if name == "broken" else 3 + (k * 5 + text) % 3
        items.append(
            {
                "id": item,
                "group": f"t{text}",
                "system": name,
                "summary": f"Summary {k}.",
                "reviews": f"Review of {text}.",
            }
        )
        said = f"Reads well enough. <score>{min(5, truth + (k % 3 == 0))}</score>"
        kind.append(
            {"item": item, "text": "It is about something else." if k in (5, 11, 29, 35, 47) else said}
        )
        grammar.append(
            {"item": item, "text": f"<score>{(2 if name == 'broken' else 4) + (k % 5 == 0)}</score>"}
        )
    given = (stage.rows("items.jsonl", items), "-p", "opinion-summary/fluency")
    judge(stage, "faults", *given, "-m", f"replay:{stage.rows('kind.jsonl', kind)}")
    judge(stage, "grammar", *given, "-m", f"replay:{stage.rows('grammar.jsonl', grammar)}")
    stage.say(
        "sample.txt", "sample", "faults", "-n", "36", "--by", "system", "--rater", "ann", "-o", "drawn.csv"
    )
    stage.file("sample.csv", "drawn.csv")
    drawn = (stage.work / "drawn.csv").read_text(encoding="utf-8").splitlines()[1:]
    names = [line.split(",")[0] for line in drawn]
    places = {item["id"]: k for k, item in enumerate(items)}
    lines = []
    for turn, rater in enumerate(("ann", "ben")):
        for n, name in enumerate(names):
            k = places[name]
            truth = 2 if name.endswith("broken") else 3 + (k * 5 + k // 6) % 3
            lines.append(f"{name},fluency,{rater},{truth - (n % (3 + turn) == 0)},0.6")
    labels = stage.text("labels.csv", "item,criterion,rater,value,probability", *lines)
    trust = ("trust", "faults", "--labels", labels)
    stage.forms("trust", *trust, forms="tjm")
    stage.forms("trust-versus", *trust, "--versus", "grammar", forms="tj", like="trust")
    stage.forms("trust-plan", *trust, "--plan", "1", forms="t", like="trust")
    stage.forms("trust-both", *trust, "--resample", "both", "--seed", "7", forms="t", like="trust")
    stage.say("sample-replies.txt", "sample", "faults", "--replies", "-n", "20", "-o", "check.csv")
    stage.file("sample-replies.csv", "check.csv")
    text = (stage.work / "check.csv").read_text(encoding="utf-8")
    rows = [line + "yes" if line.endswith(",") else line for line in text.splitlines()]
    stage.forms(
        "trust-checked", *trust, "--checked", stage.text("checked.csv", *rows), forms="t", like="trust"
    )
    stage.say("report.txt", "report", "faults")
    stage.say("rank.txt", "rank", "faults")
    stage.forms(
        "gate-labels",
        "gate",
        "faults",
        "--min",
        "fluency=3",
        "--max-failed",
        "10%",
        "--labels",
        labels,
        forms="tj",
    )
    stage.report_page("report", "faults", "--labels", labels)
    scores = stage.text(
        "scores.csv",
        "item,system,criterion,value",
        "q1,old,clarity,4",
        "q2,old,clarity,2",
        "q3,new,clarity,5",
        "q4,new,clarity,",
        "q5,new,clarity,3",
    )
    few = stage.text(
        "few.csv",
        "item,criterion,rater,value",
        *(f"q{k},clarity,ann,{v}" for k, v in enumerate((3, 2, 4, 2, 4), 1)),
    )
    stage.forms("trust-scores", "trust", "--scores", scores, "--labels", few, forms="tj")


def sampled(stage: Stage) -> None:
    """Several samples of each item, and scores from log-probabilities."""
    items = [
        {
            "id": f"s{k}",
            "system": "ab"[k % 2],
            "group": f"g{k // 2}",
            "instruction": f"Question {k}?",
            "response": f"Answer {k}.",
        }
        for k in range(12)
    ]
    said = [
        {"item": f"s{k}", "text": f"Hm. [RESULT] {1 + (k + n * (k % 3)) % 5}" if (k, n) != (4, 1) else "Hm."}
        for k in range(12)
        for n in range(3)
    ]
    given = (stage.rows("items.jsonl", items), *TACT)
    judge(stage, "three", *given, "-m", f"replay:{stage.rows('three.jsonl', said)}", "--samples", "3")
    labels = stage.labels("labels.csv", "three")
    analyses(stage, "three", labels, ("--min", "tact=2"))
    stage.forms("report", "report", "three", forms="j")
    stage.report_page("report", "three")
    pages(stage, "three", 4)
    likely = []
    for k in range(12):
        digits = [{"token": str(n), "logprob": -0.3 - abs(n - 1 - k % 5) * 0.9} for n in range(1, 6)]
        best = {"token": str(1 + k % 5), "logprob": -0.3, "top": digits}
        logprobs = [{"token": "[RESULT]", "logprob": 0.0}, {"token": " ", "logprob": 0.0}, best]
        likely.append({"item": f"s{k}", "text": f"[RESULT] {1 + k % 5}", "logprobs": logprobs})
    how = (*given, "-m", f"replay:{stage.rows('likely.jsonl', likely)}", "--estimator", "probability")
    judge(stage, "likely", *how)
    stage.forms("report-likely", "report", "likely", forms="tj", like="report")
    stage.say("export-likely.jsonl", "export", "likely", width=None)
    stage.say("compare.txt", "compare", "three", "likely")
    stage.forms("reread-likely", "reread", "likely", forms="tj")


def stopped(stage: Stage) -> None:
    """A run whose judge's quota was used up: what is there is reported, and the rest is open."""
    items, _ = direct(stage, "items", {"new": [5, 4, 3, 5], "old": [2, 3, 2, 3]})
    script = [{"text": f"[RESULT] {2 + k % 3}"} for k in range(5)] + [{"error": "quota"}]
    how = (items, *TACT, "-m", f"fake:script={stage.rows('script.jsonl', script)}", "--concurrency", "1")
    stage.say("run.txt", "run", *how, "--run", "stopped", "-q")
    stage.forms("report", "report", "stopped")
    stage.say("rank.txt", "rank", "stopped")
    stage.say("gate.txt", "gate", "stopped", "--min", "tact=2")
    stage.say("export.jsonl", "export", "stopped", width=None)
    stage.say("runs.txt", "runs")
    stage.say("runs.json", "runs", "--json", width=None)
    pages(stage, "stopped", 0)


def tools(stage: Stage) -> None:
    """Protocols, models, pairs and stores."""
    stage.forms("protocols-list", "protocols", "list", forms="tpj")
    shown = {
        "gptscore-ko": ("gptscore-ko/factuality", "--item", "examples/news.jsonl:2"),
        "geval": ("geval/compare", "--item", "examples/advice.jsonl:1", "--order", "ba"),
        "opinion": ("opinion-summary/faithfulness", "--item", "examples/products.jsonl:3"),
        "commentary": ("commentary-zh/structure", "--item", "examples/commentary.jsonl:2", "--examples",
        "examples/commentary.examples.jsonl"),
        "prometheus": ("prometheus/direct", "--item", "examples/answers.jsonl:4", "--rubric",
        "examples/tact.toml"),
        "folder": ("examples/protocols-guide/courtesy",),
        "unknown": ("no/such",),
    }  # fmt: skip
    for name, given in shown.items():
        stage.forms(f"protocols-show-{name}", "protocols", "show", *given, forms="tj")
    for name, folder in (("clean", "courtesy"), ("suspicious", "courtesy-draft")):
        stage.forms(
            f"protocols-check-{name}", "protocols", "check", f"examples/protocols-guide/{folder}", forms="tj"
        )
    stage.say("protocols-check-all.txt", "protocols", "check", "examples/protocols-guide")
    stage.say(
        "protocols-check-github.txt", "protocols", "check", "examples/protocols-guide", "--github", width=None
    )
    stage.say("protocols-new.txt", "protocols", "new", "helpfulness")
    for path in sorted((stage.work / "helpfulness").iterdir()):
        stage.file(f"protocols-new-{path.name}", path)
    stage.say("protocols-check-new.txt", "protocols", "check", "helpfulness")
    stage.say("protocols-new-again.txt", "protocols", "new", "helpfulness")
    broken = stage.work / "broken"
    broken.mkdir()
    text = (stage.work / "helpfulness" / "protocol.toml").read_text(encoding="utf-8")
    (broken / "protocol.toml").write_text(text.replace("low = 1", "low = 7"), encoding="utf-8")
    (broken / "user.md").write_text("Judge {{ nothing }}.\n", encoding="utf-8")
    stage.forms("protocols-check-broken", "protocols", "check", "broken", forms="tj")
    stage.say(
        "protocols-import.txt",
        "protocols",
        "import",
        "examples/protocols-guide/museum-prompts.md",
        "--to",
        "museum",
    )
    stage.say("protocols-check-museum.txt", "protocols", "check", "museum")
    stage.forms("models-list", "models", "list", forms="tj")
    judge(stage, "tact", "examples/answers.jsonl", *TACT, "-m", "replay:examples/answers.replies.jsonl")
    stage.forms("doctor", "doctor", forms="tj")
    stage.say("pair.jsonl", "pair", *STYLES[:2], width=None)
    stage.say(
        "pair-random.jsonl",
        "pair",
        *STYLES,
        "--design",
        "random",
        "--per-item",
        "1",
        "--seed",
        "3",
        width=None,
    )
    stage.say("pair-group.txt", "pair", "examples/inbox/both.jsonl", "--by", "group", "-o", "inbox.jsonl")
    stage.file("pair-group.jsonl", "inbox.jsonl")
    stage.say("runs-rename.txt", "runs", "rename", "tact", "polite")
    stage.say("runs-list.txt", "runs", "list")
    stage.say("runs-delete.txt", "runs", "delete", "polite", "--yes")
    criterion = (
        "--criterion",
        "Is the answer polite?",
        "--map",
        "task=instruction",
        "-m",
        "fake:text=Fine.\nScore: 4",
    )
    stage.say("criterion.txt", "run", "examples/answers.jsonl", *criterion, "--run", "words")


def mistakes(stage: Stage) -> None:
    """What a user can do wrong: a message and exit 2."""
    stage.say("no-store.txt", "report", "last")
    judge(stage, "tact", "examples/answers.jsonl", *TACT, "-m", "replay:examples/answers.replies.jsonl")
    for name in ("report", "trust", "rank", "gate", "sample", "export", "reread", "annotate"):
        stage.say(f"no-run-{name}.txt", name, "nobody")
    stage.say("no-run-compare.txt", "compare", "tact", "nobody")
    stage.say("no-run-show.txt", "runs", "show", "nobody")
    stage.say("no-labels.txt", "trust", "tact", "--labels", "nowhere.csv")
    stage.say(
        "bad-labels.txt",
        "trust",
        "tact",
        "--labels",
        stage.text("bad.csv", "item,criterion,value", "refund-calm,tact,good", "x,tact,3"),
    )
    stage.say(
        "other-labels.txt",
        "trust",
        "tact",
        "--labels",
        stage.text("other.csv", "item,criterion,rater,value", "x,tact,ann,3"),
    )
    stage.say("no-criterion.txt", "rank", "tact", "--criterion", "nothing")
    stage.say("no-model.txt", "run", "examples/answers.jsonl", *TACT)
    stage.say(
        "no-rubric.txt", "run", "examples/answers.jsonl", "-p", "prometheus/direct", "-m", "fake:text=x"
    )
    stage.say("no-field.txt", "run", "examples/answers.jsonl", "-p", "geval/compare", "-m", "fake:text=x")
    stage.say("bad-items.txt", "run", stage.text("bad.jsonl", '{"id": 1', "[]"), *TACT, "-m", "fake:text=x")
    stage.say("bad-plan.txt", "trust", "tact", "--plan", "0")
    stage.say("bad-threshold.txt", "gate", "tact", "--min", "tact")
    stage.say("two-forms.json", "report", "tact", "--json", "--markdown")
    stage.say("no-flag.txt", "report", "tact", "--nothing")


SCENARIOS: dict[str, Callable[[Stage], None]] = {
    "news": a_system("news", ("--min", "factuality=3"), "-p", "gptscore-ko/factuality"),
    "advice": a_system("advice", ("--min", "overall=3", "--min", "clarity=3", "--system", "short"), "-p",
    "geval/compare"),
    "products": a_system("products", ("--min", "faithfulness=3"), "-p", "opinion-summary/faithfulness"),
    "commentary": a_system("commentary", ("--min", "structure=5"), "-p", "commentary-zh/structure",
    "--examples", "examples/commentary.examples.jsonl", low=0, high=10),
    "answers": a_system("answers", ("--min", "tact=3"), *TACT),
    "styles": styles,
    "demo": demo,
    "likelihood": likelihood,
    "one-sided": one_sided,
    "panel": panel,
    "failures": failures,
    "gates": gates,
    "comparisons": comparisons,
    "trusted": trusted,
    "sampled": sampled,
    "stopped": stopped,
    "tools": tools,
    "mistakes": mistakes,
}  # fmt: skip
