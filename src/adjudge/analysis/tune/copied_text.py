"""Whether a prompt contains text of the labelled items: a judge that was shown them is not tested by them.

Compared by runs of words, without regard to case, punctuation and spacing; in scripts without spaces every
character counts as a word. What the start's prompt already says is no one's copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

N_WORDS = 8
"""So many words in a row that an item and a prompt share are a
copy; of a shorter text, all of it if it has at least four.
"""
_FEWEST = 4
_WORD = re.compile(r"[぀-ヿ㐀-鿿]|[^\W_]+")


def copied_text(prompt: str, texts: Iterable[str], start_prompt: str = "") -> str | None:
    """The first passage of the texts that stands in the prompt,
    and not in the start's; none where there is none.
    """
    shown, before = f" {' '.join(_words(prompt))} ", f" {' '.join(_words(start_prompt))} "
    for text in texts:
        for passage in _passages(_words(text)):
            if f" {passage} " in shown and f" {passage} " not in before:
                return passage
    return None


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _passages(words: list[str]) -> Iterator[str]:
    if _FEWEST <= len(words) < N_WORDS:
        yield " ".join(words)
    for at in range(len(words) - N_WORDS + 1):
        yield " ".join(words[at : at + N_WORDS])
