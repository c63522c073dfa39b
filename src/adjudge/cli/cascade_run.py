"""`adjudge run ITEMS --cascade FILE`: each judge is a run of the items that the judges before it left
undecided.

The runs are NAME.1, NAME.2 and so on, as durable and resumable as any other: what a stage decided follows
from its stored judgments. Undecided items are the run NAME.people, items to check NAME.check; both reuse
stored replies and cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from msgspec import Struct, structs

from ..errors import DataError
from ..exit_codes import ALL_FAILED, DONE
from ..sections import Section
from ..words import count, interval, price, share
from .run_file import confirmed_on_terminal
from .terminal import print_json, print_sections
from .values_per_model import for_models

if TYPE_CHECKING:
    from ..analysis.cascade.cascade_file import CascadeFile, StageFile
    from ..analysis.cascade.decisions import AgreementCheck, CascadeDecision
    from ..engine import Request
    from ..records import Item


class StageSummary(Struct, frozen=True):
    """What one judge of a cascade did."""

    judge: str
    run: str
    reached: int
    decided: int
    cost_usd: float
    threshold: float | None = None
    failed: int = 0
    """items without an answer that could be read; the next judge or people get them"""


class CascadeRun(Struct, frozen=True):
    """What `--json` prints."""

    run: str
    stages: tuple[StageSummary, ...]
    to_people: tuple[str, ...]
    check: tuple[str, ...]
    decisions: tuple[CascadeDecision, ...]
    promise: AgreementCheck | None


class _Cascade(NamedTuple):
    file: CascadeFile
    request: Request
    name: str
    check_share: float
    is_quiet: bool


def request_of_cascade(
    ctx: typer.Context,
    items: str | None,
    judges: tuple[list[str], list[str]],
    given: dict[str, Any],
    config: Path | None,
    path: Path,
) -> Request:
    """What all stages share: the items and the options of the run. The cascade names protocols and models."""
    from ..analysis.cascade.cascade_file import read_cascade
    from .run_request import request_of_flags

    if any(judges):
        raise DataError("The cascade names its protocols and models. Leave -p and -m out.")
    first = read_cascade(path).stages[0]
    return request_of_flags(ctx, items, [first.protocol], [first.model], given, config)


def run_cascade(
    request: Request, path: Path, check: str | float | None, is_quiet: bool, *, as_json: bool
) -> int:
    """Run all stages; returns the exit code. The same command resumes."""
    from ..analysis.cascade.cascade_file import read_cascade

    file = read_cascade(path)
    name = str(request.run or path.stem)
    cascade = _Cascade(file, request, name, _share_of(check), is_quiet)
    decisions: dict[str, CascadeDecision] = {}
    stages: list[StageSummary] = []
    left: Sequence[Item] | None = None
    asked = [(number, stage) for number, stage in enumerate(file.stages, 1) if stage.threshold is not None]
    if not asked:
        raise DataError(f"{path}: no judge has a threshold, so none decides. Calibrate with more labels.")
    for number, stage in asked:
        code, summary, left = _run_stage(cascade, number, stage, left, decisions)
        if code:
            return code
        stages.append(summary)
        if not left:
            break
    return _finish(cascade, asked[len(stages) - 1][1], stages, left or (), decisions, as_json=as_json)


def _share_of(check: str | float | None) -> float:
    if check is None:
        return 0.0
    text = str(check).strip()
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise DataError(f"--check {check}: give a share of the decided items, such as 2% or 0.02.")
    return value


def _run_stage(
    cascade: _Cascade,
    number: int,
    stage: StageFile,
    left: Sequence[Item] | None,
    decisions: dict[str, CascadeDecision],
) -> tuple[int, StageSummary, Sequence[Item]]:
    """Judge what is left, and keep what this judge decides; returns what is left after it."""
    from ..analysis.cascade.answers import answers_of_run
    from ..analysis.cascade.decisions import CascadeDecision, is_drawn, is_sure
    from ..store import open_store
    from .run import carry_out

    name = f"{cascade.name}.{number}"
    finished, code = carry_out(_request_of_stage(cascade, stage, name, left), cascade.is_quiet)
    if finished is None:
        return code, StageSummary(stage.run, name, 0, 0, 0.0), ()
    with open_store(Path(str(cascade.request.store)), write=False) as opened:
        run = opened.run(finished)
        items = list(opened.items(run))
        answers = answers_of_run(opened, run, cascade.file.criterion, stage.confidence)
        cost = opened.totals(run).cost_usd
    sure = {answer.item: answer for answer in answers if is_sure(answer, stage.threshold)}
    n_failed = len(items) - sum(answer.answer is not None for answer in answers)
    for item, answer in sure.items():
        drawn = is_drawn(item, cascade.check_share, cascade.name)
        decisions[item] = CascadeDecision(item, stage.run, answer.answer, answer.confidence, drawn)
    summary = StageSummary(stage.run, name, len(items), len(sure), cost, stage.threshold, n_failed)
    return DONE, summary, [item for item in items if item.id not in sure]


def _request_of_stage(
    cascade: _Cascade, stage: StageFile, name: str, items: Sequence[Item] | None
) -> Request:
    """The request of a stage: its judge as it was calibrated, on these items or on all."""
    from ..analysis.cascade.stage_judge import stage_judge

    judge = stage_judge(Path(str(cascade.request.store)), stage, confirmed_on_terminal)
    n_stages = len(cascade.file.stages)
    return structs.replace(
        cascade.request,
        **judge.settings,
        protocol=judge.protocols,
        model=judge.models,
        items=cascade.request.items if items is None else tuple(items),
        key_env=for_models(
            cascade.request.key_env, judge.models, n_stages, "--key-env MODEL=VAR", "A cascade"
        ),
        price=for_models(cascade.request.price, judge.models, n_stages, "--price MODEL=IN,OUT", "A cascade"),
        run=name,
        # Fields were renamed when the first stage read the items.
        map=cascade.request.map if items is None else type(cascade.request.map)(),
    )


def _finish(
    cascade: _Cascade,
    last: StageFile,
    stages: Sequence[StageSummary],
    left: Sequence[Item],
    decisions: dict[str, CascadeDecision],
    *,
    as_json: bool,
) -> int:
    """Hand what is left to people, and say who decided what."""
    from ..analysis.cascade.decisions import CascadeDecision, checked
    from ..store import open_store
    from .run import carry_out

    for item in left:
        decisions[item.id] = CascadeDecision(item.id, None)
    code = DONE
    if left:
        _, code = carry_out(_request_of_stage(cascade, last, f"{cascade.name}.people", left), True)
    promise = None
    drawn = [decision.item for decision in decisions.values() if decision.is_checked]
    if drawn and not code:
        first = next(stage for stage in cascade.file.stages if stage.threshold is not None)
        with open_store(Path(str(cascade.request.store)), write=False) as opened:
            inside = set(drawn)
            items = [item for item in opened.items(opened.run(stages[0].run)) if item.id in inside]
        _, code = carry_out(_request_of_stage(cascade, first, f"{cascade.name}.check", items), True)
        with open_store(Path(str(cascade.request.store)), write=False) as opened:
            labels = opened.labels(opened.run(f"{cascade.name}.check"))
        promise = checked(decisions.values(), labels, cascade.file.agree, cascade.file.within)
    to_people = tuple(item.id for item in left)
    if not code:
        _assemble(cascade, stages, decisions, drawn, promise)
    result = CascadeRun(
        cascade.name, tuple(stages), to_people, tuple(drawn), tuple(decisions.values()), promise
    )
    if as_json:
        print_json(result)
    else:
        print_sections(_sections(result, cascade.file))
    if code == DONE and decisions and all(stage.failed == stage.reached for stage in stages):
        return ALL_FAILED
    return code


def _assemble(
    cascade: _Cascade,
    stages: Sequence[StageSummary],
    decisions: Mapping[str, CascadeDecision],
    drawn: Sequence[str],
    promise: AgreementCheck | None,
) -> None:
    """The run of the cascade's name: each item with the judgment that decided it, and people's labels."""
    from ..analysis.cascade.assembled import assembled_manifest, cascade_name, labels_of_people, stage_parts
    from ..engine.manifest import identity_of
    from ..store import CASCADE, open_store

    with open_store(Path(str(cascade.request.store))) as opened:
        runs = [opened.run(stage.run) for stage in stages]
        manifest = assembled_manifest(runs, cascade.file)
        identity = identity_of(manifest)
        manifest[CASCADE] = {
            "agree": cascade.file.agree,
            "risk": cascade.file.risk,
            "stages": [structs.asdict(stage) for stage in stages],
            "to_people": sum(decision.to_people for decision in decisions.values()),
            "to_check": len(drawn),
        }
        if promise is not None and promise.holds is not None:
            shown = promise.agreement
            manifest[CASCADE]["checked"] = {
                "n": shown.n, "value": shown.value, "low": shown.low, "high": shown.high,
                "holds": promise.holds,
            }  # fmt: skip
        opened.assemble_run(
            cascade.name, manifest, identity, cascade_name(cascade.file), stage_parts(runs, stages, decisions)
        )
        names = {run.name for run in opened.runs()}
        checked, people = (
            opened.labels(opened.run(name)) if name in names else []
            for name in (f"{cascade.name}.check", f"{cascade.name}.people")
        )
        labels = labels_of_people(checked, people, cascade.check_share)
        if labels:
            opened.put_labels(labels, opened.run(cascade.name))


def _sections(result: CascadeRun, file: CascadeFile) -> list[Section]:
    n = len(result.decisions)
    decided = n - len(result.to_people)
    cost = sum(stage.cost_usd for stage in result.stages)
    lines = [
        f"The judges decided {decided} of {count(n, 'item')} ({share(decided / n if n else 0.0)}) "
        f"for {price(cost)}; {len(result.to_people)} go to people. Promised agreement: "
        f"{share(file.agree)}, risk {share(file.risk)}."
    ]
    if result.to_people:
        lines.append(f"Label them: adjudge annotate {result.run}.people")
    if result.check:
        lines.append(
            f"{len(result.check)} decided items are to be checked: adjudge annotate {result.run}.check"
        )
    if result.promise is not None and result.promise.holds is not None:
        verdict = "still holds" if result.promise.holds else "no longer holds: calibrate again"
        lines.append(f"Checked agreement {interval(result.promise.agreement)}: the promise {verdict}.")
    rows = tuple(
        (
            stage.judge,
            stage.run,
            str(stage.reached),
            str(stage.decided),
            str(stage.failed),
            price(stage.cost_usd),
        )
        for stage in result.stages
    )
    columns = ("judge", "run", "items", "decided", "failed", "cost")
    return [Section(f"Cascade {result.run}", tuple(lines), depth=1), Section("Stages", (), columns, rows)]
