"""The sentences of a comparison that the golden outputs do not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge.records import Result, Scale
from judged import FIVE, choice, cycle, judged_run, score
from running import EXAMPLES
from running import adjudge as command

UNKNOWN = Scale(1.0, 5.0, "unknown", 1.0)


def scored(*values: float, scale: Scale | None = None, **fields: Any) -> list[Result]:
    def normalized(value: float) -> float | None:
        return scale.normalized(value) if scale is not None else None

    return [score(f"i{k}", value, normalized=normalized(value), **fields) for k, value in enumerate(values)]


def two_systems(good: str) -> list[Result]:
    return [
        score(f"{k}-{system}", (4.0 if system == good else 2.0) + k % 2, system, f"g{k}")
        for k in range(20)
        for system in ("x", "y")
    ]


def words_of(first: list[Result], second: list[Result], scale: Scale | None = FIVE) -> str:
    scales = {"clarity": scale} if scale is not None else None
    comparison = adjudge.compare(first, second, scales=scales, names=("old", "new"))
    parts = [
        text
        for criterion in comparison.criteria.values()
        for text in (*criterion.sentences, *criterion.notes)
    ]
    return "\n".join((*comparison.summary, *comparison.notes, *parts))


PANEL = scored(3, 4, 2, model="a") + scored(1, 2, 2, model="b")


@pytest.mark.parametrize(
    ("first", "second", "scale", "words"),
    [
        (two_systems("x"), two_systems("y"), FIVE, "x is significantly above y in old, y above x in new"),
        (scored(1, 2, scale=FIVE), scored(2, 4, scale=Scale(0, 10, 10), protocol="q@1"), None,
        "The scales differ"),
        (scored(*range(1, 6)), scored(*range(5, 0, -1)), UNKNOWN, "upside down"),
        (scored(3, 4, 4, 3, 4, 3, 4), scored(1, 2, 1, 2, 1, 2, 1), Scale(0, 5, 0), "lower (−"),
        (scored(1, 2, system="v1"), scored(2, 3, system="v2"), FIVE, "different system name"),
        (PANEL, scored(3, 3, 3, model="c"), FIVE, "mean of its judges a, b"),
        ([choice(f"{k}", "a") for k in range(30)], [choice(f"{k}", "b") for k in range(30)], FIVE,
        "x wins in old, y in new"),
    ],
)  # fmt: skip
def test_a_comparison_says_what_its_numbers_mean(
    first: list[Result], second: list[Result], scale: Scale | None, words: str
) -> None:
    assert words in words_of(first, second, scale)


def test_without_a_known_good_end_nothing_is_called_better() -> None:
    assert "better than" not in words_of(scored(*range(1, 6)), scored(*range(5, 0, -1)), UNKNOWN)


def test_what_may_have_caused_a_change_is_said(tmp_path: Path) -> None:
    judged_run(tmp_path, "v1", {"v1": cycle([2, 3, 3, 4], 40)})
    judged_run(tmp_path, "again", {"v1": cycle([3, 4, 4, 4], 40)})
    judged_run(tmp_path, "v3", {"v3": cycle([3], 40)}, text="other", model="fake:text=[RESULT] 3")

    def printed(second: str) -> str:
        return " ".join(command("compare", "v1", second, "--store", tmp_path / "adjudge.db").out.split())

    assert "Do not mix scores of the two runs in one table." in printed("again")
    assert "Both the texts and the judge (protocol, model or settings) differ" in printed("v3")


def test_win_rates_are_percentages_in_every_table_and_sentence(tmp_path: Path) -> None:
    """As everywhere else: 72 %, not 0.722; differences too."""
    outputs = [EXAMPLES / f"ranking/{name}.jsonl" for name in ("clear", "terse", "wordy")]
    assert command("pair", *outputs, "-o", tmp_path / "pairs.jsonl").code == 0
    for order in ("given", "both"):
        made = command(
            "run", tmp_path / "pairs.jsonl", "-p", "prometheus/pairwise", "--rubric",
            EXAMPLES / "ranking/helpful.toml", "-m", f"replay:{EXAMPLES / 'ranking/replies.jsonl'}",
            "--order", order, "--run", order, "--store", tmp_path / "a.db",
        )  # fmt: skip
        assert made.code in (0, 4), made.err
    told = command("compare", "given", "both", "--full", "--store", tmp_path / "a.db").out
    rows = [line for line in told.splitlines() if " vs " in line and "[" in line]
    assert rows
    assert all(line.count("%") >= 5 for line in rows), rows
    rates = command("compare", "given", "both", "--json", "--store", tmp_path / "a.db").json
    one = next(iter(next(iter(rates["criteria"].values()))["systems"].values()))
    assert 0 <= one["first"]["value"] <= 1, "--json keeps the share"
