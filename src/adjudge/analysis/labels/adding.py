"""`adjudge labels add`: the labels of a file become labels of a run in its store, for every command and page.

All labels are stored in one transaction: all or none. A label gets the hash of the text that the run judged,
so that it is not used for another text later.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from ...data import LabelFile, text_hash_on
from ...data.label_scales import Ends
from ...errors import DataError, problem_list
from ...records import Label, Protocol, Scale
from ...results.manifest import protocols_of
from ...store import RunRow, Store
from .belonging import labels_belonging
from .in_store import cell_of
from .judged_texts import of_judged_texts, other_texts_note
from .other_scale import rescaled_value


class AddedLabels(Struct, frozen=True):
    """What became of the labels of a file."""

    run: str
    n_added: int
    n_unchanged: int
    """were in the store with the same value"""
    n_replaced: int
    """were in the store with another value"""
    n_items: int
    """items that have labels of this file"""
    n_not_used: int
    """labels that are of no item or criterion of the run, or of another text"""
    n_empty: int
    """rows of the file without a value"""
    raters: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """why labels are not used"""


def add_labels(
    store: Store,
    run: RunRow,
    labels: LabelFile,
    *,
    label_scale: Ends | None = None,
    replace: bool = False,
) -> AddedLabels:
    """Store labels of a run's items; an error where none belongs to the run.

    Labels on `label_scale` are stored on the scale of the judge. A label of the same rater with another value
    is an error, or is replaced with `replace`.
    """
    protocols = list(protocols_of(store, run).values())
    usable, notes = labels_belonging(store, run, labels)
    texts = of_judged_texts(store, [run], LabelFile(tuple(entry.label for entry in usable)))
    if note := other_texts_note(texts):
        notes.append(note)
    kept = set(map(id, texts.labels))
    usable = [entry for entry in usable if id(entry.label) in kept]
    if not usable:
        raise DataError("\n".join((f"No label belongs to run {run.name}: nothing is stored.", *notes)))
    new = [
        structs.replace(
            entry.label,
            value=_on_scale_of_judge(entry.label, protocols, label_scale),
            text_hash=entry.label.text_hash
            or text_hash_on(entry.label.criterion, protocols, entry.item.fields),
        )
        for entry in usable
    ]
    stored = {cell_of(label): label.value for label in store.labels(run)}
    changed = [label for label in new if stored.get(cell_of(label), label.value) != label.value]
    if changed and not replace:
        raise DataError(_conflicts(run, changed, stored))
    added = [label for label in new if cell_of(label) not in stored]
    store.put_labels([*added, *changed], run)
    return AddedLabels(
        run=run.name,
        n_added=len(added),
        n_unchanged=len(new) - len(added) - len(changed),
        n_replaced=len(changed),
        n_items=len({label.item for label in new}),
        n_not_used=len(labels.labels) - len(new),
        n_empty=labels.n_empty,
        raters=tuple(sorted({label.rater for label in new})),
        notes=tuple(notes),
    )


def _on_scale_of_judge(label: Label, protocols: Sequence[Protocol], ends: Ends | None) -> float | str:
    if ends is None or isinstance(label.value, str):
        return label.value
    scales: list[Scale] = []
    for protocol in protocols:
        scale = protocol.criteria.get(label.criterion)
        if scale is not None and not scale.is_nominal and scale.limits is not None:
            scales.append(scale)
    limits = {scale.limits for scale in scales if scale.limits is not None}
    if len(limits) > 1:
        shown = " and ".join(f"{low:g} to {high:g}" for low, high in sorted(limits))
        raise DataError(
            f"'{label.criterion}' is judged on several scales, {shown}: --label-scale cannot rescale its "
            f"labels "
            "to all of them.\nUse the file itself: adjudge trust RUN --labels FILE --label-scale LOW,HIGH."
        )
    return rescaled_value(label.value, ends, limits.pop()) if limits else label.value


def _conflicts(
    run: RunRow, changed: Sequence[Label], stored: dict[tuple[str, str, str | None, str], float | str]
) -> str:
    problems = [
        f"rater '{label.rater}' gave item '{label.item}' on '{label.criterion}' "
        f"{_shown(stored[cell_of(label)])}; the "
        f"file says {_shown(label.value)}."
        for label in changed
    ]
    return (
        f"{problem_list(f'labels of run {run.name}', problems)}\n"
        "Nothing is stored. Correct the file, give its rater another name, or replace the stored values "
        "with --replace."
    )


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
