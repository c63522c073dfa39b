"""A protocol as `adjudge protocols show` prints it: its texts,
its typed questions, or exactly what would be sent for an item.
"""

from __future__ import annotations

import msgspec
import typer

from ..data import ItemFile
from ..errors import DataError
from ..protocols import step_protocol
from ..records import Call, Item, Message, Order, Protocol
from ..render import problems_of, questions_of, render, render_questions
from .terminal import print_json, print_text


def described(protocol: Protocol) -> dict[str, object]:
    return {
        "id": protocol.id,
        "digest": protocol.digest,
        "title": protocol.title,
        "task": protocol.task,
        "inputs": protocol.inputs,
        "optional": protocol.optional,
        "fields": {name: protocol.synonyms(name) for name in (*protocol.inputs, *protocol.optional)},
        "takes": [*protocol.takes, *(["examples"] if protocol.example_words else [])],
        "criteria": protocol.criteria,
        "language": protocol.language,
        "reader": protocol.answer.reader,
        "source": protocol.source,
    }


def show_prompt(protocol: Protocol, item: Item, order: Order, as_json: bool) -> None:
    """Exactly the messages that would be sent for an item."""
    rendered = render(protocol, item, order)
    if as_json:
        print_json(
            {
                "protocol": protocol.ref,
                "item": item.id,
                "order": order,
                "messages": rendered.messages,
                "target": rendered.target,
                "flags": rendered.flags,
            }
        )
        return
    for message in rendered.messages:
        print_text(f"--- {message.role} ---\n{message.shown}")
    if rendered.flags:
        typer.echo(f"flags: {', '.join(rendered.flags)}", err=True)


def show_typed(protocol: Protocol, spec: str, item: Item | None, order: str, as_json: bool) -> bool:
    """Show what a decision model is asked: the questions,
    or the requests for an item; false for other models.
    """
    from ..models import parse_model
    from ..models.decision_models import DecisionModel

    judge = parse_model(spec)
    if not isinstance(judge, DecisionModel):
        return False
    name = protocol.ref
    if item is None:
        _show_questions(protocol, as_json)
        return True
    shown: Order = "ba" if order == "ba" else "ab"
    requests = [
        judge.request_of(Call("", item.id, name, tuple(protocol.criteria), judge.name, messages))
        for messages in _typed_messages(protocol, item, shown, judge.questions_a_call)
    ]
    if as_json:
        print_json({"protocol": name, "item": item.id, "order": shown, "requests": requests})
        return True
    for request in requests:
        print_text(msgspec.json.format(msgspec.json.encode(request), indent=2).decode())
    return True


def _typed_messages(
    protocol: Protocol, item: Item, order: Order, questions_a_call: int
) -> list[tuple[Message, ...]]:
    from ..steps.judgment import first_prompts

    if not protocol.pipeline:
        return [render_questions(protocol, item, order).messages]
    return [prompt.messages for prompt in first_prompts(protocol, item, questions_a_call)]


def _show_questions(protocol: Protocol, as_json: bool) -> None:
    """The typed questions of a protocol, without an item."""
    checks = [step_protocol(protocol, step) for step in protocol.pipeline if step.kind == "check"]
    questions = [question for asked in checks or [protocol] for question in questions_of(asked)]
    if as_json:
        print_json({"protocol": protocol.ref, "questions": questions})
        return
    print_text(f"{protocol.ref}, as typed questions")
    for question in questions:
        print_text(f"--- {question.name}: {question.type} ---\n{question.instructions}")
        for option in question.options:
            print_text(f"  {option.label}" + (f": {option.text}" if option.text else ""))


def show_steps_of(protocol: Protocol, item: Item, as_json: bool) -> None:
    """What would be sent first for an item, and which steps depend on the replies to it."""
    from ..steps.judgment import first_prompts

    prompts = first_prompts(protocol, item)
    later = [step.name for step in protocol.pipeline if step.prompt]
    if prompts:
        later = later[later.index(prompts[0].step.name) + 1 :]
    if as_json:
        print_json(
            {
                "protocol": protocol.ref,
                "item": item.id,
                "steps": [
                    {
                        "step": prompt.step.name,
                        "elements": prompt.elements,
                        "messages": prompt.messages,
                        "flags": prompt.flags,
                    }
                    for prompt in prompts
                ],
                "depends_on_replies": later,
            }
        )
        return
    for prompt in prompts:
        about = f", element {prompt.elements[0]}" if prompt.elements else ""
        for message in prompt.messages:
            print_text(f"--- {prompt.step.name}{about}: {message.role} ---\n{message.content}")
    flags = dict.fromkeys(flag for prompt in prompts for flag in prompt.flags)
    if flags:
        typer.echo(f"flags: {', '.join(flags)}", err=True)
    if not prompts:
        typer.echo("Nothing would be sent: the item has no elements to check.", err=True)
    elif later:
        given = next(step.name for step in protocol.pipeline if step.kind == "extract")
        typer.echo(
            f"The prompts of {', '.join(later)} depend on the reply. "
            f"To see them, give the item a list '{given}'.",
            err=True,
        )


def show_template(protocol: Protocol, as_json: bool) -> None:
    texts = {"system": protocol.system_text, "user": protocol.user_text}
    if as_json:
        print_json(
            {
                **described(protocol),
                "answer": protocol.answer,
                "system_text": protocol.system_text,
                "user_text": protocol.user_text,
                **({"steps": protocol.pipeline} if protocol.pipeline else {}),
            }
        )
        return
    print_text(f"{protocol.ref}: {protocol.title}")
    optional = f" [{', '.join(protocol.optional)}]" if protocol.optional else ""
    print_text(f"item fields: {', '.join(protocol.inputs)}{optional}")
    for role, text in texts.items():
        if text:
            print_text(f"--- {role} ---\n{text}")
    if protocol.pipeline:
        _show_steps(protocol)


def _show_steps(protocol: Protocol) -> None:
    from ..steps.words import step_words

    for number, step in enumerate(protocol.pipeline, 1):
        print_text(f"--- step {number}: {step.name} ({step_words(protocol, step)}) ---")
        if step.text:
            print_text(step.text)


def item_of_file(position: str, renames: dict[str, str], protocol: Protocol) -> Item:
    path, sign, number = position.rpartition(":")
    if not sign or not number.isdecimal() or int(number) < 1:
        raise DataError(f"--item {position}: write it as FILE:N, where N is the item's line, counted from 1.")
    item = ItemFile(path, renames).item(int(number))
    problems = problems_of(protocol, item)
    if problems:
        raise DataError("\n".join(f"{path} line {number}: {problem}" for problem in problems))
    return item
