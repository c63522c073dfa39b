"""`adjudge tune`: the candidate that agrees best with people, and whether its gain is shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from ..errors import DataError
from .options import AS_JSON, STORE
from .terminal import print_json, print_sections

if TYPE_CHECKING:
    from ..analysis.tune.tuning import Tuning
    from ..records import Item, Protocol
    from ..store import RunRow

NOT_SHOWN = 3


def tune_command(
    run: str = typer.Argument(
        None, metavar="[RUN]", help="The run to improve on: its protocol is the start.", show_default=False
    ),
    scores: Path = typer.Option(
        None,
        "--scores",
        metavar="FILE",
        help="Candidates judged elsewhere: item, candidate, choice or value.",
    ),
    labels: Path = typer.Option(None, "--labels", metavar="FILE", help="Human labels."),
    start: str = typer.Option(
        None, "--start", metavar="NAME", help="The candidate to improve on; default: the first of the file."
    ),
    candidates: Path = typer.Option(
        None,
        "--candidates",
        metavar="DIR",
        help="Folder of protocol folders to compare with the run's protocol.",
    ),
    budget: float = typer.Option(
        None, "--budget", metavar="USD", help="Stop when a candidate has cost this much."
    ),
    output: Path = typer.Option(
        None,
        "-o",
        "--output",
        metavar="DIR",
        help="Write the winner as a protocol folder, with how it was chosen.",
    ),
    criterion: str = typer.Option(None, "--criterion", metavar="NAME", help="The criterion of the labels."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Choose the candidate that agrees best with people, and test its gain on labels that chose nothing."""
    from ..analysis.tune.words import tune_sections

    if labels is None or (scores is None) == (run is None) or (run is not None) != (candidates is not None):
        raise DataError(
            "Use: adjudge tune RUN --candidates DIR --labels FILE -o WINNER\n"
            "or, for candidates judged elsewhere: adjudge tune --scores FILE --labels FILE"
        )
    if run is None:
        tuning = _of_scores(scores, labels, store, start, criterion)
    else:
        tuning = _of_run(_Search(run, candidates, labels, store, criterion, budget), output)
    if as_json:
        print_json(tuning)
    else:
        print_sections(tune_sections(tuning))
    if not tuning.claim:
        raise typer.Exit(NOT_SHOWN)


def _of_scores(scores: Path, labels: Path, store: Path, start: str | None, criterion: str | None) -> Tuning:
    from ..analysis.tune.winner import tuned
    from ..data.judge_answers import read_judge_answers, read_labels_of_answers
    from ..store import open_store

    answers = read_judge_answers(scores, "candidate")
    label_file = read_labels_of_answers(labels, answers)
    # Looks at the locked labels are counted in the store.
    with open_store(store) as opened:
        return tuned(
            answers, label_file.labels, opened.count_look, opened.n_looks, start=start, criterion=criterion
        )


class _Search(NamedTuple):
    """What candidates are compared with, and on which labels."""

    run: str
    candidates: Path
    labels: Path
    store: Path
    criterion: str | None
    budget: float | None


def _of_run(search: _Search, output: Path | None) -> Tuning:
    """Judge the labelled items with every candidate, then
    compare. Each candidate is a run of its own, and resumes.
    """
    from ..analysis.cascade.answers import answers_of_run, criterion_of_runs
    from ..analysis.labels.judged_texts import labels_of_run, other_texts_note
    from ..analysis.labels.read import read_labels_for
    from ..analysis.trust.trust import views_of_judges
    from ..analysis.tune.candidates import read_candidates, write_winner
    from ..analysis.tune.winner import tuned
    from ..results.manifest import protocols_of
    from ..store import open_store

    with open_store(search.store, write=False) as opened:
        run = opened.run(search.run)
        name = criterion_of_runs(opened, [run], search.criterion)
        views = views_of_judges(opened, [run.name])
        given = labels_of_run(opened, run, read_labels_for(views, search.labels, {}))
        if note := other_texts_note(given):
            typer.echo(f"! {note}", err=True)
        mine = [label for label in given.labels if label.criterion in (name, "choice", "")]
        labelled = {label.item for label in mine}
        items = [item for item in opened.items(run) if item.id in labelled]
        start = next(p for p in protocols_of(opened, run).values() if name in p.criteria)
        protocols = read_candidates(search.candidates, start, name, items)
    runs = {candidate: f"{run.name}.tune.{candidate}" for candidate in protocols}
    for candidate, protocol in protocols.items():
        _judge(run, protocol, items, runs[candidate], search)
    with open_store(search.store) as opened:
        answers = answers_of_run(opened, run, name, "stated")
        for judged in runs.values():
            answers += answers_of_run(opened, opened.run(judged), name, "stated")
        tuning = tuned(answers, mine, opened.count_look, opened.n_looks, start=run.name)
    if output is not None and tuning.winner != run.name:
        winner = next(candidate for candidate, judged in runs.items() if judged == tuning.winner)
        write_winner(search.candidates / winner, output, tuning, protocols[winner].digest)
    return tuning


def _judge(run: RunRow, protocol: Protocol, items: Sequence[Item], name: str, search: _Search) -> None:
    """One candidate on the labelled items, with the models and settings of the run."""
    from ..engine import Request
    from ..results.manifest import settings_of
    from .run import carry_out

    settings = settings_of(run)
    request = Request(
        items=tuple(items),
        protocol=protocol,
        model=tuple(str(model["spec"]) for model in run.manifest["models"]),
        command=("adjudge", *sys.argv[1:]),
        samples=settings.samples,
        estimator=settings.estimator,
        order=settings.order,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        budget=search.budget,
        run=name,
        store=str(search.store),
    )
    finished, code = carry_out(request, quiet=True)
    if finished is None:
        raise typer.Exit(code)
