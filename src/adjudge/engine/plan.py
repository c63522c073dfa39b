"""The plan of a run: which calls belong to an item, the same for all items. Nothing is asked or stored
here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from ..errors import ProtocolError
from ..models import Model, Parameters
from ..probes import REPEAT, split_id
from ..protocols import step_protocol
from ..records import Item, Order, Protocol
from ..run_options.options import RunOptions
from ..steps.prompts import StepPrompt
from .call_parameters import parameters_for


class PlannedCall(Struct, frozen=True):
    """One of the calls that are made for every item; `index` means the same kind of call for all items."""

    index: int
    protocol: Protocol
    model: Model
    order: Order
    sample: int
    params: Parameters
    step_params: tuple[Parameters, ...] = ()
    """the parameters of the calls of each step, where the protocol has steps"""

    @property
    def by_probability(self) -> bool:
        """Whether its scores are expected values, from log-probabilities."""
        return self.params.top_logprobs is not None

    def of_step(self, prompt: StepPrompt) -> PlannedCall:
        """The same for one step of the protocol, as if it were a protocol with one prompt."""
        return msgspec.structs.replace(
            self, protocol=prompt.protocol, params=self.step_params[prompt.position], step_params=()
        )


class Plan(Struct, frozen=True):
    """The calls of a run, the same for all items."""

    options: RunOptions
    protocols: tuple[Protocol, ...]
    models: tuple[Model, ...]
    calls: tuple[PlannedCall, ...]
    steps_for: tuple[int, ...] | None = None
    """the protocols whose evaluation steps the judge writes,
    by position; none: all, where `--steps generate` is set
    """
    is_audit: bool = False
    """whether items are those of an audit: the first protocol is the audited one"""
    protocol_of_probe: Mapping[str, int] = {}
    """probe → the position of the protocol that judges its items, where that is not the first"""
    absent: frozenset[str] = frozenset()
    """optional inputs that no item has"""

    def calls_of(self, item: Item) -> tuple[PlannedCall, ...]:
        """The calls of this item: all, or with `--order random` only those in the order that its id
        decides."""
        calls = self._of_probe(item) if self.is_audit else self.calls
        if self.options.order != "random":
            return calls
        # Every probe shows an item in the same order.
        drawn = _drawn(split_id(item.id)[0] if self.is_audit else item.id)
        return tuple(
            planned for planned in calls if planned.protocol.task != "compare" or planned.order == drawn
        )

    def _of_probe(self, item: Item) -> tuple[PlannedCall, ...]:
        """The calls of an item of an audit. A repeated item has
        samples that no other item has: never a cache hit.
        """
        probe = split_id(item.id)[1]
        number = self.protocol_of_probe.get(probe, 0)
        return tuple(
            planned
            for planned in self.calls
            if planned.protocol is self.protocols[number]
            and (planned.sample >= self.options.samples) == (probe == REPEAT)
        )

    def writes_steps(self, number: int) -> bool:
        """Whether the judge writes the evaluation steps of the protocol at this position."""
        if self.options.steps != "generate":
            return False
        return self.steps_for is None or number in self.steps_for


def _drawn(item: str) -> Order:
    """The order of the item with this id with `--order random`: the same in every run."""
    return "ab" if hashlib.blake2b(item.encode(), digest_size=1).digest()[0] % 2 == 0 else "ba"


def make_plan(
    protocols: Sequence[Protocol],
    models: Sequence[Model],
    options: RunOptions,
    steps_for: tuple[int, ...] | None = None,
    *,
    is_audit: bool = False,
    protocol_of_probe: Mapping[str, int] | None = None,
) -> Plan:
    """All calls of a run, in the order in which their results are reported."""
    _check_unique(protocols, models)
    calls: list[PlannedCall] = []
    for protocol in protocols:
        orders: tuple[Order, ...] = ("ab",)
        if protocol.task == "compare" and options.order != "given":
            orders = ("ab", "ba")
        for model in models:
            for sample in range(options.samples * (2 if is_audit else 1)):
                params = parameters_for(protocol, options, model.settings, sample)
                of_steps = tuple(
                    parameters_for(step_protocol(protocol, step), options, model.settings, sample)
                    for step in protocol.pipeline
                )
                for order in orders:
                    calls.append(PlannedCall(len(calls), protocol, model, order, sample, params, of_steps))
    return Plan(
        options, tuple(protocols), tuple(models), tuple(calls), steps_for, is_audit, protocol_of_probe or {}
    )


def _check_unique(protocols: Sequence[Protocol], models: Sequence[Model]) -> None:
    names = [protocol.ref for protocol in protocols]
    for name in names:
        if names.count(name) > 1:
            raise ProtocolError(f"protocol {name} is given twice. Name it once.")
    specs = [model.name for model in models]
    for spec in specs:
        if specs.count(spec) > 1:
            raise ProtocolError(
                f"model {spec} is given twice. Name it once; use --samples for several replies."
            )
