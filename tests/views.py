"""Analyses of results that a test makes by hand: each
function builds the `RunView` that the package would build.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from adjudge.analysis.compare import compare as comparing
from adjudge.analysis.compare.comparison import Comparison
from adjudge.analysis.labels import join as label_join
from adjudge.analysis.labels.labelled import LabelledTable
from adjudge.analysis.report import report
from adjudge.analysis.report.summary import Summary
from adjudge.analysis.run_view import run_view
from adjudge.analysis.run_view.given_results import view_of_results
from adjudge.analysis.run_view.positions import Positions
from adjudge.analysis.run_view.run_facts import RunFacts
from adjudge.analysis.run_view.run_view import RunView
from adjudge.analysis.trust import judge_card as trust
from adjudge.analysis.trust.card import Card
from adjudge.records import Label, Result, Scale
from adjudge.stats import PositionBias

Scales = Mapping[Any, Scale | None]


class Facts(msgspec.Struct, frozen=True):
    """The facts of a run as a report reads them, with the
    scales and the position bias that a view has beside them.
    """

    facts: RunFacts
    scales: Scales = {}
    order: Mapping[str, PositionBias] = {}


def facts(
    *, scales: Scales | None = None, order: Mapping[str, PositionBias] | None = None, **known: Any
) -> Facts:
    return Facts(RunFacts(**known), scales or {}, order or {})


def view(results: Iterable[Result], scales: Scales | None = None, **fields: Any) -> RunView:
    """`scales` by (protocol, criterion) or by the criterion alone."""
    by_key = {key if isinstance(key, tuple) else ("", key): scale for key, scale in (scales or {}).items()}
    return msgspec.structs.replace(view_of_results(results, by_key), **fields)


def summarise(results: Iterable[Result], *, facts: Facts | None = None) -> Summary:
    known = facts or Facts(RunFacts())
    positions = {("", name): Positions(bias, {"m": bias}) for name, bias in known.order.items()}
    return report.summarise(view(results, known.scales, facts=known.facts, positions=positions))


def judge_card(
    results: Iterable[Result],
    labels: Sequence[Label],
    *,
    scales: Scales | None = None,
    samples: Mapping[run_view.SampleKey, tuple[float, ...]] | None = None,
    run: str = "",
    **settings: Any,
) -> Card:
    return trust.judge_card(view(results, scales, samples=samples or {}, name=run), labels, **settings)


def join(
    results: Iterable[Result], labels: Sequence[Label], scales: Scales | None = None
) -> dict[str, LabelledTable]:
    return label_join.join(view(results, scales), labels)


def compare_results(first: RunView, second: RunView, seed: int = 0) -> Comparison:
    return comparing.compare_views(first, second, seed)
