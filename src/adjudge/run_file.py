"""The run file, `adjudge.toml`: models with their keys and prices, runs, and the thresholds of gates.

Reads and checks the file and turns a run into the options of `adjudge run`; starts nothing. What a run may say follows from
the declaration of its options, and the JSON schema for editors from the same types. Paths are relative to the file.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct, structs

from .data import read_small
from .errors import DataError, ModelError, listed
from .models import check_alias
from .records import ModelSettings, NamedModel, Rubric
from .run_options import Declared, JudgeSettings, declared_options

DEFAULT_FILE = "adjudge.toml"
_TOP_KEYS = ("models", "runs", "gate")

GATE_TABLES = ("min", "max", "max_drop")
GATE_TEXTS = ("baseline", "baseline_store", "labels", "baseline_labels")
GATE_AUDIT = ("max_shift", "max_injection")
"""Thresholds of an audit, each one number for all criteria."""
GATE_KEYS = (*GATE_TABLES, *GATE_TEXTS, *GATE_AUDIT, "max_failed", "system")
"""The keys of `[gate]` and `[gate.NAME]`."""

_PATHS = ("items", "rubric", "examples", "store")
FILE_FORMS = ("replay:", "fake:script=", "local:")
"""The forms of a model spec that end with the path of a file."""
_PARAMETERS = ("temperature", "max_tokens", "reasoning_effort", "thinking_tokens")

GateCheck = Callable[[Mapping[str, Any]], Sequence[str]]
"""The problems of the table [gate]; its numbers are read by the gate itself."""


# -- what a run may say


def _file_type(declared: Declared) -> Any:
    """The type of an option's value in the file."""
    is_union = get_origin(declared.type) in (Union, UnionType)
    members = get_args(declared.type) if is_union else (declared.type,)
    types: list[Any] = []
    for member in members:
        origin = get_origin(member)
        if origin is Mapping:
            types.append(dict[get_args(member)])  # type: ignore[misc]
        elif origin is Sequence:
            types.append(list[str])
        elif member in (Path, Rubric) or (origin is Literal and len(members) > 1):
            types.append(str)
        else:
            types.append(member)
    return Union[tuple(dict.fromkeys(types))]  # noqa: UP007  the members are known only here


@cache
def run_settings() -> type[Struct]:
    """The type of a table [runs.NAME]: its own keys, and every option of a run."""
    fields: list[tuple[str, Any, Any]] = [
        ("items", str | None, None),
        ("judge", tuple[JudgeSettings, ...], ()),
        ("protocol", str | list[str] | None, None),
        ("models", str | list[str] | None, None),
        ("quiet", bool | None, None),
        ("dry_run", bool | None, None),
    ]
    for name, declared in declared_options().items():
        fields.append((name, _file_type(declared) | None, None))
    return msgspec.defstruct("RunSettings", fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


class RunFile(Struct, frozen=True):
    """A run file that was read and checked."""

    path: Path
    models: dict[str, ModelSettings]
    runs: dict[str, dict[str, Any]]
    """run → its keys; paths are resolved"""
    gate: dict[str, Any]

    def model(self, text: str) -> str | NamedModel:
        """The model that an entry of `models` or a flag means: an alias of this file, or a spec."""
        if text not in self.models:
            return text
        return NamedModel(**structs.asdict(self.models[text]), alias=text)

    def gate_for(self, run: str) -> dict[str, Any]:
        """The thresholds for a run: [gate], overridden by [gate.NAME]."""
        shared = {key: value for key, value in self.gate.items() if key in GATE_KEYS}
        for_run = self.gate.get(run, {}) if run not in GATE_KEYS else {}
        merged = {**shared, **for_run}
        for key in GATE_TABLES:
            if isinstance(shared.get(key), dict) and isinstance(for_run.get(key), dict):
                merged[key] = {**shared[key], **for_run[key]}
        for key in ("baseline_store", "labels", "baseline_labels"):
            if isinstance(merged.get(key), str) and merged[key] != "store":
                merged[key] = _resolved(self.path, merged[key])
        return merged

    def keywords(self, name: str, flags: Mapping[str, Any]) -> dict[str, Any]:
        """The run of a name as keywords of a request. `flags` are those that the user gave: they win."""
        table = dict(self.runs[name])
        models = table.pop("models", ())
        if any(flags.get(key) for key in ("protocol", "rubric", "criterion")):
            table = {
                key: value for key, value in table.items() if key not in ("judge", "protocol", "rubric", "criterion")
            }  # fmt: skip
        if judges := table.get("judge"):
            overridden = {key: "" for key in ("steps", "examples") if flags.get(key)}
            table["judge"] = [structs.replace(judge, **overridden) for judge in judges]
        keywords = {"run": name, **table, **flags}
        named = flags.get("model") or models
        keywords["model"] = [_without(self.model(entry), flags) for entry in named]
        return keywords

    def run_named(self, text: str | None) -> str | None:
        """The run that the first argument of `adjudge run` names; none where it names a file of items."""
        if text is None:
            if len(self.runs) == 1:
                return next(iter(self.runs))
            if not self.runs:
                raise DataError(
                    f"{self.path} declares no run. Give a file of items, or add [runs.NAME] to it."
                )
            raise DataError(f"{self.path} declares several runs. Say which: {', '.join(self.runs)}.")
        if text in self.runs and not Path(text).is_file():
            return text
        if Path(text).exists():
            return None
        near = difflib.get_close_matches(text, self.runs, 1)
        if near:
            raise DataError(f"'{text}' is neither a file nor a run of {self.path}. Did you mean '{near[0]}'?")
        return None


def _without(model: str | NamedModel, flags: Mapping[str, Any]) -> str | NamedModel:
    """A model without the parameters that a flag sets for all models."""
    if isinstance(model, str):
        return model
    return structs.replace(model, **{name: None for name in _PARAMETERS if flags.get(name) is not None})


def _resolved(file: Path, path: str) -> str:
    """A path of the file, from the folder of the file; unchanged where that is the current one."""
    folder = file.parent
    return path if folder == Path() or os.path.isabs(path) else str(folder / path)


# -- reading


def read_run_file(
    path: str | Path | None = None, gate_check: GateCheck | None = None, *, for_gate: bool = False
) -> RunFile | None:
    """The run file; raises with all its problems. None where no path is given and there is no default file.

    A gate may share the file with other tools: only tables that look like ours are problems there.
    """
    file = Path(path) if path is not None else Path(DEFAULT_FILE)
    if path is None and not file.exists():
        return None
    document = read_document(file)
    if for_gate:
        document = {key: table for key, table in document.items() if _is_ours(key)}
    return run_file_of(document, file, gate_check)


def _is_ours(key: str) -> bool:
    return bool(difflib.get_close_matches(key, _TOP_KEYS, 1))


def read_document(file: Path) -> dict[str, Any]:
    """The tables of a TOML file of at most 1 MB."""
    try:
        text = read_small(file).decode("utf-8-sig")
        return tomllib.loads(text)
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}. Check --config.") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or a number of thousands of digits
        raise DataError(f"{file} is not TOML: {error}. Correct it.") from error


def run_file_of(document: dict[str, Any], file: Path, gate_check: GateCheck | None = None) -> RunFile:
    """The tables of a file as a `RunFile`; raises with all its problems."""
    problems: list[str] = []
    problems += [f"{key}: {_unknown(key, _TOP_KEYS)}" for key in document if key not in _TOP_KEYS]
    tables = {key: _table(document, key, problems) for key in _TOP_KEYS}
    models = _models(tables["models"], problems)
    runs = {
        name: table
        for name, values in tables["runs"].items()
        if (table := _run(name, values, models, file, problems)) is not None
    }
    if gate_check is not None:
        problems += gate_check(tables["gate"])
        problems += [
            f"gate.{name}: there is no run of that name. Did you mean '{near[0]}'?"
            for name, values in tables["gate"].items()
            if isinstance(values, Mapping) and name not in GATE_KEYS and name not in runs
            if (near := difflib.get_close_matches(name, runs, 1))
        ]
    if problems:
        raise DataError(listed(str(file), problems))
    resolved = {
        name: structs.replace(model, model=_model_path(model.model, file)) for name, model in models.items()
    }
    return RunFile(file, resolved, runs, tables["gate"])


def _table(document: Mapping[str, Any], key: str, problems: list[str]) -> dict[str, Any]:
    value = document.get(key, {})
    if isinstance(value, dict):
        return value
    problems.append(f"{key}: give a table. Write [{key}] and its keys below.")
    return {}


def _models(tables: Mapping[str, Any], problems: list[str]) -> dict[str, ModelSettings]:
    models = {}
    for alias, values in tables.items():
        where = f"models.{alias}"
        try:
            check_alias(alias)
        except ModelError as error:
            problems.append(f"{where}: {error}")
        settings = _converted(values, ModelSettings, where, problems)
        if settings is not None:
            models[alias] = settings
    return models


def _run(
    name: str, values: Any, models: Mapping[str, ModelSettings], file: Path, problems: list[str]
) -> dict[str, Any] | None:
    where = f"runs.{name}"
    if name in GATE_KEYS:
        problems.append(f"{where}: [gate.{name}] means a key of [gate]. Choose another name for the run.")
    settings = _converted(values, run_settings(), where, problems)
    if settings is None:
        return None
    table = {key: value for key, value in structs.asdict(settings).items() if value not in (None, ())}
    if "judge" in table:
        both = [key for key in ("protocol", "rubric", "criterion") if key in table]
        if both:
            problems.append(f"{where}: judge and {both[0]} both say how to judge. Keep one of them.")
        table["judge"] = [_judge(judge, file) for judge in table["judge"]]
    for key in _PATHS:
        if key in table:
            table[key] = _paths(table[key], file)
    if "protocol" in table:
        table["protocol"] = [_protocol_path(ref, file) for ref in _texts(table["protocol"])]
    if isinstance(table.get("steps"), str) and table["steps"] != "generate":
        table["steps"] = _paths(table["steps"], file)
    for entry in _texts(table.get("models", ())):
        if ":" not in entry and entry != "local" and entry not in models:
            near = difflib.get_close_matches(entry, models, 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"Declare it: [models.{entry}] with model = …"
            problems.append(f"{where}.models: no model is called '{entry}'. {hint}")
    if "models" in table:
        table["models"] = [_model_path(entry, file) for entry in _texts(table["models"])]
    return table


def _judge(judge: JudgeSettings, file: Path) -> JudgeSettings:
    """The judge with its paths from the folder of the file."""
    changes: dict[str, Any] = {
        key: _resolved(file, value) for key in ("rubric", "examples") if (value := getattr(judge, key))
    }
    if judge.protocol:
        changes["protocol"] = _protocol_path(judge.protocol, file)
    if isinstance(judge.steps, str) and judge.steps != "generate":
        changes["steps"] = _resolved(file, judge.steps)
    return structs.replace(judge, **changes)


def _protocol_path(ref: str, file: Path) -> str:
    """A protocol that is no folder beside the file is a built-in id."""
    folder = _resolved(file, ref)
    return folder if Path(folder).is_dir() else ref


def _texts(value: str | Sequence[str]) -> Sequence[str]:
    return (value,) if isinstance(value, str) else value


def _paths(value: Any, file: Path) -> Any:
    return _resolved(file, value) if isinstance(value, str) else [_resolved(file, path) for path in value]


def _model_path(spec: str, file: Path) -> str:
    """A spec with the path of its file from the folder of the run file."""
    for form in FILE_FORMS:
        if spec.startswith(form):
            return form + _resolved(file, spec.removeprefix(form))
    return spec


# -- values


def _converted(values: Any, kind: Any, where: str, problems: list[str]) -> Any:
    """The values of a table as a struct; none, and every problem by its key, where they do not fit."""
    if not isinstance(values, dict):
        problems.append(f"{where}: give a table. Write [{where}] and its keys below.")
        return None
    before = len(problems)
    fields = {field.name: field for field in structs.fields(kind)}
    for key, value in list(values.items()):
        place = f"{where}.{key}"
        if key not in fields:
            problems.append(f"{place}: {_unknown(key, fields)}")
        elif key == "judge":
            _check_judges(value, place, problems)
        else:
            if key == "reask" and isinstance(value, bool):
                values[key] = value = int(value)
            try:
                msgspec.convert(value, fields[key].type)
            except msgspec.ValidationError:
                problems.append(f"{place}: give {_words(fields[key].type)}, not {_shown(value)}.")
    problems += [
        f"{where}.{key}: it is missing. Add {key} = …"
        for key, field in fields.items()
        if field.required and key not in values
    ]
    return msgspec.convert(values, kind) if len(problems) == before else None


def _check_judges(value: Any, where: str, problems: list[str]) -> None:
    if not isinstance(value, list):
        problems.append(f'{where}: give a list of tables, as in judge = [{{ criterion = "Is it polite?" }}].')
        return
    for number, entry in enumerate(value):
        place = f"{where}[{number}]"
        settings = _converted(entry, JudgeSettings, place, problems)
        if settings is not None and not (settings.protocol or settings.rubric or settings.criterion):
            problems.append(f"{place}: give a protocol, a rubric or a criterion.")


def _unknown(key: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(key, list(known), 1)
    return (
        f"unknown key. Did you mean '{near[0]}'?"
        if near
        else f"unknown key. The keys are {', '.join(known)}."
    )


_KINDS: dict[Any, str] = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list of texts",
    tuple: "two numbers, [in, out]", dict: "a table",
}  # fmt: skip


def _words(kind: Any) -> str:
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    words = []
    for member in members:
        if get_origin(member) is Literal:
            words.append(", ".join(f'"{choice}"' for choice in get_args(member)))
        elif member is not type(None):
            words.append(_KINDS.get(get_origin(member) or member, "another value"))
    return " or ".join(words)


def _shown(value: Any) -> str:
    return f"'{value!s:.60}'"


# -- the schema for editors


_DESCRIPTIONS = {
    "ModelSettings": {
        "model": "the model, as after -m", "key_env": "the environment variable with the key of this model",
        "price": "USD per million tokens in and out", "headers": "headers of every call; $NAME is read from the environment",
        "temperature": "in place of the run's", "max_tokens": "the longest reply, in place of the run's",
        "reasoning_effort": "how much a reasoning model thinks", "thinking_tokens": "the most tokens that it may think",
        "batch": "ask this model through its provider's batch API, at half the price",
        "map_scores": "a file of adjudge calibrate that maps the scores of this model",
    },
    "JudgeSettings": {
        "protocol": "a built-in protocol or a folder; default: geval/score", "rubric": "a rubric file (TOML or JSON)",
        "criterion": "a criterion in words", "name": "the name of the criterion in reports",
        "steps": "generate, or a file with one evaluation step a line", "examples": "judged examples (JSONL)",
    },
    "RunSettings": {
        "items": "the file of items", "judge": "the ways of judging", "protocol": "built-in protocols or folders",
        "models": "models of this file by their alias, or specs as after -m",
        "quiet": "print no progress", "dry_run": "show what would be sent; send nothing",
    },
}  # fmt: skip


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
    gate = _gate_schema()
    schema["$defs"]["RunFile"]["properties"]["gate"] = {**gate, "additionalProperties": gate}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The run file of Adjudge",
        **schema,
    }


def _gate_schema() -> dict[str, Any]:
    threshold = {"type": "object", "additionalProperties": {"type": ["number", "string"]}}
    properties: dict[str, Any] = dict.fromkeys(GATE_TABLES, threshold)
    properties |= {key: {"type": "string"} for key in GATE_TEXTS}
    properties |= {key: {"type": ["number", "string"]} for key in GATE_AUDIT}
    properties["max_failed"] = {"type": ["number", "string"]}
    properties["system"] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    return {"type": "object", "properties": properties, "additionalProperties": False}
