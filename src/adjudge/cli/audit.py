"""`adjudge audit`: how far a judge moves for reasons that should not matter."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import DataError
from ..exit_codes import ALL_FAILED, DONE
from .declared_parameters import takes_run_options
from .dry_run import print_dry_run
from .first_screen import show_screen, show_sections
from .flag_values import parse_scale
from .options import AS_JSON, FULL, STORE
from .run import carry_out
from .run_file import CONFIG, TRUST_RUN_FILE
from .run_request import request_of_flags
from .terminal import print_json

if TYPE_CHECKING:
    from ..analysis.audit.audit import Audit
    from ..engine import AuditRequest, Request


@takes_run_options
def audit_command(
    ctx: typer.Context,
    items: str = typer.Argument(
        None,
        metavar="[ITEMS|RUN]",
        help=(
            "Items to judge under probes; or a stored run: an audit, or an ordinary run. Default: the "
            "last run."
        ),
        show_default=False,
    ),
    protocols: list[str] = typer.Option(
        [], "-p", "--protocol", metavar="ID|DIR", help="A built-in protocol or a protocol folder."
    ),
    models: list[str] = typer.Option(
        [], "-m", "--model", metavar="[ALIAS=]MODEL", help="The judge to audit."
    ),
    *,
    scores: Path = typer.Option(
        None,
        "--scores",
        metavar="FILE",
        help="Scores made elsewhere: columns item, probe, value; or for pairs item, order, choice.",
    ),
    probes: str = typer.Option(
        "",
        "--probes",
        metavar="NAME,…",
        help="Probes, or folders with a probe.toml; default: all built-in ones.",
    ),
    n: int = typer.Option(100, "-n", metavar="N", min=1, help="Number of items, drawn at random."),
    response: str = typer.Option(
        "", "--response", metavar="INPUT", help="The input with the judged text; default: by the protocol."
    ),
    margin: float = typer.Option(
        None,
        "--margin",
        metavar="X",
        help="A shift within ± X points does not matter; default: 5 % of the scale's width.",
    ),
    scale: str = typer.Option(
        None,
        "--scale",
        metavar="LOW,HIGH",
        help="With --scores: the ends of the scale; default: the lowest and the highest score.",
    ),
    labels: Path = typer.Option(
        None,
        "--labels",
        metavar="FILE",
        help="Human labels: the calibration error of each form of a typed question.",
    ),
    config: Path = CONFIG,
    _trust_run_file: bool = TRUST_RUN_FILE,
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Show what would be sent and estimate the cost; send nothing."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress."),
    full: bool = FULL,
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
    **options: Any,
) -> None:
    """Audit a judge: how far its scores move for reasons that
    should not matter. Run the same command again to resume.
    """
    if margin is not None and not (math.isfinite(margin) and margin >= 0):
        raise DataError(f"--margin {margin:g}: give a number of scale points from 0 on: --margin 0.25.")
    if items is not None and scores is not None:
        raise DataError("Both items and --scores are given. Leave one out.")
    if scores is not None and labels is not None:
        raise DataError("--labels is for runs: a file of scores has no probabilities. Leave it out.")
    if scores is not None:
        audit = _of_scores(scores, margin, scale)
    else:
        name = items or "last"
        if models or protocols or Path(name).is_file():
            flags = {**options, "store": str(store)}
            request = audit_request(
                request_of_flags(ctx, items, protocols, models, flags, config), probes, n, response
            )
            if labels is not None:
                from ..analysis.audit.of_runs import check_forms

                check_forms(request.audit)
            if dry_run:
                print_dry_run(request, as_json)
                return
            finished, code = carry_out(request, quiet)
            if finished is None:
                raise typer.Exit(code)
            name, store = finished, Path(request.store)
        audit = _of_run(name, store, margin, labels)
    _print_audit(audit, as_json=as_json, markdown=markdown, full=full)
    raise typer.Exit(DONE if _has_scores(audit) else ALL_FAILED)


def audit_request(request: Request, probes: str, n: int, response: str) -> AuditRequest:
    """The request for the items of an audit, in place of the items that the user named."""
    from ..engine import AuditRequest
    from ..engine.item_source import open_items
    from ..engine.judges import only_protocol
    from ..engine.model_choices import answers_questions, model_choices
    from ..engine.prepare import find_empty_outputs
    from ..models import Model
    from ..probes import audit_items, load_probes
    from ..render import problems_of

    protocol = only_protocol(request)
    if any(scale is not None and scale.is_nominal for scale in protocol.criteria.values()):
        raise DataError(
            f"protocol {protocol.id} chooses labels without an order: an audit measures shifts of "
            "scores and changes of a winner. Audit a protocol with a scale or a choice."
        )
    choices = model_choices(request)
    if len(choices) != 1:
        raise DataError(
            f"an audit has one judge; {len(choices)} models are given. Audit each alone: -m MODEL."
        )
    if protocol.answer.reader == "likelihood":
        raise DataError(
            f"protocol {protocol.id} asks for no reply, so its judge has no scale to audit. Choose a "
            "protocol whose judge writes a score."
        )
    (choice,) = choices
    spec = choice.spec if isinstance(choice, Model) else choice.model
    source = open_items(
        request.items,
        request.map,
        lambda item: problems_of(protocol, item),
        request.limit,
        request.traces,
        outputs=find_empty_outputs([protocol]),
        skip_bad=request.skip_bad,
    )
    source.check(skip_bad=request.skip_bad)
    names = [name.strip() for name in probes.split(",") if name.strip()]
    chosen = load_probes(names)
    made = audit_items(
        list(source), protocol, spec.rpartition("#")[2].rpartition(":")[2], chosen,
        n=n, seed=request.seed or 0, response=response,
        asks_questions=request.estimator == "decision" or answers_questions(choice),
    )  # fmt: skip
    others = made.protocols if request.steps != "generate" else {}
    about = {"kinds": made.kinds, "controls": made.controls, "skipped": made.skipped, "n": made.n_drawn}
    if plugins := {f"probes/{probe.name}": probe.plugin for probe in chosen if probe.plugin}:
        about["plugins"] = plugins
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    fields |= {
        "items": made.items, "map": {}, "limit": None, "skip_bad": False, "audit": about, "judge": (),
        "protocol": (protocol, *others.values()),
        "protocol_of_probe": {probe: place for place, probe in enumerate(others, 1)},
        "rubric": None, "criterion": "", "examples": None,
    }  # fmt: skip
    return AuditRequest(**fields)


def _of_run(name: str, store: Path, margin: float | None, labels: Path | None) -> Audit:
    from ..analysis.audit.of_runs import audit_run
    from ..store import open_store

    with open_store(store, write=False) as opened:
        return audit_run(opened, opened.run(name), margin=margin, labels=labels)


def _of_scores(path: Path, margin: float | None, scale: str | None) -> Audit:
    from ..analysis.audit.of_scores import audit_scores
    from ..data import read_probe_scores

    limits = None if scale is None else parse_scale(scale)
    rows, choices = read_probe_scores(path)
    return audit_scores(rows, choices, margin=margin, limits=limits, name=path.name)


def _has_scores(audit: Audit) -> bool:
    """Whether the judge could be read at all."""
    return any(
        (judge.position is not None and judge.position.n) or any(part.n for part in judge.criteria.values())
        for judge in audit.judges.values()
    )


def _print_audit(audit: Audit, *, as_json: bool, markdown: bool, full: bool) -> None:
    from ..analysis.audit.first_screen import audit_screen
    from ..analysis.audit.words import audit_sections

    if as_json:
        print_json(audit)
    elif full:
        show_sections(audit_sections(audit), as_markdown=markdown)
    else:
        show_screen(lambda most: audit_screen(audit, most), as_markdown=markdown)
