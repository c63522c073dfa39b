"""Prepares a run: loads and checks everything that a request
names, so that mistakes are reported before money is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import structs

from ..data import RESERVED
from ..did_you_mean import did_you_mean
from ..errors import DataError, ModelError, ProtocolError
from ..models import Model, Network, on_ray, parse_model
from ..protocols import step_protocol
from ..protocols.absent_inputs import AbsentInputs
from ..records import Item, Protocol
from ..render import has_levels_without_text, images_in, problems_of, questions_of
from ..run_options.check import check_options
from ..run_options.shard import shard_of
from ..score_map import read_score_map
from ..steps.given_elements import audit_problems, question_problems, step_problems
from ..store import N_WITHOUT_ID
from ..version import __version__
from .item_source import open_items
from .judges import Judge, judges_of, loaded_protocols
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
        request.items, request.map, check, request.limit, request.traces, skip_bad=request.skip_bad
    )
    n_items = items.check(skip_bad=request.skip_bad)
    described = {**items.described(), "n": n_items, "left_out": len(items.bad()) if request.skip_bad else 0}
    plan = structs.replace(plan, absent=frozenset(absent.names))
    manifest = manifest_of(plan, described, request.command, __version__)
    manifest[N_WITHOUT_ID] = items.n_without_id
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
    return plan


def item_check(request: Request, plan: Plan, absent: AbsentInputs) -> Callable[[Item], list[str]]:
    """What is wrong with an item for the protocols and models of a plan; `absent` learns which inputs it has."""

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
    others = [model.name for model in models if not model.asks_questions]
    if request.estimator == "decision" and others:
        raise ModelError(
            f"--estimator decision: {others[0]} is no decision model. Leave --estimator out, or use "
            "decisions:NAME, systemone:NAME or a server of either format."
        )
    for protocol in protocols if deciding else ():
        if protocol.answer.reader == "likelihood":
            raise ProtocolError(
                f"protocol {protocol.id} asks for the likelihood of a text, and {deciding[0]} "
                "answers typed questions. Use a protocol that asks for a score."
            )
        if protocol.examples:
            raise ProtocolError(
                f"--examples: {deciding[0]} answers typed questions, which show no examples. Leave "
                "--examples out."
            )
        if request.steps == "generate":
            raise ProtocolError(
                f"--steps generate: {deciding[0]} answers typed questions and writes no steps. Give "
                "the steps in a file."
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
                    f"the levels of {', '.join(unnamed)} in protocol {protocol.id} have no texts: "
                    "the labels of the typed question are the numbers of the scale"
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
    request: Request, judges: Sequence[Judge], protocols: Sequence[Protocol], models: Sequence[Model]
) -> Plan:
    steps_for = tuple(number for number, judge in enumerate(judges) if judge.steps == "generate")
    if steps_for and request.steps != "generate":
        request = structs.replace(request, steps="generate")
    is_for_all = len(steps_for) == len(judges) or not steps_for
    is_audit = isinstance(request, AuditRequest)
    return make_plan(protocols, models, request, None if is_for_all else steps_for, is_audit=is_audit)


async def close_all(models: Sequence[Model], network: Network) -> None:
    """Close what a request has opened."""
    for model in models:
        await model.close()
    await network.close()
