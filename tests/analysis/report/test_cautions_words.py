"""The cautions of a report in words: one case for each that the golden outputs do not show."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from adjudge.analysis.run_view.run_facts import ModelFacts, ProtocolFacts
from adjudge.records import Evidence, Result, Scale
from adjudge.stats import position_bias
from judged import choice, score
from views import Facts, facts, summarise

VALUES = [1, 2, 3, 4, 5, 3, 4, 2, 4, 5] * 2


def scored(model: str = "m", system: str = "x", step: int = 1) -> list[Result]:
    return [score(f"{system}{k}", value, system, model=model) for k, value in enumerate(VALUES[::step])]


ROWS = scored()
PLACE = facts(order={"overall": position_bias(["first"] * 20, [None] * 20)})


@pytest.mark.parametrize(
    ("rows", "known", "words"),
    [
        (ROWS, facts(models=(ModelFacts("m", {"old": 6, "new": 4}),)), "reported 2 model names during this "
                                                                       "run: old (6 replies), new (4 replies)"),  # noqa: E501
        (ROWS, facts(models=(ModelFacts("m", {"m": 9}, {"f": 4, "g": 5}),)), "replied under 2 system "
                                                                             "fingerprints"),
        (ROWS, facts(scales={("p", "clarity"): Scale(1, 5, "unknown")}), "which end of the scale of clarity "
                                                                         "is good"),
        (ROWS, facts(n_left_out=7), "7 bad lines of the items file were skipped"),
        (scored() + scored("n", step=-1), facts(), "the judges agree poorly"),
        (scored("openai:gpt-4o", "gpt-4") + scored("openai:gpt-4o"), facts(), "openai:gpt-4o judges systems "
                                                                              "of its own model family "
                                                                              "(OpenAI): gpt-4."),
        (scored("local"), facts(models=(ModelFacts("local"),), protocols=(ProtocolFacts("p", "1", "tag"),)),
        "too small to follow a rubric"),
        (ROWS, facts(call_errors={"server": 1}, n_reasks_failed=1), "1 call got no reply (server 1). 1 of "
                                                                    "them asked again after an unreadable "
                                                                    "reply"),
        ([choice("1", "a")], PLACE, "prefers the response shown first (position bias): the first response "
                                    "won 100 %"),
        ([choice("1", "b", flags=("verdict_contradicts_scores",))], facts(), "In 1 of 1 item, the judge "
                                                                             "chose the response to which it "
                                                                             "gave the lower score"),
        ([choice("1", "b", flags=("between_levels",))], facts(), "the judge gave a score between levels"),
        ([replace(row, evidence=6 * (Evidence("a rhyme", False),)) for row in ROWS[:2]], facts(),
        "0 % of 12 quotes are in the response"),
    ],
)  # fmt: skip
def test_a_caution_says_what_to_beware_of(rows: list[Result], known: Facts, words: str) -> None:
    assert words in " ".join(caution.text for caution in summarise(rows, facts=known).warnings)
