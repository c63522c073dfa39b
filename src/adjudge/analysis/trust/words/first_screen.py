"""The first screen of a judge card: the verdict, the systems, and at most three warnings, each with a next
step.

At most thirty lines at 80 columns; `--full` prints the rest. The words of the verdict are those of the pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from ....sections import Column, Notice, Section
from ....words import NO_VALUE, count, interval, listed, names, number, share, short_name
from ...significance import SIGNIFICANCE
from ..card import Card, CorrectedMean, CriterionCard, Use
from ..corrected_leaders import corrected_gap, corrected_leaders
from .agreement import agreement_by_sections
from .baseline import not_beaten
from .plan import plan_section
from .recommendation import verdict_of_card
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


def trust_screen(card: Card, most_rows: int, by: Sequence[str] = ()) -> tuple[Section, ...]:
    """The card in short; no table has more than `most_rows` rows.

    The parts of the fields in `by`, and a plan, were asked for: their tables are on the screen.
    """
    title = f"Judge card: {card.run}" if card.run else "Judge card"
    # What several judges say together is what the report shows and a gate decides on.
    panels = {name: about for name, about in card.criteria.items() if about.panel}
    main = panels or card.criteria
    about = main[worst_of(main)]
    judges_of_panel: tuple[Section, ...] = ()
    if len(main) == 1:
        answer = Section(title, verdict_lines(about), *systems_table(about, most_rows), depth=1)
        single = {name: judge for name, judge in card.criteria.items() if not judge.panel}
        if panels:
            rows = criterion_rows(single, max(2, most_rows // 2))
            judges_of_panel = (Section("Each judge of the panel", (), _CRITERIA, rows),)
    else:
        answer = Section(
            title, (verdict_of_all(main), *verdict_lines(about)), _CRITERIA,
            criterion_rows(main, most_rows), depth=1,
        )  # fmt: skip
    stop = () if card.stop is None else (stop_section(card.stop),)
    answer = structs.replace(answer, lines=(*answer.lines, *_judges_compared(card)))
    return (
        answer,
        *judges_of_panel,
        *stop,
        *_asked_tables(main, by, most_rows),
        warning_section(card_warnings(card), "The whole card: --full. All numbers: --json."),
    )


def _asked_tables(cards: Mapping[str, CriterionCard], by: Sequence[str], most_rows: int) -> Iterator[Section]:
    """Agreement in parts of the items, and the labels that a plan takes; of several criteria each."""
    for name, card in cards.items():
        of = "" if len(cards) == 1 else f": {short_name(name)}"
        parts = [agreement_by_sections(field, card.by[field], card) for field in by if field in card.by]
        for section in (*parts, *([plan_section(card)] if card.plan else ())):
            rows = tuple(section.rows)
            left = f"{count(len(rows) - most_rows, 'more row')}: --full." if len(rows) > most_rows else ""
            yield structs.replace(
                section, title=f"{section.title}{of}", rows=rows[:most_rows], is_detail=False,
                lines=(*section.lines, *([left] if left else ())),
            )  # fmt: skip


def _judges_compared(card: Card) -> tuple[str, ...]:
    """Which of several judges agrees better with people: one sentence, whose numbers are in the card."""
    if len(card.judges) < 2:
        return tuple(pair.sentence.text for pair in card.judges)
    titles = titles_of(card.criteria)
    better = []
    for pair in card.judges:
        if pair.sentence.text.find("significantly better") < 0:
            continue
        sides = pair.first, pair.second
        first, second = sides if (pair.result.difference.value or 0.0) > 0 else sides[::-1]
        better.append(f"{titles.get(first, first)} over {titles.get(second, second)}")
    n = count(len(card.judges), "comparison")
    if not better:
        return (f"No judge agrees significantly better with people than another one ({n}).",)
    return (f"Significantly better agreement with people, of {n}: {listed(better, 3)}.",)


def worst_of(cards: Mapping[str, CriterionCard]) -> str:
    """The criterion whose verdict is worst; of several the one with the lowest agreement."""
    return min(
        cards,
        key=lambda name: (
            _WORST_FIRST.index(cards[name].recommendation.use),
            agreement_of(cards[name])[0].value or 0.0,
        ),
    )


def judge_in_sentence(spec: str) -> str:
    """A judge as a sentence names it: the model without its address, recorded replies by their file."""
    name = spec.rpartition("#")[2].rpartition("/")[2]
    if spec.startswith("replay:"):
        name = name.removeprefix("replay:").removesuffix(".gz").removesuffix(".jsonl")
    return name or spec


def name_of_judge(card: CriterionCard) -> str:
    """The judge of a card as a sentence names it: a model, or the panel."""
    return f"the panel of {len(card.panel)} judges" if card.panel else judge_in_sentence(card.model)


def verdict_lines(card: CriterionCard) -> tuple[str, ...]:
    """The verdict with its reason, which system leads, and the next step."""
    found = card.recommendation
    verdict = verdict_of_card(card, name_of_judge(card))
    lead = leaders_sentence(card)
    return f"{verdict} {found.reason}{' ' + lead if lead else ''}", f"Next: {found.next}"


def verdict_of_all(cards: Mapping[str, CriterionCard]) -> str:
    """gpt-4: not usable alone for coherence and fluency; usable alone for relevance."""
    judges = list(dict.fromkeys(name_of_judge(card) for card in cards.values()))
    titles = titles_of(cards)
    uses = [
        (use, names([titles[name] for name, card in cards.items() if card.recommendation.use == use]))
        for use in _WORST_FIRST
        if any(card.recommendation.use == use for card in cards.values())
    ]
    text = "; ".join(_GROUPS[use].format(of_use) for use, of_use in uses)
    if len(judges) > 1:
        return f"{text[0].upper()}{text[1:]}."
    is_panel = any(card.panel for card in cards.values())
    return f"{judges[0].capitalize() if is_panel else judges[0]}: {text}."


def titles_of(cards: Mapping[str, CriterionCard]) -> dict[str, str]:
    """How a screen names each card: the criterion, with the judge where there are several, in short."""
    titles = {}
    for name, card in cards.items():
        start, dot, _ = short_name(name).partition(f" · {card.model}")
        titles[name] = f"{start} · {judge_in_sentence(card.model)}" if dot else short_name(name)
    if len(set(titles.values())) < len(titles):
        return {name: short_name(name) for name in cards}
    return titles


def leaders_sentence(card: CriterionCard) -> str:
    """Which system leads after correction, and whether it is that of the judge."""
    leaders = corrected_leaders(card)
    if not leaders or card.n_labelled == card.n_failed:
        return ""  # without an answer of the judge nothing is corrected: the means are those of the labels
    best, n = leaders[0], card.corrected[leaders[0]].n
    direction = 1 if card.scale is None or card.kind == "choices" else card.scale.direction
    by_judge = max(
        card.corrected, key=lambda name: direction * (card.corrected[name].judge_only.value or 0.0)
    )
    also = " also" if by_judge == best else ""
    gap = corrected_gap(card, best)
    if gap is not None:
        other = next(name for name in card.corrected if name != best)
        lead = "" if len(leaders) == 1 else ", no significant lead"
        text = f"{best} minus {other}, corrected: {interval(gap)}{lead}."
    elif len(leaders) == len(card.corrected):
        text = f"No system has a significant lead after correction (n = {n:,})."
    elif len(leaders) > 1:
        text = f"{names(leaders)} lead{also} after correction, without a significant difference (n = {n:,})."
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
    titles = titles_of(cards)
    rows = [_criterion_row(titles[name], cards[name]) for name in shown]
    if len(cards) > len(shown):
        rows.append((f"and {len(cards) - len(shown)} more", "", "", "", "", ""))
    return tuple(rows)


def _criterion_row(name: str, card: CriterionCard) -> tuple[str, ...]:
    judge, people = agreement_of(card)
    write = share if card.kind == "choices" else number
    return (
        short_system(name),
        USES[card.recommendation.use],
        NO_VALUE if judge.value is None else write(judge.value),
        NO_VALUE if people is None or people.value is None else write(people.value),
        NO_VALUE if card.bias.value is None else interval(card.bias),
        f"{card.n_labelled:,}",
    )


def systems_table(
    card: CriterionCard, most: int
) -> tuple[tuple[str | Column, ...], tuple[tuple[str, ...], ...]]:
    """Each system by its corrected mean, the judge's and people's; best first, empty without corrected
    means."""
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
        short_system(name),
        interval(mean),
        NO_VALUE if judge is None else number(judge),
        NO_VALUE if people is None else number(people),
        f"{mean.n:,}",
    )


_LONGEST_NAME = 28


def short_system(name: str) -> str:
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


def card_warnings(card: Card, *, has_failures: bool = True, has_steps: bool = True) -> list[str]:
    """All warnings of the card, those that several criteria share once."""
    run = f" {card.run}" if card.is_stored else ""
    grouped: dict[str, dict[str, str]] = {}
    titles = titles_of(card.criteria)
    for name, about in card.criteria.items():
        for text in (
            *(_failures(about) if has_failures else ()),
            *_failed_items(about),
            *_unknown_means(about),
            *filter(None, (not_beaten(about),)),
            # Without any label, the verdict says so.
            *(about.notes if about.n_labelled else ()),
        ):
            # Warnings that begin alike differ in their numbers alone, wherever these stand.
            words = [word for word in text.split() if not any(map(str.isdigit, word))]
            grouped.setdefault(" ".join(words[:3]), {})[titles[name]] = in_brief(text)
    look = f"Next: adjudge view{run}" if run else "Next: --full"
    of_criteria = []
    for texts in grouped.values():
        (first, text), *others = texts.items()
        # Numbers of the first belong to it alone.
        is_shared = all(other == text for _, other in others)
        where = _where(texts, card) if is_shared else f" ({first}; {len(others)} more like it)"
        step = look if "fails" in text else "Next: --full"
        warning = f"{text.rstrip('.')}{where}."
        of_criteria.append(f"{warning} {step}" if has_steps else warning)
    return [*map(in_brief, card.notes), *of_criteria]


def _where(criteria: Iterable[str], card: Card) -> str:
    named, n_cards = list(dict.fromkeys(criteria)), len(card.criteria)
    is_one = len({(about.protocol, about.criterion, about.kind) for about in card.criteria.values()}) == 1
    if is_one and len(named) == n_cards:
        return ""
    if is_one:
        judges = [title.partition(" · ")[2] or title for title in named]
        return f", for {judges[0]}" if len(judges) == 1 else f", for {len(judges)} of {n_cards} judges"
    what = (
        "criteria" if len({about.model for about in card.criteria.values()}) == 1 else "criteria and judges"
    )
    return f", on {named[0]}" if len(named) == 1 else f", on {len(named)} {what}"


def _unknown_means(card: CriterionCard) -> list[str]:
    """Why labels of a system give no corrected mean."""
    unknown = [name for name, mean in card.corrected.items() if mean.value is None]
    if not unknown or card.is_nominal:
        return []
    why = card.corrected[unknown[0]].reason.partition(" (")[0]
    return [f"No corrected mean of {listed(unknown, 3)}: {why}"]


def _failed_items(card: CriterionCard) -> list[str]:
    """Whether people rate items on which the judge failed otherwise than the rest: then its means leave
    out what they should hold."""
    found = card.informative_failures
    if found is None or found.difference.low is None or found.difference.high is None:
        return []
    if found.difference.low <= 0 <= found.difference.high:
        return []
    side = "lower" if found.difference.high < 0 else "higher"
    gap = interval(found.difference, is_difference=True)
    imputed = ""
    if found.imputed.value is not None:
        imputed = f"; with them the judge's mean is {interval(found.imputed)}"
    return [f"Failures are informative: people rate failed items {side} than others ({gap}){imputed}"]


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
