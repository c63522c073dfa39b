"""A judge's answers with people's labels, item by item. Nothing here computes an estimate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ...records import Scale, Status, Subject
from ...results.combine import Kind
from ..run_view.result_facts import cluster_of

Answer = float | str


class LabelledItem(Struct, frozen=True):
    """One judged item with its labels."""

    item: str
    subject: Subject | None
    system: str
    systems: tuple[str, str]
    """for a pair: the systems behind a and b"""
    group: str | None
    status: Status
    answer: Answer | None
    """the judge's score or choice; none where it failed"""
    ratings: tuple[Answer | None, ...] = ()
    """one for each rater; none where the rater did not rate the item"""
    label: Answer | None = None
    probability: float | None = None
    confidence: float | None = None
    probabilities: Mapping[str, float] = {}
    """answer → probability; empty where the judge gives none"""
    spread: float | None = None
    samples: tuple[float, ...] = ()
    """the single values behind `answer`, where the item was judged several times; for choices see `as_number`
    """
    n_samples: int = 0
    n_samples_failed: int = 0
    has_order_conflict: bool = False
    """whether the choice is a tie because it changed with the order shown"""
    attributes: Mapping[str, float | str] = {}
    """what agreement can be shown by: fields of the item, the
    `length` of the response, which response is `longer`
    """


About = Literal["new-inputs", "these-items"]
"""What a number is about: inputs like these, known through the
groups; or these items, of which the labels are a sample.
"""


class LabelledTable(Struct, frozen=True):
    """All items of one judge and criterion."""

    criterion: str
    protocol: str
    model: str
    kind: Kind
    scale: Scale | None
    raters: tuple[str, ...]
    rows: tuple[LabelledItem, ...]
    n_unknown: int
    """labelled items that were not judged"""
    is_same_scale: bool
    """whether a judge's 4 and a person's 4 mean the same"""
    notes: tuple[str, ...]
    classes: tuple[str, ...] = ()
    """the names of classes without an order; answers and labels are then names, and `kind` is choices"""
    about: About = "new-inputs"
    """what corrected means and differences are about"""

    def labelled(self) -> list[LabelledItem]:
        return [row for row in self.rows if row.label is not None]

    def rated(self) -> list[LabelledItem]:
        """The items that people have rated. A class needs a majority
        to be the label of an item; numbers always have a mean.
        """
        return [row for row in self.rows if any(rating is not None for rating in row.ratings)]

    def has_groups(self) -> bool:
        return any(row.group is not None for row in self.rows)

    def groups(self, rows: Sequence[LabelledItem]) -> list[str] | None:
        """The cluster of each row, or none where all items are independent."""
        return [cluster_of(row.group, row.item) for row in rows] if self.has_groups() else None


def number_or_none(answer: Answer | None) -> float | None:
    """A score as a number; none for a choice or a missing answer."""
    return None if answer is None or isinstance(answer, str) else float(answer)


def numbers(answers: Iterable[Answer | None]) -> list[float | None]:
    """The scores as numbers; none for choices and missing answers."""
    return [number_or_none(answer) for answer in answers]


def choices(answers: Iterable[Answer | None]) -> list[str | None]:
    """The choices; none for scores and missing answers."""
    return [answer if isinstance(answer, str) else None for answer in answers]
