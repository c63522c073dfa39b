"""The first screen of a judge card: the verdict, the systems, and at most three warnings, each with a next step.

At most thirty lines at 80 columns; `--full` prints the rest. The words of the verdict are those of the pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from ....sections import Column, Notice, Section
from ....words import NO_VALUE, count, interval, names, number, share, short_name
from ...significance import SIGNIFICANCE
from ..card import Card, CorrectedMean, CriterionCard, Use
from ..corrected_leaders import corrected_leaders
from .recommendation import verdict_sentence
from .sentences import agreement_of
from .stop import stop_section

MOST_WARNINGS = 3


_WORST_FIRST: tuple[Use, ...] = ("no", "unknown", "corrected", "alone")


USES: dict[Use, str] = {
    "alone": "alone",
    "corrected": "only corrected",
    "no": "no",
    "unknown": "not known",
}
"""May the judge be used: as the cell of a table."""


_GROUPS: dict[Use, str] = {
    "alone": "usable alone for {}",
    "corrected": "usable only corrected with labels for {}",
    "no": "not usable alone for {}",
    "unknown": "not known for {}",
}


def trust_screen(card: Card, most_rows: int) -> tuple[Section, ...]:
    """The card in short; no table has more than `most_rows` rows."""
    title = f"Judge card: {card.run}" if card.run else "Judge card"
    worst = worst_of(card.criteria)
    about = card.criteria[worst]
    if len(card.criteria) == 1:
        answer = Section(title, verdict_lines(about), *systems_table(about, most_rows), depth=1)
    else:
        answer = Section(
            title, (verdict_of_all(card.criteria), *verdict_lines(about)), _CRITERIA,
            criterion_rows(card.criteria, most_rows), depth=1,
        )  # fmt: skip
    stop = () if card.stop is None else (stop_section(card.stop),)
    judges = tuple(pair.sentence.text for pair in card.judges if len(card.judges) == 1)
    answer = structs.replace(answer, lines=(*answer.lines, *judges))
    return answer, *stop, warning_section(_warnings(card), "The whole card: --full. All numbers: --json.")


def worst_of(cards: Mapping[str, CriterionCard]) -> str:
    """The criterion whose verdict is worst; of several the one with the lowest agreement."""
    return min(
        cards,
        key=lambda name: (
            _WORST_FIRST.index(cards[name].recommendation.use),
            agreement_of(cards[name])[0].value or 0.0,
        ),
    )


def judge_name(spec: str) -> str:
    """A judge as a sentence names it: the model without its address or folder."""
    return spec.rpartition("#")[2].rpartition("/")[2] or spec


def verdict_lines(card: CriterionCard) -> tuple[str, ...]:
    """The verdict with its reason, which system leads, and the next step."""
    found = card.recommendation
    verdict = verdict_sentence(judge_name(card.model), card.criterion, found.use)
    lead = leaders_sentence(card)
    return f"{verdict} {found.reason}{' ' + lead if lead else ''}", f"Next: {found.next}"


def verdict_of_all(cards: Mapping[str, CriterionCard]) -> str:
    """gpt-4: not usable alone for coherence and fluency; usable alone for relevance."""
    judges = list(dict.fromkeys(judge_name(card.model) for card in cards.values()))
    uses = [
        (use, names([short_name(name) for name, card in cards.items() if card.recommendation.use == use]))
        for use in _WORST_FIRST
        if any(card.recommendation.use == use for card in cards.values())
    ]
    text = "; ".join(_GROUPS[use].format(of_use) for use, of_use in uses)
    return f"{judges[0]}: {text}." if len(judges) == 1 else f"{text[0].upper()}{text[1:]}."


def leaders_sentence(card: CriterionCard) -> str:
    """Which system leads after correction, and whether it is that of the judge."""
    leaders = corrected_leaders(card)
    if not leaders:
        return ""
    best, n = leaders[0], card.corrected[leaders[0]].n
    direction = 1 if card.scale is None or card.kind == "choices" else card.scale.direction
    by_judge = max(
        card.corrected, key=lambda name: direction * (card.corrected[name].judge_only.value or 0.0)
    )
    also = " also" if by_judge == best else ""
    if len(leaders) == len(card.corrected):
        text = f"No system has a significant lead after correction (n = {n})."
    elif len(leaders) > 1:
        text = f"{names(leaders)} lead{also} after correction, without a significant difference (n = {n})."
    else:
        text = f"{best} leads{also} after correction."
    return text if also else f"{text} By the judge alone, {by_judge} would lead."


_CRITERIA = (
    "criterion",
    "use",
    "agreement",
    Column("people", is_spare=True),
    Column("judge − people", is_spare=True),
    Column("labels", is_spare=True),
)


def criterion_rows(cards: Mapping[str, CriterionCard], most: int) -> tuple[tuple[str, ...], ...]:
    """A row for each criterion, the worst first where there are too many."""
    shown = list(cards)
    if len(shown) > most:
        shown = sorted(cards, key=lambda name: _WORST_FIRST.index(cards[name].recommendation.use))[:most]
    return tuple(_criterion_row(name, cards[name]) for name in shown)


def _criterion_row(name: str, card: CriterionCard) -> tuple[str, ...]:
    judge, people = agreement_of(card)
    write = share if card.kind == "choices" else number
    return (
        shortened(short_name(name)),
        USES[card.recommendation.use],
        NO_VALUE if judge.value is None else write(judge.value),
        NO_VALUE if people is None or people.value is None else write(people.value),
        NO_VALUE if card.bias.value is None else interval(card.bias),
        str(card.n_labelled),
    )


def systems_table(
    card: CriterionCard, most: int
) -> tuple[tuple[str | Column, ...], tuple[tuple[str, ...], ...]]:
    """Each system by its corrected mean, the judge's and people's; best first, empty without corrected means."""
    direction = 1 if card.scale is None or card.kind == "choices" else card.scale.direction or 1
    known = sorted(card.corrected, key=lambda name: -direction * (card.corrected[name].value or 0.0))
    if not known or card.is_nominal:
        return (), ()
    columns = (
        "system",
        "corrected [95 % CI]",
        "judge",
        Column("people", is_spare=True),
        Column("labels", is_spare=True),
    )
    rows = [_system_row(name, card.corrected[name]) for name in known[:most]]
    if len(known) > most:
        rows.append((f"and {len(known) - most} more", "", "", "", ""))
    return columns, tuple(rows)


def _system_row(name: str, mean: CorrectedMean) -> tuple[str, ...]:
    judge, people = mean.judge_only.value, mean.labels_only.value
    return (
        shortened(name),
        interval(mean),
        NO_VALUE if judge is None else number(judge),
        NO_VALUE if people is None else number(people),
        str(mean.n),
    )


_LONGEST_NAME = 28


def shortened(name: str) -> str:
    """A name that leaves room for the numbers beside it."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


_LONGEST_WARNING = 150


def in_brief(text: str) -> str:
    """The first sentence of a warning, at most two lines of a terminal."""
    first = text.partition(". ")[0].rstrip(".")
    if len(first) <= _LONGEST_WARNING:
        return f"{first}."
    return f"{first[:_LONGEST_WARNING].rpartition(' ')[0]} …"


def warning_section(warnings: Sequence[str], footer: str) -> Section:
    """At most three warnings, and where the rest is."""
    more = len(warnings) - MOST_WARNINGS
    notes = (f"{count(more, 'more warning')}. {footer}" if more > 0 else footer,)
    title = "Before you use these numbers" if warnings else "More"
    return Section(title, notices=tuple(map(Notice, warnings[:MOST_WARNINGS])), notes=notes)


def _warnings(card: Card) -> list[str]:
    """All warnings of the card, those that several criteria share once."""
    run = f" {card.run}" if card.is_stored else ""
    grouped: dict[str, dict[str, str]] = {}
    for name, about in card.criteria.items():
        for text in (*_failures(about), *about.notes):
            # Warnings that begin alike differ in their numbers alone.
            grouped.setdefault(" ".join(text.split()[:3]), {})[short_name(name)] = in_brief(text)
    look = f"Next: adjudge view{run}" if run else "Next: --full"
    of_criteria = []
    for texts in grouped.values():
        text = next(iter(texts.values()))
        step = look if "fails" in text else "Next: --full"
        of_criteria.append(f"{text.rstrip('.')}{_where(texts, len(card.criteria))}. {step}")
    return [*map(in_brief, card.notes), *of_criteria]


def _where(criteria: Iterable[str], n_criteria: int) -> str:
    named = list(dict.fromkeys(criteria))
    if n_criteria == 1:
        return ""
    return f", on {named[0]}" if len(named) == 1 else f", on {len(named)} criteria"


def _failures(card: CriterionCard) -> list[str]:
    """A system on which the judge fails more often than on another one."""
    failures, p = card.quality.failures, card.quality.failures_p
    if p is None or p >= SIGNIFICANCE or len(failures) < 2:
        return []
    worst, least = (
        pick(failures, key=lambda name: failures[name].failed.value or 0.0) for pick in (max, min)
    )
    rates = [share(failures[name].failed.value or 0.0) for name in (worst, least)]
    return [f"The judge fails more often on {worst}, {rates[0]} against {rates[1]} on {least}"]
