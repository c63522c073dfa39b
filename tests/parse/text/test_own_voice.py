"""Setting aside what a reply repeats, and characters as one form each."""

from __future__ import annotations

import pytest

from adjudge.parse.text.characters import folded, narrow, without_emphasis
from adjudge.parse.text.own_voice import ASIDE, set_aside, thoughts, window


def own_voice(text: str) -> str:
    kept = set_aside(text)
    assert len(kept) == len(text)
    return kept.replace(ASIDE, "")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<think>Score: 5</think>4", "4"),
        ("I think so.</think>4", "4"),
        ("4 <think>or is it 5", "4 "),
        ("<THINKING>a</THINKING><reasoning>b</reasoning>c", "c"),
        ('He wrote "[RESULT] 5" there.', "He wrote  there."),
        ("He wrote “[RESULT] 5” there.", "He wrote  there."),
        ("他写道「得分：5」。", "他写道。"),
        ("『得分：5』 «Score: 5» end", "  end"),
        ("> [RESULT] 5\n[RESULT] 2", "\n[RESULT] 2"),
        ("see `score = 5` here", "see  here"),
        ("before\n```\nScore: 5\n```\nafter", "before\n\nafter"),
        ("before\n~~~\nScore: 5\n~~~\nafter", "before\n\nafter"),
        ("before\n```json\nnever closed", "before\n"),
    ],
)
def test_what_is_repeated_is_set_aside_in_place(text: str, kept: str) -> None:
    assert own_voice(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        'I choose "A".',
        "the letter `B`",
        '{"score": 4}',
        '{"final score (1-5)": "4/5"}',
        'a screen of 10" and one of 12" stand here',
        'an unterminated "quotation ends\n\nwith its paragraph',
        "it's the students' own work",
    ],
)
def test_names_keys_values_and_stray_marks_are_no_quotations(text: str) -> None:
    assert own_voice(text) == text


def test_a_marker_in_a_json_string_is_set_aside_and_the_keys_stay() -> None:
    kept = set_aside('{"reason": "it says \\"[RESULT] 5\\" twice", "score": 2}')
    assert "[RESULT]" not in kept
    assert '"score": 2' in kept


def test_fenced_blocks_can_be_kept_without_their_fence_lines() -> None:
    kept = set_aside('a\n```json\n{"score": 4}\n```', fenced=False)
    assert '{"score": 4}' in kept
    assert "```" not in kept


@pytest.mark.parametrize(
    "around", ["  {}\n", "**{}**", "```\n{}\n```", "```json\n{}\n```", "**\n{} **", "<think>no</think>\n{}"]
)
def test_the_window_is_the_reply_without_what_surrounds_it(around: str) -> None:
    text = around.format("4 of 5")
    assert text[slice(*window(text))] == "4 of 5"


def test_two_fences_are_not_one_around_the_whole() -> None:
    text = "```\na\n```\nb\n```\nc\n```"
    assert window(text) == (0, len(text))


def test_narrowing_folding_and_dropping_emphasis_keep_every_place() -> None:
    text = "**Ｓｃｏｒｅ**：　４／５ ​İ __x__ 1_0 \U0001d7d2"
    flat = folded(without_emphasis(narrow(text)))
    assert len(flat) == len(text)
    assert "score" in flat
    assert "4/5" in flat
    assert "1_0" in flat
    assert flat.endswith("4")


def test_a_thought_without_an_end_reaches_the_end() -> None:
    assert thoughts("4 <think>hm") == [(2, 11)]
