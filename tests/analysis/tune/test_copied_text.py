"""Copies of labelled texts in prompts."""

from __future__ import annotations

from adjudge.analysis.tune.copied_text import copied_text

TEXT = "The soup was cold, and the waiter said that it is meant to be so."


def test_eight_words_in_a_row_are_a_copy_whatever_the_case_and_punctuation() -> None:
    assert copied_text("For example: the SOUP was cold and the waiter said: 2.", [TEXT]) is not None
    assert copied_text("The soup was cold. A waiter said it.", [TEXT]) is None


def test_a_short_text_is_a_copy_as_a_whole_and_single_words_are_not() -> None:
    assert copied_text("“Thank you, dear guest” is worth 5.", ["Thank you, dear guest!"]) is not None
    assert copied_text("Thank you is worth 5.", ["Thank you!"]) is None


def test_what_the_start_says_already_is_no_copy() -> None:
    assert copied_text(f"Judge this. {TEXT}", [TEXT], start_prompt=TEXT) is None


def test_chinese_is_compared_by_characters() -> None:
    assert copied_text("例如：这道菜的味道非常好吃，给五分", ["我觉得这道菜的味道非常好吃。"]) is not None
    assert copied_text("请为这道菜打分", ["我觉得这道菜的味道非常好吃。"]) is None
