"""All commands of the command line, in the order of the help."""

from __future__ import annotations

import typer

from ..version import __version__
from .annotate import annotate_command
from .audit import audit_command
from .calibrate import calibrate_command
from .cascade import cascade_command
from .compare import compare_command
from .demo import demo_command
from .doctor import doctor_command
from .drift import drift_command
from .export import export_command
from .gate import gate_command
from .init import init_command
from .labels import labels_app
from .models import models_app
from .pair import pair_command
from .parser import PlainGroup, use_plain_words
from .plan import plan_command
from .plugins import plugins_command
from .protocols import protocols_app
from .pull import pull_command
from .push import push_command
from .rank import rank_command
from .report import report_command
from .reread import reread_command
from .run import run_command
from .runs import runs_app
from .sample import sample_command
from .schema import schema_command
from .serve import serve_command
from .traces import traces_command
from .trust import trust_command
from .tune import tune_command
from .view import view_command

app = typer.Typer(
    name="adjudge",
    cls=PlainGroup,
    help="Score model outputs with LLM judges, and know how far each score can be trusted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    # A traceback with local variables would print a key.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo_command)
app.command("init")(init_command)
app.command("run")(run_command)
app.command("report")(report_command)
app.command("compare")(compare_command)
app.command("gate")(gate_command)
app.command("trust")(trust_command)
app.command("audit")(audit_command)
app.command("calibrate")(calibrate_command)
app.command("cascade")(cascade_command)
app.command("tune")(tune_command)
app.command("plan")(plan_command)
app.command("drift")(drift_command)
app.command("sample")(sample_command)
app.add_typer(labels_app, name="labels")
app.command("pair")(pair_command)
app.command("traces")(traces_command)
app.command("pull")(pull_command)
app.command("push")(push_command)
app.command("rank")(rank_command)
app.command("view")(view_command)
app.command("annotate")(annotate_command)
app.command("serve")(serve_command)
app.add_typer(runs_app, name="runs")
app.command("reread")(reread_command)
app.command("export")(export_command)
app.command("doctor")(doctor_command)
app.add_typer(protocols_app, name="protocols")
app.add_typer(models_app, name="models")
app.command("plugins")(plugins_command)
app.command("schema")(schema_command)
use_plain_words(app)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"adjudge {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass
