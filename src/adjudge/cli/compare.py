"""`adjudge compare`: the same items judged twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .first_screen import show_screen, show_sections
from .options import ABOUT, AS_JSON, FULL, STORE
from .terminal import print_json

if TYPE_CHECKING:
    from ..analysis.compare.comparison import Comparison
    from ..analysis.run_view.run_view import RunView
    from ..data import LabelFile
    from ..store import Store


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
    different_texts: bool = typer.Option(
        False,
        "--different-texts",
        help="Pair items without ids that have the same input but another response.",
    ),
    margin: float = typer.Option(
        None,
        "--margin",
        metavar="X",
        help="Say whether the runs are equivalent: differ by less than X; default: 5 % of the scale.",
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", min=0, help="The same seed gives the same digits."),
    full: bool = FULL,
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Compare two runs on the same items (two prompts, judges or versions): does the conclusion change?"""
    from ..analysis.about import check_about
    from ..analysis.compare.compare import compare_views
    from ..analysis.labels.judged_texts import other_texts_note
    from ..analysis.run_view.tabulate import tabulate
    from ..store import open_store

    check_about(about)
    with open_store(store, write=False) as opened:
        views = [tabulate(opened, opened.run(name), for_comparison=True) for name in (first, second)]
        known = _labels(opened, views, labels)
    comparison = compare_views(
        views[0],
        views[1],
        seed,
        known.labels,
        is_finite=about == "these-items",
        different_texts=different_texts,
        margin=margin,
        labels_note=other_texts_note(known),
    )
    if html is not None:
        _write_html(comparison, html)
        if not as_json and not markdown:
            return
    _show(comparison, as_json=as_json, markdown=markdown, is_full=full or margin is not None)


def _show(comparison: Comparison, *, as_json: bool, markdown: bool, is_full: bool) -> None:
    from ..analysis.compare.first_screen import compare_screen
    from ..analysis.compare.words import compare_sections

    if as_json:
        print_json(comparison)
    elif markdown or is_full:
        show_sections(compare_sections(comparison), as_markdown=markdown)
    else:
        show_screen(lambda most_rows: compare_screen(comparison, most_rows), as_markdown=False)


def _write_html(comparison: Comparison, path: Path) -> None:
    from ..untrusted import safe
    from ..web.comparison_file import write_comparison

    n_bytes = write_comparison(comparison, path)
    typer.echo(f"Wrote the comparison to {safe(str(path))} ({max(1, n_bytes // 1000):,} kB)", err=True)


def _labels(store: Store, views: Sequence[RunView], path: Path | None) -> LabelFile:
    """The labels of a file, or those in the store, without labels of texts that were not judged."""
    from ..analysis.labels.belonging import check_belong
    from ..analysis.labels.judged_texts import of_judged_texts
    from ..analysis.labels.read import labels_of_runs, read_labels_for
    from ..data import LabelFile

    runs = [view.run for view in views if view.run is not None]
    if path is not None:
        given = read_labels_for(views, path)
        check_belong(store, runs, given)
        return of_judged_texts(store, runs, given)
    return of_judged_texts(store, runs, LabelFile(tuple(labels_of_runs(store, [run.name for run in runs]))))
