"""Finds the items of a run whose text contains a string, in any case.

Texts are kept in memory as UTF-8. A table of bits says which texts may contain each two and each four
neighbouring bytes, by a hash of them, so that only a few texts are searched. Texts may be added in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

Seqs = npt.NDArray[np.int64]
"""numbers of items"""

_Bits = npt.NDArray[np.uint8]

_BLOCK = 1024
"""texts whose bits are made at a time"""

_FEWEST_HASHES, _MOST_HASHES = 256, 4096
_FACTOR = np.uint32(2654435761)
"""Its products with numbers that differ little differ in their upper bits."""


class TextSearch:
    """The texts of items by number, and which of them may contain a string."""

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        self._seqs: list[int] = []
        self._row_of: dict[int, int] = {}
        self._n_hashes = 0
        self._bits: list[_Bits] = []
        """of each block of texts: for each hash, a bit for each text"""

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, seq: int) -> bool:
        return seq in self._row_of

    def add(self, texts: Iterable[tuple[int, str]]) -> None:
        """Add the texts of items by number, or replace those that are known."""
        for seq, text in texts:
            self._row_of[seq] = len(self._texts)
            self._seqs.append(seq)
            self._texts.append(text.lower().encode("utf-8", "surrogatepass"))
        n_new = len(self._texts) - len(self._bits) * _BLOCK
        if n_new >= _BLOCK and not self._n_hashes:
            # About four for each that a text has.
            mean = sum(map(len, self._texts)) / len(self._texts)
            self._n_hashes = _FEWEST_HASHES
            while self._n_hashes < min(_MOST_HASHES, 2 * mean):
                self._n_hashes *= 2
        while n_new >= _BLOCK:
            first = len(self._bits) * _BLOCK
            self._bits.append(_bits_of(self._texts[first : first + _BLOCK], self._n_hashes))
            n_new -= _BLOCK

    def candidates(self, searched: str) -> Seqs:
        """The items whose text may contain a string, in no particular order; most of them do."""
        values = np.frombuffer(_wanted(searched), np.uint8)
        hashes = np.concatenate(_hashes(values, self._n_hashes))
        rows = [np.arange(len(self._bits) * _BLOCK, len(self._texts))]
        for block, bits in enumerate(self._bits):
            possible = np.bitwise_and.reduce(bits[hashes], axis=0)  # all of them where there is no hash
            rows.append(block * _BLOCK + np.flatnonzero(np.unpackbits(possible)))
        found = np.concatenate(rows)
        if len(self._row_of) < len(self._texts):  # without texts that were replaced
            found = found[np.isin(found, list(self._row_of.values()))]
        return np.array(self._seqs, np.int64)[found]

    def containing(self, searched: str) -> Callable[[int], bool]:
        """A function that tells whether the text of an item contains a string."""
        wanted, texts, row_of = _wanted(searched), self._texts, self._row_of
        return lambda seq: seq in row_of and wanted in texts[row_of[seq]]

    def matches(self, searched: str, seqs: Seqs) -> list[int]:
        """Those of some items whose text contains a string."""
        wanted, texts, row_of = _wanted(searched), self._texts, self._row_of
        return [seq for seq in seqs.tolist() if wanted in texts[row_of[seq]]]


def _wanted(searched: str) -> bytes:
    return searched.lower().encode("utf-8", "surrogatepass")


def _hashes(values: _Bits, n_hashes: int) -> list[npt.NDArray[np.int64]]:
    """The hashes of each two neighbouring bytes, and those of each four, which follow them in number."""
    twos = values[:-1].astype(np.uint32)
    twos |= values[1:].astype(np.uint32) << np.uint32(8)
    fours = twos[:-2] | (twos[2:] << np.uint32(16))
    shift = np.uint32(33 - max(2, n_hashes).bit_length())
    return [
        ((grams * _FACTOR) >> shift).astype(np.int64) + number * n_hashes
        for number, grams in enumerate((twos, fours))
    ]


def _bits_of(texts: Sequence[bytes], n_hashes: int) -> _Bits:
    """For each hash, the texts that have neighbouring bytes with it, eight texts to a byte."""
    width = 2 * n_hashes
    has = np.zeros(len(texts) * width, np.bool_)
    # Bytes on both sides of a border count as those of the text before it, which does no harm.
    values = np.frombuffer(b"".join(texts), np.uint8)
    start_of = np.repeat(np.arange(len(texts)) * width, [len(text) for text in texts])
    for hashes in _hashes(values, n_hashes):
        hashes += start_of[: len(hashes)]
        has[hashes] = True
    return np.ascontiguousarray(np.packbits(has.reshape(len(texts), width), axis=0).T)
