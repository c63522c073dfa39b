"""Plug-ins of other packages, by entry points: models, readers, probes, formats of traces, targets of scores.

An entry point is looked up by name and loaded only where a user names it; installing a package changes
nothing. Built-in names are looked up first, so a plug-in cannot take the place of one. Knows nothing of what
a plug-in does.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, NamedTuple, get_args

from .errors import PluginError

PluginKind = Literal["models", "readers", "probes", "traces", "targets"]
KINDS: tuple[PluginKind, ...] = get_args(PluginKind)

_PACKAGE = "adjudge"
"""our own package: its entry points are built-in, and are found where they are used"""


class Plugin(NamedTuple):
    """An entry point of an installed package."""

    kind: PluginKind
    name: str
    package: str
    version: str
    entry: EntryPoint

    @property
    def origin(self) -> str:
        """The package and its version, as a manifest records them."""
        return f"{self.package} {self.version}"

    def load(self) -> Any:
        """The object behind the entry point. This imports the package."""
        try:
            return self.entry.load()
        except Exception as fault:
            raise PluginError(
                f"plug-in {self.name} (adjudge.{self.kind}) of {self.origin} cannot be loaded: "
                f"{type(fault).__name__}: {str(fault)[:300]}. Update or uninstall {self.package}."
            ) from fault


def plugins(kind: PluginKind) -> dict[str, list[Plugin]]:
    """The installed plug-ins of a kind by name, none of them loaded. One name may have several."""
    by_name: dict[str, list[Plugin]] = {}
    for entry in entry_points(group=f"adjudge.{kind}"):
        package = entry.dist.name if entry.dist is not None else "?"
        version = entry.dist.version if entry.dist is not None else "?"
        plugin = Plugin(kind, entry.name, package, version, entry)
        same = by_name.setdefault(entry.name, [])
        # A package on two entries of the path is listed twice.
        if package.lower() != _PACKAGE and all(other.package != package for other in same):
            same.append(plugin)
    return {name: same for name, same in sorted(by_name.items()) if same}


@cache
def plugin(kind: PluginKind, name: str) -> Plugin | None:
    """The plug-in of this name; `PluginError` where two packages have one."""
    same = plugins(kind).get(name, [])
    if len(same) > 1:
        raise PluginError(
            f"plug-in {name} (adjudge.{kind}) is in two packages: "
            f"{' and '.join(other.origin for other in same)}. Uninstall one of them."
        )
    return same[0] if same else None


@cache
def loaded(kind: PluginKind, name: str) -> Any:
    """The object of the plug-in of this name; none where no package has one."""
    found = plugin(kind, name)
    return None if found is None else found.load()
