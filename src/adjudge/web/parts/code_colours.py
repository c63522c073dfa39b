"""Colours for code in a judged text: Pygments finds the kinds of words, and five classes show them."""

from __future__ import annotations

from collections.abc import Iterator

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType
from pygments.util import ClassNotFound

LONGEST_COLOURED = 5_000
"""Longer code is shown plain: some lexers take quadratic time on text that was made to slow them down."""

_LANGUAGES = frozenset(
    (
        "bash c c# cpp c++ cs css diff docker dockerfile go haskell hs html ini java javascript js json jsx"
        " kotlin lua make makefile matlab md markdown perl php powershell py python python3 r rb ruby rs rust"
        " scala scss sh shell sql swift toml ts tsx typescript xml yaml yml zsh"
    ).split()
)
"""Others are shown plain."""

_CLASSES = (
    (Comment, "comment"),
    (Name.Tag, "key"),
    (Name.Attribute, "key"),
    (String, "text"),
    (Number, "number"),
    (Keyword, "word"),
)


def coloured(code: str, language: str) -> Iterator[tuple[str, str]]:
    """The parts of the code in their order, each with its class; joined, they are the code."""
    lexer = _lexer(language) if len(code) <= LONGEST_COLOURED else None
    if lexer is None:
        yield code, ""
        return
    for _, kind, part in lexer.get_tokens_unprocessed(code):
        yield part, _class_of(kind)


def _lexer(language: str) -> Lexer | None:
    if language.lower() not in _LANGUAGES:
        return None
    try:
        return get_lexer_by_name(language.lower())
    except ClassNotFound:
        return None


def _class_of(kind: _TokenType) -> str:
    return next((name for family, name in _CLASSES if kind in family), "")
