"""The card of a stored run, and `adjudge.trust`: results, labels and scales from wherever they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from msgspec import structs

from ..data import read_labels
from ..data.labels import LabelFile
from ..engine import Run, protocols_of, results
from ..errors import DataError
from ..records import Label, Result, Scale
from ..stats import Resample
from ..store import RunRow, Store, open_store
from ..words import count
from .build import judge_card
from .checked import misread_share
from .misread import with_misread
from .samples import single_values
from .shapes import Card


class CardSettings(TypedDict, total=False):
    """What a user may ask of a card."""

    resample: Resample
    n_resamples: int
    seed: int
    plan_width: float | None


def trust(
    source: Run | Iterable[Result],
    labels: str | Path | Sequence[Label] | None = None,
    *,
    scales: dict[str, Scale] | None = None,
    versus: str | None = None,
    checked: str | Path | None = None,
    **settings: Unpack[CardSettings],
) -> Card:
    """Hold a run, or any results, against labels: a file, a list, or for a run the labels in its store.

    The scales of a run are known; for other results `scales` gives them by criterion. `versus` names a second run in
    the same store; `checked` is a file of replies that were checked by hand.
    """
    card = _held(source, labels, scales, versus, **settings)
    return card if checked is None else with_checked(card, checked)


def _held(
    source: Run | Iterable[Result],
    labels: str | Path | Sequence[Label] | None,
    scales: dict[str, Scale] | None,
    versus: str | None,
    **settings: Unpack[CardSettings],
) -> Card:
    said = read_labels(labels) if isinstance(labels, str | Path) else None
    if said is None and labels is not None and not isinstance(labels, str | Path):
        said = LabelFile(tuple(labels))
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            other = None if versus is None else store.run(versus)
            return card_of_run(store, store.run(source.name), said, other, **settings)
    if versus is not None:
        raise DataError("versus names a run; give the results of both judges in one list instead.")
    if said is None:
        raise DataError("Results alone cannot be trusted: give labels, a file or a list of Label.")
    by_criterion: dict[str | tuple[str, str], Scale | None] = dict((scales or {}).items())
    return judge_card(source, said.labels, scales=by_criterion, n_empty=said.n_empty, **settings)


def card_of_run(
    store: Store,
    run: RunRow,
    said: LabelFile | None,
    versus: RunRow | None = None,
    **settings: Unpack[CardSettings],
) -> Card:
    """The card of a run by the labels that are given, or by those in the store; `versus` is a second judge.

    Labels that are given take the place of those in the store: the two may be the same ones, and counting them twice
    would make two raters of one.
    """
    runs = [run] if versus is None else [run, versus]
    kept = [label for one in runs for label in store.labels(one)]
    notes = []
    if said is None:
        said = LabelFile(tuple(kept))
    else:
        given = {_said(label) for label in said.labels}
        n_other = sum(_said(label) not in given for label in kept)
        if n_other:
            notes.append(
                f"The store has {count(n_other, 'other label')}, not used: the labels that were given take their place."
            )
    if not said.labels:
        raise DataError(
            f"{run.name} has no labels in {store.path}. Give a file with --labels FILE, or make one to fill in:\n"
            f"adjudge sample {run.name} -n 50 -o labels.csv"
        )
    scales: dict[str | tuple[str, str], Scale | None] = {
        (key, criterion): scale
        for one in runs
        for key, protocol in protocols_of(store, one).items()
        for criterion, scale in protocol.criteria.items()
    }
    judged = [(one, list(results(store, one))) for one in runs]
    named = _told_apart(judged)
    card = judge_card(
        (_named(row, named[one.name, row.model]) for one, rows in judged for row in rows),
        said.labels,
        scales=scales,
        samples={key: own for one in runs for key, own in single_values(store, one, named).items()},
        n_empty=said.n_empty,
        run=" and ".join(one.name for one in runs),
        **settings,
    )
    about = [note for one in runs for note in _about_run(one)]
    return structs.replace(card, notes=(*about, *notes, *card.notes))


def _said(label: Label) -> tuple[object, ...]:
    return label.item, label.criterion, label.subject, label.rater, label.value


def _named(row: Result, model: str) -> Result:
    return row if row.model == model else structs.replace(row, model=model)


def _told_apart(judged: Sequence[tuple[RunRow, Sequence[Result]]]) -> dict[tuple[str, str], str]:
    """What to call each run's models: by the run, too, where one model judged one criterion in both."""
    cells = [
        {(row.protocol.partition("@")[0], row.criterion, row.model) for row in rows} for _, rows in judged
    ]
    is_same = len(cells) > 1 and bool(set.intersection(*cells))
    return {
        (run.name, row.model): f"{row.model} in {run.name}" if is_same else row.model
        for run, rows in judged
        for row in rows
    }


def _about_run(run: RunRow) -> list[str]:
    """What the store knows and the numbers do not show."""
    fake = [told["spec"] for told in run.manifest["models"] if told["is_fake"]]
    notes = [f"{spec} is a fake judge for tests: these numbers say nothing about any judge." for spec in fake]
    if run.status != "done":
        notes.append(
            f"The run is {run.status}, not done: items that were not judged yet are not on this card."
        )
    return notes


def with_checked(card: Card, path: str | Path) -> Card:
    """The card with what a check of replies by hand found, and every interval as wide as that makes it."""
    return with_misread(card, misread_share(path))
