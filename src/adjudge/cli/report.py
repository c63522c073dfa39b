"""`adjudge report`: scores by system and criterion, on the terminal, as Markdown or as an HTML file."""

from __future__ import annotations

from pathlib import Path

import typer

from ..errors import DataError
from .first_screen import show_screen, show_sections
from .options import ABOUT, AS_JSON, FULL, RUN, STORE
from .terminal import print_json


def report_command(
    run: str = RUN,
    html: Path = typer.Option(
        None, "--html", metavar="FILE", help="Write a self-contained HTML report that opens offline."
    ),
    labels: Path = typer.Option(
        None,
        "--labels",
        metavar="FILE",
        help="With --html: human labels for the judge card. Default: the labels in the store.",
    ),
    about: str = ABOUT,
    full: bool = FULL,
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown, for a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Show scores by system and criterion, with intervals, failures and warnings."""
    from ..analysis.trust.judge_card import check_about

    check_about(about)
    if html is not None:
        _write_html(store, run, html, labels)
        if not as_json and not markdown:
            return
    elif labels is not None:
        raise DataError(
            f"--labels needs --html FILE. To print the judge card here: adjudge trust {run} --labels {labels}"
        )
    is_finite = about == "these-items"
    show_report(str(store), run, as_json=as_json, as_markdown=markdown, is_finite=is_finite, is_full=full)


def _write_html(store: Path, run: str, html: Path, labels: Path | None) -> None:
    """Write the report as a page, and name the file on standard error."""
    from ..store import open_store
    from ..untrusted import safe
    from ..web.report_file import write_report

    with open_store(store, write=False) as opened:
        summary, n_bytes = write_report(opened, opened.run(run), html, labels)
    name = safe(summary.run)
    typer.echo(f"Wrote the report of {name} to {safe(str(html))} ({max(1, n_bytes // 1000):,} kB)", err=True)


MOST_BRIEFED = 100_000
"""Up to so many items a report on the terminal begins with the run in short."""


def show_report(
    store: str,
    name: str,
    *,
    as_json: bool = False,
    as_markdown: bool = False,
    is_finite: bool = False,
    is_full: bool = False,
) -> tuple[int, int]:
    """Print the report of a run, and return how many of its
    scores and choices were read, and how many there are.
    """
    from ..analysis.brief.brief import brief_of_run, card_of_run, estimates_of
    from ..analysis.report.recommendations import with_recommendations
    from ..analysis.report.report import about_these_items, summarise
    from ..analysis.report.words.first_screen import report_screen
    from ..analysis.report.words.report import report_sections
    from ..analysis.run_view.tabulate import tabulate
    from ..store import open_store

    with open_store(store, write=False) as opened:
        run = opened.run(name)
        # Who leads takes all results at once; a run that is too large for that has the tables alone.
        is_brief = not as_json and opened.totals(run).items <= MOST_BRIEFED
        is_labelled = bool(opened.labels(run))
        view = tabulate(opened, run, keep_results=is_brief or is_labelled)
        summary = summarise(view)
        estimates = estimates_of(opened, view, summary) if is_brief else None
        card = estimates.of_run if estimates is not None else None
        if estimates is None and is_labelled and summary.n_scores:
            card = card_of_run(opened, view)
        summary = with_recommendations(summary, view, card)
        brief = brief_of_run(opened, view, summary, estimates) if is_brief else None
    if is_finite:
        summary = about_these_items(summary)
    if as_json:
        print_json(summary)
    elif is_full:
        show_sections(report_sections(summary, brief=brief), as_markdown=as_markdown)
    else:
        show_screen(lambda most: report_screen(summary, brief, card, most), as_markdown=as_markdown)
    return summary.n_scores - summary.n_failed, summary.n_scores
