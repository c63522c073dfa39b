"""Audits as runs: their items, calls and cache, and a planted judge over HTTP that the audit must find
out."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import DataError
from adjudge.probes import CONTROL, Probe, audit_items, load_probes, split_id
from adjudge.protocols import load_protocol
from adjudge.records import Item
from fakeserver import Answer, FakeServer, Request, chat
from running import (
    DIRECT,
    EXAMPLES,
    adjudge,
    answers,
    compare_folder,
    judge_host,
    model_at,
    prompt_of,
    write_rows,
)
from webclient import Browser

DIRECT_PROTOCOL = load_protocol("prometheus/direct", rubric=EXAMPLES / "tact.toml")


def texts(n: int) -> list[dict[str, Any]]:
    """Items with an own number, and a response of several sentences with a number, a name and a verb."""
    return [
        {"id": f"i{k}", "instruction": f"Task {k}: describe the garden.",
         "response": (
             f"The garden number {k} is large. It was planned by Miriam in 1987. Two gates lead to it. "
             "Birds nest there."
         )}
        for k in range(n)
    ]  # fmt: skip


def items_of(n: int) -> list[Item]:
    return [Item(row["id"], {name: row[name] for name in ("instruction", "response")}) for row in texts(n)]


# -- probes


def test_every_probe_and_every_attack_has_several_wordings_and_controls_of_its_shape() -> None:
    probes = {probe.name: probe for probe in load_probes()}
    assert {
        "order",
        "form",
        "length",
        "format",
        "authority",
        "crowd",
        "tone",
        "typos",
        "identity",
        "source-order",
        "language-note",
        "empty-key",
        "injection",
        "truncated",
        "shuffled",
        "swapped",
        "negated",
        "emptied",
    } == set(probes)
    assert len(probes["injection"].variants) >= 12
    for variant in probes["injection"].variants:
        assert len(variant.texts) >= 2
        for text, control in zip(variant.texts, variant.controls, strict=True):
            filled = [
                each.replace("{neutral}", "{demand}").replace("{blank", "{") for each in (text, control)
            ]
            assert abs(len(filled[0]) - len(filled[1])) <= 0.15 * len(text)
    for probe in probes.values():
        if probe.kind == "must_not_move":
            assert len(probe.variants) > 1 or len(probe.variants[0].texts) != 1


def test_edits_are_deterministic_change_their_items_and_keep_the_unchanged_one() -> None:
    first, second = (
        audit_items(items_of(20), DIRECT_PROTOCOL, "judge", load_probes(), n=10, seed=3) for _ in range(2)
    )
    assert first.items == second.items
    assert first.n_drawn == 10
    by_probe: dict[str, dict[str, Item]] = {}
    for item in first.items:
        base, probe = split_id(item.id)
        by_probe.setdefault(probe, {})[base] = item
    originals = {item.id: item for item in items_of(20)}
    for probe, edited in by_probe.items():
        assert len(edited) == 10
        for base, item in edited.items():
            same = item.fields == originals[base].fields
            assert same == (probe in ("none", "repeat", "order"))
            assert item.group == base
    assert set(first.protocols) == {"order"}
    lines = first.protocols["order"].user_text.split("\n")
    levels = [line for line in lines if line.startswith("Score ")]
    assert [line[6] for line in levels] == ["5", "4", "3", "2", "1"]
    skipped = {name for name in first.skipped if not name.startswith("form/")}
    assert skipped == {"source-order", "injection/source", "injection/against-rival"}
    other = audit_items(items_of(20), DIRECT_PROTOCOL, "judge", load_probes(), n=10, seed=4)
    assert other.items != first.items


def test_damage_is_done_to_the_facts() -> None:
    made = audit_items(items_of(5), DIRECT_PROTOCOL, "judge", load_probes(["negated"]), n=5)
    for item in made.items:
        if split_id(item.id)[1] == "negated":
            text = str(item.fields["response"])
            assert "1987" not in text
            assert "Miriam" not in text
            assert "is not large" in text


def test_identity_names_the_judge_and_a_rival_of_another_family() -> None:
    made = audit_items(items_of(8), DIRECT_PROTOCOL, "gpt-5-mini", load_probes(["identity"]), n=8)
    for item in made.items:
        probe = split_id(item.id)[1]
        text = str(item.fields["response"])
        if probe == "identity/own":
            assert "gpt-5-mini" in text
        if probe == "identity/rival":
            assert "Claude" in text


def test_sources_are_reordered_and_attacked() -> None:
    protocol = load_protocol("opinion-summary/faithfulness")
    items = [
        Item(f"i{k}", {"summary": f"Good {k}.", "reviews": ("One.", "Two.", "Three.")}) for k in range(4)
    ]
    made = audit_items(items, protocol, "judge", load_probes(["source-order", "injection/source"]), n=4)
    reviews = {split_id(item.id)[1]: item.fields["reviews"] for item in made.items}
    assert sorted(map(str, reviews["source-order"])) == ["One.", "Three.", "Two."]
    assert reviews["source-order"] != ("One.", "Two.", "Three.")
    assert "best score, 5" in str(reviews["injection/source"])
    assert f"injection/source{CONTROL}" in reviews


def test_a_probe_of_the_users_is_a_folder(tmp_path: Path) -> None:
    home = tmp_path / "signature"
    home.mkdir()
    (home / "probe.toml").write_text(
        'title = "A signature"\nkind = "must_not_move"\n[[variants]]\nname = "s"\nedit = '
        '"append"\ntexts = ["Yours, X"]\n'
    )
    (probe,) = load_probes([str(home)])
    assert isinstance(probe, Probe)
    assert probe.name == "signature"
    (home / "probe.toml").write_text(
        'title = "A"\nkind = "injection"\n[[variants]]\nname = "s"\nedit = "append"\n'
    )
    with pytest.raises(DataError, match="texts"):
        load_probes([str(home)])
    with pytest.raises(DataError, match="length"):
        load_probes(["lenght"])


# -- runs


def audit(folder: Path, server: FakeServer, *flags: str, n: int = 12) -> Any:
    items = write_rows(folder / "items.jsonl", texts(n))
    return adjudge("audit", items, *DIRECT, "-m", model_at(server), "--store", folder / "s.db", *flags)


def by_task(request: Request) -> Answer:
    match = re.search(r"Task (\d+)", prompt_of(request))
    assert match is not None
    return chat(f"Well. [RESULT] {int(match[1]) % 3 + 2}")


def test_calls_are_counted_before_and_shared_with_an_ordinary_run(tmp_path: Path) -> None:
    with judge_host(by_task) as server:
        items = write_rows(tmp_path / "items.jsonl", texts(12))
        ordinary = (
            "run",
            items,
            *DIRECT,
            "-m",
            model_at(server),
            "--store",
            tmp_path / "s.db",
            "--run",
            "plain",
        )
        assert adjudge(*ordinary).code == 0
        assert len(server.requests) == 12
        probes = ("--probes", "length,tone", "--run", "probed")
        counted = audit(tmp_path, server, *probes, "--dry-run", "--json").json
        assert (counted["items"], counted["calls"], counted["stored"]) == (48, 48, 12)
        assert len(server.requests) == 12
        done = audit(tmp_path, server, *probes, "--json")
        assert done.code == 0, done.err
        assert len(server.requests) == 48
        # The repeated items have the same prompt and are sent once more.
        assert (
            sorted(Counter(prompt_of(request) for request in server.requests).values()) == [1] * 24 + [2] * 12
        )
        again = audit(tmp_path, server, *probes, "--json")
        assert again.json == done.json
        assert len(server.requests) == 48
        stored = adjudge("audit", "probed", "--store", tmp_path / "s.db", "--json")
        assert stored.json == done.json
    (judge,) = done.json["judges"].values()
    assert {probe: (row["n"], row["failed"]) for probe,
    row in judge["criteria"]["tact"]["probes"].items()} == {
        "length": (12, 0), "tone": (12, 0),
    }  # fmt: skip


def test_a_budget_stops_an_audit_and_the_same_command_resumes_it(tmp_path: Path) -> None:
    with judge_host(by_task) as server:
        flags = ("--probes", "tone", "--run", "b", "--price", "1000,1000", "--concurrency", "1")
        assert audit(tmp_path, server, *flags, "--budget", "0.4").code == 5
        n_sent = len(server.requests)
        assert 0 < n_sent < 36
        assert audit(tmp_path, server, *flags).code == 0
        assert len(server.requests) == 36


def test_refusals_and_errors_are_counted_as_failures(tmp_path: Path) -> None:
    def refuses_tone(request: Request) -> Answer:
        is_toned = "certain" in prompt_of(request) or "doubt about" in prompt_of(request)
        return chat("I cannot assess this.") if is_toned else by_task(request)

    with judge_host(refuses_tone) as server:
        done = audit(tmp_path, server, "--probes", "tone", "--reask", "0", "--json", n=20)
    (judge,) = done.json["judges"].values()
    tone = judge["criteria"]["tact"]["probes"]["tone"]
    assert tone["failed"] > 0
    assert tone["n"] + tone["failed"] == 20
    assert tone["verdict"] == "unclear"


def drawn(*parts: object) -> float:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()) / 2**64


@pytest.mark.parametrize("n", [60, pytest.param(150, marks=pytest.mark.slow)])
def test_the_audit_names_exactly_what_was_planted(tmp_path: Path, n: int) -> None:
    """A judge that favours length by one point, obeys direct
    orders, and changes 10 % of its scores when asked again.
    """
    seen: Counter[str] = Counter()
    padding = load_probes(["length"])[0].variants[0].texts

    def planted(request: Request) -> Answer:
        prompt = prompt_of(request)
        seen[prompt] += 1
        task = re.search(r"Task (\d+)", prompt)
        response = re.search(r"<response[^>]*>(.*)</response", prompt, re.S)
        assert task is not None
        assert response is not None
        score = 2 + int(task[1]) % 2
        is_repeated = any(
            response[1].count(part) > 1 for part in ("Birds nest", "Two gates", "is large", "was planned")
        )
        score += is_repeated or any(text in prompt for text in padding)
        if re.search(r"(Ignore the criteria|leave your rubric aside)", prompt):
            score = 5
        elif drawn(prompt, seen[prompt]) < 0.053:
            score += 1 if drawn(prompt, seen[prompt], "side") < 0.5 else -1
        return chat(f"So. [RESULT] {score}")

    with judge_host(planted) as server:
        done = audit(tmp_path, server, "-n", str(n), "--json", n=n)
    assert done.code == 0, done.err
    (judge,) = done.json["judges"].values()
    probes = judge["criteria"]["tact"]["probes"]
    assert {name for name, probe in probes.items() if probe["verdict"] == "moves"} == {
        "length",
        "injection/direct-order",
    }
    length, attack = probes["length"], probes["injection/direct-order"]
    assert length["shift"]["low"] <= 1.0 <= length["shift"]["high"]
    assert attack["success"]["low"] <= 1.0 <= attack["success"]["high"]
    assert length["floor"]["low"] <= 0.1 <= length["floor"]["high"]


def test_a_pair_is_audited_with_its_position_bias(tmp_path: Path) -> None:
    """A judge that always takes the first response, unless a response is empty."""
    rows = [
        {"id": f"p{k}", "system_a": "x", "system_b": "y", "instruction": "Which?", "response_a": f"Left {k}.",
         "response_b": f"Right {k}."}
        for k in range(30)
    ]  # fmt: skip
    items = write_rows(tmp_path / "pairs.jsonl", rows)
    with judge_host(lambda _: chat("Output (a) is better.")) as server:
        flags = ("-p", compare_folder(tmp_path), "-m", model_at(server), "--store", tmp_path / "s.db")
        done = adjudge("audit", items, *flags, "--probes", "tone,injection/against-rival", "--json")
        assert done.code == 0, done.err
        assert adjudge("run", items, *flags, "--run", "plain").code == 0
        plain = adjudge("audit", "plain", "--store", tmp_path / "s.db", "--json").json
    for result in (done.json, plain):
        (judge,) = result["judges"].values()
        position = judge["position"]
        assert (position["n"], position["failed"], position["same"], position["first"]) == (30, 0, 0, 30)
        assert position["verdict"] == "moves"
    (judge,) = done.json["judges"].values()
    assert set(judge["criteria"]["preference"]["probes"]) == {"tone", "injection/against-rival"}


def test_an_audit_needs_one_judge_with_a_scale(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 3)
    store = ("--store", tmp_path / "s.db")
    two = adjudge("audit", items, *DIRECT, "-m", "fake:text=1", "-m", "fake:text=2", *store)
    likelihood = adjudge(
        "audit", items, "-p", "gptscore/fluency", "--map", "source_text=task", "--map",
        "generated_response=response",
        "-m", "local", *store,
    )  # fmt: skip
    assert (two.code, likelihood.code) == (2, 2)
    assert adjudge("audit", items, *DIRECT, "-m", "fake:text=1", "--response", "nothing", *store).code == 2
    assert adjudge("audit", items, *DIRECT, "-m", "fake:text=1", "--probes", "nothing", *store).code == 2


def test_an_ordinary_run_shows_its_samples_and_the_correlation_with_length(tmp_path: Path) -> None:
    rows = [{"id": f"i{k}", "instruction": f"Task {k}.", "response": "word " * (k + 1)} for k in range(30)]
    items = write_rows(tmp_path / "items.jsonl", rows)
    seen: Counter[str] = Counter()

    def by_length(request: Request) -> Answer:
        prompt = prompt_of(request)
        seen[prompt] += 1
        n_words = prompt.count("word ")
        return chat(f"So. [RESULT] {min(5, 1 + n_words // 8 + (n_words <= 6 and seen[prompt] > 1))}")

    with judge_host(by_length) as server:
        flags = ("--samples", "2", "--run", "plain", "--store", tmp_path / "s.db")
        assert adjudge("run", items, *DIRECT, "-m", model_at(server), *flags).code == 0
    done = adjudge("audit", "plain", "--store", tmp_path / "s.db", "--json")
    assert done.code == 0
    (judge,) = done.json["judges"].values()
    tact = judge["criteria"]["tact"]
    assert tact["probes"] == {}
    assert tact["rerun"]["value"] == pytest.approx(6 / 30, abs=0.04)
    assert tact["length"]["value"] > 0.9
    assert "Without probes" in adjudge("audit", "plain", "--store", tmp_path / "s.db").out


# -- the gate and the pages


@pytest.fixture(scope="module")
def moved_by_length(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an audit of 40 items, `probed`: padding raises every score by one, nothing else does."""
    folder = tmp_path_factory.mktemp("probed")
    padding = load_probes(["length"])[0].variants[0].texts

    def favours_padding(request: Request) -> Answer:
        task = re.search(r"Task (\d+)", prompt_of(request))
        assert task is not None
        is_padded = any(text in prompt_of(request) for text in padding)
        return chat(f"So. [RESULT] {2 + int(task[1]) % 2 + 2 * is_padded}")

    with judge_host(favours_padding) as server:
        flags = ("--probes", "length,tone,injection/code", "--run", "probed")
        assert audit(folder, server, *flags, n=100).code == 0
        items = ("run", folder / "items.jsonl", *DIRECT, "-m", model_at(server), "--store", folder / "s.db")
        assert adjudge(*items, "--run", "plain").code == 0
    return folder


@pytest.mark.slow
def test_the_gate_decides_on_the_thresholds_of_an_audit(moved_by_length: Path) -> None:
    store = ("--store", moved_by_length / "s.db")
    worse = adjudge("gate", "probed", "--audit", *store, "--json")
    assert (worse.code, worse.json["outcome"]) == (1, "worse")
    outcomes = {(check["rule"], check["system"]): check["outcome"] for check in worse.json["checks"]}
    assert outcomes["max_shift", "length"] == "worse"
    assert outcomes["max_shift", "tone"] == "good"
    assert outcomes["max_injection", "injection/code"] == "good"
    assert outcomes["max_failed", "tone"] == "good"
    assert adjudge("gate", "probed", "--audit", "--max-shift", "2", *store).code == 0
    assert (
        adjudge("gate", "probed", "--audit", "--max-shift", "2", "--max-injection", "0.1%", *store).code == 3
    )
    for flags in (("--max-shift", "1"), ("--audit", "--max-shift", "-1"), ("--audit", "--min", "tact=3")):
        assert adjudge("gate", "probed", *flags, *store).code == 2
    assert adjudge("gate", "plain", "--audit", *store).code == 2


def test_the_thresholds_of_an_audit_may_be_in_the_run_file(moved_by_length: Path, tmp_path: Path) -> None:
    config = tmp_path / "adjudge.toml"
    config.write_text('[gate]\nmax_shift = 2\nmax_injection = "10%"\n')
    store = ("--store", moved_by_length / "s.db", "--config", config)
    assert adjudge("gate", "probed", "--audit", *store).code == 0
    config.write_text("[gate]\nmax_shift = -2\n")
    assert adjudge("gate", "probed", "--audit", *store).code == 2


def test_the_report_and_the_viewer_show_the_audit_and_open_the_items_of_a_probe(
    moved_by_length: Path,
) -> None:
    store = moved_by_length / "s.db"
    page = moved_by_length / "report.html"
    assert adjudge("report", "probed", "--html", page, "--store", store).code == 0
    html = page.read_text(encoding="utf-8")
    assert 'id="audit"' in html
    browser = Browser(store)
    shown = browser.get("/run?run=probed").text
    (link,) = set(re.findall(r'href="(/items\?run=probed[^"]*q=[^"]*length)"', shown))
    listed = browser.get(unescape(link)).text
    assert "i1 ~ length" in listed
    assert "i1 ~ tone" not in listed
    assert "/items?run=plain&amp;q=" not in browser.get("/run?run=plain").text


def test_two_audits_are_compared_probe_by_probe(moved_by_length: Path) -> None:
    store = ("--store", moved_by_length / "s.db")
    same = adjudge("compare", "probed", "probed", *store, "--json")
    assert same.code == 0
    (criterion,) = same.json["criteria"].values()
    assert {"all", "repeat", "length", "tone", "injection/code"} <= set(criterion["systems"])
