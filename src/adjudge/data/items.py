"""The file of items to judge: checked as a whole before any money is spent, then streamed.

Knows the reserved keys and the renaming of fields, and nothing of protocols: what a protocol
needs of an item comes in as a function. Memory stays small for a million items: what is
kept of each is eight bytes, by which two items with the same id are found.
"""

from __future__ import annotations

import difflib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ..errors import DataError
from ..records import FieldValue, Item, Message
from .tables import BadRowError, BrokenFileError, Problems, Row, Table, json_text

# What a value in a table is as a field of an item: a text, a list of texts, or a transcript.
#
# Pure. A value that cannot be shown to a judge without losing something is a `BadRowError`; null means
# that there is no value, everywhere.


def fields_of(row: Row) -> dict[str, FieldValue]:
    """All values of a row as fields; absent ones are left out."""
    for value in row.values():
        if type(value) is not str:
            break
    else:
        return row  # texts alone, as most rows: nothing to convert
    return {name: field_value(name, value) for name, value in row.items() if value is not None}


def field_value(name: str, value: object) -> FieldValue:
    """One value, which is not null, as a field."""
    if isinstance(value, list):
        return tuple(
            _entry(name, place, entry) for place, entry in enumerate(value, start=1) if entry is not None
        )
    return scalar_text(value) if not isinstance(value, dict) else _json(name, value)


def scalar_text(value: object) -> str:
    """A text, number or truth value as text, as it is written in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _entry(name: str, place: int, value: object) -> str | Message:
    if isinstance(value, dict) and "role" in value and "content" in value:
        return _message(name, place, value)
    return _json(name, value) if isinstance(value, dict | list) else scalar_text(value)


def _message(name: str, place: int, entry: Row) -> Message:
    where = f"message {place} of field '{name:.80}'"
    role, content = entry["role"], entry["content"]
    if type(role) is not str or not role:
        raise BadRowError(f'{where} has no role. Give it one, such as "user" or "assistant".')
    for call in ("tool_calls", "function_call"):
        if entry.get(call):
            raise BadRowError(
                f"{where} has '{call}', which a transcript does not show. Write the call into its content."
            )
    if isinstance(content, list):
        return Message(role, "".join(_part(where, part) for part in content))
    if content is None or isinstance(content, dict):
        raise BadRowError(f"{where} has no text as content. Give the text, or remove the message.")
    return Message(role, scalar_text(content))


def _part(where: str, part: object) -> str:
    if isinstance(part, str):
        return str(part)
    if (
        not isinstance(part, dict)
        or not isinstance(part.get("text"), str)
        or part.get("type", "text") != "text"
    ):
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        raise BadRowError(
            f"{where} has a part of type '{kind}'. Only text parts can be judged: describe the part in words, "
            "or remove it."
        )
    return str(part["text"])


def _json(name: str, value: object) -> str:
    try:
        return json_text(value)
    except RecursionError:
        raise BadRowError(
            f"field '{name:.80}' is nested too deeply. Flatten it, or give it as a text."
        ) from None


RESERVED = ("id", "system", "group", "system_a", "system_b")
"""Keys that say what an item is; every other key is an input field."""


class ItemFile:
    """A file of items, in any format of `Table`.

    `renames` is input → field of the file. An item without an id has its line number for one (CSV: the
    line at which its record starts; Parquet and a JSON list: the number of the record).
    `check` gives further problems of an item.
    """

    def __init__(
        self,
        path: str | Path,
        renames: Mapping[str, str] | None = None,
        *,
        check: Callable[[Item], Sequence[str]] | None = None,
    ) -> None:
        self.path = Path(path)
        self._table = Table(path)
        self._renames = {name: field for name, field in (renames or {}).items() if name != field}
        self._check_item = check
        self._bad: tuple[str, ...] | None = None
        self._bad_places: set[int] = set()

    def check(self, *, skip_bad: bool = False) -> int:
        """Read the whole file; the number of items, or one error that lists every problem.

        With `skip_bad` the bad lines are left out from now on and told by `bad()`. What is wrong
        with the file as a whole, or leaves no item, is an error all the same.
        """
        problems = Problems(self._table)
        self._bad, self._bad_places = None, set()
        ids = _Ids()
        unseen = _UnseenFields(self._renames)
        n_good = 0
        try:
            for place, row in self._table.rows(problems.add):
                unseen.look_at(row)
                n_good += self._check_row(place, row, ids, problems)
        except BrokenFileError as broken:
            if not problems:
                raise
            problems.add(0, broken.problem)
            raise problems.error() from None
        if repeated := ids.repeated():
            n_good -= self._name_repeated(repeated, problems, skip_bad)
        self._check_whole(n_good, unseen, problems)
        if problems.of_file or not n_good or (problems and not skip_bad):
            raise problems.error()
        self._bad, self._bad_places = problems.texts(), problems.places()
        return n_good

    def bad(self) -> tuple[str, ...]:
        """The problems of the lines that are left out; checks the file where that was not done."""
        if self._bad is None:
            self.check(skip_bad=True)
        return self._bad or ()

    def __iter__(self) -> Iterator[Item]:
        """The items one by one, without the lines that a check with `skip_bad` found bad."""
        bad_places = self._bad_places
        for place, row in self._table.rows(self._refuse_new):
            if place in bad_places:
                continue
            try:
                item = self._item(place, row)
            except BadRowError as bad:
                raise DataError(f"{self.path}: {self._table.unit} {place}: {bad}") from None
            yield item

    def item(self, number: int) -> Item:
        """The item on line `number` of a JSONL file; elsewhere the record of this number, from 1."""
        by_line = self._table.is_by_line
        where = f"{self.path}: {'line' if by_line else 'record'} {number}"
        count = here = 0

        def count_bad(place: int, text: str) -> None:
            nonlocal count, here
            count += 1
            here = place if by_line else count
            if here == number:
                raise DataError(f"{where}: {text}")

        found: tuple[int, Row] | None = None
        for found in self._table.rows(count_bad):
            count += 1
            here = found[0] if by_line else count
            if here >= number:
                break
        if found is None or here < number:
            raise DataError(f"{where}: there is no such item. The last one is number {here}.")
        if here > number:
            raise DataError(
                f"{where}: no item stands there. Lines and records count from 1; blank lines hold none."
            )
        try:
            return self._item(*found)
        except BadRowError as bad:
            raise DataError(f"{where}: {bad}") from None

    def _item(self, place: int, row: Row) -> Item:
        return _item(place, _renamed(row, self._renames) if self._renames else row)

    def _check_row(self, place: int, row: Row, ids: _Ids, problems: Problems) -> bool:
        """Whether the row is a good item; what is wrong with it goes to the problems."""
        try:
            item = self._item(place, row)
        except BadRowError as bad:
            problems.add(place, str(bad))
            return False
        further = self._check_item(item) if self._check_item is not None else ()
        for text in further:
            problems.add(place, text)
        ids.add(item.id)
        return not further

    def _name_repeated(self, repeated: set[int], problems: Problems, skip_bad: bool) -> int:
        """Read the file again for the lines of the ids that came more than once; how many there are."""
        first: dict[str, int] = {}
        # An id of a line that will be left out is free for another line.
        left_out = problems.places() if skip_bad else set()
        unit = self._table.unit
        n_repeated = 0
        for place, row in self._table.rows(lambda *_: None):
            try:
                item_id = self._item(place, row).id
            except BadRowError:
                continue
            # The hash only picks candidates; the ids themselves decide.
            if (
                hash(item_id) not in repeated
                or place in left_out
                or first.setdefault(item_id, place) == place
            ):
                continue
            n_repeated += 1
            problems.add(
                place,
                f"id '{item_id:.80}' is used on {unit} {first[item_id]} already. "
                "Give each item an id of its own, or remove one of the two.",
            )
        return n_repeated

    def _check_whole(self, n_good: int, unseen: _UnseenFields, problems: Problems) -> None:
        if not n_good and not problems:
            problems.add(0, "no items. Give at least one, or check that this is the right file.")
            return
        if not n_good:
            problems.remark = (
                f"No {self._table.unit} can be used. Correct them, or check that this is the right file."
            )
        # A renaming that finds no field may be why every line lacks an input.
        for text in unseen.problems():
            problems.add(0, text)

    def _refuse_new(self, place: int, text: str) -> None:
        """A line that is bad and not known to be: the file was not checked, or has changed."""
        if place not in self._bad_places:
            raise DataError(f"{self.path}: {self._table.unit} {place}: {text}")


class _Ids:
    """Finds ids that come more than once, at eight bytes an id.

    Hashes of 64 bits, in buckets small enough that a set of one of them costs no memory to speak of.
    """

    def __init__(self) -> None:
        self._buckets = tuple(array("q") for _ in range(64))

    def add(self, item_id: str) -> None:
        value = hash(item_id)
        self._buckets[value & 63].append(value)

    def repeated(self) -> set[int]:
        """The hashes that came more than once. Different ids may share one, if very rarely."""
        found: set[int] = set()
        for bucket in self._buckets:
            if len(set(bucket)) < len(bucket):
                found.update(value for value, n in Counter(bucket).items() if n > 1)
        return found


class _UnseenFields:
    """The renamed fields that no item had so far, and the fields that items have instead."""

    def __init__(self, renames: Mapping[str, str]) -> None:
        self._unseen = {field: name for name, field in renames.items()}
        self._seen: set[str] = set()

    def look_at(self, row: Row) -> None:
        if self._unseen:
            self._seen.update(row)
            for field in self._seen.intersection(self._unseen):
                del self._unseen[field]

    def problems(self) -> Iterator[str]:
        if not self._seen:
            # No row could be read: what fields there are is not known.
            return
        for field, name in self._unseen.items():
            near = difflib.get_close_matches(field, self._seen, n=1)
            fields = ", ".join(sorted(self._seen - set(RESERVED))[:20])
            hint = f"Did you mean '{near[0]}'?" if near else f"The fields are: {fields}."
            yield f"map {name}={field}: no item has a field '{field}'. {hint}"


def _renamed(row: Row, renames: Mapping[str, str]) -> Row:
    """The row with its fields under the names of the inputs; all renames happen at once."""
    taken = {name: row[field] for name, field in renames.items() if field in row}
    # What names the item (`--map group=question`) may be shown to the judge as well: it stays.
    gone = {field for name, field in renames.items() if name not in RESERVED}
    for name in taken:
        if name in row and name not in gone:
            raise BadRowError(
                f"map {name}={renames[name]}: the item has a field '{name}' too. Leave the renaming out, "
                f"or take '{name}' out of the file."
            )
    return {key: value for key, value in row.items() if key not in gone} | taken


def _item(place: int, row: Row) -> Item:
    """The item that a row holds. The row is used up. Every item passes here twice, so what is
    plain is settled without a call."""
    item_id = row.pop("id", None)
    system = row.pop("system", None)
    group = row.pop("group", None)
    if item_id is None:
        item_id = str(place)
    elif type(item_id) is not str or item_id.isspace() or not item_id:
        item_id = _label("id", item_id)
    if group is not None:
        group = _label("group", group)
    if "system_a" in row or "system_b" in row:
        return _pair(place, item_id, system, group, row)
    if system is None:
        system = "all"
    elif type(system) is not str or system.isspace() or not system:
        system = _label("system", system)
    return Item(item_id, fields_of(row), system, None, None, group, place)


def _pair(place: int, item_id: str, system: object, group: str | None, row: Row) -> Item:
    sides = {key: row.pop(key, None) for key in ("system_a", "system_b")}
    given = {key: _label(key, value) for key, value in sides.items() if value is not None}
    if given and system is not None:
        raise BadRowError(
            f"both 'system' and '{next(iter(given))}' are given. A pair has 'system_a' and 'system_b', "
            "a single response has 'system'."
        )
    fields: dict[str, FieldValue] = fields_of(row)
    name = "all" if system is None else _label("system", system)
    return Item(item_id, fields, name, given.get("system_a"), given.get("system_b"), group, place)


_WITHOUT = {
    "id": "Give each item an id of its own, or leave 'id' out: the line number is taken then.",
    "group": "Name the document or prompt that the item belongs to, or leave 'group' out.",
}


def _label(key: str, value: object) -> str:
    """The text of a reserved key, which may be a number in the file."""
    if isinstance(value, bool | list | dict):
        what = (
            "a list"
            if isinstance(value, list)
            else "an object"
            if isinstance(value, dict)
            else "true or false"
        )
        raise BadRowError(f"field '{key}' is {what}. Give a text or a number.")
    text = value if type(value) is str else scalar_text(value)
    if not text or text.isspace():
        advice = _WITHOUT.get(key) or f"Name the system, or leave '{key}' out."
        raise BadRowError(f"field '{key}' is empty. {advice}")
    return text
