"""The file of items to judge: checked completely before any money is spent, then streamed.

Knows the reserved keys and the renaming of fields, and nothing of protocols: a function checks what
a protocol needs of an item. A field is a text, a list of texts, or a transcript; null means that
there is no value. Memory stays small for a million items: eight bytes of each are kept, to find
items with the same id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from ..did_you_mean import did_you_mean
from ..errors import DataError
from ..records import FieldValue, Item, Message
from ..untrusted import has_control, safe
from .encoding import BadRowError, BrokenFileError
from .item_ids import RepeatedIds, SeenIds, content_id
from .json_rows import Row
from .langchain import chain_messages, messages_in_text
from .messages import conversation, nested_json, scalar_text
from .table import Problems, Table

_CONVERSATIONS = ("conversation", "messages", "trace")
"""The names of the field that is a conversation: a text in it that holds messages in JSON, as in a CSV file,
is these messages. In any other field it may be what a model wrote, and stays a text."""

_OPENING = ("[", "{")


def _messages_of(entry: object) -> list[object]:
    """An entry of a list; one that `dumps` of LangChain wrote is the messages in it."""
    return messages_in_text(entry) or [entry] if type(entry) is str else [entry]


def fields_of(row: Row) -> dict[str, FieldValue]:
    """All values of a row as fields, without those that are null."""
    for value in row.values():
        if type(value) is not str or value[:1] in _OPENING:
            break
    else:
        return row  # as in most rows, all values are texts
    return {name: field_value(name, value) for name, value in row.items() if value is not None}


def field_value(name: str, value: object) -> FieldValue:
    """One value, which is not null, as a field."""
    if type(value) is str and (messages := messages_in_text(value, name in _CONVERSATIONS)):
        return conversation(name, messages)
    if isinstance(value, list):
        return conversation(name, [message for entry in value for message in _messages_of(entry)])
    if not isinstance(value, dict):
        return scalar_text(value)
    records = conversation(name, chain_messages(value) or [])
    return records if any(isinstance(record, Message) for record in records) else nested_json(name, value)


ID_LIMIT = 2_000
"""Characters in an id."""


UNKNOWN_SYSTEM = ("(unknown)",)
"""In place of the system of a line that cannot be read."""


_MOST_SYSTEMS = 10_000


RESERVED = ("id", "system", "group", "system_a", "system_b")
"""Keys that say what an item is; every other key is an input field."""


class ItemFile:
    """A file of items, in any format of `Table`.

    `renames` is input → field of the file. An item without an id gets a hash of its content; in a run
    that was started before this was so, `ids_are_lines` makes it the line number (CSV: the line at which
    its record starts; Parquet and a JSON list: the number of the record).
    `check` returns further problems of an item; `outputs` the fields of a row that hold the judged text,
    which is there although it is empty; `traces` is the file whose traces the lines are. Without
    `unique_ids` lines may share an id, as the outputs of several systems for one input do.
    """

    def __init__(
        self,
        path: str | Path | Table,
        renames: Mapping[str, str] | None = None,
        *,
        check: Callable[[Item], Sequence[str]] | None = None,
        outputs: Callable[[Row], Collection[str]] = lambda _: (),
        traces: str = "",
        unique_ids: bool = True,
    ) -> None:
        self._table = path if isinstance(path, Table) else Table(path)
        self._unique_ids = unique_ids
        if traces:
            self._table.name, self._table.unit = traces, "trace"
        self.path = self._table.path
        self._renames = {name: field for name, field in (renames or {}).items() if name != field}
        self._check_item = check
        self._outputs = outputs
        self._system_keys = [self._renames.get(key, key) for key in ("system", "system_a", "system_b")]
        self._left_out: Counter[tuple[str, ...] | None] = Counter()
        self._systems: set[str] = set()
        self.limit: int | None = None
        """how many items are used; lines after them are not left out"""
        self._bad: tuple[str, ...] | None = None
        self._bad_rows: set[int] = set()
        self._repeated: set[int] = set()
        self.ids_are_lines = False
        self.n_without_id = 0
        """of the good items, after a check"""

    def check(self, *, skip_bad: bool = False) -> int:
        """Read the whole file; the number of items, or one error that lists every problem.

        With `skip_bad` the bad lines are skipped from now on and listed by `bad()`. A problem of the
        whole file, or a file without any good item, is still an error.
        """
        problems = Problems(self._table)
        self._bad, self._bad_rows, self.n_without_id = None, set(), 0
        self._left_out.clear()
        ids = SeenIds()
        unseen = _UnseenFields(self._renames)
        n_good = 0

        def report(row_number: int, text: str) -> None:
            problems.add(row_number, text)
            self._left_out[None] += 1

        try:
            for row_number, row in self._table.rows(report):
                unseen.add(row)
                systems = [row.get(key) for key in self._system_keys]  # the check takes them out of the row
                is_good = self._check_row(row_number, row, ids, problems)
                n_good += is_good
                if not is_good and (self.limit is None or n_good < self.limit):
                    self._left_out[_known_systems(systems)] += 1
        except BrokenFileError as broken:
            if not problems:
                raise
            problems.add(0, broken.problem)
            raise problems.error() from None
        self._repeated = ids.repeated()
        if self._repeated:
            n_good -= self._name_repeated(problems, skip_bad)
        self._check_whole(n_good, unseen, problems)
        if problems.of_file or not n_good or (problems and not skip_bad):
            raise problems.error()
        self._bad, self._bad_rows = problems.texts(), problems.row_numbers()
        return n_good

    @property
    def has_repeated_ids(self) -> bool:
        """Whether items share an id; known after a check."""
        return bool(self._repeated)

    def left_out(self) -> dict[tuple[str, ...], int]:
        """How many lines a check with `skip_bad` skips, by system, or by both systems of a pair.

        The system of a line that cannot be read is not known, unless no other line has one.
        """
        unknown = ("all",) if self._systems <= {"all"} else UNKNOWN_SYSTEM
        counts: Counter[tuple[str, ...]] = Counter()
        for systems, n in self._left_out.items():
            counts[unknown if systems is None else systems] += n
        return dict(counts)

    def bad(self) -> tuple[str, ...]:
        """The problems of the lines that are skipped; checks the file if that was not done yet."""
        if self._bad is None:
            self.check(skip_bad=True)
        return self._bad or ()

    def __iter__(self) -> Iterator[Item]:
        """The items one by one, without the bad lines of a check with `skip_bad`."""
        bad_rows, repeated = self._bad_rows, RepeatedIds(self._repeated)
        for row_number, row in self._table.rows(self._refuse_new):
            if row_number in bad_rows:
                continue
            try:
                item = self._item(row_number, row)
            except BadRowError as bad:
                raise DataError(f"{self._table.name}: {self._table.unit} {row_number}: {bad}") from None
            yield item if item.has_id else repeated.numbered(item)

    def item(self, number: int) -> Item:
        """The item on line `number` of a JSONL file; in other formats the record of this number, from 1."""
        by_line = self._table.is_by_line
        where = f"{self.path}: {'line' if by_line else 'record'} {number}"
        count = current = 0

        def count_bad(row_number: int, text: str) -> None:
            nonlocal count, current
            count += 1
            current = row_number if by_line else count
            if current == number:
                raise DataError(f"{where}: {text}")

        numbered_row: tuple[int, Row] | None = None
        for numbered_row in self._table.rows(count_bad):
            count += 1
            current = numbered_row[0] if by_line else count
            if current >= number:
                break
        if numbered_row is None or current < number:
            raise DataError(f"{where}: there is no such item. The last one is number {current}.")
        if current > number:
            raise DataError(
                f"{where}: there is no item. Lines and records count from 1; blank lines are not items."
            )
        try:
            return self._item(*numbered_row)
        except BadRowError as bad:
            raise DataError(f"{where}: {bad}") from None

    def _item(self, row_number: int, row: Row) -> Item:
        by_input = renamed(row, self._renames) if self._renames else row
        if None in by_input.values():
            by_input = {**by_input, **dict.fromkeys(self._outputs(by_input), "")}
        if by_input.get("id") is not None:
            return _item(row_number, by_input, None)
        # Of the row as it is in the file: the same file judged with another --map keeps its ids.
        return _item(row_number, by_input, str(row_number) if self.ids_are_lines else content_id(row))

    def _check_row(self, row_number: int, row: Row, ids: SeenIds, problems: Problems) -> bool:
        """Whether the row is a good item; adds what is wrong with it to the problems."""
        try:
            item = self._item(row_number, row)
        except BadRowError as bad:
            problems.add(row_number, str(bad))
            return False
        further = self._check_item(item) if self._check_item is not None else ()
        for text in further:
            problems.add(row_number, text)
        if self._unique_ids or not item.has_id:
            ids.add(item.id)
        if len(self._systems) < _MOST_SYSTEMS:
            self._systems.add(item.system if item.system_a is None else "")
        self.n_without_id += not item.has_id and not further
        return not further

    def _name_repeated(self, problems: Problems, skip_bad: bool) -> int:
        """Read the file again to report the lines of repeated ids; returns how many there are."""
        repeated = RepeatedIds(self._repeated)
        # The id of a skipped line may be used by another line.
        skipped = problems.row_numbers() if skip_bad else set()
        unit = self._table.unit
        n_repeated = 0
        for row_number, row in self._table.rows(lambda *_: None):
            if row_number in skipped:
                continue
            systems = [row.get(key) for key in self._system_keys]
            try:
                item = repeated.numbered(self._item(row_number, row))
            except BadRowError:
                continue
            earlier = repeated.earlier_row(item, row_number)
            if earlier is None:
                continue
            n_repeated += 1
            self._left_out[_known_systems(systems)] += 1
            problems.add(
                row_number,
                f"id '{item.id:.80}' is already used on {unit} {earlier}. "
                "Give each item a unique id, or remove one of the two.",
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
        # A renaming of a field that no item has may be why every line lacks an input.
        for text in unseen.problems():
            problems.add(0, text)
        if n_good > 0 and problems and not problems.of_file:
            problems.remark = "To judge the others, and count these as failures of their systems: --skip-bad."

    def _refuse_new(self, row_number: int, text: str) -> None:
        """Report a bad line that no check has found: the file was not checked, or has changed."""
        if row_number not in self._bad_rows:
            raise DataError(f"{self._table.name}: {self._table.unit} {row_number}: {text}")


class _UnseenFields:
    """The fields to rename that no item has had so far, and the fields that items do have."""

    def __init__(self, renames: Mapping[str, str]) -> None:
        self._unseen = {field: name for name, field in renames.items()}
        self._seen: set[str] = set()

    def add(self, row: Row) -> None:
        if self._unseen:
            self._seen.update(row)
            for field in [field for field in self._unseen if has_field(row, field)]:
                del self._unseen[field]

    def problems(self) -> Iterator[str]:
        if not self._seen:
            # No row could be read, so the fields of the file are not known.
            return
        for field, name in self._unseen.items():
            fields = ", ".join(sorted(self._seen - set(RESERVED))[:20])
            hint = did_you_mean(field, self._seen, f"The fields are: {fields}.")
            yield f"map {name}={field}: no item has a field '{field}'. {hint}"


def _known_systems(names: Sequence[object]) -> tuple[str, ...]:
    """The system of a bad row, or both systems of a pair, as far as they can be read."""
    single, *pair = (str(name).strip() if isinstance(name, str | int | float) else "" for name in names)
    if any(pair):
        return tuple(name or "all" for name in pair)
    return (single or "all",)


def has_field(row: Row, field: str) -> bool:
    """Whether a row has a field, which may be inside others: `outputs.answer`, `choices.0.text`."""
    return field in row or ("." in field and _inside(row, field) is not _NOTHING)


_NOTHING = object()


def _inside(row: Row, path: str) -> object:
    """The value at a path of keys and positions, joined by dots."""
    value: object = row
    for key in path.split("."):
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return _NOTHING
    return value


def renamed(row: Row, renames: Mapping[str, str]) -> Row:
    """The row with its fields under the names of the inputs; all renames happen at once.

    A value inside another field is copied; the field that it is inside stays.
    """
    moved = {
        name: row[field] if field in row else _inside(row, field)
        for name, field in renames.items()
        if has_field(row, field)
    }
    # A field that a reserved key is read from (`--map group=question`) stays: the judge may see it, too.
    removed = {field for name, field in renames.items() if name not in RESERVED}
    for name in moved:
        is_part_of_itself = renames[name].startswith(f"{name}.")
        if row.get(name) is not None and name not in removed and not is_part_of_itself:
            raise BadRowError(
                f"map {name}={renames[name]}: the item has a field '{name}' too. Leave the renaming out, "
                f"or take '{name}' out of the file."
            )
    return {key: value for key, value in row.items() if key not in removed} | moved


def _item(row_number: int, row: Row, unnamed_id: str | None) -> Item:
    """The item that a row holds; the row is modified. Every item passes here twice, so the usual
    case is handled without a function call. `unnamed_id` is its id where the row has none."""
    item_id = row.pop("id", None)
    system = row.pop("system", None)
    group = row.pop("group", None)
    if unnamed_id is not None:
        item_id = unnamed_id
    elif (
        type(item_id) is not str
        or not item_id.isprintable()
        or not 0 < len(item_id) <= ID_LIMIT
        or item_id.isspace()
    ):
        item_id = _id_text(item_id)
    if group is not None:
        group = _reserved_text("group", group)
    if "system_a" in row or "system_b" in row:
        return _pair(row_number, item_id, system, group, row, unnamed_id is None)
    if system is None:
        system = "all"
    elif type(system) is not str or system.isspace() or not system:
        system = _reserved_text("system", system)
    return Item(item_id, fields_of(row), system, None, None, group, row_number, unnamed_id is None)


def _pair(row_number: int, item_id: str, system: object, group: str | None, row: Row, has_id: bool) -> Item:
    sides = {key: row.pop(key, None) for key in ("system_a", "system_b")}
    systems = {key: _reserved_text(key, value) for key, value in sides.items() if value is not None}
    if systems and system is not None:
        raise BadRowError(
            f"both 'system' and '{next(iter(systems))}' are given. A pair has 'system_a' and 'system_b', "
            "a single response has 'system'."
        )
    fields: dict[str, FieldValue] = fields_of(row)
    name = "all" if system is None else _reserved_text("system", system)
    pair = systems.get("system_a"), systems.get("system_b")
    return Item(item_id, fields, name, *pair, group, row_number, has_id)


_ADVICE_IF_EMPTY = {
    "id": "Give each item a unique id, or leave 'id' out to use a hash of its content.",
    "group": "Name the document or prompt that the item belongs to, or leave 'group' out.",
}


def _id_text(value: object) -> str:
    """An id, which stands in tables, addresses and commands: bounded, and without control characters."""
    text = _reserved_text("id", value)
    if len(text) > ID_LIMIT:
        raise BadRowError(
            f"field 'id' has {len(text)} characters ('{safe(text[:40])}…'); at most {ID_LIMIT} are allowed."
            " Give a shorter id."
        )
    if has_control(text):
        raise BadRowError(
            f"field 'id' has a control character ('{safe(text[:80])}'). Use printable characters only."
        )
    return text


def _reserved_text(key: str, value: object) -> str:
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
        advice = _ADVICE_IF_EMPTY.get(key) or f"Name the system, or leave '{key}' out."
        raise BadRowError(f"field '{key}' is empty. {advice}")
    return text
