"""The audit of scores made elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ...data import OrderChoice, ProbeScore
from ...errors import DataError
from ...probes import UNCHANGED
from ..run_view.result_facts import as_number
from .answers import Answers
from .audit import Audit
from .judge import audit_judge
from .position_bias import shown_in_file


def audit_scores(
    scores: Sequence[ProbeScore],
    choices: Sequence[OrderChoice] = (),
    *,
    margin: float | None = None,
    limits: tuple[float, float] | None = None,
    name: str = "",
) -> Audit:
    """The audit of scores from any tool. Without `limits` the
    ends of the scale are the lowest and the highest score.
    """
    rows: dict[str, dict[str, list[ProbeScore]]] = defaultdict(lambda: defaultdict(list))
    for score in scores:
        rows[score.judge][score.criterion].append(score)
    by_judge: dict[str, list[OrderChoice]] = defaultdict(list)
    for choice in choices:
        by_judge[choice.judge].append(choice)
    judges = {
        judge: audit_judge(
            {criterion: _answers(part, limits) for criterion, part in rows.get(judge, {}).items()},
            shown_in_file(by_judge.get(judge, ())),
            margin,
        )
        for judge in dict.fromkeys((*rows, *by_judge))
    }
    return Audit(judges=judges, name=name)


def _answers(rows: Sequence[ProbeScore], limits: tuple[float, float] | None) -> Answers:
    values: dict[str, dict[str, list[tuple[str, float | None]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        value = None if row.value is None else as_number(row.value)
        values[row.probe][row.item].append((row.sample, value))
    if UNCHANGED not in values:
        raise DataError(
            f"judge '{rows[0].judge}', criterion '{rows[0].criterion}': no rows with the probe "
            "'none', the unchanged items. Add them: every probe is compared with them."
        )
    is_choice = any(isinstance(row.value, str) for row in rows)
    return Answers(
        values={
            probe: {
                item: tuple(value for _, value in sorted(samples, key=lambda each: each[0]))
                for item, samples in items.items()
            }
            for probe, items in values.items()
        },
        groups={row.item: row.group for row in rows if row.group is not None},
        limits=(0.0, 1.0) if is_choice else limits,
        is_choice=is_choice,
    )
