"""`adjudge plugins`: the plug-ins of installed packages, without loading any."""

from __future__ import annotations

from ..plugins import KINDS, PluginKind, plugins
from .options import AS_JSON
from .terminal import print_json, print_table, print_text


def plugins_command(as_json: bool = AS_JSON) -> None:
    """List the plug-ins of installed packages. None is loaded before it is named."""
    rows = [
        {
            "kind": kind,
            "name": name,
            "package": plugin.package,
            "version": plugin.version,
            "ignored": _ignored(kind, name, n=len(same)),
        }
        for kind in KINDS
        for name, same in plugins(kind).items()
        for plugin in same
    ]
    if as_json:
        print_json(rows)
    elif rows:
        print_table(tuple(rows[0]), [tuple(str(cell) for cell in row.values()) for row in rows])
    else:
        print_text("No plug-ins are installed. docs/plugins.md says how to write one.")


def _ignored(kind: PluginKind, name: str, *, n: int) -> str:
    """Why a plug-in cannot be used; empty where it can."""
    if name in _built_in(kind):
        return "the name is built in"
    return "two packages have this name" if n > 1 else ""


def _built_in(kind: PluginKind) -> set[str]:
    from ..data import FORMATS
    from ..models.spec import built_in_names
    from ..parse.asked.plugin_reader import BUILT_IN_READERS
    from ..platforms.push import TARGETS
    from ..probes import builtin_names

    match kind:
        case "models":
            return set(built_in_names())
        case "readers":
            return set(BUILT_IN_READERS)
        case "probes":
            return set(builtin_names())
        case "traces":
            return {"auto", *FORMATS}
        case "targets":
            return {*TARGETS, "http", "https"}
