"""A judge's answers with people's labels, item by item. Nothing here computes an estimate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, structs

from ...records import Scale, Status, Subject
from ...results.combine import Kind
from ..about import About
from ..run_view.result_facts import as_number, cluster_of

Answer = float | str


class LabelledItem(Struct, frozen=True, gc=False):
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
    by_judge: Mapping[str, float | None] = {}
    """of a panel: judge → its score (of a choice the share of response a), none where it failed; empty for a
    single judge
    """
    attributes: Mapping[str, float | str] = {}
    """what agreement can be shown by: fields of the item, the
    `length` of the response, which response is `longer`
    """
    cluster: str = ""
    """what makes it depend on other items, from `group` and `item`; made once, since all numbers need it"""

    def __post_init__(self) -> None:
        structs.force_setattr(self, "cluster", cluster_of(self.group, self.item))


class Entry(Struct, frozen=True, gc=False):
    """One item as a number for one system."""

    row: LabelledItem
    judge: float | None
    label: float | None
    is_second: bool = False
    """of a pair: whether this is the system behind response b"""

    def of_judge(self, judge: str) -> float | None:
        """The score of one judge of a panel."""
        score = self.row.by_judge.get(judge)
        return 1 - score if score is not None and self.is_second else score


class LabelledTable(Struct, frozen=True, dict=True):
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

    @cached_property
    def entries(self) -> dict[str, list[Entry]]:
        """The items of each system as numbers; see `by_system`."""
        by_system: dict[str, list[Entry]] = defaultdict(list)
        for row in self.rows:
            if self.classes:
                places = [
                    None if answer is None else float(self.classes.index(str(answer)))
                    for answer in (row.answer, row.label)
                ]
                by_system[row.system].append(Entry(row, places[0], places[1]))
                continue
            if self.kind == "scores":
                by_system[row.system].append(
                    Entry(row, number_or_none(row.answer), number_or_none(row.label))
                )
                continue
            for system, side in zip(row.systems, ("a", "b"), strict=True):
                shares = _share_won(row.answer, side), _share_won(row.label, side)
                by_system[system].append(Entry(row, *shares, is_second=side == "b"))
        return dict(by_system)

    def labelled(self) -> list[LabelledItem]:
        return list(self._labelled)

    @cached_property
    def _labelled(self) -> list[LabelledItem]:
        return [row for row in self.rows if row.label is not None]

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """The judges of a panel, in a fixed order; empty for a single judge."""
        return tuple(sorted({judge for row in self.rows for judge in row.by_judge}))

    def rated(self) -> list[LabelledItem]:
        """The items that people have rated. A class needs a majority
        to be the label of an item; numbers always have a mean.
        """
        return list(self._rated)

    @cached_property
    def _rated(self) -> list[LabelledItem]:
        return [row for row in self.rows if row.ratings.count(None) < len(row.ratings)]

    def has_groups(self) -> bool:
        return self._has_groups

    @cached_property
    def _has_groups(self) -> bool:
        return any(row.group is not None for row in self.rows)

    def groups(self, rows: Sequence[LabelledItem]) -> list[str] | None:
        """The cluster of each row, or none where all items are independent."""
        return [row.cluster for row in rows] if self.has_groups() else None


def _share_won(answer: Answer | None, side: str) -> float | None:
    """What the system on one side gets: 1 for a win, 0 for a loss, one half for a tie."""
    if not isinstance(answer, str):
        return None
    return as_number(answer) if side == "a" else 1 - as_number(answer)


def number_or_none(answer: Answer | None) -> float | None:
    """A score as a number; none for a choice or a missing answer."""
    return None if answer is None or isinstance(answer, str) else float(answer)


def numbers(answers: Iterable[Answer | None]) -> list[float | None]:
    """The scores as numbers; none for choices and missing answers."""
    # The body of `number_or_none`: a card of 100,000 scores asks for millions of them.
    return [None if answer is None or isinstance(answer, str) else float(answer) for answer in answers]


def choices(answers: Iterable[Answer | None]) -> list[str | None]:
    """The choices; none for scores and missing answers."""
    return [answer if isinstance(answer, str) else None for answer in answers]
