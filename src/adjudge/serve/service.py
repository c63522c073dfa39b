"""The judges that are served: one live run for each run of the run file, shared by all callers.

A question whose name is a criterion asks that judge; any other becomes a criterion, where a protocol of the
run takes one. An object gives the judged fields by name; plain text is the judged response.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from ..engine import Request
from ..engine.live_run import LiveRun
from ..errors import AdjudgeError, DataError
from ..judge.verdict import Origin, Verdict
from ..protocols import load_protocol
from ..records import Protocol, Rubric, Scale
from ..results.stored_results import JudgedItem
from .questions import Asked, Unanswered, Wire, answer_in, asked_in, shares_of

_MOST_CRITERIA = 100
"""How many criteria of callers may be open at once; each is a live run."""


class Service:
    """Live runs by the name that callers give as `model`."""

    def __init__(self, requests: Mapping[str, Request], *, is_logged: bool) -> None:
        self._requests, self._is_logged = dict(requests), is_logged
        self._runs: dict[str, LiveRun] = {}
        self._opening = asyncio.Lock()
        self.counts: dict[tuple[str, str], int] = {}

    async def open(self) -> None:
        """Open all runs, so that mistakes are reported before the first caller."""
        for name, request in self._requests.items():
            await self._opened(name, request)

    async def close(self) -> None:
        for run in self._runs.values():
            await run.close()
        self._runs.clear()

    def spent_usd(self) -> dict[str, float]:
        """What each run has spent since the start."""
        return {name: run.shared.spent_usd for name, run in self._runs.items()}

    async def _opened(self, name: str, request: Request) -> LiveRun:
        async with self._opening:
            if name not in self._runs:
                run = LiveRun(request, is_durable=self._is_logged)
                await run.open()
                self._runs[name] = run
        return self._runs[name]

    def run_named(self, model: object) -> LiveRun:
        if not isinstance(model, str) or model not in self._requests:
            raise DataError(
                f"model {model!r}: no judge has this name. The judges are: {', '.join(self._requests)}."
            )
        return self._runs[model]

    async def decide(self, wire: Wire, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the questions of a request in one of the two formats."""
        model = body.get("model")
        self.run_named(model)
        given = body.get("state" if wire == "systemone" else "input")
        asked = asked_in(wire, body.get("questions") or ())
        if not asked:
            raise DataError("questions: there are none. Ask at least one.")
        answers = await asyncio.gather(*(self._answered(wire, str(model), one, given) for one in asked))
        kept = {one.name: answer for one, answer in zip(asked, answers, strict=True)}
        errors = {name: answer["error"] for name, answer in kept.items() if "error" in answer}
        if wire == "systemone":
            good = {name: answer for name, answer in kept.items() if "error" not in answer}
            usage: dict[str, Any] = {"input_tokens": None, "output_tokens": None}
            return {"model": model, "answers": good, "errors": errors, "usage": usage}
        usage = {
            "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0,
        }  # fmt: skip
        return {"model": model, "answers": list(answers), "usage": usage}

    async def _answered(self, wire: Wire, model: str, asked: Asked, given: Any) -> dict[str, Any]:
        try:
            run = await self._judge_of(model, asked)
            (judged,) = (await run.judge([_item(run, given)], fills_inputs=True)).items
            protocol = next(one for one in run.plan.protocols if asked.name in one.criteria)
            verdict = _verdict(run, protocol, judged, asked.name)
            shares = shares_of(asked, verdict, protocol.criteria[asked.name])
            answer = answer_in(wire, asked, shares, is_calibrated=_has_map(run, asked.name))
        except (Unanswered, AdjudgeError) as fault:
            self.count(model, "failed")
            status = fault.status if isinstance(fault, Unanswered) else type(fault).__name__
            return {"type": "refusal", "name": asked.name, "error": {"status": status, "message": str(fault)}}
        self.count(model, "answered")
        return answer

    def count(self, model: str, outcome: str) -> None:
        self.counts[model, outcome] = self.counts.get((model, outcome), 0) + 1

    async def _judge_of(self, model: str, asked: Asked) -> LiveRun:
        """The run that judges a question: the named one, or the same judge with the question as a criterion."""
        run = self._runs[model]
        if any(asked.name in protocol.criteria for protocol in run.plan.protocols):
            return run
        base = next((one for one in run.plan.protocols if "rubric" in one.takes), None)
        if base is None or asked.type == "choice" or not asked.instructions:
            names = ", ".join(name for one in run.plan.protocols for name in one.criteria)
            raise Unanswered("no_such_criterion", f"{model} judges {names}, and takes no other criterion.")
        protocol = load_protocol(base.folder or base.id, rubric=_rubric(asked))
        key = hashlib.sha256(msgspec.json.encode((model, protocol.id, protocol.digest))).hexdigest()[:12]
        name = f"serve/{model}/{key}"
        if len(self._runs) >= len(self._requests) + _MOST_CRITERIA and name not in self._runs:
            raise Unanswered(
                "too_many_criteria", "too many different criteria were asked. Put them in the run file."
            )
        request = structs.replace(
            self._requests[model], run=name, protocol=protocol, judge=(), rubric=None, criterion="", steps=()
        )
        return await self._opened(name, request)

    async def score(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Scores of many items at once; an item without a score has its status instead."""
        model, items = body.get("model"), body.get("items")
        run = self.run_named(model)
        if not isinstance(items, list) or not items:
            raise DataError("items: give a list of objects or texts.")
        rows = [_item(run, item) for item in items]
        distinct = {row["id"]: row for row in rows}
        done = await run.judge(list(distinct.values()), fills_inputs=True)
        by_id = dict(zip(distinct, done.items, strict=True))
        scores = [_scores(run, by_id[row["id"]]) for row in rows]
        n_failed = sum(score["status"] != "ok" for score in scores)
        self.counts[str(model), "answered"] = (
            self.counts.get((str(model), "answered"), 0) + len(rows) - n_failed
        )
        self.counts[str(model), "failed"] = self.counts.get((str(model), "failed"), 0) + n_failed
        return {"model": model, "scores": scores, "n_failed": n_failed}


def _rubric(asked: Asked) -> Rubric:
    if asked.type == "predicate":
        return Rubric(asked.name, asked.instructions, Scale(0, 1, 1, 1, {0: "no", 1: "yes"}))
    levels = {float(k): text or label for k, (label, text) in enumerate(asked.options.items())}
    return Rubric(asked.name, asked.instructions, Scale(0, len(levels) - 1, len(levels) - 1, 1, levels))


def _item(run: LiveRun, given: Any) -> dict[str, Any]:
    """The judged fields; required inputs that are not given are shown as not given."""
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            parsed = json.loads(given)
        except ValueError:
            parsed = None
        given = parsed if isinstance(parsed, dict) else given
    if isinstance(given, Mapping):
        row = {str(name): value for name, value in given.items() if value is not None}
    elif isinstance(given, str):
        row = {_judged_input(run.plan.protocols[0]): given}
    elif isinstance(given, list) and given:
        row = _of_messages(run.plan.protocols[0], given)
    else:
        raise DataError("the input is empty. Give a text, an object of fields or a list of messages.")
    for protocol in run.plan.protocols:
        for name in protocol.inputs:
            if protocol.field_for(name, row) is None:
                row[name] = protocol.not_given
    if row.get("id") is None:
        row["id"] = hashlib.blake2b(msgspec.json.encode(row, order="sorted"), digest_size=8).hexdigest()
    return row


def _judged_input(protocol: Protocol) -> str:
    """The input that plain text fills: the judged response."""
    names = [name for name in protocol.inputs if "response" in protocol.synonyms(name)]
    return names[0] if names else protocol.inputs[-1]


def _of_messages(protocol: Protocol, messages: Sequence[Any]) -> dict[str, Any]:
    if protocol.transcripts:
        return {protocol.transcripts[0]: list(messages)}
    texts = [
        str(one.get("content") or one.get("output") or "") for one in messages if isinstance(one, Mapping)
    ]
    if not texts:
        raise DataError("the input is a list without messages. Give objects with role and content.")
    row = {_judged_input(protocol): texts[-1]}
    if len(texts) > 1:
        row["task"] = "\n\n".join(texts[:-1])
    return row


def _verdict(run: LiveRun, protocol: Protocol, judged: JudgedItem, criterion: str | None = None) -> Verdict:
    about = f"{protocol.id}@{protocol.digest}"
    models = ", ".join(model.name for model in run.plan.models)
    origin = Origin(protocol, models, any(one.is_fake for one in run.plan.models), run.run.name, "")
    rows = [
        (result, kind)
        for result, kind, _ in judged.results
        if result.protocol == about and criterion in (None, result.criterion)
    ]
    return Verdict(origin, rows)


def _has_map(run: LiveRun, criterion: str) -> bool:
    maps = [model.score_map for model in run.plan.models]
    return all(one is not None and any(c.criterion == criterion for c in one.maps) for one in maps)


def _scores(run: LiveRun, judged: JudgedItem) -> dict[str, Any]:
    parts = {
        name: verdict
        for protocol in run.plan.protocols
        for name, verdict in _verdict(run, protocol, judged).criteria.items()
    }
    criteria = {name: _one_score(verdict) for name, verdict in parts.items()}
    if len(criteria) == 1:
        return {**next(iter(criteria.values())), "criteria": criteria}
    status = next((one["status"] for one in criteria.values() if one["status"] != "ok"), "ok")
    return {"score": None, "status": status, "criteria": criteria}


def _one_score(verdict: Verdict) -> dict[str, Any]:
    row: dict[str, Any] = {"score": None, "status": verdict.status, "how": verdict.how}
    if verdict.is_choice:
        row["choice"] = verdict.choice
    elif len(verdict.results) == 1:
        row |= {"score": verdict.score, "normalized": verdict.normalized}
    return {**row, "explanation": verdict.explanation, "flags": list(verdict.flags)}
