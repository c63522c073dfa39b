"""`adjudge tune RUN`: candidates judge the labelled items of a run, each as a separate run that resumes.

A candidate is a prompt with a judge and its settings. Fewer samples and a calibration map need no further
calls: they are made of the stored judgments.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from msgspec import structs, to_builtins

from ..errors import DataError, ModelError, sentences
from ..words import count
from .run_file import confirmed_on_terminal
from .values_per_model import for_models

if TYPE_CHECKING:
    from ..analysis.tune.proposals import Disagreement
    from ..analysis.tune.split import Split
    from ..analysis.tune.tuning import Tuning
    from ..data.judge_answers import JudgeAnswer
    from ..records import Estimator, Item, Label, Protocol
    from ..score_map import ScoreCurve
    from ..store import RunRow, Store

_NOTHING_LEFT = 1e-9
"""A budget that is spent still allows replies that are stored."""
START = "start"
"""What the runs of the start's prompt with other settings are named by."""


class TuneSearch(NamedTuple):
    """What candidates are compared with, on which labels, and which settings are tried."""

    run: str
    candidates: Path
    labels: Path
    store: Path
    criterion: str | None
    budget: float | None
    rounds: int = 0
    proposer: str | None = None
    samples: tuple[int, ...] = ()
    models: tuple[str, ...] = ()
    estimators: tuple[Estimator, ...] = ()
    n_shots: int = 0
    is_calibrated: bool = False
    price: Any = None
    key_env: Any = None


class _Labelled(NamedTuple):
    """The run to improve on, and its labelled items with people's answers in their two parts."""

    spent: list[float]
    """USD that this command has paid, candidate by candidate"""
    run: RunRow
    criterion: str
    start: Protocol
    items: Mapping[str, Item]
    labels: Sequence[Label]
    people: Mapping[str, float | str]
    split: Split


class _Judged(NamedTuple):
    """One candidate before samples and maps: its run, its prompt, and whether it is the start itself."""

    run: str
    prompt: str
    """the name of its folder; empty for the prompt of the start"""
    is_start: bool = False
    n_samples: int = 0
    """how many of the first samples count; 0: all"""


class _Answers(NamedTuple):
    """The answers of every candidate, the start first; where each comes from, and its calibration map."""

    answers: list[JudgeAnswer]
    judged: dict[str, _Judged]
    curves: dict[str, ScoreCurve]


def tuning_of_run(search: TuneSearch, output: Path | None) -> Tuning:
    """Judge the labelled items with every candidate, then compare."""
    from ..analysis.tune.candidates import write_winner
    from ..analysis.tune.shots import shown_items
    from ..analysis.tune.winner import tuned
    from ..results.manifest import models_of, settings_of
    from ..store import open_store

    of = _labelled(search)
    prompts = _given_prompts(search, of)
    judged = [_Judged(of.run.name, "", is_start=True), *_judge_all(search, of, {"": of.start, **prompts})]
    notes: tuple[str, ...] = ()
    if search.rounds:
        given = set(prompts)
        notes = _propose(search, of, prompts)
        proposed = {name: protocol for name, protocol in prompts.items() if name not in given}
        judged += _judge_all(search, of, proposed)
    shown = {item for name in prompts for item in shown_items(search.candidates / name)}
    with open_store(search.store) as opened:
        found = _answers(opened, search, of, judged)
        tuning = tuned(
            found.answers, of.labels, opened.count_look, opened.n_looks, start=of.run.name, left_out=shown
        )
        if search.is_calibrated and not found.curves:
            notes += ("No calibration map: it needs scores on a bounded scale, and 20 labels of search.",)
        tuning = structs.replace(tuning, notes=(*notes, *tuning.notes))
        runs = {name: one.run for name, one in found.judged.items()}
        opened.note_tuning(of.run, {"result": to_builtins(tuning), "runs": runs, "criterion": of.criterion})
        winner = opened.run(runs[tuning.winner])
    if output is not None and tuning.winner != of.run.name:
        prompt = found.judged[tuning.winner].prompt
        folder = search.candidates / prompt if prompt else Path(of.start.folder)
        provenance = {
            "digest": {**prompts, "": of.start}[prompt].digest,
            "models": models_of(winner),
            "samples": found.judged[tuning.winner].n_samples or settings_of(winner).samples,
            "estimator": settings_of(winner).estimator,
            "takes": {**prompts, "": of.start}[prompt].takes,
        }
        write_winner(folder, output, tuning, provenance, found.curves.get(tuning.winner))
    return tuning


def _labelled(search: TuneSearch) -> _Labelled:
    from ..analysis.cascade.answers import criterion_of_runs
    from ..analysis.labels.judged_texts import check_of_judged_texts, labels_of_run, other_texts_note
    from ..analysis.labels.people import people_of
    from ..analysis.labels.read import read_labels_for
    from ..analysis.trust.trust import views_of_judges
    from ..analysis.tune.split import split_of
    from ..results.manifest import models_of, protocols_of
    from ..run_file.stored_models import check_stored_models
    from ..store import open_store

    with open_store(search.store, write=False) as opened:
        run = opened.run(search.run)
        if len(models_of(run)) > 1:
            raise DataError(f"Run {run.name} has {len(models_of(run))} judges. Tune a run of one judge.")
        check_stored_models(search.store, models_of(run), confirmed_on_terminal)
        name = criterion_of_runs(opened, [run], search.criterion)
        views = views_of_judges(opened, [run.name])
        given = labels_of_run(opened, run, read_labels_for(views, search.labels, {}))
        check_of_judged_texts(given, run.name)
        if note := other_texts_note(given):
            typer.echo(f"! {note}", err=True)
        mine = [label for label in given.labels if label.criterion in (name, "choice", "")]
        labelled = {label.item for label in mine}
        items = {item.id: item for item in opened.items(run) if item.id in labelled}
        start = next(p for p in protocols_of(opened, run).values() if name in p.criteria)
    is_choice = any(isinstance(label.value, str) for label in mine)
    people = people_of(mine, None, is_choice=is_choice, mean=not is_choice)
    people = {item: label for item, label in people.items() if item in items}
    if not people:
        raise DataError(f"{search.labels}: no label of {name} belongs to an item of run {run.name}.")
    groups = {item.id: item.group for item in items.values() if item.group is not None}
    return _Labelled([], run, name, start, items, mine, people, split_of(people, groups))


def _given_prompts(search: TuneSearch, of: _Labelled) -> dict[str, Protocol]:
    """The prompts of the folder, after few-shot examples were written there."""
    from ..analysis.tune.candidates import read_candidates
    from ..analysis.tune.shots import items_to_show, write_shots

    folder = search.candidates / f"shots-{search.n_shots}"
    if search.n_shots and not folder.exists():
        shown = items_to_show(of.split.search, of.people, of.items, search.n_shots)
        if len(shown) < search.n_shots:
            raise DataError(
                f"--shots {search.n_shots}: the search part has {len(shown)} labelled items that are short "
                "enough to be shown. Ask for fewer."
            )
        search.candidates.mkdir(parents=True, exist_ok=True)
        write_shots(of.start, shown, of.people, of.items, folder)
    if not any(search.candidates.glob("*/protocol.toml")):
        needs_folder = not (search.rounds or search.samples or search.models or search.estimators)
        if not needs_folder or search.is_calibrated:
            return {}
    return read_candidates(
        search.candidates, of.start, of.criterion, list(of.items.values()), of.split.search
    )


def _judge_all(search: TuneSearch, of: _Labelled, prompts: Mapping[str, Protocol]) -> list[_Judged]:
    """Every prompt with every judge and estimator; the start itself is judged already."""
    has_others = bool(search.samples or search.models or search.estimators)
    judged: list[_Judged] = []
    for prompt, protocol in prompts.items():
        if not prompt and not has_others:
            continue
        for model, estimator in _settings(search):
            parts = [f"{of.run.name}.tune.{prompt or START}", *filter(None, (_short(model), estimator))]
            name = ".".join(parts)
            _judge(search, of, protocol, name, model, estimator)
            judged.append(_Judged(name, prompt))
    return judged


def _settings(search: TuneSearch) -> Iterator[tuple[str, Estimator | None]]:
    """Each judge with each estimator; empty and none stand for those of the run."""
    for model in search.models or ("",):
        for estimator in search.estimators or (None,):
            yield model, estimator


def _short(model: str) -> str:
    """A judge's name as a part of the name of a run: its alias, or the model without the host."""
    alias, is_named, _ = model.partition("=")
    text = alias if is_named and "/" not in alias else model.rpartition("#")[2]
    return re.sub(r"[^\w-]+", "-", text).strip("-")


def _judge(
    search: TuneSearch, of: _Labelled, protocol: Protocol, name: str, model: str, estimator: Estimator | None
) -> None:
    """One candidate on the labelled items, with the models and settings of the run but for what is tried."""
    from ..engine import Request
    from ..results.manifest import models_of, settings_to_judge_alike
    from .run import carry_out

    settings = settings_to_judge_alike(of.run)
    if search.samples:
        settings["samples"] = max(search.samples)
    # One reply is parsed, several are averaged: what a run recorded for another number does not apply.
    if estimator or settings["estimator"] in ("parsed", "samples"):
        settings["estimator"] = estimator
    models, n_models = (model,) if model else models_of(of.run), max(1, len(search.models))
    request = Request(
        **settings,
        items=tuple(of.items.values()),
        protocol=protocol,
        model=models,
        command=("adjudge", *sys.argv[1:]),
        budget=None if search.budget is None else max(_NOTHING_LEFT, search.budget - sum(of.spent)),
        price=for_models(search.price, models, n_models, "--price MODEL=IN,OUT", "This tuning"),
        key_env=for_models(search.key_env, models, n_models, "--key-env MODEL=VAR", "This tuning"),
        run=name,
        # An edited prompt, or another number of samples: replies to unchanged calls are used again.
        replace=True,
        store=str(search.store),
    )
    before = _paid(search.store, name)
    finished, code = carry_out(request, quiet=True)
    if finished is None:
        raise typer.Exit(code)
    of.spent.append(max(0.0, _paid(search.store, name) - before))


def _paid(store: Path, name: str) -> float:
    """USD that a run has paid; nothing before it exists."""
    from ..store import open_store

    with open_store(store, write=False) as opened:
        return sum(opened.totals(run).paid_usd for run in opened.runs() if run.name == name)


def _answers(opened: Store, search: TuneSearch, of: _Labelled, judged: Sequence[_Judged]) -> _Answers:
    """The answers of every candidate, with fewer samples and maps where these are tried."""
    from ..analysis.cascade.answers import answers_of_run
    from ..analysis.tune.calibrated_answers import calibrated_answers
    from ..analysis.tune.start_scale import on_scale_of_start, rises_alike
    from ..results.manifest import models_of, protocols_of, settings_of

    found = _Answers([], {}, {})
    scale = of.start.criteria[of.criterion]
    for one in judged:
        run = opened.run(one.run)
        protocols = protocols_of(opened, run).values()
        own = next(p.criteria[of.criterion] for p in protocols if of.criterion in p.criteria)
        n_all = settings_of(run).samples
        for k in (0,) if one.is_start else search.samples or (0,):
            name = f"{one.run}, {count(k, 'sample')}" if k else one.run
            part = (k or n_all) / n_all
            rows = [
                structs.replace(row, judge=name, price=None if row.price is None else row.price * part)
                for row in answers_of_run(opened, run, of.criterion, "stated", n_samples=k or None)
                if row.item in of.people
            ]
            rows = on_scale_of_start(rows, own, scale)
            found.answers.extend(rows)
            found.judged[name] = one._replace(n_samples=k)
            if not search.is_calibrated or not rises_alike(own, scale):
                continue
            if mapped := calibrated_answers(rows, of.people, of.split, scale, of.criterion):
                model = models_of(run)[0]
                name = mapped.answers[0].judge
                found.answers.extend(mapped.answers)
                found.judged[name] = one._replace(n_samples=k)
                found.curves[name] = structs.replace(mapped.curve, model=model)
    return found


def _propose(search: TuneSearch, of: _Labelled, prompts: dict[str, Protocol]) -> tuple[str, ...]:
    """Have prompts proposed and judged, one a round, and say what was refused.

    What an earlier start of the command has proposed is kept and not asked again.
    """
    from ..analysis.tune.candidates import load_candidate
    from ..analysis.tune.proposals import proposed_prompt, request_text, write_proposal

    refused: list[str] = []
    for number in range(1, search.rounds + 1):
        name = f"proposed-{number}"
        if name in prompts:
            continue
        note = search.candidates / f"{name}.refused.txt"
        if note.exists():
            refused.append(note.read_text(encoding="utf-8"))
            continue
        best, shown = _best_so_far(search, of, prompts)
        if not shown:
            refused.append(f"Proposal {number} was not needed: no disagreement is left on the search part.")
            break
        asked = request_text(best.user_text, of.criterion, shown)
        prompt, reason = proposed_prompt(_asked(search, of.run, asked), of.start, list(of.items.values()))
        search.candidates.mkdir(parents=True, exist_ok=True)
        if reason:
            refused.append(f"Proposal {number} was refused: {reason}.")
            note.write_text(refused[-1], encoding="utf-8")
            continue
        write_proposal(of.start, prompt, search.candidates / name)
        prompts[name] = load_candidate(search.candidates / name, of.start, of.criterion)
        _judge_all(search, of, {name: prompts[name]})
    return tuple(refused)


def _best_so_far(
    search: TuneSearch, of: _Labelled, prompts: Mapping[str, Protocol]
) -> tuple[Protocol, list[Disagreement]]:
    """The prompt with the highest agreement on the search part, and where it disagrees there."""
    from ..analysis.tune.proposals import disagreements
    from ..analysis.tune.shots import shown_items
    from ..analysis.tune.winner import agreements_of
    from ..store import open_store

    model, estimator = next(_settings(search))
    suffix = "".join(f".{part}" for part in (_short(model), estimator) if part)
    runs = [_Judged(of.run.name, "", is_start=True)]
    # A proposal would repeat the labelled items that a few-shot prompt shows.
    usable = (name for name in prompts if not shown_items(search.candidates / name))
    runs += [_Judged(f"{of.run.name}.tune.{name}{suffix}", name) for name in usable]
    with open_store(search.store, write=False) as opened:
        found = _answers(opened, search._replace(samples=(), is_calibrated=False), of, runs)
    agreement = agreements_of(found.answers, of.people, list(found.judged))
    best = max(found.judged, key=lambda name: sum(agreement[name][item] for item in of.split.search))
    shown = disagreements(found.answers, best, of.people, of.split.search, of.items)
    return {**prompts, "": of.start}[found.judged[best].prompt], shown


def _asked(search: TuneSearch, run: RunRow, text: str) -> str:
    """The reply of the proposing model."""
    import asyncio

    from ..models import Network, Parameters, named, parse_model
    from ..records import Call, Message
    from ..results.manifest import models_of

    spec = search.proposer or models_of(run)[0]

    async def ask() -> str:
        network = Network()
        model = parse_model(named(spec), network=network)
        try:
            call = Call("tune", "tune", "tune", (), model.name, (Message("user", text),))
            reply = await model.ask(call, Parameters())
        finally:
            await model.close()
            await network.close()
        if reply.error is not None:
            raise ModelError(
                sentences(f"{spec} proposed no prompt: {reply.error.message}", "Repeat the command.")
            )
        return reply.text

    return asyncio.run(ask())
