"""`run` and `run_async`: from what a user names (files, ids, model names) to a finished run.

A request is prepared, checked and carried out in one place, by async code; `run` does it in a thread with a separate
event loop, so that it works in a script, beside a running event loop and in a notebook.
"""

from __future__ import annotations

import asyncio
import difflib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import Parameter, Signature, signature
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple, ParamSpec, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct, structs

from ..data import RESERVED, read_small, rubric_of_labels
from ..errors import AdjudgeError, DataError, ModelError, ProtocolError
from ..models import Model, Network, check_alias, named, on_ray, parse_model, takes_key, takes_price
from ..models.base import estimated_prompt
from ..models.remote import BATCH_PRICE, RemoteModel
from ..protocols import (
    LEAST_TRANSCRIPT_TOKENS,
    load_protocol,
    shows_item,
    step_protocol,
    takes_examples,
    with_digest,
    with_finer_steps,
)
from ..records import Call, Item, Message, ModelSettings, NamedModel, Protocol, Result, Rubric
from ..render import has_levels_without_text, images_in, problems_of, questions_of
from ..run_options import JudgeSettings, RunOptions, Shard, check_options, named_criterion, shard_of
from ..score_map import read_score_map
from ..store import BatchRow, RunRow, RunStatus, Store, open_store
from ..version import __version__
from .batching import BatchEstimate, EstimatedBatches
from .loop import Interrupted, Loop, Progress, judge_all, stored_reply
from .plan import (
    ItemSource,
    Plan,
    PlannedCall,
    call_for,
    identity_of,
    make_plan,
    manifest_of,
    open_items,
    step_call,
    steps_call,
    steps_in,
)
from .results import AbsentInputs, results
from .steps import StepAnswer, audit_problems, judgment_in_steps, question_problems, step_problems

# What a run would send, and what that may cost, without sending anything.


_BATCH = 500


class DryRun(Struct, frozen=True, omit_defaults=True):
    """An estimate: tokens are estimated from the length of the text, replies are not counted."""

    items: int
    calls: int
    """distinct calls: one that two items share is made once"""
    stored: int
    tokens_in: int
    cost_usd: float | None
    first_messages: tuple[Message, ...]
    ruled: int = 0
    """calls that a rule answers, so that no judge is asked"""
    price_dates: dict[str, str] = {}
    """model → date of the published price, where the user gave none"""
    n_open: int = 0
    """judgments in steps whose further calls depend on a reply: they are not counted"""
    batches: tuple[BatchEstimate, ...] = ()
    """the batches that would be submitted, for each model that is asked through its batch API"""


def dry_run(request: Request) -> DryRun:
    """Render every call of a request, and count."""
    network = Network()
    opened: list[Model] = []
    try:
        prepared = prepare(request, network, opened, is_dry=True)
        if not Path(request.store).exists():
            return _counted(prepared, None)
        with open_store(request.store, write=False) as store:
            return _counted(prepared, store)
    finally:
        asyncio.run(close_all(opened, network))


def _counted(prepared: Prepared, store: Store | None) -> DryRun:
    count = _Count(store)
    plan = _with_known_steps(prepared.plan, count)
    for _, item in prepared.numbered():
        for planned in plan.calls_of(item):
            if planned.protocol.pipeline:
                count.add_steps(planned, item, plan.absent)
            else:
                count.add(call_for(planned, item)[0], planned.model, planned)
    count.settle()
    dates = prepared.manifest.get("price_dates", {})
    batches = tuple(estimated.result() for estimated in count.batches.values())
    return DryRun(
        prepared.n_judged,
        count.calls,
        count.stored,
        count.tokens,
        count.cost,
        count.first,
        count.ruled,
        dates,
        count.n_open,
        batches,
    )


class _Count:
    """Counts calls, those in the store separately from those to be sent."""

    def __init__(self, store: Store | None) -> None:
        self.store = store
        self.first: tuple[Message, ...] = ()
        self.calls = self.stored = self.tokens = self.ruled = 0
        self.cost: float | None = 0.0
        self.n_open = 0
        self.batches: dict[str, EstimatedBatches] = {}
        self._seen: set[int] = set()
        self._waiting: dict[str, tuple[int, float | None]] = {}
        self._batched: dict[str, tuple[Call, PlannedCall]] = {}

    def add(self, call: Call, model: Model, planned: PlannedCall | None = None) -> None:
        """Count a call, unless it was counted before; a planned one may go into a batch."""
        self.first = self.first or call.messages
        # A part of the key distinguishes calls well enough, and saves memory in a large run.
        short = int(call.key[:16], 16)
        if short in self._seen:
            return
        self._seen.add(short)
        if call.is_ruled:
            self.ruled += 1
            return
        self.calls += 1
        price = None if model.price is None else model.price[0]
        if planned is not None and model.is_batched:
            self._batched[call.key] = (call, planned)
            price = None if price is None else price * BATCH_PRICE
        self._waiting[call.key] = (estimated_prompt(call.messages), price)
        if len(self._waiting) >= _BATCH:
            self.settle()

    def add_steps(self, planned: PlannedCall, item: Item, absent: frozenset[str]) -> None:
        """Count the calls of a judgment in steps, as far as the stored replies say which there are."""
        steps = judgment_in_steps(planned.protocol, item, absent, planned.model.questions_a_call)
        with suppress(StopIteration):
            prompts = next(steps)
            while True:
                calls = [step_call(planned, prompt, item) for prompt in prompts]
                for call in calls:
                    self.add(call, planned.model)
                keys = [call.key for call in calls]
                replies = self.store.reply_for(keys) if self.store is not None else {}
                if len(replies) < len(set(keys)):
                    self.n_open += prompts[0].step.kind == "extract"
                    return
                prompts = steps.send([StepAnswer(key, (replies[key],)) for key in keys])

    def settle(self) -> None:
        """Look up in the store the calls that were added since the last time."""
        known = self.store.answered(list(self._waiting)) if self.store is not None else set()
        self.stored += len(known)
        for key, (size, price) in self._waiting.items():
            if key not in known:
                self.tokens += size
                self.cost = None if self.cost is None or price is None else self.cost + size * price / 1e6
        for key, (call, planned) in self._batched.items():
            model, api = planned.model, planned.model.batch_api()
            if key not in known and isinstance(model, RemoteModel) and api is not None:
                self.batches.setdefault(model.name, EstimatedBatches(model, api)).add(planned, call)
        self._waiting.clear()
        self._batched.clear()


def _with_known_steps(plan: Plan, count: _Count) -> Plan:
    """The plan with the steps that are in the store; a call for steps that are missing is counted too."""
    if plan.options.steps != "generate":
        return plan
    protocols = []
    for number, protocol in enumerate(plan.protocols):
        if not plan.writes_steps(number):
            protocols.append(protocol)
            continue
        call, _ = steps_call(protocol, plan.models[0])
        count.add(call, plan.models[0])
        reply = count.store.reply_for([call.key]).get(call.key) if count.store is not None else None
        protocols.append(protocol if reply is None else with_digest(protocol, steps=steps_in(reply.text)))
    return make_plan(protocols, plan.models, plan.options, plan.steps_for, is_audit=plan.is_audit)


class Run(Struct, frozen=True):
    """A finished run, as a value. `results` reads them from the store."""

    name: str
    store: str
    status: RunStatus
    progress: Progress
    adjustments: tuple[str, ...] = ()

    def results(self) -> list[Result]:
        """All results, in the order of the items."""
        with open_store(self.store, write=False) as store:
            return list(results(store, store.run(self.name)))


class Watcher:
    """Receives the progress of a run: override the methods that you need."""

    def started(self, run: RunRow, prepared: Prepared) -> None:
        """The run is in the store; no call has been made yet."""

    def wrote_steps(self, protocol: Protocol) -> None:
        """The judge has written the evaluation steps of a protocol, now or in an earlier start of this run."""

    def progressed(self, progress: Progress) -> None:
        """A judgment was made and is durable."""

    def batched(self, batches: Sequence[BatchRow]) -> None:
        """A batch of the run was submitted, or the provider has answered more of it."""


Protocols = str | Path | Protocol | Sequence[str | Path | Protocol]
OneModel = str | Model | ModelSettings
Models = OneModel | Sequence[OneModel] | Mapping[str, str | ModelSettings | Mapping[str, Any]]
"""one model, several, or alias → model: a spec, or a table as [models.ALIAS] in the run file"""
Judges = Sequence[JudgeSettings | Mapping[str, Any]]


class Request(RunOptions, frozen=True):
    """What `run` is called with: the items, how to judge them, who judges, and the options of a run."""

    items: str | Path | Sequence[Item | Mapping[str, Any]]
    protocol: Protocols = ()
    model: Models = ()
    judge: Judges = ()
    """several ways of judging, each with what is given to it; in place of `protocol`, `rubric` and `criterion`"""
    watcher: Watcher | None = None
    command: tuple[str, ...] = ()


class AuditRequest(Request, frozen=True):
    """A request whose items are those of an audit: unchanged, repeated, and under probes."""

    audit: dict[str, Any] = msgspec.field(default_factory=dict)
    """recorded in the manifest: what is known of the probes"""


class Prepared(Struct, frozen=True):
    """A request with everything loaded and checked; no call has been made yet."""

    plan: Plan
    items: ItemSource
    n_items: int
    manifest: dict[str, Any]
    bad: tuple[str, ...] = ()
    shard: Shard = Shard(1, 1)

    def numbered(self) -> Iterator[tuple[int, Item]]:
        """The items to judge, with their numbers in the run."""
        return islice(enumerate(self.items), self.shard.number - 1, None, self.shard.n)

    @property
    def n_judged(self) -> int:
        """How many items are to be judged: all, or those of the shard."""
        return self.shard.size(self.n_items)


# -- who judges: models with the key and the price that each was given, and ways of judging


def _as_tuple(names: Any) -> tuple[Any, ...]:
    single = str | Path | Protocol | Model | ModelSettings | Rubric
    return (names,) if isinstance(names, single) else tuple(names)


def model_choices(request: Request) -> list[Model | NamedModel]:
    """The models of a request, each with its own key variable and price."""
    if isinstance(request.model, Mapping):
        choices: list[Model | NamedModel] = [
            _with_alias(settings, alias) for alias, settings in request.model.items()
        ]
    else:
        choices = [
            choice if isinstance(choice, Model) else _with_alias(choice)
            for choice in _as_tuple(request.model) or default_models()
        ]
    settings = [choice for choice in choices if isinstance(choice, NamedModel)]
    keys = _by_model("--key-env", request.key_env, "VAR", settings, takes_key)
    prices = _by_model("--price", request.price, "IN,OUT", settings, takes_price)
    return [
        choice
        if isinstance(choice, Model)
        else structs.replace(
            choice,
            key_env=keys.get(_name(choice), choice.key_env),
            price=prices.get(_name(choice), choice.price),
        )
        for choice in choices
    ]


def _with_alias(choice: str | ModelSettings | Mapping[str, Any], alias: str = "") -> NamedModel:
    if isinstance(choice, Mapping):
        try:
            choice = msgspec.convert(choice, ModelSettings)
        except msgspec.ValidationError as error:
            known = ", ".join(ModelSettings.__struct_fields__)
            raise DataError(f"model {alias}: {error}. The keys are: {known}.") from None
    settings: ModelSettings = named(choice) if isinstance(choice, str) else choice
    if isinstance(settings, NamedModel):
        return structs.replace(settings, alias=check_alias(alias)) if alias else settings
    return NamedModel(**structs.asdict(settings), alias=check_alias(alias) if alias else "")


def _name(choice: NamedModel) -> str:
    return choice.alias or choice.model


def _by_model(
    flag: str,
    given: Any,
    form: str,
    choices: Sequence[NamedModel],
    can_take: Callable[[str], bool],
) -> dict[str, Any]:
    """model → what is given for it. A value without a model belongs to the only model that can take it.

    A key must not reach a host that it was not given for, so that nothing is guessed among several.
    """
    if given is None:
        return {}
    names = [_name(choice) for choice in choices]
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                hint = f"Did you mean '{near[0]}'?" if near else f"The models are: {', '.join(names)}."
                raise ModelError(f"{flag} {name}={form}: no model of this run is called '{name}'. {hint}")
        return dict(given)
    takers = [_name(choice) for choice in choices if can_take(choice.model)]
    # A price is for calls that cost something: those over the network, where there are any.
    remote = [_name(choice) for choice in choices if takes_key(choice.model)]
    takers = remote or takers
    if len(takers) > 1:
        forms = "  ".join(f"{flag} {name}={form}" for name in takers[:2])
        raise ModelError(
            f"{flag} does not say which of {len(takers)} models it is for: {', '.join(takers)}.\n"
            f"Name the model: {forms}\n"
            "A short name for a model: -m house=http://HOST/v1#NAME, or [models.house] in the run file."
        )
    return dict.fromkeys(takers, given)


class Judge(NamedTuple):
    """One way of judging in a run: a protocol and what the user gives to it."""

    protocol: str | Path | Protocol
    rubric: Rubric | str | Path | None = None
    criterion: str = ""
    name: str = ""
    steps: Sequence[str] | str = ()
    examples: str | Path | None = None


DEFAULT_PROTOCOL = "geval/score"
"""The protocol of a criterion in words."""


def judges_of(request: Request) -> list[Judge]:
    """The ways of judging of a request, each criterion with a name of its own where there are several."""
    return _with_examples(_judges(request), request.examples)


def _judges(request: Request) -> list[Judge]:
    rubrics = () if request.rubric is None else _as_tuple(request.rubric)
    criteria = _criteria(request.criterion)
    if request.judge:
        if request.protocol or rubrics or criteria:
            raise DataError(
                "judge lists protocols, rubrics and criteria: leave out protocol, rubric and criterion, or judge."
            )
        judges = [_judge(entry, request) for entry in request.judge]
        return _with_names(judges) if len(judges) > 1 else judges
    refs = _as_tuple(request.protocol) or ((DEFAULT_PROTOCOL,) if criteria else ())
    if len(rubrics) <= 1 and len(criteria) <= 1:
        rubric = rubrics[0] if rubrics else None
        name, text = criteria[0] if criteria else ("", "")
        return [Judge(ref, rubric, text, name, request.steps) for ref in refs]
    judges = []
    for ref in refs:
        takes = _takes_of(ref)
        if isinstance(ref, Protocol) or not {"rubric", "criterion"} & takes:
            # It has no place for any of them: loading it says so.
            judges.append(Judge(ref, rubrics[0] if rubrics else None, criteria[0][1] if criteria else ""))
            continue
        if "rubric" in takes:
            judges += [Judge(ref, rubric, "", "", request.steps) for rubric in rubrics]
        if "criterion" in takes:
            judges += [Judge(ref, None, text, name, request.steps) for name, text in criteria]
    for kind, is_given, is_used in (
        ("rubric", bool(rubrics), any(judge.rubric is not None for judge in judges)),
        ("criterion", bool(criteria), any(judge.criterion for judge in judges)),
    ):
        if is_given and not is_used:
            raise ProtocolError(
                f"no protocol of this run has a place for --{kind}: it would never be shown to the judge. "
                f"Leave it out, or add a protocol that takes it: -p {DEFAULT_PROTOCOL}."
            )
    return _with_names(judges)


def _with_examples(judges: list[Judge], given: str | Path | None) -> list[Judge]:
    """The judges with the examples for all; of several, those whose prompt takes none are asked without."""
    if given is None:
        return judges
    takes = [len(judges) == 1 or takes_examples(_unfilled(judge.protocol)) for judge in judges]
    return [
        judge if judge.examples or (any(takes) and not is_taken) else judge._replace(examples=given)
        for judge, is_taken in zip(judges, takes, strict=True)
    ]


def _unfilled(ref: str | Path | Protocol) -> Protocol:
    return ref if isinstance(ref, Protocol) else load_protocol(ref)


def _takes_of(ref: str | Path | Protocol) -> set[str]:
    protocol = _unfilled(ref)
    return {*protocol.takes, *(name.partition(".")[0] for name in protocol.alias.values() if "." in name)}


def _criteria(given: str | Sequence[str] | Mapping[str, str]) -> list[tuple[str, str]]:
    """(name, text) of each criterion; the name is empty where none is given."""
    if isinstance(given, Mapping):
        return list(given.items())
    texts = (given,) if isinstance(given, str) else given
    return [named_criterion(text) for text in texts if text]


def _judge(entry: JudgeSettings | Mapping[str, Any], request: Request) -> Judge:
    if not isinstance(entry, JudgeSettings):
        try:
            entry = msgspec.convert(entry, JudgeSettings)
        except msgspec.ValidationError as error:
            known = ", ".join(JudgeSettings.__struct_fields__)
            raise DataError(f"judge: {error}. The keys of an entry are: {known}.") from None
    if entry.labels:
        return _judge_by_labels(entry)
    if not entry.protocol and not entry.criterion and not entry.rubric:
        raise DataError("judge: an entry needs a protocol, a rubric or a criterion. Add one.")
    return Judge(
        entry.protocol or DEFAULT_PROTOCOL,
        entry.rubric or None,
        entry.criterion,
        entry.name,
        (read_steps(entry.steps) if isinstance(entry.steps, str) else entry.steps) or request.steps,
        entry.examples or None,
    )


def _judge_by_labels(entry: JudgeSettings) -> Judge:
    if entry.rubric:
        raise DataError("judge: an entry has both labels and a rubric. Leave one of the two out.")
    if not entry.criterion:
        raise DataError(
            'judge: an entry with labels needs a criterion: the question, such as "What is it about?".'
        )
    name = entry.name or short_name(entry.criterion)
    return Judge(entry.protocol or "classify", rubric_of_labels(name, entry.criterion, entry.labels))


def read_steps(text: str) -> str | tuple[str, ...]:
    """The evaluation steps in a file, one a line; `generate` means that the judge writes them."""
    if text == "generate" or not text:
        return text
    try:
        lines = read_small(Path(text)).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"--steps {text}: cannot be read ({error}). Give 'generate', or a file with one step per line."
        ) from error
    return tuple(line.strip() for line in lines if line.strip())


def _with_names(judges: Sequence[Judge]) -> list[Judge]:
    """Each criterion without a name gets one from its text."""
    taken = {judge.name for judge in judges if judge.name}
    named_judges = []
    for judge in judges:
        if judge.criterion and not judge.name and judge.rubric is None and len(judges) > 1:
            name = _unique(short_name(judge.criterion), taken)
            taken.add(name)
            judge = judge._replace(name=name)
        named_judges.append(judge)
    return named_judges


def _unique(name: str, taken: set[str]) -> str:
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique


_FILLERS = frozenset(
    "a an and answer are as at be been by can could did do does for had has have how if in is it its of on or output "
    "reply response should so text that the their then there they this to was well were what whether which will with "
    "would you your".split()
)
_NAME_WORDS = 3


def short_name(text: str) -> str:
    """A name for a criterion: the first words of its text that carry meaning."""
    words = re.findall(r"[^\W_]+", text.lower())
    telling = [word for word in words if word not in _FILLERS] or words
    return "-".join(telling[:_NAME_WORDS])[:40] or "criterion"


def check_renames(renames: Mapping[str, str], protocols: Sequence[Protocol]) -> None:
    """Raise for a name in `--map` that no protocol of the run has: its field would never be shown."""
    known = {*RESERVED}
    for protocol in protocols:
        known.update(protocol.inputs, protocol.optional, protocol.at_least_one, protocol.takes)
        known.update(protocol.refuses, protocol.alias.values())
        known.update(step.name for step in protocol.pipeline if step.kind == "extract")
        for name in (*protocol.inputs, *protocol.optional):
            known.update(protocol.synonyms(name))
    for name, field in renames.items():
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), 1)
            inputs = ", ".join(sorted({name for protocol in protocols for name in protocol.inputs}))
            hint = f"Did you mean '{near[0]}'?" if near else f"The inputs are: {inputs}."
            raise DataError(f"map {name}={field}: no protocol of this run has an input '{name}'. {hint}")


def default_models() -> tuple[str, ...]:
    """The judge where none is named: the one in the variable ADJUDGE_MODEL."""
    model = os.environ.get("ADJUDGE_MODEL")
    return (model,) if model else ()


def prepare(request: Request, network: Network, opened: list[Model], *, is_dry: bool = False) -> Prepared:
    """Load and check everything that a request names, so that mistakes are reported before money is spent.

    A dry run makes no calls and needs no key. Models made here are added to `opened`, even if this raises: the caller
    closes them.
    """
    check_options(request)
    judges = judges_of(request)
    protocols = _protocols(request, judges)
    models: list[Model] = []
    for choice in model_choices(request):
        model = choice if isinstance(choice, Model) else parse_model(choice, network=network)
        if request.ray is not None:
            model = on_ray(model, request.ray, request.replicas, patience_seconds=60 * request.patience)
        models.append(model)
        if model is not choice:
            opened.append(model)
    _set_score_maps(request, models)
    if not protocols or not models:
        raise ProtocolError("a run needs at least one protocol (-p) and one model (-m).")
    _set_batched(request, models, protocols)
    check_renames(request.map, protocols)
    plan = _plan(request, judges, protocols, models)
    _check_questions(request, protocols, models)
    for planned in plan.calls:
        kind = "likelihood" if planned.protocol.answer.reader == "likelihood" else "generate"
        if not is_dry:
            planned.model.check(planned.params, (kind,))
    if request.budget is not None and any(model.price is None and model.needs_network for model in models):
        raise ModelError(
            "--budget needs a price. Set --price IN,OUT in USD per million tokens; "
            "with several models --price MODEL=IN,OUT for each."
        )

    absent = AbsentInputs(protocols)

    def problems(item: Item) -> list[str]:
        absent.add(item)
        found = [
            problem
            for protocol in protocols
            for problem in (*problems_of(protocol, item), *step_problems(protocol, item))
        ]
        if isinstance(request, AuditRequest):
            found += audit_problems(protocols, item)
        if any(model.asks_questions for model in models):
            found += [problem for protocol in protocols for problem in question_problems(protocol, item)]
        return found + image_problems(item, protocols, models)

    items = open_items(request.items, request.map, problems, request.limit, request.traces)
    n_items = items.check(skip_bad=request.skip_bad)
    described = {**items.described(), "n": n_items, "left_out": len(items.bad()) if request.skip_bad else 0}
    plan = structs.replace(plan, absent=frozenset(absent.names))
    manifest = manifest_of(plan, described, request.command, __version__)
    if isinstance(request, AuditRequest):
        manifest["audit"] = request.audit
    bad = items.bad() if request.skip_bad else ()
    return Prepared(plan, items, n_items, manifest, bad, shard_of(request))


def _set_score_maps(request: Request, models: Sequence[Model]) -> None:
    """Give each model the map of its scores: that of its settings, or the run's; `DataError` where none is for it."""
    of_run = None if request.map_scores is None else read_score_map(request.map_scores)
    used = False
    for model in models:
        names = (model.name, model.spec)
        own = None if model.settings is None else model.settings.map_scores
        if own is not None:
            model.score_map = read_score_map(own).of_model(names)
            if model.score_map is None:
                raise DataError(
                    f"map_scores of {model.name}: {own} was made for another model. Calibrate this one."
                )
        elif of_run is not None:
            model.score_map = of_run.of_model(names)
            used = used or model.score_map is not None
    if of_run is not None and not used:
        made_for = ", ".join(dict.fromkeys(curve.model for curve in of_run.maps))
        raise DataError(
            f"--map-scores {request.map_scores}: it was made for {made_for}, not for {models[0].name}. "
            "Make one for this model with adjudge calibrate."
        )


def _check_questions(request: Request, protocols: Sequence[Protocol], models: Sequence[Model]) -> None:
    """Protocols that a decision model cannot be asked; `ProtocolError` with the reason."""
    deciding = [model.name for model in models if model.asks_questions]
    others = [model.name for model in models if not model.asks_questions]
    if request.estimator == "decision" and others:
        raise ModelError(
            f"--estimator decision: {others[0]} is no decision model. Leave --estimator out, or use decisions:NAME, "
            "systemone:NAME or a server of either format."
        )
    for protocol in protocols if deciding else ():
        if protocol.answer.reader == "likelihood":
            raise ProtocolError(
                f"protocol {protocol.id} asks for the likelihood of a text, and {deciding[0]} answers typed questions. "
                "Use a protocol that asks for a score."
            )
        if protocol.examples:
            raise ProtocolError(
                f"--examples: {deciding[0]} answers typed questions, which show no examples. Leave --examples out."
            )
        if request.steps == "generate":
            raise ProtocolError(
                f"--steps generate: {deciding[0]} answers typed questions and writes no steps. Give the steps in a file."
            )
        for number, step in enumerate(protocol.pipeline):
            if step.kind == "check":
                questions_of(step_protocol(protocol, step), (number,))
        if not protocol.pipeline:
            questions_of(protocol)
        for model in models:
            unnamed = has_levels_without_text(protocol) if model.asks_questions else []
            if unnamed:
                model.warnings.append(
                    f"the levels of {', '.join(unnamed)} in protocol {protocol.id} have no texts: the labels of the "
                    "typed question are the numbers of the scale"
                )


def image_problems(item: Item, protocols: Sequence[Protocol], models: Sequence[Model]) -> list[str]:
    """The models that cannot be shown the images of an item."""
    blind = [model.name for model in models if not model.takes_images]
    if not blind or not any(images_in(protocol, item) for protocol in protocols):
        return []
    return [
        f"item '{item.id:.80}' has an image, and model {name} takes no images. Use a model that does "
        "(OpenAI, Anthropic, an OpenAI-compatible server), or take the image out."
        for name in blind
    ]


def _set_batched(request: Request, models: Sequence[Model], protocols: Sequence[Protocol]) -> None:
    """Mark the models that are asked through their batch API; `ModelError` where one has none."""
    for model in models:
        is_set = model.settings is not None and model.settings.batch
        model.is_batched = request.batch or is_set
        if not model.is_batched:
            continue
        if model.batch_api() is None:
            cause = "batch = true" if is_set else "--batch"
            raise ModelError(
                f"{cause}: Adjudge knows no batch API for {model.name}. Models with one are openai:NAME, azure:RESOURCE/DEPLOYMENT, "
                "gemini:NAME and anthropic:NAME.\nLeave --batch out, or set batch = true in the run file for those of several "
                "models that have one."
            )
        likelihoods = [protocol.id for protocol in protocols if protocol.answer.reader == "likelihood"]
        if likelihoods:
            raise ModelError(
                f"--batch: protocol {likelihoods[0]} asks for likelihoods, which batch APIs do not give. Leave --batch out."
            )


def _plan(
    request: Request, judges: Sequence[Judge], protocols: Sequence[Protocol], models: Sequence[Model]
) -> Plan:
    steps_for = tuple(number for number, judge in enumerate(judges) if judge.steps == "generate")
    if steps_for and request.steps != "generate":
        request = structs.replace(request, steps="generate")
    is_for_all = len(steps_for) == len(judges) or not steps_for
    is_audit = isinstance(request, AuditRequest)
    return make_plan(protocols, models, request, None if is_for_all else steps_for, is_audit=is_audit)


def only_protocol(request: Request) -> Protocol:
    """The protocol of a request for an audit, with what the user gives to it."""
    judges = judges_of(request)
    protocols = _protocols(request, judges)
    if len(protocols) != 1:
        raise ProtocolError(
            f"an audit has one protocol and one criterion or rubric; {len(protocols)} are given. Audit each alone."
        )
    return protocols[0]


def _protocols(request: Request, judges: Sequence[Judge]) -> list[Protocol]:
    protocols = [_protocol(judge) for judge in judges]
    if (tokens := request.transcript_tokens) is not None:
        if tokens < LEAST_TRANSCRIPT_TOKENS:
            raise DataError(f"--transcript-tokens {tokens}: must be at least {LEAST_TRANSCRIPT_TOKENS}.")
        protocols = [with_digest(protocol, transcript_tokens=tokens) for protocol in protocols]
    if request.step is not None:
        protocols = with_finer_steps(protocols, request.step)
    _check_names(judges, protocols)
    for protocol in protocols:
        if protocol.pipeline and request.estimator == "probability":
            raise ProtocolError(
                f"--estimator probability: protocol {protocol.id} judges in steps, and its score is combined from many "
                "replies. Leave --estimator out."
            )
        is_likelihood = protocol.answer.reader == "likelihood"
        if is_likelihood != (request.estimator == "likelihood") and request.estimator is not None:
            other = "asks for no reply" if is_likelihood else "asks for a reply"
            raise ProtocolError(
                f"--estimator {request.estimator}: protocol {protocol.id} {other}. Leave --estimator out."
            )
        if not shows_item(protocol):
            raise ProtocolError(
                f"protocol {protocol.id} shows nothing of an item, so every item would get the same score. "
                "Put a placeholder such as {{response}} into its prompt, and its name into inputs."
            )
    return protocols


def _protocol(judge: Judge) -> Protocol:
    if isinstance(judge.protocol, Protocol):
        return judge.protocol if judge.protocol.digest else with_digest(judge.protocol)
    return load_protocol(
        judge.protocol,
        rubric=judge.rubric,
        examples=judge.examples or (),
        criterion=judge.criterion,
        steps=() if judge.steps == "generate" else judge.steps,
        name=judge.name,
    )


def _check_names(judges: Sequence[Judge], protocols: Sequence[Protocol]) -> None:
    """Two criteria of one protocol need two names: otherwise their scores could not be told apart."""
    seen: dict[tuple[str, str], Protocol] = {}
    for judge, protocol in zip(judges, protocols, strict=True):
        for criterion in protocol.criteria if judge.rubric is not None or judge.criterion else ():
            other = seen.setdefault((protocol.id, criterion), protocol)
            if other is not protocol:
                raise ProtocolError(
                    f"two criteria of protocol {protocol.id} are called '{criterion}'. Name each differently: "
                    "--criterion NAME=TEXT, name = … in a rubric file, or name = … in the run file."
                )


P = ParamSpec("P")
R = TypeVar("R")


def _takes(request: Callable[P, Request]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Give a function the parameters of `Request`, for type checkers, editors and `help`."""

    def typed(function: Callable[..., R]) -> Callable[P, R]:
        shown = [_shown(parameter) for parameter in signature(request).parameters.values()]
        function.__signature__ = Signature(shown)  # type: ignore[attr-defined]
        return function

    return typed


def _shown(parameter: Parameter) -> Parameter:
    """The parameter with the plain type of an option, without what the command line says about it."""
    annotation = parameter.annotation
    return (
        parameter.replace(annotation=get_args(annotation)[0])
        if get_origin(annotation) is Annotated
        else parameter
    )


def _request(*arguments: Any, **options: Any) -> Request:
    known = set(Request.__struct_fields__) - {"items", "protocol", "model", "watcher"}
    for name in options:
        if name not in Request.__struct_fields__:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"The options are: {', '.join(sorted(known))}."
            raise DataError(f"run has no option '{name}'. {hint}")
    return Request(*arguments, **options)


@_takes(Request)
async def run_async(*arguments: Any, **options: Any) -> Run:
    """Judge items and store every call, reply and judgment; the same request again asks only what is missing.

    An option means what the flag of `adjudge run` with its name means. A `watcher` receives the run's progress.
    """
    request = _request(*arguments, **options)
    return await execute(request, request.watcher or Watcher())


class _State:
    """How far a run is, for the thread that may stop it."""

    is_in_store = False
    """from then on there may be paid replies to store before it ends"""
    loop: Loop | None = None

    def set_loop(self, loop: Loop) -> None:
        self.loop = loop


async def execute(request: Request, watcher: Watcher, state: _State | None = None) -> Run:
    """Carry out a request; with a `state`, in an event loop that serves nothing else."""
    network = Network(
        concurrency=request.concurrency,
        rpm=request.rpm,
        tpm=request.tpm,
        outage_seconds=60 * request.patience,
    )
    opened: list[Model] = []
    try:
        if state is not None:
            prepared = prepare(request, network, opened)
        else:
            # Checking a large file must not block the other tasks of this event loop.
            prepared = await asyncio.to_thread(prepare, request, network, opened)
        with open_store(request.store) as store:
            await _confirm_logprobs(prepared, store)
            return await _execute(request, prepared, store, watcher, state or _State())
    finally:
        await close_all(opened, network)


async def close_all(models: Sequence[Model], network: Network) -> None:
    """Close what a request has opened."""
    for model in models:
        await model.close()
    await network.close()


async def _execute(
    request: Request, prepared: Prepared, store: Store, watcher: Watcher, state: _State
) -> Run:
    replaced = _set_aside(store, request, prepared)
    run = store.start_run(request.run, prepared.manifest, identity_of(prepared.manifest))
    started = time.monotonic()
    status: RunStatus = "stopped"
    try:
        state.is_in_store = True
        watcher.started(run, prepared)
        plan = await _with_steps(prepared.plan, store, run, watcher)
        n_calls = len(plan.calls_of(Item("", {})))
        progress, is_complete = await judge_all(
            plan,
            store,
            run,
            prepared.numbered,
            prepared.n_judged * n_calls,
            options=request,
            on_progress=watcher.progressed,
            on_batches=watcher.batched,
            on_loop=state.set_loop,
        )
        is_part = prepared.shard.n > 1 and not store.is_whole(run, prepared.n_items * n_calls)
        status = "submitted" if not is_complete else "stopped" if is_part else "done"
        if is_complete:
            store.close_batches(run)
        warnings = dict.fromkeys(text for model in plan.models for text in model.warnings)
        return Run(run.name, str(request.store), status, progress, (*_adjustments(prepared.plan), *warnings))
    except (Interrupted, asyncio.CancelledError):
        status = "interrupted"
        raise
    finally:
        with suppress(AdjudgeError):
            if adjustments := _adjustments(prepared.plan):
                store.note_adjustments(run, adjustments)
            store.finish_run(run, status, time.monotonic() - started)
            if prepared.n_judged:
                _tidy_up(store, run, status, replaced)


def _set_aside(store: Store, request: Request, prepared: Prepared) -> RunRow | None:
    """The run that this one replaces, under another name until this one is done: its replies may be needed."""
    if not request.replace or request.run is None:
        return None
    aside = f"{request.run} (replaced)"
    known = {run.name: run for run in store.runs()}
    old = known.get(request.run)
    if old is None or old.identity == identity_of(prepared.manifest):
        return known.get(aside)  # an earlier start of this run has set it aside
    if aside in known:
        store.delete_run(aside)
    store.rename_run(request.run, aside)
    return structs.replace(old, name=aside)


def _tidy_up(store: Store, run: RunRow, status: RunStatus, replaced: RunRow | None) -> None:
    """Delete the run that this one has replaced, or this one if it stopped before its first reply."""
    totals = store.totals(run)
    if status == "stopped" and not run.is_resumed and not totals.calls:
        store.delete_run(run.name)
        if replaced is not None:
            store.rename_run(replaced.name, run.name)
    elif status == "done" and replaced is not None:
        store.put_labels(store.labels(replaced), run)
        store.delete_run(replaced.name)


def _adjustments(plan: Plan) -> tuple[str, ...]:
    """Which parameters are not sent to a model because it refuses them."""
    return tuple(dict.fromkeys(text for model in plan.models for text in model.adjustments))


async def _with_steps(plan: Plan, store: Store, run: RunRow, watcher: Watcher) -> Plan:
    """The plan with the steps that the first judge writes for each protocol that takes them."""
    if plan.options.steps != "generate":
        return plan
    model = plan.models[0]
    protocols = []
    for number, protocol in enumerate(plan.protocols):
        if not plan.writes_steps(number):
            protocols.append(protocol)
            continue
        call, params = steps_call(protocol, model)
        reply = await stored_reply(store, call)
        new_reply = None
        if reply is None:
            reply = new_reply = await model.ask(call, params)
        await store.put(run, -1, 2 * len(plan.calls) + number, call, new_reply, None)
        if reply.error is not None:
            raise ModelError(
                f"{model.name} wrote no evaluation steps: {reply.error.message}. Run the command again."
            )
        steps = steps_in(reply.text)
        if not steps:
            raise ModelError(
                f"{model.name} wrote no evaluation steps: its reply is empty. Write them yourself, with --steps FILE."
            )
        protocols.append(with_digest(protocol, steps=steps))
        watcher.wrote_steps(protocols[-1])
    again = make_plan(protocols, plan.models, plan.options, plan.steps_for, is_audit=plan.is_audit)
    return structs.replace(again, absent=plan.absent)


async def _confirm_logprobs(prepared: Prepared, store: Store) -> None:
    """`probability` on a model without log-probabilities is an error before the run starts."""
    if prepared.plan.options.estimator != "probability":
        return
    identity = identity_of(prepared.manifest)
    if any(run.identity == identity and store.totals(run).judged for run in store.runs()):
        return  # it is resumed, and its judgments show that the models return them
    for model in prepared.plan.models:
        if model.gives_logprobs is None and model.needs_network and not await model.probe_logprobs():
            raise ModelError(
                f"{model.name} returns no log-probabilities, which --estimator probability needs. "
                "Use a model that does, or another estimator: --estimator parsed or samples."
            )


# -- a run in a separate thread: the calling thread waits, and passes Ctrl-C on


_POLL_SECONDS = 0.1
_GRACE_SECONDS = 5.0
"""how long an interrupted run may take to store the replies that it has paid for"""


@_takes(Request)
def run(*arguments: Any, **options: Any) -> Run:
    """`run_async` for code without an event loop, and beside a running one: a script, a notebook."""
    request = _request(*arguments, **options)
    return run_in_thread(request, request.watcher or Watcher())


def run_in_thread(request: Request, watcher: Watcher) -> Run:
    """Carry out a request in a new thread; Ctrl-C stops it and loses no reply that was received."""
    worker = _Worker(request, watcher)
    outer = _task_of_this_thread()
    ends_at = float("inf")
    # Not `join`: after a Ctrl-C in it Python takes the thread for ended.
    while not worker.has_ended.is_set():
        try:
            worker.has_ended.wait(_POLL_SECONDS)
            # `asyncio.run` turns the first Ctrl-C into a cancellation, which waits until this function returns.
            is_interrupted = outer is not None and outer.cancelling() > 0 and ends_at == float("inf")
        except KeyboardInterrupt:
            is_interrupted = True
        if is_interrupted:
            worker.interrupt()
            ends_at = min(ends_at, time.monotonic() + (_GRACE_SECONDS if worker.state.is_in_store else 0))
        if time.monotonic() >= ends_at:
            raise Interrupted("interrupted")
    if isinstance(worker.outcome, BaseException):
        raise worker.outcome
    assert worker.outcome is not None
    return worker.outcome


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop where it is installed: a third less CPU for each call."""
    try:
        import uvloop
    except ImportError:
        return None
    new_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return new_loop


def _task_of_this_thread() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


class _Worker:
    """The thread that carries out a request; another thread can interrupt it."""

    def __init__(self, request: Request, watcher: Watcher) -> None:
        self.outcome: Run | BaseException | None = None
        self.has_ended = threading.Event()
        self.state = _State()
        self._request, self._watcher = request, watcher
        self._task: asyncio.Task[Run] | None = None
        self._is_interrupted = False
        threading.Thread(target=self._work, name="adjudge-run", daemon=True).start()

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                self.outcome = runner.run(self._execute())
        except asyncio.CancelledError:
            self.outcome = Interrupted("interrupted")
        except BaseException as fault:  # noqa: BLE001  raised again in the thread that waits
            self.outcome = fault
        finally:
            self.has_ended.set()

    async def _execute(self) -> Run:
        self._task = asyncio.current_task()
        if self._is_interrupted:
            raise Interrupted("interrupted")
        return await execute(self._request, self._watcher, self.state)

    def interrupt(self) -> None:
        """Stop the run: what is in flight may end. A second time: at once."""
        self._is_interrupted = True
        if self._task is not None:
            # The event loop is already closed where the run has just ended by itself.
            with suppress(RuntimeError):
                self._task.get_loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        assert self._task is not None
        if self.state.loop is not None:
            self.state.loop.stop(Interrupted("interrupted"))
        self._task.cancel()
