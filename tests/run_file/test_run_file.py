"""The run file: models, runs and gates in `adjudge.toml`, what overrides it, and what is wrong with it."""

from __future__ import annotations

import inspect
import io
import json
import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import adjudge as package
from adjudge.cli.init import guessed
from adjudge.cli.run import run_command
from adjudge.errors import DataError
from adjudge.run_file.read import read_run_file
from adjudge.run_file.schema import json_schema
from adjudge.run_file.tables import run_settings
from adjudge.run_options.options import declared_options
from adjudge.store import open_store
from fakeserver import Answer, FakeServer, Request, chat
from running import EXAMPLES, Outcome, adjudge, model_at, prompt_of, write_rows

FIVE = "fake:text=Good. [RESULT] 5 Score: 5"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data, in which commands are given."""
    monkeypatch.chdir(tmp_path)
    write_rows(
        tmp_path / "answers.jsonl",
        (
            {"id": f"i{k}", "question": "Say hello.", "text": f"Hello {k}!", "bot": f"b{k % 2}"}
            for k in range(6)
        ),
    )
    (tmp_path / "tact.toml").write_text(
        (EXAMPLES / "tact.toml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    return tmp_path


RUN = f"""
[models.kind]
model = "{FIVE}"
price = [1.0, 2.0]

[models.strict]
model = "fake:text=Bad. [RESULT] 1 Score: 1"

[runs.support]
items = "answers.jsonl"
map = {{ task = "question", instruction = "question", response = "text", system = "bot" }}
judge = [ {{ protocol = "prometheus/direct", rubric = "tact.toml" }},
          {{ criterion = "Is the answer polite?", name = "politeness" }} ]
models = ["kind", "strict"]
concurrency = 4

[gate.support]
min = {{ tact = 4.0 }}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "adjudge.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_run_needs_its_name_alone(place: Path) -> None:
    written(place, RUN)
    done = adjudge("run", "support", "-q")
    assert done.code == 0, done.err
    rows = adjudge("export", "support").rows
    keys = {(row["protocol"].partition("@")[0], row["criterion"], row["model"], row["score"]) for row in rows}
    assert keys == {
        ("prometheus/direct", "tact", "kind", 5.0),
        ("prometheus/direct", "tact", "strict", 1.0),
        ("geval/score", "politeness", "kind", 5.0),
        ("geval/score", "politeness", "strict", 1.0),
    }
    report = adjudge("report", "support", "--json").json
    assert set(report["criteria"]) == {"prometheus/direct/tact", "geval/score/politeness"}
    assert report["criteria"]["geval/score/politeness"]["text"] == "Is the answer polite?"
    assert set(report["models"]) == {"kind", "strict"}


ONE = f"""
[models.kind]
model = "{FIVE}"

[runs.support]
items = "answers.jsonl"
map = {{ task = "question", response = "text", system = "bot" }}
criterion = {{ politeness = "Is the answer polite?" }}
models = "kind"
samples = 2
reask = false

[gate]
max_failed = "10%"

[gate.support]
min = {{ politeness = 4.0 }}
"""


def test_the_only_run_needs_no_name_and_the_same_command_resumes_it(place: Path) -> None:
    written(place, ONE.replace("[gate]", "quiet = true\n[gate]", 1))
    first = adjudge("run")
    assert (first.code, "6 of 6" in first.err) == (0, False)
    again = adjudge("run", "support", "-q", "--json")
    assert (again.code, again.json["run"], again.json["n_cached"]) == (0, "support", 0)
    with open_store(place / "adjudge.db", write=False) as store:
        (run,) = store.runs()
        assert run.manifest["settings"]["samples"] == 2
        assert run.manifest["settings"]["reask"] is False
        entry = run.manifest["models"][0]
        assert (entry["spec"], entry["model"]) == ("kind", FIVE)


def test_flags_override_the_file(place: Path) -> None:
    written(place, ONE)
    done = adjudge(
        "run", "support", "-q", "--samples", "1", "--reask", "1", "--run", "other", "-m",
        "fake:text=Score: 2",
        "--criterion", "short=Is it short?", "--store", "other.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert not (place / "adjudge.db").exists()
    with open_store("other.db", write=False) as store:
        settings = store.run("other").manifest["settings"]
    assert (settings["samples"], settings["reask"]) == (1, True)
    (row, *_) = adjudge("export", "other", "--store", "other.db").rows
    assert (row["criterion"], row["score"], row["model"]) == ("short", 2.0, "fake:text=Score: 2")


def test_a_flag_wins_over_a_models_own_parameter(place: Path) -> None:
    with FakeServer(lambda _request: chat("Score: 4")) as server:
        written(
            place,
            f'[models.m]\nmodel = "{model_at(server)}"\ntemperature = 0.7\nmax_tokens = 77\n'
            '[runs.r]\nitems = "answers.jsonl"\nmap = { task = "question", response = "text" }\n'
            'criterion = "Is it?"\nmodels = ["m"]\ntemperature = 0.1\nlimit = 1\n',
        )
        assert adjudge("run", "r", "-q", "--trust-run-file").code == 0
        done = adjudge("run", "r", "-q", "--trust-run-file", "--run", "two", "--temperature", "0.3")
        assert done.code == 0
        sent = [(request.json["temperature"], request.json["max_tokens"]) for request in server.requests]
    assert sent == [(0.7, 77), (0.3, 77)]


def test_a_name_that_is_a_file_is_items_and_an_alias_works_beside_it(place: Path) -> None:
    written(place, ONE)
    (place / "support").write_bytes((place / "answers.jsonl").read_bytes())
    assert (
        adjudge("run", "support", "-p", "geval/score", "-m", "kind", "-q").code == 2
    )  # no format by its name
    done = adjudge(
        "run", "answers.jsonl", "--criterion", "c", "--map", "task=question", "--map", "response=text",
        "-m", "kind", "-q"
    )  # fmt: skip
    assert done.code == 0, done.err
    assert {row["model"] for row in adjudge("export", "last").rows} == {"kind"}


def test_a_broken_run_file_does_not_stop_a_command_that_needs_none_of_it(place: Path) -> None:
    written(place, "[runs\n")
    done = adjudge(
        "run", "answers.jsonl", "--criterion", "c", "--map", "task=question", "--map", "response=text",
        "-m", FIVE, "-q"
    )  # fmt: skip
    assert done.code == 0, done.err


def test_paths_are_relative_to_the_file(place: Path) -> None:
    inner = place / "eval"
    inner.mkdir()
    for name in ("answers.jsonl", "tact.toml"):
        (place / name).rename(inner / name)
    (inner / "replies.jsonl").write_text(
        "".join(json.dumps({"item": f"i{k}", "text": "[RESULT] 3"}) + "\n" for k in range(6)),
        encoding="utf-8",
    )
    written(
        inner,
        '[models.old]\nmodel = "replay:replies.jsonl"\n[runs.r]\nitems = "answers.jsonl"\nstore = "s.db"\n'
        'map = { instruction = "question", response = "text" }\nmodels = ["old"]\n'
        'judge = [{ protocol = "prometheus/direct", rubric = "tact.toml" }]\n',
    )
    done = adjudge("run", "r", "--config", "eval/adjudge.toml", "-q")
    assert done.code == 0, done.err
    assert {row["score"] for row in adjudge("export", "last", "--store", inner / "s.db").rows} == {3.0}


def test_a_gate_reads_the_table_of_its_run_over_the_shared_one(place: Path) -> None:
    written(place, ONE)
    assert adjudge("run", "-q").code == 0
    checks = adjudge("gate", "support", "--json").json["checks"]
    assert {(check["rule"], check["criterion"], check["threshold"]) for check in checks} == {
        ("min", "politeness", 4.0), ("max_failed", "politeness", 0.1),
    }  # fmt: skip
    assert adjudge("gate", "last", "--json").json["checks"] == checks
    assert adjudge("run", "support", "--run", "other", "-q").code == 0
    assert {check["rule"] for check in adjudge("gate", "other", "--json").json["checks"]} == {"max_failed"}


PROBLEMS = """
[modles.x]
model = "openai:x"

[models.mini]
modle = "openai:x"
price = "cheap"

[models."no name!"]
model = "openai:x"

[runs.a]
itms = "x.jsonl"
samples = "three"
order = "bothe"
models = ["mni"]
judge = [{ protcol = "geval/score" }, {}]

[runs.min]
items = "x"

[gate.a]
mim = { c = 1 }
min = { c = "much" }
"""


def test_all_problems_are_reported_at_once_with_file_and_key(place: Path) -> None:
    written(place, PROBLEMS)
    done = adjudge("run", "a")
    assert done.code == 2
    lines = done.err.splitlines()
    assert "adjudge.toml" in lines[0]
    for expected in (
        ("modles", "'models'"),
        ("models.mini.modle", "'model'"),
        ("models.mini.model:", "missing"),
        ("models.mini.price", "[in, out]"),
        ("models.no name!", "cannot name a model"),
        ("runs.a.itms", "'items'"),
        ("runs.a.samples", "a whole number"),
        ("runs.a.order", '"both"'),
        ("runs.a.judge[0].protcol", "'protocol'"),
        ("runs.a.judge[1]", "a criterion"),
        ("runs.min", "another name"),
        ("[gate.a]", "'min'"),
        ("[gate.a]", "not a number"),
    ):
        assert any(all(word in line for word in expected) for line in lines), (expected, done.err)


def test_names_that_are_not_there_get_the_nearest_one(place: Path) -> None:
    written(place, ONE)
    assert "'support'" in adjudge("run", "suport").err
    written(place, ONE.replace('models = "kind"', 'models = "knd"'))
    assert "'kind'" in adjudge("run", "support").err
    written(place, ONE + '\n[runs.second]\nitems = "answers.jsonl"\n')
    assert "support, second" in adjudge("run").err


def test_a_run_file_is_a_regular_file_of_at_most_a_megabyte(place: Path) -> None:
    path = place / "adjudge.toml"
    os.mkfifo(path)
    assert "regular file" in adjudge("run", "x").err
    path.unlink()
    path.write_text("# " + "x" * 1_000_001, encoding="utf-8")
    assert "larger than 1 MB" in adjudge("run", "x").err
    path.unlink()
    path.mkdir()
    assert adjudge("run", "x").code == 2
    path.rmdir()
    path.write_bytes(b"\xff\xfe\x00")
    assert "is not TOML" in adjudge("run", "x").err
    assert adjudge("run").code == 2


def test_every_option_of_a_run_is_a_key_and_in_the_schema() -> None:
    keys = set(run_settings().__struct_fields__)
    of_command = {"quiet", "dry_run", "yes", "no_reask", "cascade", "check"}
    assert keys == {"items", "judge", "protocol", "models", *of_command, *declared_options()}
    definitions = json_schema()["$defs"]
    assert set(definitions["RunSettings"]["properties"]) == keys
    assert definitions["RunSettings"]["additionalProperties"] is False
    assert set(definitions["ModelSettings"]["properties"]) >= {
        "model", "key_env", "price", "headers", "temperature", "max_tokens", "batch",
    }  # fmt: skip
    assert set(definitions["JudgeSettings"]["properties"]) == {
        "protocol", "rubric", "labels", "criterion", "name", "steps", "examples",
    }  # fmt: skip


def test_every_flag_of_run_is_a_key_of_a_run() -> None:
    """Besides those that name the file itself, confirm it or choose the form of the output."""
    flags = {
        flag.lstrip("-").replace("-", "_")
        for parameter in inspect.signature(run_command).parameters.values()
        for flag in getattr(parameter.default, "param_decls", None) or ()
        if flag.startswith("--")
    }
    keys = {field.name for field in msgspec.structs.fields(run_settings())}
    assert len(flags) > 40
    assert flags - keys == {"model", "config", "trust_run_file", "json"}
    assert "models" in keys


def test_no_reask_is_a_key_and_a_cascade_names_its_judges(place: Path) -> None:
    (place / "adjudge.toml").write_text(
        '[runs.one]\nitems = "answers.jsonl"\ncriterion = "Is it kind?"\nmodels = "fake:text=4"\n'
        'no_reask = true\n[runs.two]\nitems = "answers.jsonl"\ncascade = "c.toml"\nmodels = "fake:text=4"\n'
        "[runs.three]\ncheck = 0.02\n",
        encoding="utf-8",
    )
    with pytest.raises(DataError) as raised:
        read_run_file()
    assert "runs.two: the cascade names its protocols and models. Leave models out." in str(raised.value)
    assert "runs.three.check: it is for cascades" in str(raised.value)
    assert "runs.one" not in str(raised.value)
    text = (place / "adjudge.toml").read_text(encoding="utf-8").partition("[runs.two]")[0]
    (place / "adjudge.toml").write_text(text, encoding="utf-8")
    read = read_run_file()
    assert read is not None
    assert read.runs["one"]["reask"] == 0


def test_the_schema_accepts_a_good_file_and_refuses_a_bad_one() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = adjudge("schema").json
    jsonschema.validate(tomllib.loads(RUN), schema)
    for bad in (PROBLEMS, '[runs.a]\nprice = "x"\n', "[gate.a]\nmim = 1\n"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(tomllib.loads(bad), schema)


# Keys and prices by model


def hosts(*servers: FakeServer) -> list[str]:
    return [f"{name}={model_at(server)}" for name, server in zip("ab", servers, strict=True)]


def score_four(_request: Request) -> Answer:
    return chat("Score: 4")


@pytest.fixture
def judged(place: Path) -> Callable[..., Outcome]:
    def run(*flags: str, **environment: str) -> Outcome:
        return adjudge(
            "run", place / "answers.jsonl", "--criterion", "c", "--map", "task=question", "--map",
            "response=text",
            "-q", *flags, **environment,
        )  # fmt: skip

    return run


def test_a_key_goes_only_to_the_model_it_is_given_for(judged: Callable[..., Outcome]) -> None:
    with FakeServer(score_four) as first, FakeServer(score_four) as second:
        a, b = hosts(first, second)
        done = judged("-m", a, "-m", b, "--key-env", "b=B_KEY", "--price", "a=1,1", B_KEY="key-of-b-123456")
        assert done.code == 0, done.err
        assert {request.headers.get("authorization") for request in first.requests} == {None}
        assert {request.headers.get("authorization") for request in second.requests} == {
            "Bearer key-of-b-123456"
        }
    report = adjudge("report", "last", "--json").json
    assert set(report["models"]) == {"a", "b"}
    assert report["n_unpriced"] == 6


def test_a_key_for_one_of_several_models_must_say_for_which(judged: Callable[..., Outcome]) -> None:
    with FakeServer(score_four) as first, FakeServer(score_four) as second:
        a, b = hosts(first, second)
        for flag, value in (("--key-env", "GK"), ("--price", "1,2")):
            done = judged("-m", a, "-m", b, flag, value, GK="key-123456789")
            assert done.code == 2
            assert f"{flag} a=" in done.err
        assert judged("-m", a, "-m", b, "--key-env", "c=GK").code == 2
        assert judged("-m", a, "-m", b, "--key-env", "GK", "--key-env", "a=GK").code == 2
        assert not [*first.requests, *second.requests]
        # Only one of these can take a key.
        done = judged("-m", a, "-m", FIVE, "--key-env", "GK", GK="key-123456789")
        assert done.code == 0, done.err
        assert {request.headers["authorization"] for request in first.requests} == {"Bearer key-123456789"}


def test_keys_of_the_run_file_go_to_their_own_hosts(place: Path) -> None:
    with FakeServer(score_four) as first, FakeServer(score_four) as second:
        written(
            place,
            f'[models.one]\nmodel = "{model_at(first)}"\nkey_env = "ONE_KEY"\nheaders = {{ X-Team = '
            '"search" }\n'
            f'[models.two]\nmodel = "{model_at(second)}"\nkey_env = "TWO_KEY"\n'
            '[runs.r]\nitems = "answers.jsonl"\nmap = { task = "question", response = "text" }\n'
            'criterion = "c"\nmodels = ["one", "two"]\n',
        )
        keys = {"ONE_KEY": "first-key-111111", "TWO_KEY": "second-key-222222"}
        done = adjudge("run", "r", "-q", "--trust-run-file", **keys)
        assert done.code == 0, done.err
        assert {request.headers["authorization"] for request in first.requests} == {"Bearer first-key-111111"}
        assert {request.headers["authorization"] for request in second.requests} == {
            "Bearer second-key-222222"
        }
        assert {request.headers.get("x-team") for request in first.requests} == {"search"}
        assert {request.headers.get("x-team") for request in second.requests} == {None}
        assert adjudge("models", "test", "one", "--json", "--trust-run-file", **keys).json["answers"]


def test_an_alias_reuses_the_replies_of_the_same_model(judged: Callable[..., Outcome]) -> None:
    with FakeServer(score_four) as server:
        spec = model_at(server)
        assert judged("-m", spec).code == 0
        done = judged("-m", f"house={spec}", "--json")
        assert len(server.requests) == 6
    assert done.json["n_cached"] == 6
    assert set(done.json["models"]) == {"house"}
    assert done.json["models"]["house"]["names"] == {"judge-1": 6}


def test_a_published_price_is_shown_as_an_estimate(judged: Callable[..., Outcome]) -> None:
    with FakeServer(score_four) as server:
        environment = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-0123456789abcdef"}
        done = judged("-m", "openai:gpt-6-luna", "--json", **environment)
        again = judged("-m", "openai:gpt-6-luna", "--run", "b", "--limit", "3", "--json", **environment)
    assert done.json["cost_usd"] == pytest.approx(
        # Eight of the twenty tokens of each prompt came from the host's cache, at a tenth of the price.
        6 * ((12 + 8 * 0.1) * 0.10 + 5 * 0.50) / 1e6
    )
    assert list(done.json["price_dates"]) == ["openai:gpt-6-luna"]
    assert "paid_earlier_usd" not in done.json
    assert again.json["paid_earlier_usd"] == pytest.approx(done.json["cost_usd"] / 2)


# Several criteria and rubrics from flags


def test_several_criteria_of_flags_are_judged_each_under_its_name(judged: Callable[..., Outcome]) -> None:
    def plan(request: Request) -> Answer:
        return chat(f"Score: {4 if 'polite' in prompt_of(request) else 2}")

    with FakeServer(plan) as server:
        done = judged(
            "-m",
            model_at(server),
            "--criterion",
            "Is the answer short?",
            "--criterion",
            "manners=Is it polite?",
            "--json",
        )
        assert len(server.requests) == 12 + 6  # the fixture gives a third criterion
    criteria = done.json["criteria"]
    assert {name: entry["text"] for name, entry in criteria.items()} == {
        "c": "c", "short": "Is the answer short?", "manners": "Is it polite?",
    }  # fmt: skip
    means = {name: cell["value"] for name, cell in done.json["systems"]["all"].items()}
    assert means == {"c": 2.0, "short": 2.0, "manners": 4.0}


def test_one_criterion_without_a_name_is_called_as_before(judged: Callable[..., Outcome]) -> None:
    done = judged("-m", FIVE, "--json")
    assert {name: entry["text"] for name, entry in done.json["criteria"].items()} == {"score": "c"}
    assert {row["criterion"] for row in adjudge("export", "last").rows} == {"score"}


def test_several_rubrics_of_flags_are_judged_each_under_its_name(place: Path) -> None:
    (place / "brief.toml").write_text('criterion = "Is it brief?"\n', encoding="utf-8")
    flags = ("--map", "instruction=question", "--map", "response=text", "-m", FIVE, "-q", "--json")
    done = adjudge(
        "run",
        "answers.jsonl",
        "-p",
        "prometheus/direct",
        "--rubric",
        "tact.toml",
        "--rubric",
        "brief.toml",
        *flags,
    )
    assert done.code == 0, done.err
    assert set(done.json["criteria"]) == {"tact", "brief"}
    twice = adjudge(
        "run",
        "answers.jsonl",
        "-p",
        "prometheus/direct",
        "--rubric",
        "tact.toml",
        "--rubric",
        "tact.toml",
        *flags,
    )
    assert twice.code == 2


@pytest.mark.usefixtures("place")
def test_two_different_criteria_are_never_compared_as_one() -> None:
    flags = ("--map", "task=question", "--map", "response=text", "-m", FIVE, "-q")
    for name, criterion in (
        ("polite", "Is it polite?"),
        ("helpful", "Is it helpful?"),
        ("again", "Is it polite?"),
    ):
        assert adjudge("run", "answers.jsonl", "--criterion", criterion, "--run", name, *flags).code == 0
    for name, text in (("n1", "Is it polite?"), ("n2", "Would you call it polite?")):
        assert (
            adjudge("run", "answers.jsonl", "--criterion", f"manners={text}", "--run", name, *flags).code == 0
        )
    refused = adjudge("compare", "polite", "helpful")
    assert refused.code == 2
    assert all(text in refused.err for text in ("Is it polite?", "Is it helpful?"))
    assert adjudge("compare", "polite", "again", "--json").code == 0
    # A name says that two wordings mean one criterion.
    assert "manners" in adjudge("compare", "n1", "n2", "--json").out


@pytest.mark.usefixtures("place")
def test_a_mapped_name_that_no_protocol_has_is_an_error() -> None:
    for wrong, right in (("refrence", "reference"), ("systm", "system")):
        done = adjudge(
            "run", "answers.jsonl", "--criterion", "c", "-m", FIVE, "--map", "task=question", "--map",
            "response=text",
            "--map", f"{wrong}=bot",
        )  # fmt: skip
        assert (done.code, f"'{right}'" in done.err) == (2, True)


def test_judges_can_write_the_steps_of_one_of_several_criteria(place: Path) -> None:
    def plan(request: Request) -> Answer:
        if "Write down the steps" in prompt_of(request):
            return chat("1. Look at the greeting.")
        return chat("Score: 4")

    with FakeServer(plan) as server:
        written(
            place,
            f'[models.m]\nmodel = "{model_at(server)}"\n[runs.r]\nitems = "answers.jsonl"\nmodels = ["m"]\n'
            'map = { task = "question", response = "text" }\n'
            'judge = [{ criterion = "Is it polite?", name = "polite", steps = "generate" }, { '
            'criterion = "Is it short?" }]\n',
        )
        done = adjudge("run", "r", "-q", "--json", "--trust-run-file")
        assert done.code == 0, done.err
        prompts = [prompt_of(request) for request in server.requests]
        assert sum("Write down the steps" in prompt for prompt in prompts) == 1
        assert sum("Look at the greeting." in prompt for prompt in prompts) == 6
        assert adjudge("run", "r", "-q", "--trust-run-file").code == 0
        assert len(server.requests) == 13
    assert set(done.json["criteria"]) == {"polite", "short"}


def test_a_word_that_is_no_file_and_no_run_names_the_runs(place: Path) -> None:
    written(place, '[runs.answers]\nitems = "answers.jsonl"')
    done = adjudge("run", "nosuch")
    assert (done.code, "protocol" in done.err) == (2, False)
    assert (
        "'nosuch' is neither a file nor a run of adjudge.toml. The runs of adjudge.toml are: answers."
        in done.err
    )


def test_the_same_in_python(place: Path) -> None:
    run = package.run(
        "answers.jsonl",
        model={"kind": FIVE, "strict": {"model": "fake:text=[RESULT] 1 Score: 1", "price": (1.0, 1.0)}},
        judge=[{"criterion": "Is it polite?"}, {"protocol": "prometheus/direct", "rubric": "tact.toml"}],
        map={"task": "question", "instruction": "question", "response": "text"},
        limit=1,
    )
    assert {(row.criterion, row.model, row.value) for row in run.results()} == {
        ("polite", "kind", 5.0), ("polite", "strict", 1.0), ("tact", "kind", 5.0), ("tact", "strict", 1.0),
    }  # fmt: skip
    with pytest.raises(DataError, match="unknown field"):
        package.run("answers.jsonl", model={"x": {"modle": FIVE}}, criterion="c")
    with pytest.raises(DataError, match="judge"):
        package.run("answers.jsonl", model=FIVE, judge=[{"criterion": "a"}], criterion="b")
    assert (place / "adjudge.db").exists()


# adjudge init


def test_init_guesses_from_the_columns_and_the_file_runs(place: Path) -> None:
    done = adjudge("init", "answers.jsonl", "--yes", "-m", "fake:text=Score: 4")
    assert done.code == 0, done.err
    file = tomllib.loads((place / "adjudge.toml").read_text(encoding="utf-8"))
    assert file["runs"]["answers"]["map"] == {
        "task": "question", "response": "text", "system": "bot", "group": "question",
    }  # fmt: skip
    assert all(text in done.out for text in ("Say hello.", "Hello 0!"))
    assert adjudge("run", "-q").code == 0
    assert adjudge("init", "answers.jsonl", "--yes").code == 2, "a file that exists is never overwritten"


def test_init_asks_and_takes_the_answers(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ["qestion", "question", "text", "-", "-", 'Is it "kind"?', "kind", "fake:text=Score: 4"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(answers) + "\n"))
    done = adjudge("init", "answers.jsonl", "--config", "mine.toml")
    assert done.code == 0, done.err
    assert "Did you mean 'question'?" in done.err
    run = tomllib.loads((place / "mine.toml").read_text(encoding="utf-8"))["runs"]["answers"]
    assert run["map"] == {"task": "question", "response": "text", "group": "question"}
    assert run["judge"] == [{"criterion": 'Is it "kind"?', "name": "kind"}]
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert adjudge("init", "answers.jsonl", "--config", "other.toml").code == 2


def test_init_checks_the_model_before_it_writes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for spec, reason in (("http://127.0.0.1:8123", "#NAME"), ("gtp", "is not a model")):
        done = adjudge("init", "answers.jsonl", "--yes", "-m", spec)
        assert (done.code, reason in done.err) == (2, True)
        assert not (place / "adjudge.toml").exists()
    answers = [
        "question",
        "text",
        "-",
        "-",
        "Is it kind?",
        "kind",
        "http://127.0.0.1:8123",
        "fake:text=Score: 4",
    ]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(answers) + "\n"))
    done = adjudge("init", "answers.jsonl")
    assert done.code == 0, done.err
    assert "the name of the model is missing" in done.err
    assert done.err.count("http://HOST/v1#NAME") == 2, "the question shows the form each time"
    assert 'model = "fake:text=Score: 4"' in (place / "adjudge.toml").read_text(encoding="utf-8")


def test_init_without_a_guess_names_the_columns(place: Path) -> None:
    write_rows(place / "odd.jsonl", [{"alpha": "1", "beta": "2"}])
    done = adjudge("init", "odd.jsonl", "--yes")
    assert (done.code, "alpha, beta" in done.err) == (2, True)
    assert not (place / "adjudge.toml").exists()


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (["Question", "Model Answer", "Bot"], {"task": "Question", "response": "Model Answer",
        "system": "Bot"}),
        (["prompt", "completion", "model"], {"task": "prompt", "response": "completion", "system": "model"}),
        (
            ["task", "response_a", "response_b", "system_a", "system_b"],
            {"task": "task", "response_a": "response_a", "response_b": "response_b"},
        ),
        (["id", "input", "output", "expected"], {"task": "input", "response": "output",
        "reference": "expected", "id": "id"}),
    ],
)  # fmt: skip
def test_columns_are_guessed_by_their_names(columns: list[str], found: dict[str, str]) -> None:
    one_row = {column: ["a text"] for column in columns}
    assert guessed(one_row) == found


def test_the_id_is_a_column_of_values_that_differ_and_repeated_tasks_are_a_group() -> None:
    rows = {
        "question": ["one?", "one?"],
        "answer": ["yes", "no"],
        "ticket no": ["T1", "T2"],
        "bot": ["x", "x"],
    }
    columns = {
        "task": "question",
        "response": "answer",
        "system": "bot",
        "id": "ticket no",
        "group": "question",
    }
    assert guessed(rows) == columns


def test_a_sentence_is_no_id_and_a_number_no_task() -> None:
    sentences = {"reply": ["It is on its way.", "It is late."], "query": ["Where is it?", "And now?"]}
    inputs = {"task": "query", "response": "reply"}
    assert guessed(sentences) == inputs
    numbers = {"request_id": ["r1", "r2"], "ticket": ["7", "8"], "note": ["short one", "other"]}
    assert guessed({**numbers, **sentences}) == {**inputs, "id": "request_id"}


def test_pairs_are_judged_by_a_protocol_for_pairs(place: Path) -> None:
    write_rows(place / "pairs.jsonl", [{"task": "t", "response_a": "x", "response_b": "y"}])
    assert adjudge("init", "pairs.jsonl", "--yes", "-m", FIVE).code == 0
    run: dict[str, Any] = tomllib.loads((place / "adjudge.toml").read_text(encoding="utf-8"))["runs"]["pairs"]
    assert run["judge"] == [{"protocol": "geval/compare"}]


@pytest.mark.usefixtures("place")
def test_reading_needs_no_file_where_none_is_named() -> None:
    assert read_run_file() is None
    with pytest.raises(DataError, match="cannot be read"):
        read_run_file("none.toml")
