"""Draws items to label, as a file to fill in. Writes no file.

Neither the judge's score nor the system is shown with an item: knowing either would influence the rater.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ...data import LABEL_COLUMNS, hash_of_row, shown_text, text_hash_on
from ...data.json_rows import Row
from ...data.table import Problems, Table
from ...errors import DataError
from ...records import Item, Protocol, Subject
from ...results.manifest import fields_naming_the_system, protocols_of
from ...results.stored_results import results
from ...store import RunRow, Store
from .draw import DrawnRows, draw
from .uncertainty import uncertainty, weights_of


class Draw(Struct, frozen=True):
    """How items are drawn for labelling."""

    n: int
    by_system: bool = False
    seed: int = 0
    more: int = 0
    """items to draw in addition to `n`, or to those of `earlier`"""
    is_uncertain: bool = False
    """whether items on which the judge is uncertain are drawn more often"""
    earlier: tuple[Row, ...] = ()
    """the rows of an earlier draw, filled in or not"""


def items_to_label(store: Store, run: RunRow, how: Draw, rater: str = "rater") -> DrawnRows:
    """A label file to fill in, with one row for each drawn item, criterion and subject.

    The continuation of a draw has only the additional items; given the rows of the earlier one, it has both.
    Values that were given to another text are left out and counted: those items are to be labelled again.
    """
    judged: dict[str, None] = {}
    criteria: dict[tuple[str, Subject | None], None] = {}
    systems: dict[str, str] = {}
    for result in results(store, run):
        judged[result.item] = None
        criteria[result.criterion, result.subject] = None
        pair = f"{result.system_a} / {result.system_b}" if result.system_a else result.system
        systems.setdefault(result.item, pair)
    if not judged:
        raise DataError(f"run {run.name} has no judged item to draw from. Run it first.")
    ids = list(judged)
    weights = weights_of(uncertainty(store, run), ids, run.name) if how.is_uncertain else None
    probabilities = _drawn(ids, [systems[name] for name in ids], how, weights)
    hidden = fields_naming_the_system(run)
    protocols = list(protocols_of(store, run).values())
    texts: dict[str, dict[str, str]] = {}
    hashes: dict[tuple[str, str], str] = {}
    for item in store.items(run):
        if item.id in probabilities:
            texts[item.id] = _fields(item, hidden)
            for criterion, _ in criteria:
                hashes[item.id, criterion] = text_hash_on(criterion, protocols, item.fields) or ""
    names = list(dict.fromkeys(name for fields in texts.values() for name in fields))
    given, n_of_other_texts = _given(how.earlier, protocols, hashes)
    rows = [
        {
            "item": name,
            "criterion": criterion,
            "subject": subject or "",
            "rater": rater_name,
            "value": value,
            "probability": f"{probability:.6g}",
            "text_hash": hashes[name, criterion],
            **texts[name],
        }
        for name, probability in probabilities.items()
        for criterion, subject in criteria
        for rater_name, value in given.get((name, criterion, subject or ""), [(rater, "")])
    ]
    has_subjects = any(subject is not None for _, subject in criteria)
    columns = [name for name in LABEL_COLUMNS if name != "subject" or has_subjects]
    return DrawnRows((*columns, *names), tuple(rows), len(probabilities), len(ids), n_of_other_texts)


def _drawn(
    ids: Sequence[str], systems: Sequence[str], how: Draw, weights: Sequence[float] | None
) -> dict[str, float]:
    """The drawn items, in random order, each with the
    probability to be in this draw or an earlier part of it.
    """

    def drawn(n: int) -> dict[str, float]:
        chosen = draw(systems, n, by_system=how.by_system, seed=how.seed, weights=weights)
        return {ids[index]: probability for index, probability in chosen.items()}

    if not how.more:
        return drawn(how.n)
    before = {str(row.get("item")): None for row in how.earlier}
    unknown = [name for name in before if name not in set(ids)]
    if unknown:
        raise DataError(
            f"The earlier draw has item '{unknown[0]}', which this run did not judge. Give the file "
            "of this run's draw."
        )
    if how.earlier:
        total = drawn(len(before) + how.more)
        added = [name for name in total if name not in before][: how.more]
        # An earlier draw with another seed leaves fewer of the new order: the rest follows in that order.
        added += [name for name in drawn(len(ids)) if name not in before and name not in added][
            : how.more - len(added)
        ]
        everything = {**drawn(len(ids)), **total}
        return {name: everything[name] for name in (*before, *added)}
    total, first = drawn(how.n + how.more), drawn(how.n)
    if len(total) == len(first):
        raise DataError(f"All {len(ids)} items are in the first {how.n} already: there is none to add.")
    return {name: probability for name, probability in total.items() if name not in first}


def read_draw(path: str | Path) -> tuple[Row, ...]:
    """The rows of a label file, filled in or not."""
    table = Table(path)
    problems = Problems(table)
    rows = [row for _, row in table.rows(problems.add)]
    if not problems and not any(row.get("item") for row in rows):
        problems.add(0, "no column 'item' with a value. Give a file that adjudge sample wrote.")
    if problems:
        raise problems.error()
    return tuple(row for row in rows if row.get("item"))


def _given(
    rows: Sequence[Row], protocols: Collection[Protocol], hashes: Mapping[tuple[str, str], str]
) -> tuple[dict[tuple[str, str, str], list[tuple[str, str]]], int]:
    """The raters and values of an earlier file, and how many values are of another text."""
    given: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
    n_of_other_texts = 0
    for row in rows:
        item, criterion, subject, rater, value = (
            "" if row.get(name) is None else str(row[name])
            for name in ("item", "criterion", "subject", "rater", "value")
        )
        read = row.get("text_hash") or hash_of_row(criterion, row, protocols)
        if value and read and read != hashes.get((item, criterion), read):
            n_of_other_texts += 1
            value = ""
        given[item, criterion, subject].append((rater, value))
    return given, n_of_other_texts


def _fields(item: Item, hidden: Container[str]) -> dict[str, str]:
    """The texts that a rater reads; a field named like a column of the file gets a suffix."""
    return {
        f"{name} (text)" if name in LABEL_COLUMNS else name: shown_text(value)
        for name, value in item.fields.items()
        if name not in hidden
    }
