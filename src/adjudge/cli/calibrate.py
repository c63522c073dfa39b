"""`adjudge calibrate`: fit a map of a judge's scores on human labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import DataError
from ..sections import Section, notices
from ..untrusted import safe
from .options import AS_JSON, NAMED_RUN, STORE
from .terminal import print_json, print_sections

if TYPE_CHECKING:
    from ..analysis.calibrate import Calibrated


def calibrate_command(
    run: str = NAMED_RUN,
    labels: Path = typer.Option(None, "--labels", metavar="FILE", help="Human labels (CSV or JSONL)."),
    output: Path = typer.Option(None, "-o", "--output", metavar="FILE", help="The file for the map (TOML)."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Fit a map of a judge's scores on human labels, for adjudge run --map-scores FILE."""
    from ..analysis.calibrate import calibrated
    from ..analysis.labels.belonging import check_belong
    from ..analysis.labels.judged_texts import check_of_judged_texts, labels_of_run, other_texts_note
    from ..analysis.labels.read import read_labels_for
    from ..analysis.run_view.tabulate import tabulate
    from ..score_map import written_score_map
    from ..store import open_store

    if labels is None or output is None:
        raise DataError(
            "Give labels and a file for the map: adjudge calibrate RUN --labels FILE -o map.toml."
        )
    with open_store(store, write=False) as opened:
        view = tabulate(opened, opened.run(run))
        check_belong(opened, [opened.run(run)], given := read_labels_for([view], labels))
        label_file = labels_of_run(opened, opened.run(run), given)
        check_of_judged_texts(label_file, run)
        if note := other_texts_note(label_file):
            typer.echo(f"! {note}", err=True)
        score_map, found = calibrated(view, label_file.labels)
    output.write_text(written_score_map(score_map), encoding="utf-8")
    if as_json:
        print_json(found)
    else:
        print_sections(_map_sections(found))
        name = safe(str(output))
        typer.echo(f"Wrote {name}. Next: adjudge run … --map-scores {name}", err=True)


def _map_sections(found: Calibrated) -> list[Section]:
    """The error of each judge before and after the map."""
    from ..words import interval, listed

    rows = tuple(
        (
            quality.model, quality.criterion, quality.method, str(quality.n_labels),
            interval(quality.error_before), interval(quality.error_after),
            "" if quality.calibration_before is None else interval(quality.calibration_before),
            "" if quality.calibration_after is None else interval(quality.calibration_after),
        )
        for quality in found.criteria
    )  # fmt: skip
    heads = (
        "judge",
        "criterion",
        "map",
        "labels",
        "error before",
        "error after",
        "calibration error before",
        "after",
    )
    lines = tuple(f"No map for {name}: {why}." for name, why in found.left_out.items())
    note = (
        "Errors are mean distances from the labels as shares of the scale's width, on two levels Brier "
        "scores. Those after the map are of items that the curve did not see."
    )
    worse = [f"{one.model} on {one.criterion}" for one in found.criteria if not one.is_better]
    warnings = (
        f"The map does not bring the scores of {listed(worse)} closer to labels that it did not see: do not "
        "use it there.",
    )
    title = f"Map of scores, digest {found.digest}"
    return [Section(title, lines, heads, rows, 1, notes=(note,), notices=notices(warnings if worse else ()))]
