"""The audit of a run with probes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from ...errors import DataError
from ...probes import FORM, UNCHANGED, split_id
from ...records import Result
from ...results.combine import Kind
from ...stats import Position
from ...store import RunRow, Store
from ..labels.judged_texts import labels_of_run, other_texts_note
from ..labels.read import read_labels_for
from ..run_view.attributes import attributes_of
from ..run_view.criteria import criterion_names, protocol_id
from ..run_view.result_facts import as_number, cluster_of
from ..run_view.run_view import RunView
from ..run_view.tabulate import tabulate
from .answers import Answers
from .audit import Audit
from .form_calibration import with_form_calibration
from .judge import audit_judge
from .position_bias import PairInBothOrders


def audit_run(store: Store, run: RunRow, *, margin: float | None = None, labels: Path | None = None) -> Audit:
    """The audit of a stored run; with labels, of a file or of the store, the calibration of each form of the
    question."""
    view = tabulate(store, run)
    if not view.is_audit:
        view = structs.replace(view, attributes=attributes_of(store.items(run)))
    audit = audit_view(view, margin=margin)
    has_forms = any(name.startswith(f"{FORM}/") for name in view.audit.get("kinds", ()))
    if labels is not None:
        check_forms(view.audit)
    if not has_forms:
        return audit
    label_file = None if labels is None else read_labels_for([view], labels)
    known = labels_of_run(store, run, label_file)
    if note := other_texts_note(known):
        audit = structs.replace(audit, notes=(*audit.notes, note))
    if not known.labels:
        return audit
    return with_form_calibration(audit, view, known.labels, are_given=label_file is not None)


def check_forms(about: Mapping[str, Any]) -> None:
    """`DataError` for labels of an audit in which no question has several forms."""
    if not any(name.startswith(f"{FORM}/") for name in about.get("kinds", ())):
        raise DataError(
            "--labels: no typed question is asked in several forms, so there is no calibration to compare. "
            "Leave it out, or audit a decision model: adjudge audit ITEMS -m MODEL --probes form."
        )


def audit_view(view: RunView, *, margin: float | None = None) -> Audit:
    """The audit of a run that `adjudge audit` made, or what an
    ordinary run can say: both orders, samples and length.
    """
    about = view.audit
    names = criterion_names([(protocol_id(row.protocol), row.criterion) for row in view.results])
    rows: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for row in view.results:
        # Of a pair response a is edited; its rival's scores are not audited.
        if row.subject != "b":
            name = names[protocol_id(row.protocol), row.criterion]
            rows[row.model][f"{name} ({row.subject})" if row.subject else name].append(row)
    judges = {
        model: audit_judge(
            {name: _answers_of_run(view, part, about) for name, part in criteria.items()},
            _shown_in_run(view, model, is_audit=bool(about)),
            margin,
        )
        for model, criteria in rows.items()
    }
    return Audit(judges=judges, name=view.name, skipped=dict(about.get("skipped", {})), notes=view.notes())


def _answers_of_run(view: RunView, rows: Sequence[Result], about: Mapping[str, Any]) -> Answers:
    values: dict[str, dict[str, tuple[float | None, ...]]] = defaultdict(dict)
    groups: dict[str, str] = {}
    is_choice = any(row.choice is not None for row in rows)
    for row in rows:
        item, probe = split_id(row.item) if about else (row.item, UNCHANGED)
        value = as_number(row.choice) if row.choice is not None else row.value
        kind: Kind = "choices" if is_choice else "scores"
        key = (row.protocol, row.criterion, row.model, row.item, row.subject, kind)
        # Single samples show the judge's noise; those of a failed sample are left out.
        values[probe][item] = (value,) if about else view.samples.get(key) or (value,)
        if row.group is not None:
            groups[item] = row.group
    scale = view.scale(rows[0].protocol, rows[0].criterion)
    limits = (0.0, 1.0) if is_choice else None if scale is None else scale.limits
    return Answers(
        values=values,
        groups=groups,
        limits=limits,
        direction=1 if is_choice or scale is None else scale.direction or 1,
        is_choice=is_choice,
        kinds=about.get("kinds", {}),
        controls=about.get("controls", {}),
        lengths={}
        if about or (scale is not None and scale.is_nominal)
        else _lengths(view, rows, is_choice=is_choice),
    )


def _lengths(view: RunView, rows: Sequence[Result], *, is_choice: bool) -> dict[str, float]:
    """item → the length of what is scored; of a choice how much longer response a is than response b."""
    lengths: dict[str, float] = {}
    for row in rows:
        known = view.attributes.get(row.item, {})
        of_a, of_b = known.get("length_a"), known.get("length_b")
        length = known.get("length") if row.subject is None else of_a
        if is_choice:
            length = of_a - of_b if isinstance(of_a, float) and isinstance(of_b, float) else None
        if isinstance(length, float):
            lengths[row.item] = length
    return lengths


def _shown_in_run(view: RunView, model: str, *, is_audit: bool) -> list[PairInBothOrders]:
    """Both orders of each unchanged pair, on the criterion of the
    choice; empty where pairs have one order or there are none.
    """
    keys = [key for key in view.shown if any(of == model for _, _, of in view.shown[key])]
    chosen = {
        (row.protocol, row.criterion)
        for row in view.results
        if row.choice is not None and row.subject is None
    }
    key = next((key for key in keys if key in chosen), None)
    if key is None:
        return []
    of_key = {
        row.item: row for row in view.results if (row.protocol, row.criterion) == key and row.model == model
    }
    places: dict[int, list[Sequence[Position | None]]] = defaultdict(list)
    for (seq, _, of), both in view.shown[key].items():
        if of == model:
            places[seq].append(both)
    shown = []
    for item, row in of_key.items():
        base, probe = split_id(item) if is_audit else (item, UNCHANGED)
        if probe == UNCHANGED:
            orders = places.get(view.seqs[item], [(None, None)])
            shown += [PairInBothOrders(cluster_of(row.group, base), ab, ba) for ab, ba in orders]
    return shown if any(row.ba is not None for row in shown) else []
