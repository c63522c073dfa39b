"""`adjudge cascade`: thresholds at which a cheap judge decides, with a promise about agreement with
people."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from ..errors import DataError
from ..exit_codes import NOT_ENOUGH_EVIDENCE
from .options import AS_JSON, STORE
from .terminal import print_json, print_sections

if TYPE_CHECKING:
    from ..analysis.cascade.cascade import Cascade


def cascade_command(
    runs: list[str] = typer.Argument(
        None, metavar="[RUN…]", help="Runs of the same items, the cheapest judge first.", show_default=False
    ),
    scores: Path = typer.Option(
        None,
        "--scores",
        metavar="FILE",
        help="Answers from another tool: item, judge, choice or value, confidence.",
    ),
    labels: Path = typer.Option(None, "--labels", metavar="FILE", help="Human labels."),
    judges: str = typer.Option(
        "", "--judges", metavar="A,B", help="The judges, cheapest first; default: as in the file."
    ),
    agree: float = typer.Option(
        0.9, "--agree", metavar="P", help="Agreement with people to promise for decided items."
    ),
    risk: float = typer.Option(
        0.1, "--risk", metavar="R", help="Share of calibrations in which the promise may fail."
    ),
    within: float = typer.Option(
        None, "--within", metavar="X", help="Scores: within how many points of the label counts as agreement."
    ),
    criterion: str = typer.Option(None, "--criterion", metavar="NAME", help="The criterion of the labels."),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Write the cascade, for adjudge run --cascade FILE."
    ),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Find the confidence at which each judge may decide, so that decided items agree with people."""
    from ..analysis.cascade.words import cascade_sections

    _check_flags(agree, risk, within)
    _check_files(runs, scores, labels, output)
    settings = _Settings(agree, risk, within, criterion)
    cascade = (
        _of_runs(runs, labels, store, settings, output)
        if scores is None
        else _of_scores(scores, labels, judges, settings)
    )
    if as_json:
        print_json(cascade)
    else:
        print_sections(cascade_sections(cascade))
    if not cascade.holds:
        raise typer.Exit(NOT_ENOUGH_EVIDENCE)


def _check_flags(agree: float, risk: float, within: float | None) -> None:
    """An error where a number is out of its range."""
    check_share(agree, "--agree", "0.9")
    check_share(risk, "--risk", "0.1")
    if within is not None and not (math.isfinite(within) and within >= 0):
        raise DataError(f"--within {within:g}: give a distance of 0 or more, in scale points: --within 0.5.")


def _check_files(
    runs: list[str] | None, scores: Path | None, labels: Path | None, output: Path | None
) -> None:
    """An error where the files do not go together."""
    if scores is not None and output is not None:
        raise DataError(
            f"-o {output}: a cascade for adjudge run --cascade needs runs, whose models and prompts are "
            "known.\nLeave out -o, or give runs in place of --scores: adjudge cascade RUN_CHEAP RUN_DEAR "
            "--labels FILE"
        )
    if (scores is None) == (not runs) or (scores is not None and labels is None):
        raise DataError(
            "Use: adjudge cascade RUN_CHEAP RUN_DEAR --labels FILE -o cascade.toml\n"
            "or, for answers from another tool: adjudge cascade --scores FILE --labels FILE --judges "
            "CHEAP,DEAR"
        )


class _Settings(NamedTuple):
    """What is to be promised, and about which criterion."""

    agree: float
    risk: float
    within: float | None
    criterion: str | None


def _of_scores(scores: Path, labels: Path, judges: str, settings: _Settings) -> Cascade:
    from ..analysis.cascade.thresholds import calibrated_cascade, judge_names
    from ..data.judge_answers import (
        answers_about,
        criterion_of_labels,
        read_judge_answers,
        read_labels_of_answers,
    )

    answers = answers_about(read_judge_answers(scores, "judge"), settings.criterion)
    label_file = read_labels_of_answers(labels, answers)
    settings = settings._replace(criterion=criterion_of_labels(label_file, answers, settings.criterion))
    named = tuple(name for name in (part.strip() for part in judges.split(",")) if name)
    return calibrated_cascade(answers, label_file.labels, judge_names(answers, named), **settings._asdict())


def _of_runs(
    names: list[str], labels: Path | None, store: Path, settings: _Settings, output: Path | None
) -> Cascade:
    """Labels of a file, or those in the store."""
    from ..analysis.cascade.cascade_file import text_of_file
    from ..analysis.cascade.of_runs import cascade_of_runs
    from ..analysis.labels.judged_texts import check_of_judged_texts, of_judged_texts, other_texts_note
    from ..analysis.labels.read import labels_of_runs, read_labels_for
    from ..analysis.trust.trust import views_of_judges
    from ..data import LabelFile
    from ..store import open_store

    with open_store(store, write=False) as opened:
        runs = [opened.run(name) for name in names]
        if labels is None:
            given = LabelFile(tuple(labels_of_runs(opened, names)))
        else:
            given = read_labels_for(views_of_judges(opened, names), labels, {})
        given = of_judged_texts(opened, runs, given)
        check_of_judged_texts(given, names[0])
        if note := other_texts_note(given):
            typer.echo(f"! {note}", err=True)
        cascade, file = cascade_of_runs(opened, runs, given.labels, **settings._asdict())
    if output is not None and cascade.holds:
        output.write_text(text_of_file(file), encoding="utf-8")
    return cascade


def check_share(value: float, flag: str, example: str) -> None:
    """An error where a share is not between 0 and 1."""
    if not 0 < value < 1:
        raise DataError(f"{flag} {value:g}: give a share between 0 and 1: {flag} {example}.")
