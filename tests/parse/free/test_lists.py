"""Reading lists from replies: what is an entry, what only
looks like one, and what becomes of a list that is cut off.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import read_list, read_option
from adjudge.parse.spans_of_claims import find_place
from clock import LINEAR, growth

WHOLE = ("Ada was born in 1815.", "Ada wrote notes.")

CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "numbers": ("1. Ada was born in 1815.\n2. Ada wrote notes.", WHOLE),
    "numbers in brackets": ("(1) Ada was born in 1815.\n(2) Ada wrote notes.", WHOLE),
    "square brackets": ("[1] Ada was born in 1815.\n[2] Ada wrote notes.", WHOLE),
    "a closing bracket": ("1) Ada was born in 1815.\n2) Ada wrote notes.", WHOLE),
    "bold numbers": ("**1.** Ada was born in 1815.\n**2.** Ada wrote notes.", WHOLE),
    "bold entries": ("1. **Ada was born in 1815.**\n2. **Ada wrote notes.**", WHOLE),
    "a word before the number": ("Claim 1: Ada was born in 1815.\nClaim 2: Ada wrote notes.", WHOLE),
    "full width": ("１．Ada was born in 1815.\n２．Ada wrote notes.", WHOLE),
    "circled numbers": ("① Ada was born in 1815.\n② Ada wrote notes.", WHOLE),
    "a Chinese comma": ("1、Ada was born in 1815.\n2、Ada wrote notes.", WHOLE),
    "dashes": ("- Ada was born in 1815.\n- Ada wrote notes.", WHOLE),
    "stars": ("* Ada was born in 1815.\n* Ada wrote notes.", WHOLE),
    "dots": ("• Ada was born in 1815.\n• Ada wrote notes.", WHOLE),
    "blank lines between": ("1. Ada was born in 1815.\n\n2. Ada wrote notes.", WHOLE),
    "a sentence before it": ("Here are the claims:\n1. Ada was born in 1815.\n2. Ada wrote notes.", WHOLE),
    "a remark behind it": ("1. Ada was born in 1815.\n2. Ada wrote notes.\n\nI left out opinions.", WHOLE),
    "a fence around it": ("```\n1. Ada was born in 1815.\n2. Ada wrote notes.\n```", WHOLE),
    "a draft in a thought": ("<think>1. Wrong.</think>\n1. Ada was born in 1815.\n2. Ada wrote notes.",
    WHOLE),
    "an entry split over lines": ("1. Ada was\n   born in 1815.\n2. Ada wrote notes.", WHOLE),
    "an entry split without indentation": ("1. Ada was born in\n1815.\n2. Ada wrote notes.", WHOLE),
    "a year that looks like a number": ("1. The year was\n1999. It rained.\n2. Ada wrote.",
    ("The year was 1999. It rained.", "Ada wrote.")),
    "a decimal that looks like a number": ("1. It costs\n2.5 euros.\n2. Ada wrote.", ("It costs 2.5 euros.",
    "Ada wrote.")),
    "numbering that restarts": ("First part\n1. One.\n2. Two.\n\nSecond part\n1. Three.", ("One.", "Two.",
    "Three.")),
    "a final list that replaces the draft": ("1. Ada was born.\n\nRevised list:\n1. Ada was born in "
                                             "1815.\n2. Ada wrote notes.", WHOLE),
    "numbering with a gap": ("1. One.\n2. Two.\n4. Four.", ("One.", "Two.", "Four.")),
    "the same text twice": ("1. One.\n2. One.", ("One.", "One.")),
    "a mark quoted on the line": ('1. The response says "2. Buy milk".\n2. Ada wrote notes.',
    ('The response says "2. Buy milk".', "Ada wrote notes.")),
    "marks quoted over lines": ('1. The response lists "1. milk\n2. eggs\n3. flour".\n2. Ada wrote notes.',
    ('The response lists "1. milk 2. eggs 3. flour".', "Ada wrote notes.")),
    "a verdict quoted in an entry": ('1. It says "Verdict: supported".\n2. Ada wrote notes.',
    ('It says "Verdict: supported".', "Ada wrote notes.")),
    "quotation marks that are never closed": ('1. The "title is long.\n2. The "name" is short.',
    ('The "title is long.', 'The "name" is short.')),
    "headings with entries below": ("1. Life:\n   - Ada was born in 1815.\n2. Work:\n   - Ada wrote notes.",
    WHOLE),
    "an inner list of one entry": ("- Ada was born in 1815.\n  - in London\n- Ada wrote notes.",
    ("Ada was born in 1815. - in London", "Ada wrote notes.")),
    "a rule between": ("- Ada was born in 1815.\n- Ada wrote notes.\n---", WHOLE),
    "JSON": ('["Ada was born in 1815.", "Ada wrote notes."]', WHOLE),
    "JSON in a fence": ('```json\n["Ada was born in 1815.", "Ada wrote notes."]\n```', WHOLE),
    "JSON under a key": ('{"claims": ["Ada was born in 1815.", "Ada wrote notes."]}', WHOLE),
    "JSON of objects":
    ('[{"claim": "Ada was born in 1815.", "n": 1}, {"claim": "Ada wrote notes.", "n": 2}]', WHOLE),
    "JSON behind a sentence": ('The claims are:\n["Ada was born in 1815.", "Ada wrote notes."]', WHOLE),
    "JSON with a comma too many": ('["Ada was born in 1815.", "Ada wrote notes.",]', WHOLE),
    "JSON with a list inside a text": ('["Ada wrote [\\"a\\", \\"b\\"].", "1. Not an entry."]',
    ('Ada wrote ["a", "b"].', "1. Not an entry.")),
    "JSON given twice": ('["One."]\n\n["One."]', ("One.",)),
    "an empty JSON list": ("[]", ()),
    "the word for nothing": ("None.", ()),
    "nothing in words": ("No claims", ()),
    "nothing in Korean": ("없음", ()),
}  # fmt: skip


@pytest.mark.parametrize(("text", "entries"), CASES.values(), ids=CASES)
def test_a_list_is_read_as_judges_write_it(text: str, entries: tuple[str, ...]) -> None:
    listing = read_list(text)
    assert (listing.status, listing.entries, listing.cut) == ("ok", entries, None)


@pytest.mark.parametrize("text", [case[0] for case in CASES.values()])
def test_the_span_of_an_entry_is_where_it_stands(text: str) -> None:
    listing = read_list(text)
    assert len(listing.spans) == len(listing.entries)
    for entry, (start, end) in zip(listing.entries, listing.spans, strict=True):
        assert entry.split()[0].strip('"*') in text[start:end].replace("\\", "")


@pytest.mark.parametrize(
    ("text", "entries", "cut"),
    [
        ('["Ada was born in 1815.", "Ada wro', ("Ada was born in 1815.",), '"Ada wro'),
        ('["Ada was born in 1815.",', ("Ada was born in 1815.",), ""),
        ('["Ada was bo', (), '"Ada was bo'),
        ('{"claims": ["One.", "Two.", "Thr', ("One.", "Two."), '"Thr'),
        ('[{"claim": "One."}, {"claim": "Tw', ("One.",), '{"claim": "Tw'),
        ('```json\n["One.", "Tw', ("One.",), '"Tw'),
    ],
)
def test_of_a_json_list_that_is_cut_off_the_whole_entries_count(
    text: str, entries: tuple[str, ...], cut: str
) -> None:
    listing = read_list(text, finish="length")
    assert (listing.status, listing.entries, listing.cut) == ("ok", entries, cut)
    assert "list_cut_off" in listing.flags


def test_the_last_entry_of_a_numbered_list_that_is_cut_off_does_not_count() -> None:
    listing = read_list("1. Ada was born in 1815.\n2. Ada wro", finish="length")
    assert (listing.entries, listing.cut) == (("Ada was born in 1815.",), "Ada wro")


def test_a_list_that_ends_is_whole() -> None:
    assert read_list("1. One.\n2. Two", finish="stop").cut is None


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "unparsed"),
        ("The response makes two claims about Ada.", "unparsed"),
        ("I'm sorry, but I cannot help with that.", "refused"),
        ('["One."]\n["Two."]', "conflicting"),
        ("[1, 2, 3]", "unparsed"),
        ('["One.", 2]', "unparsed"),
    ],
)
def test_a_reply_without_a_list_says_why(text: str, status: str) -> None:
    assert read_list(text).status == status
    assert read_list(text).entries == ()


def test_an_entry_is_found_again_in_the_text_it_came_from() -> None:
    text = "Ada was born in 1815. She wrote\nnotes. Ada was born in 1815."
    assert find_place("ada was born in 1815", text) == (0, 20)
    assert text[slice(*(find_place("She wrote notes.", text) or (0, 0)))] == "She wrote\nnotes"
    assert find_place("Ada was born in 1815.", text, after=5) == (39, 59)
    assert find_place("Ada was a countess", text) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["1. a\n", "- b\n", "9. b\n", '"a\n1. ', '["a", ', "[[", "verdict: ", "supported or ", "not "]
)
def test_lists_without_end_take_time_in_proportion_to_their_length(piece: str) -> None:
    def read_all(text: str) -> None:
        read_list("1. a\n" + text)
        read_option(text, ("supported", "not supported"))

    assert growth(read_all, piece, 60_000) < LINEAR


@given(st.text(max_size=200))
def test_any_text_gives_a_status(text: str) -> None:
    listing = read_list(text)
    assert listing.status in ("ok", "unparsed", "refused", "conflicting", "truncated")
    assert listing.status == "ok" or not listing.entries
    option = read_option(text, ("yes", "no", "not sure"))
    assert option.value in (None, "yes", "no", "not sure")
    assert (option.value is None) == (option.status != "ok")
