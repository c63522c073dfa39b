"""Reading a run from the store: its protocols, its results item by item, and parsing all its replies again.

No model is called here. Judgments that are parsed again replace the old ones all at once or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from ..combine import CallJudgment, Kind, combine, needs_reask, with_reask
from ..errors import StoreError
from ..models import Parameters
from ..parse.decision import questions_in
from ..parse.glimpse import glimpsed
from ..protocols import with_digest
from ..records import PART_KINDS, Item, Judgment, Message, Protocol, Reply, Result
from ..render import render
from ..run_options import RunOptions, options_from
from ..score_map import ScoreMap, with_map
from ..store import Asked, Judged, RunRow, Store
from ..store.merge import MergedFile, merge
from .loop import failed_judgment, judge
from .plan import BY_RULE, parameters_for, steps_in
from .steps import StepAnswer, StepPrompt, judgment_in_steps, place_of


def settings_of(run: RunRow) -> RunOptions:
    """The options of a run that its manifest records."""
    return options_from(run.manifest["settings"])


def protocols_of(store: Store, run: RunRow) -> dict[str, Protocol]:
    """The protocols of a run as they were when it was made, by id@digest, with generated steps."""
    return _protocols_of(run, lambda: store.asked(run))


def _protocols_of(run: RunRow, read_asked: Callable[[], Iterator[Asked]]) -> dict[str, Protocol]:
    protocols = [msgspec.convert(stored, Protocol, strict=False) for stored in run.manifest["protocols"]]
    if settings_of(run).steps == "generate":
        protocols = _with_steps(read_asked(), protocols)
    return {f"{protocol.id}@{protocol.digest}": protocol for protocol in protocols}


def _with_steps(all_asked: Iterator[Asked], protocols: list[Protocol]) -> list[Protocol]:
    written: dict[str, tuple[str, ...]] = {}
    for asked in all_asked:
        if asked.seq >= 0:
            break
        written[asked.call.protocol] = steps_in(asked.reply.text)
    return [
        with_digest(protocol, steps=steps)
        if (steps := written.get(f"{protocol.id}@{protocol.digest}")) and not protocol.steps
        else protocol
        for protocol in protocols
    ]


def results(store: Store, run: RunRow) -> Iterator[Result]:
    """All results of a run, in the order of the items; a call that failed counts as a failure."""
    for judged in judged_items(store.judgments(run), protocols_of(store, run)):
        for result, _, _ in judged.results:
            yield result


class JudgedItem(Struct, frozen=True):
    """One item with its results: each with its kind and the judgments that it was combined from."""

    seq: int
    item: Item
    results: list[tuple[Result, Kind, list[CallJudgment]]]


def judged_items(judged: Iterable[Judged], protocols: Mapping[str, Protocol]) -> Iterator[JudgedItem]:
    """Judgments of a run, in the order of its items, combined item by item; replies that were not parsed yet are left out."""
    for seq, calls in groupby(judged, key=lambda call: call.seq):
        if seq < 0:
            continue
        by_judge: dict[tuple[str, str], list[CallJudgment]] = {}
        item: Item | None = None
        for call in calls:
            judgment = _call_judgment(call, protocols)
            if judgment is not None and call.item is not None:
                item = call.item
                by_judge.setdefault((call.about.protocol, call.about.model), []).append(judgment)
        if item is not None:
            combined = [
                (result, kind, judgments)
                for (protocol, model), judgments in by_judge.items()
                for result, kind in combine(item, protocols[protocol], model, judgments)
            ]
            yield JudgedItem(seq, item, combined)


def _call_judgment(judged: Judged, protocols: Mapping[str, Protocol]) -> CallJudgment | None:
    """A call's judgment among those of its item; none where its reply was not parsed yet."""
    if judged.about.kind in PART_KINDS:
        return None
    judgment = judged.judgment
    if judgment is None:
        if judged.error is None:
            return None
        judgment = failed_judgment(protocols[judged.about.protocol], judged.error)
    return CallJudgment(judged.about.order, judged.about.sample, judgment)


def reread(store: Store, run: RunRow) -> int:
    """Parse all stored replies of a run again with this version's readers; the number of judgments."""
    protocols = protocols_of(store, run)
    if not protocols:
        raise StoreError(
            f"run {run.name} has no protocol in its manifest, so its replies cannot be parsed again."
        )
    return store.replace_judgments(run, _reread(store.asked(run), store.items(run), run, protocols))


def merge_stores(into: Path, files: Sequence[Path]) -> list[MergedFile]:
    """Merge the runs, replies, judgments and labels of other stores into one."""

    def parse_again(
        run: RunRow, items: Iterator[Item], read_asked: Callable[[], Iterator[Asked]]
    ) -> Iterator[tuple[int, int, Judgment]]:
        return _reread(read_asked(), items, run, _protocols_of(run, read_asked))

    return merge(into, files, parse_again=parse_again, calls_needed=calls_needed)


def calls_needed(run: RunRow) -> int | None:
    """How many calls a complete run has, follow-up questions not included; none where its manifest does not say."""
    n_items = run.manifest.get("items", {}).get("n")
    if not isinstance(n_items, int):
        return None
    settings = settings_of(run)
    orders = sum(
        2 if protocol.get("task") == "compare" and settings.order == "both" else 1
        for protocol in run.manifest["protocols"]
    )
    return n_items * orders * len(run.manifest["models"]) * settings.samples


def _reread(
    all_asked: Iterator[Asked], items: Iterator[Item], run: RunRow, protocols: dict[str, Protocol]
) -> Iterator[tuple[int, int, Judgment]]:
    settings = settings_of(run)
    absent = absent_inputs(protocols.values(), items)
    params = {name: parameters_for(protocol, settings) for name, protocol in protocols.items()}
    maps = {
        entry["spec"]: msgspec.convert(entry["map_scores"]["curves"], ScoreMap)
        for entry in run.manifest["models"]
        if "map_scores" in entry
    }
    for seq, group in groupby(all_asked, key=lambda asked: asked.seq):
        if seq < 0:
            continue
        calls = list(group)
        reasks = {asked.call.parent: asked for asked in calls if asked.call.kind == "reask"}
        for asked in calls:
            if asked.call.kind in PART_KINDS or asked.item is None:
                continue
            name = asked.call.protocol
            if asked.call.kind == "combine":
                judgment = _judgment_in_steps(asked, calls, reasks, protocols[name], absent)
            else:
                judgment = _judgment(asked, reasks, protocols[name], params[name], absent)
            yield seq, asked.call_index, with_map(judgment, protocols[name], maps.get(asked.call.model))


def _judgment(
    asked: Asked,
    reasks: Mapping[str | None, Asked],
    protocol: Protocol,
    params: Parameters,
    absent: frozenset[str],
) -> Judgment:
    """The judgment in a reply and in those to the follow-up questions, as long as an answer is missing."""
    item = asked.item
    assert item is not None
    flags = (BY_RULE,) if asked.call.is_ruled else render(protocol, item, asked.call.order, absent).flags
    judgment = judge(protocol, item, asked.call, asked.reply, flags, params)
    reask, number = reasks.get(asked.call.key), 1
    seen = glimpsed(protocol, asked.reply.text, asked.call.order) if reask is not None else None
    while reask is not None and needs_reask(judgment):
        answer = judge(protocol, item, reask.call, reask.reply, (), params)
        judgment = with_reask(judgment, answer, number, seen)
        reask, number = reasks.get(reask.call.key), number + 1
    return judgment


def _judgment_in_steps(
    combined: Asked,
    calls: Sequence[Asked],
    reasks: Mapping[str | None, Asked],
    protocol: Protocol,
    absent: frozenset[str],
) -> Judgment:
    """The judgment in the replies of all steps. A better reading of a list may bring elements that were never checked:
    these have no reply, and the judgment is flagged `elements_changed`."""
    item = combined.item
    assert item is not None
    of_step: dict[tuple[int, tuple[Message, ...]], Asked] = {}
    for asked in calls:
        place = place_of(asked.call_index)
        if place is not None and place.planned == combined.call_index and place.reask == 0:
            of_step[place.position, asked.call.messages] = asked
    of_questions = [asked.call for asked in of_step.values() if asked.call.asks_questions]

    def answer(prompt: StepPrompt) -> StepAnswer:
        asked = of_step.get((prompt.position, prompt.messages))
        if asked is None:
            return StepAnswer()
        replies: list[Reply] = [asked.reply]
        while (asked := reasks.get(asked.call.key)) is not None:
            replies.append(asked.reply)
        return StepAnswer(replies[0].call, tuple(replies))

    asked_at_once = (questions_in(call.messages[-1].content) for call in of_questions)
    steps = judgment_in_steps(protocol, item, absent, max(map(len, asked_at_once), default=0))
    try:
        prompts = next(steps)
        while True:
            prompts = steps.send([answer(prompt) for prompt in prompts])
    except StopIteration as end:
        judgment: Judgment = end.value
    return structs.replace(judgment, call=combined.call.key)


def absent_inputs(protocols: Iterable[Protocol], items: Iterable[Item]) -> frozenset[str]:
    """The optional inputs of the protocols that no item has."""
    watch = AbsentInputs(protocols)
    for item in items:
        watch.add(item)
        if not watch.names:
            break
    return frozenset(watch.names)


class AbsentInputs:
    """Notes which optional inputs no item has had so far."""

    def __init__(self, protocols: Iterable[Protocol]) -> None:
        self._by_name = {name: protocol for protocol in protocols for name in protocol.optional}
        self.names = set(self._by_name)

    def add(self, item: Item) -> None:
        if self.names:
            self.names -= {
                name for name in self.names if self._by_name[name].field_for(name, item.fields) is not None
            }


def fields_naming_the_system(run: RunRow) -> frozenset[str]:
    """The fields of the items that `--map system=FIELD` read the system from: raters must not see them."""
    renames = run.manifest.get("items", {}).get("map", {})
    return frozenset(renames[key] for key in ("system", "system_a", "system_b") if key in renames)


EXPORT_COLUMNS: dict[str, type] = {
    "item": str, "system": str, "group": str, "protocol": str, "criterion": str, "subject": str, "model": str,
    "score": float, "normalized": float, "status": str, "how": str, "estimator": str, "samples": int, "n_failed": int,
    "choice": str, "confidence": float, "explanation": str, "system_a": str, "system_b": str, "flags": list,
    "evidence": tuple, "notes": dict, "reply": int,
}  # fmt: skip
"""The columns of an export, in their order, each with its type."""


def export_row(result: Result) -> dict[str, Any]:
    """A result under the names of the export format."""
    return {
        "item": result.item,
        "system": result.system,
        "group": result.group,
        "protocol": result.protocol,
        "criterion": result.criterion,
        "subject": result.subject,
        "model": result.model,
        "score": None if result.label is not None else result.value,
        "normalized": result.normalized,
        "status": result.status,
        "how": result.how,
        "estimator": result.estimator,
        "samples": result.n_samples,
        "n_failed": result.n_failed,
        "choice": result.label or result.choice,
        "confidence": result.confidence,
        "explanation": result.explanation,
        "system_a": result.system_a,
        "system_b": result.system_b,
        "flags": list(result.flags),
        "evidence": [{"quote": quote.quote, "grounded": quote.grounded} for quote in result.evidence],
        "notes": dict(result.notes),
        "reply": result.reply,
    }


ELEMENT_COLUMNS: dict[str, type] = {
    "item": str, "system": str, "group": str, "protocol": str, "criterion": str, "model": str, "sample": int,
    "element": int, "text": str, "start": int, "end": int, "verdict": str, "score": float, "status": str, "how": str,
    "evidence": list, "grounded": float, "passage": int, "explanation": str,
}  # fmt: skip
"""The columns of an export of elements, in their order, each with its type."""


def element_rows(store: Store, run: RunRow) -> Iterator[dict[str, Any]]:
    """What the steps of a run's protocols have checked, one row for each element and criterion, in the order of the items."""
    for judged in store.judgments(run):
        if judged.judgment is None or judged.item is None or judged.about.kind in PART_KINDS:
            continue
        for element in judged.judgment.checked:
            for score in element.scores:
                yield {
                    "item": judged.item.id,
                    "system": judged.item.system,
                    "group": judged.item.group,
                    "protocol": judged.about.protocol,
                    "criterion": score.criterion,
                    "model": judged.about.model,
                    "sample": judged.about.sample,
                    "element": element.number,
                    "text": element.text,
                    "start": element.span[0] if element.span else None,
                    "end": element.span[1] if element.span else None,
                    "verdict": score.label,
                    "score": score.value,
                    "status": score.status,
                    "how": score.how,
                    "evidence": list(score.evidence),
                    "grounded": score.grounded,
                    "passage": element.passage,
                    "explanation": score.explanation or "",
                }
