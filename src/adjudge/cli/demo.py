"""`adjudge demo`: the embedded judge on responses whose faults are known, from downloading the model to a report.

Needs no key and no files: the items, their labels and a recording of the model's likelihoods ship with the package.
Where the model is not available, the recording is replayed, and the output says so.
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
        False, "--recorded", help="Do not run the model: replay likelihoods recorded with it."
    ),
    limit: int = typer.Option(
        ITEMS,
        "--limit",
        metavar="N",
        min=1,
        help="Judge only the first N of the 60 items (6 per source text).",
    ),
    report: Path = typer.Option(
        "adjudge-demo.html", "--report", metavar="FILE", help="Write the HTML report to this file."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress."),
    store: Path = typer.Option(
        "adjudge-demo.db", "--store", metavar="FILE", help="The store for the demo run."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Try everything once: download the embedded model, judge the bundled examples by nine criteria, write a report."""
    from ..store import open_store
    from .demo_figures import figures_of

    _say(quiet, _INTRODUCTION.format(n=min(limit, 60)))
    why_not = "" if recorded else _why_not_embedded(quiet)
    if why_not:
        sys.stderr.write(f"{why_not}\n{_FALLBACK}\n")
    elif recorded:
        _say(quiet, "Replaying likelihoods recorded with the embedded model; the model does not run.")
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
        print_text(f"\nReport: {path}\nRun: {name}, in {store}. To explore it:")
        print_text(f"  {_executable()} view --store {store}")
        print_text(f"  {_executable()} runs show {name} --store {store}")
    raise typer.Exit(0 if figures.n_scores > figures.n_failed else 4)


_INTRODUCTION = (
    "{n} responses to short texts by six invented systems: one is faithful, five have one known fault each.\n"
    "The judge is a small language model that needs no key. It generates no text: the score is the likelihood of the\n"
    "response given the source text (GPTScore), as the mean log-probability per token."
)
_FALLBACK = (
    "Continuing with likelihoods recorded with this model earlier: the numbers below come from the recording.\n"
    "To run the model itself, fix the problem above and run the command again."
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
    """Why the embedded model cannot be used; empty where it can. Downloads it if needed."""
    from ..models.local import SMOLLM2, pull
    from ..models.local.llama_cpp import check_installed

    # `kill` removes an incomplete download, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        check_installed()
        pull(SMOLLM2, lambda text: _say(quiet, text))
    except KeyboardInterrupt:
        sys.stderr.write(
            "adjudge: interrupted; the incomplete download was deleted. Run the same command to start it again.\n"
        )
        raise typer.Exit(130) from None
    except ModelError as error:
        return f"adjudge: {error}"
    return ""


def _judged(store: Path, limit: int, *, is_recorded: bool, quiet: bool) -> str:
    """The name of the finished run; exits with its code where the run was stopped."""
    from ..engine import Request
    from .run_command import carry_out

    folder = data_folder()
    # The demo uses both of two cores: it is the main work of the machine for these minutes.
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
    """Write the report of the run to one file, and return its path.

    Without the labels: a report would present them as human labels, and these items have none.
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
        "Higher (closer to 0) means more likely."
    )
    _print_systems(figures)
    _print_faults(figures)
    _print_labels(figures)
    _print_between(figures)


def _print_systems(figures: Figures) -> None:
    print_text("\nMean log-probability per token, by system [95 % interval, clustered by text]")
    rows = []
    for system, cells in figures.systems.items():
        shown = [cells[f"gptscore/{name}/{name}"] for name in SHOWN]
        rows.append((system, *map(_interval, shown), str(shown[0].n), str(shown[0].n_failed)))
    _table(("system", *SHOWN, "n", "failed"), rows)


def _print_faults(figures: Figures) -> None:
    from .demo_figures import FAULTS

    print_text("\nFault detection: texts on which the faithful response scores above the faulty one [95 %]")
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

    print_text("\nSpearman correlation with labels known by construction (no ratings) [95 %, by text]")
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
        "Copied bigrams and length are baselines that need no model: where they do as well, the model adds nothing."
    )


def _print_between(figures: Figures) -> None:
    between = figures.between
    if between.median is None:
        return
    print_text(
        f"\nThe nine criteria rank the {between.n_items} responses almost identically: Spearman between two criteria "
        f"{between.lowest:.3f} to {between.highest:.3f}, median {between.median:.3f} ({between.n_pairs} pairs).\n"
        "With a model this small they all measure one thing: how predictable the words are. A low score shows that a response\n"
        "is unusual, not what is wrong with it: broken grammar and an off-topic text lower the score so much that they hide\n"
        "the other faults. If your criteria must differ, use a larger model."
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
