"""A labelling session: the drawn items, the questions about them, and the labels that raters give.

A label is durable in the store before `give` returns; only skipped items are remembered here. So the server may be killed
at any time, several raters may label at once, and several servers may share a store. A rater sees neither an item's id nor
a system's name, since either may give away who wrote a text. Knows no page and no judge's score.
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

from ..analysis.sampling import Draw, items_to_label
from ..data import guarded
from ..data.formulas import FORMULA_STARTS
from ..engine import protocols_of
from ..errors import DataError
from ..records import Choice, FieldValue, Item, Label, Protocol, Scale, Subject
from ..render.prompt import number_text
from ..store import RunRow, Store, open_store

# Questions

Side = Literal["left", "right"]
Part = tuple[str, Subject | None]
"""a criterion, and which response of a pair it is about"""

RATED = Scale(low=1, high=5, best=5, step=1)
"""The scale for people where the judge gives log-probabilities, which no person can give."""

MOST_BUTTONS = 21
LONGEST_NAME = 60


class Level(Struct, frozen=True):
    """One value of a scale with its name, what it means, and its key."""

    value: float
    shown: str
    name: str
    text: str
    key: str
    """the digit to press; empty where a value of the scale is not a single digit"""


class Question(Struct, frozen=True):
    """One question about every item: a score, or which response is better."""

    criterion: str
    subject: Subject | None
    scale: Scale | None
    """none for a choice between the two responses"""
    levels: tuple[Level, ...]
    """empty where there are too many for buttons: the rater types a number"""
    guide: int
    """the number of the guide to show beside it"""
    note: str = ""

    @property
    def is_choice(self) -> bool:
        return self.scale is None

    @property
    def is_keyed(self) -> bool:
        return bool(self.levels) and all(level.key for level in self.levels)


class Guide(Struct, frozen=True):
    """The instructions of the judge, so that raters follow the same ones."""

    title: str
    criterion: str
    steps: tuple[str, ...]
    prompt: tuple[tuple[str, str], ...]
    """(role, text), with placeholders"""


class Sheet(Struct, frozen=True):
    """One item to label."""

    key: str
    """its name in addresses and posts, which reveals nothing about the item"""
    item: Item
    fields: tuple[str, ...]
    probability: float


class Asked(Struct, frozen=True):
    """A question as one rater sees it: about the left or the right response."""

    question: Question
    side: Side | None


def rater_name(name: object) -> str:
    """The name that a rater's labels are stored under; an error where it cannot be used."""
    if not isinstance(name, str) or not name.strip():
        raise DataError("A rater needs a name. Labels are stored under it.")
    text = unicodedata.normalize("NFC", name.strip())
    if len(text) > LONGEST_NAME:
        raise DataError(f"The rater's name has {len(text)} characters. Use at most {LONGEST_NAME}.")
    if any(unicodedata.category(character)[0] == "C" for character in text):
        raise DataError("The rater's name contains invisible characters. Remove them.")
    if text.startswith(FORMULA_STARTS):
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
    values = [round(scale.low + step * scale.step, 9) for step in range(n)]
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
    """A question for each criterion and subject of the run's results, or only for the criteria named."""
    distinct = list(dict.fromkeys(parts))
    known = list(dict.fromkeys(criterion for criterion, _ in distinct))
    unknown = [name for name in criteria if name not in known]
    if unknown:
        raise DataError(
            f"--criterion {unknown[0]}: the run has no such criterion. It has {', '.join(known)}."
        )
    return tuple(
        _question(criterion, subject, protocols)
        for criterion, subject in distinct
        if not criteria or criterion in criteria
    )


def _question(criterion: str, subject: Subject | None, protocols: Sequence[Protocol]) -> Question:
    numbers = [number for number, protocol in enumerate(protocols) if criterion in protocol.criteria]
    protocol = protocols[numbers[0]]
    judge_scale = protocol.criteria[criterion]
    if judge_scale is None or (protocol.task == "compare" and subject is None):
        return Question(criterion, subject, None, (), numbers[0])
    note = ""
    scale = judge_scale
    if scale.low is None and scale.high is None:
        scale = RATED
        note = (
            "The judge gives log-probabilities. Rate from 1 (worst) to 5 (best): only the order is compared."
        )
    elif any(_values(protocols[other].criteria[criterion]) != _values(scale) for other in numbers[1:]):
        note = f"The protocols of this run use different scales for {criterion}. Rate on the scale of {protocol.id}."
    return Question(criterion, subject, scale, levels_of(scale), numbers[0], note)


def _values(scale: Scale | None) -> tuple[object, ...]:
    """What two scales must have in common for one label to fit both; their texts may differ."""
    return () if scale is None else (scale.low, scale.high, scale.step, scale.best)


def guide_of(protocol: Protocol) -> Guide:
    """The instructions of a protocol."""
    criterion = protocol.criterion_text or (protocol.rubric.criterion if protocol.rubric is not None else "")
    prompt = (("system", protocol.system_text), ("user", protocol.user_text))
    return Guide(
        protocol.title, criterion, protocol.steps, tuple((role, text) for role, text in prompt if text)
    )


def shown_fields(item: Item, protocols: Sequence[Protocol]) -> tuple[str, ...]:
    """The fields that the judge saw. Others may hold a score, or reveal who wrote the text."""
    fields = [
        protocol.field_for(name, item.fields)
        for protocol in protocols
        for name in (*protocol.inputs, *protocol.optional, "rubric")
    ]
    return tuple(name for name in dict.fromkeys(fields) if name is not None)


def sheet_key(run: str, item: str) -> str:
    """A name for an item of a run that says nothing of either and is the same after a restart."""
    return hashlib.blake2s(f"{run}\n{item}".encode(errors="surrogatepass"), digest_size=12).hexdigest()


def left_subject(seed: int, rater: str, item: str) -> Subject:
    """Which response of a pair this rater sees on the left: random with even chances, and always the same."""
    text = f"{seed}\n{rater}\n{item}".encode(errors="surrogatepass")
    return "b" if hashlib.blake2s(text).digest()[0] % 2 else "a"


def asked_of(questions: Sequence[Question], left: Subject) -> tuple[Asked, ...]:
    """The questions in the order in which a rater answers them, the left response first."""
    asked: list[Asked] = []
    for question in questions:
        if question.subject is None:
            asked.append(Asked(question, None))
        elif question.subject == left:
            asked.append(Asked(question, "left"))
        else:
            asked.append(Asked(question, "right"))
    first = {question.criterion: number for number, question in reversed(list(enumerate(questions)))}
    rank = {"left": 0, "right": 1, None: 2}
    return tuple(sorted(asked, key=lambda ask: (first[ask.question.criterion], rank[ask.side])))


def columns_of(sheet: Sheet, left: Subject) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The fields of the item itself, and those of its two responses: (name, left field, right field)."""
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


def value_of(asked: Asked, answer: object, left: Subject) -> float | Choice:
    """The label that an answer on the page means, with a and b as in the item; an error for any other answer."""
    scale = asked.question.scale
    if scale is None:
        other: Subject = "b" if left == "a" else "a"
        choices: Mapping[object, Choice] = {"left": left, "right": other, "tie": "tie"}
        if not isinstance(answer, str) or answer not in choices:
            raise DataError("The answer is neither left, right nor tie. Choose one of them.")
        return choices[answer]
    if isinstance(answer, bool) or not isinstance(answer, int | float) or abs(answer) > 1e15:
        raise DataError("The answer is not a number. Type a number on the scale.")
    if scale.status_of(answer) != "ok":
        raise DataError(f"{answer:g} is not on the scale {scale_text(scale)}. Choose a value that is.")
    return float(answer)


def answer_of(asked: Asked, value: float | str, left: Subject) -> float | str:
    """The answer on the page that a label stands for: the reverse of `value_of`."""
    if not asked.question.is_choice or value == "tie":
        return value
    return "left" if value == left else "right"


def scale_text(scale: Scale) -> str:
    """1 to 5, in steps of 1."""
    if scale.is_nominal:
        return ", ".join(f"{number_text(value)} {name}" for value, name in sorted(scale.names.items()))
    if scale.low is None or scale.high is None:
        return "of the judge"
    ends = f"{number_text(scale.low)} to {number_text(scale.high)}"
    return ends if scale.step is None else f"{ends} in steps of {number_text(scale.step)}"


def best_text(scale: Scale) -> str:
    """Which end is good, in words; empty where that is unknown."""
    if scale.best in ("unknown", "none", "high", "low"):
        return "" if scale.best in ("unknown", "none") else f"{scale.best}er is better"
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
    """A field as (role, text) parts; the role is empty unless the field is a transcript."""
    if isinstance(value, str):
        return (("", value),)
    return tuple(("", part) if isinstance(part, str) else (part.speaker, part.shown) for part in value)


# The session

EXPORT_COLUMNS = ("item", "criterion", "subject", "rater", "value", "probability")


class Progress(Struct, frozen=True):
    """The progress of a rater."""

    n_items: int
    n_done: int
    """items with all questions answered"""
    n_skipped: int
    n_labels: int
    n_questions: int
    """over all items"""


class Turn(Struct, frozen=True):
    """One item as one rater sees it: which response is on the left, the questions, and the answers so far."""

    sheet: Sheet
    place: int
    left: Subject
    asked: tuple[Asked, ...]
    answers: tuple[float | str | None, ...]
    is_skipped: bool

    @property
    def is_done(self) -> bool:
        return None not in self.answers


class Session:
    """The items to label, shared by all raters. Close it, best by `with`."""

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
        # `give` and `undo` read before they write; two at once must not interleave.
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
        """The command that compares the judge with the labels."""
        words = ["adjudge", "trust", self.run.name]
        if self.store.path != Path("adjudge.db"):
            words += ["--store", str(self.store.path)]
        return shlex.join(words)

    # What a rater sees

    def turn(self, rater: str, key: str) -> Turn:
        """An item by its key."""
        return self._turn(rater, self._place(key), self._label_values(rater))

    def next_key(self, rater: str, after: str | None = None) -> str | None:
        """The next item with an open question that was not skipped, after `after` and then from the start; none at the end."""
        values = self._label_values(rater)
        start = 0 if after is None else self._place(after) + 1
        order = [*range(start, len(self.sheets)), *range(start)]
        turns = (self._turn(rater, place, values) for place in order)
        return next((turn.sheet.key for turn in turns if not turn.is_done and not turn.is_skipped), None)

    def progress(self, rater: str) -> Progress:
        """The progress of a rater, counted from the store."""
        values = self._label_values(rater)
        parts = [(question.criterion, question.subject) for question in self.questions]
        n_answers = {
            sheet.key: sum((sheet.item.id, *part) in values for part in parts) for sheet in self.sheets
        }
        done = {key for key, n in n_answers.items() if n == len(parts)}
        return Progress(
            n_items=len(self.sheets),
            n_done=len(done),
            n_skipped=len(self._skipped.get(rater, set()) - done),
            n_labels=sum(n_answers.values()),
            n_questions=len(self.sheets) * len(parts),
        )

    def neighbours(self, key: str) -> tuple[str | None, str | None]:
        """The items before and after this one, labelled or not."""
        place = self._place(key)
        before = self.sheets[place - 1].key if place else None
        return before, self.sheets[place + 1].key if place + 1 < len(self.sheets) else None

    def labels(self) -> list[Label]:
        """All labels of the run, of every rater."""
        with self._reading() as reading:
            return reading.labels(self.run)

    # What a rater does

    def give(self, rater: str, key: str, number: int, answer: object) -> None:
        """Store an answer to question `number` of an item; it replaces an earlier one."""
        with self._lock:
            turn = self.turn(rater, key)
            if not 0 <= number < len(turn.asked):
                raise DataError(f"The item has no question {number + 1}. Reload the page.")
            asked = turn.asked[number]
            label = label_of(turn.sheet, asked, rater, value_of(asked, answer, turn.left))
            self.store.put_labels([label], self.run)
            self._skipped[rater].discard(key)

    def undo(self, rater: str) -> str | None:
        """Delete the rater's last label among these items; the key of its item, or none if there is no label."""
        with self._lock, self._reading() as reading:
            keys = {sheet.item.id: sheet.key for sheet in self.sheets}
            parts: set[Part] = {(question.criterion, question.subject) for question in self.questions}
            labels = [
                label
                for label in reading.labels(self.run, rater)
                if label.item in keys and (label.criterion, label.subject) in parts
            ]
            if not labels:
                return None
            self.store.delete_label(self.run, labels[-1])
            self._skipped[rater].discard(keys[labels[-1].item])
            return keys[labels[-1].item]

    def skip(self, rater: str, key: str) -> None:
        """Leave an item for later. This is forgotten when the server ends."""
        self._place(key)
        self._skipped[rater].add(key)

    def recall(self, rater: str) -> None:
        """Put the skipped items back among those to label."""
        self._skipped.pop(rater, None)

    def _place(self, key: str) -> int:
        place = self._places.get(key)
        if place is None:
            raise DataError(
                "This item is not in the current sample: the page comes from an earlier start with a different --seed, "
                "-n or run.\nOpen the address in the terminal again."
            )
        return place

    def _label_values(self, rater: str) -> Mapping[tuple[str, str, Subject | None], float | str]:
        with self._reading() as reading:
            return {
                (label.item, label.criterion, label.subject): label.value
                for label in reading.labels(self.run, rater)
            }

    def _reading(self) -> Store:
        """The store, opened for one read: it keeps a connection for each thread, and a server's threads come and go."""
        return open_store(self.store.path, write=False)

    def _turn(
        self, rater: str, place: int, values: Mapping[tuple[str, str, Subject | None], float | str]
    ) -> Turn:
        sheet = self.sheets[place]
        left = left_subject(self.seed, rater, sheet.item.id)
        asked = asked_of(self.questions, left)
        answers = tuple(
            answer_of(ask, value, left)
            if (value := values.get((sheet.item.id, ask.question.criterion, ask.question.subject)))
            is not None
            else None
            for ask in asked
        )
        return Turn(sheet, place, left, asked, answers, sheet.key in self._skipped.get(rater, ()))


def open_session(
    store_path: str | Path, run_name: str, n: int = 50, seed: int = 0, criteria: Sequence[str] = ()
) -> Session:
    """Draw the items that `adjudge sample RUN -n N --by system --seed SEED` draws, in its order, to be labelled."""
    # For reading first: opening for writing would create a missing store.
    with open_store(store_path, write=False) as reading:
        run = reading.run(run_name)
        drawn = items_to_label(reading, run, Draw(n, by_system=True, seed=seed))
        protocols = list(protocols_of(reading, run).values())
        probabilities = {row["item"]: float(row["probability"]) for row in drawn.rows}
        parts: list[Part] = [(row["criterion"], _subject(row["subject"])) for row in drawn.rows]
        items: dict[str, Item] = {item.id: item for item in reading.items(run) if item.id in probabilities}
    questions = questions_of(parts, protocols, criteria)
    asking = [protocols[number] for number in sorted({question.guide for question in questions})]
    sheets = [
        Sheet(sheet_key(run.identity, name), items[name], shown_fields(items[name], asking), probability)
        for name, probability in probabilities.items()
    ]
    guides = [guide_of(protocol) for protocol in protocols]
    return Session(
        open_store(store_path), run, sheets, questions, guides, n_all=drawn.n_all, seed=seed
    )  # fmt: skip


def _subject(text: str) -> Subject | None:
    return "a" if text == "a" else "b" if text == "b" else None


def labels_csv(labels: Sequence[Label]) -> str:
    """Labels as CSV for `trust --labels`, with a column for the subject where any label has one."""
    has_subjects = any(label.subject is not None for label in labels)
    columns = [name for name in EXPORT_COLUMNS if name != "subject" or has_subjects]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for label in labels:
        writer.writerow(
            {
                "item": guarded(label.item),
                "criterion": guarded(label.criterion),
                "subject": label.subject or "",
                "rater": guarded(label.rater),
                "value": label.value if isinstance(label.value, str) else number_text(label.value),
                "probability": "" if label.probability is None else f"{label.probability:.6g}",
            }
        )
    return out.getvalue()


def export_labels(store_path: str | Path, run_name: str, path: Path) -> int:
    """Write the labels of a run to a new file; how many. An existing file is never replaced: it may hold labels."""
    with open_store(store_path, write=False) as store:
        run = store.run(run_name)
        labels = store.labels(run)
    if not labels:
        raise DataError(f"{run.name} has no labels yet. Add some: adjudge annotate {run.name}")
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(labels_csv(labels))
    except FileExistsError:
        raise DataError(f"{path} already exists and may contain labels. Choose another name.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}. Choose another place.") from error
    return len(labels)
