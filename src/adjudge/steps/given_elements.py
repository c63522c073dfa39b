"""The elements that an item brings along, and why the steps of a protocol cannot be carried out on an
item."""

from __future__ import annotations

from collections.abc import Sequence

from ..parse.elements import ELEMENT_RULES, ElementEntry
from ..records import Item, Protocol, Step

MOST_ELEMENTS = 2_000
"""How many elements of one item are checked at most."""


def given_entries(protocol: Protocol, step: Step, item: Item) -> list[ElementEntry] | None:
    """The elements that an item brings along: the field with
    the step's name, or the field that the step names.
    """
    for name, rule in ((step.name, "entries"), (step.field, step.rule)):
        field = protocol.field_for(name, item.fields) if name else None
        if field is not None:
            return ELEMENT_RULES[rule](item.fields[field])[:MOST_ELEMENTS]
    return [] if step.field else None


def step_problems(protocol: Protocol, item: Item) -> list[str]:
    """Why the steps of a protocol cannot be carried out on an item, each with what to do."""
    problems = []
    for step in protocol.pipeline:
        if step.kind != "extract":
            continue
        entries = given_entries(protocol, step, item)
        if entries is not None and len(entries) >= MOST_ELEMENTS:
            problems.append(
                f"field '{step.field or step.name}' has {MOST_ELEMENTS:,} entries or more; protocol "
                f"{protocol.id} would check each. Split the item."
            )
    return problems


def question_problems(protocol: Protocol, item: Item) -> list[str]:
    """Why a decision model cannot carry out the steps on an
    item: it writes no text, so the item brings the list.
    """
    return [
        f"protocol {protocol.id} lists '{step.name}' in a free text step, and a decision model "
        f"writes no text. Give the item a field '{step.name}' with the list, or use a chat judge."
        for step in protocol.pipeline
        if step.kind == "extract" and given_entries(protocol, step, item) is None
    ]


def audit_problems(protocols: Sequence[Protocol], item: Item) -> list[str]:
    """Why the probes of an audit would change nothing: an item
    that brings its elements is not judged by its response.
    """
    return [
        f"field '{step.name}' holds the elements, so that probes of the response would change nothing. "
        "Remove the field for an audit."
        for protocol in protocols
        for step in protocol.pipeline
        if step.kind == "extract" and step.prompt and step.name in item.fields
    ]
