"""`adjudge trust`: the judge card of a run, or of scores from another tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import typer

from ..errors import DataError
from .first_screen import show_screen, show_sections
from .flag_values import parse_ends, parse_renames
from .options import ABOUT, AS_JSON, FULL, STORE
from .terminal import print_json

if TYPE_CHECKING:
    from typing import Unpack

    from ..analysis.about import About
    from ..analysis.trust.card import Card
    from ..analysis.trust.trust import CardSettings
    from ..data import LabelScales
    from ..data.label_scales import Ends
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
    margin: float = typer.Option(
        None,
        "--margin",
        metavar="X",
        help="With several judges: they are equivalent if their agreement differs by less; default: 0.05.",
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
    seed: int = typer.Option(0, "--seed", metavar="N", min=0, help="The same seed gives the same digits."),
    checked: Path = typer.Option(
        None, "--checked", metavar="FILE", help="Replies checked by hand, from sample --replies."
    ),
    form: str = typer.Option(
        "auto",
        "--format",
        metavar="FORMAT",
        help="With --scores: a table, or results of inspect, promptfoo or lm-eval.",
    ),
    renames: list[str] = typer.Option(
        [],
        "--map",
        metavar="NAME=COLUMN",
        help="Take a column from another one; of one file with labels.NAME=COLUMN or scores.NAME=COLUMN.",
    ),
    scale: str = typer.Option(
        None, "--scale", metavar="LOW,HIGH", help="With --scores: the scale of the scores; higher is better."
    ),
    label_scale: str = typer.Option(
        None,
        "--label-scale",
        metavar="LOW,HIGH",
        help="The scale of the labels, if it is not that of the judge: scores are rescaled to it.",
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
    full: bool = FULL,
    markdown: bool = typer.Option(False, "--markdown", help="Markdown, for a paper or a pull request."),
    store: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Show the judge card: agreement with people, and means corrected with human labels."""
    from ..analysis.about import check_about
    from ..analysis.trust.settings import check_settings
    from ..analysis.trust.trust import with_checked
    from ..analysis.trust.words.card import trust_sections
    from ..analysis.trust.words.first_screen import trust_screen

    _check_trust_flags(run, scores, stop, versus)
    check_settings(resample, plan, epsilon, margin, seed)
    check_about(about, cast("Resample", resample))
    files = _TrustFiles(labels, scores, parse_renames(renames), scale, label_scale, form)
    card = _card(
        run, files, store, versus, resample=cast("Resample", resample), seed=seed, plan_width=plan,
        stop=stop, epsilon=epsilon, by=tuple(dict.fromkeys(by)), about=cast("About", about), margin=margin,
    )  # fmt: skip
    if checked is not None:
        card = with_checked(card, checked)
    if as_json:
        print_json(card)
    elif full:
        show_sections(trust_sections(card), as_markdown=markdown)
    else:
        show_screen(lambda most_rows: trust_screen(card, most_rows, by), as_markdown=markdown)


def _check_trust_flags(
    run: str | None,
    scores: Path | None,
    stop: str | None,
    versus: Sequence[str],
) -> None:
    """An error where the flags do not go together, before a file is opened."""
    from ..analysis.sampling.stop_rule import parse_stop_rule

    if run is not None and scores is not None:
        raise DataError(
            "Both a run and --scores are given. Use: adjudge trust RUN --labels FILE\n"
            "or, for scores from another tool: adjudge trust --scores FILE --labels FILE"
        )
    if versus and scores is not None:
        raise DataError(
            "--versus compares runs. Give a run instead of --scores; one file of scores may contain "
            "several models."
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
    form: str

    def renames_of(self, file: Literal["labels", "scores"]) -> dict[str, str]:
        """The columns to rename in one of the files; those of a prefix first."""
        own: dict[str, str] = {}
        shared: dict[str, str] = {}
        for name, column in self.renames.items():
            prefix, dot, rest = name.rpartition(".")
            if dot and prefix not in ("labels", "scores"):
                raise DataError(
                    f"--map {name}={column}: write labels.{rest}={column} or scores.{rest}={column}."
                )
            if prefix == "scores" and self.scores is None:
                raise DataError(
                    f"--map {name}={column}: there is no file of scores. Give it with --scores FILE."
                )
            if prefix in ("", file):
                (own if prefix else shared)[rest] = column
        return shared | own


def _card(
    run: str | None,
    files: _TrustFiles,
    store: Path,
    versus: Sequence[str],
    **settings: Unpack[CardSettings],
) -> Card:
    """The card of a run, or of scores from another tool."""
    from ..analysis.labels.read import read_labels_for
    from ..analysis.trust.trust import card_of_views, views_of_judges
    from ..store import open_store

    scale, label_scale = parse_ends(files.scale, "--scale"), parse_ends(files.label_scale, "--label-scale")
    settings["label_scale"] = label_scale
    if files.scores is None:
        if scale is not None:
            raise DataError("--scale is for --scores: the scales of a run are known. Leave it out.")
        with open_store(store, write=False) as opened:
            views = views_of_judges(opened, [run or "last", *versus])
            renames = files.renames_of("labels")
            label_file = (
                None if files.labels is None else read_labels_for(views, files.labels, renames, label_scale)
            )
            return card_of_views(opened, views, label_file, must_match=True, with_panel=True, **settings)
    if label_scale is not None and scale is None:
        raise DataError(
            "--label-scale rescales the scores. Give the scale that they are on: --scale LOW,HIGH."
        )
    return _card_of_scores(files, files.scores, scale, **settings)


def _card_of_scores(
    files: _TrustFiles, scores: Path, scale: Ends | None, **settings: Unpack[CardSettings]
) -> Card:
    """The card of scores that another tool made."""
    from ..analysis.trust.judge_card import judge_card
    from ..analysis.trust.trust import view_of_scores
    from ..data import read_labels

    if files.labels is None:
        raise DataError("--scores needs labels to compare with. Give them with --labels FILE.")
    label_file = read_labels(
        files.labels, files.renames_of("labels"), scales=_scale_of_labels(scale, settings)
    )
    renames = files.renames_of("scores")
    by = settings.get("by", ())
    view = view_of_scores(scores, label_file.labels, renames=renames, scale=scale, form=files.form, by=by)
    return judge_card(view, label_file.labels, n_empty=label_file.n_empty, must_match=True, **settings)


def _scale_of_labels(scale: Ends | None, settings: CardSettings) -> LabelScales:
    """The scale that labels must be on: their own where it is named, or that of the scores."""
    from ..data import LabelScales

    label_scale = settings.get("label_scale")
    advice = "" if label_scale else "If the labels are on another scale, name it: --label-scale LOW,HIGH."
    return LabelScales({}, label_scale or scale, advice)
