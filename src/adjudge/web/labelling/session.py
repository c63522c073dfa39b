"""A labelling session: the drawn items, and the labels that raters give.

A label is durable in the store before `give` returns; only skipped items are remembered here. So the server
may be killed at any time, several raters may label at once, and several servers may share a store. Knows no
page and no judge's score.
"""

from __future__ import annotations

import shlex
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from msgspec import Struct

from ...analysis.sampling.items_to_label import Draw, items_to_label
from ...errors import DataError
from ...records import Item, Label, Subject
from ...results.manifest import protocols_of
from ...store import RunRow, Store, open_store
from .questions import (
    Guide,
    LabelQuestion,
    Part,
    Sheet,
    ShownQuestion,
    answer_of,
    asked_of,
    guide_of,
    label_questions,
    left_subject,
    sheet_key,
    shown_fields,
    stored_label,
    value_of,
)

_LONGEST_MERGE = 120.0
"""Seconds that a label waits for others who write: a pushed run of 100,000 items is merged at once."""


class RaterProgress(Struct, frozen=True):
    """The progress of a rater."""

    n_items: int
    n_done: int
    """items with all questions answered"""
    n_skipped: int
    n_labels: int
    n_questions: int
    """over all items"""


class RaterItem(Struct, frozen=True):
    """One item as one rater sees it: which response is on the left, the questions, and the answers so far."""

    sheet: Sheet
    place: int
    left: Subject
    asked: tuple[ShownQuestion, ...]
    answers: tuple[float | str | None, ...]
    is_skipped: bool

    @property
    def is_done(self) -> bool:
        return None not in self.answers


class RaterView(Struct, frozen=True):
    """The items as one rater sees them at one moment: all that it says comes from one read of the store."""

    session: Session
    rater: str
    values: Mapping[tuple[str, str, Subject | None], float | str]
    """the rater's labels, by item and part"""
    skipped: frozenset[str]

    def turn(self, key: str) -> RaterItem:
        """An item by its key."""
        session = self.session
        sheet_place = session.place_of(key)
        sheet = session.sheets[sheet_place]
        left = left_subject(session.seed, self.rater, sheet.item.id)
        asked = asked_of(session.questions, left)
        answers = tuple(
            answer_of(ask, value, left)
            if (value := self.values.get((sheet.item.id, ask.question.criterion, ask.question.subject)))
            is not None
            else None
            for ask in asked
        )
        return RaterItem(sheet, sheet_place, left, asked, answers, key in self.skipped)

    def next_key(self, after: str | None = None) -> str | None:
        """The next item with an open question that was not skipped,
        after `after` and then from the start; none at the end.
        """
        sheets = self.session.sheets
        start = 0 if after is None else self.session.place_of(after) + 1
        n_parts = len(self.session.questions)
        return next(
            (
                sheet.key
                for sheet in (*sheets[start:], *sheets[:start])
                if sheet.key not in self.skipped and self._n_answers(sheet) < n_parts
            ),
            None,
        )

    def progress(self) -> RaterProgress:
        """How far the rater is."""
        sheets, n_parts = self.session.sheets, len(self.session.questions)
        n_answers = {sheet.key: self._n_answers(sheet) for sheet in sheets}
        done = {key for key, n in n_answers.items() if n == n_parts}
        return RaterProgress(
            n_items=len(sheets),
            n_done=len(done),
            n_skipped=len(self.skipped - done),
            n_labels=sum(n_answers.values()),
            n_questions=len(sheets) * n_parts,
        )

    def _n_answers(self, sheet: Sheet) -> int:
        return sum(
            (sheet.item.id, question.criterion, question.subject) in self.values
            for question in self.session.questions
        )


class Session:
    """The items to label, shared by all raters. Close it, best by `with`."""

    def __init__(
        self,
        store: Store,
        run: RunRow,
        sheets: Sequence[Sheet],
        questions: Sequence[LabelQuestion],
        guides: Sequence[Guide],
        *,
        n_all: int,
        seed: int,
    ) -> None:
        self.store, self.run, self.seed = store, run, seed
        self.sheets, self.questions, self.guides = tuple(sheets), tuple(questions), tuple(guides)
        self.n_all = n_all
        self._places = {sheet.key: place for place, sheet in enumerate(self.sheets)}
        self._text_hashes = {
            (sheet.item.id, criterion): shown
            for sheet in self.sheets
            for criterion, shown in sheet.text_hashes.items()
        }
        self._skipped: dict[str, set[str]] = defaultdict(set)
        # `give` and `undo` read before they write; two of one rater must not interleave. Raters do not wait
        # for each other: their labels become durable together.
        self._locks: dict[str, threading.Lock] = {}

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.store.close()

    @property
    def trust_command(self) -> str:
        """The command that compares the judge with the labels."""
        words = ["adjudge", "trust", self.run.name]
        if self.store.path != Path("adjudge.db"):
            words += ["--store", str(self.store.path)]
        return shlex.join(words)

    # What a rater sees

    def seen_by(self, rater: str) -> RaterView:
        """The items as a rater sees them now."""
        skipped = frozenset(self._skipped.get(rater, ()))
        return RaterView(self, rater, self._label_values(rater), skipped)

    def neighbours(self, key: str) -> tuple[str | None, str | None]:
        """The items before and after this one, labelled or not."""
        place = self.place_of(key)
        before = self.sheets[place - 1].key if place else None
        return before, self.sheets[place + 1].key if place + 1 < len(self.sheets) else None

    def labels(self) -> list[Label]:
        """All labels of the run, of every rater."""
        with self._reading() as reading:
            return reading.labels(self.run)

    # What a rater does

    def give(self, rater: str, key: str, number: int, answer: object) -> RaterItem:
        """Store an answer to question `number` of an item; it replaces an earlier one. Returns the item as it
        was before."""
        with self._lock(rater):
            turn = self.seen_by(rater).turn(key)
            if not 0 <= number < len(turn.asked):
                raise DataError(f"The item has no question {number + 1}. Reload the page.")
            asked = turn.asked[number]
            label = stored_label(turn.sheet, asked, rater, value_of(asked, answer, turn.left))
            self.store.put_labels([label], self.run)
            self._skipped[rater].discard(key)
            return turn

    def undo(self, rater: str) -> str | None:
        """Delete the rater's last label among these items; the key of its item, or none if there is no
        label."""
        with self._lock(rater), self._reading() as reading:
            keys = {sheet.item.id: sheet.key for sheet in self.sheets}
            parts: set[Part] = {(question.criterion, question.subject) for question in self.questions}
            labels = [
                label
                for label in reading.labels_of_rater(self.run, rater)
                if label.item in keys
                and (label.criterion, label.subject) in parts
                and self._is_of_shown_text(label)
            ]
            if not labels:
                return None
            self.store.delete_label(self.run, labels[-1])
            self._skipped[rater].discard(keys[labels[-1].item])
            return keys[labels[-1].item]

    def skip(self, rater: str, key: str) -> None:
        """Leave an item for later. This is forgotten when the server ends."""
        self.place_of(key)
        self._skipped[rater].add(key)

    def recall(self, rater: str) -> None:
        """Put the skipped items back among those to label."""
        self._skipped.pop(rater, None)

    def _lock(self, rater: str) -> threading.Lock:
        return self._locks.setdefault(rater, threading.Lock())

    def place_of(self, key: str) -> int:
        """Where an item stands; an error where it is not among those to label."""
        place = self._places.get(key)
        if place is None:
            raise DataError(
                "This item is not in the current sample: the page comes from an earlier start with a "
                "different --seed, -n or run.\nOpen the address in the terminal again."
            )
        return place

    def _label_values(self, rater: str) -> Mapping[tuple[str, str, Subject | None], float | str]:
        with self._reading() as reading:
            return {
                (label.item, label.criterion, label.subject): label.value
                for label in reading.labels_of_rater(self.run, rater)
                if self._is_of_shown_text(label)
            }

    def _is_of_shown_text(self, label: Label) -> bool:
        """Whether a label is of the text that raters see now: one of an earlier text is requested again."""
        shown = self._text_hashes.get((label.item, label.criterion))
        return not shown or label.text_hash in (None, shown)

    def _reading(self) -> Store:
        """The store, opened for one read: it keeps a connection
        for each thread, and a server's threads come and go.
        """
        return open_store(self.store.path, write=False)


def open_session(
    store_path: str | Path, run_name: str, n: int = 50, seed: int = 0, criteria: Sequence[str] = ()
) -> Session:
    """Draw the items that `adjudge sample RUN -n N --by system
    --seed SEED` draws, in its order, to be labelled.
    """
    # For reading first: opening for writing would create a missing store.
    with open_store(store_path, write=False) as reading:
        run = reading.run(run_name)
        drawn = items_to_label(reading, run, Draw(n, by_system=True, seed=seed))
        protocols = list(protocols_of(reading, run).values())
        probabilities = {row["item"]: float(row["probability"]) for row in drawn.rows}
        parts: list[Part] = [(row["criterion"], _subject(row["subject"])) for row in drawn.rows]
        hashes: dict[str, dict[str, str]] = defaultdict(dict)
        for row in drawn.rows:
            hashes[row["item"]][row["criterion"]] = row["text_hash"]
        items: dict[str, Item] = {item.id: item for item in reading.items(run) if item.id in probabilities}
    questions = label_questions(parts, protocols, criteria)
    asking = [protocols[number] for number in sorted({question.guide for question in questions})]
    sheets = [
        Sheet(
            sheet_key(run.identity, name),
            items[name],
            shown_fields(items[name], asking),
            probability,
            hashes[name],
        )
        for name, probability in probabilities.items()
    ]
    guides = [guide_of(protocol) for protocol in protocols]
    store = open_store(store_path, busy_seconds=_LONGEST_MERGE)
    return Session(store, run, sheets, questions, guides, n_all=drawn.n_all, seed=seed)


def _subject(text: str) -> Subject | None:
    return "a" if text == "a" else "b" if text == "b" else None
