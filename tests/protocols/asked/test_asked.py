"""What a prompt asks its judge for: the form of the reply, verdicts, names of two responses."""

from __future__ import annotations

import pytest

from adjudge.protocols.asked.choices import offered_choices
from adjudge.protocols.asked.format import INPUT, asked_format
from adjudge.protocols.asked.verdicts import good_end, verdicts_behind, verdicts_in


@pytest.mark.parametrize(
    ("text", "reader", "settings"),
    [
        (f"Rate <score>{INPUT}</score>. End with [RESULT] and the number.", "marker", {"marker": "[RESULT]"}),
        (f"<answer>\n{INPUT}\n</answer>\nWrite the grade inside <grade> tags.", "tag", {"tag": "grade"}),
        (f'Rate {INPUT}. Reply with {{"why": "…", "score": N}}', "json", {"score": "score"}),
        (
            f'{{"poem": "{INPUT}"}}\nReturn JSON with the fields "reasoning" and "rating".',
            "json",
            {"score": "rating"},
        ),
        (f"Rate {INPUT}.\n- Coherence:", "label", {"labels": ["Coherence"]}),
        (f"Rate {INPUT}. An example:\n\n## Final Verdict\nTRUE\n", "label", {"labels": ["Final Verdict"]}),
        (
            f"Rate {INPUT}. Write a JSON object with exactly these keys:\n  - why: short\n  - score: 1 to 5",
            "json",
            {"score": "score"},
        ),
        (
            f"Rate {INPUT}.\n- Score: a number.\nAnswer as <T0>your thoughts</T0>, <T1>your Score</T1>.",
            "tag",
            {"tag": "T1"},
        ),
        (f"Rate {INPUT}. Reply 'GRADE: $LETTER'.", "label", {"labels": ["GRADE"]}),
    ],
)
def test_the_reader_comes_from_the_output_part(text: str, reader: str, settings: dict[str, object]) -> None:
    asked = asked_format(text, is_compare=False)
    assert asked is not None
    assert asked.reader == reader
    assert settings.items() <= dict(asked.settings).items()


def test_a_hole_in_a_line_is_no_tag() -> None:
    text = f"Compare {INPUT} and {INPUT}.\nScore of the first: <score>\nScore of the second: <score>"
    assert asked_format(text, is_compare=True) is None


def test_an_example_of_the_material_is_no_format() -> None:
    text = (
        f'Input: {{"TEXT": "old", "ANSWER": "yes"}} Output: 1\nInput: {{"TEXT": {INPUT}, "ANSWER": {INPUT}}}'
    )
    assert asked_format(text, is_compare=False) is None


def test_two_lines_with_a_score_each_are_a_pair_of_scores() -> None:
    text = f"{INPUT} {INPUT} Write two lines with the scores for Assistant 1 and 2."
    asked = asked_format(text, is_compare=True)
    assert asked is not None
    assert asked.settings == {"subjects": {"a": "Assistant 1", "b": "Assistant 2"}}


def test_verdicts_behind_the_label_of_the_examples() -> None:
    found = verdicts_behind("Sign: low\nlabel: true\n\nSign: high\nlabel: false\n", ["label"])
    assert found is not None
    assert found.options == {"true": 1, "false": 0}
    assert verdicts_behind("score: 3\nscore: 4\n", ["score"]) is None


def test_a_ranking_names_the_two_models() -> None:
    text = (
        f"{{'model': 'm1', 'text': '{INPUT}'}} {{'model': 'm2', 'text': '{INPUT}'}}\nReturn "
        f"[{{'model': <name>, 'rank': <rank>}}]"
    )
    asked = asked_format(text, is_compare=True)
    assert asked is not None
    assert asked.reader == "ranking"
    assert asked.settings["choices"] == {"a": "m1", "b": "m2"}


@pytest.mark.parametrize(
    ("text", "options", "best"),
    [
        ("Is the sign correct or incorrect?", {"correct": 1, "incorrect": 0}, 1),
        ('Answer only "Yes" or "No".', {"Yes": 1, "No": 0}, "unknown"),
        (
            'Choose "C" for correct signs, "P" for partially correct ones, or "I" for incorrect '
            "signs. Reply with one.",
            {"C": 1, "P": 0.5, "I": 0},
            1,
        ),
        (
            "Select one of the following options:\n(A) less\n(B) more\n(C) the same",
            {"A": 0, "B": 1, "C": 2},
            "none",
        ),
        ("Return the letter:\nA: CORRECT\nB: INCORRECT", {"A": 1, "B": 0}, 1),
        ("correct: Answer 'yes' if the sign matches, 'no' otherwise.", {"yes": 1, "no": 0}, "unknown"),
    ],
)
def test_verdicts_in_words(text: str, options: dict[str, float], best: float | str) -> None:
    verdicts = verdicts_in(text)
    assert verdicts is not None
    assert dict(verdicts.options) == options
    assert verdicts.best == best


@pytest.mark.parametrize(
    "text",
    [
        "Give examples of grounded/ungrounded content.",
        "Facts that are right or wrong matter less.",
        "Rate it.",
    ],
)
def test_prose_is_no_verdict(text: str) -> None:
    assert verdicts_in(text) is None


def test_the_key_says_which_verdict_is_good() -> None:
    assert good_end("is_correct") == 1
    assert good_end("toxic") == 0
    assert good_end("result") == "unknown"


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("[[A]] or [[B]], [[C]] for a tie", {"a": "A", "b": "B", "tie": "C"}),
        ("Say 'Response 1' / 'Response 2' / 'Tie'.", {"a": "Response 1", "b": "Response 2", "tie": "tie"}),
        ("Finish with `m` or `M`.", {"a": "m", "b": "M"}),
        ('Which of Response A and Response B? Write either "A" or "B".', {"a": "A", "b": "B"}),
        ("A prompt about nothing", None),
    ],
)
def test_names_of_two_responses(text: str, choices: dict[str, str] | None) -> None:
    assert offered_choices(text) == choices


def test_graded_names_in_json() -> None:
    assert offered_choices("", "[A++ or A+ or A=B or B+ or B++]") == {"a": "A", "b": "B", "tie": "A=B"}
