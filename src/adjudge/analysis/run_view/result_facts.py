"""What every analysis asks of one result: its number, its
systems, its cluster, whether there was nothing to score.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ...records import Result


def results_by_model(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results of each judge, in the order in which judges were first seen."""
    results_of: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        results_of[result.model].append(result)
    return dict(results_of)


def cluster_of(group: str | None, item: str) -> str:
    """What makes results dependent on each other: a common group (a prompt), or a common item."""
    return f"g {group}" if group is not None else f"i {item}"


def as_number(answer: float | str) -> float:
    """A score unchanged; a choice as the share that response a gets: 1, 0, or one half for a tie."""
    return {"a": 1.0, "b": 0.0}.get(answer, 0.5) if isinstance(answer, str) else float(answer)


Pair = tuple[str, str]


def is_undefined(result: Result) -> bool:
    """Whether there was nothing to score, so that a result has no score and did not fail.

    A report counts it; it is in no mean and in no comparison.
    """
    return result.status == "ok" and result.value is None and "nothing_to_score" in result.flags


_LETTERS = ("a", "b")
"""one for all results that are of no pair"""


def systems_of_pair(result: Result) -> Pair:
    """The systems behind response a and response b; their letters where they have no names."""
    if result.system_a is None and result.system_b is None:
        return _LETTERS
    return result.system_a or "a", result.system_b or "b"


def system_of(result: Result) -> str:
    """The system whose output was scored."""
    if result.subject is None:
        return result.system
    named = result.system_a if result.subject == "a" else result.system_b
    return named or (result.system if result.system != "all" else result.subject)
