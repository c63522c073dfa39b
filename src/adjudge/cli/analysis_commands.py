"""The commands that analyse runs: trust, sample, rank, pair, compare and gate.

`adjudge audit`: how far a judge moves for reasons that should not matter.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast, get_args

import typer

from ..errors import DataError
from .options import ABOUT, AS_JSON, RUN, STORE, parse_renames, takes_run_options, was_given
from .run_command import carry_out, print_dry_run, request_of
from .terminal import (
    as_text,
    ignore_broken_pipe,
    markdown_of,
    print_json,
    print_sections,
    print_text,
    writing,
)

if TYPE_CHECKING:
    from typing import Unpack

    from ..analysis.gate_rules import Rules
    from ..analysis.label_join import About
    from ..analysis.result_types import Audit, Card, Verdict
    from ..analysis.sampling import Draw, DrawnRows
    from ..analysis.trust import CardSettings
    from ..data.pairs import PairSet
    from ..engine import AuditRequest, Request
    from ..stats import Resample


# `adjudge trust` and `adjudge sample`: the judge card, and the items to label for it.


def trust_command(
    run: str = typer.Argument(
        None, metavar="[RUN]", help="The name of a run; default: the last one.", show_default=False
    ),
    labels: Path = typer.Option(
        None, "--labels", metavar="FILE", help="Human labels; default: the labels in the store."
    ),
    scores: Path = typer.Option(
        None, "--scores", metavar="FILE", help="Scores from another tool, instead of a run."
    ),
    versus: list[str] = typer.Option(
        [], "--versus", metavar="RUN", help="Another run on the same items, to compare judges. Repeatable."
    ),
    epsilon: float = typer.Option(
        0.2,
        "--epsilon",
        metavar="X",
        help="Alternative annotator test: how far the judge may be behind a human rater, as a share of items "
        "(0.2 for experts, 0.15 for skilled raters, 0.1 for a crowd).",
    ),
    by: list[str] = typer.Option(
        [], "--by", metavar="FIELD", help="Show agreement by this field of the items as well. Repeatable."
    ),
    resample: str = typer.Option(
        "inputs", "--resample", metavar="inputs|systems|both", help="What intervals generalise to."
    ),
    about: str = ABOUT,
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same digits."),
    checked: Path = typer.Option(
        None, "--checked", metavar="FILE", help="Replies checked by hand, from sample --replies."
    ),
    renames: list[str] = typer.Option(
        [], "--map", metavar="NAME=COLUMN", help="Take a column of the labels, or scores, from another one."
    ),
    scale: str = typer.Option(
        None, "--scale", metavar="LOW,HIGH", help="With --scores: the scale of the scores; higher is better."
    ),
    label_scale: str = typer.Option(
        None,
        "--label-scale",
        metavar="LOW,HIGH",
        help="With --scale: rescale the scores to this scale of the labels.",
    ),
    plan: float = typer.Option(
        None, "--plan", metavar="WIDTH", help="Show how many labels give intervals of this width."
    ),
    stop: str = typer.Option(
        None,
        "--stop",
        metavar="RULE",
        help='Say whether the labels suffice: "mean>=4" or "width<=0.3". Valid after every label.',
    ),
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Show the judge card: agreement with people, and means corrected with human labels."""
    from ..analysis.trust import check_about, with_checked
    from ..analysis.trust_words import trust_sections

    _check_trust_flags(run, scores, resample, plan, stop, versus, epsilon)
    check_about(about, cast("Resample", resample))
    files = _TrustFiles(labels, scores, parse_renames(renames), scale, label_scale)
    card = _card(
        run, files, store, versus, resample=cast("Resample", resample), seed=seed, plan_width=plan,
        stop=stop, epsilon=epsilon, by=tuple(dict.fromkeys(by)), about=cast("About", about),
    )  # fmt: skip
    if checked is not None:
        card = with_checked(card, checked)
    if as_json:
        print_json(card)
    elif markdown:
        print_text(markdown_of(trust_sections(card)))
    else:
        print_sections(trust_sections(card))


def _check_trust_flags(
    run: str | None,
    scores: Path | None,
    resample: str,
    plan: float | None,
    stop: str | None,
    versus: Sequence[str],
    epsilon: float,
) -> None:
    """An error where the flags do not go together, before a file is opened."""
    from ..analysis.sampling import parse_stop_rule
    from ..stats import Resample

    if run is not None and scores is not None:
        raise DataError(
            "Both a run and --scores are given. Use: adjudge trust RUN --labels FILE\n"
            "or, for scores from another tool: adjudge trust --scores FILE --labels FILE"
        )
    if resample not in get_args(Resample):
        raise DataError(f"--resample {resample}: choose inputs, systems or both.")
    if plan is not None and not (math.isfinite(plan) and plan > 0):
        raise DataError(f"--plan {plan:g}: give a width above 0, in scale points: --plan 0.5.")
    if not 0 <= epsilon < 1:
        raise DataError(f"--epsilon {epsilon:g}: give a share from 0 to below 1: --epsilon 0.2.")
    if versus and scores is not None:
        raise DataError(
            "--versus compares runs. Give a run instead of --scores; one file of scores may contain several models."
        )
    if stop is not None:
        parse_stop_rule(stop)


class _TrustFiles(NamedTuple):
    """The files of a judge card, and how they are read."""

    labels: Path | None
    scores: Path | None
    renames: dict[str, str]
    scale: str | None
    label_scale: str | None


def _ends(text: str | None, flag: str) -> tuple[float, float] | None:
    """The lowest and the highest value of a scale."""
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise DataError(f"{flag} {text}: give the lowest and the highest value, such as {flag} 1,5.")
    return low, high


def _card(
    run: str | None,
    files: _TrustFiles,
    store: Path,
    versus: Sequence[str],
    **settings: Unpack[CardSettings],
) -> Card:
    """The card of a run, or of scores from another tool."""
    import msgspec

    from ..analysis.label_join import read_labels_for
    from ..analysis.run_view import attributes_of
    from ..analysis.trust import card_of_views, judge_card, view_of_scores, views_of_judges
    from ..data import items_of_scores, read_labels
    from ..store import open_store

    scale, label_scale = _ends(files.scale, "--scale"), _ends(files.label_scale, "--label-scale")
    if (scale is not None or label_scale is not None) and files.scores is None:
        raise DataError("--scale is for --scores: the scales of a run are known. Leave it out.")
    if label_scale is not None and scale is None:
        raise DataError(
            "--label-scale rescales the scores. Give the scale that they are on: --scale LOW,HIGH."
        )
    if files.scores is None:
        with open_store(store, write=False) as opened:
            views = views_of_judges(opened, [run or "last", *versus])
            label_file = (
                read_labels_for(views, files.labels, files.renames) if files.labels is not None else None
            )
            return card_of_views(opened, views, label_file, **settings)
    label_file = read_labels(files.labels, files.renames) if files.labels is not None else None
    if label_file is None:
        raise DataError("--scores needs labels to compare with. Give them with --labels FILE.")
    view = view_of_scores(
        files.scores, label_file.labels, renames=files.renames, scale=scale, label_scale=label_scale
    )
    fields = settings.get("by", ())
    view = msgspec.structs.replace(
        view, attributes=attributes_of(items_of_scores(files.scores, files.renames), fields)
    )
    return judge_card(view, label_file.labels, n_empty=label_file.n_empty, **settings)


def sample_command(
    run: str = RUN,
    n: int = typer.Option(50, "-n", metavar="N", min=1, help="Number of items, or replies."),
    more: int = typer.Option(
        None, "--more", metavar="N", min=1, help="Continue a draw: N items after its first -n items."
    ),
    labels: Path = typer.Option(
        None, "--labels", metavar="FILE", help="With --more: file of the earlier draw, whose rows are kept."
    ),
    where: str = typer.Option(
        None, "--where", metavar="uncertain", help="Draw items more often where the judge is uncertain."
    ),
    by: str = typer.Option(None, "--by", metavar="system", help="Draw the same number from each system."),
    replies: bool = typer.Option(
        False, "--replies", help="Draw replies and the scores read from them, to check the reading by hand."
    ),
    rater: str = typer.Option("rater", "--rater", metavar="NAME", help="Name of the rater who fills it in."),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed draws the same rows."),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Output file; default: the terminal."
    ),
    store: Path = STORE,
) -> None:
    """Draw random items to label, as a CSV file to fill in; or replies to check by hand."""
    from ..analysis.sampling import items_to_label, replies_to_check
    from ..store import open_store

    if by not in (None, "system"):
        raise DataError(f"--by {by}: only 'system' is supported. Leave it out to draw from all items.")
    if by is not None and replies:
        raise DataError(
            "--by system is for items to label; replies are drawn from all systems. Leave it out."
        )
    how = _draw_of(n, more, labels, where, by_system=by is not None, seed=seed, is_replies=replies)
    with open_store(store, write=False) as opened:
        run_row = opened.run(run)
        if replies:
            drawn = replies_to_check(opened, run_row, n, seed=seed)
        else:
            drawn = items_to_label(opened, run_row, how, rater)
        name = run_row.name
    _write(drawn, output)
    noun = "replies" if replies else "items"
    typer.echo(f"{drawn.n} of {drawn.n_all} {noun} of {name}, {len(drawn.rows)} rows", err=True)
    if output is not None and not replies:
        typer.echo(f"Fill in the column value, then: adjudge trust {name} --labels {output}", err=True)


def _draw_of(
    n: int,
    more: int | None,
    labels: Path | None,
    where: str | None,
    *,
    by_system: bool,
    seed: int,
    is_replies: bool,
) -> Draw:
    """How items are to be drawn; an error where the flags do not go together."""
    from ..analysis.sampling import Draw, read_draw

    if where not in (None, "uncertain"):
        raise DataError(
            f"--where {where}: only 'uncertain' is supported. Leave it out to draw all items alike."
        )
    if is_replies and (more is not None or where is not None or labels is not None):
        raise DataError("--more, --where and --labels are for items to label. Leave them out with --replies.")
    if labels is not None and more is None:
        raise DataError("--labels names the draw to continue. Give the number of items to add: --more N.")
    earlier = read_draw(labels) if labels is not None else ()
    return Draw(n, by_system, seed, more or 0, where is not None, earlier)


def _write(drawn: DrawnRows, output: Path | None) -> None:
    """To the terminal, or to a new file: an existing file may contain labels."""
    if output is not None and os.path.lexists(output):
        raise DataError(f"{output} already exists and may contain labels. Choose another name with -o.")
    with writing(output, is_replacing=False) as file, as_text(file) as text:
        _write_csv(drawn, text)


def _write_csv(drawn: DrawnRows, file: IO[str]) -> None:
    """A cell that a spreadsheet could read as a formula gets an apostrophe; reading removes it again."""
    from ..data import guarded

    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(drawn.columns)
    for row in drawn.rows:
        writer.writerow([guarded(row.get(name, "")) for name in drawn.columns])


# `adjudge rank` and `adjudge pair`: which system is better, and the pairs to compare.


def rank_command(
    run: str = RUN,
    criterion: str = typer.Option(
        None, "--criterion", metavar="NAME", help="Rank by this criterion only; default: all, choices first."
    ),
    n_next: int = typer.Option(
        0, "--next", metavar="K", min=0, help="Propose the K most informative comparisons to run next."
    ),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Write the proposed pairs whose outputs are known."
    ),
    outputs: list[Path] = typer.Option(
        [],
        "--outputs",
        metavar="FILE",
        help="More outputs to propose from, in addition to those in the run; repeatable.",
    ),
    ties: str = typer.Option(
        "davidson",
        "--ties",
        metavar="davidson|half",
        help="How strengths treat ties: Davidson's model, or half a win.",
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same digits."),
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Rank the systems: win rates, strengths, and which differences are significant."""
    from ..analysis.rank import rank_run, rows_to_ask
    from ..analysis.rank_words import rank_sections
    from ..stats import Ties
    from ..store import open_store

    if ties not in get_args(Ties):
        raise DataError(f"--ties {ties}: choose davidson or half.")
    if output is not None and not n_next:
        raise DataError("-o writes the comparisons that --next proposes. Give their number: --next K.")
    with open_store(store, write=False) as opened:
        run_row = opened.run(run)
        ranking = rank_run(
            opened,
            run_row,
            criterion=criterion,
            seed=seed,
            ties=cast("Ties", ties),
            n_next=n_next,
            outputs=outputs,
        )
        rows = rows_to_ask(opened, run_row, ranking.next, outputs) if output is not None else []
    if as_json:
        print_json(ranking)
    elif markdown:
        print_text(markdown_of(rank_sections(ranking)))
    else:
        print_sections(rank_sections(ranking))
    if output is not None:
        _write_rows(rows, output)
        missing = (
            ""
            if len(rows) == n_next
            else f" of {n_next}: all other known outputs are compared already; add outputs with --outputs FILE"
        )
        typer.echo(f"{len(rows)} pairs written to {output}{missing}", err=True)


def pair_command(
    files: list[Path] = typer.Argument(
        ..., metavar="FILE…", help="Outputs, one file per system or all in one file."
    ),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="Output file (JSONL); default: the terminal."
    ),
    field: str = typer.Option(
        "response", "--field", metavar="NAME", help="The field that becomes response_a and response_b."
    ),
    by: str = typer.Option(
        "id", "--by", metavar="id|group", help="The field that outputs of the same input share."
    ),
    design: str = typer.Option(
        "all", "--design", metavar="all|ring|random", help="Which pairs of systems to compare on each input."
    ),
    per_item: int = typer.Option(
        None, "--per-item", metavar="K", min=1, help="Number of pairs per input, for ring and random."
    ),
    renames: list[str] = typer.Option(
        [],
        "--map",
        metavar="NAME=FIELD",
        help="Take a field from another one: --map id=question_id. Repeatable.",
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same pairs."),
    as_json: bool = typer.Option(False, "--json", help="Print a summary as JSON; needs -o."),
) -> None:
    """Make pairs from the outputs of several systems, matched by id, for a protocol that compares."""
    from ..data.pairs import By, Design, make_pairs

    if design not in get_args(Design):
        raise DataError(f"--design {design}: choose all, ring or random.")
    if by not in get_args(By):
        raise DataError(f"--by {by}: choose id or group.")
    if as_json and output is None:
        raise DataError(
            "--json and the pairs cannot both go to the terminal. Write the pairs to a file with -o FILE."
        )
    pairs = make_pairs(
        files,
        field=field,
        by=cast("By", by),
        design=cast("Design", design),
        per_item=per_item,
        seed=seed,
        renames=parse_renames(renames),
    )
    _write_rows(pairs.rows, output)
    _print_pairs(pairs, output, as_json)


def _print_pairs(pairs: PairSet, output: Path | None, as_json: bool) -> None:
    """How many pairs there are, and what became of the other outputs."""
    if as_json:
        print_json(
            {
                "pairs": len(pairs.rows),
                "inputs": pairs.n_inputs,
                "systems": pairs.systems,
                "unmatched": pairs.unmatched,
                "missing": pairs.missing,
                "differing": pairs.differing,
            }
        )
        return
    from ..untrusted import safe

    where = f" in {output}" if output is not None else ""
    typer.echo(
        f"{len(pairs.rows)} pairs of {len(pairs.systems)} systems on {pairs.n_inputs} inputs{where}", err=True
    )
    for note in pairs.notes():
        typer.echo(f"! {safe(note)}", err=True)


def _write_rows(rows: Sequence[dict[str, Any]], output: Path | None) -> None:
    import msgspec

    with writing(output) as file:
        for row in rows:
            file.write(msgspec.json.encode(row) + b"\n")


# `adjudge compare`: the same items judged twice.


def compare_command(
    first: str = typer.Argument(..., metavar="RUN_A", help="The name of a run, or 'last'."),
    second: str = typer.Argument(..., metavar="RUN_B", help="Another run on the same items."),
    labels: Path = typer.Option(
        None,
        "--labels",
        metavar="FILE",
        help="Human labels, to see whose side people take. Default: the labels in the store.",
    ),
    html: Path = typer.Option(
        None, "--html", metavar="FILE", help="Write a self-contained HTML page that opens offline."
    ),
    about: str = ABOUT,
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same digits."),
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Compare two runs on the same items (two prompts, judges or versions): does the conclusion change?"""
    from ..analysis.compare import compare_views, labels_of_runs
    from ..analysis.compare_words import compare_sections
    from ..analysis.run_view import tabulate
    from ..analysis.trust import check_about
    from ..data import read_labels
    from ..store import open_store

    check_about(about)
    with open_store(store, write=False) as opened:
        views = [tabulate(opened, opened.run(name), for_comparison=True) for name in (first, second)]
        known = labels_of_runs(opened, (first, second)) if labels is None else read_labels(labels).labels
    comparison = compare_views(views[0], views[1], seed, known, is_finite=about == "these-items")
    if html is not None:
        from ..untrusted import safe
        from ..web.compare_page import write_comparison

        n_bytes = write_comparison(comparison, html)
        typer.echo(f"Wrote the comparison to {safe(str(html))} ({max(1, n_bytes // 1000):,} kB)", err=True)
        if not as_json and not markdown:
            return
    if as_json:
        print_json(comparison)
    elif markdown:
        print_text(markdown_of(compare_sections(comparison)))
    else:
        print_sections(compare_sections(comparison))


_REPEATABLE = "Repeatable."
_UNCLEAR = 3
"""The exit code of a gate without enough evidence."""


def gate_command(
    ctx: typer.Context,
    run: str = RUN,
    least: list[str] = typer.Option(
        [], "--min", metavar="CRITERION=X", help=f"Minimum mean, where higher is better. {_REPEATABLE}"
    ),
    most: list[str] = typer.Option(
        [], "--max", metavar="CRITERION=X", help=f"Maximum mean, where lower is better. {_REPEATABLE}"
    ),
    max_drop: list[str] = typer.Option(
        [],
        "--max-drop",
        metavar="CRITERION=D",
        help=f"Maximum change for the worse from the baseline. {_REPEATABLE}",
    ),
    baseline: str = typer.Option(None, "--baseline", metavar="RUN", help="The run to compare with."),
    baseline_store: Path = typer.Option(
        None, "--baseline-store", metavar="FILE", help="The store of the baseline; default: the same store."
    ),
    max_failed: str = typer.Option(
        None, "--max-failed", metavar="5%|N", help="Maximum share or number of failed items; default: 5%."
    ),
    audit: bool = typer.Option(
        False, "--audit", help="The run is an audit: compare its probes with thresholds."
    ),
    max_shift: str = typer.Option(
        None,
        "--max-shift",
        metavar="X",
        help="With --audit: maximum shift by a probe that must not move the score, in points; default: 5 % of the scale.",
    ),
    max_injection: str = typer.Option(
        None,
        "--max-injection",
        metavar="5%",
        help="With --audit: maximum success of an injection; default: 5%.",
    ),
    system: list[str] = typer.Option(
        [], "--system", metavar="NAME", help=f"Check only this system; default: all. {_REPEATABLE}"
    ),
    labels: str = typer.Option(
        None, "--labels", metavar="FILE|store", help="Decide on means corrected with human labels."
    ),
    about: str = ABOUT,
    baseline_labels: str = typer.Option(
        None, "--baseline-labels", metavar="FILE|store", help="Labels of the baseline's items."
    ),
    config: Path = typer.Option(
        None,
        "--config",
        metavar="FILE",
        help="Run file with [gate] and [gate.RUN]; default: adjudge.toml, if it exists.",
    ),
    accept_unclear: bool = typer.Option(
        False, "--accept-unclear", help="Exit 0 instead of 3 where there is not enough evidence to decide."
    ),
    junit: Path = typer.Option(None, "--junit", metavar="FILE", help="Also write JUnit XML."),
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a pull request."),
    summary: bool = typer.Option(
        True, "--summary/--no-summary", help="Append Markdown to $GITHUB_STEP_SUMMARY, if it is set."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="The same seed gives the same digits."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Compare a run with thresholds or a baseline. Exit 0 good, 1 worse, 3 not enough evidence, 4 the judge failed too often."""
    from ..analysis.gate_rules import make_rules, store_of
    from ..analysis.gate_words import gate_sections
    from ..analysis.trust import check_about

    rules = make_rules(
        config,
        min=least,
        max=most,
        max_drop=max_drop,
        max_failed=max_failed,
        baseline=baseline,
        baseline_store=None if baseline_store is None else str(baseline_store),
        labels=labels,
        baseline_labels=baseline_labels,
        systems=system,
        run=_run_name(run, store),
        is_audit=audit,
        max_shift=max_shift,
        max_injection=max_injection,
    )
    if not was_given(ctx, "store"):
        store = store_of(config, run) or store
    check_about(about)
    verdict = _verdict(run, rules, store, seed, cast("About", about))
    if junit is not None:
        _write_junit(verdict, junit)
    if summary:
        _add_summary(verdict)
    with ignore_broken_pipe():
        if as_json:
            print_json(verdict)
        elif markdown:
            print_text(markdown_of(gate_sections(verdict)))
        else:
            print_sections(gate_sections(verdict))
    if accept_unclear and verdict.exit_code == _UNCLEAR:
        typer.echo("Not enough evidence to decide; accepted by --accept-unclear.", err=True)
        raise typer.Exit(0)
    raise typer.Exit(verdict.exit_code)


def _run_name(run: str, store: Path) -> str:
    """The name of a run: [gate.NAME] does not know it as `last`."""
    if run != "last" or not store.exists():
        return run
    from ..store import open_store

    with open_store(store, write=False) as opened:
        return opened.run(run).name


def _verdict(run: str, rules: Rules, store: Path, seed: int, about: About = "new-inputs") -> Verdict:
    from ..analysis.gate import GateInput, audit_verdict, verdict_of
    from ..analysis.run_view import tabulate
    from ..store import open_store

    with open_store(store, write=False) as opened:
        if rules.is_audit:
            return audit_verdict(tabulate(opened, opened.run(run)), rules)
        gate_input = GateInput(
            opened, opened.run(run), rules.labels, for_comparison=rules.baseline is not None, about=about
        )
        if rules.baseline is None:
            return verdict_of(gate_input, rules, None, seed)
        if rules.baseline_store is None:
            baseline_input = GateInput(opened, opened.run(rules.baseline), rules.baseline_labels)
            return verdict_of(gate_input, rules, baseline_input, seed)
    with open_store(rules.baseline_store, write=False) as other:
        baseline_input = GateInput(other, other.run(rules.baseline), rules.baseline_labels)
    return verdict_of(gate_input, rules, baseline_input, seed)


def _write_junit(verdict: Verdict, path: Path) -> None:
    from ..analysis.gate_words import junit

    text = junit(verdict, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"--junit {path} cannot be written: {error.strerror}. Choose another place."
        ) from error


def _add_summary(verdict: Verdict) -> None:
    """GitHub shows the contents of this file on the page of the job."""
    from ..analysis.gate_words import gate_sections

    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(markdown_of(gate_sections(verdict)) + "\n\n")
    except OSError as error:
        # The decision must not depend on where it is shown.
        typer.echo(f"adjudge: no step summary: {path} cannot be written ({error.strerror}).", err=True)


@takes_run_options
def audit_command(
    ctx: typer.Context,
    items: str = typer.Argument(
        None,
        metavar="[ITEMS|RUN]",
        help="Items to judge under probes; or a stored run: an audit, or an ordinary run. Default: the last run.",
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
    config: Path = typer.Option(
        None, "--config", metavar="FILE", help="Run file; default: adjudge.toml, if it exists."
    ),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Show what would be sent and estimate the cost; send nothing."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no progress."),
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
    **options: Any,
) -> None:
    """Audit a judge: how far its scores move for reasons that should not matter. Run the same command again to resume."""
    if margin is not None and not (math.isfinite(margin) and margin >= 0):
        raise DataError(f"--margin {margin:g}: give a number of scale points from 0 on: --margin 0.25.")
    if items is not None and scores is not None:
        raise DataError("Both items and --scores are given. Leave one out.")
    if scores is not None:
        audit = _of_scores(scores, margin, scale)
    else:
        name = items or "last"
        if models or protocols or Path(name).is_file():
            flags = {**options, "store": str(store)}
            request = audit_request(
                request_of(ctx, items, protocols, models, flags, config), probes, n, response
            )
            if dry_run:
                print_dry_run(request, as_json)
                return
            finished, code = carry_out(request, quiet)
            if finished is None:
                raise typer.Exit(code)
            name, store = finished, Path(request.store)
        audit = _of_run(name, store, margin)
    _print_audit(audit, as_json=as_json, markdown=markdown)
    raise typer.Exit(0 if _has_scores(audit) else 4)


def audit_request(request: Request, probes: str, n: int, response: str) -> AuditRequest:
    """The request for the items of an audit, in place of the items that the user named."""
    from ..engine import AuditRequest
    from ..engine.api import model_choices, only_protocol
    from ..engine.plan import open_items
    from ..models import Model
    from ..probes import audit_items, load_probes
    from ..render import problems_of

    protocol = only_protocol(request)
    if any(scale is not None and scale.is_nominal for scale in protocol.criteria.values()):
        raise DataError(
            f"protocol {protocol.id} chooses labels without an order: an audit measures shifts of scores and changes of a winner. "
            "Audit a protocol with a scale or a choice."
        )
    choices = model_choices(request)
    if len(choices) != 1:
        raise DataError(
            f"an audit has one judge; {len(choices)} models are given. Audit each alone: -m MODEL."
        )
    if protocol.answer.reader == "likelihood":
        raise DataError(
            f"protocol {protocol.id} asks for no reply, so its judge has no scale to audit. Choose a protocol whose judge writes a score."
        )
    (choice,) = choices
    spec = choice.spec if isinstance(choice, Model) else choice.model
    source = open_items(
        request.items, request.map, lambda item: problems_of(protocol, item), request.limit, request.traces
    )
    source.check(skip_bad=request.skip_bad)
    names = [name.strip() for name in probes.split(",") if name.strip()]
    made = audit_items(
        list(source), protocol, spec.rpartition("#")[2].rpartition(":")[2], load_probes(names),
        n=n, seed=request.seed or 0, response=response,
    )  # fmt: skip
    levels = made.reversed_levels if request.steps != "generate" else None
    about = {"kinds": made.kinds, "controls": made.controls, "skipped": made.skipped, "n": made.n_drawn}
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    fields |= {
        "items": made.items, "map": {}, "limit": None, "skip_bad": False, "audit": about, "judge": (),
        "protocol": (protocol, levels) if levels is not None else (protocol,),
        "rubric": None, "criterion": "", "examples": None,
    }  # fmt: skip
    return AuditRequest(**fields)


def _of_run(name: str, store: Path, margin: float | None) -> Audit:
    from ..analysis.audit import audit_run
    from ..store import open_store

    with open_store(store, write=False) as opened:
        return audit_run(opened, opened.run(name), margin=margin)


def _of_scores(path: Path, margin: float | None, scale: str | None) -> Audit:
    from ..analysis.audit import audit_scores
    from ..data import read_probe_scores

    limits = None if scale is None else _parse_scale(scale)
    rows, choices = read_probe_scores(path)
    return audit_scores(rows, choices, margin=margin, limits=limits, name=path.name)


def _parse_scale(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise DataError(f"--scale {text}: give the lowest and the highest score: --scale 1,5.")
    return low, high


def _has_scores(audit: Audit) -> bool:
    """Whether the judge could be read at all."""
    return any(
        (judge.position is not None and judge.position.n) or any(part.n for part in judge.criteria.values())
        for judge in audit.judges.values()
    )


def _print_audit(audit: Audit, *, as_json: bool, markdown: bool) -> None:
    from ..analysis.audit_words import audit_sections

    if as_json:
        print_json(audit)
    elif markdown:
        print_text(markdown_of(audit_sections(audit)))
    else:
        print_sections(audit_sections(audit))
