"""`adjudge gate`: a run against thresholds or a baseline, with an exit code, JUnit XML and a step summary."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from ..errors import DataError
from ..exit_codes import DONE, NOT_ENOUGH_EVIDENCE
from .declared_parameters import takes_gate_options
from .first_baseline import check_one_baseline, is_missing, keep_as_baseline, without_drops
from .first_screen import fitted_screen, show_screen, show_sections
from .markdown import markdown_of
from .options import ABOUT, AS_JSON, FULL, RUN, STORE
from .run_file import TRUST_RUN_FILE, read_confirmed
from .run_options import was_given
from .terminal import ignore_broken_pipe, print_json

if TYPE_CHECKING:
    from ..analysis.about import About
    from ..analysis.gate.gate_report import GateReport
    from ..analysis.gate.rules import Rules


@takes_gate_options
def gate_command(
    ctx: typer.Context,
    run: str = RUN,
    *,
    baseline_or_create: str = typer.Option(
        None,
        "--baseline-or-create",
        metavar="RUN",
        help="The run to compare with; where it does not exist, this run becomes it.",
    ),
    audit: bool = typer.Option(
        False, "--audit", help="The run is an audit: compare its probes with thresholds."
    ),
    about: str = ABOUT,
    config: Path = typer.Option(
        None,
        "--config",
        metavar="FILE",
        help="Run file with [gate] and [gate.RUN]; default: adjudge.toml, if it exists.",
    ),
    _trust_run_file: bool = TRUST_RUN_FILE,
    accept_unclear: bool = typer.Option(
        False, "--accept-unclear", help="Exit 0 instead of 3 where there is not enough evidence to decide."
    ),
    junit: Path = typer.Option(None, "--junit", metavar="FILE", help="Also write JUnit XML."),
    full: bool = FULL,
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a pull request."),
    summary: bool = typer.Option(
        True, "--summary/--no-summary", help="Append Markdown to $GITHUB_STEP_SUMMARY, if it is set."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", min=0, help="The same seed gives the same digits."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
    **flags: Any,
) -> None:
    """Compare a run with thresholds or a baseline. Exit 0 pass, 1
    fail, 3 not enough evidence, 4 the judge failed too often.
    """
    from ..analysis.about import check_about
    from ..analysis.gate.first_screen import gate_screen
    from ..analysis.gate.rules import make_rules
    from ..analysis.gate.words import gate_sections

    check_one_baseline(flags["baseline"], baseline_or_create, flags["baseline_store"])
    file = read_confirmed(config, for_gate=True)
    flags["baseline"] = flags["baseline"] or baseline_or_create
    rules = make_rules(file, run=_run_name(run, store), is_audit=audit, **flags)
    if file is not None and not was_given(ctx, "store"):
        store = file.store_of(run) or store
    check_about(about)
    is_first = is_missing(baseline_or_create, store)
    if is_first:
        rules = without_drops(rules)
    report = _report(run, rules, store, seed, cast("About", about))
    is_accepted = accept_unclear and report.exit_code == NOT_ENOUGH_EVIDENCE
    if junit is not None:
        _write_junit(report, junit)
    if summary:
        _add_summary(report)
    with ignore_broken_pipe():
        if as_json:
            print_json(report)
        elif full:
            show_sections(gate_sections(report, is_accepted=is_accepted), as_markdown=markdown)
        else:
            show_screen(partial(gate_screen, report, is_accepted=is_accepted), as_markdown=markdown)
    if is_first:
        keep_as_baseline(report, _run_name(run, store), baseline_or_create, store)
    if is_accepted:
        typer.echo("Not enough evidence to decide; accepted by --accept-unclear.", err=True)
        raise typer.Exit(DONE)
    raise typer.Exit(report.exit_code)


def _run_name(run: str, store: Path) -> str:
    """The name of a run: [gate.NAME] does not know it as `last`."""
    if run != "last" or not store.exists():
        return run
    from ..store import open_store

    with open_store(store, write=False) as opened:
        return opened.run(run).name


def _report(run: str, rules: Rules, store: Path, seed: int, about: About = "new-inputs") -> GateReport:
    from msgspec import structs

    from ..analysis.gate.audit_check import audit_gate
    from ..analysis.gate.gate import decided_gate
    from ..analysis.gate.gate_input import GateInput
    from ..analysis.run_view.tabulate import tabulate
    from ..platforms.hub import hub_and_run, is_hub, pulled_run
    from ..store import open_store

    if rules.baseline is not None and is_hub(rules.baseline):
        hub, name = hub_and_run(rules.baseline)
        with pulled_run(hub, name) as file:
            rules = structs.replace(rules, baseline=name, baseline_store=str(file))
            return _report(run, rules, store, seed, about)
    with open_store(store, write=False) as opened:
        if rules.is_audit:
            return audit_gate(tabulate(opened, opened.run(run)), rules)
        gate_input = GateInput(
            opened, opened.run(run), rules.labels, for_comparison=rules.baseline is not None, about=about
        )
        if rules.baseline is None:
            return decided_gate(gate_input, rules, None, seed)
        if rules.baseline_store is None:
            baseline_input = GateInput(
                opened, opened.run(rules.baseline), rules.baseline_labels, baseline_of=gate_input
            )
            return decided_gate(gate_input, rules, baseline_input, seed)
    with open_store(rules.baseline_store, write=False) as other:
        baseline_input = GateInput(
            other, other.run(rules.baseline), rules.baseline_labels, baseline_of=gate_input
        )
    return decided_gate(gate_input, rules, baseline_input, seed)


def _write_junit(report: GateReport, path: Path) -> None:
    from ..analysis.gate.junit import junit

    text = junit(report, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"--junit {path} cannot be written: {error.strerror}. Choose another place."
        ) from error


def _add_summary(report: GateReport) -> None:
    """GitHub shows the contents of this file on the page of the job."""
    from ..analysis.gate.first_screen import gate_screen

    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(markdown_of(fitted_screen(partial(gate_screen, report))) + "\n\n")
    except OSError as error:
        # The decision must not depend on where it is shown.
        typer.echo(f"adjudge: no step summary: {path} cannot be written ({error.strerror}).", err=True)
