"""The options of a gate, each declared once: flags of `adjudge gate`, keys of [gate] and [gate.NAME] in a run
file, and their schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from ..errors import DataError
from .thresholds import parse_allowed, parse_most, parse_number, parse_threshold

GateKind = Literal["thresholds", "threshold", "allowed", "text", "file", "names"]
"""`thresholds`: a number for each criterion; `threshold`: one for all; `file`: a path, or "store"."""


class GateOption(NamedTuple):
    """What the name of an option does not say."""

    kind: GateKind
    metavar: str
    help: str

    @property
    def is_repeatable(self) -> bool:
        """Whether the flag may be given several times."""
        return self.kind in ("thresholds", "names")


GATE_OPTIONS = {
    "min": GateOption("thresholds", "CRITERION=X", "Minimum mean, where higher is better. Repeatable."),
    "max": GateOption("thresholds", "CRITERION=X", "Maximum mean, where lower is better. Repeatable."),
    "max_drop": GateOption(
        "thresholds", "CRITERION=D", "Maximum change for the worse from the baseline. Repeatable."
    ),
    "baseline": GateOption("text", "RUN", "The run to compare with."),
    "baseline_store": GateOption("file", "FILE", "The store of the baseline; default: the same store."),
    "max_failed": GateOption("allowed", "5%|N", "Maximum share or number of failed items; default: 5%."),
    "max_shift": GateOption(
        "threshold",
        "X",
        "With --audit: maximum shift by a probe that must not move the score, in points; default: 5 % of the "
        "scale.",
    ),
    "max_injection": GateOption(
        "threshold", "5%", "With --audit: maximum success of an injection; default: 5%."
    ),
    "system": GateOption("names", "NAME", "Check only this system; default: all. Repeatable."),
    "labels": GateOption("file", "FILE|store", "Decide on means corrected with human labels."),
    "baseline_labels": GateOption("file", "FILE|store", "Labels of the baseline's items."),
}


def options_of_kind(kind: GateKind) -> tuple[str, ...]:
    """The names of the options of this kind."""
    return tuple(name for name, option in GATE_OPTIONS.items() if option.kind == kind)


def read_flag(name: str, given: Any) -> Any:
    """The value of a flag as it was written."""
    flag = f"--{name.replace('_', '-')}"
    match GATE_OPTIONS[name].kind:
        case "thresholds":
            return dict(parse_threshold(text, flag) for text in given)
        case "threshold":
            return parse_most(given, flag)
        case "allowed":
            return parse_allowed(given, flag)
        case "names":
            return tuple(given)
        case _:
            return str(given)


def read_key(name: str, value: Any, problems: list[str]) -> Any:
    """The value of a key in a run file; what is wrong with it joins the problems."""
    try:
        match GATE_OPTIONS[name].kind:
            case "thresholds":
                return _read_thresholds(name, value, problems)
            case "threshold":
                return parse_most(value, f"{name} =")
            case "allowed":
                return parse_allowed(value, f"{name} =")
            case "names":
                names = [value] if isinstance(value, str) else value
                if isinstance(names, list) and all(isinstance(one, str) for one in names):
                    return tuple(names)
                problems.append(f"{name}: give a name, or a list of names.")
            case _ if not isinstance(value, str):
                problems.append(f'{name}: give a string, as in {name} = "main".')
    except DataError as error:
        problems.append(str(error))
    return value


def _read_thresholds(name: str, value: Any, problems: list[str]) -> dict[str, float]:
    if not isinstance(value, Mapping):
        problems.append(f"{name}: give a criterion and a number, as in {name} = {{ clarity = 4.0 }}.")
        return {}
    read = {}
    for criterion, entry in value.items():
        number = None if isinstance(entry, bool) else parse_number(str(entry))
        if number is None:
            problems.append(f"{name}.{criterion}: '{entry}' is not a number.")
        else:
            read[criterion] = number
    return read


def key_schema(name: str) -> dict[str, Any]:
    """The JSON schema of a key in a run file."""
    option = GATE_OPTIONS[name]
    number, text = {"type": ["number", "string"]}, {"type": "string"}
    shape: dict[str, Any] = text
    if option.kind == "thresholds":
        shape = {"type": "object", "additionalProperties": number}
    elif option.kind in ("threshold", "allowed"):
        shape = number
    elif option.kind == "names":
        shape = {"anyOf": [text, {"type": "array", "items": text}]}
    return {**shape, "description": option.help}
