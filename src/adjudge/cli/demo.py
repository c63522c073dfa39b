"""`adjudge demo`: from judging to a decision in five screens, on data that ships with the package.

A recorded rubric judge, whose replies and ratings are made up for this demo, scores two versions of a help
desk; then the embedded model judges responses with known faults. Every number comes from the functions that
the other commands use, and every screen shows its command.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import typer
from msgspec import Struct, structs

from ..errors import DataError, ModelError
from ..exit_codes import ALL_FAILED, DONE, INTERRUPTED
from ..sections import Section
from .demo_screens import (
    DemoReading,
    command_text,
    least_likely_section,
    mean_section,
    only_sentences,
    path_line,
    readings_of,
    replies_section,
)
from .options import AS_JSON
from .terminal import print_json, print_sections, print_text

if TYPE_CHECKING:
    from ..analysis.compare.comparison import Comparison
    from ..analysis.gate.gate_report import GateReport
    from ..analysis.report.summary import Cell, Summary
    from ..analysis.trust.card import Card
    from ..engine import Request
    from ..store import Store


PROTOCOLS = ("gptscore/factuality", "gptscore/relevance-backward")
"""The response given its text, and the text given the response:
on a small model, aspects of one direction hardly differ.
"""


SYSTEMS = ("faithful", "altered-fact", "omission")
"""The systems whose responses are judged: one without a fault, one whose fault hardly moves the means of so
small a model, and one whose fault only the second criterion shows.
"""


ITEMS = 12
"""Three responses to each of four texts: 24 calls, some 4,000 tokens to evaluate, about 20 s of CPU time."""


RESPONSES = "responses.jsonl"


RUBRIC_PROTOCOL = "prometheus/direct"


RUBRIC = "helpful.toml"


VERSIONS = CURRENT, CANDIDATE = "current", "candidate"
"""The runs of the recorded judge, and the names of their files."""


RATINGS = "ratings.csv"


LEAST = {"helpful": 4.0}
"""The threshold of the gate."""


FILES = (
    "likelihoods.jsonl.gz",
    RUBRIC,
    RATINGS,
    *(f"{version}{suffix}" for version in VERSIONS for suffix in (".jsonl", ".replies.jsonl")),
)


SHOWN_LIKELIHOOD = "bridge-altered-fact"


SHOWN_REPLIES = ((CURRENT, "card"), (CURRENT, "medical"), (CANDIDATE, "parking"), (CANDIDATE, "medical"))
"""The readings of the first screen: a plain score, a refusal,
a score inside a quotation, and two scores that differ.
"""


_ABOUT_VERSIONS = (
    "A judge scored two versions of a help desk by a rubric, from 1 to 5. Answers, replies and ratings are "
    "made up for this demo and recorded."
)


_ABOUT_LIVE = "A small language model judges on this machine, without a key."


_ABOUT_RECORDED = "Replaying likelihoods recorded with the embedded model; the model does not run."


_ABOUT_RESPONSES = (
    "Three invented systems summarise short texts, two of them with faults. A score is the mean "
    "log-probability of a token: of the response given its text (factuality), of the text given the "
    "response (relevance); closer to 0 is better."
)


_ABOUT_RATINGS = "Two invented raters scored the answers of the candidate by the same rubric."


_LIMITS = (
    "The embedded model follows no rubric: asked for a score from 1 to 5, it gives nearly every "
    "response the same digit (docs/local.md). For your own criteria, use a larger model: -m "
    "openai:NAME or any OpenAI-compatible server."
)


class DemoResult(Struct, frozen=True):
    """Everything in the demo, as `--json` prints it."""

    run: str
    is_recorded: bool
    n_items: int
    n_scores: int
    n_failed: int
    n_calls: int
    tokens_in: int
    seconds: float
    systems: dict[str, dict[str, Cell]]
    readings: tuple[DemoReading, ...]
    trust: Card
    compare: Comparison
    gates: tuple[GateReport, GateReport]
    """the judge alone, and corrected with the ratings"""
    report: str


def demo_command(
    recorded: bool = typer.Option(
        False, "--recorded", help="Do not run the model: replay likelihoods recorded with it."
    ),
    limit: int = typer.Option(
        ITEMS,
        "--limit",
        metavar="N",
        min=1,
        help="Judge only the first N of the 30 responses (3 per source text).",
    ),
    report: Path = typer.Option(
        "adjudge-demo.html", "--report", metavar="FILE", help="Write the HTML report to this file."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress."),
    store: Path = typer.Option(
        "adjudge-demo.db",
        "--store",
        metavar="FILE",
        help="The store of the demo; its data goes into a folder beside it.",
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Five screens without a key: see where scores come from, compare with people, decide, judge on this
    machine, write a report.
    """
    demo = Demo(store, report, is_recorded=recorded, limit=limit, quiet=quiet, is_silent=as_json)
    result = demo.carry_out()
    if as_json:
        print_json(result)
    raise typer.Exit(DONE if result.n_scores > result.n_failed else ALL_FAILED)


_FALLBACK = (
    "Continuing with likelihoods recorded with this model earlier.\n"
    "To run the model itself, fix the problem above and run the command again."
)


def _why_not_embedded(quiet: bool) -> str:
    """Why the embedded model cannot be used; empty where it can. Downloads it where it is missing."""
    from ..models.local import SMOLLM2, pull
    from ..models.local.llama_cpp import check_installed

    # `kill` removes an incomplete download, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        check_installed()
        pull(SMOLLM2, lambda text: None if quiet else print(text, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        sys.stderr.write(
            "adjudge: interrupted; the incomplete download was deleted. Run the same command to "
            "start it again.\n"
        )
        raise typer.Exit(INTERRUPTED) from None
    except ModelError as error:
        return f"adjudge: {error}"
    return ""


def data_folder() -> Path:
    """Where the package keeps the demo's data."""
    from importlib import resources

    return Path(str(resources.files("adjudge"))) / "demo"


_RULE = 78


_MOST_ROWS = 5
"""Rows of a table on a screen."""


class Demo:
    """One demo: its files, its three runs, and what the commands say about them."""

    def __init__(
        self, store: Path, report: Path, *, is_recorded: bool, limit: int, quiet: bool, is_silent: bool
    ) -> None:
        self.store = store
        self.report = report
        self.is_recorded = is_recorded
        self.limit = limit
        self.quiet = quiet
        self.is_silent = is_silent
        """whether only the result is wanted, not the screens"""
        self.folder = store.with_suffix("") if store.suffix else store.with_name(f"{store.name}-data")
        self.ratings = self.folder / RATINGS

    def carry_out(self) -> DemoResult:
        """The five screens."""
        _unpack(self.folder)
        readings = self._show_origins()
        card = self._show_agreement()
        comparison, gates = self._show_decision()
        summary, likelihoods = self._judge_responses()
        self._show_next()
        return DemoResult(
            run=summary.run,
            is_recorded=self.is_recorded,
            n_items=summary.n_items,
            n_scores=summary.n_scores,
            n_failed=summary.n_failed,
            n_calls=summary.n_calls,
            tokens_in=summary.tokens_in,
            seconds=summary.seconds,
            systems=summary.systems,
            readings=(*readings, *likelihoods),
            trust=card,
            compare=comparison,
            gates=gates,
            report=str(self.report.resolve()),
        )

    def _judge_responses(self) -> tuple[Summary, tuple[DemoReading, ...]]:
        """Judge by the embedded model, or replay what it gave where it cannot be used."""
        from ..analysis.report.report import summarise
        from ..analysis.run_view.tabulate import tabulate

        why_not = "" if self.is_recorded else _why_not_embedded(self.quiet)
        if why_not:
            sys.stderr.write(f"{why_not}\n{_FALLBACK}\n")
            self.is_recorded = True
        name = "recorded" if self.is_recorded else "live"
        name = name if self.limit == ITEMS else f"{name}-{self.limit}"
        replies = "likelihoods.jsonl.gz" if self.is_recorded else None
        request = self._request(RESPONSES, replies, name, protocol=PROTOCOLS, limit=self.limit)
        about = _ABOUT_RECORDED if self.is_recorded else _ABOUT_LIVE
        self._heading(4, "Can a model on this machine judge?", about, _ABOUT_RESPONSES)
        protocols = (word for protocol in PROTOCOLS for word in ("-p", protocol))
        self._command(
            "run", f"{request.items}", *protocols, "-m", f"{request.model}", "--limit", f"{self.limit}"
        )
        # With two cores, one thread would leave half of the machine idle.
        if (os.cpu_count() or 1) == 2:
            os.environ.setdefault("ADJUDGE_THREADS", "2")
        self._judge(request, self.quiet)
        with self._opened() as opened:
            summary = summarise(tabulate(opened, opened.run(name), keep_results=False))
            likelihoods = tuple(readings_of(opened, name, SHOWN_LIKELIHOOD))
        self._print([mean_section(summary), *map(least_likely_section, likelihoods[:1])])
        self._print([Section(_LIMITS, depth=1)])
        return summary, likelihoods

    def _show_origins(self) -> tuple[DemoReading, ...]:
        """Judge both versions by the rubric, and show what was read from a few replies."""
        for version in VERSIONS:
            request = self._request(
                f"{version}.jsonl",
                f"{version}.replies.jsonl",
                version,
                protocol=(RUBRIC_PROTOCOL,),
                rubric=str(self.folder / RUBRIC),
            )
            self._judge(structs.replace(request, model={"recorded-judge": request.model}), True)
        with self._opened() as opened:
            readings = tuple(
                reading for run, item in SHOWN_REPLIES for reading in readings_of(opened, run, item)
            )
        self._heading(1, "Where does each score come from?", _ABOUT_VERSIONS)
        rubric, replies = self.folder / RUBRIC, self.folder / f"{CANDIDATE}.replies.jsonl"
        self._command(
            "run", str(self.folder / f"{CANDIDATE}.jsonl"), "-p", RUBRIC_PROTOCOL, "--rubric", str(rubric),
            "-m", f"recorded-judge=replay:{replies}", "--run", CANDIDATE,
        )  # fmt: skip
        self._print([replies_section(readings)])
        self._command("runs", "show", CANDIDATE, "--failed")
        return readings

    def _show_agreement(self) -> Card:
        from ..analysis.run_view.tabulate import tabulate
        from ..analysis.trust.trust import card_of_views
        from ..analysis.trust.words.first_screen import trust_screen
        from ..data import read_labels

        with self._opened() as opened:
            view = tabulate(opened, opened.run(CANDIDATE))
            card = card_of_views(opened, [view], read_labels(self.ratings))
        self._heading(2, "May this judge be used?", _ABOUT_RATINGS)
        self._command("trust", CANDIDATE, "--labels", str(self.ratings))
        self._print(islice(trust_screen(card, _MOST_ROWS), 1))
        return card

    def _show_decision(self) -> tuple[Comparison, tuple[GateReport, GateReport]]:
        from ..analysis.compare.compare import compare_views
        from ..analysis.compare.words import compare_sections
        from ..analysis.run_view.tabulate import tabulate

        with self._opened() as opened:
            first, second = (tabulate(opened, opened.run(name), for_comparison=True) for name in VERSIONS)
        comparison = compare_views(first, second)
        self._heading(3, "Which version is better, and may it ship?")
        self._command("compare", *VERSIONS)
        self._print(map(only_sentences, islice(compare_sections(comparison), 1)))
        return comparison, (self._show_gate(None), self._show_gate(self.ratings))

    def _show_gate(self, labels: Path | None) -> GateReport:
        from ..analysis.gate.gate import decided_gate
        from ..analysis.gate.gate_input import GateInput
        from ..analysis.gate.rules import Rules
        from ..analysis.gate.words import gate_sections

        rules = Rules(min=LEAST, labels=None if labels is None else str(labels))
        with self._opened() as opened:
            report = decided_gate(GateInput(opened, opened.run(CANDIDATE), rules.labels), rules, None, 0)
        thresholds = [word for name, least in LEAST.items() for word in ("--min", f"{name}={least:g}")]
        self._command("gate", CANDIDATE, *thresholds, *(() if labels is None else ("--labels", str(labels))))
        self._print(islice(gate_sections(report), 1))
        return report

    def _show_next(self) -> None:
        from ..web.report_file import write_report

        with self._opened() as opened:
            write_report(opened, opened.run(CANDIDATE), self.report, self.ratings)
        self._heading(
            5,
            "Where to look next?",
            f"The report of {CANDIDATE}, to open in a browser:",
            str(self.report.resolve()),
        )
        if self.is_silent:
            return
        if line := path_line():
            print_text(line)
        self._command("view")
        self._command("sample", CANDIDATE, "-n", "20", "-o", "to-label.csv")
        print_text(
            command_text(
                ("adjudge", "run", "YOUR.jsonl", "--criterion", "Is it polite?", "-m", "openai:NAME")
            )
        )

    # Judging

    def _request(self, items: str, replies: str | None, run: str, **options: Any) -> Request:
        """A run over files of the demo; by the embedded model where there are no recorded replies."""
        from ..engine import Request

        return Request(
            items=str(self.folder / items),
            model="local" if replies is None else f"replay:{self.folder / replies}",
            run=run,
            replace=True,  # the demo of an older version may have left its runs here
            store=str(self.store),
            command=("adjudge", *sys.argv[1:]),
            **options,
        )

    def _judge(self, request: Request, quiet: bool) -> None:
        """Carry out a run; exit with the right code where it was stopped."""
        from .run import carry_out

        sys.stdout.flush()
        finished, code = carry_out(request, quiet)
        if finished is None:
            raise typer.Exit(code)

    def _opened(self) -> Store:
        from ..store import open_store

        return open_store(self.store, write=False)

    # Printing

    def _print(self, sections: Iterable[Section]) -> None:
        if not self.is_silent:
            print_sections(sections)

    def _heading(self, number: int, question: str, *lines: str) -> None:
        if not self.is_silent:
            title = f"── {number} of 5: {question} "
            print_text("")
            print_sections([Section(title.ljust(_RULE, "─"), lines, depth=1)])

    def _command(self, *words: str) -> None:
        if not self.is_silent:
            print_text(command_text(("adjudge", *words, "--store", str(self.store))))


def _unpack(folder: Path) -> None:
    """Write the demo's files into a folder; files that are there already stay, so that they can be edited."""
    source = data_folder()
    try:
        folder.mkdir(exist_ok=True)
        for name in FILES:
            if not (folder / name).exists():
                shutil.copyfile(source / name, folder / name)
        if not (folder / RESPONSES).exists():
            lines = (source / "items.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if msgspec.json.decode(line)["system"] in SYSTEMS]
            (folder / RESPONSES).write_text("".join(kept), encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"{folder} cannot be written: {error.strerror}. Choose another place with --store FILE."
        ) from error
