"""The method and the signature of a run: everything needed to reproduce the numbers."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ...analysis.report.summary import Summary
from ...analysis.report.words.report import judge_text

# The method and the signature: everything needed to reproduce the numbers


class MethodPart(Struct, frozen=True):
    """The method and the signature."""

    judges: tuple[str, ...]
    protocols: tuple[tuple[str, str], ...]
    """id and digest"""
    parameters: tuple[tuple[str, str], ...]
    signature: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    adjustments: tuple[str, ...]


def method_part(summary: Summary, manifest: Mapping[str, Any] | None, seed: int | None) -> MethodPart:
    """The method of a run; with its manifest also the command that started it and the items' hash."""
    signature = [("Adjudge", summary.version), ("Run", summary.run), ("Started", summary.started)]
    commands = []
    if manifest is not None:
        items = manifest.get("items", {})
        signature += [
            (name, str(items[key]))
            for name, key in (("Items", "path"), ("Items, sha256", "sha256"))
            if items.get(key)
        ]
        if command := command_of(manifest):
            commands.append(command)
    if seed is not None:
        signature.append(("Resampling seed", str(seed)))
    return MethodPart(
        judges=tuple(judge_text(spec, model.names, model.is_fake) for spec, model in summary.models.items()),
        protocols=tuple(summary.protocols.items()),
        parameters=tuple((name, _shown(value)) for name, value in summary.parameters.items()),
        signature=tuple((name, value) for name, value in signature if value),
        commands=tuple(commands),
        adjustments=summary.adjustments,
    )


def command_of(manifest: Mapping[str, Any]) -> str:
    """The command that started a run, to give again; empty where it is unknown."""
    words = manifest.get("command") or ""
    return words if isinstance(words, str) else shlex.join(words)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_shown(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_shown(part)}" for key, part in value.items())
    return str(value)
