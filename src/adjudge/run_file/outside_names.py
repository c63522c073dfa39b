"""What a run file names outside its folder: environment variables, addresses and files.

Whoever wrote the file chose them, so the user sees and confirms them before the file is used. A provider by
name with its own key is not among them, nor are regular files in the folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..data import is_address
from ..errors import DataError
from ..models import named, takes_key
from ..models.destinations import called_addresses, file_of, may_be_plugin, shown_address
from ..models.own_hosts import is_at_home, owners_of
from ..records import ModelSettings, NamedModel
from .gate_options import options_of_kind
from .own_keys import sent_variables
from .paths import PATH_KEYS, as_texts, resolved_path

_READ_KEYS = tuple(key for key in PATH_KEYS if key != "store")


def outside_names(
    file: Path,
    models: Mapping[str, ModelSettings],
    runs: Mapping[str, Mapping[str, Any]],
    gate: Mapping[str, Any],
) -> list[str]:
    """What the file wants, each as "read PATH", "write PATH", "call ADDRESS" or "send VARIABLE to
    ADDRESS"."""
    names: list[str] = []
    declared = {alias: _with_alias(settings, alias) for alias, settings in models.items()}
    for model in declared.values():
        names += _of_model(model, None, file)
    for table in runs.values():
        for entry in as_texts(table.get("models", ())):
            names += _of_model(declared.get(entry) or named(entry), table.get("key_env"), file)
        names += _of_run(table, file)
    for table in (gate, *(value for value in gate.values() if isinstance(value, Mapping))):
        given = (table.get(key) for key in options_of_kind("file"))
        paths = (path for path in given if isinstance(path, str) and path != "store")
        names += _outside("read", (resolved_path(file, path) for path in paths), file)
        if str(table.get("baseline", "")).startswith(("http://", "https://")):
            hub = shown_address(table["baseline"])
            names += [f"call {hub}", f"send ADJUDGE_HUB_TOKEN to {hub}"]
    return sorted(set(names))


def _with_alias(settings: ModelSettings, alias: str) -> NamedModel:
    return NamedModel(
        model=settings.model,
        alias=alias,
        key_env=settings.key_env,
        headers=settings.headers,
        map_scores=settings.map_scores,
    )


def _of_model(model: NamedModel, key_env: Any, file: Path) -> Iterator[str]:
    spec = model.model
    destinations = called_addresses(spec)
    provider = spec.partition(":")[0]
    if destinations:
        yield from (f"call {address}" for address in destinations)
    elif (path := file_of(spec)) is not None:
        yield from _outside("read", [path], file)
    elif may_be_plugin(spec):
        yield f"call {spec}"
    for variable in sent_variables(model, key_env) if takes_key(spec) else ():
        if destinations or not (owners_of(variable) and is_at_home(variable, spec)):
            yield from (f"send {variable} to {address}" for address in destinations or [provider])
    if model.map_scores is not None:
        yield from _outside("read", [model.map_scores], file)


def _of_run(table: Mapping[str, Any], file: Path) -> Iterator[str]:
    judges: Sequence[Any] = table.get("judge", ())
    paths = [path for key in _READ_KEYS for path in as_texts(table.get(key, ()))]
    paths += [path for judge in judges for path in (judge.rubric, judge.examples) if path]
    steps = [table.get("steps"), *(judge.steps for judge in judges)]
    paths += [value for value in steps if isinstance(value, str) and value not in ("", "generate")]
    protocols = [*as_texts(table.get("protocol", ())), *(judge.protocol for judge in judges)]
    # A built-in protocol is no folder.
    paths += [ref for ref in protocols if ref and Path(ref).exists()]
    yield from _outside("read", paths, file)
    if "store" in table:
        yield from _outside("write", [table["store"]], file)
    if table.get("ray", "local") != "local":
        yield f"call Ray at {table['ray']}"


def _outside(verb: str, paths: Sequence[str] | Iterator[str], file: Path) -> Iterator[str]:
    """Those paths that lead out of the folder of the file, links followed."""
    home = os.path.join(os.path.realpath(file.parent), "")
    for path in paths:
        if is_address(path):
            if path != "-":
                yield f"call {path}"
            continue
        real = os.path.realpath(path)
        if not real.startswith(home):
            yield f"{verb} {real}"
        elif _is_special(real):
            raise DataError(f"{file} names {path}, which is not a regular file. Put a file in its place.")


def _is_special(path: str) -> bool:
    """Whether a path is a device, a pipe or a socket, whose reading may never end."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
