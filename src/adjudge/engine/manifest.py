"""The manifest of a run: all that says what it did, and what makes two runs the same run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from ..data import FORMATS
from ..models import Model
from ..parse.asked.plugin_reader import is_of_plugin
from ..plugins import PluginKind, plugin
from ..run_options.recorded import recorded_settings
from ..run_options.shard import shard_of
from ..store import ENDS
from .plan import Plan


def manifest_of(plan: Plan, items: dict[str, Any], command: Sequence[str], version: str) -> dict[str, Any]:
    """All that is needed to say what a run did, and to parse its replies again without the original files."""
    settings = recorded_settings(plan.options)
    if plan.steps_for is not None:
        settings["steps_for"] = list(plan.steps_for)
    dates = {model.name: model.price_date for model in plan.models if model.price_date}
    ends = ends_of(plan.models)
    n_shards = shard_of(plan.options).n
    return {
        "items": items,
        "protocols": [msgspec.to_builtins(protocol, str_keys=True) for protocol in plan.protocols],
        "models": [_model_entry(model) for model in plan.models],
        "settings": settings,
        "version": version,
        "command": list(command),
        **({"price_dates": dates} if dates else {}),
        **({ENDS: ends} if ends else {}),
        **({"plugins": plugins} if (plugins := _plugins_of(plan)) else {}),
        **({"shards": n_shards} if n_shards > 1 else {}),
    }


def _plugins_of(plan: Plan) -> dict[str, str]:
    """The plug-ins that take part in a run, each with its package and version."""
    readers = [step.answer for protocol in plan.protocols for step in protocol.pipeline if step.answer]
    readers += [protocol.answer for protocol in plan.protocols]
    names: list[tuple[PluginKind, str]] = [
        ("readers", reader.reader) for reader in readers if is_of_plugin(reader)
    ]
    if plan.options.traces not in (None, "auto", *FORMATS):
        names.append(("traces", str(plan.options.traces)))
    used = {f"models/{model.name}": model.plugin for model in plan.models if model.plugin}
    for kind, name in names:
        if (added := plugin(kind, name)) is not None:
            used[f"{kind}/{name}"] = added.origin
    return used


def ends_of(models: Sequence[Model]) -> dict[str, dict[str, str]]:
    """Model → the date on which it ends and the page that says so, where its provider has announced it."""
    return {
        model.name: {"date": model.ending.date, "page": model.ending.page}
        for model in models
        if model.ending is not None
    }


def specs_of(models: Sequence[Model]) -> list[str]:
    """The models as they were given, without their aliases."""
    return [model.settings.model if model.settings is not None else model.spec for model in models]


_MODEL_PARAMETERS = ("temperature", "max_tokens", "reasoning_effort", "thinking_tokens")


def _model_entry(model: Model) -> dict[str, Any]:
    """A model in the manifest. `spec` is its name in results; an alias and its own parameters are recorded
    only where it has them, so that runs from before these existed keep their identity.
    """
    entry: dict[str, Any] = {"spec": model.name, "identity": model.identity, "is_fake": model.is_fake}
    if model.name != model.spec:
        entry["model"] = model.spec
    if model.settings is not None:
        values = {name: getattr(model.settings, name) for name in _MODEL_PARAMETERS}
        if parameters := {name: value for name, value in values.items() if value is not None}:
            entry["parameters"] = parameters
    if model.score_map is not None:
        # The digest makes it another judge; the curves are kept so that stored replies can be read again.
        entry["map_scores"] = {
            "digest": model.score_map.digest,
            "curves": msgspec.to_builtins(model.score_map),
        }
    return entry


def identity_of(manifest: dict[str, Any]) -> str:
    """A hash of the parts of a manifest that decide what is asked and how replies are parsed.

    Another version of a plug-in is another judge.
    """
    decisive = {
        "items": {key: value for key, value in manifest["items"].items() if key != "path"},
        "protocols": [[protocol["id"], protocol["digest"]] for protocol in manifest["protocols"]],
        "models": manifest["models"],
        "settings": manifest["settings"],
        **({"plugins": manifest["plugins"]} if "plugins" in manifest else {}),
    }
    return hashlib.blake2b(msgspec.json.encode(decisive, order="sorted"), digest_size=16).hexdigest()
