"""Parses all stored replies of a run again with this version's readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec
from msgspec import structs

from ..errors import StoreError
from ..parse.conversation import judge_conversation
from ..parse.decision import questions_in
from ..parse.estimators import BY_RULE
from ..protocols.absent_inputs import absent_inputs
from ..records import EMPTY_RESPONSE, PART_KINDS, Item, Judgment, Message, Protocol
from ..render import render
from ..score_map import ScoreMap, with_map
from ..steps.answers import StepAnswer
from ..steps.judgment import judgment_in_steps
from ..steps.prompts import StepPrompt
from ..store import AskedCall, RunRow, Store
from ..store.call_index import step_place
from .manifest import protocols_of, settings_of


def reread(store: Store, run: RunRow) -> int:
    """Parse all stored replies of a run again with this version's readers; the number of judgments."""
    protocols = protocols_of(store, run)
    if not protocols:
        raise StoreError(
            f"run {run.name} has no protocol in its manifest, so its replies cannot be parsed again."
        )
    return store.replace_judgments(run, reread_judgments(store.asked(run), store.items(run), run, protocols))


def reread_judgments(
    all_asked: Iterator[AskedCall], items: Iterator[Item], run: RunRow, protocols: dict[str, Protocol]
) -> Iterator[tuple[int, int, Judgment]]:
    settings = settings_of(run)
    absent = absent_inputs(protocols.values(), items)
    by_probability = settings.estimator == "probability"
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
                judgment = _judgment(asked, reasks, protocols[name], absent, by_probability=by_probability)
            yield seq, asked.call_index, with_map(judgment, protocols[name], maps.get(asked.call.model))


def _judgment(
    asked: AskedCall,
    reasks: Mapping[str | None, AskedCall],
    protocol: Protocol,
    absent: frozenset[str],
    *,
    by_probability: bool,
) -> Judgment:
    """The judgment in a reply and in those to the follow-up questions, as long as an answer is missing."""
    item = asked.item
    assert item is not None
    if asked.call.is_ruled:
        flags: tuple[str, ...] = (BY_RULE if asked.call.target else EMPTY_RESPONSE,)
    else:
        flags = render(protocol, item, asked.call.order, absent).flags
    conversation = [(each.call, each.reply) for each in _conversation(asked, reasks)]
    return judge_conversation(protocol, item, conversation, flags, by_probability=by_probability)


def _conversation(asked: AskedCall, reasks: Mapping[str | None, AskedCall]) -> Iterator[AskedCall]:
    """A call, and the follow-up questions after it."""
    reask: AskedCall | None = asked
    while reask is not None:
        yield reask
        reask = reasks.get(reask.call.key)


def _judgment_in_steps(
    combined: AskedCall,
    calls: Sequence[AskedCall],
    reasks: Mapping[str | None, AskedCall],
    protocol: Protocol,
    absent: frozenset[str],
) -> Judgment:
    """The judgment in the replies of all steps. A better reading of a list may bring elements that were never
    checked: these have no reply, and the judgment is flagged `elements_changed`.
    """
    item = combined.item
    assert item is not None
    of_step: dict[tuple[int, tuple[Message, ...]], AskedCall] = {}
    for asked in calls:
        place = step_place(asked.call_index)
        if place is not None and place.planned == combined.call_index and place.reask == 0:
            of_step[place.position, asked.call.messages] = asked
    of_questions = [asked.call for asked in of_step.values() if asked.call.asks_questions]

    def answer(prompt: StepPrompt) -> StepAnswer:
        asked = of_step.get((prompt.position, prompt.messages))
        if asked is None:
            return StepAnswer()
        return StepAnswer(asked.reply.call, tuple(each.reply for each in _conversation(asked, reasks)))

    asked_at_once = (questions_in(call.messages[-1].content) for call in of_questions)
    steps = judgment_in_steps(protocol, item, absent, max(map(len, asked_at_once), default=0))
    try:
        prompts = next(steps)
        while True:
            prompts = steps.send([answer(prompt) for prompt in prompts])
    except StopIteration as end:
        judgment: Judgment = end.value
    return structs.replace(judgment, call=combined.call.key)
