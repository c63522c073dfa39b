"""What a shell completes: the names of runs and protocols."""

from __future__ import annotations

from ..errors import AdjudgeError
from ..run_options.options import default_store


def run_names(incomplete: str) -> list[str]:
    """The runs of the default store, for shell completion."""
    from ..store import open_store

    try:
        with open_store(default_store(), write=False) as opened:
            return [run.name for run in opened.runs() if run.name.startswith(incomplete)]
    except AdjudgeError:
        return []


def protocol_ids(incomplete: str) -> list[str]:
    """The built-in protocols, for shell completion."""
    from ..protocols import builtin_ids

    return [name for name in builtin_ids() if name.startswith(incomplete)]
