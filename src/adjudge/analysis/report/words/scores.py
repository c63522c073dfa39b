"""The scores of a report: the mean of each system on each criterion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import structs

from ....records import Scale
from ....sections import CORRELATIONS, SHARES, Axis, Column, Section, Value
from ....words import count, decimals, failures_text, interval_cell, number, percent_cell, short_name
from ...run_view.tally import key_text
from ..cells import best_first
from ..summary import Cell, Summary
from .distributions import Values, distribution_bars


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
        bars = distribution_bars(criterion, about.scale, cells, values or {})
        rows = tuple(
            score_row((system,), cell, digits, bars.get(system, "")) for system, cell in cells.items()
        )
        notes = [groups_text(cells.values())]
        if about.minimum_detectable is not None:
            notes.append(detectable_text(about.minimum_detectable, digits, about.scale))
        yield Section(
            short_name(criterion),
            (*((about.text,) if about.text else ()), scale_text(about.scale)),
            score_columns(("system",), about.scale),
            rows,
            notes=tuple(note for note in notes if note),
            criterion=criterion,
        )
    yield from _correlations(summary)


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
        criterion,
        (scale_text(scale),),
        columns,
        tuple(rows),
        notes=tuple(note for note in notes if note),
        criterion=criterion,
    )


def score_columns(names: tuple[str, ...], scale: Scale | None) -> tuple[str | Column, ...]:
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


def score_row(names: tuple[str, ...], cell: Cell, digits: int, bars: Value = "") -> tuple[Value, ...]:
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
    return (
        f"Intervals are clustered by group: items of one group count as one observation ({span} "
        f"{'group' if counts[-1] == 1 else 'groups'})."
    )


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
