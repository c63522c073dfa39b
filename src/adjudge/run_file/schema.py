"""The JSON schema of the run file, for editors."""

from __future__ import annotations

from typing import Any

import msgspec

from ..records import ModelSettings
from ..run_options.options import declared_options
from .gate_options import GATE_OPTIONS, key_schema
from .tables import run_settings

_DESCRIPTIONS = {
    "ModelSettings": {
        "model": "the model, as after -m",
        "key_env": "the environment variable with the key of this model",
        "price": "USD per million tokens in and out",
        "headers": "headers of every call; $NAME is read from the environment",
        "temperature": "in place of the run's",
        "max_tokens": "the longest reply, in place of the run's",
        "reasoning_effort": "how much a reasoning model thinks",
        "thinking_tokens": "the most tokens that it may think",
        "batch": "ask this model through its provider's batch API, at half the price",
        "map_scores": "a file of adjudge calibrate that maps the scores of this model",
    },
    "JudgeSettings": {
        "protocol": "a built-in protocol or a folder; default: geval/score",
        "rubric": "a rubric file (TOML or JSON)",
        "criterion": "a criterion in words",
        "name": "the name of the criterion in reports",
        "steps": "generate, or a file with one evaluation step a line",
        "examples": "judged examples (JSONL)",
    },
    "RunSettings": {
        "items": "the file of items",
        "judge": "the ways of judging",
        "protocol": "built-in protocols or folders",
        "models": "models of this file by their alias, or specs as after -m",
        "quiet": "print no progress",
        "dry_run": "show what would be sent; send nothing",
        "yes": "accept proposed columns and criteria; ask nothing",
        "no_reask": "the same as reask = 0",
        "cascade": "a file of adjudge cascade: it names the judges, the cheapest first",
        "check": "with cascade: share of decided items that people check, such as 2%",
    },
}


def json_schema() -> dict[str, Any]:
    """The JSON schema of the run file."""
    runs: Any = run_settings()
    fields: list[tuple[str, Any, Any]] = [
        ("models", dict[str, ModelSettings], {}),
        ("runs", dict[str, runs], {}),
        ("gate", dict[str, Any], {}),
    ]
    schema = msgspec.json.schema(msgspec.defstruct("RunFile", fields, forbid_unknown_fields=True))
    for name, definition in schema["$defs"].items():
        definition.pop("description", None)
        texts = dict(_DESCRIPTIONS.get(name, {}))
        if name == "RunSettings":
            texts |= {option: declared.option.help for option, declared in declared_options().items()}
        for key, entry in definition.get("properties", {}).items():
            entry.pop("default", None)
            if key in texts:
                entry["description"] = texts[key]
    properties = {name: key_schema(name) for name in GATE_OPTIONS}
    gate = {"type": "object", "properties": properties, "additionalProperties": False}
    schema["$defs"]["RunFile"]["properties"]["gate"] = {**gate, "additionalProperties": gate}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The run file of Adjudge",
        **schema,
    }
