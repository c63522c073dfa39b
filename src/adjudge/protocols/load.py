"""Finding a protocol by its id or its folder, and giving it what the user brings along."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from ..data import read_examples, read_rubric
from ..errors import ProtocolError, listed
from ..records import Example, Protocol, Rubric, Scale
from ..render import slots_of
from .findings import Finding
from .folder import read_folder, with_digest


def builtin_root() -> Path:
    """The folder of the built-in protocols."""
    return Path(str(resources.files(__package__))) / "builtin"


def builtin_ids() -> list[str]:
    """The ids of all built-in protocols, sorted."""
    root = builtin_root()
    return sorted(path.parent.relative_to(root).as_posix() for path in root.glob("*/*/protocol.toml"))


def find_folder(ref: str | Path) -> tuple[Path, str]:
    """The folder and the id that a reference means: a built-in id, or the path of a folder."""
    text = str(ref)
    if isinstance(ref, str) and text in builtin_ids():
        return builtin_root() / text, text
    path = Path(ref)
    if path.is_dir():
        return path, _id_of_folder(path)
    near = difflib.get_close_matches(text, builtin_ids(), 3, 0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise ProtocolError(
        f"'{text}' is neither a built-in protocol nor a folder.{hint} adjudge protocols list shows the built-in ones."
    )


def _id_of_folder(folder: Path) -> str:
    """A user's protocol goes by the folder's name; a built-in one reached by its path keeps its id."""
    resolved, root = folder.resolve(), builtin_root().resolve()
    if resolved.is_relative_to(root):
        return resolved.relative_to(root).as_posix()
    return resolved.name


def load_protocol(
    ref: str | Path,
    *,
    rubric: Rubric | str | Path | None = None,
    examples: Sequence[Example] | str | Path = (),
    criterion: str = "",
    steps: Sequence[str] = (),
) -> Protocol:
    """The protocol of a built-in id or a folder, with the user's rubric, examples, criterion and steps.

    Raises `ProtocolError` with every problem at once.
    """
    folder, protocol_id = find_folder(ref)
    protocol, findings = read_folder(folder, protocol_id)
    if protocol is None:
        raise ProtocolError(listed(str(ref), [_short(finding) for finding in findings]))
    return _given(protocol, rubric, examples, criterion, steps)


def _short(finding: Finding) -> str:
    return f"{Path(finding.file).name}: {finding.message} {finding.todo}"


def _given(
    protocol: Protocol,
    rubric: Rubric | str | Path | None,
    examples: Sequence[Example] | str | Path,
    criterion: str,
    steps: Sequence[str],
) -> Protocol:
    """The protocol with all that was given; what it has no slot for is refused, never dropped."""
    takes_parts = [name.partition(".")[0] for name in protocol.alias.values() if "." in name]
    asked = {"rubric": rubric is not None, "criterion": bool(criterion), "steps": bool(steps)}
    refused = [
        name for name, is_given in asked.items() if is_given and name not in (*protocol.takes, *takes_parts)
    ]
    if isinstance(examples, str | Path):
        examples = read_examples(examples, protocol.inputs)
    if examples and protocol.example_words is None and "example" not in takes_parts:
        refused.append("examples")
    if refused:
        names = ", ".join(f"--{name}" for name in refused)
        raise ProtocolError(
            f"protocol {protocol.id} has no place for {names}: it would never be shown to the judge. "
            "Leave it out, or choose a protocol that takes it."
        )
    if isinstance(rubric, str | Path):
        rubric = read_rubric(rubric)
    criteria = protocol.criteria
    if rubric is not None:
        criteria = {rubric.name: _rubric_scale(protocol, rubric)}
    return with_digest(
        protocol,
        rubric=rubric,
        criteria=criteria,
        examples=tuple(examples),
        criterion_text=criterion,
        steps=tuple(steps),
    )


def _rubric_scale(protocol: Protocol, rubric: Rubric) -> Scale | None:
    """The rubric's levels are the scale, where the protocol scores at all.

    An imported prompt spells out its levels, so there the rubric must have just these.
    """
    own = next(iter(protocol.criteria.values()))
    if own is None:
        return None
    shown = {
        name
        for slot in slots_of(protocol.user_text)
        if (name := protocol.alias.get(slot, "")).startswith("rubric.")
    }
    levels = {float(part) for name in shown if (part := name.removeprefix("rubric.")) != "criterion"}
    if levels and levels != set(rubric.scale.levels):
        described = ", ".join(f"{level:g}" for level in sorted(rubric.scale.levels)) or "none"
        wanted = ", ".join(f"{level:g}" for level in sorted(levels))
        raise ProtocolError(
            f"protocol {protocol.id} shows the levels {wanted}; the rubric '{rubric.name}' describes {described}. "
            "Describe just these, or use prometheus/direct, which takes any number of levels."
        )
    return rubric.scale
