"""Local models in Ray actors: the identity of a call, and mistakes in a command.

`tests/engine/test_proof_ray.py` uses Ray itself.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from adjudge.cli.parser import with_address
from adjudge.errors import DataError, ModelError
from adjudge.models import LocalModel, Parameters, parse_model
from adjudge.models.local import on_ray
from adjudge.models.local import ray_model as ray_module
from adjudge.records import Reply
from adjudge.run_options.check import check_options
from adjudge.run_options.options import RunOptions
from local_judge import call


def test_the_identity_of_a_call_does_not_depend_on_ray() -> None:
    local = parse_model("judge=local")
    model = on_ray(local, "local", 3, patience_seconds=1)
    assert (model.identity, model.name, model.spec) == (local.identity, "judge", "local")
    assert model.n_hosts == 3
    asyncio.run(model.close())


@pytest.mark.parametrize(
    ("spec", "reason"), [("openai:x", "over the network"), ("fake:text=4", "needs no computation")]
)
def test_ray_is_for_models_that_run_in_the_process(spec: str, reason: str) -> None:
    with pytest.raises(ModelError, match=f"--ray is for models that run in the process .* {reason}"):
        on_ray(parse_model(spec), "local", 1, patience_seconds=1)


def test_without_ray_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_module.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(LocalModel, "check", lambda *_arguments: None)
    model = on_ray(parse_model("local"), "local", 1, patience_seconds=1)
    with pytest.raises(ModelError, match=r"not installed\. Install it: pip install 'adjudge\[ray\]'"):
        model.check(Parameters(), ("likelihood",))


def test_a_cluster_that_cannot_be_reached_is_named_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"weights")
    model = on_ray(LocalModel("local:x", file), "127.0.0.1:1", 1, patience_seconds=1)

    async def ask() -> Reply:
        try:
            return await model.ask(call("a", "b"), Parameters())
        finally:
            await model.close()

    with pytest.raises(
        ModelError, match=r"the Ray cluster at 127\.0\.0\.1:1 cannot be reached: .*refused.* ray status"
    ):
        asyncio.run(ask())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicas": 2}, "--replicas is the number of Ray actors: add --ray"),
        ({"ray": "somewhere"}, "--ray somewhere: write the address"),
        ({"ray": "auto"}, "--ray auto: add how many actors"),
        ({"ray": "ray://head:10001"}, "--ray ray://head:10001: add how many actors"),
    ],
)
def test_mistakes_in_the_options_are_reported_before_anything_is_read(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError) as error:
        check_options(RunOptions(**options))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--ray items.jsonl", "--ray=local items.jsonl"),
        ("items.jsonl --ray", "items.jsonl --ray=local"),
        ("--ray head:6379 items.jsonl", "--ray head:6379 items.jsonl"),
        ("--ray --replicas 2", "--ray=local --replicas 2"),
        ("--ray ray://[::1]:10001", "--ray ray://[::1]:10001"),
        ("--ray auto", "--ray auto"),
        ("", ""),
    ],
)
def test_the_address_after_the_flag_may_be_left_out(given: str, meant: str) -> None:
    assert with_address(given.split()) == meant.split()


def test_keys_of_the_environment_do_not_reach_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setenv("HF_TOKEN", "hf-x")
    environment = ray_module._environment(True)
    assert not {"OPENAI_API_KEY", "HF_TOKEN"} & environment.keys()
    assert environment["PATH"] == os.environ["PATH"]
    assert environment["RAY_USAGE_STATS_ENABLED"] == "0"
    assert "RAY_AUTH_TOKEN" not in ray_module._environment(False)
