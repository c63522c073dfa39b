"""A view of results that come from elsewhere: which are scores and which are choices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...records import Result
from ...results.combine import Kind
from .criteria import Scales, is_declared, scale_of
from .result_facts import is_undefined
from .run_view import RunView
from .tally import Tally


def view_of_results(
    results: Iterable[Result], scales: Scales | None = None, name: str = "", *, with_tally: bool = True
) -> RunView:
    """A view of any results. A failed result has neither a value nor a choice: `kinds_of` decides its
    kind. A comparison and a card need no tally."""
    rows = tuple(result for result in results if not is_undefined(result))
    kinds = kinds_of(rows, scales or {})
    return RunView(name, rows, kinds, scales or {}, tally_of(rows, kinds) if with_tally else Tally())


def tally_of(results: Iterable[Result], kinds: Iterable[Kind]) -> Tally:
    tally = Tally()
    for result, kind in zip(results, kinds, strict=True):
        tally.add(result, kind)
    return tally


def kinds_of(results: Sequence[Result], scales: Scales) -> tuple[Kind, ...]:
    """Whether each result is a score or a choice.

    A failed result without a subject has the kind of the other results of its criterion, from any judge. If
    all of them failed: where other results of the criterion have a subject, the one without is the choice;
    otherwise the scale decides, since a criterion without a scale has choices; where the scale is unknown,
    results of pairs are choices.
    """
    chosen, scored, with_subject = set(), set(), set()
    for result in results:
        key = (result.protocol, result.criterion)
        if result.subject is not None:
            with_subject.add(key)
        elif result.choice is not None:
            chosen.add(key)
        elif result.value is not None:
            scored.add(key)

    def kind(result: Result) -> Kind:
        if result.choice is not None:
            return "choices"
        if result.value is not None or result.subject is not None:
            return "scores"
        key = (result.protocol, result.criterion)
        if key in chosen or key in scored:
            return "choices" if key in chosen else "scores"
        if key in with_subject:
            return "choices"
        if is_declared(scales, *key):
            return "choices" if scale_of(scales, *key) is None else "scores"
        is_pair = result.system_a is not None or result.system_b is not None
        return "choices" if is_pair else "scores"

    return tuple(kind(result) for result in results)
