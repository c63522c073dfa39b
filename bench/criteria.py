"""What the embedded judge notices: the sixty responses of the demo by the nine `gptscore/` criteria of one
direction.

Prints how alike the criteria order the responses, and for each known fault on how many texts the faithful
response has the higher score; beside it the same count for two baselines that need no model, copied word
pairs and length. The labels are true by construction: no person rated these responses.

    python bench/criteria.py [--limit 60] [--model local]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median

import adjudge
from adjudge.analysis.report.report import summarise
from adjudge.analysis.run_view.run_view import RunView
from adjudge.analysis.run_view.tabulate import tabulate
from adjudge.stats import wilson
from adjudge.store import open_store
from adjudge.words import percent

ITEMS = Path(adjudge.__file__).parent / "demo" / "items.jsonl"
CRITERIA = (
    "factuality", "consistency", "relevance", "fluency", "coherence", "accuracy", "multidimensional-quality",
    "semantic-appropriateness", "understandability",
)  # fmt: skip
FAULTS = {
    "altered-fact": "factuality",
    "omission": "accuracy",
    "shuffled": "coherence",
    "broken-grammar": "fluency",
    "off-topic": "relevance",
}
"""System → the criterion that its responses were made to fail."""

INTACT = "faithful"
Scores = dict[tuple[str, str], float]
"""(text, system) → score"""


def measured(view: RunView, criterion: str) -> dict[str, Scores]:
    """The likelihood by one criterion, and the two baselines."""
    scores: dict[str, Scores] = {"likelihood": {}, "copied_bigrams": {}, "words": {}}
    for result in view.results:
        place = result.group or result.item, result.system
        if result.criterion == criterion and result.value is not None:
            scores["likelihood"][place] = result.value
        notes = view.judgment_notes.get(result.item, {})
        for name in ("copied_bigrams", "words"):
            if name in notes:
                scores[name][place] = float(notes[name])
    return scores


def noticed(scores: Scores, system: str) -> str:
    """On how many texts the faithful response is ahead of the faulty one; equal scores count as half."""
    pairs = [
        (scores[text, INTACT], score)
        for (text, other), score in scores.items()
        if other == system and (text, INTACT) in scores
    ]
    wins = sum(1.0 if good > bad else 0.5 if good == bad else 0.0 for good, bad in pairs)
    return f"{wins:g} of {len(pairs)}, {percent(wilson(wins, len(pairs)))}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--model", default="local")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "criteria.db"
        protocols = [f"gptscore/{name}" for name in CRITERIA]
        adjudge.run(str(ITEMS), protocols, arguments.model, store=str(store), limit=arguments.limit)
        with open_store(store, write=False) as opened:
            view = tabulate(opened, opened.run("last"), keep_notes=True)
        summary = summarise(view)
    values = [pair.spearman.value for pair in summary.correlations]
    known = [value for value in values if value is not None]
    print(f"{summary.n_items} responses, {summary.n_scores} scores, {summary.n_failed} failed")
    print(
        f"Spearman of two criteria: {min(known):.3f} to {max(known):.3f}, median {median(known):.3f}"
        f" ({len(known)} pairs)"
    )
    for system, criterion in FAULTS.items():
        shown = [f"{name} {noticed(scores, system)}" for name, scores in measured(view, criterion).items()]
        print(f"{system} ({criterion}): {'; '.join(shown)}")


if __name__ == "__main__":
    main()
