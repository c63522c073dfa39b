"""Does the embedded judge agree with people? Spearman with human ratings, beside two baselines that cost
nothing.

Judges the summaries of N documents of `summeval` (and M sentences of `sfres`) by likelihood, through a run
like any user's, and prints for each rated criterion the correlation over all items and the mean of those
within one document, with percentile intervals from resampling documents; the same for the length of the
response and for its share of copied bigrams. Then how the criteria correlate with each other: on a small
model they hardly differ. Needs `../shared/data`. A run that was stopped goes on where it was with the same
--store.

    python bench/quality.py [--limit 12] [--skip 0] [--all-criteria] [--variants] [--sfres M] [--store FILE]
    [--data DIR] [--json]
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

import adjudge
from adjudge.parse.likelihood import copied_bigrams, lower_words

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SUMMEVAL = {name: name for name in ("coherence", "consistency", "fluency", "relevance")}
SFRES = {"informativeness": "accuracy", "naturalness": "fluency", "overall": "multidimensional-quality"}
OTHERS = (
    "factuality",
    "accuracy",
    "multidimensional-quality",
    "semantic-appropriateness",
    "understandability",
)
VARIANTS = {"relevance": "relevance-backward"}
"""Rated criterion → the protocol that asks for it in the other direction."""
MUST_REACH = {"coherence": 0.29, "consistency": 0.28, "fluency": 0.22, "relevance": 0.19}
"""The lower ends of the intervals that were measured for this model on 144 summaries."""
RESAMPLES, SEED = 2000, 20260214

Row = dict[str, Any]


def rows_of(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def summeval(data: Path, limit: int, skip: int) -> list[Row]:
    """The summaries of so many documents, with their sources."""
    documents = rows_of(data / "summeval.docs.jsonl.gz")[skip : skip + limit]
    texts = {row["doc_id"]: row["text"] for row in documents}
    items = [row for row in rows_of(data / "summeval.items.jsonl.gz") if row["group_id"] in texts]
    order = {name: n for n, name in enumerate(texts)}
    items.sort(key=lambda row: order[row["group_id"]])
    return [_row(row, texts[row["group_id"]]) for row in items]


def sfres(data: Path, limit: int) -> list[Row]:
    """Sentences made from a dialogue act: short sources, one response each."""
    return [_row(row, row["source"]) for row in rows_of(data / "sfres.items.jsonl.gz")[:limit]]


def _row(row: Row, source: str) -> Row:
    return {
        "id": row["item_id"],
        "group": row["group_id"],
        "source_text": source,
        "generated_response": row["output"],
        "human": {name: rating["mean"] for name, rating in row["human"].items()},
    }


def judged(rows: list[Row], criteria: list[str], store: Path) -> dict[str, dict[str, float | None]]:
    """criterion → item → score, by one run on the embedded model."""
    with tempfile.TemporaryDirectory() as folder:
        items = Path(folder) / "items.jsonl"
        keys = ("id", "group", "source_text", "generated_response")
        lines = [json.dumps({key: row[key] for key in keys}) + "\n" for row in rows]
        items.write_text("".join(lines), encoding="utf-8")
        done = adjudge.run(items, [f"gptscore/{name}" for name in criteria], "local", store=store)
    values: dict[str, dict[str, float | None]] = {name: {} for name in criteria}
    for result in done.results():
        values[result.protocol.partition("@")[0].removeprefix("gptscore/")][result.item] = result.value
    return values


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """NaN where one side does not vary."""
    a, b = rankdata(x), rankdata(y)
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / scale if scale > 0 else math.nan


def agreement(scores: np.ndarray, human: np.ndarray, groups: np.ndarray) -> dict[str, Any]:
    """Over all items, and within documents where there is something to order; with intervals."""
    names = np.unique(groups)
    places = [np.flatnonzero(groups == name) for name in names]
    within = np.array([spearman(scores[at], human[at]) if len(at) > 2 else math.nan for at in places])
    random = np.random.default_rng(SEED)
    overall, inside = [], []
    for _ in range(RESAMPLES):
        drawn = random.integers(0, len(names), len(names))
        at = np.concatenate([places[n] for n in drawn])
        overall.append(spearman(scores[at], human[at]))
        with np.errstate(invalid="ignore"):
            picked = within[drawn]
            inside.append(np.nanmean(picked) if np.isfinite(picked).any() else math.nan)
    return {
        "n": len(scores),
        "groups": len(names),
        "overall": _interval(spearman(scores, human), overall),
        "within": _interval(float(np.nanmean(within)) if np.isfinite(within).any() else math.nan, inside),
    }


def _interval(value: float, drawn: list[float]) -> list[float | None]:
    kept = np.array(drawn)[np.isfinite(drawn)]
    if not math.isfinite(value) or not len(kept):
        return [None, None, None]
    return [value, float(np.quantile(kept, 0.025)), float(np.quantile(kept, 0.975))]


def table(
    rows: list[Row], rated: dict[str, str], scores: dict[str, dict[str, float | None]]
) -> dict[str, Any]:
    """For each rated criterion: the judge and the baselines, on the items that have a score."""
    figures: dict[str, Any] = {}
    for name, criterion in rated.items():
        asked = [judge for judge in (criterion, VARIANTS.get(name)) if judge in scores]
        kept = [
            row
            for row in rows
            if name in row["human"] and all(scores[judge][row["id"]] is not None for judge in asked)
        ]
        human = np.array([row["human"][name] for row in kept])
        groups = np.array([row["group"] for row in kept])
        words = [lower_words(row["generated_response"]) for row in kept]
        copied = [
            copied_bigrams(text_words, lower_words(row["source_text"])) or 0.0
            for text_words, row in zip(words, kept, strict=True)
        ]
        columns = {
            **{
                f"gptscore/{judge}": np.array([scores[judge][row["id"]] for row in kept], dtype=float)
                for judge in asked
            },
            "length": np.array([len(text_words) for text_words in words], dtype=float),
            "copied bigrams": np.array(copied),
        }
        figures[name] = {judge: agreement(values, human, groups) for judge, values in columns.items()}
        figures[name]["failed"] = len(rows) - len(kept)
    return figures


def between(scores: dict[str, dict[str, float | None]]) -> dict[str, float]:
    """How the criteria order the same items: the lowest, the median and the highest Spearman of two of
    them."""
    names = list(scores)
    items = [item for item in scores[names[0]] if all(scores[name][item] is not None for name in names)]
    columns = [np.array([scores[name][item] for item in items], dtype=float) for name in names]
    pairs = [spearman(a, b) for n, a in enumerate(columns) for b in columns[:n]]
    return {
        "lowest": min(pairs),
        "median": float(np.median(pairs)),
        "highest": max(pairs),
        "pairs": len(pairs),
    }


def print_table(title: str, figures: dict[str, Any]) -> None:
    print(f"\n{title}: Spearman with human ratings [95 % interval, documents resampled]")
    print(f"  {'criterion':<16}{'judge':<36}{'over all items':<24}{'within documents':<24}n")
    for name, judges in figures.items():
        for judge, estimates in judges.items():
            if judge != "failed":
                n_rated = f"{estimates['n']} in {estimates['groups']}, {judges['failed']} failed"
                print(
                    f"  "
                    f"{name:<16}{judge:<36}{_shown(estimates['overall']):<24}{_shown(estimates['within']):<24}{n_rated}"
                )


def _shown(value: list[float | None]) -> str:
    if value[0] is None:
        return "undefined"
    return f"{value[0]:.2f} [{value[1]:.2f}, {value[2]:.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=int, default=12, help="documents of summeval")
    parser.add_argument("--all-criteria", action="store_true", help="also the five that no one has rated")
    parser.add_argument(
        "--variants", action="store_true", help="also in the other direction, which takes longer"
    )
    parser.add_argument("--skip", type=int, default=0, help="documents of summeval to leave out before those")
    parser.add_argument(
        "--sfres", type=int, default=0, metavar="N", help="also N sentences made from dialogue acts"
    )
    parser.add_argument("--store", type=Path, default=None)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        sys.exit(f"{arguments.data} is not there: the human ratings are not part of this repository.")
    with tempfile.TemporaryDirectory() as folder:
        store = arguments.store or Path(folder) / "quality.db"
        rows = summeval(arguments.data, arguments.limit, arguments.skip)
        criteria = [*SUMMEVAL.values(), *(OTHERS if arguments.all_criteria else ())]
        variants = list(VARIANTS.values()) if arguments.variants else []
        scores = judged(rows, criteria + variants, store)
        output: dict[str, Any] = {
            "summeval": table(rows, SUMMEVAL, scores),
            "between_criteria": between({name: scores[name] for name in criteria}),
        }
        if arguments.sfres:
            rows = sfres(arguments.data, arguments.sfres)
            output["sfres"] = table(rows, SFRES, judged(rows, list(SFRES.values()), store))
    if arguments.json:
        print(json.dumps(output, indent=2))
    else:
        for title in ("summeval", "sfres"):
            if title in output:
                print_table(title, output[title])
        pairs = output["between_criteria"]
        print(
            f"\nThe criteria among each other ({pairs['pairs']} pairs): Spearman from {pairs['lowest']:.3f} "
            f"to {pairs['highest']:.3f}, median {pairs['median']:.3f}."
        )
    reached = {
        name: output["summeval"][name][f"gptscore/{name}"]["overall"][0] or -1.0 for name in MUST_REACH
    }
    sys.exit(0 if all(reached[name] >= least for name, least in MUST_REACH.items()) else 1)


if __name__ == "__main__":
    main()
