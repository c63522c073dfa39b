"""The calls of one item: of a prompt, of a step, and the one that stands for all calls of an item's steps."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

import msgspec

from ..parse.estimators import BY_RULE
from ..records import EMPTY_RESPONSE, Call, Item, Order, Rendered
from ..render import render, render_questions
from ..steps.prompts import StepPrompt
from .call_keys import with_key
from .plan import PlannedCall
from .rule_answers import answer_by_rule

Prompts = dict[tuple[int, Order, bool], Rendered]
"""The prompts of one item that were made already, by protocol, order and whether they are typed questions."""


def call_for(
    planned: PlannedCall, item: Item, absent: frozenset[str] = frozenset(), prompts: Prompts | None = None
) -> tuple[Call, tuple[str, ...]]:
    """A planned call for one item, and the flags of its prompt; `absent` are optional inputs that no item
    has.

    Samples and judges share `prompts`: with five samples of an item, its calls take 0.73 of the CPU time.
    """
    protocol = planned.protocol
    # The same for all items: a slot of a run holds calls of one kind.
    kind: Literal["generate", "likelihood"] = (
        "likelihood" if protocol.answer.reader == "likelihood" else "generate"
    )
    is_unanswered = protocol.is_unanswered(item.fields)
    ruled = "" if is_unanswered else answer_by_rule(protocol, item)
    if ruled is not None:
        call = Call("", item.id, protocol.ref, tuple(protocol.criteria), planned.model.name, ())
        call = msgspec.structs.replace(
            call, order=planned.order, sample=planned.sample, kind=kind, target=ruled
        )
        return with_key(call, planned.model, planned.params), (EMPTY_RESPONSE if is_unanswered else BY_RULE,)
    prompts = {} if prompts is None else prompts
    asks = planned.model.asks_questions
    rendered = prompts.get((id(protocol), planned.order, asks))
    if rendered is None:
        rendered = (render_questions if asks else render)(protocol, item, planned.order, absent)
        prompts[id(protocol), planned.order, asks] = rendered
    call = Call(
        key="",
        item=item.id,
        protocol=protocol.ref,
        criteria=tuple(protocol.criteria),
        model=planned.model.name,
        messages=rendered.messages,
        order=planned.order,
        sample=planned.sample,
        kind=kind,
        target=rendered.target,
        line=None if item.has_id else item.line,
    )
    return with_key(call, planned.model, planned.params), rendered.flags


def step_call(planned: PlannedCall, prompt: StepPrompt, item: Item) -> Call:
    """One call of one step for one item."""
    protocol = planned.protocol
    call = Call(
        key="",
        item=item.id,
        protocol=protocol.ref,
        criteria=tuple(prompt.protocol.criteria),
        model=planned.model.name,
        messages=prompt.messages,
        sample=planned.sample,
        kind="extract" if prompt.step.kind == "extract" else "check",
        step=prompt.step.name,
        element=prompt.elements[0] if prompt.elements else None,
        line=None if item.has_id else item.line,
    )
    return with_key(call, planned.model, planned.step_params[prompt.position])


def combine_call(planned: PlannedCall, item: Item, keys: Sequence[str]) -> Call:
    """What stands for all calls of an item's steps: it is never sent, and its judgment is that of the
    item."""
    protocol = planned.protocol
    digest = hashlib.blake2b(digest_size=20)
    for part in ("combine", protocol.digest, planned.model.identity, str(planned.sample), *keys):
        digest.update(part.encode() + b"\n")
    return Call(
        key=digest.hexdigest(),
        item=item.id,
        protocol=protocol.ref,
        criteria=tuple(protocol.criteria),
        model=planned.model.name,
        messages=(),
        sample=planned.sample,
        kind="combine",
    )
