"""The judges that are served: one live run for each run of the run file, shared by all callers.

A question whose name is a criterion asks that judge; any other becomes a criterion, where a protocol of the
run takes one. An object gives the judged fields by name; plain text is the judged response. A cascade is a
live run for each of its judges: the dearer ones see what the cheaper ones left undecided.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from ..analysis.cascade.answers import answer_of_item
from ..analysis.cascade.cascade_file import CascadeFile
from ..analysis.cascade.decisions import is_sure
from ..data import rubric_of_labels
from ..engine import Request
from ..engine.live_run import LiveRun
from ..errors import AdjudgeError, BudgetReached, DataError
from ..judge.verdict import Origin, Verdict, errors_of
from ..protocols import ALONE, TOGETHER, load_protocol
from ..records import Protocol, Rubric, Scale
from ..results.stored_results import JudgedItem
from .items import id_of, rounds_of, row_of
from .questions import TO_PEOPLE, CallerQuestion, Unanswered, Wire, answer_in, asked_in, error_of, shares_of

_MOST_CRITERIA = 100
"""How many criteria of callers are open at once; each is a live run. The one that was idle longest makes room
for the next."""


class UnknownJudge(DataError):
    """A request names a judge that is not served."""


class ServedCascade(NamedTuple):
    """A cascade that is served: its thresholds, and a request for each judge that may decide."""

    file: CascadeFile
    requests: tuple[Request, ...]


class _Judged(NamedTuple):
    """How one item was judged, and by which run."""

    run: LiveRun
    item: JudgedItem
    decided_by: str | None = ""
    """of a cascade: the judge that was sure enough; none: people should decide"""


class Service:
    """Live runs by the name that callers give as `model`."""

    def __init__(
        self,
        requests: Mapping[str, Request],
        *,
        is_logged: bool,
        cascades: Mapping[str, ServedCascade] | None = None,
    ) -> None:
        self._is_logged = is_logged
        self._cascades = dict(cascades or {})
        stages = {
            _stage_name(name, place): request
            for name, cascade in self._cascades.items()
            for place, request in enumerate(cascade.requests)
        }
        self._maps = {name: dict(request.map) for name, request in requests.items()}
        # Callers may use the names of inputs, too, so fields are renamed before a run sees them.
        self._requests = {
            name: structs.replace(request, map={}) for name, request in {**requests, **stages}.items()
        }
        self._names = (*requests, *self._cascades)
        self._runs: dict[str, LiveRun] = {}
        self.set_aside: dict[str, str] = {}
        """run → the name that the run of this name, with other settings, has now"""
        self._opening = asyncio.Lock()
        self._criteria: dict[str, int] = {}
        """criterion of callers → how many questions use it now, the latest use last"""
        self._slots = asyncio.Semaphore(_MOST_CRITERIA)
        self.counts: dict[tuple[str, str], int] = {}
        self.under_way = 0
        """requests that are not answered yet"""

    async def open(self) -> None:
        """Open all runs, so that mistakes are reported before the first caller."""
        for name, request in self._requests.items():
            await self._opened(name, request)

    async def close(self) -> None:
        for run in reversed(self._runs.values()):
            await run.close()
        self._runs.clear()

    def spent_usd(self) -> dict[str, float]:
        """What each run has spent since the start, with the criteria of callers."""
        return {name: self._runs[name].shared.spending.spent_usd for name in self._requests}

    async def _opened(self, name: str, request: Request, beside: LiveRun | None = None) -> LiveRun:
        async with self._opening:
            if name not in self._runs:
                if beside is not None:
                    await self._make_room()
                run = LiveRun(request, is_durable=self._is_logged, beside=beside, sets_aside=True)
                await run.open()
                if run.older is not None:
                    self.set_aside[run.run.name] = run.older
                self._runs[name] = run
        return self._runs[name]

    async def _make_room(self) -> None:
        """Close the criteria that were idle longest, where too many are open."""
        idle = [name for name, n_users in self._criteria.items() if not n_users and name in self._runs]
        n_open = sum(name in self._runs for name in self._criteria)
        for name in idle[: max(0, n_open - _MOST_CRITERIA + 1)]:
            del self._criteria[name]
            await self._runs.pop(name).close()

    def run_named(self, model: object) -> LiveRun:
        """The run of a judge; of a cascade that of its first judge."""
        if not isinstance(model, str) or model not in self._names:
            raise UnknownJudge(
                f"model {model!r}: no judge has this name. The judges are: {', '.join(self._names)}."
            )
        return self._runs[_stage_name(model, 0) if model in self._cascades else model]

    async def _judged(self, model: str, run: LiveRun, given: Sequence[Any]) -> list[_Judged]:
        """Each item by its judge; equal items are asked once."""
        if model in self._cascades:
            return await self._cascaded(model, given)
        rows = [row_of(run.plan.protocols, one, self._maps.get(model, {})) for one in given]
        rounds = rounds_of(rows)
        judged: list[dict[str, JudgedItem]] = []
        for distinct in rounds:
            done = await run.judge(list(distinct.values()), fills_inputs=True)
            judged.append(dict(zip(distinct, done.items, strict=True)))
        places = (next(k for k, one in enumerate(rounds) if one.get(id_of(row)) == row) for row in rows)
        return [_Judged(run, judged[k][id_of(row)]) for row, k in zip(rows, places, strict=True)]

    async def _cascaded(self, model: str, given: Sequence[Any]) -> list[_Judged]:
        """Each item by the first judge that is sure enough, or by the last."""
        file = self._cascades[model].file
        stages = [stage for stage in file.stages if stage.threshold is not None]
        judged: dict[int, _Judged] = {}
        left = list(range(len(given)))
        for place, stage in enumerate(stages):
            name = _stage_name(model, place)
            done = await self._judged(name, self._runs[name], [given[at] for at in left])
            for at, one in zip(left, done, strict=True):
                answer = answer_of_item(stage.run, one.item, file.criterion, stage.confidence)
                is_decided = answer is not None and is_sure(answer, stage.threshold)
                judged[at] = one._replace(decided_by=stage.run if is_decided else None)
            left = [at for at in left if judged[at].decided_by is None]
            if not left:
                break
        return [judged[at] for at in range(len(given))]

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

    async def _answered(self, wire: Wire, model: str, asked: CallerQuestion, given: Any) -> dict[str, Any]:
        try:
            async with self._judge_of(model, asked) as run:
                (judged,) = await self._judged(model, run, [given])
            run = judged.run
            protocol = next(protocol for protocol in run.plan.protocols if asked.name in protocol.criteria)
            verdict = _verdict(judged, protocol, asked.name)
            shares = shares_of(asked, verdict, protocol.criteria[asked.name])
            answer = answer_in(wire, asked, shares, is_calibrated=_has_map(run, asked.name))
            answer["n_failed"] = _n_failed(verdict)
        except (Unanswered, AdjudgeError) as fault:
            self.count(model, "failed")
            return {"type": "refusal", "name": asked.name, "error": error_of(fault)}
        self.count(model, "answered")
        return answer

    def count(self, model: str, outcome: str, n: int = 1) -> None:
        self.counts[model, outcome] = self.counts.get((model, outcome), 0) + n

    @asynccontextmanager
    async def _judge_of(self, model: str, asked: CallerQuestion) -> AsyncIterator[LiveRun]:
        """The run that judges a question: the named one, or the same judge with the question as a
        criterion."""
        run = self.run_named(model)
        if model in self._cascades:
            criterion = self._cascades[model].file.criterion
            if asked.name != criterion:
                raise Unanswered("no_such_criterion", f"{model} was calibrated on {criterion} alone.")
            yield run
        elif any(asked.name in protocol.criteria for protocol in run.plan.protocols):
            yield run
        else:
            protocol = _with_criterion(model, run.plan.protocols, asked)
            key = hashlib.sha256(msgspec.json.encode((model, protocol.id, protocol.digest))).hexdigest()[:12]
            async with self._criterion(model, f"serve/{model}/{key}", protocol) as beside:
                yield beside

    @asynccontextmanager
    async def _criterion(self, model: str, name: str, protocol: Protocol) -> AsyncIterator[LiveRun]:
        """The run of a criterion of callers, which stays open while it is used."""
        request = structs.replace(
            self._requests[model],
            run=name,
            protocol=protocol,
            judge=(),
            rubric=None,
            criterion="",
            steps=(),
            together=False,
        )
        async with self._slots:
            self._criteria[name] = self._criteria.pop(name, 0) + 1
            try:
                yield await self._opened(name, request, beside=self._runs[model])
            finally:
                self._criteria[name] -= 1
                if name not in self._runs and not self._criteria[name]:
                    del self._criteria[name]  # it could not be opened

    async def score(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Scores of many items at once; an item without a score has its status instead."""
        model, items = body.get("model"), body.get("items")
        run = self.run_named(model)
        if not isinstance(items, list) or not items:
            raise DataError("items: give a list of objects or texts.")
        judged = await self._each_judged(str(model), run, items)
        scores = [_scores(one) for one in judged]
        n_failed = sum(score["status"] != "ok" for score in scores)
        self.count(str(model), "answered", len(scores) - n_failed)
        self.count(str(model), "failed", n_failed)
        return {"model": model, "scores": scores, "n_failed": n_failed}

    async def _each_judged(
        self, model: str, run: LiveRun, given: Sequence[Any]
    ) -> list[_Judged | AdjudgeError]:
        """Each item, or why there is no judgment of it: one bad item does not fail the others."""
        try:
            return list(await self._judged(model, run, given))
        except (DataError, BudgetReached) as fault:
            if len(given) == 1:
                return [fault]
        parts = await asyncio.gather(*(self._each_judged(model, run, [one]) for one in given))
        return [one for part in parts for one in part]


def _with_criterion(model: str, protocols: Sequence[Protocol], asked: CallerQuestion) -> Protocol:
    """The first protocol that takes the question as its criterion, with it."""
    base = next(
        (protocol for protocol in protocols if "rubric" in protocol.takes and _fits(protocol, asked)), None
    )
    if base is None:
        names = ", ".join(name for protocol in protocols for name in protocol.criteria)
        raise Unanswered(
            "no_such_criterion", f"{model} judges {names}, and takes no other {asked.type} question."
        )
    place = ALONE if base.id == TOGETHER else base.folder or base.id
    return load_protocol(place, rubric=_rubric(asked))


def _fits(protocol: Protocol, asked: CallerQuestion) -> bool:
    """Whether a question can be a criterion of a protocol: labels of one that sorts, levels of one that
    scores."""
    if protocol.task == "compare":
        return False
    is_sorting = any(scale is not None and scale.is_nominal for scale in protocol.criteria.values())
    return is_sorting == (asked.type == "choice")


def _rubric(asked: CallerQuestion) -> Rubric:
    """A question as a criterion; without instructions its name says what is asked."""
    text = asked.instructions or asked.name.replace("_", " ")
    if asked.type != "predicate" and len(asked.options) < 2:
        raise Unanswered("too_few_options", f"a {asked.type} question needs two options or more.")
    if asked.type == "choice":
        labels = {label: described or label for label, described in asked.options.items()}
        return rubric_of_labels(asked.name, text, labels)
    if asked.type == "predicate":
        levels = {0.0: asked.options.get("false") or "no", 1.0: asked.options.get("true") or "yes"}
        return Rubric(asked.name, text, Scale(0, 1, 1, 1, levels))
    levels = {float(k): described or label for k, (label, described) in enumerate(asked.options.items())}
    return Rubric(asked.name, text, Scale(0, len(levels) - 1, len(levels) - 1, 1, levels))


def _stage_name(model: str, place: int) -> str:
    return f"{model}.{place + 1}"


def _verdict(judged: _Judged, protocol: Protocol, criterion: str | None = None) -> Verdict:
    run, about = judged.run, protocol.ref
    models = ", ".join(model.name for model in run.plan.models)
    origin = Origin(protocol, models, any(model.is_fake for model in run.plan.models), run.run.name, "")
    rows = [
        (result, kind)
        for result, kind, _ in judged.item.results
        if result.protocol == about and criterion in (None, result.criterion)
    ]
    errors = errors_of(judged.item.calls)
    return Verdict(origin, rows, decided_by=judged.decided_by, errors=errors)


def _has_map(run: LiveRun, criterion: str) -> bool:
    maps = [model.score_map for model in run.plan.models]
    return all(one is not None and any(c.criterion == criterion for c in one.maps) for one in maps)


def _scores(judged: _Judged | AdjudgeError) -> dict[str, Any]:
    if isinstance(judged, AdjudgeError):
        error = error_of(judged)
        return {"score": None, "status": error["status"], "how": None, "error": error}
    parts = {
        name: verdict
        for protocol in judged.run.plan.protocols
        for name, verdict in _verdict(judged, protocol).criteria.items()
    }
    criteria = {name: _one_score(verdict) for name, verdict in parts.items()}
    if len(criteria) == 1:
        return {**next(iter(criteria.values())), "criteria": criteria}
    status = next(
        (criterion["status"] for criterion in criteria.values() if criterion["status"] != "ok"), "ok"
    )
    choices = [{"choice": criterion["choice"]} for criterion in criteria.values() if "choice" in criterion]
    return {
        "score": None,
        "status": status,
        **(choices[0] if len(choices) == 1 else {}),
        "criteria": criteria,
    }


def _one_score(verdict: Verdict) -> dict[str, Any]:
    row: dict[str, Any] = {"score": None, "status": verdict.status, "how": verdict.how}
    if verdict.decided_by is None and verdict.status == "ok":
        row["status"] = TO_PEOPLE
    elif len(verdict.results) == 1 and not verdict.gives_choice:
        row |= {"score": verdict.score, "normalized": verdict.normalized}
    else:
        row |= {result.subject: result.value for result in verdict.results if result.subject}
        row |= {"choice": verdict.choice} if verdict.gives_choice else {}
    if verdict.error:
        row["error"] = {"status": verdict.status, "message": verdict.error}
    about = {"explanation": verdict.explanation, "flags": list(verdict.flags)}
    return {**row, **about, "n_failed": _n_failed(verdict)}


def _n_failed(verdict: Verdict) -> int:
    """How many judges and samples failed, of those that the answer comes from."""
    return sum(result.n_failed for result in verdict.results)
