"""Whether the judge of each criterion of a report can be used; for a panel, all judges together as one."""

from __future__ import annotations

from msgspec import structs

from ...results.combine import Kind
from ..run_view.run_view import RunView
from ..trust.card import Card, Recommendation
from ..trust.recommendation import without_labels
from .report import names_of
from .summary import Summary


def with_recommendations(summary: Summary, view: RunView, card: Card | None) -> Summary:
    """The summary with a recommendation for each criterion; `card` compares the run with people, none without
    labels."""

    def recommendation(protocol: str, criterion: str, kind: Kind) -> Recommendation:
        for about in card.criteria.values() if card is not None else ():
            if (about.protocol, about.criterion, about.kind) == (protocol, criterion, kind):
                return about.recommendation
        return without_labels(criterion, summary.run, summary.n_items)

    def kind_of(name: str) -> Kind:
        scale = summary.criteria[name].scale
        return "choices" if scale is not None and scale.is_nominal else "scores"

    criteria = {
        name: structs.replace(
            about, recommendation=recommendation(about.protocol, about.criterion, kind_of(name))
        )
        for name, about in summary.criteria.items()
    }
    names = names_of(view)
    choices = {names[key]: recommendation(*key, "choices") for key in view.tally.choices}
    return structs.replace(summary, criteria=criteria, pair_recommendations=choices)
