"""What `import adjudge` offers: runs whose options an editor completes, and results that a notebook shows.

Nothing is computed here. A result is the one of its analysis with the same fields, and can be shown as HTML.
The options of a run are declared in `run_options/options.py`, and for editors in `run_options/keywords.py`.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from msgspec import Struct, structs

from . import engine
from .analysis.compare import compare as comparing
from .analysis.compare import comparison
from .analysis.compare.first_screen import compare_screen
from .analysis.compare.words import compare_sections
from .analysis.rank import rank as ranks
from .analysis.rank import ranking
from .analysis.rank.first_screen import rank_screen
from .analysis.rank.games import Game
from .analysis.rank.rank import RankSettings
from .analysis.rank.words import rank_sections
from .analysis.report import summary
from .analysis.report.first_screen import first_screen, first_screen_of_card, scores_alone
from .analysis.report.report import summarise
from .analysis.report.words.first_screen import report_screen
from .analysis.report.words.report import report_sections
from .analysis.run_view.tabulate import tabulate
from .analysis.trust import card
from .analysis.trust import trust as trusting
from .analysis.trust.trust import CardSettings
from .analysis.trust.words.card import trust_sections
from .analysis.trust.words.first_screen import trust_screen
from .data import frame_of
from .engine import Progress, Watcher
from .engine.request import Judges, Models, Protocols
from .errors import DataError
from .records import PART_KINDS, Item, Label, Result, Scale
from .results.export import EXPORT_COLUMNS, export_row
from .run_options.keywords import RunKeywords
from .run_options.options import default_store
from .sections import Section
from .store import open_store
from .terminal.sections import fitted_sections, section_lines

if TYPE_CHECKING:
    from .data.parquet_and_excel import PolarsFrame


class Frame(typing.Protocol):
    """A polars or pandas frame."""

    @property
    def columns(self) -> Any:
        """The names of its columns."""


Items = str | Path | Sequence[Item | Mapping[str, Any]] | Frame
Labels = str | Path | Sequence[Label]
Kind = TypeVar("Kind", bound=Struct)


class _InSections(typing.Protocol):
    """A result as titled texts and tables."""

    def sections(self) -> Iterator[Section]: ...


def _printed(screen: Callable[[int], Sequence[Section]]) -> str:
    """What `print` shows of a result: the first screen of its command, without what is said of flags."""
    *sections, last = fitted_sections(screen, 80)
    said = [text for note in last.notes for text in note.split(". ") if "--" not in text]
    if said or last.notices:
        sections.append(structs.replace(last, notes=tuple(f"{text.rstrip('.')}." for text in said)))
    lines = [text for text, _ in section_lines(sections, 80)]
    return "\n".join(lines).rstrip()


class _Shown:
    """A result that a notebook shows: its first screen where it has one, and its sections."""

    __slots__ = ()

    def _repr_html_(self: _InSections) -> str:
        from .web.notebook import fragment

        sections = list(self.sections())
        return fragment(sections, sections[0].title)


class Report(_Shown, summary.Summary, frozen=True):
    """The scores of a run by system and criterion."""

    def __str__(self) -> str:
        return _printed(partial(report_screen, self, None, None))

    def sections(self) -> Iterator[Section]:
        yield from report_sections(self)

    def _repr_html_(self) -> str:
        from .web.notebook import fragment

        return fragment(self.sections(), self.run, scores_alone(self))


class Card(_Shown, card.Card, frozen=True):
    """The judge card: how far a judge agrees with people."""

    def __str__(self) -> str:
        return _printed(partial(trust_screen, self))

    def sections(self) -> Iterator[Section]:
        yield from trust_sections(self)

    def _repr_html_(self) -> str:
        from .web.notebook import fragment

        return fragment(self.sections(), self.run, first_screen_of_card(self), self)


class Comparison(_Shown, comparison.Comparison, frozen=True):
    """The same items judged twice."""

    def __str__(self) -> str:
        return _printed(partial(compare_screen, self))

    def sections(self) -> Iterator[Section]:
        yield from compare_sections(self)


class Ranking(_Shown, ranking.Ranking, frozen=True):
    """The systems, best first."""

    def __str__(self) -> str:
        return _printed(partial(rank_screen, self))

    def sections(self) -> Iterator[Section]:
        yield from rank_sections(self)


class Run(_Shown, engine.Run, frozen=True):
    """A run in a store."""

    def frame(self) -> PolarsFrame:
        """The results as a polars frame, with the columns of an
        export; `pandas.DataFrame(run.frame().to_dicts())` makes a pandas frame of it.
        """
        return frame_of(map(export_row, self.results()), EXPORT_COLUMNS)

    def report(self) -> Report:
        """The scores by system and criterion, with intervals, failures and warnings."""
        with open_store(self.store, write=False) as store:
            return _as(Report, summarise(tabulate(store, store.run(self.name), keep_results=False)))

    def trust(self, labels: Labels | None = None, **settings: Unpack[CardSettings]) -> Card:
        """The judge card, with labels of a file, a list, or those in the store."""
        return trust(self, labels, **settings)

    def compare(self, other: engine.Run, *, seed: int = 0) -> Comparison:
        """This run and another one on the same items: paired differences (other - this)."""
        return compare(self, other, seed=seed)

    def rank(self, **settings: Unpack[RankSettings]) -> Ranking:
        """The systems of this run, best first."""
        return rank(self, **settings)

    def sections(self) -> Iterator[Section]:
        yield from self.report().sections()

    def _repr_html_(self) -> str:
        from .web.notebook import fragment
        from .web.parts.known_of_run import known_of

        with open_store(self.store, write=False) as store:
            view = tabulate(store, store.run(self.name))
            found = summarise(view)
            known = known_of(store, view, found)
        screen = first_screen(found, known["brief"], known["of_run"], known["ranking"])
        return fragment(report_sections(found), self.name, screen, known["of_run"], known["points_of_run"])


def _as(kind: type[Kind], value: Struct) -> Kind:
    """The same fields in a type that a notebook shows."""
    return kind(**{name: getattr(value, name) for name in value.__struct_fields__})


def open_run(name: str = "last", store: str | Path | None = None) -> Run:
    """A run of a store, by its name; `last` is the one started last."""
    path = str(store if store is not None else default_store())
    with open_store(path, write=False) as opened:
        row = opened.run(name)
        totals = opened.totals(row)
        calls = (call for call in opened.judgments(row) if call.about.kind not in PART_KINDS)
        outcomes = [
            call.error is not None or (call.judgment is not None and call.judgment.is_unread)
            for call in calls
        ]
        n_calls = len(outcomes)
        progress = Progress(n_calls, n_calls, sum(outcomes), n_calls, totals.cost_usd)
        return Run(row.name, path, row.status, progress, tuple(row.manifest.get("adjustments", ())))


def _opened(source: Any, function: str) -> Any:
    """A run or results; a name says what to write instead."""
    if isinstance(source, str | Path):
        name = str(source)
        raise DataError(
            f"adjudge.{function}({name!r}): this is a name. Open the run of this name first: "
            f"adjudge.{function}(adjudge.open_run({name!r}))."
        )
    return source


def trust(
    source: engine.Run | Iterable[Result],
    labels: Labels | None = None,
    *,
    scales: dict[str, Scale] | None = None,
    versus: str | None = None,
    checked: str | Path | None = None,
    **settings: Unpack[CardSettings],
) -> Card:
    """Compare a run, or any results, with labels: a file, a list, or for a run the labels in its store.

    The scales of a run are known; for other results `scales` gives them by criterion. `versus` names a second
    run in the same store; `checked` is a file of replies that were checked by hand.
    """
    card = trusting.trust(
        _opened(source, "trust"), labels, scales=scales, versus=versus, checked=checked, **settings
    )
    return _as(Card, card)


def compare(
    first: engine.Run | Iterable[Result],
    second: engine.Run | Iterable[Result],
    *,
    scales: Mapping[str, Scale] | None = None,
    names: tuple[str, str] = ("first", "second"),
    labels: Labels | None = None,
    seed: int = 0,
) -> Comparison:
    """The same items judged twice: paired differences (second - first), rank agreement, and whether a
    conclusion changes.

    The scales of a run are known; for other results `scales` gives them by criterion, and `names` gives them
    names. `labels` say whose side people take: a file, a list, or for runs the labels in their stores.
    """
    runs = _opened(first, "compare"), _opened(second, "compare")
    comparison = comparing.compare(*runs, scales=scales, names=names, labels=labels, seed=seed)
    return _as(Comparison, comparison)


def rank(
    source: engine.Run | Iterable[Result] | Iterable[Game] | Iterable[Sequence[object]],
    *,
    scales: dict[str, Scale] | None = None,
    **settings: Unpack[RankSettings],
) -> Ranking:
    """Rank the systems of a run, of any results, or of games: `Game`s or (system, system, "a" | "b" | "tie" |
    share).

    `criterion` selects one of several; `n_next` is the number of comparisons to propose, on the outputs of
    the run and of the files in `outputs`. The scales of a run are known; for other results `scales` gives
    them by criterion.
    """
    return _as(Ranking, ranks.rank(_opened(source, "rank"), scales=scales, **settings))


def run(
    items: Items,
    protocol: Protocols = (),
    model: Models = (),
    judge: Judges = (),
    *,
    watcher: Watcher | None = None,
    **options: Unpack[RunKeywords],
) -> Run:
    """Judge items and store every call, reply and judgment; the same request again asks only what is missing.

    Items are a file, a list of mappings, or a polars or pandas frame. An option means what the flag of
    `adjudge run` with its name means: `samples`, `rubric`, `criterion`, `run`, `budget`, `store`, …. A
    `watcher` receives the run's progress. Works in a script, beside a running event loop and in a notebook.
    """
    return _as(Run, engine.run_in_thread(_request(items, protocol, model, judge, watcher, options)))


async def run_async(
    items: Items,
    protocol: Protocols = (),
    model: Models = (),
    judge: Judges = (),
    *,
    watcher: Watcher | None = None,
    **options: Unpack[RunKeywords],
) -> Run:
    """`run` for async code: other tasks of the event loop go on meanwhile."""
    return _as(Run, await engine.execute(_request(items, protocol, model, judge, watcher, options)))


def _request(
    items: Items,
    protocol: Protocols,
    model: Models,
    judge: Judges,
    watcher: Watcher | None,
    options: RunKeywords,
) -> engine.Request:
    """The request of these arguments; an unknown option is reported with the name that may be meant."""
    given: dict[str, Any] = {**options}
    if given.get("store") is None:
        given.pop("store", None)  # the environment names it, or the default
    return engine.request_of(
        items=items, protocol=protocol, model=model, judge=judge, watcher=watcher, **given
    )
