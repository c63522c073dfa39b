"""A run in one line: which system is best, how far the judge can be trusted, its bias, failures and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from ...data.labels import LabelFile
from ...errors import DataError
from ...records import Estimate
from ...store import Store
from ...words import short_name
from ..about import About
from ..labels.judged_texts import labels_of_run
from ..labels.reviews import ReviewTally
from ..rank.by_means import leaders_of
from ..rank.rank import rank_view
from ..rank.ranking import Leaders, Ranking
from ..report.summary import Summary
from ..run_view.panel import pooled_over_models
from ..run_view.run_view import RunView
from ..trust.card import Card, CriterionCard
from ..trust.corrected_leaders import corrected_leaders
from ..trust.trust import card_of_views
from ..trust.words.sentences import agreement_of

FEW_LABELS = 50
"""How many items to label first."""


class CriterionBrief(Struct, frozen=True):
    """One criterion: its best system, and the judge compared with people."""

    name: str
    kind: str
    best: str | None
    """the system that the ranking has first; none with one
    system, or where the direction of the scale is unknown
    """
    tied: tuple[str, ...] = ()
    """other systems over which it has no significant lead"""
    mean: Estimate | None = None
    """with one system: its mean"""
    agreement: Estimate | None = None
    """of the judge with people; none without labels"""
    people: Estimate | None = None
    """of a human rater with the others; none with one rater"""
    standing: str = "unknown"
    """the judge compared with a human rater, see `PeopleCeiling`"""
    bias: Estimate | None = None
    """judge - people; none without labels, and for choices"""
    n_labels: int = 0
    n_reviewed: int = 0
    """labels that were reviewed"""
    n_changed: int = 0
    """labels that reviews changed or left out"""
    n_best: int = 0
    """items, or labels where there are some, behind the mean of the best system; 0 for choices"""
    is_corrected: bool = False
    """whether the best system is that of the corrected means"""


class Brief(Struct, frozen=True):
    """A run in one line."""

    run: str
    criteria: tuple[CriterionBrief, ...]
    n_scores: int
    n_failed: int
    is_all_failed: bool
    is_labelled: bool
    cost_usd: float | None
    n_calls: int


class Estimates(Struct, frozen=True):
    """What takes seconds to estimate: the judge card where
    there are labels, the ranking where there are choices.
    """

    card: Card | None = None
    """of each judge"""
    ranking: Ranking | None = None
    panel: Card | None = None
    """of several judges as one, whose scores the report shows; none with one judge"""

    @property
    def of_run(self) -> Card | None:
        """The card of the scores that the report shows."""
        return self.panel or self.card


def estimates_of(
    store: Store,
    view: RunView,
    summary: Summary,
    given: LabelFile | None = None,
    about: About = "new-inputs",
) -> Estimates:
    """The estimates of a run. `given` are labels of a file; the default is the labels in the store."""
    assert view.run is not None
    labels = labels_of_run(store, view.run, given)
    card = panel = None
    if labels.labels and summary.n_scores:
        card = card_of_views(store, [view], given, about=about)
        panel = card_of_run(store, view, given, about) if len(view.tally.models) > 1 else None
    ranking = None
    if summary.pairs:
        try:
            ranking = rank_view(store, view)
        except DataError:
            ranking = None  # there is nothing to rank, as with pairs of a single system
    return Estimates(card, ranking, panel)


def card_of_run(
    store: Store, view: RunView, labels: LabelFile | None = None, about: About = "new-inputs"
) -> Card:
    """The card of the scores that the report shows: of the judge, or of several judges as one."""
    return card_of_views(store, [pooled_over_models(view)[0]], labels, about=about)


def brief_of_run(store: Store, view: RunView, summary: Summary, estimates: Estimates | None = None) -> Brief:
    """The brief of a stored run; `estimates` where they are known already."""
    known = estimates_of(store, view, summary) if estimates is None else estimates
    return brief_of(summary, leaders_of(view, known.ranking), known.of_run)


def brief_of(summary: Summary, leaders: Mapping[tuple[str, str], Leaders], card: Card | None) -> Brief:
    """The brief of a run. `leaders` are the best systems of each criterion, see `rank.leaders_of`."""
    names = {(about.protocol, about.criterion): name for name, about in summary.criteria.items()}
    keys = dict.fromkeys((*names, *leaders))
    return Brief(
        run=summary.run,
        criteria=tuple(_criterion(key, names.get(key), summary, leaders.get(key), card) for key in keys),
        n_scores=summary.n_scores,
        n_failed=summary.n_failed,
        is_all_failed=any(caution.kind == "all_failed" for caution in summary.warnings),
        is_labelled=card is not None,
        cost_usd=summary.cost_usd,
        n_calls=summary.n_calls,
    )


def _criterion(
    key: tuple[str, str], name: str | None, summary: Summary, leaders: Leaders | None, card: Card | None
) -> CriterionBrief:
    shown = short_name(name or (leaders.name if leaders is not None else key[1]))
    first = leaders.systems[0] if leaders is not None and leaders.systems else None
    is_single = name is not None and sum(name in cells for cells in summary.systems.values()) == 1
    mean = next(cells[name] for cells in summary.systems.values() if name in cells) if is_single else None
    scale = summary.criteria[name].scale if name is not None else None
    of_classes = scale is not None and scale.is_nominal
    is_ranked = leaders is not None and not is_single and summary.status != "running"
    line = CriterionBrief(
        shown,
        leaders.kind if leaders is not None else "choices" if of_classes else "scores",
        first if is_ranked else None,
        _not_behind(leaders.systems, name, summary) if leaders is not None and is_ranked else (),
        mean,
        n_best=summary.systems[first][name].n if is_ranked and first in summary.systems and name else 0,
    )
    cards = _cards(card, key, line.kind)
    return line if not cards else _compared(line, cards[0])


def _not_behind(systems: Sequence[str], name: str | None, summary: Summary) -> tuple[str, ...]:
    """The systems after the first whose interval overlaps with its interval: others are behind it."""
    if name is None or not systems:
        return tuple(systems[1:])
    best = summary.systems.get(systems[0], {}).get(name)
    others = ((system, summary.systems.get(system, {}).get(name)) for system in systems[1:])
    return tuple(system for system, cell in others if best is None or cell is None or _overlap(best, cell))


def _overlap(first: Estimate, second: Estimate) -> bool:
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return True
    return first.low <= second.high and second.low <= first.high


def _compared(line: CriterionBrief, about: CriterionCard) -> CriterionBrief:
    """The criterion with what labels say: agreement, bias, and the best system by the corrected means."""
    agreement, people = agreement_of(about)
    n_labels, n_reviewed, n_changed = _reviewed(about.reviews)
    compared = structs.replace(
        line,
        agreement=agreement if agreement.value is not None else None,
        people=people,
        standing=about.ceiling.standing if about.ceiling is not None and people is not None else "unknown",
        bias=about.bias if about.bias.value is not None else None,
        n_labels=n_labels,
        n_reviewed=n_reviewed,
        n_changed=n_changed,
    )
    leaders = corrected_leaders(about)
    if line.best is None or line.kind == "choices" or not leaders:
        return compared
    return structs.replace(
        compared, best=leaders[0], tied=leaders[1:], n_best=about.corrected[leaders[0]].n, is_corrected=True
    )


def _reviewed(tally: ReviewTally | None) -> tuple[int, int, int]:
    """Labels, how many of them were reviewed, and how many of those changed."""
    if tally is None:
        return 0, 0, 0
    return tally.n_labels, tally.n_reviewed, tally.n_changed + tally.n_unclear


def _cards(card: Card | None, key: tuple[str, str], kind: str) -> list[CriterionCard]:
    """The card of a criterion, where it has one."""
    return [
        about
        for about in (card.criteria.values() if card is not None else ())
        if (about.protocol, about.criterion, about.kind) == (*key, kind)
    ]
