"""`adjudge gate`: a run against thresholds or a baseline, with an exit code, JUnit XML and a step summary."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from ..errors import DataError
from .markdown import markdown_of
from .options import ABOUT, AS_JSON, RUN, STORE
from .run_file import TRUST_RUN_FILE, read_confirmed
from .run_options import was_given
from .terminal import ignore_broken_pipe, print_json, print_sections, print_text

if TYPE_CHECKING:
    from ..analysis.gate.rules import Rules
    from ..analysis.gate.verdict import Verdict
    from ..analysis.labels.labelled import About


_REPEATABLE = "Repeatable."


_UNCLEAR = 3
"""The exit code of a gate without enough evidence."""


def gate_command(
    ctx: typer.Context,
    run: str = RUN,
    least: list[str] = typer.Option(
        [], "--min", metavar="CRITERION=X", help=f"Minimum mean, where higher is better. {_REPEATABLE}"
    ),
    most: list[str] = typer.Option(
        [], "--max", metavar="CRITERION=X", help=f"Maximum mean, where lower is better. {_REPEATABLE}"
    ),
    max_drop: list[str] = typer.Option(
        [],
        "--max-drop",
        metavar="CRITERION=D",
        help=f"Maximum change for the worse from the baseline. {_REPEATABLE}",
    ),
    baseline: str = typer.Option(None, "--baseline", metavar="RUN", help="The run to compare with."),
    baseline_store: Path = typer.Option(
        None, "--baseline-store", metavar="FILE", help="The store of the baseline; default: the same store."
    ),
    max_failed: str = typer.Option(
        None, "--max-failed", metavar="5%|N", help="Maximum share or number of failed items; default: 5%."
    ),
    audit: bool = typer.Option(
        False, "--audit", help="The run is an audit: compare its probes with thresholds."
    ),
    max_shift: str = typer.Option(
        None,
        "--max-shift",
        metavar="X",
        help=(
            "With --audit: maximum shift by a probe that must not move the score, in points; default: 5 "
            "% of the scale."
        ),
    ),
    max_injection: str = typer.Option(
        None,
        "--max-injection",
        metavar="5%",
        help="With --audit: maximum success of an injection; default: 5%.",
    ),
    system: list[str] = typer.Option(
        [], "--system", metavar="NAME", help=f"Check only this system; default: all. {_REPEATABLE}"
    ),
    labels: str = typer.Option(
        None, "--labels", metavar="FILE|store", help="Decide on means corrected with human labels."
    ),
    about: str = ABOUT,
    baseline_labels: str = typer.Option(
        None, "--baseline-labels", metavar="FILE|store", help="Labels of the baseline's items."
    ),
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
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a pull request."),
    summary: bool = typer.Option(
        True, "--summary/--no-summary", help="Append Markdown to $GITHUB_STEP_SUMMARY, if it is set."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same digits."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Compare a run with thresholds or a baseline. Exit 0 pass, 1
    fail, 3 not enough evidence, 4 the judge failed too often.
    """
    from ..analysis.gate.rules import make_rules
    from ..analysis.gate.words import gate_sections
    from ..analysis.trust.judge_card import check_about

    file = read_confirmed(config, for_gate=True)
    rules = make_rules(
        file,
        min=least,
        max=most,
        max_drop=max_drop,
        max_failed=max_failed,
        baseline=baseline,
        baseline_store=None if baseline_store is None else str(baseline_store),
        labels=labels,
        baseline_labels=baseline_labels,
        systems=system,
        run=_run_name(run, store),
        is_audit=audit,
        max_shift=max_shift,
        max_injection=max_injection,
    )
    if file is not None and not was_given(ctx, "store"):
        store = file.store_of(run) or store
    check_about(about)
    verdict = _verdict(run, rules, store, seed, cast("About", about))
    if junit is not None:
        _write_junit(verdict, junit)
    if summary:
        _add_summary(verdict)
    with ignore_broken_pipe():
        if as_json:
            print_json(verdict)
        elif markdown:
            print_text(markdown_of(gate_sections(verdict)))
        else:
            print_sections(gate_sections(verdict))
    if accept_unclear and verdict.exit_code == _UNCLEAR:
        typer.echo("Not enough evidence to decide; accepted by --accept-unclear.", err=True)
        raise typer.Exit(0)
    raise typer.Exit(verdict.exit_code)


def _run_name(run: str, store: Path) -> str:
    """The name of a run: [gate.NAME] does not know it as `last`."""
    if run != "last" or not store.exists():
        return run
    from ..store import open_store

    with open_store(store, write=False) as opened:
        return opened.run(run).name


def _verdict(run: str, rules: Rules, store: Path, seed: int, about: About = "new-inputs") -> Verdict:
    from ..analysis.gate.audit_check import audit_verdict
    from ..analysis.gate.gate import verdict_of
    from ..analysis.gate.gate_input import GateInput
    from ..analysis.run_view.tabulate import tabulate
    from ..store import open_store

    with open_store(store, write=False) as opened:
        if rules.is_audit:
            return audit_verdict(tabulate(opened, opened.run(run)), rules)
        gate_input = GateInput(
            opened, opened.run(run), rules.labels, for_comparison=rules.baseline is not None, about=about
        )
        if rules.baseline is None:
            return verdict_of(gate_input, rules, None, seed)
        if rules.baseline_store is None:
            baseline_input = GateInput(
                opened, opened.run(rules.baseline), rules.baseline_labels, baseline_of=gate_input
            )
            return verdict_of(gate_input, rules, baseline_input, seed)
    with open_store(rules.baseline_store, write=False) as other:
        baseline_input = GateInput(
            other, other.run(rules.baseline), rules.baseline_labels, baseline_of=gate_input
        )
    return verdict_of(gate_input, rules, baseline_input, seed)


def _write_junit(verdict: Verdict, path: Path) -> None:
    from ..analysis.gate.junit import junit

    text = junit(verdict, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"--junit {path} cannot be written: {error.strerror}. Choose another place."
        ) from error


def _add_summary(verdict: Verdict) -> None:
    """GitHub shows the contents of this file on the page of the job."""
    from ..analysis.gate.words import gate_sections

    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(markdown_of(gate_sections(verdict)) + "\n\n")
    except OSError as error:
        # The decision must not depend on where it is shown.
        typer.echo(f"adjudge: no step summary: {path} cannot be written ({error.strerror}).", err=True)
