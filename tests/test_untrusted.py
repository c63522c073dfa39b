"""Text from outside cannot act where it is shown, and ordinary text of every script stays as it is."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.untrusted import ACTING, safe, safe_text

READABLE_FORMATS = (
    "\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Format characters that join letters, or have a glyph as
signs of Arabic, Syriac and Kaithi; none acts on a terminal.
"""


def is_dangerous(character: str) -> bool:
    is_tag = "\U000e0000" <= character <= "\U000e007f"
    is_format = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    return (is_format or is_tag) and character not in READABLE_FORMATS


def test_the_table_holds_every_control_format_and_separator_character_of_unicode() -> None:
    missing = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if is_dangerous(chr(code)) and not ACTING.match(chr(code))
    ]
    assert missing == []


def test_the_table_holds_no_letter_mark_number_symbol_or_space() -> None:
    assigned = (chr(code) for code in range(sys.maxunicode + 1))
    readable = [
        c for c in assigned if unicodedata.category(c)[0] in "LMNPS" or unicodedata.category(c) == "Zs"
    ]
    assert [hex(ord(c)) for c in readable if ACTING.match(c)] == []


ANY = st.text(st.characters(), max_size=80)
"""all characters, halves of surrogate pairs among them"""
CONTROLS = st.text(
    st.sampled_from("a가🙂 \x00\x07\x1b\x9b\r\n\t\x85\u200b\u200f\u2028\u2029\u202e\u2066\U000e0041\ufeff"),
    max_size=40,
)


@given(ANY | CONTROLS)
def test_no_dangerous_character_survives_and_nothing_else_changes(text: str) -> None:
    for shown, kept in ((safe_text(text), "\n\t"), (safe_text(text, ""), ""), (safe(text), "")):
        assert not [character for character in shown if is_dangerous(character) and character not in kept]
        shown.encode("utf-8")
    expected = "".join("" if ACTING.match(c) and c not in "\n\t" else c for c in text)
    assert re.sub(r"\\u[0-9a-f]{4}|\\U[0-9a-f]{8}", "", safe_text(text)) == re.sub(
        r"\\u[0-9a-f]{4}|\\U[0-9a-f]{8}", "", expected
    )


@given(ANY | CONTROLS)
def test_a_name_is_one_line_without_commands_to_a_runner(text: str) -> None:
    line = safe(text)
    assert len(line.splitlines()) <= 1
    assert not line.lstrip().startswith("::")
    assert "##[" not in line


@pytest.mark.parametrize(
    "text",
    ["gpt-4o", "모델 3.1 조선말", "评分：十分", "نمی\u200cخواهم", "क्\u200dष", "👩\u200d🔬 👍🏽 ❤\ufe0f 🇰🇷",
    "Ελληνικά, עברית, Русский",
     "𝔘𝔫𝔦", "a::b", "x [y] {z}", "٣\u06dd", "葛\U000e0100"],
)  # fmt: skip
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert safe(text) == safe_text(text) == text


def test_escapes_say_which_character_it_was() -> None:
    assert safe_text("a\x1b[2Jb\u2028c\U000e0041\nd") == "a\\u001b[2Jb\\u2028c\\U000e0041\nd"
    assert safe("a\tb\nc\x1b") == "a b c\\u001b"


def test_the_attack_cases_do_nothing_on_a_terminal(attacks: list[dict[str, str]]) -> None:
    payloads = [attack["payload"] for attack in attacks]
    assert any("\u202e" in payload for payload in payloads)
    for payload in payloads:
        assert not any(map(is_dangerous, safe(payload)))
        assert not any(is_dangerous(c) for c in safe_text(payload) if c not in "\n\t")
        assert not re.search(r"(?m)^\s*::|##\[", safe(payload))
