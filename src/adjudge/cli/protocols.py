"""`adjudge protocols`: list, show, check, write and import protocols."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import typer

from ..errors import DataError
from ..exit_codes import DONE, WORSE
from ..protocols import builtin_ids, load_protocol, write_starter
from ..records import VOCABULARY, Order, Protocol, Scale
from ..render import number_text
from ..run_options.options import named_criterion
from .flag_values import parse_renames
from .options import AS_JSON
from .protocol_view import described, item_of_file, show_prompt, show_steps_of, show_template, show_typed
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
        print_json([described(protocol) for protocol in protocols])
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
    """What an item needs to have, under the names that all built-in protocols share, and what the user
    gives."""
    optional = [f"{protocol.synonyms(name)[0]}?" for name in protocol.optional]
    if len(optional) > _OPTIONAL_SHOWN:
        optional = [*optional[:_OPTIONAL_SHOWN], f"{len(optional) - _OPTIONAL_SHOWN} more?"]
    fields = ", ".join([*(protocol.synonyms(name)[0] for name in protocol.inputs), *optional])
    return fields + "".join(f" +{name}" for name in protocol.takes)


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
        help=(
            "Show exactly what would be sent for item N of FILE: line N of JSONL, record N of CSV or Parquet."
        ),
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
    chosen = None if item is None else item_of_file(item, parse_renames(renames), protocol)
    if model and show_typed(protocol, model, chosen, order, as_json):
        return
    if chosen is None:
        show_template(protocol, as_json)
        return
    if order not in ("ab", "ba"):
        raise DataError(f"--order must be ab or ba, not '{order}'.")
    shown: Order = "ba" if order == "ba" else "ab"
    if protocol.pipeline:
        show_steps_of(protocol, chosen, as_json)
        return
    show_prompt(protocol, chosen, shown, as_json)


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
    raise typer.Exit(WORSE if findings else DONE)


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
    file: Path = typer.Argument(
        ...,
        metavar="FILE",
        help="A file with prompts: Markdown, Python, TypeScript, YAML, JSON, JSONL, or a plain template.",
    ),
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
