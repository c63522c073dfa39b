"""A search finds exactly the items whose text contains the string, in any case and script."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.results import text_search
from adjudge.results.text_search import TextSearch

TEXTS = st.lists(st.text("abAB é가나\n", max_size=12), max_size=20)


@settings(max_examples=60, deadline=None)
@given(
    TEXTS,
    st.lists(st.tuples(st.integers(0, 19), st.text("abB가", max_size=6)), max_size=4),
    st.text("aBé가", max_size=4),
)
def test_exactly_the_items_that_contain_a_text_are_found(
    texts: list[str], changes: list[tuple[int, str]], searched: str
) -> None:
    for block in (1, 2, 64):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text_search, "_BLOCK", 8 * block)
            search = TextSearch()
            search.add(enumerate(texts))
            search.add(changes)
            now = {**dict(enumerate(texts)), **dict(changes)}
            wanted = {seq for seq, text in now.items() if searched.lower() in text.lower()}
            candidates = search.candidates(searched)
            assert len(candidates) == len(set(candidates))
            assert set(search.matches(searched, candidates)) == wanted
            assert set(filter(search.containing(searched), candidates)) == wanted


def test_few_texts_are_searched_for_a_rare_word() -> None:
    search = TextSearch()
    search.add((seq, f"item {seq} has the usual words") for seq in range(5120))
    assert len(search.candidates("item 4711 has")) < 500
    assert search.matches("item 4711 has", search.candidates("item 4711 has")) == [4711]
