"""`adjudge trust` and `adjudge sample`: the judge card, and what people are asked to label for it."""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast, get_args

import typer

from ..errors import DataError
from .options import AS_JSON, RUN, STORE
from .output import print_json, print_text
from .sections import markdown_of, print_sections

if TYPE_CHECKING:
    from typing import Unpack

    from ..card import Card
    from ..card.draw import Drawn
    from ..card.of_run import CardSettings
    from ..stats import Resample


def trust_command(
    run: str = typer.Argument(None, metavar="[RUN]", help="The name of a run, or 'last'."),
    labels: Path = typer.Option(
        None, "--labels", metavar="FILE", help="What people said; default: the labels in the store."
    ),
    scores: Path = typer.Option(
        None, "--scores", metavar="FILE", help="Scores that were made elsewhere, in place of a run."
    ),
    versus: str = typer.Option(
        None, "--versus", metavar="RUN", help="A second run of the same items: which judge is better?"
    ),
    resample: str = typer.Option(
        "inputs", "--resample", metavar="inputs|systems|both", help="What the intervals speak for."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same digits."),
    checked: Path = typer.Option(
        None, "--checked", metavar="FILE", help="Replies checked by hand, of sample --replies."
    ),
    plan: float = typer.Option(
        None, "--plan", metavar="WIDTH", help="How many labels make each interval as narrow as this?"
    ),
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Does this judge agree with people, and what are the scores really? The judge card."""
    from ..card import with_checked
    from ..card.tables import sections
    from ..stats import Resample

    if (run is None) == (scores is None):
        what = "both a run and --scores" if run is not None else "neither a run nor scores"
        raise DataError(
            f"There is {what} to hold against labels. Use: adjudge trust RUN --labels FILE\n"
            "or, for scores made with another tool: adjudge trust --scores FILE --labels FILE"
        )
    if resample not in get_args(Resample):
        raise DataError(f"--resample {resample}: choose inputs, systems or both.")
    if plan is not None and not (math.isfinite(plan) and plan > 0):
        raise DataError(
            f"--plan {plan:g}: a width is a number above 0, in the unit of the scale: --plan 0.5."
        )
    if versus is not None and run is None:
        raise DataError(
            "--versus compares two runs. Give a run in place of --scores; one file of scores may hold several models."
        )
    card = _card(
        run, scores, labels, store, versus, resample=cast("Resample", resample), seed=seed, plan_width=plan
    )
    if checked is not None:
        card = with_checked(card, checked)
    if as_json:
        print_json(card)
    elif markdown:
        print_text(markdown_of(sections(card)))
    else:
        print_sections(sections(card))


def _card(
    run: str | None,
    scores: Path | None,
    labels: Path | None,
    store: Path,
    versus: str | None,
    **settings: Unpack[CardSettings],
) -> Card:
    """The card of a run, or of scores that were made elsewhere."""
    from ..card import card_of_run, judge_card
    from ..data import read_labels, read_scores
    from ..store import open_store

    said = read_labels(labels) if labels is not None else None
    if scores is None:
        with open_store(store, write=False) as opened:
            own = opened.run(run or "last")
            other = None if versus is None else opened.run(versus)
            if other is not None and other.name == own.name:
                raise DataError(
                    f"--versus {versus} is the same run as {run}. Name another one; adjudge runs lists them."
                )
            return card_of_run(opened, own, said, other, **settings)
    if said is None:
        raise DataError("--scores needs labels to hold them against. Say where they are with --labels FILE.")
    return judge_card(read_scores(scores), said.labels, n_empty=said.n_empty, run=scores.name, **settings)


def sample_command(
    run: str = RUN,
    n: int = typer.Option(50, "-n", metavar="N", min=1, help="How many items, or replies."),
    by: str = typer.Option(None, "--by", metavar="system", help="As many of each system."),
    replies: bool = typer.Option(
        False, "--replies", help="Replies with what was read from them, to check the reader by hand."
    ),
    rater: str = typer.Option("rater", "--rater", metavar="NAME", help="Who will fill it in."),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed draws the same."),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Where to; default: the terminal."
    ),
    store: Path = STORE,
) -> None:
    """Items to label, drawn at random, as a CSV file to fill in; or replies to check by hand."""
    from ..card.draw import items_to_label, replies_to_check
    from ..store import open_store

    if by not in (None, "system"):
        raise DataError(f"--by {by}: only 'system' is known. Leave it out to draw from all items alike.")
    if by is not None and replies:
        raise DataError("--by system is for items to label; replies are drawn from all alike. Leave it out.")
    with open_store(store, write=False) as opened:
        found = opened.run(run)
        if replies:
            drawn = replies_to_check(opened, found, n, seed=seed)
        else:
            drawn = items_to_label(opened, found, n, by_system=by is not None, seed=seed, rater=rater)
        name = found.name
    _write(drawn, output)
    noun = "replies" if replies else "items"
    typer.echo(f"{drawn.n} of {drawn.n_all} {noun} of {name}, {len(drawn.rows)} rows", err=True)
    if output is not None and not replies:
        typer.echo(f"Fill in the column value, then: adjudge trust {name} --labels {output}", err=True)


def _write(drawn: Drawn, output: Path | None) -> None:
    """To the terminal, or to a new file: one that exists may hold somebody's labels."""
    if output is None:
        _write_csv(drawn, sys.stdout)
        return
    try:
        with output.open("x", encoding="utf-8", newline="") as file:
            _write_csv(drawn, file)
    except FileExistsError:
        raise DataError(
            f"{output} is there already and may hold labels. Choose another name with -o."
        ) from None
    except OSError as error:
        raise DataError(
            f"{output} cannot be written: {error.strerror}. Choose another place with -o."
        ) from error


def _write_csv(drawn: Drawn, file: IO[str]) -> None:
    """A cell that a spreadsheet could take for a formula begins with an apostrophe; reading takes it off again."""
    from ..data import guarded

    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(drawn.columns)
    for row in drawn.rows:
        writer.writerow([guarded(row.get(name, "")) for name in drawn.columns])
