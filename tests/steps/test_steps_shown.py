"""What people see of a judgment in steps: report, `runs show`,
pages, exports, `protocols show` and `check`, the fixture.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from adjudge.analysis.item_view.item_view import item_view
from adjudge.analysis.report.report import summarise
from adjudge.analysis.run_view.tabulate import tabulate
from adjudge.protocols.check import check_protocols
from adjudge.records import ElementSummary
from adjudge.results.manifest import protocols_of
from adjudge.store import open_store
from adjudge.store.browsing import calls_of_item, item_at
from running import EXAMPLES, adjudge

RAG = EXAMPLES / "rag"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "adjudge.db"
    replies = f"replay:{RAG / 'faithfulness.replies.jsonl'}"
    done = adjudge(
        "run",
        RAG / "answers.jsonl",
        "-p",
        "rag/faithfulness",
        "-m",
        replies,
        "--store",
        path,
        "--run",
        "f",
        "-q",
    )
    assert done.code == 0, done.err
    return path


def test_a_report_has_the_mean_per_item_and_over_elements(store: Path) -> None:
    with open_store(store, write=False) as opened:
        summary = summarise(tabulate(opened, opened.run("f")))
    eager = summary.systems["eager"]["faithfulness"]
    assert (eager.value, eager.n, eager.n_failed, eager.n_undefined) == (pytest.approx(1 / 3), 1, 0, 1)
    assert isinstance(summary.elements, dict)
    by_system = {entry.system: entry for entry in summary.elements["faithfulness"]}
    plain = by_system["plain"]
    assert isinstance(plain, ElementSummary)
    assert (plain.counts, plain.failures, plain.mean.n) == ({"supported": 3}, {}, 3)
    assert by_system["eager"].counts == {"supported": 1, "not supported": 2}
    assert (by_system["eager"].n_quoted, by_system["eager"].n_found) == (2, 2)


def test_elements_of_one_item_count_as_one_observation(store: Path) -> None:
    with open_store(store, write=False) as opened:
        summary = summarise(tabulate(opened, opened.run("f")))
    assert isinstance(summary.elements, dict)
    units = {entry.system: entry.mean.unit for entry in summary.elements["faithfulness"]}
    assert units == {"plain": "item (n=2)", "eager": "item (n=1)"}


def test_an_item_with_nothing_to_score_is_in_no_comparison(store: Path) -> None:
    with open_store(store, write=False) as opened:
        view = tabulate(opened, opened.run("f"))
    assert "port/eager" not in {result.item for result in view.results}
    rows = adjudge("export", "f", "--store", store).rows
    assert [row["score"] for row in rows if row["item"] == "port/eager"] == [None]


def test_the_page_of_an_item_shows_each_claim_in_the_text_and_its_evidence(store: Path) -> None:
    with open_store(store, write=False) as opened:
        run = opened.run("f")
        view = item_view(item_at(opened, run, 1), calls_of_item(opened, run, 1), protocols_of(opened, run))
    (judge,) = view.judges
    whole = next(call for call in view.calls if call.kind == "combine")
    assert [(element.verdict, element.tone) for element in whole.elements] == [
        ("supported", "good"),
        ("not supported", "bad"),
        ("not supported", "bad"),
    ]
    marked = [part.text for part in whole.judged if part.element is not None]
    assert marked == [
        "Tram 28 takes about 50 minutes",
        "A ticket costs 2 euros",
        "The tram was built in 1936",
    ]
    assert "".join(part.text for part in whole.judged) == view.item.fields["response"]  # type: ignore[union-attr]
    assert whole.elements[0].evidence[0].fields == ("context",)
    assert len(judge.samples) == 1


def test_the_pages_name_every_verdict_in_words(store: Path, tmp_path: Path) -> None:
    assert adjudge("view", "f", "--store", store, "--export", tmp_path / "pages").code == 0
    pages = [path.read_text(encoding="utf-8") for path in (tmp_path / "pages").rglob("item-*.html")]
    (page,) = [page for page in pages if '<mark class="element bad"' in page]
    assert len(re.findall(r'<mark class="element (?:good|bad)"', page)) == 3
    assert "not supported</a></sup>" in page
    assert "passage 2" in page


def test_runs_show_lists_the_elements(store: Path) -> None:
    shown = adjudge("runs", "show", "f", "--item", "tram/eager", "--limit", "1", "--store", store).out
    assert "  2. [not supported] A ticket costs 2 euros. (at 32)" in shown
    assert "(found, passage 2)" in shown


def test_elements_are_exported_one_to_a_row(store: Path) -> None:
    rows = adjudge("export", "f", "--elements", "--store", store).rows
    assert [(row["item"], row["element"]) for row in rows] == [
        ("tram/plain", 1), ("tram/plain", 2), ("tram/eager", 1), ("tram/eager", 2), ("tram/eager", 3),
        ("port/plain", 1),
    ]  # fmt: skip
    assert rows[0]["verdict"] == "supported"
    assert rows[0]["passage"] == 1


def test_elements_of_a_run_without_steps_are_a_mistake(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    adjudge(
        "run",
        EXAMPLES / "answers.jsonl",
        "-p",
        "geval/score",
        "--criterion",
        "Is it kind?",
        "-m",
        "fake:text=Score: 4",
        "--store",
        store,
        "-q",
    )
    done = adjudge("export", "last", "--elements", "--store", store)
    assert done.code == 2
    assert "judges in steps" in done.err


def test_shards_of_a_run_in_steps_merge_to_the_whole_run(store: Path, tmp_path: Path) -> None:
    replies = f"replay:{RAG / 'faithfulness.replies.jsonl'}"
    parts = []
    for number in (1, 2):
        parts.append(tmp_path / f"part{number}.db")
        done = adjudge(
            "run",
            RAG / "answers.jsonl",
            "-p",
            "rag/faithfulness",
            "-m",
            replies,
            "--store",
            parts[-1],
            "--run",
            "f",
            "--shard",
            f"{number}/2",
            "-q",
        )
        assert done.code == 0, done.err
    merged = tmp_path / "merged.db"
    assert adjudge("runs", "merge", *parts, "--store", merged).code == 0
    for flags in ((), ("--elements",)):
        whole, joined = (adjudge("export", "f", *flags, "--store", path).rows for path in (store, merged))
        assert joined == whole
    with open_store(merged, write=False) as opened:
        assert opened.run("f").status == "done"
    assert adjudge("doctor", "--store", merged).code == 0


def test_protocols_show_prints_every_step() -> None:
    shown = adjudge("protocols", "show", "rag/faithfulness").out
    assert "--- step 1: claims (extract: a list; an item may bring it as 'claims') ---" in shown
    assert "--- step 2: verdict (check: one element a call; supported, not supported) ---" in shown
    assert "--- step 3: share (combine: share → faithfulness) ---" in shown
    assert "{{element}}" in shown


def test_protocols_show_says_which_prompts_depend_on_a_reply() -> None:
    done = adjudge("protocols", "show", "rag/faithfulness", "--item", f"{RAG / 'answers.jsonl'}:1")
    assert "--- claims: user ---" in done.out
    assert "The prompts of verdict depend on the reply." in done.err


def test_an_audit_refuses_items_that_bring_their_elements(tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(
        json.dumps({"response": "Ada.", "context": ["Ada."], "claims": ["Ada."]}), encoding="utf-8"
    )
    done = adjudge(
        "audit", items, "-p", "rag/faithfulness", "-m", "fake:text=x", "--store", tmp_path / "a.db"
    )
    assert done.code == 2
    assert "probes of the response would change nothing" in done.err


# -- protocols check


FOLDER = Path(__file__).parents[2] / "src" / "adjudge" / "protocols" / "builtin" / "rag" / "faithfulness"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('prompt = "claims.md"', "", "it needs a prompt or a field, not both."),
        ('prompt = "claims.md"', 'from = "passages"', "from = 'passages' is not in inputs"),
        ('prompt = "claims.md"', 'from = "context"\nrule = "words"', "there is no rule 'words'"),
        ('prompt = "claims.md"', 'prompt = "claim.md"', "claim.md is missing"),
        ('prompt = "claims.md"', 'prompt = "../claims.md"', "which is not a file of this folder"),
        ('name = "claims"', 'name = "response"', "its name is that of the input 'response'"),
        ('kind = "extract"', 'kind = "extrakt"', "cannot be 'extrakt'"),
        ('how = "share"', 'how = "sum"', "cannot be 'sum'"),
        ('how = "share"', 'how = "share"\ncriterion = "truth"', "criterion = 'truth' is no criterion."),
        ("high = 1, best = 1", "high = 5, best = 5", "is a share, but the scale is 0 to 5"),
        ('"not supported" = 0', '"not supported" = 2', "which is not on the scale of 'faithfulness'"),
        ('prompt = "verdict.md"', 'prompt = "verdict.md"\nper_call = "all"', "its prompt does not show the "
                                                                             "elements"),
        ('prompt = "verdict.md"', 'prompt = "claims.md"', "its prompt does not show the element."),
        ('prompt = "verdict.md"', 'prompt = "verdict.md"\nelements = "facts"',
        "elements = 'facts' is no extract step"),
        ('evidence_in = ["context"]', 'evidence_in = ["source"]', "'source' is in evidence_in, but is no "
                                                                  "input"),
        ('task = "score"', 'task = "compare"', "task is 'compare'"),
    ],
)  # fmt: skip
def test_steps_that_do_not_fit_together_are_problems(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    folder = tmp_path / "faithful"
    shutil.copytree(FOLDER, folder)
    settings = (folder / "protocol.toml").read_text(encoding="utf-8")
    assert old in settings
    (folder / "protocol.toml").write_text(settings.replace(old, new, 1), encoding="utf-8")
    found = check_protocols([folder])
    assert any(message in finding.message for finding in found), [finding.message for finding in found]


def test_a_check_without_an_extract_is_a_problem(tmp_path: Path) -> None:
    folder = tmp_path / "faithful"
    shutil.copytree(FOLDER, folder)
    settings = (folder / "protocol.toml").read_text(encoding="utf-8")
    start, end = settings.index("[[steps]]"), settings.index("[[steps]]", settings.index("[[steps]]") + 1)
    (folder / "protocol.toml").write_text(settings[:start] + settings[end:], encoding="utf-8")
    assert any("no step of kind 'extract'" in finding.message for finding in check_protocols([folder]))


def test_a_copy_of_a_built_in_folder_is_clean_and_cases_are_read_by_their_step(tmp_path: Path) -> None:
    folder = tmp_path / "faithful"
    shutil.copytree(FOLDER, folder)
    assert check_protocols([folder]) == []
    cases = (folder / "cases.toml").read_text(encoding="utf-8")
    (folder / "cases.toml").write_text(cases.replace("born in 1815.", "born in 1816.", 1), encoding="utf-8")
    assert [finding.name for finding in check_protocols([folder])] == ["case"]


def test_an_unknown_slot_of_a_step_is_found_in_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "faithful"
    shutil.copytree(FOLDER, folder)
    with (folder / "claims.md").open("a", encoding="utf-8") as file:
        file.write("{{element}}\n")
    (finding,) = check_protocols([folder])
    assert (Path(finding.file).name, finding.name) == ("claims.md", "unknown-placeholder")
