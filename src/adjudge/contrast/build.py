"""Puts a comparison together: two sides in, one `Comparison` out. No store, no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import structs

from ..errors import DataError
from ..stats import adjusted
from ..words import count, listed
from .match import Table, match
from .numbers import agreement, by_system, numbered, system_contrast, system_order
from .scaling import Scaling, scaling
from .sentences import Runs, criterion_sentences, summary
from .shapes import Comparison, Conclusion, CriterionContrast, SystemContrast, SystemOrder
from .sides import Contents, Side

_RECORDING, _TEXTS = "the recording", "the texts of"


def ways_that_differ(changed: Iterable[str]) -> list[str]:
    """Of what differs between two runs, that which makes another judge: not the texts, not the name of a recording."""
    return [text for text in changed if not text.startswith((_RECORDING, _TEXTS))]


def contrast(first: Side, second: Side, seed: int = 0) -> Comparison:
    """Hold two runs against each other, criterion by criterion."""
    if first.name == second.name:
        first, second = (
            structs.replace(first, name=f"{first.name} (1)"),
            structs.replace(second, name=f"{second.name} (2)"),
        )
    tables, notes = match(first, second)
    if not any(table.rows for table in tables.values()):
        raise DataError(_no_common_item(first, second))
    notes += [
        f"{name} cannot be compared: {'; '.join(table.notes) or 'no item in common'}."
        for name, table in tables.items()
        if not table.rows
    ]
    tables = {name: table for name, table in tables.items() if table.rows}
    n_differs, fields = _content(first.contents, second.contents)
    changed = _changed(first, second, tables)
    runs = Runs(first.name, second.name, bool(n_differs), bool(ways_that_differ(changed)))
    cards = _with_sentences(
        _adjusted({name: _criterion(table, runs, seed) for name, table in tables.items()}), runs
    )
    ids = [{result.item for result in side.results} for side in (first, second)]
    return Comparison(
        summary=summary(cards, runs),
        first=first.name,
        second=second.name,
        criteria=cards,
        changed=(*changed, *_about_content(n_differs, fields, len(ids[0] & ids[1]))),
        n_items=len(ids[0] & ids[1]),
        n_only_first=len(ids[0] - ids[1]),
        n_only_second=len(ids[1] - ids[0]),
        n_content_differs=n_differs,
        fields_that_differ=fields,
        notes=(
            *_fakes(first, second),
            *first.notes,
            *second.notes,
            *_about_items(ids, first, second),
            *notes,
        ),
        seed=seed,
        is_fake=bool(first.fake or second.fake),
    )


def _criterion(table: Table, runs: Runs, seed: int) -> CriterionContrast:
    way = (
        Scaling("points", (0.0, 1.0), 1, (1, 1))
        if table.kind == "choices"
        else scaling(*table.scales, (runs.first, runs.second))
    )
    rows = numbered(table, way)
    systems = {name: system_contrast(table, way, own, seed) for name, own in by_system(rows).items()}
    return CriterionContrast(
        criterion=table.criterion,
        kind=table.kind,
        protocols=table.protocols,
        models=table.models,
        scales=table.scales,
        unit=way.unit,
        direction=way.direction,
        sentences=(),
        notes=(*((way.note,) if way.note else ()), *table.notes),
        conclusion="undefined",
        n_items=len(rows),
        n_only_first=table.n_only_first,
        n_only_second=table.n_only_second,
        systems=systems,
        order=system_order(table, way, rows, seed),
        agreement=agreement(table, way, rows),
    )


def _adjusted(cards: Mapping[str, CriterionContrast]) -> dict[str, CriterionContrast]:
    """The p-values corrected for all differences that the comparison makes."""
    places = [(name, system) for name, one in cards.items() for system in one.systems]
    p_values = adjusted([cards[name].systems[system].p for name, system in places])
    found = dict(zip(places, p_values, strict=True))
    return {
        name: structs.replace(
            one,
            systems={
                system: structs.replace(each, p_adjusted=found[name, system])
                for system, each in one.systems.items()
            },
        )
        for name, one in cards.items()
    }


def _with_sentences(cards: Mapping[str, CriterionContrast], runs: Runs) -> dict[str, CriterionContrast]:
    told = {}
    for name, one in cards.items():
        concluded = structs.replace(one, conclusion=_conclusion(one))
        told[name] = structs.replace(concluded, sentences=criterion_sentences(name, concluded, runs))
    return told


def _conclusion(one: CriterionContrast) -> Conclusion:
    if one.kind == "choices":
        return _of_choices(one.systems)
    if one.order is not None:
        return _of_order(one.order)
    known = [found for found in one.systems.values() if found.difference.value is not None]
    if not known:
        return "undefined"
    return "shifted" if any(found.is_shown for found in known) else "not shown"


def _of_order(order: SystemOrder) -> Conclusion:
    changes = {pair.change for pair in order.pairs}
    if "reversed" in changes:
        return "reversed"
    if changes & {"only first", "only second"}:
        return "differs"
    return "holds" if "same" in changes else "not shown"


def _of_choices(systems: Mapping[str, SystemContrast]) -> Conclusion:
    """By who is shown to win more than half of a pair of systems, in either run."""
    verdicts = set()
    for found in systems.values():
        sides = [_side(one.low, one.high) for one in (found.first, found.second)]
        if sides[0] * sides[1] < 0:
            return "reversed"
        verdicts.add((abs(sides[0]), abs(sides[1])))
    if verdicts & {(0, 1), (1, 0)}:
        return "differs"
    return "holds" if (1, 1) in verdicts else "not shown"


def _side(low: float | None, high: float | None) -> int:
    if low is None or high is None or low <= 0.5 <= high:
        return 0
    return 1 if low > 0.5 else -1


def _content(first: Contents | None, second: Contents | None) -> tuple[int | None, dict[str, int]]:
    """How many common items have other texts, and in which fields."""
    if first is None or second is None:
        return None, {}
    fields: Counter[str] = Counter()
    n = 0
    for item, own in first.items():
        other = second.get(item)
        if other is None or other == own:
            continue
        n += 1
        fields.update(name for name in {**own, **other} if own.get(name) != other.get(name))
    return n, dict(fields.most_common())


def _about_content(n: int | None, fields: Mapping[str, int], n_items: int) -> tuple[str, ...]:
    if not n:
        return ()
    named = listed([f"{name} on {times}" for name, times in fields.items()])
    return (f"{_TEXTS} {n:,} of {count(n_items, 'common item')} (field {named})",)


def _changed(first: Side, second: Side, tables: Mapping[str, Table]) -> tuple[str, ...]:
    """What differs in the way of judging."""
    told = []
    protocols = dict.fromkeys(
        table.protocols for table in tables.values() if table.protocols[0] != table.protocols[1]
    )
    for own, other in protocols:
        told.append(f"the protocol: {own} → {other}")
    models = dict.fromkeys(table.models for table in tables.values() if table.models[0] != table.models[1])
    # Two recordings may be of one judge: nobody can tell from their files' names.
    told += [
        f"{_RECORDING if _are_recorded(*both) else 'the judge'}: {both[0]} → {both[1]}" for both in models
    ]
    if second.settings:
        settings = {key: (value, second.settings.get(key)) for key, value in first.settings.items()}
        told += [
            f"{key}: {_setting(own)} → {_setting(other)}"
            for key, (own, other) in settings.items()
            if own != other
        ]
    return tuple(told)


def _are_recorded(*models: str) -> bool:
    return all(model.startswith("replay:") for model in models)


def _setting(value: object) -> str:
    return "default" if value is None else str(value)


def _fakes(first: Side, second: Side) -> tuple[str, ...]:
    fakes = dict.fromkeys((*first.fake, *second.fake))
    return tuple(
        f"{spec} is a fake judge for tests: these numbers say nothing about any system." for spec in fakes
    )


def _about_items(ids: list[set[str]], first: Side, second: Side) -> list[str]:
    only = [(first.name, len(ids[0] - ids[1])), (second.name, len(ids[1] - ids[0]))]
    return [
        f"{count(n, 'item')} of {name} is not in the other run and not compared."
        if n == 1
        else f"{n:,} items of {name} are not in the other run and not compared."
        for name, n in only
        if n
    ]


def _no_common_item(first: Side, second: Side) -> str:
    own, other = first.results[0].item, second.results[0].item
    return (
        f"{first.name} and {second.name} have no item in common: {first.name} judged items like '{own}', {second.name} items "
        f"like '{other}'.\nItems are matched by id: give two versions of one text the same id."
    )
