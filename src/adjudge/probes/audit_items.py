"""The items of an audit: each unchanged, once more, and under each probe that applies to the protocol.

No model writes a probe, and the same seed makes the same items. An edited item has the id `ITEM ~ PROBE`; the
unchanged item keeps its own, so that it has the same calls as in an ordinary run.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from ..errors import DataError
from ..records import FieldValue, Item, Message, Protocol
from ..render import questions_of
from .edits import EDITS, negated, on_last
from .other_protocol import OF_PROTOCOL, other_protocol
from .probe import BETWEEN, CONTROL, FORM, LEVELS, REPEAT, UNCHANGED, Probe, ProbeKind, Variant, variant_id
from .texts import filled_text

CHOICE, REVERSED = f"{FORM}/choice", f"{FORM}/reversed"


class AuditItems(Struct, frozen=True):
    """The items of an audit, and what became of each probe."""

    items: tuple[Item, ...]
    kinds: dict[str, ProbeKind]
    controls: dict[str, str]
    """probe → the probe that it is compared with, where that is not `none`"""
    skipped: dict[str, str]
    """probe → why it does not apply"""
    n_drawn: int
    protocols: dict[str, Protocol]
    """probe → the protocol with which its items are judged, where that is another one: with the levels of its
    rubric in reverse order, or with its typed question in another form"""


_SOURCES = (
    "source_text",
    "source",
    "reviews",
    "context",
    "documents",
    "document",
    "description",
    "key_features",
    "specifications",
)


def response_field(protocol: Protocol, given: str = "") -> str:
    """The input that holds the judged text; of a pair the first response, which is the one that is edited."""
    names = (*protocol.inputs, *protocol.optional)
    if given:
        if given not in names:
            raise DataError(
                f"--response {given}: protocol {protocol.id} has no such input. It has: {', '.join(names)}."
            )
        return given
    found = protocol.judged_inputs
    if not found:
        raise DataError(
            f"{protocol.id}: no input of this protocol is known to be the judged text. Name it with "
            f"--response; the inputs are: {', '.join(names)}."
        )
    return found[0]


class _Context(Struct, frozen=True):
    """What texts and edits need to know."""

    protocol: Protocol
    field: str
    model: str
    seed: int
    others: Sequence[Item]


def audit_items(
    items: Sequence[Item],
    protocol: Protocol,
    model: str,
    probes: Sequence[Probe],
    *,
    n: int = 100,
    seed: int = 0,
    response: str = "",
    asks_questions: bool = False,
) -> AuditItems:
    """`n` items drawn at random, each unchanged, again (`repeat`), and under each probe that applies.

    `asks_questions`: the judge answers typed questions, of which the form can be changed; its prompt cannot.
    """
    drawn = sorted(random.Random(f"draw {seed}").sample(range(len(items)), min(n, len(items))))
    chosen = [items[place] for place in drawn]
    context = _Context(protocol, response_field(protocol, response), model, seed, chosen)
    single = [part for probe in probes for part in _single(probe)]
    made: dict[str, dict[str, Item]] = {}
    skipped: dict[str, str] = {}
    kinds: dict[str, ProbeKind] = {}
    controls: dict[str, str] = {}
    protocols: dict[str, Protocol] = {}
    for probe in single:
        edits = {name: of_items for name, of_items in _made(probe, chosen, context).items() if of_items}
        if probe.variants[0].edit in OF_PROTOCOL:
            other = other_protocol(probe, protocol, asks_questions=asks_questions)
            edits = {} if other is None else {probe.name: {item.id: item for item in chosen}}
            protocols |= {} if other is None else {probe.name: other}
        if probe.name not in edits:
            skipped[probe.name] = _reason(probe, protocol, asks_questions=asks_questions)
            continue
        made |= edits
        kinds[probe.name] = probe.kind
        if f"{probe.name}{CONTROL}" in edits:
            controls[probe.name] = f"{probe.name}{CONTROL}"
        elif probe.control:
            controls[probe.name] = probe.control
    if _is_choice_reversed(protocols, REVERSED) and CHOICE in protocols:
        controls[REVERSED] = CHOICE
    variants = []
    for item in chosen:
        variants += [_named(item, UNCHANGED), _named(item, REPEAT)]
        variants += [
            structs.replace(_named(item, name), fields=of_items[item.id].fields)
            for name, of_items in made.items()
            if item.id in of_items
        ]
    return AuditItems(tuple(variants), kinds, controls, skipped, len(chosen), protocols)


def _is_choice_reversed(protocols: Mapping[str, Protocol], probe: str) -> bool:
    """Whether a probe reverses the options of a choice: levels are compared with the choice, not with the
    levels."""
    return probe in protocols and any(asked.type == "choice" for asked in questions_of(protocols[probe]))


def _single(probe: Probe) -> list[Probe]:
    """The probes that are reported: the variants where they are split."""
    if not probe.split:
        return [probe]
    return [
        structs.replace(probe, name=f"{probe.name}/{variant.name}", variants=(variant,))
        for variant in probe.variants
    ]


def _named(item: Item, probe: str) -> Item:
    """An item under a probe: reports show the probe as its system, and variants of one item belong
    together."""

    def system(name: str | None) -> str | None:
        if name is None or probe == UNCHANGED:
            return name
        return probe if name == "all" else f"{name}{BETWEEN}{probe}"

    return structs.replace(
        item,
        id=variant_id(item.id, probe),
        system=system(item.system) or "all",
        system_a=system(item.system_a),
        system_b=system(item.system_b),
        group=item.group if item.group is not None else item.id,
        line=None,
    )


def _made(probe: Probe, items: Sequence[Item], context: _Context) -> dict[str, dict[str, Item]]:
    """probe and control → item → the edited item; items that an edit does not change are left out."""
    variants = [variant for variant in probe.variants if variant.task in ("", context.protocol.task)]
    made: dict[str, dict[str, Item]] = {probe.name: {}, f"{probe.name}{CONTROL}": {}}
    for item in items if variants else ():
        rng = random.Random(f"{context.seed} {probe.name} {item.id}")
        variant = rng.choice(variants)
        place = rng.randrange(max(1, len(variant.texts)))
        edited = _edited(item, variant, variant.texts, place, rng.getstate(), context)
        if edited is None:
            continue
        made[probe.name][item.id] = edited
        if variant.controls:
            control = _edited(item, variant, variant.controls, place, rng.getstate(), context)
            if control is not None:
                made[f"{probe.name}{CONTROL}"][item.id] = control
    return made


def _edited(
    item: Item, variant: Variant, texts: Sequence[str], place: int, state: object, context: _Context
) -> Item | None:
    """The item with one field edited; none where that changes nothing."""
    rng = random.Random()
    rng.setstate(state)  # type: ignore[arg-type]
    name = context.field if variant.target == "response" else _source(item, context)
    if variant.edit == "shuffle_sources":
        return _with_shuffled_sources(item, rng, context)
    field = context.protocol.field_for(name, item.fields)
    if field is None or variant.edit in OF_PROTOCOL:
        return None
    text = filled_text(texts[place], name, context.protocol, context.model, variant.encode) if texts else ""
    value = item.fields[field]
    if variant.edit == "swap":
        new: FieldValue | None = _of_another(item, name, rng, context)
    elif variant.edit == "negate":
        new = on_last(value, lambda old: negated(old, rng, variant.texts))
    elif variant.edit == "replace":
        new = text if isinstance(value, str) else on_last(value, lambda _: text)
    else:
        edit = EDITS[variant.edit]
        new = on_last(value, lambda old: edit(old, text, rng))
    if new is None or new == value:
        return None
    return structs.replace(item, fields={**item.fields, field: new})


def _reason(probe: Probe, protocol: Protocol, *, asks_questions: bool) -> str:
    if probe.variants[0].edit == "question_form":
        if not asks_questions:
            return "The judge is asked in prose; only typed questions have a form."
        return "The question has this form already, or has no such form."
    if probe.name == LEVELS and asks_questions:
        return "A typed question lists its levels lowest first; the probe form/reversed reverses its options."
    if probe.name == LEVELS:
        if protocol.task == "compare":
            return "Every pair is judged in both orders: see the position bias."
        return "The prompt lists no levels of a rubric, one on a line."
    variant = probe.variants[0]
    if variant.task and variant.task != protocol.task:
        return "It needs two responses; the protocol judges one."
    if variant.target == "source" or variant.edit == "shuffle_sources":
        return "No item has a source with text that can be edited, or several sources."
    return "It changes none of the items."


def _value(item: Item, name: str, context: _Context) -> FieldValue | None:
    """What an item has for an input, under any name of it."""
    field = context.protocol.field_for(name, item.fields)
    return None if field is None else item.fields[field]


def _of_another(item: Item, name: str, rng: random.Random, context: _Context) -> FieldValue | None:
    """The same input of another item, of another group where there is one."""
    own = _value(item, name, context)
    others = [(other.group, _value(other, name, context)) for other in context.others]
    others = [(group, value) for group, value in others if value is not None and value != own]
    distant = [(group, value) for group, value in others if group is None or group != item.group]
    return rng.choice(distant or others)[1] if others else None


def _source(item: Item, context: _Context) -> str:
    """The first input with a source that an item has; empty where there is none."""
    shown = (*context.protocol.inputs, *context.protocol.optional)
    return next((name for name in shown if name in _SOURCES and _value(item, name, context)), "")


def _with_shuffled_sources(item: Item, rng: random.Random, context: _Context) -> Item | None:
    """The item with the entries of its first list in another order: a list field, or paragraphs of a
    source."""
    for name in (*context.protocol.inputs, *context.protocol.optional):
        value = _value(item, name, context)
        if name == context.field or value is None:
            continue
        if isinstance(value, str):
            between = "\n\n" if "\n\n" in value else "\n"
            parts: list[str | Message] = list(value.split(between)) if name in _SOURCES else []
        else:
            between, parts = "", [] if any(isinstance(entry, Message) for entry in value) else list(value)
        if len(set(parts)) < 2:
            continue
        mixed = parts[:]
        while mixed == parts:
            rng.shuffle(mixed)
        new: FieldValue = between.join(map(str, mixed)) if isinstance(value, str) else tuple(mixed)
        field = context.protocol.field_for(name, item.fields)
        return structs.replace(item, fields={**item.fields, str(field): new})
    return None
