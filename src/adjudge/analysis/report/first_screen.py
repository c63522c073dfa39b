"""The answer of a run: may the judge be used, which system is best, what to know before using a number.

One record for terminal, page, report file, notebook and the list of runs. It computes nothing:
every number is of the summary, the ranking or the judge card. A run in progress has no best system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from ...records import Estimate, Scale
from ...results.combine import Kind
from ...words import count, names, short_name
from ..about import about_note
from ..brief.brief import Brief, CriterionBrief
from ..brief.words import best_sentence
from ..cascade.words import decided_text
from ..rank.ranking import CriterionRanking, Ranking
from ..trust.card import Card, CorrectedMean, CriterionCard, Recommendation, Use
from ..trust.corrected_leaders import corrected_leaders
from ..trust.recommendation import without_labels
from ..trust.words.first_screen import (
    card_warnings,
    judge_in_sentence,
    leaders_sentence,
    name_of_judge,
    verdict_of_all,
    worst_of,
)
from ..trust.words.recommendation import no_labels_step, verdict_of_card, verdict_sentence
from ..trust.words.sentences import agreement_of
from .screen_warnings import ScreenWarning, screen_warnings
from .summary import Summary
from .words.cost import known_cost
from .words.report import size_text

State = Literal["answered", "nothing", "all failed", "running"]


class SystemAnswer(Struct, frozen=True):
    """One system on one criterion: its mean, or for choices its win rate."""

    name: str
    corrected: Estimate | None = None
    """corrected with labels; none without"""
    judge: Estimate | None = None
    people: Estimate | None = None
    """the labels alone"""
    n: int = 0
    n_failed: int = 0
    label: str = ""
    """of labels without an order: the one whose share the numbers are"""
    possible: tuple[float, float] | None = None
    """range of the judge's mean including failures; none without failures"""

    @property
    def best_known(self) -> Estimate | None:
        """The corrected mean, where there is one."""
        has_value = self.corrected is not None and self.corrected.value is not None
        return self.corrected if has_value else self.judge


class CriterionAnswer(Struct, frozen=True):
    """One criterion: whether the judge can be used for it, and its systems, best first."""

    name: str
    protocol: str
    criterion: str
    kind: Kind
    scale: Scale | None
    recommendation: Recommendation
    verdict: str
    lead: str
    """which system is best, as a sentence; empty where it is not known"""
    systems: tuple[SystemAnswer, ...]
    card: str = ""
    """its name on the judge card; empty without labels"""
    model: str = ""
    statistic: str = "Spearman"
    agreement: Estimate | None = None
    people: Estimate | None = None
    n_compared: int = 0
    """labelled items that the judge answered"""
    n_unanswered: int = 0
    """labelled items on which it failed"""
    best: str = ""
    """the best system; empty where none is known"""
    is_lead: bool = False
    """whether it is significantly ahead of all others"""
    reviewed: str = ""
    """how many labels were reviewed; empty where none was"""

    @property
    def is_corrected(self) -> bool:
        return any(system.corrected is not None for system in self.systems)


class FirstScreen(Struct, frozen=True):
    """The answer of a run."""

    run: str
    state: State
    use: Use
    """of the criterion for which it is worst"""
    verdict: str
    reason: str
    next: str
    criteria: tuple[CriterionAnswer, ...]
    opened: int
    """the criterion that is shown first: the one for which the judge is least usable"""
    warnings: tuple[ScreenWarning, ...]
    judged: str
    is_labelled: bool
    is_compared: bool = True
    """whether the labels were looked at; without, nothing is said of them"""


def scores_alone(summary: Summary) -> FirstScreen:
    """What a summary says by itself, where its labels were not looked at."""
    screen = first_screen(summary, None, None)
    if screen.state in ("nothing", "all failed"):
        return screen
    return structs.replace(
        screen,
        verdict="These are the scores of the judge, not compared with people.",
        reason="",
        next=f"Compare them with labels: adjudge trust {summary.run}",
        is_compared=False,
    )


def first_screen(
    summary: Summary, brief: Brief | None, card: Card | None, ranking: Ranking | None = None
) -> FirstScreen:
    """The answer of a run; `card` compares it with people, and is none without labels."""
    state = _state(summary)
    cards = card.criteria if card is not None else {}
    criteria = tuple(_criteria(summary, brief, cards, ranking)) if state in ("answered", "running") else ()
    worst = worst_of(cards) if cards else ""
    opened = next((at for at, one in enumerate(criteria) if one.card and one.card == worst), 0)
    verdict, reason, following = _verdict(summary, criteria, cards, state, opened)
    return FirstScreen(
        run=summary.run,
        state=state,
        use=criteria[opened].recommendation.use if criteria else "unknown",
        verdict=verdict,
        reason=reason,
        next=following,
        criteria=criteria,
        opened=opened,
        warnings=screen_warnings(summary, card),
        judged=_judged(summary),
        is_labelled=card is not None,
    )


def _judged(summary: Summary) -> str:
    """How much was judged, at which cost; of a cascade, who decided."""
    text = f"Judged: {size_text(summary)}; cost {known_cost(summary)}."
    if summary.about == "these-items":
        text = f"{text} {about_note('Means')}"
    return f"{text} {decided_text(summary.cascade)}" if summary.cascade else text


def first_screen_of_card(card: Card) -> FirstScreen:
    """The answer of a judge card alone, without its run."""
    criteria = tuple(_of_card(name, about, card.run) for name, about in card.criteria.items())
    worst = worst_of(card.criteria) if card.criteria else ""
    opened = next((at for at, about in enumerate(criteria) if about.card == worst), 0)
    about = criteria[opened] if criteria else None
    is_only = len(criteria) == 1
    reason = " ".join(filter(None, (about.recommendation.reason, about.lead))) if about and is_only else ""
    return FirstScreen(
        run=card.run,
        state="answered" if criteria else "nothing",
        use=about.recommendation.use if about else "unknown",
        verdict=about.verdict if about and is_only else verdict_of_all(card.criteria) if about else "",
        reason=reason,
        next=about.recommendation.next if about else "",
        criteria=criteria,
        opened=opened,
        warnings=tuple(ScreenWarning("labels", text) for text in card_warnings(card, has_steps=False)),
        judged=f"{count(card.n_labels, 'label')}.",
        is_labelled=True,
    )


def _of_card(name: str, card: CriterionCard, run: str) -> CriterionAnswer:
    key: _Key = (card.protocol, card.criterion, card.kind)
    direction = 1 if card.scale is None or card.kind == "choices" else card.scale.direction
    systems = [
        SystemAnswer(system, mean, mean.judge_only, mean.labels_only, mean.judge_only.n)
        for system, mean in ({} if card.is_nominal else card.corrected).items()
    ]
    in_order = tuple(sorted(systems, key=lambda one: _place(one, direction)))
    return _answer(name, key, card.scale, in_order, (name, card), None, (run, card.n_items), is_only=False)


def _state(summary: Summary) -> State:
    if not summary.n_scores:
        return "nothing"
    if any(caution.kind == "all_failed" for caution in summary.warnings):
        return "all failed"
    return "running" if summary.status == "running" else "answered"


def _verdict(
    summary: Summary,
    criteria: Sequence[CriterionAnswer],
    cards: Mapping[str, CriterionCard],
    state: State,
    opened: int,
) -> tuple[str, str, str]:
    """The sentence that is repeated to others, its reason, and the next step."""
    step = f"Read the replies: adjudge runs show {summary.run or 'last'}"
    if state == "nothing" and summary.status == "done" and summary.n_items:
        items = "the only item" if summary.n_items == 1 else f"any of {count(summary.n_items, 'item')}"
        return f"There was nothing to score in {items}. No judgment failed.", "", step
    if state == "nothing":
        return "Nothing is judged yet.", "", ""
    if state == "all failed":
        return "No score could be read, so there is no result.", "", step
    if cards and criteria:
        about = criteria[opened]
        following = about.recommendation.next
        if len(cards) == 1:
            return about.verdict, " ".join(filter(None, (about.recommendation.reason, about.lead))), following
        return verdict_of_all(cards), "", following
    all_names = list(dict.fromkeys(map(short_name, (*summary.criteria, *summary.pairs))))
    judges = list(summary.models)
    judge = judge_in_sentence(judges[0]) if len(judges) == 1 else f"the panel of {len(judges)} judges"
    known = [criterion.recommendation.next for criterion in criteria if criterion.recommendation.next]
    reason = "No item has a human label."
    if state == "running" and summary.n_planned:
        reason = f"The run is in progress: {summary.n_items:,} of {summary.n_planned:,} items. {reason}"
    return (
        verdict_sentence(judge, names(all_names), "unknown"),
        reason,
        known[0] if known else no_labels_step(summary.run, summary.n_items),
    )


def _criteria(
    summary: Summary, brief: Brief | None, cards: Mapping[str, CriterionCard], ranking: Ranking | None
) -> Iterator[CriterionAnswer]:
    """Criteria in the order of the report: scores, then choices."""
    run = summary.run, summary.n_items
    lines = {(line.name, line.kind): line for line in brief.criteria} if brief is not None else {}
    is_only = len(summary.criteria) + len(summary.pairs) == 1
    for name, about in summary.criteria.items():
        is_nominal = about.scale is not None and about.scale.is_nominal
        key: _Key = (about.protocol, about.criterion, "choices" if is_nominal else "scores")
        card = _card(cards, key)[1]
        systems = tuple(_shares(name, summary)) if is_nominal else _systems(name, summary, card)
        line = lines.get((short_name(name), key[2]))
        yield _answer(name, key, about.scale, systems, _card(cards, key), line, run, is_only=is_only)
    for name in summary.pairs:
        ranked = _ranked(ranking, name)
        key = (ranked.protocol if ranked is not None else "", name.rpartition("/")[2], "choices")
        card = _card(cards, key)[1]
        corrected = card.corrected if card is not None else {}
        systems = tuple(_ranked_systems(ranked, corrected))
        line = lines.get((short_name(name), "choices"))
        answer = _answer(name, key, None, systems, _card(cards, key), line, run, is_only=is_only)
        # With scores and choices on one criterion, the name alone would stand for both.
        yield structs.replace(answer, name=f"{answer.name} (choice)") if name in summary.criteria else answer


def _ranked_systems(
    ranked: CriterionRanking | None, corrected: Mapping[str, CorrectedMean]
) -> Iterator[SystemAnswer]:
    """The systems of a ranking: by their corrected win rates where every system has one, else as ranked."""
    systems = [] if ranked is None else list(ranked.systems)
    if systems and all(system.system in corrected for system in systems):
        systems.sort(key=lambda one: -(corrected[one.system].value or 0.0))
    else:
        corrected = {}
    for one in systems:
        mean = corrected.get(one.system)
        people = mean.labels_only if mean is not None else None
        n, failed = one.win_rate.n, one.n_failed
        yield SystemAnswer(one.system, mean, one.win_rate, people, n, failed)


_Key = tuple[str, str, Kind]
"""protocol, criterion, and whether it is of scores or choices"""


def _ranked(ranking: Ranking | None, name: str) -> CriterionRanking | None:
    """The ranking by the choices on a criterion, by the name that the report shows."""
    of_choices = {} if ranking is None else ranking.criteria
    matches = (
        one for key, one in of_choices.items() if one.kind == "choices" and name in (key, one.criterion)
    )
    return next(matches, None)


def _card(cards: Mapping[str, CriterionCard], key: _Key) -> tuple[str, CriterionCard | None]:
    """The card of a criterion, with its name; a choice is found without its protocol."""
    for name, card in cards.items():
        if (card.criterion, card.kind) == key[1:] and key[0] in ("", card.protocol):
            return name, card
    return "", None


def _answer(
    name: str,
    key: _Key,
    scale: Scale | None,
    systems: tuple[SystemAnswer, ...],
    named_card: tuple[str, CriterionCard | None],
    line: CriterionBrief | None,
    run: tuple[str, int],
    *,
    is_only: bool,
) -> CriterionAnswer:
    _, criterion, kind = key
    card_name, card = named_card
    lead = best_sentence(line, is_only=is_only) if line is not None else ""
    if card is None:
        recommendation = without_labels(criterion, *run)
        verdict = verdict_sentence("the judge", criterion, "unknown")
        return CriterionAnswer(
            short_name(name), key[0], criterion, kind, scale, recommendation, verdict, lead, systems,
            best=(line.best or "") if line is not None else "", is_lead=line is not None and not line.tied,
        )  # fmt: skip
    judge, people = agreement_of(card)
    is_ranked = line is not None and line.best is not None and any(system.corrected for system in systems)
    leaders = corrected_leaders(card) if is_ranked else ()
    best = leaders[0] if leaders else (line.best or "") if line is not None else ""
    return CriterionAnswer(
        name=short_name(name),
        protocol=card.protocol,
        criterion=criterion,
        kind=kind,
        scale=scale,
        recommendation=card.recommendation,
        verdict=verdict_of_card(card, name_of_judge(card)),
        lead=leaders_sentence(card) or lead,
        systems=systems,
        card=card_name,
        model=card.model,
        statistic="equal choices" if kind == "choices" else "Spearman",
        agreement=judge if judge.value is not None else None,
        people=people,
        n_compared=card.n_labelled - card.n_failed,
        n_unanswered=card.n_failed,
        best=best,
        is_lead=len(leaders) == 1 if leaders else line is not None and not line.tied,
        reviewed=_reviewed(line),
    )


def _reviewed(line: CriterionBrief | None) -> str:
    if line is None or not line.n_reviewed:
        return ""
    return f"{line.n_reviewed} of {count(line.n_labels, 'label')} reviewed, {line.n_changed} changed"


def _systems(name: str, summary: Summary, card: CriterionCard | None) -> tuple[SystemAnswer, ...]:
    """The systems of a criterion of scores, best first by the best that is known of each."""
    corrected = card.corrected if card is not None and not card.is_nominal else {}
    answers = []
    for system, cells in summary.systems.items():
        cell, mean = cells.get(name), corrected.get(system)
        if cell is not None:
            people = mean.labels_only if mean is not None else None
            possible = (
                (cell.bounds.low, cell.bounds.high) if cell.n_failed and cell.bounds is not None else None
            )
            answers.append(SystemAnswer(system, mean, cell, people, cell.n, cell.n_failed, possible=possible))
    scale = summary.criteria[name].scale
    direction = 1 if scale is None else scale.direction
    is_corrected = any(answer.corrected is not None for answer in answers)
    # A judge's mean does not rank among corrected ones.
    return tuple(
        sorted(answers, key=lambda one: (is_corrected and one.corrected is None, *_place(one, direction)))
    )


def _shares(name: str, summary: Summary) -> Iterator[SystemAnswer]:
    """Of labels without an order: the share of each label of each system."""
    for system, cells in summary.systems.items():
        cell = cells.get(name)
        shares = cell.shares if cell is not None and isinstance(cell.shares, dict) else {}
        for label, found in shares.items():
            yield SystemAnswer(system, judge=found, n=found.n, n_failed=found.n_failed, label=label)


def _place(system: SystemAnswer, direction: int) -> tuple[bool, float]:
    """Best first; those without a number last, and by name alone where no end is good."""
    known = system.best_known
    value = known.value if known is not None else None
    return value is None, -direction * (value or 0.0)
