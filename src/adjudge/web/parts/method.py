"""What was asked of whom and with what: all that is needed to get the same numbers again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from ...report import Caution, Summary
from ...report.words import MEANING, judge_text

_GRAVE = frozenset({"all_failed", "fake_model", "weak_judge", "incomplete"})


class Told(Struct, frozen=True):
    """A caution and how grave it is."""

    css: str
    text: str


class MethodPart(Struct, frozen=True):
    """The method and the signature."""

    judges: tuple[str, ...]
    protocols: tuple[tuple[str, str], ...]
    """id and digest"""
    parameters: tuple[tuple[str, str], ...]
    signature: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    meaning: str
    adjustments: tuple[str, ...]


def cautions_part(summary: Summary) -> tuple[Told, ...]:
    """The cautions, in the order of the report."""
    return tuple(_told(one, summary) for one in summary.warnings)


def _told(caution: Caution, summary: Summary) -> Told:
    if caution.kind == "incomplete" and summary.status == "running":
        # Whoever looks on while a run goes on need not be told that it was stopped.
        text = f"{summary.n_items:,} of {summary.n_planned:,} items are judged so far; the run goes on."
        return Told("warn", text)
    return Told("bad" if caution.kind in _GRAVE else "warn", caution.text)


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
        if manifest.get("command"):
            commands.append(_command(manifest["command"]))
    if seed is not None:
        signature.append(("Seed of the resampling", str(seed)))
    return MethodPart(
        judges=tuple(judge_text(spec, model.names, model.is_fake) for spec, model in summary.models.items()),
        protocols=tuple(summary.protocols.items()),
        parameters=tuple((name, _shown(value)) for name, value in summary.parameters.items()),
        signature=tuple((name, value) for name, value in signature if value),
        commands=tuple(commands),
        meaning=MEANING,
        adjustments=summary.adjustments,
    )


def _command(words: Sequence[str] | str) -> str:
    return words if isinstance(words, str) else shlex.join(words)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_shown(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_shown(part)}" for key, part in value.items())
    return str(value)
