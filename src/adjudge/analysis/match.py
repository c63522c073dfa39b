"""Brings two runs together: criterion by criterion, item by item. Nothing is estimated here.

Criteria are matched by their names, whatever the protocols are called; items by id and subject. Where a criterion was
judged by several models, a model is compared with itself; where no model is in both runs, the mean (of choices the
majority) of each run's models is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from ..combine import Kind
from ..errors import DataError
from ..records import Choice, Result, Scale
from .result_types import Unit
from .run_view import RunView, pooled_result

# Whether two runs' scores of one criterion may be subtracted from each other, and which sign means better.
#
# Where the scales are the same, scores are taken as they are. Where they differ, each is taken as a share of its own scale,
# from the bad end. Where that has no meaning (an open scale, or one whose good end nobody knows), only the order compares.


class Scaling(Struct, frozen=True):
    """How the scores of one criterion are made comparable."""

    unit: Unit
    limits: tuple[float, float] | None
    """the ends in that unit; none where the scale is open or the unit is a rank"""
    direction: int
    """of the difference: 1 where more is better, -1 where less is, 0 where nobody knows"""
    signs: tuple[int, int]
    """which sign makes the better score the greater one, in either run"""
    note: str = ""


def scaling(first: Scale | None, second: Scale | None, runs: tuple[str, str]) -> Scaling:
    """The strongest comparison that the two scales allow."""
    if first is None or second is None:
        if first is not None or second is not None:
            which = runs[0] if first is None else runs[1]
            note = f"The scale of {which} is not known: scores are compared as they are."
            return Scaling("points", None, 0, (1, 1), note)
        return Scaling("points", None, 0, (1, 1))
    ways = first.direction, second.direction
    same_ends = (first.low, first.high) == (second.low, second.high)
    limits = first.limits
    if same_ends and ways[0] == ways[1] != 0:
        return Scaling("points", limits, ways[0], ways)
    if 0 in ways:
        return _of_unknown_direction(first, ways, same_ends, runs)
    if limits is not None and second.limits is not None:
        told = f"{_ends(first)} in {runs[0]}, {_ends(second)} in {runs[1]}"
        note = (
            f"The scales differ ({told}): each score counts as its share of its own scale, from 0, bad, to 1, good. "
            "A difference may come from the scale alone."
        )
        return Scaling("normalized", (0.0, 1.0), 1, (1, 1), note)
    return Scaling(
        "rank",
        None,
        0,
        ways,
        "The scales have nothing in common: only the order of items and systems compares.",
    )


def _of_unknown_direction(
    first: Scale, ways: tuple[int, int], same_ends: bool, runs: tuple[str, str]
) -> Scaling:
    unknown = " and ".join(run for run, way in zip(runs, ways, strict=True) if way == 0)
    told = f"Nobody knows which end of the scale is good in {unknown}: no word here about better or worse"
    if same_ends:
        return Scaling("points", first.limits, 0, (1, 1), f"{told}; scores are compared as they are.")
    return Scaling(
        "rank",
        None,
        0,
        (1, 1),
        f"{told}, and the scales differ: only the order of items and systems compares.",
    )


def _ends(scale: Scale) -> str:
    better = "high" if scale.direction == 1 else "low"
    return f"{scale.low:g}–{scale.high:g}, {better} is good"


def inferred(results: Iterable[Result]) -> Scale | None:
    """The scale behind results that carry a normalised score too; none where two different values are missing."""
    points = sorted(
        {
            (row.value, row.normalized)
            for row in results
            if row.value is not None and row.normalized is not None
        }
    )
    if not points:
        return None
    (value, share), (other, other_share) = points[0], points[-1]
    if value == other or share == other_share:
        return None
    width = (other - value) / (other_share - share)
    bad = round(value - share * width, 9)
    good = round(bad + width, 9)
    return Scale(min(bad, good), max(bad, good), good)


Answer = float | str
Cells = dict[tuple[str, Kind], dict[str, list[Result]]]
"""(criterion, kind) → protocol → results"""

_OTHER: dict[Choice, Choice] = {"a": "b", "b": "a", "tie": "tie"}


class ComparedItem(Struct, frozen=True):
    """One item in both runs. Of a pair `a` is the system that its table names first."""

    item: str
    system: str
    """the name of its system, or of both where they differ: old → new"""
    systems: tuple[str, str]
    group: str | None
    first: Answer | None
    """none where the judge failed"""
    second: Answer | None
    is_same: bool = False
    """whether both runs have the same calls and the same replies: then the answers are equal by construction"""


class Table(Struct, frozen=True):
    """All common items of one criterion."""

    criterion: str
    kind: Kind
    protocols: tuple[str, str]
    models: tuple[str, str]
    scales: tuple[Scale | None, Scale | None]
    rows: tuple[ComparedItem, ...]
    n_only_first: int
    n_only_second: int
    notes: tuple[str, ...]

    def groups(self, rows: Sequence[ComparedItem]) -> list[str] | None:
        """What belongs together, or none where every item stands alone."""
        if all(row.group is None for row in self.rows):
            return None
        return [f"g {row.group}" if row.group is not None else f"i {row.item}" for row in rows]


def match(first: RunView, second: RunView) -> tuple[dict[str, Table], list[str]]:
    """The tables by the names under which they are shown, and what could not be matched."""
    for side in (first, second):
        if not side.results:
            raise DataError(f"{side.name} has judged nothing yet. Run it first, or compare another run.")
    of_first, of_second = _by_criterion(first), _by_criterion(second)
    common = [cell for cell in of_first if cell in of_second]
    if not common:
        raise DataError(_nothing_common(first.name, of_first, second.name, of_second))
    notes = [
        f"{', '.join(missing)} is judged in {name} alone and not compared."
        for name, own, other in ((first.name, of_first, of_second), (second.name, of_second, of_first))
        if (missing := _missing(own, other))
    ]
    found: dict[str, Table] = {}
    for criterion, kind in common:
        own, other = of_first[criterion, kind], of_second[criterion, kind]
        couples, left = _protocol_couples(own, other)
        if left:
            notes.append(f"{criterion}: {left}")
        suffix = " (choice)" if kind == "choices" and (criterion, "scores") in common else ""
        for protocols in couples:
            prefix = f"{protocols[0].partition('@')[0]}/" if len(couples) > 1 else ""
            for name, table in _by_models(criterion, kind, protocols, (first, second), (own, other)):
                found[f"{prefix}{criterion}{suffix}{name}"] = table
    return found, notes


def _by_criterion(view: RunView) -> Cells:
    """Criteria are matched by their names, whichever protocol they belong to."""
    cells: Cells = defaultdict(dict)
    for cell, results in view.cells().items():
        cells[cell.criterion, cell.kind][cell.protocol] = results
    return dict(cells)


def _missing(own: Cells, other: Cells) -> list[str]:
    names = {criterion for criterion, _ in other}
    return list(dict.fromkeys(criterion for criterion, _ in own if criterion not in names))


def _nothing_common(first: str, own: Cells, second: str, other: Cells) -> str:
    def told(cells: Cells) -> str:
        return ", ".join(f"{criterion} ({kind})" for criterion, kind in cells)

    return (
        f"{first} and {second} have no criterion in common: {first} judged {told(own)}; {second} judged {told(other)}.\n"
        "Criteria are matched by name. Rename one in its protocol or rubric, if they mean the same."
    )


def _protocol_couples(
    own: dict[str, list[Result]], other: dict[str, list[Result]]
) -> tuple[list[tuple[str, str]], str]:
    """Which protocol of the one run is held against which of the other, and what stays without a partner."""
    by_id = {name.partition("@")[0]: name for name in other}
    couples = [(name, by_id[name.partition("@")[0]]) for name in own if name.partition("@")[0] in by_id]
    rest_own = [name for name in own if name not in {couple[0] for couple in couples}]
    rest_other = [name for name in other if name not in {couple[1] for couple in couples}]
    if len(rest_own) == len(rest_other) == 1:
        return [*couples, (rest_own[0], rest_other[0])], ""
    left = [name.partition("@")[0] for name in (*rest_own, *rest_other)]
    if not couples and left:
        raise DataError(
            f"One criterion is judged by several protocols ({', '.join(left)}), and none is in both runs: it is not clear "
            "which to hold against which. Compare runs of one protocol each."
        )
    return (
        couples,
        f"{', '.join(left)} has no counterpart in the other run and is not compared." if left else "",
    )


def _by_models(
    criterion: str,
    kind: Kind,
    protocols: tuple[str, str],
    sides: tuple[RunView, RunView],
    cells: tuple[dict[str, list[Result]], dict[str, list[Result]]],
) -> list[tuple[str, Table]]:
    """A table for each model that is in both runs, or one of the only or the mean judge of each."""
    by_model: list[dict[str, list[Result]]] = []
    for name, cell in zip(protocols, cells, strict=True):
        models: dict[str, list[Result]] = defaultdict(list)
        for result in cell[name]:
            models[result.model].append(result)
        by_model.append(models)
    own, other = by_model
    known = [side.scale(name, criterion) for side, name in zip(sides, protocols, strict=True)]
    scales = known[0] or inferred(cells[0][protocols[0]]), known[1] or inferred(cells[1][protocols[1]])
    common = [model for model in own if model in other]
    if len(own) == len(other) == 1 or not common:
        table = _table(criterion, kind, protocols, scales, sides, (own, other))
        return [("", table)]
    left = [model for model in (*own, *other) if model not in common]
    notes = (f"{', '.join(left)} judged in one run alone and is left out.",) if left else ()
    found = []
    for model in common:
        table = _table(
            criterion, kind, protocols, scales, sides, ({model: own[model]}, {model: other[model]})
        )
        name = f" · {model}" if len(common) > 1 else ""
        found.append((name, structs.replace(table, notes=(*table.notes, *notes))))
    return found


def _table(
    criterion: str,
    kind: Kind,
    protocols: tuple[str, str],
    scales: tuple[Scale | None, Scale | None],
    sides: tuple[RunView, RunView],
    models: tuple[dict[str, list[Result]], dict[str, list[Result]]],
) -> Table:
    notes: list[str] = []
    flat = [[row for rows in own.values() for row in rows] for own in models]
    is_shared = any(_shares_ids(own) for own in models)
    judged = [_by_item(rows, with_system=is_shared) for rows in flat]
    for side, own, by_item in zip(sides, models, judged, strict=True):
        if len(own) > 1:
            how = "mean" if kind == "scores" else "majority"
            partial = sum(
                any(row.status != "ok" for row in rows) and any(row.status == "ok" for row in rows)
                for rows in by_item.values()
            )
            told = f"; on {partial} items not all of them answered" if partial else ""
            notes.append(f"{side.name} counts as the {how} of its judges {', '.join(own)}{told}.")
    first, second = ({key: pooled_result(rows) for key, rows in by_item.items()} for by_item in judged)
    shared = [key for key in first if key in second]
    rows = (
        _choices(first, second, shared)
        if kind == "choices"
        else [_row(first[key], second[key]) for key in shared]
    )
    rows = [structs.replace(row, is_same=_is_same(row.item, sides, protocols, models)) for row in rows]
    subjects = [{row.subject is not None for row in own} for own in flat]
    if not shared and subjects[0] != subjects[1]:
        notes.append("one run has a score for each response of a pair, the other one for both together")
    renamed = sum(row.systems[0] != row.systems[1] for row in rows)
    if renamed and kind == "scores":
        notes.append(
            f"{renamed} of {len(rows)} items belong to a system of another name in {sides[1].name}: an item is compared with "
            "itself, whatever its system is called."
        )
    names = [next(iter(own)) if len(own) == 1 else f"{len(own)} judges" for own in models]
    return Table(
        criterion, kind, protocols, (names[0], names[1]), scales, tuple(rows), len(first) - len(shared),
        len(second) - len(shared), tuple(notes),
    )  # fmt: skip


def _is_same(
    item: str,
    sides: tuple[RunView, RunView],
    protocols: tuple[str, str],
    models: tuple[Iterable[str], Iterable[str]],
) -> bool:
    """Whether the models that are compared were asked the same and answered the same."""
    told = []
    for side, name, compared in zip(sides, protocols, models, strict=True):
        known = side.digests.get((item, name), {})
        # Judges that were made into one have no name of their own here: then all of them count.
        told.append({model: known[model] for model in compared if model in known} or dict(known))
    return bool(told[0]) and told[0] == told[1]


def _shares_ids(models: dict[str, list[Result]]) -> bool:
    """Whether an id stands for the outputs of several systems, as in scores that were made elsewhere."""
    seen: dict[tuple[str, str | None], str] = {}
    for rows in models.values():
        for row in rows:
            if seen.setdefault((row.item, row.subject), row.system) != row.system:
                return True
    return False


def _by_item(results: Iterable[Result], *, with_system: bool) -> dict[tuple[str, ...], list[Result]]:
    found: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for row in results:
        found[(row.item, row.subject or "", row.system if with_system else "")].append(row)
    return found


def _row(first: Result, second: Result) -> ComparedItem:
    systems = first.system, second.system
    return ComparedItem(
        first.item,
        systems[0] if systems[0] == systems[1] else f"{systems[0]} → {systems[1]}",
        systems,
        _group(first, second),
        first.value,
        second.value,
    )


def _group(first: Result, second: Result) -> str | None:
    group = second.group if second.group is not None else first.group
    # Two responses of one pair are not two independent items.
    return f"pair {first.item}" if group is None and first.subject is not None else group


def _choices(
    first: dict[tuple[str, ...], Result],
    second: dict[tuple[str, ...], Result],
    shared: Iterable[tuple[str, ...]],
) -> list[ComparedItem]:
    """Pairs of the same two systems in one frame, whichever of them an item calls a."""
    frames: dict[frozenset[str], tuple[str, str]] = {}
    rows = []
    for key in shared:
        one, other = first[key], second[key]
        own, its = _systems(one), _systems(other)
        if set(own) != set(its):
            # With other names only the places can be compared.
            names = f"{own[0]} vs {own[1]}", f"{its[0]} vs {its[1]}"
            rows.append(
                ComparedItem(one.item, " → ".join(names), names, _group(one, other), one.choice, other.choice)
            )
            continue
        frame = frames.setdefault(frozenset(own), own)
        name = f"{frame[0]} vs {frame[1]}"
        answers = _turned(one.choice, own != frame), _turned(other.choice, its != frame)
        rows.append(ComparedItem(one.item, name, (name, name), _group(one, other), *answers))
    return rows


def _systems(result: Result) -> tuple[str, str]:
    return result.system_a or "a", result.system_b or "b"


def _turned(choice: Choice | None, is_turned: bool) -> Choice | None:
    return _OTHER[choice] if choice is not None and is_turned else choice
