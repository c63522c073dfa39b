"""One sitting of labelling: the items that were drawn, who has labelled what, and where labels go.

Every label is durable in the store before `give` returns; all that is remembered here beside the store is which items
a rater has skipped. So a server may be killed at any time, several raters may label at once, and several servers
may share a store. Knows no page.
"""

from __future__ import annotations

import csv
import io
import shlex
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from msgspec import Struct

from ..card.draw import items_to_label
from ..data import guarded
from ..engine import protocols_of
from ..errors import DataError
from ..records import Item, Label, Subject
from ..render.prompt import number_text
from ..store import RunRow, Store, open_store
from ..store.labelling import rater_labels, take_back
from .annotate_sheet import (
    Asked,
    Guide,
    Part,
    Question,
    Sheet,
    asked_of,
    given_value,
    guide_of,
    label_of,
    left_subject,
    questions_of,
    sheet_key,
    shown_fields,
    value_of,
)

EXPORT_COLUMNS = ("item", "criterion", "subject", "rater", "value", "probability")


class Progress(Struct, frozen=True):
    """How far a rater is."""

    n_items: int
    n_done: int
    """items of which every question is answered"""
    n_skipped: int
    n_labels: int
    n_questions: int
    """of all items together"""


class Turn(Struct, frozen=True):
    """One item as one rater sees it: which response is on the left, what is asked, and what was answered."""

    sheet: Sheet
    place: int
    left: Subject
    asked: tuple[Asked, ...]
    given: tuple[float | str | None, ...]
    is_skipped: bool

    @property
    def is_done(self) -> bool:
        return None not in self.given


class Session:
    """The items to label, and everybody who labels them. To be closed, best by `with`."""

    def __init__(
        self,
        store: Store,
        run: RunRow,
        sheets: Sequence[Sheet],
        questions: Sequence[Question],
        guides: Sequence[Guide],
        *,
        n_all: int,
        seed: int,
    ) -> None:
        self.store, self.run, self.seed = store, run, seed
        self.sheets, self.questions, self.guides = tuple(sheets), tuple(questions), tuple(guides)
        self.n_all = n_all
        self._places = {sheet.key: place for place, sheet in enumerate(self.sheets)}
        self._skipped: dict[str, set[str]] = defaultdict(set)
        # Giving and taking back look at what is there first; two keys pressed at once must not cross.
        self._lock = threading.Lock()

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
        """What to type to see what the labels say of the judge."""
        words = ["adjudge", "trust", self.run.name]
        if self.store.path != Path("adjudge.db"):
            words += ["--store", str(self.store.path)]
        return shlex.join(words)

    # What a rater sees

    def turn(self, rater: str, key: str) -> Turn:
        """An item by its key."""
        return self._turn(rater, self._place(key), self._said(rater))

    def next_key(self, rater: str, after: str | None = None) -> str | None:
        """The next item with an open question that was not skipped, from a place on and round; none where all are done."""
        said = self._said(rater)
        start = 0 if after is None else self._place(after) + 1
        order = [*range(start, len(self.sheets)), *range(start)]
        turns = (self._turn(rater, place, said) for place in order)
        return next((turn.sheet.key for turn in turns if not turn.is_done and not turn.is_skipped), None)

    def progress(self, rater: str) -> Progress:
        """How far a rater is, counted from the store."""
        said = self._said(rater)
        parts = [(question.criterion, question.subject) for question in self.questions]
        n_given = {sheet.key: sum((sheet.item.id, *part) in said for part in parts) for sheet in self.sheets}
        done = {key for key, n in n_given.items() if n == len(parts)}
        return Progress(
            n_items=len(self.sheets),
            n_done=len(done),
            n_skipped=len(self._skipped.get(rater, set()) - done),
            n_labels=sum(n_given.values()),
            n_questions=len(self.sheets) * len(parts),
        )

    def neighbours(self, key: str) -> tuple[str | None, str | None]:
        """The items before and after one, whether they are labelled or not."""
        place = self._place(key)
        before = self.sheets[place - 1].key if place else None
        return before, self.sheets[place + 1].key if place + 1 < len(self.sheets) else None

    def labels(self) -> list[Label]:
        """All labels of the run, of every rater."""
        with self._reading() as reading:
            return reading.labels(self.run)

    # What a rater does

    def give(self, rater: str, key: str, number: int, given: object) -> None:
        """Keep an answer to question `number` of an item; a second answer takes the place of the first."""
        with self._lock:
            turn = self.turn(rater, key)
            if not 0 <= number < len(turn.asked):
                raise DataError(f"The item has no question {number + 1}. Load the page again.")
            asked = turn.asked[number]
            label = label_of(turn.sheet, asked, rater, value_of(asked, given, turn.left))
            self.store.put_labels([label], self.run)
            self._skipped[rater].discard(key)

    def undo(self, rater: str) -> str | None:
        """Take back the rater's last label among these items; the key of its item, none where there is none left."""
        with self._lock, self._reading() as reading:
            keys = {sheet.item.id: sheet.key for sheet in self.sheets}
            parts: set[Part] = {(question.criterion, question.subject) for question in self.questions}
            own = [
                label
                for label in rater_labels(reading, self.run, rater)
                if label.item in keys and (label.criterion, label.subject) in parts
            ]
            if not own:
                return None
            take_back(self.store, self.run, own[-1])
            self._skipped[rater].discard(keys[own[-1].item])
            return keys[own[-1].item]

    def skip(self, rater: str, key: str) -> None:
        """Leave an item for later. This is remembered only as long as the server runs."""
        self._place(key)
        self._skipped[rater].add(key)

    def recall(self, rater: str) -> None:
        """Put the skipped items back among those to label."""
        self._skipped.pop(rater, None)

    def _place(self, key: str) -> int:
        place = self._places.get(key)
        if place is None:
            raise DataError(
                "This item is not among those that were drawn: the page is of an earlier start with another --seed, "
                "-n or run.\nOpen the address in the terminal again."
            )
        return place

    def _said(self, rater: str) -> Mapping[tuple[str, str, Subject | None], float | str]:
        with self._reading() as reading:
            return {
                (label.item, label.criterion, label.subject): label.value
                for label in rater_labels(reading, self.run, rater)
            }

    def _reading(self) -> Store:
        """The store for one look at it. A store keeps a connection for every thread that has read from it, and a
        server's threads come and go."""
        return open_store(self.store.path, write=False)

    def _turn(
        self, rater: str, place: int, said: Mapping[tuple[str, str, Subject | None], float | str]
    ) -> Turn:
        sheet = self.sheets[place]
        left = left_subject(self.seed, rater, sheet.item.id)
        asked = asked_of(self.questions, left)
        given = tuple(
            given_value(one, value, left)
            if (value := said.get((sheet.item.id, one.question.criterion, one.question.subject))) is not None
            else None
            for one in asked
        )
        return Turn(sheet, place, left, asked, given, sheet.key in self._skipped.get(rater, ()))


def open_session(
    store_path: str | Path, run_name: str, n: int = 50, seed: int = 0, criteria: Sequence[str] = ()
) -> Session:
    """Draw the items that `adjudge sample RUN -n N --by system --seed SEED` draws, in its order, to be labelled."""
    # For reading first: opening for writing would make a store where there is none.
    with open_store(store_path, write=False) as reading:
        run = reading.run(run_name)
        drawn = items_to_label(reading, run, n, by_system=True, seed=seed)
        protocols = list(protocols_of(reading, run).values())
        chance = {row["item"]: float(row["probability"]) for row in drawn.rows}
        parts: list[Part] = [(row["criterion"], _subject(row["subject"])) for row in drawn.rows]
        items: dict[str, Item] = {item.id: item for item in reading.items(run) if item.id in chance}
    questions = questions_of(parts, protocols, criteria)
    asked_by = [protocols[place] for place in sorted({question.guide for question in questions})]
    sheets = [
        Sheet(sheet_key(run.identity, name), items[name], shown_fields(items[name], asked_by), probability)
        for name, probability in chance.items()
    ]
    guides = [guide_of(protocol) for protocol in protocols]
    return Session(
        open_store(store_path), run, sheets, questions, guides, n_all=drawn.n_all, seed=seed
    )  # fmt: skip


def _subject(text: str) -> Subject | None:
    return "a" if text == "a" else "b" if text == "b" else None


def labels_csv(labels: Sequence[Label]) -> str:
    """Labels as a file that `trust --labels` reads: with a column for the subject where one has any."""
    has_subjects = any(label.subject is not None for label in labels)
    columns = [name for name in EXPORT_COLUMNS if name != "subject" or has_subjects]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for label in labels:
        chance = label.probability
        writer.writerow(
            {
                "item": guarded(label.item),
                "criterion": guarded(label.criterion),
                "subject": label.subject or "",
                "rater": guarded(label.rater),
                "value": label.value if isinstance(label.value, str) else number_text(label.value),
                "probability": "" if chance is None else f"{chance:.6g}",
            }
        )
    return out.getvalue()


def export_labels(store_path: str | Path, run_name: str, path: Path) -> int:
    """Write the labels of a run to a new file; how many. One that exists may hold somebody's labels."""
    with open_store(store_path, write=False) as store:
        run = store.run(run_name)
        labels = store.labels(run)
    if not labels:
        raise DataError(f"{run.name} has no labels yet. Make some: adjudge annotate {run.name}")
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(labels_csv(labels))
    except FileExistsError:
        raise DataError(f"{path} is there already and may hold labels. Choose another name.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}. Choose another place.") from error
    return len(labels)
