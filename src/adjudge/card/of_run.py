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
from .build import judge_card
from .checked import misread_share
from .shapes import Card
from .words import percent


class CardSettings(TypedDict, total=False):
    """What a user may ask of a card."""

    resample: Resample
    seed: int
    plan_width: float | None


def trust(
    source: Run | Iterable[Result],
    labels: str | Path | Sequence[Label] | None = None,
    *,
    scales: dict[str, Scale] | None = None,
    **settings: Unpack[CardSettings],
) -> Card:
    """Hold a run, or any results, against labels: a file, a list, or for a run the labels in its store.

    The scales of a run are known; for other results `scales` gives them by criterion.
    """
    said = read_labels(labels) if isinstance(labels, str | Path) else None
    if said is None and labels is not None and not isinstance(labels, str | Path):
        said = LabelFile(tuple(labels))
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            return card_of_run(store, store.run(source.name), said, **settings)
    if said is None:
        raise DataError("Results alone cannot be trusted: give labels, a file or a list of Label.")
    by_criterion: dict[str | tuple[str, str], Scale | None] = dict((scales or {}).items())
    return judge_card(source, said.labels, scales=by_criterion, n_empty=said.n_empty, **settings)


def card_of_run(store: Store, run: RunRow, said: LabelFile | None, **settings: Unpack[CardSettings]) -> Card:
    """The card of a run by the labels that are given, or by those in the store."""
    if said is None:
        said = LabelFile(tuple(store.labels(run)))
    if not said.labels:
        raise DataError(
            f"{run.name} has no labels in {store.path}. Give a file with --labels FILE, or make one to fill in:\n"
            f"adjudge sample {run.name} -n 50 -o labels.csv"
        )
    scales: dict[str | tuple[str, str], Scale | None] = {
        (key, criterion): scale
        for key, protocol in protocols_of(store, run).items()
        for criterion, scale in protocol.criteria.items()
    }
    card = judge_card(
        results(store, run), said.labels, scales=scales, n_empty=said.n_empty, run=run.name, **settings
    )
    return structs.replace(card, notes=(*_about_run(run), *card.notes))


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
    """The card with what a check of replies by hand found."""
    found = misread_share(path)
    note = (
        f"Of {found.n} readings checked by hand {round((found.value or 0) * found.n)} were wrong ({percent(found)}): "
        "no number here is surer than that."
    )
    return structs.replace(card, misread=found, notes=(*card.notes, note))
