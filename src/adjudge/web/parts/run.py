"""Puts the parts of a run together, in the order in which a page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from ...card.shapes import Card
from ...ranking import Ranking
from ...report import Correlation, Summary
from ...report.words import share, size_text
from ...store.browsing import Spent
from .failures import FailuresPart, ReadingsPart, failures_part, readings_part
from .method import MethodPart, Told, cautions_part, method_part
from .pairs import PairsPart, pair_parts
from .panel import PanelPart, panel_part
from .people import CardPart, Points, card_part
from .ranking import RankingPart, ranking_part
from .scores import CriterionPart, score_parts
from .spread import Values
from .timing import TimingPart, timing_part


class Fact(Struct, frozen=True):
    """One of the few numbers at the top of a page."""

    name: str
    value: str
    more: str = ""


class RunParts(Struct, frozen=True):
    """All that a page shows of a run. A part that is none has nothing to show."""

    summary: Summary
    marks: tuple[str, ...]
    """what kind of judge it was, where that must not be overlooked: fake, recorded replies"""
    size: str
    facts: tuple[Fact, ...]
    cautions: tuple[Told, ...]
    scores: tuple[CriterionPart, ...]
    ranking: RankingPart | None
    pairs: tuple[PairsPart, ...]
    panel: PanelPart | None
    failures: FailuresPart | None
    readings: ReadingsPart | None
    correlations: tuple[Correlation, ...]
    flags: tuple[tuple[str, int], ...]
    card: CardPart | None
    timing: TimingPart | None
    method: MethodPart

    def has_tables(self) -> bool:
        """Whether numbers are folded away that the parts before them show already."""
        return bool((self.card and self.card.tables) or (self.ranking and self.ranking.tables))

    def without_tables(self) -> RunParts:
        """The same parts without those, where a page would be too large."""
        card = structs.replace(self.card, tables=()) if self.card is not None else None
        ranking = structs.replace(self.ranking, tables=()) if self.ranking is not None else None
        return structs.replace(self, card=card, ranking=ranking)


def run_parts(
    summary: Summary,
    card: Card | None = None,
    ranking: Ranking | None = None,
    *,
    points: Points | None = None,
    timing: Sequence[Spent] | None = None,
    values: Values | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> RunParts:
    """The parts of a run, from its summary and what else is known of it (see `known_of`)."""
    return RunParts(
        summary=summary,
        marks=marks_of(summary),
        size=size_text(summary) if summary.n_scores else "nothing judged yet",
        facts=tuple(_facts(summary)),
        cautions=cautions_part(summary),
        scores=score_parts(summary, values),
        ranking=ranking_part(ranking) if ranking is not None else None,
        pairs=pair_parts(summary),
        panel=panel_part(summary),
        failures=failures_part(summary),
        readings=readings_part(summary),
        correlations=summary.correlations,
        flags=tuple(summary.flags.items()),
        card=card_part(card, points) if card is not None else None,
        timing=timing_part(summary, timing),
        method=method_part(summary, manifest, card.seed if card is not None else None),
    )


def marks_of(summary: Summary) -> tuple[str, ...]:
    """What kind of judge it was, where that must not be overlooked."""
    marks = []
    if any(model.is_fake for model in summary.models.values()):
        marks.append("fake judge")
    if any(spec.startswith("replay:") for spec in summary.models):
        marks.append("recorded replies")
    kinds: set[str] = {caution.kind for caution in summary.warnings}
    if "weak_judge" in kinds:
        marks.append("weak judge")
    return tuple(marks)


def _facts(summary: Summary) -> list[Fact]:
    planned = summary.n_planned
    of = f"of {planned:,} planned" if planned is not None and planned != summary.n_items else ""
    systems = summary.systems or dict.fromkeys(
        name for pairs in summary.pairs.values() for pair in pairs for name in (pair.system_a, pair.system_b)
    )
    noun = "Choices" if summary.pairs and not summary.systems else "Scores"
    failed = share(summary.n_failed / summary.n_scores) if summary.n_scores else "–"
    calls = f"{summary.n_calls:,} calls"
    cost = Fact("Cost", "–", f"no price known; {calls}")
    if summary.cost_usd is not None:
        cost = Fact("Cost", f"${summary.cost_usd:,.4f}", calls)
    return [
        Fact("Items", f"{summary.n_items:,}", of),
        Fact("Systems", f"{len(systems):,}"),
        Fact(noun, f"{summary.n_scores:,}"),
        Fact("Failed", failed, f"{summary.n_failed:,} of {summary.n_scores:,}" if summary.n_scores else ""),
        Fact("Judges", f"{len(summary.models):,}"),
        cost,
    ]
