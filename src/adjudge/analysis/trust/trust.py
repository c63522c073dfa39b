"""`adjudge.trust`: the judge card, which says how far a judge's scores can be trusted.

Joins results with labels, from a stored run or from any results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from msgspec import structs

from ...data import items_of_scores, read_labels, read_scores
from ...data.label_scales import Ends
from ...data.labels import LabelFile
from ...engine import Run
from ...errors import DataError
from ...records import Item, Label, Result, Scale
from ...stats import Resample
from ...store import RunRow, Store, open_store
from ...store.browsing import items_at
from ...words import count
from ..about import About
from ..labels.judged_texts import check_of_judged_texts, of_judged_texts, other_texts_note
from ..labels.read import label_scales, labels_of_runs, read_labels_for
from ..labels.unusable_labels import check_scales
from ..run_view.attributes import attributes_and_texts
from ..run_view.criteria import by_criterion
from ..run_view.given_results import view_of_results
from ..run_view.panel import as_one_panel
from ..run_view.run_view import RunView
from ..run_view.tabulate import tabulate
from .card import Card
from .judge_card import judge_card
from .misread import misread_share, with_misread
from .recommendation import with_labels_of_file
from .text_baseline import with_text


class CardSettings(TypedDict, total=False):
    """The settings of a judge card."""

    resample: Resample
    n_resamples: int
    seed: int
    plan_width: float | None
    stop: str | None
    epsilon: float
    by: Sequence[str]
    about: About
    margin: float | None
    label_scale: Ends | None


def trust(
    source: Run | Iterable[Result],
    labels: str | Path | Sequence[Label] | None = None,
    *,
    scales: dict[str, Scale] | None = None,
    versus: str | Sequence[str] | None = None,
    checked: str | Path | None = None,
    **settings: Unpack[CardSettings],
) -> Card:
    """Compare a run, or any results, with labels: a file, a list, or for a run the labels in its store.

    The scales of a run are known; for other results `scales` gives them by criterion. `versus` names other
    runs in the same store; `checked` is a file of replies that were checked by hand.
    """
    card = _card(source, labels, scales, versus, **settings)
    return card if checked is None else with_checked(card, checked)


def _card(
    source: Run | Iterable[Result],
    labels: str | Path | Sequence[Label] | None,
    scales: dict[str, Scale] | None,
    versus: str | Sequence[str] | None,
    **settings: Unpack[CardSettings],
) -> Card:
    given = LabelFile(tuple(labels)) if labels is not None and not isinstance(labels, str | Path) else None
    ends = settings.get("label_scale")
    if isinstance(source, Run):
        with open_store(source.store, write=False) as store:
            others = [versus] if isinstance(versus, str) else versus or ()
            views = views_of_judges(store, [source.name, *others])
            known = [(criterion, scale) for view in views for (_, criterion), scale in view.scales.items()]
            if given is not None:
                check_scales(given.labels, label_scales(known, ends))
            path = labels if isinstance(labels, str | Path) else None
            label_file = given if path is None else read_labels_for(views, path, label_scale=ends)
            return card_of_views(store, views, label_file, must_match=True, with_panel=True, **settings)
    allowed = label_scales((scales or {}).items(), ends)
    label_file = read_labels(labels, scales=allowed) if isinstance(labels, str | Path) else given
    if versus is not None:
        raise DataError("versus names a run; give the results of both judges in one list instead.")
    if label_file is None:
        raise DataError("Results alone make no judge card. Give labels: a file, or a list of Label.")
    check_scales(label_file.labels, allowed)
    view = view_of_results(source, by_criterion(scales))
    return judge_card(view, label_file.labels, n_empty=label_file.n_empty, must_match=True, **settings)


def view_of_scores(
    path: str | Path,
    labels: Sequence[Label],
    *,
    renames: Mapping[str, str] | None = None,
    scale: tuple[float, float] | None = None,
    form: str = "auto",
    by: Sequence[str] = (),
) -> RunView:
    """The view of scores made with another tool, in the form `form`, with the fields `by`.

    `scale` is the scale of the scores, higher is better. Scores and labels that both name no criterion, or
    one of them one, are about the same one.
    """
    named = {label.criterion for label in labels if label.criterion}
    only = named.pop() if len(named) == 1 else "score"
    file = read_scores(path, renames, criterion=only, form=form)
    criteria = {row.criterion for row in file.results}
    scales = None if scale is None else dict.fromkeys(criteria, Scale(*scale, scale[1]))
    view = view_of_results(file.results, by_criterion(scales), name=Path(path).name, with_tally=False)
    if not file.has_fields:
        return view
    return with_attributes(view, items_of_scores(path, renames, form), labels, by)


def views_of_judges(store: Store, names: Sequence[str]) -> list[RunView]:
    """The runs that are compared with people, each once."""
    runs = [store.run(name) for name in names]
    again = [
        name for place, name in enumerate(names) if runs[place].name in {run.name for run in runs[:place]}
    ]
    if again:
        raise DataError(
            f"--versus {again[0]} is a run that is compared already. Name another one; adjudge runs "
            "lists them."
        )
    return [tabulate(store, run) for run in runs]


def card_of_views(
    store: Store,
    views: Sequence[RunView],
    label_file: LabelFile | None,
    *,
    must_match: bool = False,
    with_panel: bool = False,
    **settings: Unpack[CardSettings],
) -> Card:
    """The card of a run, or of several runs as several judges, with the labels of a file or those in the
    store.

    The labels of a file replace those in the store: they may be the same, and would count twice. With
    `must_match`, labels of which none belongs to a score are an error. `with_panel` adds the card of all
    judges
    of one run as one.
    """
    runs = [view.run for view in views if view.run is not None]
    stored = labels_of_runs(store, [run.name for run in runs])
    labels = of_judged_texts(store, runs, label_file or LabelFile(tuple(stored)))
    notes = [note for view in views for note in view.notes()]
    if note := other_texts_note(labels):
        notes.append(note)
    known = {_identity(label) for label in (label_file.labels if label_file is not None else stored)}
    n_other = sum(_identity(label) not in known for label in stored)
    if n_other:
        notes.append(f"{count(n_other, 'other label')} in the store not used: the given labels replace them.")
    check_of_judged_texts(labels, views[0].name)
    if not labels.labels:
        name = views[0].name
        raise DataError(
            f"{name} has no labels in {store.path}. Rate some answers in the browser: "
            f"adjudge annotate {name} -n 30\n"
            f"Or fill in a file, for --labels: adjudge sample {name} -n 50 -o labels.csv"
        )
    views = [
        with_attributes(
            view, items_to_read(store, view.run, view, labels.labels), labels.labels, settings.get("by", ())
        )
        if view.run
        else view
        for view in views
    ]
    reviews = [review for view in views if view.run is not None for review in store.reviews(view.run)]
    card = judge_card(
        as_one_panel(views),
        labels.labels,
        n_empty=labels.n_empty,
        reviews=reviews,
        must_match=must_match,
        with_panel=with_panel and len(views) == 1 and len(views[0].tally.models) > 1,
        **settings,
    )
    if label_file is not None and label_file.path:
        card = with_labels_of_file(card, label_file.path)
    return structs.replace(card, notes=(*notes, *card.notes))


def items_to_read(store: Store, run: RunRow, view: RunView, labels: Sequence[Label]) -> Iterable[Item]:
    """The labelled items; all of them where only their differences show which field is judged."""
    named = dict.fromkeys(label.item for label in labels)
    items = list(items_at(store, run, sorted(view.seqs[item] for item in named if item in view.seqs)))
    return items if all("response" in item.fields for item in items) else store.items(run)


def with_attributes(
    view: RunView, items: Iterable[Item], labels: Sequence[Label], by: Sequence[str] = ()
) -> RunView:
    """The view with what the card reads of the items: fields, lengths, and the texts of labelled ones."""
    wanted = with_text([label.item for label in labels])
    attributes, texts = attributes_and_texts(items, by, wanted)
    return structs.replace(view, attributes=attributes, texts=texts)


def _identity(label: Label) -> tuple[object, ...]:
    return label.item, label.criterion, label.subject, label.rater, label.value


def with_checked(card: Card, path: str | Path) -> Card:
    """The card with its intervals widened for the misread replies found in a check by hand."""
    return with_misread(card, misread_share(path))
