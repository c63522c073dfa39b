"""Prepares a run: loads and checks everything that a request
names, so that mistakes are reported before money is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from ..data import RESERVED
from ..did_you_mean import did_you_mean
from ..errors import DataError, ModelError, ProtocolError
from ..models import Model, Network, on_ray, parse_model
from ..models.option_tokens import OptionTokens, check_letters
from ..protocols import ALONE, step_protocol
from ..protocols.absent_inputs import AbsentInputs
from ..records import Item, Protocol, Question
from ..render import (
    criteria_without_step,
    has_levels_without_text,
    images_in,
    number_text,
    problems_of,
    questions_of,
    shows_examples,
)
from ..run_options.check import check_options
from ..run_options.shard import shard_of
from ..score_map import read_score_map
from ..steps.given_elements import audit_problems, question_problems, step_problems
from ..store import LEFT_OUT, N_WITHOUT_ID
from ..version import __version__
from .item_source import open_items
from .judges import ProtocolUse, judges_of, loaded_protocols
from .manifest import manifest_of
from .model_choices import model_choices
from .plan import Plan, make_plan
from .prepared import Prepared
from .request import AuditRequest, Request


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
            inputs = ", ".join(sorted({name for protocol in protocols for name in protocol.inputs}))
            hint = did_you_mean(name, sorted(known), f"The inputs are: {inputs}.")
            raise DataError(f"map {name}={field}: no protocol of this run has an input '{name}'. {hint}")


def prepare(request: Request, network: Network, opened: list[Model], *, is_dry: bool = False) -> Prepared:
    """Load and check everything that a request names, so that mistakes are reported before money is spent.

    A dry run makes no calls and needs no key. Models made here are added to `opened`, even if this raises:
    the caller closes them.
    """
    plan = prepare_plan(request, network, opened, is_dry=is_dry)
    absent = AbsentInputs(plan.protocols)
    check = item_check(request, plan, absent)
    items = open_items(
        request.items, request.map, check, request.limit, request.traces,
        outputs=find_empty_outputs(plan.protocols), skip_bad=request.skip_bad,
    )  # fmt: skip
    n_items = items.check(skip_bad=request.skip_bad)
    described = {**items.described(), "n": n_items, "left_out": len(items.bad()) if request.skip_bad else 0}
    plan = structs.replace(plan, absent=frozenset(absent.names))
    manifest = manifest_of(plan, described, request.command, __version__)
    manifest[N_WITHOUT_ID] = items.n_without_id
    if request.skip_bad and (left_out := items.left_out()):
        manifest[LEFT_OUT] = left_out
    if isinstance(request, AuditRequest):
        manifest["audit"] = request.audit
    bad = items.bad() if request.skip_bad else ()
    return Prepared(plan, items, n_items, manifest, bad, shard_of(request))


def prepare_plan(request: Request, network: Network, opened: list[Model], *, is_dry: bool = False) -> Plan:
    """Everything that a request names but the items, loaded and checked, as `prepare` does."""
    check_options(request)
    judges = judges_of(request)
    protocols = loaded_protocols(request, judges)
    models: list[Model] = []
    for choice in model_choices(request):
        model = choice if isinstance(choice, Model) else parse_model(choice, network=network)
        if request.ray is not None:
            model = on_ray(model, request.ray, request.replicas, patience_seconds=60 * request.patience)
        if model is not choice:
            opened.append(model)
        # With --estimator decision, any model with log-probabilities answers typed questions.
        is_asked = request.estimator == "decision" and not model.asks_questions
        models.append(OptionTokens(model) if is_asked else model)
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
    return plan


def item_check(request: Request, plan: Plan, absent: AbsentInputs) -> Callable[[Item], list[str]]:
    """What is wrong with an item for the protocols and models of a plan; `absent` learns which inputs it
    has."""

    def problems(item: Item) -> list[str]:
        absent.add(item)
        found = [
            problem
            for protocol in plan.protocols
            for problem in (*problems_of(protocol, item), *step_problems(protocol, item))
        ]
        if isinstance(request, AuditRequest):
            found += audit_problems(plan.protocols, item)
        if any(model.asks_questions for model in plan.models):
            found += [problem for protocol in plan.protocols for problem in question_problems(protocol, item)]
        return found + image_problems(item, plan.protocols, plan.models)

    return problems


def find_empty_outputs(protocols: Sequence[Protocol]) -> Callable[[Mapping[str, Any]], list[str]]:
    """Which fields of a row hold a judged text that is empty: there, but without a value."""

    def empty_outputs(row: Mapping[str, Any]) -> list[str]:
        given = {name for name, value in row.items() if value is not None}
        names = [(protocol, name) for protocol in protocols for name in protocol.judged_inputs]
        fields = (
            protocol.field_for(name, row)
            for protocol, name in names
            if protocol.field_for(name, given) is None
        )
        return [field for field in fields if field is not None]

    return empty_outputs


def _set_score_maps(request: Request, models: Sequence[Model]) -> None:
    """Give each model the map of its scores: that of its
    settings, or the run's; `DataError` where none is for it.
    """
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
    if deciding and request.estimator in ("parsed", "probability"):
        raise ModelError(
            f"--estimator {request.estimator}: {deciding[0]} answers typed questions with probabilities, and "
            "its estimator is decision. Leave --estimator out."
        )
    for protocol in protocols if deciding else ():
        if protocol.answer.reader == "likelihood":
            raise ProtocolError(
                f"protocol {protocol.id} asks for the likelihood of a text, and {deciding[0]} "
                "answers typed questions. Use a protocol that asks for a score."
            )
        if protocol.examples and not shows_examples(protocol):
            raise ProtocolError(
                f"--examples: {deciding[0]} answers typed questions, and your criterion or rubric is asked "
                "without examples. Leave --examples out."
            )
        if request.steps == "generate":
            raise ProtocolError(
                f"--steps generate: {deciding[0]} answers typed questions and writes no steps. Give "
                "the steps in a file."
            )
        for number, step in enumerate(protocol.pipeline):
            if step.kind == "check":
                _check_letters(questions_of(step_protocol(protocol, step), (number,)), models)
        if not protocol.pipeline:
            _check_letters(questions_of(protocol), models)
    if not isinstance(request, AuditRequest):  # whose protocols are forms of one question
        _note_several_calls(protocols, models)
    for model in models:
        if model.asks_questions:
            model.warnings += [note for protocol in protocols for note in _notes_on_levels(protocol)]
            model.adjustments += _unsent(request, model)


_OF_TEXT = ("temperature", "max_tokens", "reasoning_effort", "thinking_tokens", "seed")
"""Parameters of a model that writes text."""


def _unsent(request: Request, model: Model) -> Iterator[str]:
    """The parameters that the user set and that mean nothing to typed questions."""
    # A chat judge with --estimator decision writes one letter: the others are sent to it.
    for name in _OF_TEXT[:2] if isinstance(model, OptionTokens) else _OF_TEXT:
        of_model = getattr(model.settings, name, None)
        value = getattr(request, name) if of_model is None else of_model
        if value is not None:
            yield f"{name} {value} is not sent: {model.name} answers typed questions"


def _notes_on_levels(protocol: Protocol) -> Iterator[str]:
    """Which options of typed questions are not the protocol's own words."""
    if unnamed := has_levels_without_text(protocol):
        yield (
            f"the levels of {', '.join(unnamed)} in protocol {protocol.id} have no texts: "
            "the labels of the typed question are the numbers of the scale"
        )
    for levels, names in criteria_without_step(protocol).items():
        shown = map(number_text, levels)
        offered = ", ".join(shown if len(levels) <= 12 else (*list(shown)[:2], "…", number_text(levels[-1])))
        yield (
            f"the scale of {', '.join(names)} in protocol {protocol.id} has no step: the typed question "
            f"offers the levels {offered}"
        )


def _note_several_calls(protocols: Sequence[Protocol], models: Sequence[Model]) -> None:
    """Say where a decision model reads each item once for each criterion of the user's."""
    n_alone = sum(protocol.id == ALONE for protocol in protocols)
    for model in models if n_alone > 1 else ():
        if model.questions_a_call > 1:
            model.warnings.append(
                f"each item is sent {n_alone} times, once for each criterion; with --together all are "
                "questions of one call"
            )


def _check_letters(questions: Sequence[Question], models: Sequence[Model]) -> None:
    for model in models:
        if isinstance(model, OptionTokens):
            check_letters(questions, model.name)


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
                f"{cause}: Adjudge knows no batch API for {model.name}. Models with one are "
                "openai:NAME, azure:RESOURCE/DEPLOYMENT, gemini:NAME and anthropic:NAME.\nLeave "
                "--batch out, or set batch = true in the run file for those of several models that "
                "have one."
            )
        likelihoods = [protocol.id for protocol in protocols if protocol.answer.reader == "likelihood"]
        if likelihoods:
            raise ModelError(
                f"--batch: protocol {likelihoods[0]} asks for likelihoods, which batch APIs do not "
                "give. Leave --batch out."
            )


def _plan(
    request: Request, judges: Sequence[ProtocolUse], protocols: Sequence[Protocol], models: Sequence[Model]
) -> Plan:
    steps_for = tuple(number for number, judge in enumerate(judges) if judge.steps == "generate")
    if steps_for and request.steps != "generate":
        request = structs.replace(request, steps="generate")
    is_for_all = len(steps_for) == len(judges) or not steps_for
    return make_plan(
        protocols, models, request, None if is_for_all else steps_for,
        is_audit=isinstance(request, AuditRequest),
        protocol_of_probe=request.protocol_of_probe if isinstance(request, AuditRequest) else None,
    )  # fmt: skip


async def close_all(models: Sequence[Model], network: Network | None) -> None:
    """Close what a request has opened; no network where another run uses it."""
    for model in models:
        await model.close()
    if network is not None:
        await network.close()
