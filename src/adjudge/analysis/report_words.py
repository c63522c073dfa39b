"""A report as sections of text and tables, from the head of the run to its cost; the same for terminal, Markdown and HTML.

Names are as users wrote them; the printers escape them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from ..records import Scale
from ..sections import (
    CORRELATIONS,
    SHARES,
    WIN_RATES,
    Axis,
    Bars,
    Column,
    Counts,
    Notice,
    Part,
    Section,
    Value,
)
from ..stats import PositionBias
from ..words import (
    count,
    decimals,
    duration,
    failures_text,
    interval,
    interval_cell,
    number,
    p_text,
    percent,
    percent_cell,
    share,
    short_name,
    status_text,
)
from .brief import Brief, brief_section
from .result_types import Cell, FailureShare, PairSummary, PanelSummary, RungShare, Summary
from .tally import best_first, key_text

Values = Mapping[tuple[str, str], Sequence[float]]
"""(criterion, system) → scores, where a summary has too many different ones to count by value"""

MEANING = (
    "[low, high] is a 95 % confidence interval: the same judge on other items of this kind would give a mean in about this "
    "range. It does not show that the judge is right; only human labels can."
)
PANEL_MEANING = (
    "Krippendorff's alpha: 1 is perfect agreement, 0 is chance; below 0.67 the agreement is too low for most uses. Spearman is the "
    "correlation with the mean of the other judges."
)
ORDER_MEANING = (
    "An unbiased judge names the same winner in both orders, and each position wins half of the decided choices. p: binomial test "
    "for position bias, among pairs whose winner changed with the order."
)
ONE_ORDER_MEANING = (
    "Each pair was shown in one order. p: binomial test for position bias; if one system is always shown first, a better system "
    "has the same effect."
)
_READINGS = {
    "strict": "exactly the requested format",
    "anchored": "a common variant of the requested format",
    "reask": "asked again for the answer alone",
    "rule": "decided by a rule, without asking the judge",
}
FAILURE_MEANING = "A failure is excluded from every mean. If one system fails more often than another, its mean overstates it."
STATUSES = ("unparsed", "out_of_range", "conflicting", "refused", "truncated", "no_reply")
_SEVERE = frozenset({"all_failed", "fake_model", "weak_judge", "incomplete"})


def report_sections(
    summary: Summary, values: Values | None = None, *, brief: Brief | None = None
) -> tuple[Section, ...]:
    """All sections of the report. `values` are scores to draw, where they are known; `brief` is the run in one line."""
    return (
        _head(summary),
        *([] if brief is None else [brief_section(brief)]),
        *caution_sections(summary),
        *score_sections(summary, values),
        *element_sections(summary),
        *pair_sections(summary),
        *panel_sections(summary),
        *failure_sections(summary),
        *reading_sections(summary),
        *cost_sections(summary),
        *how_to_read(summary),
    )


def _head(summary: Summary) -> Section:
    version = f"adjudge {summary.version}" if summary.version else ""
    about = " · ".join(text for text in (summary.started, summary.status, version) if text)
    lines = [about] if about else []
    lines += [
        f"judge: {judge_text(spec, model.names, model.is_fake)}" for spec, model in summary.models.items()
    ]
    if summary.protocols:
        named = [f"{name} ({digest[:12]})" if digest else name for name, digest in summary.protocols.items()]
        lines.append(f"protocol: {', '.join(named)}")
    if summary.estimator:
        lines.append(f"estimator: {summary.estimator}")
    lines.append(f"judged: {size_text(summary)}")
    if pooling := pooling_text(summary):
        lines.append(f"pooling: {pooling}")
    return Section(f"Report: {summary.run}" if summary.run else "Report", tuple(lines), depth=1)


def caution_sections(summary: Summary) -> Iterator[Section]:
    """The warnings."""
    if summary.warnings:
        severe = _severe_kinds(summary)
        in_order = sorted(summary.warnings, key=lambda warning: warning.kind not in severe)
        warned = tuple(Notice(warning.text, warning.kind in severe) for warning in in_order)
        yield Section("Before you use these numbers", notices=warned)


def _severe_kinds(summary: Summary) -> frozenset[str]:
    # A run in progress is incomplete too, but nothing is wrong with it.
    return _SEVERE - {"incomplete"} if summary.status == "running" else _SEVERE


def how_to_read(summary: Summary) -> Iterator[Section]:
    """What an interval means and what it does not."""
    if any(cell.low is not None for cells in summary.systems.values() for cell in cells.values()):
        yield Section("How to read this", (MEANING,))


def size_text(summary: Summary) -> str:
    """How much was judged, and how much failed."""
    shown = [count(summary.n_items, "item")]
    if summary.systems:
        shown.append(count(len(summary.systems), "system"))
    scores = count(summary.n_scores, "choice" if summary.pairs and not summary.systems else "score")
    of_all = f" ({share(summary.n_failed / summary.n_scores)})" if summary.n_failed else ""
    return " · ".join([*shown, f"{scores}, {summary.n_failed:,} failed{of_all}"])


def pooling_text(summary: Summary) -> str:
    """How several judges are pooled; empty with one judge."""
    kinds = {panel.pooled for panel in summary.panel.values()}
    meanings = {"mean": "each score is the mean of the judges", "vote": "each choice is the judges' vote"}
    n_judges = max((len(panel.judges) for panel in summary.panel.values()), default=0)
    return f"{n_judges} judges; {', '.join(meanings[kind] for kind in sorted(kinds))}" if n_judges else ""


def judge_text(spec: str, names: Mapping[str, int], is_fake: bool) -> str:
    """The spec of a judge, and the model name that it reports where that differs."""
    reported = [name for name in names if name and name != spec.partition(":")[2]]
    suffix = f" (reported as {', '.join(reported)})" if reported else ""
    return f"{spec}{suffix}{' [fake]' if is_fake else ''}"


# Scores: the mean of each system on each criterion.


def score_sections(summary: Summary, values: Values | None = None) -> Iterator[Section]:
    """One section for each criterion, then the correlations between criteria."""
    for criterion, about in summary.criteria.items():
        cells = {
            system: by_name[criterion] for system, by_name in summary.systems.items() if criterion in by_name
        }
        if not cells:
            continue
        in_order = best_first({system: {criterion: cell} for system, cell in cells.items()}, [about.scale])
        cells = {system: by_name[criterion] for system, by_name in in_order.items()}
        if about.scale is not None and about.scale.is_nominal:
            yield _shares_section(criterion, about.scale, cells)
            continue
        digits = decimals(about.scale)
        bars = _bars(criterion, about.scale, cells, values or {})
        rows = tuple(
            _score_row((system,), cell, digits, bars.get(system, "")) for system, cell in cells.items()
        )
        notes = [groups_text(cells.values())]
        if about.minimum_detectable is not None:
            notes.append(detectable_text(about.minimum_detectable, digits, about.scale))
        yield Section(
            short_name(criterion),
            (*((about.text,) if about.text else ()), scale_text(about.scale)),
            _score_columns(("system",), about.scale),
            rows,
            notes=tuple(note for note in notes if note),
        )
    yield from _correlations(summary)


ELEMENTS_MEANING = (
    "Over all elements, each counts the same, so items with many elements count more than in the mean per item above. The interval "
    "takes the elements of one item as dependent. Elements that could not be read are in no mean."
)


def element_sections(summary: Summary) -> Iterator[Section]:
    """What a protocol with steps has checked one by one: counts by verdict, and the mean over all elements."""
    for criterion, systems in (summary.elements or {}).items():
        scale = summary.criteria[criterion].scale if criterion in summary.criteria else None
        verdicts = list(dict.fromkeys(verdict for entry in systems for verdict in entry.counts))
        has_judges = len({entry.model for entry in systems}) > 1
        has_quotes = any(entry.n_quoted for entry in systems)
        rows = tuple(
            (
                entry.system,
                *((entry.model,) if has_judges else ()),
                interval_cell(entry.mean, decimals(scale)),
                *(f"{entry.counts.get(verdict, 0):,}" for verdict in verdicts),
                f"{sum(entry.failures.values()):,}",
                f"{entry.n_items:,}",
                *((f"{entry.n_found:,} of {entry.n_quoted:,}",) if has_quotes else ()),
                failures_text(entry.failures),
            )
            for entry in systems
        )
        axis = Axis() if scale is None else Axis(scale.low, scale.high)
        columns = (
            "system",
            *(("judge",) if has_judges else ()),
            Column("mean over elements [95 % CI]", axis),
            *verdicts,
            "failed",
            "items",
            *(("evidence found",) if has_quotes else ()),
            "remark",
        )
        yield Section(f"{short_name(criterion)}: elements", (), columns, rows, notes=(ELEMENTS_MEANING,))


def _shares_section(criterion: str, scale: Scale, cells: Mapping[str, Cell]) -> Section:
    """The share of each label for each system."""
    rows: list[tuple[Value, ...]] = []
    for system, cell in cells.items():
        shares = cell.shares if isinstance(cell.shares, dict) else {}
        for place, (name, estimate) in enumerate(shares.items()):
            is_first = place == 0
            rows.append(
                (
                    system,
                    name,
                    percent_cell(estimate),
                    f"{cell.distribution.get(name, 0):,}",
                    f"{cell.n:,}",
                    f"{cell.n_failed:,}",
                    _remark(structs.replace(cell, reason="")) if is_first else "",
                )
            )
    columns = ("system", "label", Column("share [95 % CI]", SHARES), "chosen", "n", "failed", "remark")
    notes = [groups_text(cells.values())]
    return Section(
        criterion, (scale_text(scale),), columns, tuple(rows), notes=tuple(note for note in notes if note)
    )


def _score_columns(names: tuple[str, ...], scale: Scale | None) -> tuple[str | Column, ...]:
    axis = Axis() if scale is None else Axis(scale.low, scale.high)
    mean = Column("mean [95 % CI]", axis)
    return (
        *names,
        mean,
        Column("scores", is_spare=True),
        "n",
        "failed",
        "range including failures",
        "remark",
    )


def _score_row(names: tuple[str, ...], cell: Cell, digits: int, bars: Value = "") -> tuple[Value, ...]:
    possible = (cell.bounds.low, cell.bounds.high) if cell.n_failed and cell.bounds is not None else None
    span = "" if possible is None else f"{number(possible[0], digits)} to {number(possible[1], digits)}"
    mean = interval_cell(cell, digits, possible=possible)
    return (*names, mean, bars, f"{cell.n:,}", f"{cell.n_failed:,}", span, _remark(cell))


def _remark(cell: Cell) -> str:
    """The remark on a mean: failures, and why an interval is missing."""
    # Where all scores failed, the failures are the reason.
    why = "" if cell.value is None and cell.n_failed else cell.reason
    texts = [failures_text(cell.failures), why]
    if cell.n_undefined:
        texts.append(f"{count(cell.n_undefined, 'item')} with nothing to score")
    if cell.n_samples > cell.n + cell.n_failed and cell.n_samples_failed:
        texts.append(f"{cell.n_samples_failed:,} of {cell.n_samples:,} samples failed")
    return "; ".join(text for text in texts if text)


def scale_text(scale: Scale | None) -> str:
    """1–5, higher is better."""
    if scale is None:
        return "unknown scale"
    if scale.is_nominal:
        return f"{len(scale.classes)} labels without an order: no mean, no better end"
    better = {1: "higher is better", -1: "lower is better", 0: "unknown which end is good"}[scale.direction]
    if scale.low is None or scale.high is None:
        return f"unbounded, {better}"
    ends = f"{key_text(scale.low)}–{key_text(scale.high)}"
    named = ", ".join(f"{key_text(level)} = {name}" for level, name in sorted(scale.names.items()))
    return f"{ends} ({named}), {better}" if named else f"{ends}, {better}"


def groups_text(cells: Iterable[Cell]) -> str:
    """What counts as one observation where items share groups; empty where items are independent."""
    counts = sorted({cell.n_groups for cell in cells if cell.n_groups is not None})
    if not counts:
        return ""
    span = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"Intervals are clustered by group: items of one group count as one observation ({span} {'group' if counts[-1] == 1 else 'groups'})."


def detectable_text(value: float, digits: int, scale: Scale | None) -> str:
    """The smallest difference that this many items detect."""
    if (
        scale is not None
        and scale.low is not None
        and scale.high is not None
        and value >= scale.high - scale.low
    ):
        return "With so few items, no difference between two systems can be detected reliably."
    return f"Smallest detectable difference between two systems (80 % power): {number(value, digits)}."


def _correlations(summary: Summary) -> Iterator[Section]:
    if not summary.correlations:
        return
    title, about = "Correlations between criteria", "Spearman over items; 1 is the same order"
    known = [pair for pair in summary.correlations if pair.spearman.low is not None]
    if not known:
        yield Section(title, (about, "There are too few items."), is_detail=True)
        return
    rows = tuple(
        (
            *pair.criteria,
            interval_cell(pair.spearman),
            f"{pair.spearman.n:,}",
            f"{pair.spearman.n_failed:,}",
            pair.spearman.unit,
            pair.spearman.reason,
        )
        for pair in known
    )
    columns = (
        "criterion",
        "criterion",
        Column("Spearman [95 % CI]", CORRELATIONS),
        "n",
        "failed",
        "unit",
        "remark",
    )
    yield Section(title, (about,), columns, rows, is_detail=True)


# The distribution of scores: a bar for each level of the scale, or bins of equal width where there are too many values.


_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 13
_N_BINS = 12


def _bars(criterion: str, scale: Scale | None, cells: Mapping[str, Cell], values: Values) -> dict[str, Bars]:
    """system → its scores; empty where they are not known one by one, or are all the same."""
    counted = {system: _counted(cell, values.get((criterion, system), ())) for system, cell in cells.items()}
    counted = {system: counts for system, counts in counted.items() if counts}
    seen = sorted({value for counts in counted.values() for value in counts})
    levels = (scale.values(_MOST_BARS) if scale is not None else []) or (
        seen if len(seen) <= _MOST_BARS else []
    )
    if levels:
        sums = {system: _by_level(levels, counts) for system, counts in counted.items()}
    elif seen:
        levels = _edges(scale, seen[0], seen[-1])
        sums = {system: _by_bin(levels, counts) for system, counts in counted.items()}
    if len(levels) < 2 or not counted:
        return {}
    tallest = max(n for counts in sums.values() for n in counts)
    return {
        system: Bars(_drawn(levels, counts), tuple(levels), tuple(counts), tallest)
        for system, counts in sums.items()
    }


def _counted(cell: Cell, values: Sequence[float]) -> dict[float, int]:
    """value → scores; from the scores themselves where the cell does not count them."""
    if cell.distribution:
        return {round(float(value), 9): n for value, n in cell.distribution.items()}
    counts: dict[float, int] = {}
    for value in values:
        counts[round(value, 9)] = counts.get(round(value, 9), 0) + 1
    return counts


def _edges(scale: Scale | None, low: float, high: float) -> list[float]:
    """The ends of bins over the scale, or over round numbers around the values."""
    if scale is not None and scale.low is not None and scale.high is not None:
        low, high = scale.low, scale.high
    else:
        unit = 10.0 ** (math.floor(math.log10(high - low)) - 1)
        low, high = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    return [low + place * (high - low) / _N_BINS for place in range(_N_BINS + 1)]


def _by_level(levels: Sequence[float], counts: Mapping[float, int]) -> list[int]:
    """How many scores are nearest to each level; means of samples lie between the levels."""
    sums = [0] * len(levels)
    for value, n in counts.items():
        nearest = min(range(len(levels)), key=lambda place: abs(levels[place] - value))
        sums[nearest] += n
    return sums


def _by_bin(edges: Sequence[float], counts: Mapping[float, int]) -> list[int]:
    sums = [0] * _N_BINS
    for value, n in counts.items():
        place = int((value - edges[0]) / (edges[-1] - edges[0]) * _N_BINS)
        sums[min(_N_BINS - 1, max(0, place))] += n
    return sums


def _drawn(levels: Sequence[float], counts: Sequence[int]) -> str:
    """From low to high: 1|▂▃█▅ |5."""
    top = max(counts)
    drawn = "".join(" " if not n else _BARS[-(-n * 7 // top)] for n in counts)
    return f"{levels[0]:.4g}|{drawn}|{levels[-1]:.4g}"


# Choices: win rates and position bias.


def pair_sections(summary: Summary) -> Iterator[Section]:
    """One section for each criterion that is decided by a choice, then the position bias."""
    for criterion, pairs in summary.pairs.items():
        line = "choice between two responses; a tie counts as half a win"
        yield Section(
            short_name(criterion), (line,), _pair_columns(()), tuple(_pair_row(pair) for pair in pairs)
        )
    yield from _order(summary)


def _pair_columns(names: tuple[str, ...]) -> tuple[str | Column, ...]:
    won = Column("win rate of the first [95 % CI]", WIN_RATES)
    changed = Column("order conflicts", SHARES)
    return ("pair", *names, won, "wins / losses / ties", "n", "failed", changed, "remark")


def _pair_row(pair: PairSummary, *names: str) -> tuple[Value, ...]:
    parts = (
        Part(pair.system_a, pair.a, "first"),
        Part("tie", pair.tie, "tie"),
        Part(pair.system_b, pair.b, "second"),
    )
    return (
        f"{pair.system_a} vs {pair.system_b}",
        *names,
        percent_cell(pair.won_by_a),
        Counts(f"{pair.a} / {pair.b} / {pair.tie}", parts),
        f"{pair.won_by_a.n:,}",
        f"{pair.failed:,}",
        percent(pair.order_conflicts) if pair.order_conflicts.n else "",
        failures_text(pair.failures),
    )


def _order(summary: Summary) -> Iterator[Section]:
    """Position bias by criterion; with several judges, also of each judge."""
    rows: list[tuple[Value, ...]] = []
    for criterion, bias in summary.order.items():
        judges = {
            spec: model.order[criterion] for spec, model in summary.models.items() if criterion in model.order
        }
        rows.append(_order_row(criterion, "all" if judges else "", bias))
        rows += [_order_row(criterion, judge, judge_bias) for judge, judge_bias in judges.items()]
    if not rows:
        return
    columns = (
        "criterion", "judge", Column("same winner in both orders", SHARES), "pairs", Column("first position wins", WIN_RATES),
        "choices", "p",
    )  # fmt: skip
    has_both = any(bias.n_pairs for bias in summary.order.values())
    meaning = ORDER_MEANING if has_both else ONE_ORDER_MEANING
    yield Section("Position bias", (), columns, tuple(rows), notes=(meaning,))


def _order_row(criterion: str, judge: str, bias: PositionBias) -> tuple[Value, ...]:
    first = bias.first_share
    return (
        criterion,
        judge,
        percent_cell(bias.agreement),
        f"{bias.n_pairs:,}",
        percent_cell(first),
        f"{first.n:,}",
        p_text(bias.p),
    )


# Several judges: their agreement, and the results of each.


def panel_sections(summary: Summary) -> Iterator[Section]:
    """The agreement and the results of each judge, where there are several; the other tables pool them."""
    if not summary.panel:
        return
    yield Section("Agreement between judges", (PANEL_MEANING,))
    for criterion, panel in summary.panel.items():
        about = summary.criteria.get(criterion)
        digits = decimals(about.scale if about is not None else None)
        rows = tuple(
            (
                judge,
                interval_cell(agreement.with_rest),
                interval(agreement.shift, digits),
                interval(agreement.alpha_without),
                f"{agreement.with_rest.n:,}",
            )
            for judge, agreement in panel.judges.items()
        )
        columns = (
            "judge",
            Column("Spearman with the others", CORRELATIONS),
            "judge − others",
            "alpha without this judge",
            "n",
        )
        outlier = panel.stands_apart
        notes = (
            ()
            if outlier is None
            else (f"{outlier} is an outlier: the other judges agree better without it.",)
        )
        yield Section(
            short_name(criterion), (f"agreement: {panel_text(panel)}",), columns, rows, 3, notes=notes
        )
        yield from _by_judge(criterion, panel, summary)


def panel_text(panel: PanelSummary) -> str:
    """Krippendorff's alpha, with its n and its remarks."""
    alpha = f"alpha {interval(panel.alpha, 2)}, n={panel.alpha.n}"
    remarks = "; ".join(text for text in (panel.alpha.reason, panel.alpha.caution) if text)
    return f"{alpha} ({remarks})" if remarks else alpha


def _by_judge(criterion: str, panel: PanelSummary, summary: Summary) -> Iterator[Section]:
    """The results of each judge on one criterion."""
    name = criterion.removesuffix(" (choice)")
    rows: list[tuple[Value, ...]] = []
    if panel.pooled == "vote":
        columns = _pair_columns(("judge",))
        rows += [
            _pair_row(pair, judge)
            for judge in panel.judges
            for pair in summary.models[judge].pairs.get(name, ())
        ]
    else:
        about = summary.criteria.get(name)
        scale = about.scale if about is not None else None
        columns = _score_columns(("system", "judge"), scale)
        rows += [
            _score_row((system, judge), cells[name], decimals(scale))
            for system in summary.systems
            for judge in panel.judges
            if name in (cells := summary.models[judge].systems.get(system, {}))
        ]
    if rows:
        yield Section(
            f"{short_name(criterion)}: results by judge", (), columns, tuple(rows), 3, is_detail=True
        )


# Failures, how replies were read, and cost.


def failure_sections(summary: Summary) -> Iterator[Section]:
    """Failures by system; nothing where nothing failed, or where there are only choices."""
    by_system = summary.failures_by_system
    if not any(failures.n_samples_failed for failures in by_system.values()):
        return
    columns = ("system", "scores", "failed [95 % CI]", "n", "remark")
    rows = tuple(_failure_row(system, failures) for system, failures in by_system.items())
    yield Section("Failures", (), columns, rows, notes=(FAILURE_MEANING,))


def _failure_row(system: str, failures: FailureShare) -> tuple[Value, ...]:
    statuses = {name: failures.by_status[name] for name in STATUSES if name in failures.by_status}
    counts = {"ok": failures.n - failures.failed, **statuses}
    samples = ""
    if failures.n_samples > failures.n and failures.n_samples_failed:
        samples = f"{failures.n_samples_failed:,} of {failures.n_samples:,} samples failed"
    scores = Counts(failures_text(counts), _parts(counts))
    return system, scores, percent_cell(failures.share), f"{failures.n:,}", samples


def _parts(counts: Mapping[str, int]) -> tuple[Part, ...]:
    return tuple(Part(status_text(name), n, name) for name, n in counts.items())


def reading_sections(summary: Summary) -> Iterator[Section]:
    """How the replies of each judge were read, and their flags."""
    rows = tuple((judge, *_rungs(rungs)) for judge, rungs in summary.rungs.items() if rungs)
    if rows:
        rungs = {name for by_name in summary.rungs.values() for name in by_name}
        meaning = ". ".join(f"{name}: {text}" for name, text in _READINGS.items() if name in rungs)
        notes = (f"{meaning}.",) if meaning and not rungs <= {"strict", "failed"} else ()
        yield Section("How replies were read", (), ("judge", "how it was read", "n"), rows, notes=notes)
    if summary.flags:
        flags = [f"{flag}: {count(n, 'item')}" for flag, n in summary.flags.items()]
        yield Section("Flags", (", ".join(flags),))


def _rungs(rungs: Mapping[str, RungShare]) -> tuple[Value, str]:
    """strict 96 %, anchored 3 %, failed 1 %; and of how many."""
    text = ", ".join(f"{name} {share(rung.share)}" for name, rung in rungs.items())
    return Counts(
        text, _parts({name: rung.n for name, rung in rungs.items()})
    ), f"{sum(rung.n for rung in rungs.values()):,}"


def cost_sections(summary: Summary) -> Iterator[Section]:
    """Calls, tokens, cost and time, and the parameters that were not sent."""
    lines = [cost_text(summary), *(f"adjusted: {adjustment}" for adjustment in summary.adjustments)]
    if any(lines):
        yield Section("Time and cost", tuple(line for line in lines if line))


def cost_text(summary: Summary) -> str:
    """Calls, tokens, cost and time; empty where nothing is known."""
    if not (
        summary.n_calls or summary.tokens_in or summary.tokens_out or summary.cost_usd or summary.seconds
    ):
        return ""
    calls = count(summary.n_calls, "call")
    if summary.n_cached:
        calls += f" ({summary.n_cached:,} from the cache)"
    if summary.n_reasks:
        price = f", ${summary.reasks_usd:,.4f}" if summary.cost_usd is not None else ""
        calls += f", {count(summary.n_reasks, 're-ask')} among them{price}"
    tokens = f"{summary.tokens_in:,} tokens in, {summary.tokens_out:,} out"
    cost = "cost unknown (no price given)" if summary.cost_usd is None else f"${summary.cost_usd:,.4f}"
    if summary.cost_usd == 0 and not summary.n_unpriced:
        cost = "free"
    if summary.cost_usd is not None and summary.n_unpriced:
        cost += f" (excluding {count(summary.n_unpriced, 'call')} without a price)"
    if summary.cost_usd and summary.n_calls and summary.n_cached >= summary.n_calls:
        cost += ", paid earlier"
    elif summary.cost_usd and summary.paid_earlier_usd:
        cost += f", ${summary.paid_earlier_usd:,.4f} of it paid earlier"
    if summary.cost_usd and summary.price_dates:
        cost += f" (estimate: published prices of {', '.join(sorted(set(summary.price_dates.values())))})"
    return " · ".join([calls, tokens, cost, duration(summary.seconds)])
