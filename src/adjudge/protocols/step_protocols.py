"""One step of a protocol, as a protocol with one prompt."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from ..records import Answer, Protocol, Step
from ..render import ELEMENT_SLOTS, slots_of

_step_protocols: dict[int, tuple[Protocol, dict[str, Protocol]]] = {}
_MOST_PROTOCOLS = 64


def shows_item(protocol: Protocol) -> bool:
    """Whether anything of an item reaches the judge."""
    return bool(protocol.inputs or protocol.optional or protocol.pipeline)


def step_protocol(protocol: Protocol, step: Step) -> Protocol:
    """A step as a separate protocol: its prompt, its reader, and the inputs that the prompt shows.

    Made once for each protocol, because what a prompt has in common for all items is cached by identity.
    """
    entry = _step_protocols.get(id(protocol))
    if entry is None:
        if len(_step_protocols) >= _MOST_PROTOCOLS:
            _step_protocols.clear()
        entry = _step_protocols[id(protocol)] = (protocol, {})
    if step.name not in entry[1]:
        entry[1][step.name] = _as_protocol(protocol, step)
    return entry[1][step.name]


def _as_protocol(protocol: Protocol, step: Step) -> Protocol:
    shown = {*slots_of(step.text), *slots_of(protocol.system_text)}
    checked = checked_criteria(protocol) if step.kind == "check" else ()
    return msgspec.structs.replace(
        protocol,
        inputs=(*(name for name in protocol.inputs if name in shown), *sorted(ELEMENT_SLOTS & shown)),
        optional=tuple(name for name in protocol.optional if name in shown),
        at_least_one=(),
        refuses={},
        criteria={name: scale for name, scale in protocol.criteria.items() if name in checked},
        user_text=step.text,
        # What stands before an element of a conversation is shown as the conversation is.
        transcripts=(*protocol.transcripts, "before") if protocol.transcripts else (),
        answer=step.answer or Answer(reader="list"),
        pipeline=(),
    )


def checked_criteria(protocol: Protocol) -> tuple[str, ...]:
    """The criteria that the checks of a protocol score; others are combined from them in another way."""
    combines = [step for step in protocol.pipeline if step.kind == "combine"]
    return tuple(dict.fromkeys(step.of or criterion_of(protocol, step) for step in combines))


def criterion_of(protocol: Protocol, step: Step) -> str:
    """The criterion that a combine step scores."""
    return step.criterion or next(iter(protocol.criteria))


def answer_about(answer: Answer, number: int) -> Answer:
    """How the answer about one element is read from a reply about several: `{number}` is its number."""
    return _numbered_answer(msgspec.json.encode(answer), number)


@lru_cache(maxsize=4096)
def _numbered_answer(encoded: bytes, number: int) -> Answer:
    return msgspec.json.decode(encoded.replace(b"{number}", str(number).encode()), type=Answer)
