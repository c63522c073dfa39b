"""`--together`: the criteria of a run in one prompt, so that an item takes one call.

Only criteria and rubrics of the user's can be asked so; the prompt is that of `geval/together`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from ..errors import ProtocolError
from ..records import AskedCriterion, Protocol
from .digest import with_digest
from .load import load_protocol

TOGETHER = "geval/together"
ALONE = "geval/score"
"""The protocol that asks the same criteria one call each."""


def together(protocols: Sequence[Protocol]) -> Protocol:
    """One protocol that asks for all criteria of these; `ProtocolError` where that is not possible."""
    problems = [problem for protocol in protocols for problem in _problems(protocol)]
    if problems:
        raise ProtocolError("\n".join(f"--together: {problem}" for problem in dict.fromkeys(problems)))
    criteria = {name: scale for protocol in protocols for name, scale in protocol.criteria.items()}
    asked = {name: _asked(protocol) for protocol in protocols for name in protocol.criteria}
    base = load_protocol(TOGETHER)
    answer = base.answer
    return with_digest(
        base,
        criteria=criteria,
        asked_criteria=asked,
        is_named=all(protocol.is_named or protocol.rubric is not None for protocol in protocols),
        empty_fails=any(protocol.empty_fails for protocol in protocols),
        answer=structs.replace(answer, scores={}),
    )


def _problems(protocol: Protocol) -> list[str]:
    if protocol.id not in (TOGETHER, ALONE):
        return [
            f"protocol {protocol.id} has its own prompt, which asks for its criteria alone. Leave -p "
            f"out: criteria and rubrics of yours are then asked with {TOGETHER}."
        ]
    if not protocol.criterion_text and protocol.rubric is None:
        return ["there is no criterion. Give --criterion NAME=TEXT or --rubric FILE, once for each."]
    named = [
        f"the name '{name}' has a dot, and the names are keys of the reply. Rename it."
        for name in protocol.criteria
        if "." in name
    ]
    if any(scale is not None and scale.is_nominal for scale in protocol.criteria.values()):
        named.append("a rubric with [labels] is asked alone, with classify. Leave it out.")
    return named


def _asked(protocol: Protocol) -> AskedCriterion:
    rubric = protocol.rubric
    text = protocol.criterion_text or (rubric.criterion if rubric is not None else "")
    return AskedCriterion(text, protocol.steps)
