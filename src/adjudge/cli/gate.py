"""`adjudge gate`: thresholds held against intervals, as an exit code."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import DataError
from .options import AS_JSON, RUN, STORE
from .output import print_json, print_text, whoever_reads
from .sections import markdown_of, print_sections

if TYPE_CHECKING:
    from ..gate import Rules, Verdict

_REPEATABLE = "Repeatable."


def gate_command(
    run: str = RUN,
    least: list[str] = typer.Option(
        [], "--min", metavar="CRITERION=X", help=f"The least mean, where more is better. {_REPEATABLE}"
    ),
    most: list[str] = typer.Option(
        [], "--max", metavar="CRITERION=X", help=f"The greatest mean, where less is better. {_REPEATABLE}"
    ),
    max_drop: list[str] = typer.Option(
        [],
        "--max-drop",
        metavar="CRITERION=D",
        help=f"How much worse than the baseline it may be. {_REPEATABLE}",
    ),
    baseline: str = typer.Option(None, "--baseline", metavar="RUN", help="The run to hold it against."),
    baseline_store: Path = typer.Option(
        None, "--baseline-store", metavar="FILE", help="Where the baseline is; default: the same store."
    ),
    max_failed: str = typer.Option(
        None, "--max-failed", metavar="5%|N", help="How many items may have no score; default: 5%."
    ),
    system: list[str] = typer.Option(
        [], "--system", metavar="NAME", help=f"Only this system; default: each of them. {_REPEATABLE}"
    ),
    labels: str = typer.Option(
        None, "--labels", metavar="FILE|store", help="Decide on means corrected by people's labels."
    ),
    baseline_labels: str = typer.Option(
        None, "--baseline-labels", metavar="FILE|store", help="Labels of the baseline's items."
    ),
    config: Path = typer.Option(
        None, "--config", metavar="FILE", help="Thresholds in a file; default: adjudge.toml, if there is one."
    ),
    junit: Path = typer.Option(None, "--junit", metavar="FILE", help="Write JUnit XML too."),
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a pull request."),
    summary: bool = typer.Option(
        True, "--summary/--no-summary", help="Add Markdown to $GITHUB_STEP_SUMMARY, where that is set."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same digits."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """May this run's systems ship? Exit 0 good, 1 worse, 3 not enough evidence, 4 the judge failed too often."""
    from ..gate import make_rules
    from ..gate.tables import sections

    rules = make_rules(
        config,
        min=least,
        max=most,
        max_drop=max_drop,
        max_failed=max_failed,
        baseline=baseline,
        baseline_store=None if baseline_store is None else str(baseline_store),
        labels=labels,
        baseline_labels=baseline_labels,
        systems=system,
    )
    verdict = _verdict(run, rules, store, seed)
    if junit is not None:
        _write_junit(verdict, junit)
    if summary:
        _add_summary(verdict)
    with whoever_reads():
        if as_json:
            print_json(verdict)
        elif markdown:
            print_text(markdown_of(sections(verdict)))
        else:
            print_sections(sections(verdict))
    raise typer.Exit(verdict.exit_code)


def _verdict(run: str, rules: Rules, store: Path, seed: int) -> Verdict:
    from ..gate import Judged, verdict_of
    from ..store import open_store

    with open_store(store, write=False) as opened:
        judged = Judged(opened, opened.run(run), rules.labels)
        if rules.baseline is None:
            return verdict_of(judged, rules, None, seed)
        if rules.baseline_store is None:
            before = Judged(opened, opened.run(rules.baseline), rules.baseline_labels)
            return verdict_of(judged, rules, before, seed)
    with open_store(rules.baseline_store, write=False) as other:
        before = Judged(other, other.run(rules.baseline), rules.baseline_labels)
    return verdict_of(judged, rules, before, seed)


def _write_junit(verdict: Verdict, path: Path) -> None:
    from ..gate import junit

    text = junit(verdict, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"--junit {path} cannot be written: {error.strerror}. Choose another place."
        ) from error


def _add_summary(verdict: Verdict) -> None:
    """On GitHub the page of a job shows what its steps append to this file."""
    from ..gate.tables import sections

    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(markdown_of(sections(verdict)) + "\n\n")
    except OSError as error:
        # The decision must not depend on where it is shown.
        typer.echo(f"adjudge: no step summary: {path} cannot be written ({error.strerror}).", err=True)
