"""`adjudge audit`: how far a judge moves for reasons that should not matter."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import DataError
from .markdown import markdown_of
from .options import AS_JSON
from .terminal import print_json, print_sections, print_text

if TYPE_CHECKING:
    from ..analysis.result_types import Audit


def audit_command(
    scores: Path = typer.Option(
        None,
        "--scores",
        metavar="FILE",
        help="Scores made elsewhere: columns item, probe, value; or for pairs item, order, choice.",
    ),
    margin: float = typer.Option(
        None,
        "--margin",
        metavar="X",
        help="A shift within ± X points does not matter; default: 5 % of the scale's width.",
    ),
    scale: str = typer.Option(
        None,
        "--scale",
        metavar="LOW,HIGH",
        help="With --scores: the ends of the scale; default: the lowest and the highest score.",
    ),
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    as_json: bool = AS_JSON,
) -> None:
    """Audit a judge: how far its scores move for reasons that should not matter."""
    if margin is not None and not (math.isfinite(margin) and margin >= 0):
        raise DataError(f"--margin {margin:g}: give a number of scale points from 0 on: --margin 0.25.")
    if scores is None:
        raise DataError("Nothing to audit. Use: adjudge audit --scores FILE")
    _print_audit(_of_scores(scores, margin, scale), as_json=as_json, markdown=markdown)


def _of_scores(path: Path, margin: float | None, scale: str | None) -> Audit:
    from ..analysis.audit import audit_scores
    from ..data import read_probe_scores

    limits = None if scale is None else _parse_scale(scale)
    rows, choices = read_probe_scores(path)
    return audit_scores(rows, choices, margin=margin, limits=limits, name=path.name)


def _parse_scale(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise DataError(f"--scale {text}: give the lowest and the highest score: --scale 1,5.")
    return low, high


def _print_audit(audit: Audit, *, as_json: bool, markdown: bool) -> None:
    from ..analysis.audit_words import audit_sections

    if as_json:
        print_json(audit)
    elif markdown:
        print_text(markdown_of(audit_sections(audit)))
    else:
        print_sections(audit_sections(audit))
