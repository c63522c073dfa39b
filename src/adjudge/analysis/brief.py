"""A run in one line: which system is best, how far the judge can be trusted, its bias, failures and cost.

Every number is one of the summary, the ranking or the judge card; nothing is estimated here. A system is best where the
ranking has it first, and tied with it are the systems that the ranking's tests leave possible as first. Trust is the
agreement that the opening sentence of the card gives, beside that of a human rater. Terminal and pages show the same parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from ..data.labels import LabelFile
from ..errors import DataError
from ..records import Estimate
from ..sections import Section
from ..store import Store
from ..words import count, listed, number, share, short_name, signed
from .rank import leaders_of, rank_view
from .result_types import Card, CriterionCard, Leaders, Ranking, ReviewTally, Summary
from .run_view import RunView
from .trust import card_of_views
from .trust_words import agreement_of

Level = Literal["", "good", "warn", "bad"]
Evidence = Literal["scores", "ranking", "card", "failures", "timing", "label"]
"""where the numbers behind a part are: a part of the report, or `label` where people have to label items first"""

FEW_LABELS = 50
"""How many items to label first."""


class CriterionBrief(Struct, frozen=True):
    """One criterion: its best system, and the judge compared with people."""

    name: str
    kind: str
    best: str | None
    """the system that the ranking has first; none with one system, or where the direction of the scale is unknown"""
    tied: tuple[str, ...] = ()
    """other systems that may be the best"""
    mean: Estimate | None = None
    """with one system: its mean"""
    judge: str = ""
    """with several judges: the one that agrees best with people"""
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


class BriefPart(Struct, frozen=True):
    """One part of the line: its name, its text, how bad it is, and where its evidence is."""

    name: str
    text: str
    more: str = ""
    level: Level = ""
    evidence: Evidence = "scores"


class Estimates(Struct, frozen=True):
    """What takes seconds to estimate: the judge card where there are labels, the ranking where there are choices."""

    card: Card | None = None
    ranking: Ranking | None = None


def estimates_of(store: Store, view: RunView, summary: Summary, given: LabelFile | None = None) -> Estimates:
    """The estimates of a run. `given` are labels of a file; the default is the labels in the store."""
    assert view.run is not None
    labels = given if given is not None else LabelFile(tuple(store.labels(view.run)))
    card = card_of_views(store, [view], labels) if labels.labels and summary.n_scores else None
    ranking = None
    if summary.pairs:
        try:
            ranking = rank_view(store, view)
        except DataError:
            ranking = None  # there is nothing to rank, as with pairs of a single system
    return Estimates(card, ranking)


def brief_of_run(store: Store, view: RunView, summary: Summary, estimates: Estimates | None = None) -> Brief:
    """The brief of a stored run; `estimates` where they are known already."""
    known = estimates_of(store, view, summary) if estimates is None else estimates
    return brief_of(summary, leaders_of(view, known.ranking), known.card)


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
    line = CriterionBrief(
        shown,
        leaders.kind if leaders is not None else "choices" if of_classes else "scores",
        None if is_single else first,
        leaders.systems[1:] if leaders is not None and not is_single else (),
        mean,
    )
    cards = _cards(card, key, line.kind)
    if card is None or not cards:
        return line
    judge, about = _best_judge(card, cards)
    agreement, people = agreement_of(about)
    return CriterionBrief(
        line.name,
        line.kind,
        line.best,
        line.tied,
        line.mean,
        judge,
        agreement if agreement.value is not None else None,
        people,
        about.ceiling.standing if about.ceiling is not None and people is not None else "unknown",
        about.bias if about.bias.value is not None else None,
        *_reviewed(about.reviews),
    )


def _reviewed(tally: ReviewTally | None) -> tuple[int, int, int]:
    """Labels, how many of them were reviewed, and how many of those changed."""
    if tally is None:
        return 0, 0, 0
    return tally.n_labels, tally.n_reviewed, tally.n_changed + tally.n_unclear


def _cards(card: Card | None, key: tuple[str, str], kind: str) -> dict[str, CriterionCard]:
    """The judges of a criterion."""
    return {
        about.model: about
        for about in (card.criteria.values() if card is not None else ())
        if (about.protocol, about.criterion, about.kind) == (*key, kind)
    }


def _best_judge(card: Card, cards: Mapping[str, CriterionCard]) -> tuple[str, CriterionCard]:
    """The only judge, without its name; of several the one that the card finds best, or else the first."""
    if len(cards) == 1:
        return "", next(iter(cards.values()))
    criterion = next(iter(cards.values())).criterion
    best = [one.best for one in card.best if one.criterion == criterion and one.best in cards]
    judge = best[0] if best and best[0] is not None else next(iter(cards))
    return judge, cards[judge]


# The words


def brief_parts(brief: Brief, line: CriterionBrief | None = None) -> tuple[BriefPart, ...]:
    """All parts about one criterion, the first by default."""
    if not brief.n_scores:
        return (BriefPart("Judged", "nothing yet"), *_spent(brief))
    line = line or (brief.criteria[0] if brief.criteria else None)
    of_criterion = (
        (*_best(line), *_trust(brief, line)) if line is not None and not brief.is_all_failed else ()
    )
    return (*of_criterion, *run_parts_of(brief))


def criterion_parts(brief: Brief, line: CriterionBrief) -> tuple[BriefPart, ...]:
    """The parts that differ from criterion to criterion."""
    return () if brief.is_all_failed or not brief.n_scores else (*_best(line), *_trust(brief, line))


def run_parts_of(brief: Brief) -> tuple[BriefPart, ...]:
    """The parts that are about all criteria together."""
    failed = BriefPart("Failed", "none", evidence="failures")
    if brief.n_failed:
        level: Level = "bad" if brief.is_all_failed else "warn"
        text = "everything" if brief.is_all_failed else share(brief.n_failed / brief.n_scores)
        failed = BriefPart(
            "Failed", text, f"{brief.n_failed:,} of {brief.n_scores:,}", level, evidence="failures"
        )
    elif brief.is_all_failed:
        failed = BriefPart("Failed", "everything", level="bad", evidence="failures")
    return (failed, *_spent(brief))


def _spent(brief: Brief) -> Iterator[BriefPart]:
    calls = count(brief.n_calls, "call")
    yield BriefPart("Cost", cost_word(brief.cost_usd), calls, evidence="timing")


def cost_word(cost_usd: float | None) -> str:
    """A cost in a word: to the cent, or to a hundredth of a cent where it is small."""
    if cost_usd is None:
        return "unknown"
    return f"${number(cost_usd, 2 if cost_usd >= 0.1 else 4)}" if cost_usd else "free"


def _best(line: CriterionBrief) -> Iterator[BriefPart]:
    if line.best is not None:
        tied = (
            f"tied with {count(len(line.tied), 'other')}"
            if line.tied
            else "significantly ahead of all others"
        )
        if len(line.tied) == 1:
            tied = f"tied with {line.tied[0]}"
        evidence: Evidence = "ranking" if line.kind == "choices" else "scores"
        yield BriefPart("Best", line.best, tied, "" if line.tied else "good", evidence)
    elif line.mean is not None and line.mean.value is not None:
        yield BriefPart("Mean", number(line.mean.value), f"n={line.mean.n:,}")


def _trust(brief: Brief, line: CriterionBrief) -> Iterator[BriefPart]:
    if line.agreement is None or line.agreement.value is None:
        more = f"label {FEW_LABELS} items" if not brief.is_labelled else "see the judge card"
        yield BriefPart("Trust", "not known", more, "warn", "card" if brief.is_labelled else "label")
        return
    is_share = line.kind == "choices"
    text = share(line.agreement.value) if is_share else number(line.agreement.value)
    more = "agreement with people"
    if line.people is not None and line.people.value is not None:
        more = f"where people reach {share(line.people.value) if is_share else number(line.people.value)}"
    levels: dict[str, Level] = {"below": "warn", "above": "good", "on par": "good"}
    judge = f"{line.judge}: " if line.judge else ""
    yield BriefPart("Trust", text, f"{judge}{more}", levels.get(line.standing, ""), "card")
    if line.bias is not None and line.bias.value is not None:
        low, high = line.bias.low, line.bias.high
        is_clear = low is not None and high is not None and not low <= 0 <= high
        yield BriefPart("Bias", signed(line.bias.value), "judge − people", "warn" if is_clear else "", "card")
    if line.n_reviewed:
        text = f"{line.n_reviewed} of {count(line.n_labels, 'label')}"
        yield BriefPart("Reviewed", text, f"{line.n_changed} changed", "", "card")


def brief_section(brief: Brief) -> Section:
    """The same for the terminal and for Markdown."""
    of_all = (
        " · ".join(_text(part) for part in run_parts_of(brief)) if brief.n_scores else "nothing judged yet"
    )
    lines = []
    for line in brief.criteria[:_MOST_LINES]:
        parts = criterion_parts(brief, line)
        lead = f"{line.name}: " if len(brief.criteria) > 1 else ""
        if parts:
            lines.append(lead + " · ".join(_text(part) for part in parts))
    if len(brief.criteria) > _MOST_LINES:
        rest = [line.name for line in brief.criteria[_MOST_LINES:]]
        lines.append(f"and {count(len(rest), 'more criterion', 'more criteria')}: {listed(rest)}")
    return Section("In short", (*lines, of_all))


_MOST_LINES = 8


def _text(part: BriefPart) -> str:
    name = part.name.lower()
    return f"{name}: {part.text} ({part.more})" if part.more else f"{name}: {part.text}"
