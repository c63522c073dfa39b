"""`adjudge demo`: the embedded judge on responses whose faults are known, from pulling the model to a report.

Needs no key and no file of the user's: the items, their labels and a recording of the model's likelihoods ship with
the package. The recording is played where the model cannot be had, and everything printed then says so.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import ModelError
from .options import AS_JSON
from .terminal import print_json, print_table, print_text

if TYPE_CHECKING:
    from ..records import Estimate
    from .demo_figures import Figures

CRITERIA = (
    "factuality", "consistency", "relevance", "fluency", "coherence", "accuracy", "multidimensional-quality",
    "semantic-appropriateness", "understandability",
)  # fmt: skip
SHOWN = ("factuality", "coherence", "fluency")
"""The criteria of the table of systems; the others are in the report."""

ITEMS = 30
"""Six responses to each of five texts: what two slow cores judge by nine criteria within three minutes."""


def demo_command(
    recorded: bool = typer.Option(
        False, "--recorded", help="Ask no model: play the likelihoods that were recorded with it."
    ),
    limit: int = typer.Option(
        ITEMS, "--limit", metavar="N", min=1, help="Judge the first N of the 60 items; 6 belong to a text."
    ),
    report: Path = typer.Option(
        "adjudge-demo.html", "--report", metavar="FILE", help="Where the report goes."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
    store: Path = typer.Option("adjudge-demo.db", "--store", metavar="FILE", help="The store of the demo."),
    as_json: bool = AS_JSON,
) -> None:
    """Everything once: pull the embedded model, judge the shipped examples by nine criteria, and write a report."""
    from ..store import open_store
    from .demo_figures import figures_of

    _say(quiet, _INTRODUCTION.format(n=min(limit, 60)))
    why_not = "" if recorded else _why_not_embedded(quiet)
    if why_not:
        sys.stderr.write(f"{why_not}\n{_GOES_ON}\n")
    elif recorded:
        _say(quiet, "No model is asked: its likelihoods were recorded before.")
    name = _judged(store, limit, is_recorded=recorded or bool(why_not), quiet=quiet)
    with open_store(store, write=False) as opened:
        run = opened.run(name)
        figures = figures_of(opened, run, data_folder() / "labels.csv")
    path = _written_report(store, name, report)
    if as_json:
        import msgspec

        print_json(msgspec.structs.replace(figures, report=str(path)))
    else:
        _print(figures)
        print_text(f"\nThe report is in {path}, the run {name} in {store}. Look further:")
        print_text(f"  {_executable()} view --store {store}")
        print_text(f"  {_executable()} runs show {name} --store {store}")
    raise typer.Exit(0 if figures.n_scores > figures.n_failed else 4)


_INTRODUCTION = (
    "{n} responses to short texts, made by six invented systems: one faithful, five with a known fault each.\n"
    "The judge is a small language model that runs without a key. It writes nothing: a response's score is how likely its\n"
    "words are to the model after the text (GPTScore), the mean log-probability of a token."
)
_GOES_ON = (
    "Going on with likelihoods that were recorded with this model before: the figures below are a recording's.\n"
    "To see the model itself at work, mend that and give the command again."
)


def _executable() -> str:
    """How to call this program again: by its path where its name is not on the PATH."""
    if shutil.which("adjudge") is not None:
        return "adjudge"
    candidates = Path(sys.argv[0]).absolute(), Path(sys.executable).with_name("adjudge")
    files = [path for path in candidates if path.stem == "adjudge" and path.is_file()]
    return shlex.quote(str(files[0])) if files else "adjudge"


def data_folder() -> Path:
    """Where the demo's items, labels and recording are."""
    from importlib import resources

    return Path(str(resources.files("adjudge"))) / "demo"


def _why_not_embedded(quiet: bool) -> str:
    """Why the embedded model cannot be used; empty where it can. Pulls it, if it is not there."""
    from ..models.local import SMOLLM2, pull
    from ..models.local.llama_cpp import check_installed

    # `kill` removes an incomplete download, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        check_installed()
        pull(SMOLLM2, lambda text: _say(quiet, text))
    except KeyboardInterrupt:
        sys.stderr.write(
            "adjudge: interrupted; nothing was kept. The same command begins the download anew.\n"
        )
        raise typer.Exit(130) from None
    except ModelError as error:
        return f"adjudge: {error}"
    return ""


def _judged(store: Path, limit: int, *, is_recorded: bool, quiet: bool) -> str:
    """The name of the finished run; leaves with the right code where it was stopped."""
    from ..engine import Request
    from .run_command import carry_out

    folder = data_folder()
    # Two cores are shared by two threads: the demo is what this machine does for these minutes.
    if (os.cpu_count() or 1) == 2:
        os.environ.setdefault("ADJUDGE_THREADS", "2")
    request = Request(
        items=str(folder / "items.jsonl"),
        protocol=tuple(f"gptscore/{name}" for name in CRITERIA),
        model=f"replay:{folder / 'likelihoods.jsonl.gz'}" if is_recorded else "local",
        store=str(store),
        limit=limit,
        command=("adjudge", *sys.argv[1:]),
    )
    finished, code = carry_out(request, quiet)
    if finished is None:
        raise typer.Exit(code)
    return finished


def _written_report(store: Path, name: str, path: Path) -> Path:
    """The report of the run in one file; where it is.

    Without the labels: a report calls those people's, and nobody has rated these items.
    """
    from ..store import open_store
    from ..web.report_file import write_report

    with open_store(store, write=False) as opened:
        write_report(opened, opened.run(name), path)
    return path.resolve()


# -- printing


def _say(quiet: bool, text: str) -> None:
    if not quiet:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _print(figures: Figures) -> None:
    judge = "a recording of the embedded model" if figures.is_recorded else "the embedded model"
    print_text(
        f"{figures.n_items} responses, {figures.n_scores} scores by {judge}, {figures.n_failed} failed. "
        "Higher (nearer to 0) is likelier."
    )
    _print_systems(figures)
    _print_faults(figures)
    _print_labels(figures)
    _print_between(figures)


def _print_systems(figures: Figures) -> None:
    print_text("\nThe systems: mean log-probability of a token [95 % interval, by text]")
    rows = []
    for system, cells in figures.systems.items():
        shown = [cells[f"gptscore/{name}/{name}"] for name in SHOWN]
        rows.append((system, *map(_interval, shown), str(shown[0].n), str(shown[0].n_failed)))
    _table(("system", *SHOWN, "n", "failed"), rows)


def _print_faults(figures: Figures) -> None:
    from .demo_figures import FAULTS

    print_text("\nDoes it notice the fault? Texts whose faithful response is ahead of the faulty one")
    rows = [
        (
            system,
            FAULTS[system],
            _of(estimates["likelihood"]),
            _of(estimates["copied_bigrams"]),
            _of(estimates["length"]),
        )
        for system, estimates in figures.faults.items()
    ]
    _table(("fault", "by", "likelihood", "copied bigrams alone", "length alone"), rows)


def _print_labels(figures: Figures) -> None:

    print_text(
        "\nSpearman with labels that are true by construction; no person rated anything [95 %, by text]"
    )
    rows = [
        (
            criterion,
            _interval(estimates["likelihood"]),
            _interval(estimates["copied_bigrams"]),
            _interval(estimates["length"]),
            str(estimates["likelihood"].n),
            str(estimates["likelihood"].n_failed),
        )
        for criterion, estimates in figures.labels.items()
    ]
    _table(("criterion", "likelihood", "copied bigrams", "length", "n", "failed"), rows)
    for why in dict.fromkeys(
        estimate.reason for estimates in figures.labels.values() for estimate in estimates.values()
    ):
        if why:
            print_text(f"[–] or –: {why}.")
    print_text(
        "The last two columns of figures cost nothing: where they do as well, the model has shown nothing."
    )


def _print_between(figures: Figures) -> None:
    between = figures.between
    if between.median is None:
        return
    print_text(
        f"\nThe nine criteria order the {between.n_items} responses almost alike: Spearman between two of them "
        f"{between.lowest:.3f} to {between.highest:.3f}, median {between.median:.3f} ({between.n_pairs} pairs).\n"
        "On so small a model they are one quantity: how expected the words are. It says that a response is strange, not\n"
        "what is wrong with it: broken grammar and a strange topic cost so much that they hide the other faults from the\n"
        "labels of a single criterion. Where criteria must differ, judge with a larger model."
    )


def _interval(estimate: Estimate) -> str:
    from ..words import interval

    return interval(estimate, 2)


def _of(share: Estimate) -> str:
    """5 of 6 [44 %, 97 %]."""
    if share.value is None or share.low is None or share.high is None:
        return "–"
    return f"{share.value * share.n:g} of {share.n} [{share.low * 100:.0f} %, {share.high * 100:.0f} %]"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    sys.stdout.flush()
    print_table(columns, rows)
