"""One sitting of labelling: the items that were drawn, who has labelled what, and where labels go.

Every label is durable in the store before `give` returns; all that is remembered here beside the store is which items
a rater has skipped. So a server may be killed at any time, several raters may label at once, and several servers
may share a store. Knows no page.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import shlex
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal

from msgspec import Struct

from ..analysis.sampling import items_to_label
from ..data import guarded
from ..data.tables import STARTS
from ..engine import protocols_of
from ..errors import DataError
from ..records import Choice, FieldValue, Item, Label, Protocol, Scale, Subject
from ..render.prompt import number_text
from ..store import RunRow, Store, open_store
from ..store.browsing import rater_labels, take_back

# What a rater is asked, and what an answer means: questions, levels with their keys, and sides that are shuffled.
#
# Pure: knows no store, no page and no judge's score. What a rater is shown holds neither the item's id nor a
# system's name, since either may tell who wrote a text; an answer comes back as the number of a question and a
# value, and only here does it become a label in the item's own frame.


Side = Literal["left", "right"]
Part = tuple[str, Subject | None]
"""a criterion, and which response of a pair it is about"""

RATED = Scale(low=1, high=5, best=5, step=1)
"""What people rate on where the judge's numbers are log-probabilities: nobody can give those."""

MOST_BUTTONS = 21
LONGEST_NAME = 60


class Level(Struct, frozen=True):
    """One value of a scale as it is offered: with its name, what it means, and its key."""

    value: float
    shown: str
    name: str
    text: str
    key: str
    """the digit that gives it; empty where the scale needs more than one digit"""


class Question(Struct, frozen=True):
    """One thing that is asked of every item."""

    criterion: str
    subject: Subject | None
    scale: Scale | None
    """none: which response is better"""
    levels: tuple[Level, ...]
    """empty where there are too many to offer each: the rater types a number"""
    guide: int
    """which of the guides stands beside it"""
    note: str = ""

    @property
    def is_choice(self) -> bool:
        return self.scale is None

    @property
    def is_keyed(self) -> bool:
        return bool(self.levels) and all(level.key for level in self.levels)


class Guide(Struct, frozen=True):
    """What the judge was told, for the rater to go by the same."""

    title: str
    criterion: str
    steps: tuple[str, ...]
    told: tuple[tuple[str, str], ...]
    """(role, text) of the prompt, its slots unfilled"""


class Sheet(Struct, frozen=True):
    """One item to label."""

    key: str
    """names it in addresses and posts, and says nothing of the item"""
    item: Item
    fields: tuple[str, ...]
    probability: float


class Asked(Struct, frozen=True):
    """A question as one rater sees it: of the left or the right response."""

    question: Question
    side: Side | None


def rater_name(name: object) -> str:
    """The name by which a rater's labels are kept, or an error that says what is wrong with it."""
    if not isinstance(name, str) or not name.strip():
        raise DataError("A rater needs a name. Labels are kept by it.")
    text = unicodedata.normalize("NFC", name.strip())
    if len(text) > LONGEST_NAME:
        raise DataError(f"The rater's name has {len(text)} characters. Use at most {LONGEST_NAME}.")
    if any(unicodedata.category(character)[0] == "C" for character in text):
        raise DataError("The rater's name holds characters that cannot be seen. Leave them out.")
    if text.startswith(STARTS):
        raise DataError(
            f"A name that begins with {text[0]} is a formula to a spreadsheet. Begin with a letter."
        )
    return text


def levels_of(scale: Scale) -> tuple[Level, ...]:
    """The levels of a scale, each with its key if every one is a single digit; none where there are too many."""
    if scale.low is None or scale.high is None or scale.step is None:
        return ()
    n = math.floor((scale.high - scale.low) / scale.step + 1e-9) + 1
    if not 2 <= n <= MOST_BUTTONS:
        return ()
    values = [round(scale.low + place * scale.step, 9) for place in range(n)]
    is_keyed = all(value in range(10) for value in values)
    return tuple(
        Level(
            value=value,
            shown=number_text(value),
            name=scale.names.get(value, ""),
            text=scale.levels.get(value, ""),
            key=number_text(value) if is_keyed else "",
        )
        for value in values
    )


def questions_of(
    parts: Iterable[Part], protocols: Sequence[Protocol], criteria: Sequence[str] = ()
) -> tuple[Question, ...]:
    """A question for each criterion and subject that the run has results of, or for those criteria that are named."""
    found = list(dict.fromkeys(parts))
    known = list(dict.fromkeys(criterion for criterion, _ in found))
    unknown = [name for name in criteria if name not in known]
    if unknown:
        raise DataError(
            f"--criterion {unknown[0]}: the run has no such criterion. It has {', '.join(known)}."
        )
    return tuple(
        _question(criterion, subject, protocols)
        for criterion, subject in found
        if not criteria or criterion in criteria
    )


def _question(criterion: str, subject: Subject | None, protocols: Sequence[Protocol]) -> Question:
    judged = [place for place, protocol in enumerate(protocols) if criterion in protocol.criteria]
    place = judged[0]
    protocol = protocols[place]
    own = protocol.criteria[criterion]
    if own is None or (protocol.task == "compare" and subject is None):
        return Question(criterion, subject, None, (), place)
    note = ""
    scale = own
    if own.low is None and own.high is None:
        scale = RATED
        note = "The judge gives log-probabilities. Rate from 1 (worst) to 5 (best): the order is what is compared."
    elif any(_values(protocols[other].criteria[criterion]) != _values(own) for other in judged[1:]):
        note = f"Protocols of this run differ in the scale of {criterion}. Rate on that of {protocol.id}."
    return Question(criterion, subject, scale, levels_of(scale), place, note)


def _values(scale: Scale | None) -> tuple[object, ...]:
    """What two scales must have in common for one label to be on both; texts may differ."""
    return () if scale is None else (scale.low, scale.high, scale.step, scale.best)


def guide_of(protocol: Protocol) -> Guide:
    """What the judge was told."""
    said = protocol.criterion_text or (protocol.rubric.criterion if protocol.rubric is not None else "")
    told = (("system", protocol.system_text), ("user", protocol.user_text))
    return Guide(protocol.title, said, protocol.steps, tuple((role, text) for role, text in told if text))


def shown_fields(item: Item, protocols: Sequence[Protocol]) -> tuple[str, ...]:
    """The fields that the judge was shown. Others may hold a score, or say who wrote the text."""
    names = [name for one in protocols for name in (*one.inputs, *one.optional, "rubric")]
    return tuple(name for name in dict.fromkeys(names) if name in item.fields)


def sheet_key(run: str, item: str) -> str:
    """A name for an item of a run that says nothing of either and is the same after a restart."""
    return hashlib.blake2s(f"{run}\n{item}".encode(errors="surrogatepass"), digest_size=12).hexdigest()


def left_subject(seed: int, rater: str, item: str) -> Subject:
    """Which response of a pair this rater sees on the left: even chances, and the same at every look."""
    text = f"{seed}\n{rater}\n{item}".encode(errors="surrogatepass")
    return "b" if hashlib.blake2s(text).digest()[0] % 2 else "a"


def asked_of(questions: Sequence[Question], left: Subject) -> tuple[Asked, ...]:
    """The questions in the order in which a rater answers them: of two responses the left one first."""
    asked: list[Asked] = []
    for question in questions:
        if question.subject is None:
            asked.append(Asked(question, None))
        elif question.subject == left:
            asked.append(Asked(question, "left"))
        else:
            asked.append(Asked(question, "right"))
    places = {question.criterion: place for place, question in reversed(list(enumerate(questions)))}
    rank = {"left": 0, "right": 1, None: 2}
    return tuple(sorted(asked, key=lambda one: (places[one.question.criterion], rank[one.side])))


def columns_of(sheet: Sheet, left: Subject) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The fields that stand alone, and those of the two responses: (name, left field, right field)."""
    pairs = {
        name[:-2]
        for name in sheet.fields
        if name.endswith("_a") and f"{name[:-2]}_b" in sheet.fields
    }  # fmt: skip
    alone = [name for name in sheet.fields if name[:-2] not in pairs or name[-2:] not in ("_a", "_b")]
    right = "b" if left == "a" else "a"
    both = [
        (stem, f"{stem}_{left}", f"{stem}_{right}")
        for stem in dict.fromkeys(name[:-2] for name in sheet.fields)
        if stem in pairs
    ]
    return alone, both


def value_of(asked: Asked, given: object, left: Subject) -> float | Choice:
    """What an answer means, in the item's frame; an error where the question has no such answer."""
    scale = asked.question.scale
    if scale is None:
        other: Subject = "b" if left == "a" else "a"
        meant: Mapping[object, Choice] = {"left": left, "right": other, "tie": "tie"}
        if not isinstance(given, str) or given not in meant:
            raise DataError("The answer is neither left, right nor tie. Choose one of them.")
        return meant[given]
    if isinstance(given, bool) or not isinstance(given, int | float) or abs(given) > 1e15:
        raise DataError("The answer is not a number. Type a number of the scale.")
    if scale.status_of(given) != "ok":
        raise DataError(f"{given:g} is not on the scale {scale_text(scale)}. Choose a value that is.")
    return float(given)


def given_value(asked: Asked, value: float | str, left: Subject) -> float | str:
    """A label as the rater gave it: the reverse of `value_of`."""
    if not asked.question.is_choice or value == "tie":
        return value
    return "left" if value == left else "right"


def scale_text(scale: Scale) -> str:
    """1 to 5, in steps of 1."""
    if scale.low is None or scale.high is None:
        return "of the judge"
    ends = f"{number_text(scale.low)} to {number_text(scale.high)}"
    return ends if scale.step is None else f"{ends} in steps of {number_text(scale.step)}"


def best_text(scale: Scale) -> str:
    """Which end is good, in words; empty where nobody knows."""
    if scale.best in ("unknown", "high", "low"):
        return "" if scale.best == "unknown" else f"the {scale.best}er the better"
    assert not isinstance(scale.best, str)
    return f"{number_text(scale.best)} is best"


def label_of(sheet: Sheet, asked: Asked, rater: str, value: float | Choice) -> Label:
    """The label that is stored."""
    return Label(
        item=sheet.item.id,
        criterion=asked.question.criterion,
        rater=rater,
        value=value,
        subject=asked.question.subject,
        probability=sheet.probability,
        origin="annotate",
    )


def text_parts(value: FieldValue) -> tuple[tuple[str, str], ...]:
    """A field as paragraphs: (role, text), the role empty where it is no transcript."""
    if isinstance(value, str):
        return (("", value),)
    return tuple(("", part) if isinstance(part, str) else (part.role, part.content) for part in value)


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
