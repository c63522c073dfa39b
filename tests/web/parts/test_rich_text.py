"""Texts as they are meant to be read: Markdown and JSON without
a way to act, hidden joiners, contradictions, search hits.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.web.parts.marks import hits, marked
from adjudge.web.parts.names import middle
from adjudge.web.parts.rich_text import rendered
from adjudge.web.parts.safe_text import shown
from running import DIRECT, adjudge, answers, write_rows
from webclient import Browser


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# Head\n\ntext", '<p class="md-head md-h1">Head</p><p>text</p>'),
        ("- one\n- two", "<ul><li>one</li><li>two</li></ul>"),
        ("3. one\n   - in\n4. two", '<ol start="3"><li>one<ul><li>in</li></ul></li><li>two</li></ol>'),
        ("> said\n> so", "<blockquote><p>said\nso</p></blockquote>"),
        ("so **much** `x<y`", "<p>so <strong>much</strong> <code>x&lt;y</code></p>"),
        (
            "**a *b* c** ~~d~~ 2*3*4 a_b_c",
            "<p><strong>a <em>b</em> c</strong> <del>d</del> 2*3*4 a_b_c</p>",
        ),
        ("a\n```\n<b>\n```\nb", '<p>a</p><pre class="code" dir="ltr">&lt;b&gt;</pre><p>b</p>'),
        (
            "```python\nx = 1  # no\n```",
            '<pre class="code" dir="ltr">x = <span class="j-number">1</span>  <span '
            'class="j-comment"># no</span></pre>',
        ),
        (
            "[link](javascript:alert(1)) **b**",
            '<p>link <span class="md-url">(javascript:alert(1))</span> <strong>b</strong></p>',
        ),
        (
            "![x](https://e.org/p.png)",
            '<p><span class="md-url">picture</span> x <span class="md-url">(https://e.org/p.png)</span></p>',
        ),
        (
            "| a | b |\n|---|--:|\n| <i> | 2 |",
            '<div class="scroll" tabindex="0" role="group" aria-label="table"><table '
            'class="md-table"><thead><tr><th scope="col">a</th><th scope="col" '
            'class="num">b</th></tr></thead>'
            '<tbody><tr><td>&lt;i&gt;</td><td class="num">2</td></tr></tbody></table></div>',
        ),
        (
            "**b** <img src=x onerror=alert(1)>",
            "<p><strong>b</strong> &lt;img src=x onerror=alert(1)&gt;</p>",
        ),
    ],
)
def test_markdown_is_rendered_and_everything_in_it_is_escaped(text: str, wanted: str) -> None:
    assert str(rendered(text)) == wanted


def test_json_is_indented_with_its_parts_coloured() -> None:
    page = str(rendered('{"score": 4, "why": "<script>", "none": []}'))
    assert '{\n  <span class="j-key">&#34;score&#34;</span>: <span class="j-number">4</span>,\n' in page
    assert page.endswith("[]\n}</pre>")
    assert "<script>" not in page


TAG = re.compile(r"<[^>]*>")
ALLOWED = re.compile(
    r"</?(?:p|ul|li|blockquote|strong|em|del|code|pre|table|thead|tbody|tr|th|td|div|span|mark|ol)>|<hr>"
    r'|<p class="md-head md-h[1-6]">|<ol start="\d{1,9}">|<pre class="code" dir="ltr">|<th '
    r'scope="col"(?: class="num")?>|<td class="num">|<table class="md-table">'
    r'|<div class="scroll" tabindex="0" role="group" aria-label="table">|<span '
    r'class="(?:md-url|ctl|j-(?:key|text|number|word|comment))">'
    r'|<mark class="span(?: doubt| hit)?" title="(?:read|found|one of several answers that '
    r'contradict each other)">'
)
PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["# ", "- ", "1. ", "> ", "```", "```js\n", "`", "**", "*", "_", "~~", "[a](", ")", "![", "|",
        "|-|", "\n", "\n\n", "  ",
         "<b>", "&lt;", '"', "'", "/*", "//", "\\", "{", "}", '"a": ', "<script>", "\u202e", "\u200b",
         "onerror=", "javascript:"]
    ),
)  # fmt: skip


def places(page: str) -> str:
    """What a reader sees: the text without tags."""
    return unescape(TAG.sub("", page))


@given(st.lists(PIECES, max_size=40).map("".join), st.integers(0, 60), st.integers(1, 8))
def test_no_text_makes_a_tag_or_an_attribute_that_is_not_on_the_list(text: str, start: int, n: int) -> None:
    for page in (
        rendered(text, [(start, start + n)], "read", searched="a"),
        marked(text, [(start, start + n)], "read", [(start, start + n)], "a"),
        rendered(f"**b**\n{text}"),
    ):
        tags = TAG.findall(str(page or ""))
        assert [tag for tag in tags if not ALLOWED.fullmatch(tag)] == []
        opened = [tag[1:-1].split(" ")[0] for tag in tags if not tag.startswith("</") and tag != "<hr>"]
        closed = [tag[2:-1] for tag in tags if tag.startswith("</")]
        assert sorted(opened) == sorted(closed)


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(0, 60), st.integers(1, 8))
def test_a_mark_in_rendered_text_is_the_text_that_was_read_or_the_raw_text_is_shown(
    text: str, start: int, n: int
) -> None:
    whole = f"**b** {text}"
    end = min(len(whole), start + n)
    page = rendered(whole, [(start, end)], "read")
    if page is not None and start < end:
        inside = "".join(re.findall(r'<mark class="span" title="read">(.*?)</mark>', str(page), re.S))
        assert places(inside) == places(str(shown(whole[start:end])))


@given(st.lists(PIECES, max_size=40).map("".join))
def test_rendering_hides_no_letter(text: str) -> None:
    page = rendered(text)
    if page is not None:
        seen = [letter for letter in places(str(page)) if letter.isalpha()]
        hidden = [letter for letter in text if letter.isalpha() and letter not in seen]
        # Only the language of a fence is not shown.
        assert not hidden or "```" in text or "~~~" in text


@pytest.mark.parametrize(
    "text",
    [
        "| a |\n|---|\n| b | lost |",
        "[ref]: http://example.org 'title'\n\n**b**",
        "**b**\n\n" + "> " * 40 + "deep",
    ],
)
def test_a_text_of_which_a_part_would_vanish_is_shown_as_it_is_or_whole(text: str) -> None:
    page = rendered(text)
    assert page is None or all(word in places(str(page)) for word in re.findall(r"[a-z]+", text))


@pytest.mark.parametrize(
    "text",
    ["`" * 60_000, "**a " * 15_000, "[a](" * 15_000, ">" * 60_000, "- a\n" * 15_000, "|a" * 30_000,
    "[" * 60_000, "*" * 60_000,
     "```js\n" + "/*" * 29_000, "\\" * 60_000, "\n".join(" " * k + "- a" for k in range(340)),
     "> - " * 15_000],
)  # fmt: skip
def test_hostile_markdown_is_rendered_without_a_deep_stack(text: str) -> None:
    # Each of these takes well under a second; nested quantifiers or searches would take minutes here.
    rendered(f"**b** {text}"[:60_000])
    rendered(text[:60_000])


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
