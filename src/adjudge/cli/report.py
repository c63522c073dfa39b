"""`adjudge report`: scores by system and criterion, on the terminal, as Markdown or as an HTML file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from .first_screen import show_screen, show_sections
from .options import ABOUT, AS_JSON, FULL, RUN, STORE
from .terminal import print_json

if TYPE_CHECKING:
    from ..analysis.about import About
    from ..analysis.run_view.run_view import RunView
    from ..data import LabelFile
    from ..sections import Section
    from ..store import Store


def report_command(
    run: str = RUN,
    html: Path = typer.Option(
        None, "--html", metavar="FILE", help="Write a self-contained HTML report that opens offline."
    ),
    labels: Path = typer.Option(
        None,
        "--labels",
        metavar="FILE",
        help="Human labels for the judge card; default: the labels in the store.",
    ),
    about: str = ABOUT,
    full: bool = FULL,
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown, for a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Show scores by system and criterion, with intervals, failures and warnings."""
    from ..analysis.about import check_about

    check_about(about)
    if html is not None:
        _write_html(store, run, html, labels, cast("About", about))
        if not as_json and not markdown:
            return
    show_report(
        str(store), run, as_json=as_json, as_markdown=markdown, about=cast("About", about), is_full=full,
        labels_file=labels,
    )  # fmt: skip


def _write_html(store: Path, run: str, html: Path, labels: Path | None, about: About) -> None:
    """Write the report as a page, and name the file on standard error."""
    from ..store import open_store
    from ..untrusted import safe
    from ..web.report_file import write_report

    with open_store(store, write=False) as opened:
        summary, n_bytes = write_report(opened, opened.run(run), html, labels, about)
    name = safe(summary.run)
    typer.echo(f"Wrote the report of {name} to {safe(str(html))} ({max(1, n_bytes // 1000):,} kB)", err=True)


def _labels_of_file(store: Store, view: RunView, path: Path) -> LabelFile:
    """The labels of a file; an error where none belongs to the run."""
    from ..analysis.labels.belonging import check_belong
    from ..analysis.labels.read import read_labels_for

    labels = read_labels_for([view], path)
    if view.run is not None:
        check_belong(store, [view.run], labels)
    return labels


MOST_BRIEFED = 100_000
"""Up to so many items a report on the terminal begins with the run in short."""


def show_report(
    store: str,
    name: str,
    *,
    as_json: bool = False,
    as_markdown: bool = False,
    about: About = "new-inputs",
    is_full: bool = False,
    labels_file: Path | None = None,
) -> tuple[int, int]:
    """Print the report of a run; how many of its scores and choices were read, and how many there are."""
    from ..analysis.audit.first_screen import audit_screen
    from ..analysis.audit.of_runs import audit_view
    from ..analysis.brief.brief import brief_of_run, card_of_run, estimates_of
    from ..analysis.labels.judged_texts import labels_of_run, other_texts_note
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
        has_labels = labels_file is not None or bool(labels_of_run(opened, run).labels)
        view = tabulate(opened, run, keep_results=is_brief or has_labels)
        given = None if labels_file is None else _labels_of_file(opened, view, labels_file)
        labels = labels_of_run(opened, run, given)
        summary = summarise(view)
        if about == "these-items":
            summary = about_these_items(summary)
        estimates = estimates_of(opened, view, summary, given, about) if is_brief else None
        card = estimates.of_run if estimates is not None else None
        if estimates is None and labels.labels and summary.n_scores:
            card = card_of_run(opened, view, given, about)
        summary = with_recommendations(summary, view, card)
        brief = brief_of_run(opened, view, summary, estimates) if is_brief else None
    if note := other_texts_note(labels):
        typer.echo(f"! {note}", err=True)
    if as_json:
        print_json(summary)
    else:
        screen: Callable[[int], Sequence[Section]]
        if view.is_audit:
            # Its probes are no systems: nothing is ranked.
            audit = audit_view(view)
            screen = partial(audit_screen, audit)
        else:
            ranking = estimates.ranking if estimates is not None else None
            screen = partial(report_screen, summary, brief, card, ranking=ranking)
        if is_full:
            answer = screen(len(summary.systems) or 1)[0]
            show_sections(
                (answer, *report_sections(summary, brief=brief, has_answer=True)), as_markdown=as_markdown
            )
        else:
            show_screen(screen, as_markdown=as_markdown)
    return summary.n_scores - summary.n_failed, summary.n_scores
