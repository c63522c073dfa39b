"""Finding a protocol by its id or its folder, and giving it what the user brings along."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ..data import read_examples, read_rubric
from ..errors import ProtocolError, problem_list
from ..records import Example, Protocol, Rubric, Scale
from ..render import slots_of
from .builtins import find_folder
from .digest import with_digest
from .findings import Finding
from .folder import read_folder


def load_protocol(
    ref: str | Path,
    *,
    rubric: Rubric | str | Path | None = None,
    examples: Sequence[Example] | str | Path = (),
    criterion: str = "",
    steps: Sequence[str] = (),
    name: str = "",
) -> Protocol:
    """The protocol of a built-in id or a folder, with the user's rubric, examples, criterion and steps.

    `name` is the name of its only criterion, in place of the protocol's or the rubric's. Raises
    `ProtocolError` with every problem at once.
    """
    folder, protocol_id = find_folder(ref)
    protocol, findings = read_folder(folder, protocol_id)
    if protocol is None:
        raise ProtocolError(problem_list(str(ref), [_short(finding) for finding in findings]))
    return _given(protocol, rubric, examples, criterion, steps, name)


def _short(finding: Finding) -> str:
    return f"{Path(finding.file).name}: {finding.message} {finding.todo}"


def _given(
    protocol: Protocol,
    rubric: Rubric | str | Path | None,
    examples: Sequence[Example] | str | Path,
    criterion: str,
    steps: Sequence[str],
    name: str = "",
) -> Protocol:
    """The protocol with all that was given; what it has no slot for is refused, never dropped."""
    takes_parts = _takes_parts(protocol)
    asked = {"rubric": rubric is not None, "criterion": bool(criterion), "steps": bool(steps)}
    refused = [
        name for name, is_given in asked.items() if is_given and name not in (*protocol.takes, *takes_parts)
    ]
    if examples and not takes_examples(protocol):
        refused.append("examples")
    if refused:
        names = ", ".join(f"--{name}" for name in refused)
        raise ProtocolError(
            f"protocol {protocol.id} has no slot for {names}: it would never be shown to the judge. "
            "Leave it out, or choose a protocol that takes it."
        )
    if isinstance(examples, str | Path):
        examples = read_examples(examples, protocol.inputs) if examples else ()
    if isinstance(rubric, str | Path):
        rubric = read_rubric(rubric)
    criteria = protocol.criteria
    if rubric is not None:
        rubric = msgspec.structs.replace(rubric, name=name) if name else rubric
        criteria = {rubric.name: _rubric_scale(protocol, rubric)}
        protocol = _with_classes(protocol, rubric)
    elif name:
        protocol = _renamed(protocol, name)
        criteria = protocol.criteria
    return with_digest(
        protocol,
        rubric=rubric,
        is_named=bool(name and criterion),
        criteria=criteria,
        examples=tuple(examples),
        criterion_text=criterion,
        steps=tuple(steps),
    )


def takes_examples(protocol: Protocol) -> bool:
    """Whether a prompt has a place for examples."""
    return protocol.example_words is not None or "example" in _takes_parts(protocol)


def _takes_parts(protocol: Protocol) -> list[str]:
    """What an imported prompt has slots for the parts of: a rubric, an example."""
    return [name.partition(".")[0] for name in protocol.alias.values() if "." in name]


def _with_classes(protocol: Protocol, rubric: Rubric) -> Protocol:
    """The protocol with the rubric's labels as the options of its answer."""
    declared = next(iter(protocol.criteria.values()))
    takes_classes = declared is not None and declared.is_nominal
    if takes_classes != rubric.scale.is_nominal:
        if takes_classes:
            raise ProtocolError(
                f"protocol {protocol.id} chooses a label, and the rubric '{rubric.name}' has levels. Give it"
                " [labels] in place of [levels], or use prometheus/direct, which takes levels."
            )
        raise ProtocolError(
            f"protocol {protocol.id} gives a score, and the rubric '{rubric.name}' has [labels], which have"
            " no order. Use classify, or give it [levels]."
        )
    if not takes_classes:
        return protocol
    options: dict[str, float | Literal["none"]] = {
        name: value for value, name in sorted(rubric.scale.names.items())
    }
    return msgspec.structs.replace(protocol, answer=msgspec.structs.replace(protocol.answer, options=options))


def _renamed(protocol: Protocol, name: str) -> Protocol:
    """The protocol with another name for its only criterion."""
    if len(protocol.criteria) != 1:
        raise ProtocolError(
            f"protocol {protocol.id} has {len(protocol.criteria)} criteria, and '{name}' names one. Leave the"
            " name out."
        )
    answer = protocol.answer
    if any(
        "{criterion}" in (path or "")
        for path in (answer.score, answer.reason, answer.evidence, answer.confidence)
    ):
        raise ProtocolError(
            f"protocol {protocol.id} asks for its criterion by name in the reply. Leave the name '{name}'"
            " out."
        )
    ((old, scale),) = protocol.criteria.items()
    scores = {name if key == old else key: path for key, path in answer.scores.items()}
    return msgspec.structs.replace(
        protocol, criteria={name: scale}, answer=msgspec.structs.replace(answer, scores=scores)
    )


def _rubric_scale(protocol: Protocol, rubric: Rubric) -> Scale | None:
    """The rubric's levels are the scale, where the protocol scores at all.

    An imported prompt spells out its levels, so there the rubric must have just these.
    """
    declared = next(iter(protocol.criteria.values()))
    if declared is None:
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
            f"protocol {protocol.id} shows the levels {wanted}; the rubric '{rubric.name}' describes"
            f" {described}. Describe just these, or use prometheus/direct, which takes any number of levels."
        )
    return rubric.scale
