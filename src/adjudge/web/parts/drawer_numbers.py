"""The number that each drawer of a run's page says while it is closed."""

from __future__ import annotations

from msgspec import Struct

from ...analysis.rank.ranking import Ranking
from ...analysis.report.summary import Summary
from ...analysis.report.words.cost import known_cost
from ...analysis.trust.card import Card
from ...words import count, number, share


class DrawerNumbers(Struct, frozen=True):
    """One number a drawer; empty where there is none."""

    flagged: str
    scores: str
    ranking: str
    pairs: str
    panel: str
    failures: str
    card: str
    readings: str
    cost: str


def drawer_numbers(summary: Summary, card: Card | None, ranking: Ranking | None) -> DrawerNumbers:
    n_pairs = sum(pair.a + pair.b + pair.tie for pairs in summary.pairs.values() for pair in pairs)
    n_flagged = sum(cell.n_flagged for cells in summary.systems.values() for cell in cells.values())
    alphas = [panel.alpha.value for panel in summary.panel.values() if panel.alpha.value is not None]
    rungs = [(name, rung.n) for by_name in summary.rungs.values() for name, rung in by_name.items()]
    n_asked, n_unread = sum(n for _, n in rungs), sum(n for name, n in rungs if name == "failed")
    n_systems = len(ranking.systems) if ranking is not None else 0
    failed = f"{summary.n_failed:,} of {summary.n_scores:,}"
    if summary.n_failed:
        failed += f" ({share(summary.n_failed / summary.n_scores)})"
    n_criteria = count(len(summary.criteria), "criterion", "criteria")
    return DrawerNumbers(
        flagged=count(n_flagged, "flagged score"),
        scores=f"{count(len(summary.systems), 'system')}, {n_criteria}",
        ranking=count(n_systems, "system"),
        pairs=count(n_pairs, "choice"),
        panel=f"alpha {number(min(alphas))}" if alphas else "",
        failures=failed,
        card=count(card.n_labels, "label") if card is not None else "",
        readings=f"{share(1 - n_unread / n_asked)} read" if n_asked else "",
        cost=known_cost(summary),
    )
