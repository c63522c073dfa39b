"""What a probe is, the names of probes and of the items under them, and loading them from their folders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, structs

from ..data import read_small_text
from ..did_you_mean import did_you_mean
from ..errors import DataError
from ..plugins import plugin, plugins
from ..toml_text import parse_toml

UNCHANGED, REPEAT, LEVELS = "none", "repeat", "order"
FORM = "form"
CONTROL = "/control"
BETWEEN = " ~ "

Edit = Literal[
    "append",
    "prepend",
    "replace",
    "repeat",
    "bullets",
    "bold",
    "typos",
    "truncate",
    "shuffle",
    "swap",
    "negate",
    "shuffle_sources",
    "reverse_levels",
    "question_form",
]
ProbeKind = Literal["must_not_move", "injection", "must_move"]
"""What a judge should do: keep its score, ignore instructions in the judged text, or notice the damage."""


class Variant(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to make a probe; each item gets one, and one of its texts."""

    name: str
    edit: Edit
    texts: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    """for each text a benign one of the same length and shape"""
    encode: Literal["", "base64"] = ""
    target: Literal["response", "source"] = "response"
    task: Literal["", "score", "compare"] = ""
    """the only task that it applies to"""


class Probe(Struct, frozen=True, forbid_unknown_fields=True):
    """One reason for which a score should or should not move."""

    title: str
    kind: ProbeKind
    variants: tuple[Variant, ...]
    split: bool = False
    """whether each variant is a probe by itself, NAME/VARIANT"""
    control: str = ""
    """another probe that it is compared with, in place of the unchanged item"""
    name: str = ""
    plugin: str = ""
    """the package and version of the plug-in that brings it"""


def variant_id(item: str, probe: str) -> str:
    """The id of an item under a probe."""
    return item if probe == UNCHANGED else f"{item}{BETWEEN}{probe}"


def split_id(variant: str) -> tuple[str, str]:
    """The item and the probe of an id in an audit."""
    item, between, probe = variant.rpartition(BETWEEN)
    return (item, probe) if between else (variant, UNCHANGED)


def builtin_folder() -> Path:
    return Path(str(resources.files(__package__)))


def builtin_names() -> list[str]:
    return sorted(path.parent.name for path in builtin_folder().glob("*/probe.toml"))


def load_probes(names: Sequence[str] = ()) -> list[Probe]:
    """The named probes, built-in ones or folders; without names all built-in ones."""
    known = builtin_names()
    probes: dict[str, Probe] = {}
    for name in names or known:
        family, _, part = name.partition("/")
        if name in known or (family in known and part):
            probe = _load(builtin_folder() / family)
            if part and name not in known:
                probe = _only(probe, part)
        elif (Path(name) / "probe.toml").exists():
            probe = _load(Path(name))
        elif (added := plugin("probes", name)) is not None:
            probe = structs.replace(_load(Path(str(added.load()))), name=name, plugin=added.origin)
        else:
            names = [*known, *(other for other in plugins("probes") if other not in known)]
            hint = did_you_mean(name, names, f"The probes are: {', '.join(names)}.")
            raise DataError(f"--probes {name}: no such probe, and no folder with a probe.toml. {hint}")
        if probe.name in probes and probes[probe.name].split:
            probe = structs.replace(probe, variants=(*probes[probe.name].variants, *probe.variants))
        probes[probe.name] = probe
    for probe in list(probes.values()):
        if probe.control and probe.control not in probes and probe.control in known:
            probes[probe.control] = _load(builtin_folder() / probe.control)
    return list(probes.values())


def _only(probe: Probe, part: str) -> Probe:
    """One variant of a probe whose variants are probes by themselves."""
    kept = tuple(variant for variant in probe.variants if variant.name == part)
    if not probe.split or not kept:
        named = (
            ", ".join(f"{probe.name}/{variant.name}" for variant in probe.variants)
            if probe.split
            else probe.name
        )
        raise DataError(f"--probes {probe.name}/{part}: no such probe. There are: {named}.")
    return structs.replace(probe, variants=kept)


def _load(folder: Path) -> Probe:
    path = folder / "probe.toml"
    try:
        probe = msgspec.convert(parse_toml(read_small_text(path)), Probe)
    except (ValueError, RecursionError, msgspec.ValidationError, OSError) as error:
        # ValueError: not TOML, or an integer of thousands of digits.
        raise DataError(f"{path}: cannot be used ({error}). Correct it.") from error
    problems = [
        f"variant '{variant.name}': {problem}"
        for variant in probe.variants
        for problem in _problems(variant, probe)
    ]
    if BETWEEN.strip() in folder.name or not probe.variants:
        problems.append("a probe needs at least one variant, and a folder name without '~'.")
    if problems:
        raise DataError(
            f"{path}: {len(problems)} problem(s)\n" + "\n".join(f"  {problem}" for problem in problems)
        )
    return structs.replace(probe, name=folder.resolve().name)


def _problems(variant: Variant, probe: Probe) -> Iterable[str]:
    if variant.edit in ("append", "prepend", "replace", "negate") and not variant.texts:
        yield f"the edit {variant.edit} needs texts = […]."
    if probe.kind == "injection" and not probe.control and len(variant.controls) != len(variant.texts):
        yield "an injection needs a control for each text: controls = […]."
