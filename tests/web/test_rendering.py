"""Texts as they are meant to be read: Markdown and JSON without a way to act, hidden joiners, contradictions, search hits."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.web.templating import hits, middle, rendered, shown
from running import DIRECT, adjudge, answers, write_rows
from webclient import Browser


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# Head\n\ntext", '<p class="md-head">Head</p><p>text</p>'),
        ("- one\n- two", '<p class="md-item">• one</p><p class="md-item">• two</p>'),
        ("so **much** `x<y`", "<p>so <strong>much</strong> <code>x&lt;y</code></p>"),
        ("a\n```\n<b>\n```\nb", '<p>a</p><pre class="code" dir="ltr">&lt;b&gt;</pre><p>b</p>'),
        ("[link](javascript:alert(1)) **b**", "<p>[link](javascript:alert(1)) <strong>b</strong></p>"),
    ],
)
def test_markdown_is_rendered_and_everything_in_it_is_escaped(text: str, wanted: str) -> None:
    assert str(rendered(text)) == wanted


def test_json_is_indented_with_its_parts_coloured() -> None:
    page = str(rendered('{"score": 4, "why": "<script>"}'))
    assert '<span class="j-key">&#34;score&#34;</span>' in page
    assert '<span class="j-number">4</span>' in page
    assert "<script>" not in page


@pytest.mark.parametrize("text", ["plain words", "{broken", "3 * 4 * 5", ""])
def test_other_text_is_left_as_it_is(text: str) -> None:
    assert rendered(text) is None


@pytest.mark.parametrize("hidden", ["\u200b", "\u200d", "\u200c", "\ufeff", "\u2060"])
def test_zero_width_characters_in_latin_text_are_written_out(hidden: str) -> None:
    page = str(shown(f"ig{hidden}nore"))
    assert hidden not in page
    assert f"{ord(hidden):04x}" in page.lower()


@pytest.mark.parametrize("text", ["می‌خواهم", "👩‍👧", "क्‍ष"])
def test_joiners_that_join_something_stay(text: str) -> None:
    assert str(shown(text)) == text


def test_names_lose_their_middle_and_hits_are_marked() -> None:
    assert middle("abcdefghij", 7) == "abc…hij"
    assert middle("short", 7) == "short"
    assert str(hits("A <b> a", "a")).count("<mark") == 2
    assert "<b>" not in str(hits("A <b> a", "<b>"))


def test_all_contradicting_answers_of_a_reply_are_marked_as_such(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 2)
    replies = write_rows(
        tmp_path / "replies.jsonl",
        [
            {"item": "i1", "text": "Fine. [RESULT] 4 No: [RESULT] 2"},
            {"item": "i2", "text": "Fine. [RESULT] 3"},
        ],
    )
    adjudge("run", items, *DIRECT, "-m", f"replay:{replies}", "--run", "r", "--store", tmp_path / "s.db")
    browser = Browser(tmp_path / "s.db")
    conflicting, sound = (browser.get(f"/item?run=r&n={n}").text for n in (0, 1))
    assert conflicting.count('<mark class="span doubt"') == 2
    assert '<mark class="span"' not in conflicting
    assert sound.count('<mark class="span"') == 1
    assert "doubt" not in sound
