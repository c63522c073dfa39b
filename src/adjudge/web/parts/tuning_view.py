"""The latest tuning of a run: its sentence, the frontier of price and agreement, and what changed in the
prompt."""

from __future__ import annotations

from urllib.parse import urlencode

from markupsafe import Markup
from msgspec import Struct

from ...analysis.tune.kept import KeptTuning
from ...analysis.tune.tuning import Tuning
from ...analysis.tune.words import tune_sections
from .charts.frontier import Candidate, frontier
from .section import SectionView, view_of
from .side_by_side import TwoTexts, two_texts


class TuningView(Struct, frozen=True):
    """A tuning, drawn."""

    answer: SectionView
    candidates: SectionView
    picture: Markup | None
    """none where no candidate has a price"""
    note: str
    names: tuple[str, str]
    prompts: TwoTexts | None
    """of start and winner; none where both are the same, or one is no longer stored"""


def tuning_view(kept: KeptTuning, *, has_doors: bool) -> TuningView:
    """The view; with doors, each candidate opens its run."""
    answer, candidates, *_ = tune_sections(kept.tuning)
    start, winner = kept.prompts
    is_changed = bool(start and winner) and start != winner
    n_priced = len(kept.tuning.prices)
    note = "Filled dots are on the frontier; intervals are of 95 % on the search part."
    if n_priced < len(kept.tuning.search):
        note += f" {len(kept.tuning.search) - n_priced} without a price are not drawn."
    return TuningView(
        answer=view_of(answer),
        candidates=view_of(candidates),
        picture=_picture(kept, has_doors=has_doors) if n_priced else None,
        note=note,
        names=(kept.tuning.start, kept.tuning.winner),
        prompts=two_texts(("prompt", "prompt"), start, winner) if is_changed else None,
    )


def _picture(kept: KeptTuning, *, has_doors: bool) -> Markup:
    tuning = kept.tuning
    drawn = []
    for name, price in tuning.prices.items():
        found = tuning.search[name]
        if found.value is None:
            continue
        low, high = (found.value if end is None else end for end in (found.low, found.high))
        run = kept.runs.get(name)
        url = f"/run?{urlencode({'run': run})}" if has_doors and run is not None else ""
        is_best = name in tuning.frontier
        drawn.append(Candidate(name, price, found.value, low, high, _role(tuning, name), is_best, url))
    return frontier(drawn, f"Price and agreement of {len(drawn)} candidates")


def _role(tuning: Tuning, name: str) -> str:
    return "winner" if name == tuning.winner else "start" if name == tuning.start else ""
