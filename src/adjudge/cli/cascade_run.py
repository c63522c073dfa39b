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
from ..sections import Section
from ..words import count, interval, share
from .terminal import print_json, print_sections

if TYPE_CHECKING:
    from ..analysis.cascade.cascade_file import CascadeFile, StageFile
    from ..analysis.cascade.decisions import Check, Decision
    from ..engine import Request
    from ..records import Item


class StageSummary(Struct, frozen=True):
    """What one judge of a cascade did."""

    judge: str
    run: str
    reached: int
    decided: int
    cost_usd: float


class CascadeRun(Struct, frozen=True):
    """What `--json` prints."""

    run: str
    stages: tuple[StageSummary, ...]
    to_people: tuple[str, ...]
    check: tuple[str, ...]
    decisions: tuple[Decision, ...]
    promise: Check | None


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
    from .run_request import request_of

    if any(judges):
        raise DataError("The cascade names its protocols and models. Leave -p and -m out.")
    first = read_cascade(path).stages[0]
    return request_of(ctx, items, [first.protocol], [first.model], given, config)


def run_cascade(request: Request, path: Path, check: str | None, is_quiet: bool, *, as_json: bool) -> int:
    """Run all stages; returns the exit code. The same command resumes."""
    from ..analysis.cascade.cascade_file import read_cascade

    file = read_cascade(path)
    name = str(request.run or path.stem)
    cascade = _Cascade(file, request, name, _share_of(check), is_quiet)
    decisions: dict[str, Decision] = {}
    stages: list[StageSummary] = []
    left: Sequence[Item] | None = None
    for number, stage in enumerate(file.stages, start=1):
        code, summary, left = _run_stage(cascade, number, stage, left, decisions)
        if code:
            return code
        stages.append(summary)
        if not left:
            break
    return _finish(cascade, stages, left or (), decisions, as_json=as_json)


def _share_of(check: str | None) -> float:
    if check is None:
        return 0.0
    text = check.strip()
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
    decisions: dict[str, Decision],
) -> tuple[int, StageSummary, Sequence[Item]]:
    """Judge what is left, and keep what this judge decides; returns what is left after it."""
    from ..analysis.cascade.answers import answers_of_run
    from ..analysis.cascade.decisions import Decision, is_drawn, is_sure
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
    for item, answer in sure.items():
        drawn = is_drawn(item, cascade.check_share, cascade.name)
        decisions[item] = Decision(item, stage.run, answer.answer, answer.confidence, drawn)
    summary = StageSummary(stage.run, name, len(items), len(sure), cost)
    return 0, summary, [item for item in items if item.id not in sure]


def _request_of_stage(
    cascade: _Cascade, stage: StageFile, name: str, items: Sequence[Item] | None
) -> Request:
    """The request of a stage: its judge as it was calibrated, on these items or on all."""
    from ..analysis.cascade.stage_judge import stage_judge

    judge = stage_judge(Path(str(cascade.request.store)), stage)
    n_stages = len(cascade.file.stages)
    return structs.replace(
        cascade.request,
        **judge.settings,
        protocol=judge.protocols,
        model=judge.models,
        items=cascade.request.items if items is None else tuple(items),
        key_env=_for_models(cascade.request.key_env, judge.models, n_stages, "--key-env MODEL=VAR"),
        price=_for_models(cascade.request.price, judge.models, n_stages, "--price MODEL=IN,OUT"),
        run=name,
        # Fields were renamed when the first stage read the items.
        map=cascade.request.map if items is None else type(cascade.request.map)(),
    )


def _for_models(given: Any, models: Sequence[str], n_stages: int, form: str) -> Any:
    """What is given for the models of this stage; a key without a model's name would reach every host."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        if n_stages > 1:
            raise DataError(f"A cascade asks several models. Name the one that it is for: {form}.")
        return given
    mine = {name: value for name, value in given.items() if name in models}
    return mine or None


def _finish(
    cascade: _Cascade,
    stages: Sequence[StageSummary],
    left: Sequence[Item],
    decisions: dict[str, Decision],
    *,
    as_json: bool,
) -> int:
    """Hand what is left to people, and say who decided what."""
    from ..analysis.cascade.decisions import Decision, checked
    from ..store import open_store
    from .run import carry_out

    for item in left:
        decisions[item.id] = Decision(item.id, None)
    last = cascade.file.stages[len(stages) - 1]
    code = 0
    if left:
        _, code = carry_out(_request_of_stage(cascade, last, f"{cascade.name}.people", left), True)
    promise = None
    drawn = [decision.item for decision in decisions.values() if decision.is_checked]
    if drawn and not code:
        first = cascade.file.stages[0]
        with open_store(Path(str(cascade.request.store)), write=False) as opened:
            inside = set(drawn)
            items = [item for item in opened.items(opened.run(stages[0].run)) if item.id in inside]
        _, code = carry_out(_request_of_stage(cascade, first, f"{cascade.name}.check", items), True)
        with open_store(Path(str(cascade.request.store)), write=False) as opened:
            labels = opened.labels(opened.run(f"{cascade.name}.check"))
        promise = checked(decisions.values(), labels, cascade.file.agree, cascade.file.within)
    to_people = tuple(item.id for item in left)
    result = CascadeRun(
        cascade.name, tuple(stages), to_people, tuple(drawn), tuple(decisions.values()), promise
    )
    if as_json:
        print_json(result)
    else:
        print_sections(_sections(result, cascade.file))
    return code


def _sections(result: CascadeRun, file: CascadeFile) -> list[Section]:
    n = len(result.decisions)
    decided = n - len(result.to_people)
    cost = sum(stage.cost_usd for stage in result.stages)
    lines = [
        f"The judges decided {decided} of {count(n, 'item')} ({share(decided / n if n else 0.0)}) "
        f"for {cost:.2f} USD; {len(result.to_people)} go to people. Promised agreement: "
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
        (stage.judge, stage.run, str(stage.reached), str(stage.decided), f"{stage.cost_usd:.2f}")
        for stage in result.stages
    )
    columns = ("judge", "run", "items", "decided", "USD")
    return [Section(f"Cascade {result.run}", tuple(lines), depth=1), Section("Stages", (), columns, rows)]
