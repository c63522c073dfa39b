"""The options of a run that its manifest records, and how they are read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .options import RunOptions, declared_options

_ALWAYS_RECORDED = (
    "samples", "estimator", "order", "temperature", "max_tokens", "seed", "reask", "steps", "limit",
)  # fmt: skip
"""The settings in every manifest. Never add to it: a newer option is recorded only where it differs from its
default, so that runs from before the option existed keep their identity and can be resumed.
"""


def recorded_settings(options: RunOptions) -> dict[str, Any]:
    """The `settings` of a manifest."""
    settings = {name: getattr(options, name) for name in _ALWAYS_RECORDED}
    # Steps that the user wrote are part of the protocol's digest.
    settings["steps"] = "generate" if options.steps == "generate" else "given"
    # It was a switch once: manifests of then and now agree.
    settings["reask"] = bool(options.reask) if options.reask <= 1 else options.reask
    for name, (_, default, option) in declared_options().items():
        if option.effect == "settings" and name not in settings and getattr(options, name) != default:
            settings[name] = getattr(options, name)
    return settings


def options_from(settings: Mapping[str, Any]) -> RunOptions:
    """The options of a run by the `settings` of its manifest; all others have their default."""
    known = {name: value for name, value in settings.items() if name in declared_options()}
    if known.get("steps") == "given":
        del known["steps"]
    if "reask" in known:
        known["reask"] = int(known["reask"])
    return RunOptions(**known)
