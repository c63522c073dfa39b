"""A request: what `adjudge.run` and `adjudge run` are called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..did_you_mean import did_you_mean
from ..errors import DataError
from ..models import Model
from ..records import Item, ModelSettings, Protocol, Rubric
from ..run_options.options import JudgeSettings, RunOptions
from ..run_options.values import check_values
from .watcher import Watcher

Protocols = str | Path | Protocol | Sequence[str | Path | Protocol]


OneModel = str | Model | ModelSettings


Models = OneModel | Sequence[OneModel] | Mapping[str, str | ModelSettings | Mapping[str, Any]]
"""one model, several, or alias → model: a spec, or a table as [models.ALIAS] in the run file"""


Judges = Sequence[JudgeSettings | Mapping[str, Any]]


class Request(RunOptions, frozen=True):
    """What `run` is called with: the items, how to judge them, who judges, and the options of a run."""

    items: str | Path | Sequence[Item | Mapping[str, Any]]
    protocol: Protocols = ()
    model: Models = ()
    judge: Judges = ()
    """several ways of judging, each with what is given to
    it; in place of `protocol`, `rubric` and `criterion`
    """
    watcher: Watcher | None = None
    command: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_values(self)


class AuditRequest(Request, frozen=True):
    """A request whose items are those of an audit: unchanged, repeated, and under probes."""

    audit: dict[str, Any] = msgspec.field(default_factory=dict)
    """recorded in the manifest: what is known of the probes"""
    protocol_of_probe: Mapping[str, int] = {}
    """probe → the position of the protocol that judges its items, where that is not the first"""


def as_tuple(names: Any) -> tuple[Any, ...]:
    single = str | Path | Protocol | Model | ModelSettings | Rubric
    return (names,) if isinstance(names, single) else tuple(names)


def request_of(**options: Any) -> Request:
    """The request of these options; an unknown one is reported with the name that may be meant."""
    known = set(Request.__struct_fields__) - {"items", "protocol", "model", "watcher"}
    for name in options:
        if name not in Request.__struct_fields__:
            hint = did_you_mean(name, known, f"The options are: {', '.join(sorted(known))}.")
            raise DataError(f"run has no option '{name}'. {hint}")
    return Request(**options)
