"""`adjudge compare`: the same items judged twice."""

from __future__ import annotations

from pathlib import Path

import typer

from .markdown import markdown_of
from .options import ABOUT, AS_JSON, STORE
from .terminal import print_json, print_sections, print_text

# `adjudge compare`: the same items judged twice.


def compare_command(
    first: str = typer.Argument(..., metavar="RUN_A", help="The name of a run, or 'last'."),
    second: str = typer.Argument(..., metavar="RUN_B", help="Another run on the same items."),
    labels: Path = typer.Option(
        None,
        "--labels",
        metavar="FILE",
        help="Human labels, to see whose side people take. Default: the labels in the store.",
    ),
    html: Path = typer.Option(
        None, "--html", metavar="FILE", help="Write a self-contained HTML page that opens offline."
    ),
    about: str = ABOUT,
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same digits."),
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Compare two runs on the same items (two prompts, judges or versions): does the conclusion change?"""
    from ..analysis.compare.compare import compare_views
    from ..analysis.compare.words import compare_sections
    from ..analysis.labels.read import labels_of_runs
    from ..analysis.run_view.tabulate import tabulate
    from ..analysis.trust.judge_card import check_about
    from ..data import read_labels
    from ..store import open_store

    check_about(about)
    with open_store(store, write=False) as opened:
        views = [tabulate(opened, opened.run(name), for_comparison=True) for name in (first, second)]
        known = labels_of_runs(opened, (first, second)) if labels is None else read_labels(labels).labels
    comparison = compare_views(views[0], views[1], seed, known, is_finite=about == "these-items")
    if html is not None:
        from ..untrusted import safe
        from ..web.comparison_file import write_comparison

        n_bytes = write_comparison(comparison, html)
        typer.echo(f"Wrote the comparison to {safe(str(html))} ({max(1, n_bytes // 1000):,} kB)", err=True)
        if not as_json and not markdown:
            return
    if as_json:
        print_json(comparison)
    elif markdown:
        print_text(markdown_of(compare_sections(comparison)))
    else:
        print_sections(compare_sections(comparison))
