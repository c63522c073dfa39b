"""Evaluation steps that the judge writes itself, once per run: their prompt, their call, and the plan with
them.

An idea of G-Eval (Liu et al. 2023)."""

from __future__ import annotations

from msgspec import structs

from ..errors import ModelError, ProtocolError, sentences
from ..models import Model, Parameters
from ..parse.written_steps import written_steps
from ..protocols import with_digest
from ..records import Call, Message, Protocol
from ..render import number_text
from ..store import RunRow, Store
from ..store.call_index import written_steps_index
from .call_keys import stored_reply, with_key
from .plan import Plan, make_plan
from .watcher import Watcher


def written_steps_call(protocol: Protocol, model: Model) -> tuple[Call, Parameters]:
    """The call that asks a model to write the steps of a protocol, and its parameters."""
    if "steps" not in protocol.takes:
        raise ProtocolError(
            f"protocol {protocol.id} takes no evaluation steps. Leave --steps out, or use geval/score."
        )
    params = Parameters(temperature=0.0)
    call = Call(
        key="",
        item="",
        protocol=protocol.ref,
        criteria=tuple(protocol.criteria),
        model=model.name,
        messages=(Message("user", _steps_prompt(protocol)),),
        kind="steps",
    )
    return with_key(call, model, params), params


def _steps_prompt(protocol: Protocol) -> str:
    scale = next(scale for scale in protocol.criteria.values() if scale is not None)
    rubric = protocol.rubric
    criterion = protocol.criterion_text or (rubric.criterion if rubric else "")
    lines = [
        "You are going to grade many responses, one at a time, by the criterion below.",
        "Write down the steps that you will follow for each of them: three to six, short, in an "
        "order that makes sense,",
        "so that two careful graders who follow them would come to the same score.",
        "",
        "Criterion:",
        criterion,
    ]
    if rubric is not None:
        lines += [
            f"Score {number_text(level)}: {text}" for level, text in sorted(rubric.scale.levels.items())
        ]
    if scale.low is not None and scale.high is not None:
        lines += ["", f"The score runs from {number_text(scale.low)} to {number_text(scale.high)}."]
    return "\n".join([*lines, "", "Reply with a numbered list and nothing else."])


async def with_written_steps(plan: Plan, store: Store, run: RunRow, watcher: Watcher) -> Plan:
    """The plan with the steps that the first judge writes for each protocol that takes them."""
    if plan.options.steps != "generate":
        return plan
    model = plan.models[0]
    protocols = []
    for number, protocol in enumerate(plan.protocols):
        if not plan.writes_steps(number):
            protocols.append(protocol)
            continue
        call, params = written_steps_call(protocol, model)
        stored = await stored_reply(store, call)
        reply = stored or await model.ask(call, params)
        index = written_steps_index(len(plan.calls), number)
        await store.put(run, -1, index, call, None if reply is stored else reply, None)
        watcher.asked_for_steps(reply, is_stored=stored is not None)
        if reply.error is not None:
            raise ModelError(
                sentences(
                    f"{model.name} wrote no evaluation steps: {reply.error.message}", "Run the command again."
                )
            )
        steps = written_steps(reply.text)
        if not steps:
            raise ModelError(
                f"{model.name} wrote no evaluation steps: its reply is empty. Write them yourself, "
                "with --steps FILE."
            )
        protocols.append(with_digest(protocol, steps=steps))
        watcher.wrote_steps(protocols[-1])
    again = make_plan(protocols, plan.models, plan.options, plan.steps_for, is_audit=plan.is_audit)
    return structs.replace(again, absent=plan.absent)
