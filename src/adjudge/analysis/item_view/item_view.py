"""One item as people see it: its fields, and each call with
prompt, reply, what was read where, evidence, tokens and cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...records import Item, Protocol
from ...store.browsing import CallOutcome
from .answer_spans import answer_spans, conflicting_spans, second_answers, without_second
from .calls import call_view, with_class_names
from .elements import checked_by, criteria_of, with_elements
from .evidence import field_view, quotes_of, sources_of
from .views import ItemView


def item_view(
    item: Item | None,
    places: Sequence[CallOutcome],
    protocols: Mapping[str, Protocol],
    *,
    shown: Sequence[CallOutcome] | None = None,
    longest: int | None = None,
) -> ItemView:
    """The view of an item with all its calls, or those in `shown`; no text is longer than about `longest`
    characters.

    A score that was read from the answer to a second question is listed and marked there; where that call is
    not shown, it is listed with the first one.
    """
    shown = places if shown is None else shown
    fields = item.fields if item is not None else {}
    sources = {name: sources_of(value) for name, value in fields.items()}
    parents = {place.call.key: place for place in places if place.call is not None}
    with_second = {
        place.call.parent for place in shown if place.about.kind == "reask" and place.call is not None
    }
    calls = []
    for place in shown:
        key = place.call.key if place.call is not None else None
        parent = parents.get(place.call.parent or "") if place.call is not None else None
        if place.about.kind == "check":
            judgment = checked_by(key, places)
            spans = answer_spans(judgment)
        elif place.about.kind == "reask":
            judgment, spans = second_answers(place, parent, protocols.get(place.about.protocol), item)
        else:
            judgment = without_second(place.judgment) if key in with_second else place.judgment
            spans = answer_spans(judgment)
        doubtful = conflicting_spans(place, protocols.get(place.about.protocol), item)
        protocol = protocols.get(place.about.protocol)
        view = call_view(place, judgment, spans, doubtful, sources, longest, protocol)
        calls.append(
            with_elements(with_class_names(view, judgment, protocol), place, item, protocol, sources)
        )
    quotes = dict.fromkeys(quote for place in places for quote in quotes_of(place.judgment))
    samples: dict[tuple[str, str, tuple[str, ...]], set[int]] = {}
    for place in places:
        about = place.about
        criteria = criteria_of(place, protocols.get(about.protocol))
        samples.setdefault((about.protocol, about.model, criteria), set()).add(about.sample)
    return ItemView(
        item,
        tuple(field_view(name, parts, quotes, longest) for name, parts in sources.items()),
        tuple(calls),
        len(places) - len(shown),
        {key: len(numbers) for key, numbers in samples.items()},
    )
