"""Puts the parts of a run together, in the order in which a page shows them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from statistics import median, quantiles
from typing import Any, TypedDict

from markupsafe import Markup
from msgspec import Struct, structs

from ..analysis.label_join import Joined, join
from ..analysis.rank import rank_view
from ..analysis.report_words import MEANING, cost_text, judge_text, rungs_text, size_text
from ..analysis.result_types import Card, Caution, Correlation, FailureShare, Ranking, Summary
from ..analysis.run_view import RunView
from ..analysis.trust import card_of_views
from ..data.labels import LabelFile
from ..errors import DataError
from ..store import Store
from ..store.browsing import Spent, spent
from ..words import duration, failures_text, share
from .charts import Part, histogram, stacked, swatch
from .people_parts import CardPart, Points, RankingPart, card_part, ranking_part
from .score_parts import (
    CriterionPart,
    PairsPart,
    PanelPart,
    Values,
    kept,
    pair_parts,
    panel_part,
    score_parts,
)

# What was asked of whom and with what: all that is needed to get the same numbers again.


_GRAVE = frozenset({"all_failed", "fake_model", "weak_judge", "incomplete"})


class Told(Struct, frozen=True):
    """A caution and how grave it is."""

    css: str
    text: str


class MethodPart(Struct, frozen=True):
    """The method and the signature."""

    judges: tuple[str, ...]
    protocols: tuple[tuple[str, str], ...]
    """id and digest"""
    parameters: tuple[tuple[str, str], ...]
    signature: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    meaning: str
    adjustments: tuple[str, ...]


def cautions_part(summary: Summary) -> tuple[Told, ...]:
    """The cautions, in the order of the report."""
    return tuple(_told(one, summary) for one in summary.warnings)


def _told(caution: Caution, summary: Summary) -> Told:
    if caution.kind == "incomplete" and summary.status == "running":
        # Whoever looks on while a run goes on need not be told that it was stopped.
        text = f"{summary.n_items:,} of {summary.n_planned:,} items are judged so far; the run goes on."
        return Told("warn", text)
    return Told("bad" if caution.kind in _GRAVE else "warn", caution.text)


def method_part(summary: Summary, manifest: Mapping[str, Any] | None, seed: int | None) -> MethodPart:
    """The method of a run; with its manifest also the command that started it and the items' hash."""
    signature = [("Adjudge", summary.version), ("Run", summary.run), ("Started", summary.started)]
    commands = []
    if manifest is not None:
        items = manifest.get("items", {})
        signature += [
            (name, str(items[key]))
            for name, key in (("Items", "path"), ("Items, sha256", "sha256"))
            if items.get(key)
        ]
        if manifest.get("command"):
            commands.append(_command(manifest["command"]))
    if seed is not None:
        signature.append(("Seed of the resampling", str(seed)))
    return MethodPart(
        judges=tuple(judge_text(spec, model.names, model.is_fake) for spec, model in summary.models.items()),
        protocols=tuple(summary.protocols.items()),
        parameters=tuple((name, _shown(value)) for name, value in summary.parameters.items()),
        signature=tuple((name, value) for name, value in signature if value),
        commands=tuple(commands),
        meaning=MEANING,
        adjustments=summary.adjustments,
    )


def _command(words: Sequence[str] | str) -> str:
    return words if isinstance(words, str) else shlex.join(words)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_shown(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_shown(part)}" for key, part in value.items())
    return str(value)


# How long replies took and what they cost, as small histograms.


class TimingPart(Struct, frozen=True):
    """What a run took; a histogram only where values differ."""

    words: str
    facts: tuple[tuple[str, str], ...]
    seconds: Markup | None
    tokens: Markup | None
    cost: Markup | None
    n: int


def timing_part(summary: Summary, spent: Sequence[Spent] | None) -> TimingPart | None:
    """Time, length and cost of replies; none where nothing of it is known."""
    words = cost_text(summary)
    if not words and not spent:
        return None
    seconds = [one.seconds for one in spent or () if one.seconds > 0]
    tokens = [float(one.tokens_out) for one in spent or () if one.tokens_out > 0]
    costs = [one.cost_usd for one in spent or () if one.cost_usd]
    facts = []
    if len(seconds) > 1:
        facts.append(
            (
                "Seconds for a reply",
                f"median {duration(median(seconds))}, 95 % below {duration(_high(seconds))}",
            )
        )
    if len(tokens) > 1:
        facts.append(("Tokens of a reply", f"median {median(tokens):,.0f}, 95 % below {_high(tokens):,.0f}"))
    if costs:
        facts.append(("Cost of a reply", f"median ${median(costs):.6f}"))
    return TimingPart(
        words=words,
        facts=tuple(facts),
        seconds=_drawn(seconds, "seconds for a reply", " s"),
        tokens=_drawn(tokens, "tokens of a reply"),
        cost=_drawn(costs, "dollars for a reply", " $"),
        n=len(spent or ()),
    )


def _high(values: Sequence[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1]


def _drawn(values: Sequence[float], title: str, unit: str = "") -> Markup | None:
    return histogram(values, title, unit) if len(set(values)) > 2 else None


# What could not be read, by system and status, and on which rung the rest was read.


STATUSES = ("unparsed", "out_of_range", "conflicting", "refused", "truncated", "no_reply")
_RUNG_CSS = {
    "strict": "s-ok",
    "anchored": "side-a",
    "likelihood": "s-truncated",
    "reask": "s-conflicting",
    "failed": "s-unparsed",
}


class LegendEntry(Struct, frozen=True):
    """A colour and what it stands for."""

    name: str
    swatch: Markup


class FailureRow(Struct, frozen=True):
    """One system's failures."""

    system: str
    share: FailureShare
    bar: Markup
    remark: str


class FailuresPart(Struct, frozen=True):
    """All systems' failures on one axis, which ends at `whole`."""

    rows: tuple[FailureRow, ...]
    n_hidden: int
    legend: tuple[LegendEntry, ...]


class RungRow(Struct, frozen=True):
    """How the replies of one judge were read."""

    model: str
    bar: Markup
    words: str


class ReadingsPart(Struct, frozen=True):
    """Each judge's rungs, with a legend."""

    rows: tuple[RungRow, ...]
    legend: tuple[LegendEntry, ...]


def failures_part(summary: Summary) -> FailuresPart | None:
    """Failures by system; none where nothing failed, or where there is only a choice to fail."""
    by_system = summary.failures_by_system
    if not any(share.n_samples_failed for share in by_system.values()):
        return None
    shown = kept(list(by_system))
    seen = {status for share in by_system.values() for status in share.by_status}
    return FailuresPart(
        rows=tuple(_row(name, by_system[name]) for name in shown),
        n_hidden=len(by_system) - len(shown),
        legend=tuple(
            LegendEntry(status.replace("_", " "), swatch(f"s-{status}"))
            for status in ("ok", *STATUSES)
            if status in seen or status == "ok"
        ),
    )


def readings_part(summary: Summary) -> ReadingsPart | None:
    """The rungs of each judge; none where nothing was read."""
    rungs = {model: found for model, found in summary.rungs.items() if found}
    if not rungs:
        return None
    names = list(dict.fromkeys(name for found in rungs.values() for name in found))
    rows = tuple(
        RungRow(
            model,
            stacked(
                [Part(name, rung.n, _css(name)) for name, rung in found.items()], f"how {model} was read"
            ),
            rungs_text(found),
        )
        for model, found in rungs.items()
    )
    return ReadingsPart(rows, tuple(LegendEntry(name, swatch(_css(name))) for name in names))


def _css(rung: str) -> str:
    return _RUNG_CSS.get(rung, "s-no_reply")


def _row(system: str, share: FailureShare) -> FailureRow:
    n_ok = share.n - share.failed
    parts = [Part("ok", n_ok, "s-ok")]
    parts += [
        Part(name.replace("_", " "), share.by_status[name], f"s-{name}")
        for name in STATUSES
        if name in share.by_status
    ]
    bar = stacked(parts, f"{system}: {share.failed:,} of {share.n:,} failed", whole=share.n)
    said = [failures_text(share.by_status)]
    if share.n_samples > share.n and share.n_samples_failed:
        said.append(f"{share.n_samples_failed:,} of {share.n_samples:,} samples")
    return FailureRow(system, share, bar, "; ".join(text for text in said if text))


# What a store knows of a run beside its summary: the card where there are labels, times, and scores to draw.


MOST_TIMED = 2000
"""Of how many replies time and cost are drawn."""


class Known(TypedDict):
    """The keywords of `run_parts`."""

    card: Card | None
    ranking: Ranking | None
    points: Mapping[str, Joined] | None
    timing: Sequence[Spent] | None
    values: Mapping[tuple[str, str], Sequence[float]] | None
    manifest: Mapping[str, Any] | None


def known_of(store: Store, view: RunView, summary: Summary, given: LabelFile | None = None) -> Known:
    """All that can be drawn of a run. `given` are labels of a file; without them those in the store count."""
    assert view.run is not None
    labels = given if given is not None else LabelFile(tuple(store.labels(view.run)))
    has_card = bool(labels.labels) and summary.n_scores > 0
    return Known(
        card=card_of_views(store, [view], labels) if has_card else None,
        ranking=_ranking(store, view) if summary.pairs else None,
        points=join(view, labels.labels) if has_card else None,
        timing=spent(store, view.run, MOST_TIMED),
        values=values_of(view, summary),
        manifest=view.run.manifest,
    )


def _ranking(store: Store, view: RunView) -> Ranking | None:
    """None where there is nothing to rank, as with pairs of a single system."""
    try:
        return rank_view(store, view)
    except DataError:
        return None


def values_of(view: RunView, summary: Summary) -> dict[tuple[str, str], list[float]]:
    """The scores of criteria that have too many different ones to be counted by value."""
    many = {
        name
        for by_criterion in summary.systems.values()
        for name, cell in by_criterion.items()
        if cell.distribution_of == "nothing"
    }
    names = {
        (about.protocol, about.criterion): name for name, about in summary.criteria.items() if name in many
    }
    values: dict[tuple[str, str], list[float]] = {}
    for result in view.results if names else ():
        name = names.get((result.protocol, result.criterion))
        if name is not None and result.value is not None:
            values.setdefault((name, result.system), []).append(result.value)
    return values


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
