"""`adjudge tune`: the candidate that agrees best with people, and whether its gain is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import typer

from ..errors import DataError
from ..exit_codes import NOT_ENOUGH_EVIDENCE
from ..records import Estimator
from .flag_values import PARSERS
from .options import AS_JSON, STORE
from .run_file import TRUST_RUN_FILE
from .terminal import print_json, print_sections

if TYPE_CHECKING:
    from ..analysis.tune.tuning import Tuning

MOST_SAMPLES = 1000
_USES = (
    "Use: adjudge tune RUN --candidates DIR --labels FILE -o WINNER\n"
    "or, for prompts that a model proposes: adjudge tune RUN --rounds 3 --labels FILE -o WINNER\n"
    "or, for candidates judged elsewhere: adjudge tune --scores FILE --labels FILE"
)


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
        help="Folder of protocol folders to compare with the run's; proposals are written there.",
    ),
    rounds: int = typer.Option(
        0, "--rounds", metavar="N", min=0, help="How many prompts a model proposes, from disagreements."
    ),
    proposer: str = typer.Option(
        None, "--proposer", metavar="MODEL", help="The model that proposes prompts; default: the judge."
    ),
    samples: str = typer.Option(
        "", "--samples", metavar="1,3,8", help="Numbers of samples to compare; the largest is drawn."
    ),
    models: list[str] = typer.Option(
        None, "-m", "--model", metavar="MODEL", help="Judges to compare, repeatable; default: the run's."
    ),
    estimators: list[str] = typer.Option(
        None, "--estimator", metavar="E", help="Estimators to compare, repeatable: parsed, probability."
    ),
    shots: int = typer.Option(
        0, "--shots", metavar="N", min=0, help="Also try a prompt that shows N labelled items of the search."
    ),
    calibrate: bool = typer.Option(
        False, "--calibrate", help="Also try each candidate's scores through a calibration map."
    ),
    price: list[str] = typer.Option(
        None, "--price", metavar="[MODEL=]IN,OUT", help="USD per million input and output tokens."
    ),
    key_env: list[str] = typer.Option(
        None, "--key-env", metavar="[MODEL=]VAR", help="The environment variable with the API key."
    ),
    budget: float = typer.Option(
        None, "--budget", metavar="USD", help="The most that this command may spend on candidates."
    ),
    output: Path = typer.Option(
        None,
        "-o",
        "--output",
        metavar="DIR",
        help="Write the winner as a protocol folder, with how it was chosen.",
    ),
    criterion: str = typer.Option(None, "--criterion", metavar="NAME", help="The criterion of the labels."),
    _trust_run_file: bool = TRUST_RUN_FILE,
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Choose the candidate that agrees best with people, and test its gain on labels that chose nothing."""
    from ..analysis.tune.words import tune_sections

    has_candidates = candidates is not None or any((rounds, samples, models, estimators, shots, calibrate))
    if labels is None or (scores is None) == (run is None) or (run is not None) != has_candidates:
        raise DataError(_USES)
    if run is None:
        tuning = _of_scores(scores, labels, store, start, criterion)
    else:
        from .tune_run import TuneSearch, tuning_of_run

        search = TuneSearch(
            run, candidates or Path(f"{run}.candidates"), labels, store, criterion, budget, rounds, proposer,
            _numbers_of(samples), tuple(models or ()), _estimators_of(estimators or []), shots, calibrate,
            PARSERS["price"](price) if price else None, PARSERS["key_env"](key_env) if key_env else None,
        )  # fmt: skip
        tuning = tuning_of_run(search, output)
    if as_json:
        print_json(tuning)
    else:
        print_sections(tune_sections(tuning))
    if not tuning.claim:
        raise typer.Exit(NOT_ENOUGH_EVIDENCE)


def _of_scores(scores: Path, labels: Path, store: Path, start: str | None, criterion: str | None) -> Tuning:
    from ..analysis.tune.winner import tuned
    from ..data.judge_answers import (
        answers_about,
        criterion_of_labels,
        read_judge_answers,
        read_labels_of_answers,
    )
    from ..store import open_store

    answers = answers_about(read_judge_answers(scores, "candidate"), criterion)
    label_file = read_labels_of_answers(labels, answers)
    criterion = criterion_of_labels(label_file, answers, criterion)
    # Looks at the locked labels are counted in the store.
    with open_store(store) as opened:
        return tuned(
            answers, label_file.labels, opened.count_look, opened.n_looks, start=start, criterion=criterion
        )


def _estimators_of(given: list[str]) -> tuple[Estimator, ...]:
    known = get_args(Estimator)
    if unknown := [name for name in given if name not in known]:
        raise DataError(f"--estimator {unknown[0]}: choose from {', '.join(known)}.")
    return tuple(cast("Estimator", name) for name in given)


def _numbers_of(given: str) -> tuple[int, ...]:
    """Numbers of samples, the smallest first."""
    parts = [part.strip() for part in given.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and 0 < int(part) <= MOST_SAMPLES for part in parts):
        raise DataError(f"--samples {given}: give numbers of samples, such as --samples 1,3,8.")
    return tuple(sorted({int(part) for part in parts}))
