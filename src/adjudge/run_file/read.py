"""The run file, `adjudge.toml`: models with their keys and prices, runs, and the thresholds of gates.

Reads and checks the file and turns a run into the options of `adjudge run`; starts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from ..confirmed import Confirm, check_confirmed
from ..data import is_address, read_small
from ..did_you_mean import did_you_mean, nearest
from ..errors import DataError, ModelError, problem_list
from ..models import check_alias
from ..records import ModelSettings, NamedModel
from ..run_options.options import OF_A_MODEL, JudgeSettings
from ..toml_text import parse_toml
from .gate_options import GATE_OPTIONS, options_of_kind
from .gate_table import gate_problems
from .outside_names import outside_names
from .own_keys import check_own_keys
from .paths import PATH_KEYS, as_texts, model_path, protocol_path, resolved_path, resolved_paths
from .tables import converted_table, run_settings, unknown_key

DEFAULT_FILE = "adjudge.toml"


_TOP_KEYS = ("models", "runs", "gate")


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
        shared = {key: value for key, value in self.gate.items() if key in GATE_OPTIONS}
        for_run = self.gate.get(run, {}) if run not in GATE_OPTIONS else {}
        merged = {**shared, **for_run}
        for key in options_of_kind("thresholds"):
            if isinstance(shared.get(key), dict) and isinstance(for_run.get(key), dict):
                merged[key] = {**shared[key], **for_run[key]}
        for key in options_of_kind("file"):
            if isinstance(merged.get(key), str) and merged[key] != "store":
                merged[key] = resolved_path(self.path, merged[key])
        return merged

    def keywords(self, name: str, flags: Mapping[str, Any]) -> dict[str, Any]:
        """The run of a name as keywords of a request. `flags` are those that the user gave: they win."""
        table = dict(self.runs[name])
        models = table.pop("models", ())
        if any(flags.get(key) for key in ("protocol", "rubric", "criterion")):
            table = {
                key: value
                for key, value in table.items()
                if key not in ("judge", "protocol", "rubric", "criterion")
            }
        if judges := table.get("judge"):
            overridden = {key: "" for key in ("steps", "examples") if flags.get(key)}
            table["judge"] = [structs.replace(judge, **overridden) for judge in judges]
        chosen = self.chosen_models(flags.get("model") or models, flags, table.get("key_env"))
        return {"run": name, **table, **flags, "model": chosen}

    def chosen_models(
        self, names: Sequence[str], flags: Mapping[str, Any], key_env: str | Mapping[str, str] | None = None
    ) -> list[str | NamedModel]:
        """The models that are meant by aliases or specs, with the parameters of the flags in place of theirs.

        `key_env` is the key variable of the run. Raises where this file sends a provider's key to another
        host.
        """
        models = [_without(self.model(name), flags) for name in names]
        check_own_keys(self.path, models, key_env, flags.get("key_env"))
        return models

    def store_of(self, run: str) -> Path | None:
        """The store that this file names for a run."""
        path = self.runs.get(run, {}).get("store")
        return None if path is None else Path(path)

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
        if not self.runs or is_address(text) or Path(text).exists():
            return None
        hint = did_you_mean(text, self.runs, f"The runs of {self.path} are: {', '.join(self.runs)}.")
        raise DataError(f"'{text}' is neither a file nor a run of {self.path}. {hint}")


def _without(model: str | NamedModel, flags: Mapping[str, Any]) -> str | NamedModel:
    """A model without the parameters that a flag sets for all models."""
    if isinstance(model, str):
        return model
    return structs.replace(model, **{name: None for name in OF_A_MODEL if flags.get(name) is not None})


def read_run_file(
    path: str | Path | None = None, confirm: Confirm | None = None, *, for_gate: bool = False
) -> RunFile | None:
    """The run file; raises with all its problems. None where no path is given and there is no default file.

    A file that names variables, addresses or files outside its folder is refused until the user has confirmed
    these names; `confirm` asks. A gate may share the file with other tools: only tables that look like ours
    are problems there.
    """
    file = Path(path) if path is not None else Path(DEFAULT_FILE)
    if path is None and not file.exists():
        return None
    document = read_toml(file)
    if for_gate:
        document = {key: table for key, table in document.items() if _is_ours(key)}
    read = run_file_of(document, file)
    check_confirmed(file, outside_names(file, read.models, read.runs, read.gate), confirm)
    return read


def _is_ours(key: str) -> bool:
    return bool(nearest(key, _TOP_KEYS))


def read_toml(file: Path) -> dict[str, Any]:
    """The tables of a TOML file of at most 1 MB."""
    try:
        text = read_small(file).decode("utf-8-sig")
        return parse_toml(text)
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}. Check --config.") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or a number of thousands of digits
        raise DataError(f"{file} is not TOML: {error}. Correct it.") from error


def run_file_of(document: dict[str, Any], file: Path) -> RunFile:
    """The tables of a file as a `RunFile`; raises with all its problems."""
    problems: list[str] = []
    problems += [f"{key}: {unknown_key(key, _TOP_KEYS)}" for key in document if key not in _TOP_KEYS]
    tables = {key: _table(document, key, problems) for key in _TOP_KEYS}
    models = _models(tables["models"], problems)
    runs = {
        name: table
        for name, values in tables["runs"].items()
        if (table := _run(name, values, models, file, problems)) is not None
    }
    problems += gate_problems(tables["gate"])
    problems += [
        f"gate.{name}: there is no run of that name. {hint}"
        for name, values in tables["gate"].items()
        if isinstance(values, Mapping) and name not in GATE_OPTIONS and name not in runs
        if (hint := did_you_mean(name, runs))
    ]
    if problems:
        raise DataError(problem_list(str(file), problems))
    return RunFile(
        file, {name: _resolved(model, file) for name, model in models.items()}, runs, tables["gate"]
    )


def _resolved(model: ModelSettings, file: Path) -> ModelSettings:
    """The model with its paths from the folder of the file."""
    of_scores = None if model.map_scores is None else resolved_path(file, model.map_scores)
    return structs.replace(model, model=model_path(model.model, file), map_scores=of_scores)


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
        settings = converted_table(values, ModelSettings, where, problems)
        if settings is not None:
            models[alias] = settings
    return models


def _run(
    name: str, values: Any, models: Mapping[str, ModelSettings], file: Path, problems: list[str]
) -> dict[str, Any] | None:
    where = f"runs.{name}"
    if name in GATE_OPTIONS:
        problems.append(f"{where}: [gate.{name}] means a key of [gate]. Choose another name for the run.")
    settings = converted_table(values, run_settings(), where, problems)
    if settings is None:
        return None
    table = {key: value for key, value in structs.asdict(settings).items() if value not in (None, ())}
    if "judge" in table:
        both = [key for key in ("protocol", "rubric", "criterion") if key in table]
        if both:
            problems.append(f"{where}: judge and {both[0]} both say how to judge. Keep one of them.")
        table["judge"] = [_judge(judge, file) for judge in table["judge"]]
    problems += _cascade_problems(where, table)
    if table.pop("no_reask", False):
        table["reask"] = 0
    for key in PATH_KEYS:
        if key in table:
            table[key] = resolved_paths(table[key], file)
    if "protocol" in table:
        table["protocol"] = [protocol_path(ref, file) for ref in as_texts(table["protocol"])]
    if isinstance(table.get("steps"), str) and table["steps"] != "generate":
        table["steps"] = resolved_paths(table["steps"], file)
    for entry in as_texts(table.get("models", ())):
        if ":" not in entry and entry != "local" and entry not in models:
            hint = did_you_mean(entry, models, f"Declare it: [models.{entry}] with model = …")
            problems.append(f"{where}.models: no model is called '{entry}'. {hint}")
    if "models" in table:
        table["models"] = [model_path(entry, file) for entry in as_texts(table["models"])]
    return table


def _cascade_problems(where: str, table: Mapping[str, Any]) -> Iterator[str]:
    """What does not go together with the file of a cascade, or needs one."""
    if "cascade" in table:
        named = [key for key in ("judge", "protocol", "rubric", "criterion", "models") if key in table]
        if named:
            yield f"{where}: the cascade names its protocols and models. Leave {', '.join(named)} out."
    elif "check" in table:
        yield f"{where}.check: it is for cascades. Give the cascade file with cascade = …"


def _judge(judge: JudgeSettings, file: Path) -> JudgeSettings:
    """The judge with its paths from the folder of the file."""
    changes: dict[str, Any] = {
        key: resolved_path(file, value) for key in ("rubric", "examples") if (value := getattr(judge, key))
    }
    if judge.protocol:
        changes["protocol"] = protocol_path(judge.protocol, file)
    if isinstance(judge.steps, str) and judge.steps != "generate":
        changes["steps"] = resolved_path(file, judge.steps)
    return structs.replace(judge, **changes)
