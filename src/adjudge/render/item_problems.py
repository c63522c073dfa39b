"""Why a protocol cannot judge an item, each with what to do."""

from __future__ import annotations

from ..records import Item, Message, Protocol
from .item_rubric import rubric_in

_FIELDS_SHOWN = 20


def _found(item: Item) -> str:
    names = sorted(item.fields)
    more = ", …" if len(names) > _FIELDS_SHOWN else ""
    return f"found: {', '.join(names[:_FIELDS_SHOWN])}{more}" if names else "the item has no other fields"


def problems_of(protocol: Protocol, item: Item) -> list[str]:
    """Why the protocol cannot judge the item, each with what to do; empty where it can."""
    problems = [
        f"field '{name}' is missing or empty ({_found(item)}); protocol {protocol.id} needs it. "
        f"{_remedy(protocol, name)}"
        for name in protocol.inputs
        if protocol.field_for(name, item.fields) is None
    ]
    if protocol.at_least_one and not any(
        protocol.field_for(name, item.fields) is not None for name in protocol.at_least_one
    ):
        names = ", ".join(protocol.at_least_one)
        problems.append(
            f"none of the fields {names} is given; protocol {protocol.id} needs at least one of them."
        )
    for name, other in protocol.refuses.items():
        if name in item.fields:
            problems.append(
                f"has a field '{name}', which protocol {protocol.id} would never show to the judge. "
                f"Use {other}, which takes it, or remove the field."
            )
    if protocol.rubric is None:
        problems += _rubric_problems(protocol, item)
    problems += _transcript_problems(protocol, item)
    return problems + _example_problems(protocol)


def _rubric_problems(protocol: Protocol, item: Item) -> list[str]:
    """Why a protocol that was given no rubric finds none in the item either."""
    parts = [name for name in protocol.alias.values() if name.startswith("rubric.")]
    brought = rubric_in(item.fields)
    if brought is not None and (parts or "rubric" in protocol.takes):
        scales = [scale for scale in protocol.criteria.values() if scale is not None]
        return brought.problems(protocol.id, scales[0] if scales else None, parts)
    if parts:
        return [
            f"protocol {protocol.id} needs a rubric. Give one with --rubric FILE, or in the item's "
            "fields orig_criteria, orig_score1_description, …"
        ]
    if "rubric" not in protocol.takes or "rubric" in item.fields:
        return []
    if "criterion" not in protocol.takes:
        return [
            f"protocol {protocol.id} needs a rubric. Give one with --rubric FILE, or as a field "
            "'rubric' of the item (or orig_criteria, orig_score1_description, …)."
        ]
    if not protocol.criterion_text and not protocol.asked_criteria:
        return [f'protocol {protocol.id} needs a criterion. Give one with --criterion "…" or --rubric FILE.']
    return []


def _transcript_problems(protocol: Protocol, item: Item) -> list[str]:
    """Fields that are no conversation where the protocol needs one, and images that cannot be shown."""
    problems = []
    for name in (*protocol.inputs, *protocol.optional):
        field = protocol.field_for(name, item.fields)
        value = item.fields[field] if field is not None else ""
        if isinstance(value, str):
            continue
        messages = [entry for entry in value if isinstance(entry, Message)]
        if name in protocol.transcripts and not messages:
            problems.append(
                f"field '{field}' is a list without messages; protocol {protocol.id} needs a conversation. "
                'Give a list of {"role": …, "content": …}, or one text.'
            )
        if protocol.answer.reader == "likelihood" and any(message.images for message in messages):
            problems.append(
                f"field '{field}' has an image, and protocol {protocol.id} asks for the likelihood "
                "of a text. Use a protocol that asks for a reply."
            )
    return problems


def images_in(protocol: Protocol, item: Item) -> bool:
    """Whether the judge is to see images of this item."""
    names = (*protocol.inputs, *protocol.optional)
    fields = (protocol.field_for(name, item.fields) for name in names)
    values = (item.fields[field] for field in fields if field is not None)
    return any(
        isinstance(entry, Message) and entry.images
        for value in values
        if not isinstance(value, str)
        for entry in value
    )


def _example_problems(protocol: Protocol) -> list[str]:
    """Prompts with slots for one example need exactly one; others take any number. Examples show no
    images."""
    if not protocol.examples and not protocol.alias:
        return []
    values = [value for example in protocol.examples for value in example.fields.values()]
    if any(isinstance(entry, Message) and entry.images for value in values for entry in value):
        return [
            "an example in the file given with --examples has an image. Examples show texts only: "
            "leave it out."
        ]
    if protocol.answer.reader == "likelihood" and any(
        example.kind == "negative" for example in protocol.examples
    ):
        return [
            f"protocol {protocol.id} asks how likely a response is after the examples: a negative "
            "one would make bad responses likelier. Leave negative examples out of the file."
        ]
    if not any(name.startswith("example.") for name in protocol.alias.values()):
        return []
    if len(protocol.examples) == 1:
        return []
    return [
        f"protocol {protocol.id} has slots for exactly one example and was given {len(protocol.examples)}. "
        "Give a file with one example with --examples FILE."
    ]


def _remedy(protocol: Protocol, name: str) -> str:
    without_reference = protocol.id.removesuffix("-reference")
    if name == "reference" and without_reference != protocol.id:
        return f"Add it, or use {without_reference}, which judges without a reference."
    return f"Add it, or name the field that holds it with --map {name}=FIELD."
