"""Noticing text that speaks to the judge instead of being judged.

The text is sent as it is either way: a flag lets a report show the scores with and without
such items, nothing more. So the patterns may miss a clever attack (the fence and the readers
are what protects the score) but should seldom accuse an honest text.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .patterns import PATTERNS

INJECTION = "injection_suspected"
HIDDEN = "hidden_characters"

_EXAMINED = 65_536
"""How much of each end of a long text is looked at: an instruction stands where a judge will notice it."""

_MOST_PLACES = 64
"""How often one word is followed up in a text; more often is no instruction but a flood."""
_BEFORE, _BEHIND = 80, 120
"""How far around its word a pattern reaches."""


class _Rule(NamedTuple):
    words: frozenset[str]
    """plain words, of which one must be in the text as a word"""
    signs: tuple[str, ...]
    """signs and words of scripts without spaces, which may stand anywhere"""
    is_ascii: bool
    pattern: re.Pattern[str]


def _rule(triggers: tuple[str, ...], pattern: str) -> _Rule:
    words = frozenset(word for word in triggers if word.isascii() and word.isalpha())
    signs = tuple(word for word in triggers if word not in words)
    return _Rule(words, signs, all(map(str.isascii, triggers)), re.compile(pattern, re.MULTILINE))


_RULES = tuple(_rule(triggers, pattern) for triggers, pattern in PATTERNS)
_ASCII_RULES = tuple(rule for rule in _RULES if rule.is_ascii)
_WORDS = frozenset(word for rule in _RULES for word in rule.words)


def _by_mark(rules: tuple[_Rule, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Signs by a character of punctuation in them: a text without it has none of its signs."""
    found: dict[str, dict[str, None]] = {}
    for sign in (sign for rule in rules for sign in rule.signs):
        mark = re.search(r"\W", sign)
        found.setdefault(mark[0] if mark else sign, {})[sign] = None
    return tuple((mark, tuple(signs)) for mark, signs in found.items())


_SIGNS = _by_mark(_RULES)
_ASCII_SIGNS = _by_mark(_ASCII_RULES)
_SPACED = str.maketrans(dict.fromkeys("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\u2019\u201c\u201d", " "))
# Most texts are ASCII, and a table of bytes is applied several times as fast as one of characters.
_ASCII_SPACED = bytes(
    32 if chr(code).isspace() else ord(chr(code).translate(_SPACED)) for code in range(128)
) + bytes(128)
_ASCII_WORDS = frozenset(word.encode() for word in _WORDS)

_SHORTEST_CODE = 28
_BASE64 = re.compile(r"[A-Za-z0-9+/]{28,400}+={0,2}")
_CODE_BYTES = bytes(120 if re.match(r"[A-Za-z0-9+/]", chr(code), re.ASCII) else 32 for code in range(256))
_CODE = b"x" * _SHORTEST_CODE

# Characters that change how a text looks but not what a model reads: overrides of the writing
# direction, and the tag block, which spells invisible ASCII.
_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
# Zero-width characters are ordinary between Arabic, Indic and emoji characters; between two
# Latin letters they only serve to break up a word.
_BROKEN_WORD = re.compile("[A-Za-z][\u200b-\u200d\u2060\ufeff\u00ad]+[A-Za-z]")
_INVISIBLE = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF, 0xAD]
)
_LATIN_LOOKALIKES = str.maketrans("авеорсухіјѕԁԛԝһкмнтАВЕОРСХІЈЅКМНТаοειαρτυνκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
                                  "abeopcyxijsdqwhkmhtABEOPCXIJSKMHTaoeiaptuvkABEZHIKMNOPTYX")  # fmt: skip
_TAG_BLOCK = {0xE0000 + code: code for code in range(0x20, 0x7F)}


@lru_cache(maxsize=512)
def suspicions(text: str) -> tuple[str, ...]:
    """The flags that one text earns: `injection_suspected`, `hidden_characters`, or none."""
    if len(text) > 2 * _EXAMINED:
        text = f"{text[:_EXAMINED]}\n{text[-_EXAMINED:]}"
    if not text.isascii() and (_OVERRIDES.search(text) or _BROKEN_WORD.search(text)):
        return (INJECTION, HIDDEN)
    return (INJECTION,) if any(_speaks_to_the_judge(form.lower()) for form in _forms(text)) else ()


def _speaks_to_the_judge(text: str) -> bool:
    rules, signs = (_ASCII_RULES, _ASCII_SIGNS) if text.isascii() else (_RULES, _SIGNS)
    words = _words_in(text)
    seen = {sign for mark, with_mark in signs if mark in text for sign in with_mark if sign in text}
    if not words and not seen:
        return False
    return any(
        rule.pattern.search(text, max(0, at - _BEFORE), at + _BEHIND) is not None
        for rule in rules
        for word in (*(rule.words & words), *(sign for sign in rule.signs if sign in seen))
        for at in _places(text, word)
    )


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    for _ in range(_MOST_PLACES):
        if at < 0:
            return
        yield at
        at = text.find(word, at + _BEHIND // 2)


def _words_in(text: str) -> frozenset[str]:
    """The words of the text that some rule waits for."""
    if not text.isascii():
        return _WORDS.intersection(text.translate(_SPACED).split())
    found = _ASCII_WORDS.intersection(text.encode().translate(_ASCII_SPACED).split())
    return frozenset(word.decode() for word in found) if found else frozenset()


def _codes_in(text: str) -> Iterator[str]:
    """The words that may be base64. One look over the bytes settles that most texts have none."""
    if _CODE in text.encode("utf-8", "replace").translate(_CODE_BYTES):
        yield from filter(_BASE64.fullmatch, text.split())


def _forms(text: str) -> list[str]:
    """The text as written, and as a reader might see it once disguises are undone."""
    forms = [text]
    if not text.isascii():
        plain = unicodedata.normalize("NFKC", text.translate(_TAG_BLOCK).translate(_INVISIBLE))
        if plain != text:
            forms.append(plain)
        latin = plain.translate(_LATIN_LOOKALIKES)
        if latin != plain:
            forms.append(latin)
    for word in _codes_in(text):
        body = word.rstrip("=")
        try:
            decoded = base64.b64decode(body + "=" * (-len(body) % 4)).decode("ascii")
        except (binascii.Error, UnicodeDecodeError):
            continue
        forms.append(decoded)
    return forms
