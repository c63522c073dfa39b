"""Several judges in one view: runs side by side, and their results pooled into one."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from msgspec import structs

from ...records import Choice, Result, Subject
from ...results.combine import Kind
from .criteria import protocol_id
from .given_results import tally_of
from .result_facts import as_number
from .run_view import RunView


def as_one_panel(views: Sequence[RunView]) -> RunView:
    """Several runs as the judges of one run. Where a model judged
    a criterion in two of them, its name includes the run.
    """
    if len(views) == 1:
        return views[0]
    criteria_and_models = [
        {(protocol_id(row.protocol), row.criterion, row.model) for row in view.results} for view in views
    ]
    is_shared = bool(set.intersection(*criteria_and_models))

    def model_in(view: RunView, model: str) -> str:
        return f"{model} in {view.name}" if is_shared else model

    results = [
        structs.replace(row, model=model_in(view, row.model)) for view in views for row in view.results
    ]
    kinds = [kind for view in views for kind in view.kinds]
    return RunView(
        name=" and ".join(view.name for view in views),
        results=tuple(results),
        kinds=tuple(kinds),
        scales={key: scale for view in views for key, scale in view.scales.items()},
        tally=tally_of(results, kinds),
        samples={
            (key[0], key[1], model_in(view, key[2]), *key[3:]): values
            for view in views
            for key, values in view.samples.items()
        },
        attributes={item: found for view in reversed(views) for item, found in view.attributes.items()},
        texts={item: found for view in reversed(views) for item, found in view.texts.items()},
    )


def pooled_over_models(view: RunView) -> tuple[RunView, str]:
    """One result per item where several models judged (see `pooled_result`), and a note that says so."""
    models = list(view.tally.models)
    if len(models) < 2:
        return view, ""
    results: list[Result] = []
    kinds: list[Kind] = []
    panel: dict[tuple[str, str, str, Subject | None, Kind], dict[str, float | None]] = {}
    for cell, rows in view.cells().items():
        by_item: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
        for row in rows:
            by_item[row.item, row.subject or "", row.system].append(row)
            answer = row.choice if cell.kind == "choices" else row.value
            of_item = panel.setdefault((*cell[:2], row.item, row.subject, cell.kind), {})
            of_item[row.model] = None if answer is None else as_number(answer)
        results += [
            structs.replace(pooled_result(group), model=f"{len(models)} judges") for group in by_item.values()
        ]
        kinds += [cell.kind] * len(by_item)
    failed = Counter(row.model for row in view.results if row.status != "ok")
    asked = Counter(row.model for row in view.results)
    note = f"Several judges: each score is the mean of {', '.join(models)}, each choice their majority."
    for model, n in failed.items():
        note += f" {model} failed on {n:,} of {asked[model]:,}."
    tally = tally_of(results, kinds)
    pooled = structs.replace(
        view, results=tuple(results), kinds=tuple(kinds), tally=tally, samples={}, panel=panel
    )
    return pooled, note


def pooled_result(rows: Sequence[Result]) -> Result:
    """One result of several judges: the mean of their scores, the vote on their choices."""
    if len(rows) == 1:
        return rows[0]
    if any(row.label is not None for row in rows):
        return _class_of_most(rows)
    values = [row.value for row in rows if row.value is not None]
    choices = [row.choice for row in rows if row.choice is not None]
    return structs.replace(
        rows[0],
        # Rounded, because equal means must not differ by the order of the sum: they would get different
        # ranks.
        value=round(math.fsum(values) / len(values), 12) if values else None,
        choice=panel_vote(choices) if choices else None,
        status="ok" if values or choices else rows[0].status,
    )


def _class_of_most(rows: Sequence[Result]) -> Result:
    """The class that most judges chose, as the report counts it: where two have as many votes, there is
    none."""
    first = Counter(row.label for row in rows if row.label is not None).most_common(2)
    if len(first) == 2 and first[0][1] == first[1][1]:
        return structs.replace(rows[0], value=None, label=None, status="conflicting")
    return next(row for row in rows if row.label == first[0][0])


def panel_vote(choices: Sequence[Choice]) -> Choice:
    """The side that more judges chose, or a tie where both have as many votes.

    Judges who say tie abstain. This is the sign of the mean choice, which the report counts by.
    """
    lead = choices.count("a") - choices.count("b")
    return "tie" if lead == 0 else "a" if lead > 0 else "b"
