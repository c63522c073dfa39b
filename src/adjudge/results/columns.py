"""The results of a run as columns: what is filtered, sorted and counted without a record of each result.

A column holds numbers, not a number where there is none, or names: each row has the code of one, -1 for none.
Rows are in the order of the items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ..store.results import COLUMNS

Mask = npt.NDArray[np.bool_]
"""which rows"""

Rows = npt.NDArray[np.int64]
"""numbers of rows"""

Numbers = npt.NDArray[np.float64]

NUMBERS = ("value", "confidence", "samples_gap", "judges_gap", "orders_gap")
NAMES = ("item", "input", "protocol", "criterion", "model", "status", "system", "subject", "how", "choice",
         "system_a", "system_b", "flags")  # fmt: skip

_flags = msgspec.json.Decoder(tuple[str, ...]).decode


class Names:
    """A column of names."""

    def __init__(self, names: list[str], codes: npt.NDArray[np.int32]) -> None:
        self.names = names
        self.codes = codes
        self._code_of = {name: code for code, name in enumerate(names)}

    @classmethod
    def of_rows(cls, n_rows: int, names: Mapping[int, str]) -> Names:
        """A column of which some rows have a name."""
        codes: dict[str, int] = {}
        of_row = np.full(n_rows, -1, np.int32)
        for row, name in names.items():
            of_row[row] = codes.setdefault(name, len(codes))
        return cls(list(codes), of_row)

    def __getitem__(self, row: int) -> str | None:
        code = self.codes[row]
        return None if code < 0 else self.names[code]

    def code(self, name: str) -> int:
        """The code of a name; one that no row has where it is unknown."""
        return self._code_of.get(name, len(self.names))

    def counts(self, mask: Mask | Rows | None = None) -> list[tuple[str, int]]:
        """How many rows, or how many of some rows, have each name; names that no row has are left out."""
        codes = self.codes if mask is None else self.codes[mask]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.names))
        return [(name, int(n)) for name, n in zip(self.names, counts, strict=True) if n]

    def ranks(self) -> npt.NDArray[np.int32]:
        """For each row the place of its name in the alphabet, in which case does not count; -1 for none."""
        folded = [name.lower() for name in self.names]
        place = {name: rank for rank, name in enumerate(sorted(set(folded)))}
        ranks = np.array([*(place[name] for name in folded), -1], np.int32)
        return ranks[self.codes]


class Columns:
    """The columns of some results."""

    def __init__(self, seq: Rows, number: Rows, numbers: dict[str, Numbers], names: dict[str, Names]) -> None:
        self.seq = seq
        """the item's number"""
        self.number = number
        """which result of its item, from 0"""
        self.numbers = numbers
        self.names = names
        self._orders: dict[tuple[str, bool], Rows] = {}

    def __len__(self) -> int:
        return len(self.seq)

    def with_columns(
        self, numbers: Mapping[str, Mapping[int, float]], names: Mapping[str, Mapping[int, str]]
    ) -> Columns:
        """The same with more columns, of which some rows have a number or a name."""
        more = {name: np.full(len(self), np.nan) for name in numbers}
        for name, values in numbers.items():
            for row, value in values.items():
                more[name][row] = value
        named = {name: Names.of_rows(len(self), values) for name, values in names.items()}
        return Columns(self.seq, self.number, {**self.numbers, **more}, {**self.names, **named})

    # Which rows

    def all_rows(self) -> Mask:
        return np.ones(len(self), np.bool_)

    def has(self, column: str) -> Mask:
        """The rows that have a number, or a name."""
        if column in self.numbers:
            return ~np.isnan(self.numbers[column])
        return self.names[column].codes >= 0

    def equals(self, column: str, name: str) -> Mask:
        """The rows with this name."""
        mask: Mask = self.names[column].codes == self.names[column].code(name)
        return mask

    def with_flag(self, flag: str) -> Mask:
        column = self.names["flags"]
        return np.isin(column.codes, [code for code, text in enumerate(column.names) if f" {flag} " in text])

    def within(self, column: str, low: float | None = None, high: float | None = None) -> Mask:
        """The rows whose number is between two ends; rows without a number are not."""
        values = self.numbers[column]
        mask = self.has(column)
        if low is not None:
            mask &= values >= low
        if high is not None:
            mask &= values <= high
        return mask

    def above(self, column: str, low: float) -> Mask:
        return self.numbers[column] > low

    def of_items(self, seqs: Iterable[int]) -> Mask:
        """The rows of items, by their numbers."""
        return np.isin(self.seq, np.fromiter(seqs, np.int64))

    def of_item(self, seq: int) -> range:
        """The rows of one item."""
        first, end = np.searchsorted(self.seq, [seq, seq + 1])
        return range(int(first), int(end))

    def of_item_named(self, item: str) -> range:
        """The rows of one item, by its id."""
        # Items have codes in the order of their rows.
        names = self.names["item"]
        first, end = np.searchsorted(names.codes, [names.code(item), names.code(item) + 1])
        return range(int(first), int(end))

    # In which order

    def in_order(self, column: str, *, is_down: bool) -> Rows:
        """All rows by a column; equal rows in the order of the items, and rows without a number last."""
        key = (column, is_down)
        if key not in self._orders:
            is_number = column in self.numbers
            values: npt.NDArray[Any] = self.numbers[column] if is_number else self.names[column].ranks()
            self._orders[key] = np.argsort(-values if is_down else values, kind="stable")
        return self._orders[key]

    def selected(self, mask: Mask, column: str = "", *, is_down: bool = False) -> Rows:
        """The rows of a mask by a column; in the order of the items without one."""
        if not column:
            return np.flatnonzero(mask)
        order = self.in_order(column, is_down=is_down)
        return order[mask[order]]

    # In groups

    def groups(self, column: str, rows: Rows) -> Groups:
        """Rows that have a common name; rows in the order of the items."""
        codes = self.names[column].codes[rows].astype(np.int64)
        first = np.full(len(self.names[column].names) + 1, len(rows))
        first[codes[::-1]] = np.arange(len(rows) - 1, -1, -1)
        first[-1] = len(rows)  # rows without a name
        found = np.flatnonzero(first < len(rows))
        return Groups(codes, found[np.argsort(first[found], kind="stable")].tolist())

    def ends(self, column: str, rows: Rows) -> tuple[float, float] | None:
        """The lowest and the highest number of some rows; none where they have no number."""
        values = self.numbers[column][rows]
        values = values[~np.isnan(values)]
        return (float(values.min()), float(values.max())) if len(values) else None

    def with_codes(self, column: str, codes: Sequence[int], rows: Rows) -> Rows:
        """Those of some rows whose name has one of these codes."""
        return rows[np.isin(self.names[column].codes[rows], codes)]

    def join(self, name: str, columns: tuple[str, str]) -> None:
        """Add a column of pairs of names, in either order; rows that lack one of them have none."""
        if name in self.names:
            return
        left, right = (self.names[column] for column in columns)
        both = left.codes.astype(np.int64) * (len(right.names) + 1) + right.codes
        both[(left.codes < 0) | (right.codes < 0)] = -1
        pairs, place = np.unique(both, return_inverse=True)
        codes: dict[str, int] = {}
        code_of = [-1] * len(pairs)
        for at, pair in enumerate(pairs.tolist()):
            if pair >= 0:
                first, second = divmod(pair, len(right.names) + 1)
                names = sorted((left.names[first], right.names[second]))
                code_of[at] = codes.setdefault(" – ".join(names), len(codes))
        self.names[name] = Names(list(codes), np.array(code_of, np.int32)[place.reshape(-1)])


class Groups:
    """Rows by a name that they have in common."""

    def __init__(self, codes: Rows, order: Sequence[int]) -> None:
        self._codes = codes
        self.order = order
        """the codes of the names, in the order in which they appear"""

    def spread_first(self, low: Numbers, high: Numbers) -> list[int]:
        """The codes, those with the largest distance between the lowest `low` and the highest `high` first,
        and those without numbers last.
        """
        size = max(self.order, default=-1) + 1
        lowest, highest = np.full(size, np.inf), np.full(size, -np.inf)
        is_known = (self._codes >= 0) & ~np.isnan(low) & ~np.isnan(high)
        np.minimum.at(lowest, self._codes[is_known], low[is_known])
        np.maximum.at(highest, self._codes[is_known], high[is_known])
        order = np.array(self.order, np.int64)
        in_order: list[int] = order[np.argsort(lowest[order] - highest[order], kind="stable")].tolist()
        return in_order

    def largest_first(self, values: Numbers) -> list[int]:
        """The codes, those with the largest value first and those without any last."""
        return self.spread_first(np.where(np.isnan(values), np.nan, 0.0), values)


class ColumnsBuilder:
    """Makes columns of rows as the store gives them, in the order of the items."""

    def __init__(self) -> None:
        self._parts: dict[str, list[npt.NDArray[Any]]] = {
            name: [] for name in ("seq", "number", *NUMBERS, *NAMES)
        }
        self._codes: dict[str, dict[str | None, int]] = {name: {None: -1} for name in NAMES}

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows of `store.results.COLUMNS`."""
        if not rows:
            return
        by_name: dict[str, Sequence[Any]] = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
        items, groups, labels = by_name["item"], by_name["group"], by_name["label"]
        by_name["input"] = [
            item if group is None else group for item, group in zip(items, groups, strict=True)
        ]
        if any(label is not None for label in labels):
            # A class is shown by its name, as a choice is; its number means nothing.
            named = list(zip(labels, by_name["value"], by_name["choice"], strict=True))
            by_name["value"] = [None if label is not None else value for label, value, _ in named]
            by_name["choice"] = [label or choice for label, _, choice in named]
        for name in ("seq", "number"):
            self._parts[name].append(np.array(by_name[name], np.int64))
        for name in NUMBERS:
            self._parts[name].append(np.array(by_name[name], np.float64))
        for name in NAMES:
            self._parts[name].append(self._coded(name, by_name[name]))

    def _coded(self, name: str, values: Sequence[str | None]) -> npt.NDArray[np.int32]:
        codes = self._codes[name]
        for value in dict.fromkeys(values):
            codes.setdefault(value, len(codes) - 1)
        return np.fromiter(map(codes.__getitem__, values), np.int32, len(values))

    def columns(self) -> Columns:
        def joined(name: str, kind: Any) -> Any:
            return np.concatenate([np.empty(0, kind), *self._parts[name]]).astype(kind, copy=False)

        texts = {name: [text for text in codes if text is not None] for name, codes in self._codes.items()}
        # Spaces around each flag, so that one is not found in the name of another.
        texts["flags"] = [f" {' '.join(_flags(text))} " for text in texts["flags"]]
        names = {name: Names(texts[name], joined(name, np.int32)) for name in NAMES}
        return Columns(
            joined("seq", np.int64),
            joined("number", np.int64),
            {name: joined(name, np.float64) for name in NUMBERS},
            names,
        )
