"""Evaluation steps that the judge writes itself, once per run: G-Eval's own idea (Liu et al. 2023)."""

from __future__ import annotations

import re

from ..errors import ProtocolError
from ..models import Model, Parameters
from ..records import Call, Message, Protocol
from ..render import number_text
from .plan import with_key

_ITEM = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s+(\S.*)$")
_MOST_STEPS = 12


def steps_call(protocol: Protocol, model: Model) -> tuple[Call, Parameters]:
    """The call that asks for the steps of a protocol, and how it is asked."""
    if "steps" not in protocol.takes:
        raise ProtocolError(
            f"protocol {protocol.id} takes no evaluation steps. Leave --steps out, or use geval/score."
        )
    params = Parameters(temperature=0.0)
    call = Call(
        key="",
        item="",
        protocol=f"{protocol.id}@{protocol.digest}",
        criteria=tuple(protocol.criteria),
        model=model.name,
        messages=(Message("user", _question(protocol)),),
        kind="steps",
    )
    return with_key(call, model, params), params


def _question(protocol: Protocol) -> str:
    scale = next(scale for scale in protocol.criteria.values() if scale is not None)
    rubric = protocol.rubric
    criterion = protocol.criterion_text or (rubric.criterion if rubric else "")
    lines = [
        "You are going to grade many responses, one at a time, by the criterion below.",
        "Write down the steps that you will follow for each of them: three to six, short, in an order that makes sense,",
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


def steps_in(text: str) -> tuple[str, ...]:
    """The steps of a numbered or dotted list; without a list, each line that says something."""
    listed = [found[1].strip() for line in text.splitlines() if (found := _ITEM.match(line))]
    steps = listed or [line.strip() for line in text.splitlines() if line.strip()]
    return tuple(steps[:_MOST_STEPS])
