"""Draws items to label, or replies to check by hand, at random and reproducibly; says when labels suffice. Writes no file.

Neither the judge's score nor the system is shown with an item: knowing either would influence the rater.
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import pstdev
from typing import Any, Literal

from msgspec import Struct

from ..combine import CallJudgment, choice_criterion
from ..data.json_rows import Row
from ..data.table import Problems, Table
from ..engine import fields_naming_the_system, judged_items, protocols_of, results
from ..errors import DataError
from ..records import PART_KINDS, FieldValue, Item, Judgment, Label, Result, Scale, Subject
from ..stats import LabelStream, labels_needed
from ..store import Asked, RunRow, Store
from .correction import Entry, entries_by_system, limits_of, probabilities_of
from .label_join import LabelledTable
from .result_types import Stop, StopDecision
from .run_view import as_number

LABEL_COLUMNS = ("item", "criterion", "subject", "rater", "value", "probability")
REPLY_COLUMNS = ("item", "criterion", "subject", "order", "reply", "read", "status", "right")
"""`order` is ba where the response shown first is the item's b; `read` names responses as the item does."""


class DrawnRows(Struct, frozen=True):
    """Rows of a file to fill in, with its columns."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, str], ...]
    n: int
    """drawn items or replies"""
    n_all: int
    """items or replies to draw from"""


def draw(
    systems: Sequence[str], n: int, *, by_system: bool, seed: int, weights: Sequence[float] | None = None
) -> dict[int, float]:
    """The indices that are drawn, in random order, each with its probability; `systems` has one name per index.

    With `by_system` every system gets the same number, as far as it has that many. With `weights` an index is drawn the
    more probably, the larger its weight. Draws are nested: a larger n with the same seed contains the smaller one.
    """
    rng = random.Random(seed)
    numbers = [(rng.random(), rng.random()) for _ in systems]
    strata: dict[str, list[int]] = defaultdict(list)
    for index, system in enumerate(systems):
        strata[system if by_system else ""].append(index)
    sizes = _shares({name: len(indices) for name, indices in strata.items()}, n)
    drawn: list[tuple[int, float, int, float]] = []
    for name, indices in strata.items():
        size = sizes[name]
        if weights is None:
            order = sorted(indices, key=lambda index: numbers[index])
            drawn += [(rank, numbers[i][1], i, size / len(order)) for rank, i in enumerate(order[:size])]
            continue
        for index, probability in _by_weight(indices, weights, numbers, size).items():
            drawn.append((0, numbers[index][1], index, probability))
    return {index: probability for _, _, index, probability in sorted(drawn)}


def _by_weight(
    indices: Sequence[int], weights: Sequence[float], numbers: Sequence[tuple[float, float]], n: int
) -> dict[int, float]:
    """The n indices with the smallest random number over weight, each with its probability (Duffield et al. 2007).

    Given the threshold, the first number that is not drawn, each index is in with a probability of weight * threshold.
    """
    keys = {index: numbers[index][0] / weights[index] for index in indices}
    order = sorted(indices, key=keys.__getitem__)
    threshold = keys[order[n]] if n < len(order) else math.inf
    return {index: min(1.0, weights[index] * threshold) for index in order[:n]}


def _shares(available: dict[str, int], n: int) -> dict[str, int]:
    """n divided as evenly over the strata as their sizes allow."""
    sizes = dict.fromkeys(available, 0)
    left = min(n, sum(available.values()))
    while left:
        not_full = [name for name in available if sizes[name] < available[name]]
        quota = max(1, left // len(not_full))
        for name in not_full:
            more = min(quota, available[name] - sizes[name], left)
            sizes[name] += more
            left -= more
    return sizes


class Draw(Struct, frozen=True):
    """How items are drawn for labelling."""

    n: int
    by_system: bool = False
    seed: int = 0
    more: int = 0
    """items to draw in addition to `n`, or to those of `earlier`"""
    is_uncertain: bool = False
    """whether items on which the judge is uncertain are drawn more often"""
    earlier: tuple[Row, ...] = ()
    """the rows of an earlier draw, filled in or not"""


def items_to_label(store: Store, run: RunRow, how: Draw, rater: str = "rater") -> DrawnRows:
    """A label file to fill in, with one row for each drawn item, criterion and subject.

    The continuation of a draw has only the additional items; given the rows of the earlier one, it has both.
    """
    judged: dict[str, None] = {}
    criteria: dict[tuple[str, Subject | None], None] = {}
    systems: dict[str, str] = {}
    for result in results(store, run):
        judged[result.item] = None
        criteria[result.criterion, result.subject] = None
        pair = f"{result.system_a} / {result.system_b}" if result.system_a else result.system
        systems.setdefault(result.item, pair)
    if not judged:
        raise DataError(f"run {run.name} has no judged item to draw from. Run it first.")
    ids = list(judged)
    weights = weights_of(uncertainty(store, run), ids, run.name) if how.is_uncertain else None
    probabilities = _drawn(ids, [systems[name] for name in ids], how, weights)
    hidden = fields_naming_the_system(run)
    texts = {item.id: _fields(item, hidden) for item in store.items(run) if item.id in probabilities}
    names = list(dict.fromkeys(name for fields in texts.values() for name in fields))
    given = _given(how.earlier)
    rows = [
        {
            "item": name,
            "criterion": criterion,
            "subject": subject or "",
            "rater": rater_name,
            "value": value,
            "probability": f"{probability:.6g}",
            **texts[name],
        }
        for name, probability in probabilities.items()
        for criterion, subject in criteria
        for rater_name, value in given.get((name, criterion, subject or ""), [(rater, "")])
    ]
    has_subjects = any(subject is not None for _, subject in criteria)
    columns = [name for name in LABEL_COLUMNS if name != "subject" or has_subjects]
    return DrawnRows((*columns, *names), tuple(rows), len(probabilities), len(ids))


def _drawn(
    ids: Sequence[str], systems: Sequence[str], how: Draw, weights: Sequence[float] | None
) -> dict[str, float]:
    """The drawn items, in random order, each with the probability to be in this draw or an earlier part of it."""

    def drawn(n: int) -> dict[str, float]:
        chosen = draw(systems, n, by_system=how.by_system, seed=how.seed, weights=weights)
        return {ids[index]: probability for index, probability in chosen.items()}

    if not how.more:
        return drawn(how.n)
    before = {str(row.get("item")): None for row in how.earlier}
    unknown = [name for name in before if name not in set(ids)]
    if unknown:
        raise DataError(
            f"The earlier draw has item '{unknown[0]}', which this run did not judge. Give the file of this run's draw."
        )
    if how.earlier:
        total = drawn(len(before) + how.more)
        added = [name for name in total if name not in before][: how.more]
        # An earlier draw with another seed leaves fewer of the new order: the rest follows in that order.
        added += [name for name in drawn(len(ids)) if name not in before and name not in added][
            : how.more - len(added)
        ]
        everything = {**drawn(len(ids)), **total}
        return {name: everything[name] for name in (*before, *added)}
    total, first = drawn(how.n + how.more), drawn(how.n)
    if len(total) == len(first):
        raise DataError(f"All {len(ids)} items are in the first {how.n} already: there is none to add.")
    return {name: probability for name, probability in total.items() if name not in first}


def read_draw(path: str | Path) -> tuple[Row, ...]:
    """The rows of a label file, filled in or not."""
    table = Table(path)
    problems = Problems(table)
    rows = [row for _, row in table.rows(problems.add)]
    if not problems and not any(row.get("item") for row in rows):
        problems.add(0, "no column 'item' with a value. Give a file that adjudge sample wrote.")
    if problems:
        raise problems.error()
    return tuple(row for row in rows if row.get("item"))


def _given(rows: Sequence[Row]) -> dict[tuple[str, str, str], list[tuple[str, str]]]:
    """The raters and values of an earlier file."""
    given: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        item, criterion, subject, rater, value = (
            "" if row.get(name) is None else str(row[name])
            for name in ("item", "criterion", "subject", "rater", "value")
        )
        given[item, criterion, subject].append((rater, value))
    return given


# -- Where the judge is uncertain


_CERTAIN_SHARE = 0.5
"""The part of the draw that ignores uncertainty, so that no item is drawn less than half as often as by chance alone."""


def uncertainty(store: Store, run: RunRow) -> dict[str, float]:
    """How uncertain the judge is on each item, from 0 to 1: the largest of the signs that the run has.

    The spread of repeated samples, the spread of the probabilities of the levels and what they leave out, stated
    confidence, orders of a pair that conflict, judges of a panel that differ, and answers that could not be read.
    """
    protocols = protocols_of(store, run)
    found: dict[str, float] = {}
    for judged in judged_items(store.judgments(run), protocols):
        by_cell: dict[tuple[str, Subject | None, str], list[float]] = defaultdict(list)
        signs = [0.0]
        for result, kind, calls in judged.results:
            scale = protocols[result.protocol].criteria.get(result.criterion) if kind == "scores" else None
            half = _half_range(scale)
            value = as_number(result.choice) if result.choice is not None else result.value
            if value is None:
                signs.append(1.0)
                continue
            by_cell[result.criterion, result.subject, kind].append(
                value if kind == "choices" else value / half
            )
            if "order_conflict" in result.flags:
                signs.append(1.0)
            if result.spread is not None:
                signs.append(result.spread / half)
            if result.confidence is not None:
                signs.append(1 - result.confidence)
            signs += _doubts(result, calls, half)
        signs += [2 * pstdev(values) for values in by_cell.values() if len(values) > 1]
        found[judged.item.id] = min(1.0, max(0.0, *signs))
    return found


def _half_range(scale: Scale | None) -> float:
    """The largest standard deviation that scores on a scale can have."""
    limits = None if scale is None else scale.limits
    return 1.0 if limits is None or limits[1] <= limits[0] else (limits[1] - limits[0]) / 2


def _doubts(result: Result, calls: Sequence[CallJudgment], half: float) -> Iterator[float]:
    """What the probabilities of the levels say about a score."""
    for call in calls:
        for score in call.judgment.scores:
            if (score.criterion, score.subject) != (
                result.criterion,
                result.subject,
            ) or not score.distribution:
                continue
            mass = math.fsum(score.distribution.values())
            if mass > 0:
                levels = {float(level): chance / mass for level, chance in score.distribution.items()}
                mean = math.fsum(level * chance for level, chance in levels.items())
                yield math.sqrt(math.fsum(chance * (x - mean) ** 2 for x, chance in levels.items())) / half
            if score.caught_mass is not None:
                yield 1 - score.caught_mass


def weights_of(signs: Mapping[str, float], ids: Sequence[str], run: str) -> list[float]:
    """The weight of each item in a draw by uncertainty; 1 is the mean."""
    values = [signs.get(name, 0.0) for name in ids]
    mean = math.fsum(values) / len(values)
    if mean <= 0:
        raise DataError(
            f"--where uncertain: {run} shows no uncertainty of the judge on any item. Judge with --samples N, with log-probabilities "
            "(--estimator probability), in both orders or by several models; or leave --where out."
        )
    return [_CERTAIN_SHARE + (1 - _CERTAIN_SHARE) * value / mean for value in values]


# -- When labels suffice


class StopRule(Struct, frozen=True):
    """When to stop labelling: once the mean is shown to be on one side of a number, or its interval is narrow enough."""

    text: str
    kind: Literal["mean", "width"]
    is_at_least: bool
    value: float


def parse_stop_rule(text: str) -> StopRule:
    """mean>=4, mean<=2 or width<=0.3."""
    match = re.fullmatch(r"\s*(mean|width)\s*(>=|<=|>|<)\s*([-+0-9.eE]+)\s*", text)
    try:
        value = float(match[3]) if match is not None else math.nan
    except ValueError:
        value = math.nan
    if match is None or not math.isfinite(value):
        raise DataError(f'--stop "{text}": write a rule as in --stop "mean>=4" or --stop "width<=0.3".')
    kind: Literal["mean", "width"] = "mean" if match[1] == "mean" else "width"
    is_at_least = match[2].startswith(">")
    if kind == "width" and (is_at_least or value <= 0):
        raise DataError(
            f'--stop "{text}": a width is a number above 0 that the interval must not exceed: "width<=0.3".'
        )
    return StopRule(text.strip(), kind, is_at_least, value)


_WIDTH_PER_DISTANCE = 1.4
"""An interval of this many distances decides with 80 % power: 2 * 1.96 / (1.96 + 0.84)."""


def stop_labelling(
    tables: Mapping[str, LabelledTable],
    labels: Sequence[Label],
    rule: StopRule,
    plan_width: float | None = None,
) -> Stop:
    """Whether the labels suffice, system by system, however often one looks. Labels count in the order given.

    `plan_width` is the interval width of the fixed number of labels to compare with; by default the width that the rule
    gives, or that decides the distance that the mean turns out to have.
    """
    if any(table.classes for table in tables.values()):
        raise DataError(
            "--stop looks at a mean, and labels without an order have none. Leave it out, or stop by hand: the card shows the "
            "intervals of kappa, precision and recall."
        )
    places: dict[tuple[str, str, str | None], int] = {}
    for place, label in enumerate(labels):
        places.setdefault((label.criterion, label.item, label.subject), place)
    criteria = {
        name: {
            system: _stop(table, system, entries, places, rule, plan_width)
            for system, entries in entries_by_system(table).items()
            if any(entry.label is not None for entry in entries)
        }
        for name, table in tables.items()
        if table.labelled()
    }
    decisions = [decision for by_system in criteria.values() for decision in by_system.values()]
    answers = {decision.answer for decision in decisions}
    is_done = bool(decisions) and all(decision.decision == "stop" for decision in decisions)
    return Stop(
        rule=rule.text,
        decision="stop" if is_done else "continue",
        answer="no" if "no" in answers else "yes" if answers == {"yes"} else None,
        n_labels=sum(decision.n_labels for decision in decisions),
        criteria=criteria,
    )


def _stop(
    table: LabelledTable,
    system: str,
    entries: Sequence[Entry],
    places: Mapping[tuple[str, str, str | None], int],
    rule: StopRule,
    plan_width: float | None,
) -> StopDecision:
    limits = limits_of(table)
    if limits is None:
        raise DataError(
            f'--stop "{rule.text}": {table.criterion} has no scale with two ends that people and judge share, so no '
            "rule holds at every look. Use --plan WIDTH instead."
        )
    if rule.kind == "mean" and not limits[0] < rule.value < limits[1]:
        raise DataError(
            f'--stop "{rule.text}": choose a number inside the scale of {table.criterion}, {limits[0]:g} to {limits[1]:g}.'
        )
    if probabilities_of(entries) is not None:
        raise DataError(
            f'--stop "{rule.text}": the labelled items of {system} were drawn with different probabilities (sample --where '
            "uncertain). A stop rule needs equal chances: draw with adjudge sample RUN -n N."
        )
    labelled = sorted(
        (entry for entry in entries if entry.label is not None),
        key=lambda entry: places[table.criterion, entry.row.item, entry.row.subject],
    )
    judged, said = [entry.judge for entry in entries], [entry.label for entry in entries]
    stream = LabelStream(
        [entry.label for entry in labelled], [entry.judge for entry in labelled], judged, limits
    )
    answer, n_decided = _decided(stream, rule)
    mean = stream.estimate()
    width = plan_width if plan_width is not None else rule.value
    if rule.kind == "mean" and plan_width is None:
        width = _WIDTH_PER_DISTANCE * abs((mean.value or 0.0) - rule.value)
    n_fixed = labels_needed(said, judged, width).with_judge
    is_all = len(labelled) == len(entries)
    return StopDecision(
        decision="stop" if answer is not None or is_all else "continue",
        answer=answer,
        reason="decided" if answer is not None else "all_labelled" if is_all else "undecided",
        n_labels=len(labelled),
        n_items=len(entries),
        n_decided=n_decided,
        mean=mean,
        n_fixed=n_fixed,
        n_saved=None if n_fixed is None or n_decided is None else n_fixed - n_decided,
    )


def _decided(stream: LabelStream, rule: StopRule) -> tuple[Literal["yes", "no"] | None, int | None]:
    """The answer to the rule, and the number of labels at which it was first known."""
    if rule.kind == "width":
        n = stream.reaching(rule.value)
        return (None, None) if n is None else ("yes", n)
    crossing = stream.crossing(rule.value)
    if crossing is None:
        return None, None
    return "yes" if (crossing.side == "above") == rule.is_at_least else "no", crossing.n


# -- The texts of a row


def _fields(item: Item, hidden: Container[str]) -> dict[str, str]:
    """The texts that a rater reads; a field named like a column of the file gets a suffix."""
    return {
        f"{name} (text)" if name in LABEL_COLUMNS else name: _shown(value)
        for name, value in item.fields.items()
        if name not in hidden
    }


def _shown(value: FieldValue) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(part if isinstance(part, str) else f"{part.speaker}: {part.shown}" for part in value)


def replies_to_check(store: Store, run: RunRow, n: int, *, seed: int = 0) -> DrawnRows:
    """Replies with their readings, for a person to mark as right or wrong."""
    readings = {
        (call.seq, call.call_index): call.judgment
        for call in store.judgments(run)
        if call.judgment is not None
        and call.error is None
        and call.about.kind not in (*PART_KINDS, "combine", "likelihood")
    }
    if not readings:
        raise DataError(f"run {run.name} has no reply that was read, so there is nothing to check.")
    keys = list(readings)
    chosen = {keys[index] for index in draw([""] * len(keys), n, by_system=False, seed=seed)}
    asked: dict[tuple[int, int], Asked] = {}
    second_replies: dict[tuple[int, str], str] = {}
    for call in store.asked(run):
        if (call.seq, call.call_index) in chosen:
            asked[call.seq, call.call_index] = call
        elif call.call.kind == "reask" and call.call.parent is not None:
            second_replies[call.seq, call.call.parent] = call.reply.text
    rows: list[dict[str, str]] = []
    order = sorted(asked)
    random.Random(seed).shuffle(order)
    for key in order:
        call, judgment = asked[key], readings[key]
        assert judgment is not None
        text = call.reply.text
        second_reply = second_replies.get((call.seq, call.call.key))
        if second_reply is not None:
            text += f"\n\n[asked again:]\n{second_reply}"
        rows += _readings(call, judgment, text)
    # For single responses these columns are the same in every row.
    is_pair = any(row["subject"] or row["order"] == "ba" for row in rows)
    columns = tuple(name for name in REPLY_COLUMNS if name not in ("subject", "order") or is_pair)
    return DrawnRows(columns, tuple(rows), len(asked), len(keys))


def _readings(call: Asked, judgment: Judgment, text: str) -> Iterable[dict[str, str]]:
    """One row for each score read from a reply, and one for its choice."""
    item = call.item.id if call.item is not None else ""
    scores: list[tuple[str, str, Any, str]] = [
        (score.criterion, score.subject or "", score.label or score.value, score.status)
        for score in judgment.scores
    ]
    if judgment.choice_status is not None:
        scores.append((choice_criterion(call.call.criteria), "", judgment.choice, judgment.choice_status))
    for criterion, subject, value, status in scores:
        read = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        yield dict(
            zip(
                REPLY_COLUMNS,
                (item, criterion, subject, call.call.order, text, read, status, ""),
                strict=True,
            )
        )
