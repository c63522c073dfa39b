"""The words that differ between two texts, as spans of each."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

Span = tuple[int, int]


_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"


_TOKEN = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+|[^\w\s]")
"""A word, a sign, or one character of a script that has no spaces between words."""


_MOST_CELLS = 60_000
"""Of the table of one exact comparison; a longer part is first divided at words that both texts have once."""


_ALL_CELLS = 400_000


_DEEPEST = 6


def changed_spans(before: str, after: str) -> tuple[list[Span], list[Span]]:
    """What differs between two texts, word by word, as spans
    of each; in time that grows with their length only.
    """
    tokens = [list(_TOKEN.finditer(text)) for text in (before, after)]
    first, second = ([match[0] for match in found] for found in tokens)
    kept = _Kept(first, second)
    return _spans(tokens[0], kept.first), _spans(tokens[1], kept.second)


class _Kept:
    """Which words two texts have in common, in the same order."""

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        self._a, self._b = first, second
        self.first: set[int] = set()
        self.second: set[int] = set()
        self._cells = _ALL_CELLS
        parts = [(0, len(first), 0, len(second), 0)]
        while parts:
            parts += self._divide(*parts.pop())

    def _keep(self, a: int, b: int) -> None:
        self.first.add(a)
        self.second.add(b)

    def _divide(
        self, a: int, a_end: int, b: int, b_end: int, depth: int
    ) -> list[tuple[int, int, int, int, int]]:
        """Compare one part of both texts; what is too long for that is divided, and returned in parts."""
        while a < a_end and b < b_end and self._a[a] == self._b[b]:
            self._keep(a, b)
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and self._a[a_end - 1] == self._b[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            self._keep(a_end, b_end)
        n_cells = (a_end - a) * (b_end - b)
        if not n_cells:
            return []
        if n_cells <= min(_MOST_CELLS, self._cells):
            self._cells -= n_cells
            self._compare(a, a_end, b, b_end)
            return []
        if depth == _DEEPEST:
            return []
        parts: list[tuple[int, int, int, int, int]] = []
        for a_anchor, b_anchor in (*self._anchors(a, a_end, b, b_end), (a_end, b_end)):
            if (a_anchor, b_anchor) == (a_end, b_end) and not parts and a == a_anchor:
                break
            parts.append((a, a_anchor, b, b_anchor, depth + 1))
            a, b = a_anchor, b_anchor
        return parts if len(parts) > 1 else []

    def _anchors(self, a: int, a_end: int, b: int, b_end: int) -> list[tuple[int, int]]:
        """Places of words that both parts have once, as many as are in the same order (patience)."""
        counts = [Counter(self._a[a:a_end]), Counter(self._b[b:b_end])]
        place_of = {word: b + k for k, word in enumerate(self._b[b:b_end]) if counts[1][word] == 1}
        places = [
            (a + k, place_of[word])
            for k, word in enumerate(self._a[a:a_end])
            if counts[0][word] == 1 and word in place_of
        ]
        ends: list[int] = []
        last: list[int] = []
        before: list[int | None] = []
        for index, (_, place) in enumerate(places):
            length = bisect_left(ends, place)
            before.append(last[length - 1] if length else None)
            ends[length : length + 1] = [place]
            last[length : length + 1] = [index]
        chain: list[tuple[int, int]] = []
        at = last[-1] if last else None
        while at is not None:
            chain.append(places[at])
            at = before[at]
        return [place for place in reversed(chain) if place != (a, b)]

    def _compare(self, a: int, a_end: int, b: int, b_end: int) -> None:
        """The longest common sequence, from a table of lengths."""
        wide = b_end - b + 1
        lengths = [[0] * wide]
        for word in self._a[a:a_end]:
            above, row = lengths[-1], [0]
            for k in range(1, wide):
                is_same = word == self._b[b + k - 1]
                row.append(above[k - 1] + 1 if is_same else max(above[k], row[-1]))
            lengths.append(row)
        i, k = a_end - a, wide - 1
        while i and k:
            if self._a[a + i - 1] == self._b[b + k - 1]:
                i, k = i - 1, k - 1
                self._keep(a + i, b + k)
            elif lengths[i - 1][k] >= lengths[i][k - 1]:
                i -= 1
            else:
                k -= 1


def _spans(tokens: Sequence[re.Match[str]], kept: set[int]) -> list[Span]:
    """The spans of the words that are not kept; neighbours are one span."""
    spans: list[Span] = []
    was_changed = False
    for number, match in enumerate(tokens):
        is_changed = number not in kept
        if is_changed and was_changed:
            spans[-1] = (spans[-1][0], match.end())
        elif is_changed:
            spans.append(match.span())
        was_changed = is_changed
    return spans
