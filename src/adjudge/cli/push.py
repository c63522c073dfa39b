"""`adjudge push`: the scores of a run to a platform; or a whole run to a hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import DataError
from .options import AS_JSON, NAMED_RUN, STORE
from .terminal import print_json, print_note, print_text

if TYPE_CHECKING:
    from ..platforms.push import Pushed


def push_command(
    run: str = NAMED_RUN,
    target: str = typer.Argument(
        ...,
        metavar="TARGET",
        help="mlflow:EXPERIMENT, phoenix:PROJECT, langfuse:, langsmith:PROJECT, inspect:LOG, otlp:logs, "
        "otlp:spans, NAME:… of a plug-in, or the hub of a team: https://HOST.",
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what would be written, and write nothing."),
    trace_field: str = typer.Option(
        "",
        "--trace-field",
        metavar="FIELD",
        help="The field of the items with the trace's id. Default: the item's id.",
    ),
    card: str = typer.Option(
        "", "--card", metavar="URL", help="The address of the report on this judge, kept with each score."
    ),
    labels: Path = typer.Option(
        None,
        "--labels",
        metavar="FILE",
        help="Human labels for the interval of each score; default: those in the store.",
    ),
    replace: bool = typer.Option(
        False,
        "--replace",
        help="To a hub: take this name from another run there, which is kept under a name with a number.",
    ),
    as_json: bool = AS_JSON,
    store: Path = STORE,
) -> None:
    """Write the scores of a run to a platform, each with its status, explanation, judge and interval.

    A score keeps its id: a second push writes nothing twice, and a stopped push resumes. A failed
    judgment is written as an error, never as a number. To a hub the whole run is sent, with its calls and
    labels; ADJUDGE_HUB_TOKEN holds your token.
    """
    from ..platforms.hub import is_hub

    if is_hub(target):
        _push_to_hub(store, run, target, replace=replace, is_dry=dry_run, as_json=as_json)
        return
    if replace:
        raise DataError(
            "--replace is for runs that go to a hub. Scores are replaced where they have changed."
        )
    pushed = _pushed(store, run, target, is_dry=dry_run, trace_field=trace_field, card=card, labels=labels)
    if pushed.n and pushed.without_trace == pushed.n:
        raise DataError(
            f"{target} has no trace of any of the {pushed.n} items: an item's id must be that of its trace, "
            "as adjudge pull writes it. Or name the field that holds it with --trace-field."
        )
    if as_json:
        print_json({"target": target, "dry_run": dry_run, "n": pushed.n, **_counts(pushed)})
        return
    print_text(f"{target}: {_in_words(pushed, is_dry=dry_run)}")


def _in_words(pushed: Pushed, *, is_dry: bool) -> str:
    return (
        f"{pushed.written} scores {'would be written' if is_dry else 'written'}, {pushed.replaced} replaced, "
        f"{pushed.unchanged} already there"
        + (f"; {pushed.errors} as errors" if pushed.errors else "")
        + (f"; {pushed.without_trace} left out: no such trace" if pushed.without_trace else "")
    )


def _push_to_hub(store: Path, run: str, hub: str, *, replace: bool, is_dry: bool, as_json: bool) -> None:
    """Send the whole run: its items, calls, replies, labels, reviews and notes."""
    from ..platforms.hub import push_run
    from ..store import open_store

    with open_store(store, write=False) as stored:
        name = stored.run(run).name
    if is_dry:
        print_text(f"{name} would be sent to {hub}, with its calls, replies and labels.")
        return
    added = push_run(store, name, hub, replace=replace)
    if as_json:
        print_json({"target": hub, "runs": added})
        return
    for one in added:
        print_text(
            f"{hub}: {one['into']} has {one['items']} new items, {one['calls']} new calls, "
            f"{one['labels']} new labels"
        )
        if one["into"] != one["run"]:
            print_note(
                f"! The hub has another run named {one['run']}. --replace gives this one the name, and keeps "
                "the other under a name with a number.\n"
            )


def _pushed(
    store: Path, run: str, text: str, *, is_dry: bool, trace_field: str, card: str, labels: Path | None
) -> Pushed:
    import asyncio

    from ..analysis.trust.single_score import intervals_of_run
    from ..platforms.push import open_target, push_scores
    from ..platforms.scores_of_run import scores_of_run
    from ..store import open_store

    target = open_target(text, store)

    async def push() -> Pushed:
        try:
            with open_store(store, write=False) as stored:
                judged = stored.run(run)
                intervals, note = intervals_of_run(stored, judged, labels)
                if note:
                    print_note(f"! {note}\n")
                scores = scores_of_run(stored, judged, intervals, trace_field=trace_field, card=card)
                return await push_scores(scores, target, is_dry=is_dry, on_progress=_show)
        finally:
            await target.close()

    return asyncio.run(push())


def _counts(pushed: Pushed) -> dict[str, int]:
    return {name: getattr(pushed, name) for name in pushed.__struct_fields__}


def _show(pushed: Pushed) -> None:
    print_note(f"{pushed.n} scores\n")
