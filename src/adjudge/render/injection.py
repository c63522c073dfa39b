"""Detects prompt injection: judged text that addresses the judge.

The text is sent unchanged either way: a flag only lets a report show the scores with and without
such items. The fence and the readers protect the score, so the detector may miss a clever attack,
but should rarely flag an honest text.

Every text of every item passes here, so an ordinary one must be cheap: its words are looked up in one
table, and only what that finds is examined further. Disguises are undone only where a text looks disguised.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import contextlib
import math
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote

from ..lazy_patterns import lazily
from .injection_patterns import PATTERNS
from .injection_signs import (
    AFTER_SCORE,
    ANCHORS,
    ELSEWHERE,
    ELSEWHERE_PARTS,
    EVAL,
    JUDGE,
    KIND_OF,
    NOUN,
    NOUNS,
    NUMBERS,
    ONLY_NAMED,
    OUT_OF,
    POINTING,
    RIVAL,
    RIVAL_BEFORE,
    SELF,
    SELF_ALONE,
    SELF_BEFORE,
    SELF_NOUNS,
    SIGN_PARTS,
    SIGN_WORDS,
    STEM_OF,
    STEMS,
    TOP,
    WEAK_EVAL,
    WEIGHT,
)

_PARTS_OF: dict[str, tuple[int, ...]] = {}
for _kind, _parts in SIGN_PARTS.items():
    for _part in _parts:
        _PARTS_OF[_part] = (*_PARTS_OF.get(_part, ()), _kind)


_PARTS = re.compile("|".join(sorted(_PARTS_OF, key=len, reverse=True)))


_OTHER_SCRIPT = re.compile("[\u0370-\u1dff\u2e80-\uffff]")


_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


_NEAR_WORDS, _NEAR_CHARACTERS = 24, 80
"""How far apart signs may be, in words, and in characters of scripts without spaces."""


_TINY, _SHORT = 140, 300
"""Characters of a short text or paragraph: one that has several signs has little else."""


_ENOUGH_DISGUISED, _ENOUGH_TINY, _ENOUGH_SHORT, _ENOUGH_LONG = 7, 8, 10, 13
"""The weight of signs near each other that makes an order, a claim or a plea to a judge likely."""


INJECTION = "injection_suspected"


HIDDEN = "hidden_characters"


_LONG = 4_000
"""Characters from which on a text is examined piece by piece: a sign here and there is no sign in a document."""


_MOST_MATCHES = 10_000
"""How many occurrences of one trigger are examined."""


_BEFORE, _BEHIND = 80, 120
"""How many characters around its trigger a pattern may span."""


class _Rule(NamedTuple):
    words: frozenset[bytes]
    """ASCII words, of which one must be a word of the text"""
    signs: tuple[str, ...]
    """signs, and words of scripts without spaces, which may be anywhere in the text"""
    is_ascii: bool
    pattern: re.Pattern[str]


def _rule(triggers: tuple[str, ...], pattern: str) -> _Rule:
    words = frozenset(word.encode() for word in triggers if word.isascii() and word.isalpha())
    signs = tuple(word for word in triggers if word.encode() not in words)
    return _Rule(words, signs, all(map(str.isascii, triggers)), lazily(pattern, re.MULTILINE))


_RULES = tuple(_rule(triggers, pattern) for triggers, pattern in PATTERNS)


def _by_trigger() -> dict[bytes, tuple[re.Pattern[str], ...]]:
    """Trigger word → the patterns to look for where it occurs."""
    patterns: dict[bytes, tuple[re.Pattern[str], ...]] = {}
    for rule in _RULES:
        for word in rule.words:
            patterns[word] = (*patterns.get(word, ()), rule.pattern)
    return patterns


_PATTERNS = _by_trigger()


_TRIGGERS = frozenset(_PATTERNS)


def _by_mark(*, is_ascii: bool) -> tuple[tuple[str, tuple[tuple[str, re.Pattern[str]], ...]], ...]:
    """Signs and their patterns by a punctuation character in
    them: a text without that character has none of the signs.
    """
    by_mark: dict[str, dict[tuple[str, re.Pattern[str]], None]] = {}
    for rule in _RULES:
        for sign in rule.signs if rule.is_ascii == is_ascii else ():
            mark = re.search(r"\W", sign)
            by_mark.setdefault(mark[0] if mark else sign, {})[sign, rule.pattern] = None
    return tuple((mark, tuple(signs)) for mark, signs in by_mark.items())


_SIGNS, _OTHER_SIGNS = _by_mark(is_ascii=True), _by_mark(is_ascii=False)


_ROT13 = frozenset(
    codecs.encode(word, "rot13").encode()
    for word in (
        "ignore",
        "disregard",
        "instructions",
        "rubric",
        "score",
        "rating",
        "highest",
        "maximum",
        "grade",
        "marks",
        "answer",
        "response",
    )
)


_REVERSED = frozenset(
    word[::-1].encode()
    for word in (
        "ignore",
        "disregard",
        "instructions",
        "rubric",
        "score",
        "rating",
        "highest",
        "maximum",
        "grade",
        "answer",
        "response",
    )
)


_ELSEWHERE_WORDS = frozenset(SIGN_WORDS[ELSEWHERE].encode().split())


_ALPHABET = frozenset(letter.encode() for letter in "bcdefghklnopruvwy")
"""Letters that are no words: several of them in a text are a word that is spelt out."""


_KNOWN = frozenset(
    {*_ALPHABET, *KIND_OF, *_PATTERNS, *_ROT13, *_REVERSED, *NOUNS, *SELF_NOUNS, *RIVAL_BEFORE, *NUMBERS}
)


_REVEALING = frozenset({*KIND_OF, *_PATTERNS})
"""Words whose appearance says that a disguise hid something."""


_ANCHOR_WORDS = frozenset(word for word, kind in KIND_OF.items() if kind in ANCHORS)


_SPACES = bytes(
    32 if chr(code).isspace() or chr(code) in "!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~" else code
    for code in range(128)
) + bytes(range(128, 256))


_CLASSES = (
    bytes(97 if chr(code).isalpha() else 48 if chr(code) in "0123456789@$" else 32 for code in range(128))
    + bytes([97]) * 128
)
"""Letters, digits and all others: shows letters that are spelt out or replaced by digits."""


_SHORTEST_CODE = 28


_CODES = re.compile(r"[A-Za-z0-9+/]{28,4000}+={0,2}")


_CODE_BYTES = bytes(120 if re.match(r"[A-Za-z0-9+/]", chr(code), re.ASCII) else 32 for code in range(256))


_CODE = b"x" * _SHORTEST_CODE


_QUOTES = re.compile(rb"\xe2\x80[\x90-\xaf]")
"""Dashes, quotation marks, dots and spaces of English texts, in UTF-8."""


_OTHER_PUNCTUATION = re.compile(
    rb"\xc2[\xa0-\xbf]|\xd8[\x8c\x9f]|\xe0\xa5\xa4|\xe3\x80[\x80-\x91]|\xef\xbc[\x81\x88\x89\x8c\x9a\x9b\x9f]"
)


# Characters that change how a text looks but not what a model reads: overrides of the writing
# direction, and the tag block, which is invisible ASCII.
_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


# Zero-width characters are ordinary between Arabic, Indic and emoji characters; between two
# Latin letters they only serve to break up a word.
_BROKEN_WORD = re.compile("[A-Za-z][\u200b-\u200d\u2060\ufeff\u00ad]+[A-Za-z]")


_MAY_HIDE = re.compile(rb"\xe2\x80[\x8b-\x8d\xaa-\xae]|\xe2\x81|\xf3\xa0|\xef\xbb\xbf|\xc2\xad")


_INVISIBLE = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF, 0xAD]
)


_LATIN_LOOKALIKES = str.maketrans(
    "авеорсухіјѕԁԛԝһкмнтгӏАВЕОРСХІЈЅКМНТаοειαρτυνκηωΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɩӏɡɑоսոօցեհіⅼᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
    "abeopcyxijsdqwhkmhtrlABEOPCXIJSKMHTaoeiaptuvknwABEZHIKMNOPTYXiilgaounogehilabcdefghijklmnoprstuvwyz",
)


_LEET = str.maketrans("01345789@$", "oieastbgas")


_SPELT_OUT = re.compile(
    r"(?<!\w)(?:[A-Za-z](?:[ .*_-]{1,2})(?=[A-Za-z0-9](?:\W|_|$))){1,200}[A-Za-z0-9](?!\w)"
)


_TAG_BLOCK = {0xE0000 + code: code for code in range(0x20, 0x7F)}


@lru_cache(maxsize=512)
def suspicions(text: str) -> tuple[str, ...]:
    """The flags of one text: `injection_suspected`, `hidden_characters`, or none."""
    data = text.encode("utf-8", "replace")
    if not text.isascii():
        if _MAY_HIDE.search(data) and (_OVERRIDES.search(text) or _BROKEN_WORD.search(text)):
            return (INJECTION, HIDDEN)
        data = _QUOTES.sub(b" ", data.replace(b"\xe2\x80\x99", b"'"))
        if data.isascii():
            text = data.decode()
    lower = text.lower()
    if not text.isascii():
        data = _OTHER_PUNCTUATION.sub(b" ", data)
        if _OTHER_SCRIPT.search(text):
            data = _bytes_of(lower)
    words = data.lower().translate(_SPACES).split()
    seen = _KNOWN.intersection(words)
    if len(text) > _LONG:
        return (INJECTION,) if _is_suspect_long(text, lower, words, seen) else ()
    if (
        _is_suspect(lower, words, seen)
        or any(map(_is_suspect_form, _undisguised(text, data, words, seen)))
        or (_CODE in data.translate(_CODE_BYTES) and _has_coded_order(text))
    ):
        return (INJECTION,)
    return ()


def _is_suspect_form(form: str) -> bool:
    """Whether a text addresses the judge once its disguise is undone: fewer signs are enough then."""
    lower = form.lower()
    words = _bytes_of(lower).translate(_SPACES).split()
    seen = _KNOWN.intersection(words)
    signs = _word_signs(words, seen, is_latin=True)
    return _is_suspect(lower, words, seen) or _weighs(signs, _NEAR_WORDS, _ENOUGH_DISGUISED, (EVAL, JUDGE))


def _bytes_of(text: str) -> bytes:
    return _OTHER_PUNCTUATION.sub(b" ", _QUOTES.sub(b" ", text.encode("utf-8", "replace")))


def _is_suspect(text: str, words: list[bytes], seen: frozenset[bytes]) -> bool:
    """Whether a text in lower case addresses the judge, given its words and those of them that are signs."""
    if _has_pattern(text, seen, _SIGNS):
        return True
    is_latin = text.isascii() or not _OTHER_SCRIPT.search(text)
    if not is_latin and (_has_pattern(text, frozenset(), _OTHER_SIGNS) or _presses_unspaced(text)):
        return True
    return _presses(words, seen, text, is_latin=is_latin) or _is_one_phrase_repeated(words)


def _has_pattern(
    text: str,
    seen: frozenset[bytes],
    signs: tuple[tuple[str, tuple[tuple[str, re.Pattern[str]], ...]], ...],
    beside: int = 0,
) -> bool:
    for mark, with_mark in signs:
        if mark in text:
            for sign, pattern in with_mark:
                if sign in text and _is_near(text, sign, pattern, beside):
                    return True
    for word in seen & _TRIGGERS:
        for pattern in _PATTERNS[word]:
            if _is_near(text, word.decode(), pattern, beside):
                return True
    return False


def _is_near(text: str, trigger: str, pattern: re.Pattern[str], beside: int = 0) -> bool:
    """Whether the pattern is around one of the places of its trigger, with signs of this weight beside it."""
    at = text.find(trigger)
    for _ in range(_MOST_MATCHES):
        if at < 0:
            return False
        if pattern.search(text, max(0, at - _BEFORE), at + _BEHIND) and (
            not beside or _has_signs_beside(text, at, beside)
        ):
            return True
        at = text.find(trigger, at + _BEHIND // 2)
    return False


# Long texts


_ENOUGH_BESIDE_PATTERN = 8
"""The weight of signs that a pattern in a long text needs beside it."""


_WINDOW, _STEP = 400, 300
"""Characters of a long text in which a disguise is undone at once."""


_FEWEST_REVEALED = 2
"""How many signs must appear when a disguise in a long text is undone."""


def _is_suspect_long(text: str, lower: str, words: list[bytes], seen: frozenset[bytes]) -> bool:
    """Whether a piece of a long text addresses the judge.

    The more pieces a text has, the likelier is one of them to look like an order by chance: what is enough
    rises with the logarithm of the length, so that long documents are flagged no more often than short ones.
    """
    more = math.ceil(math.log2(len(text) / 1_000))
    is_latin = text.isascii() or not _OTHER_SCRIPT.search(text)
    if _has_pattern(lower, seen, _SIGNS, beside=_ENOUGH_BESIDE_PATTERN):
        return True
    if not is_latin and (
        _has_pattern(lower, frozenset(), _OTHER_SIGNS, beside=_ENOUGH_BESIDE_PATTERN)
        or _presses_unspaced(lower, more // 2)
    ):
        return True
    if not (is_latin and seen.isdisjoint(_ANCHOR_WORDS)):
        if _weighs(_word_signs(words, seen, is_latin=is_latin), _NEAR_WORDS, _ENOUGH_LONG + more // 2):
            return True
        if any(_presses_in(paragraph, more, is_latin=is_latin) for paragraph in lower.split("\n\n")):
            return True
        if any(_presses_in(paragraph, 2, is_latin=is_latin) for paragraph in _outer_paragraphs(lower)):
            return True
    return _is_one_phrase_repeated(words) or _is_disguised_long(text)


def _presses_in(paragraph: str, more: int, *, is_latin: bool) -> bool:
    """Whether a short paragraph has signs near each other, `more` than a short text needs."""
    if not paragraph or len(paragraph) > _SHORT:
        return False
    words = _bytes_of(paragraph).translate(_SPACES).split()
    seen = _KNOWN.intersection(words)
    enough, anchors = _enough(paragraph, seen)
    return _weighs(_word_signs(words, seen, is_latin=is_latin), _NEAR_WORDS, enough + more, anchors)


def _is_disguised_long(text: str) -> bool:
    """Whether undoing a disguise in a part of a long text reveals an order."""
    for start in range(0, len(text), _STEP):
        part = text[start : start + _WINDOW]
        data = _bytes_of(part.lower())
        words = data.translate(_SPACES).split()
        plain = frozenset(words)
        for form in _undisguised(part, data, words, _KNOWN & plain):
            shown = _bytes_of(form.lower()).translate(_SPACES).split()
            revealed = _REVEALING.intersection(shown) - plain
            if len(revealed) >= _FEWEST_REVEALED and _is_suspect_form(form):
                return True
    return _CODE in text.encode("utf-8", "replace").translate(_CODE_BYTES) and _has_coded_order(text)


def _has_signs_beside(text: str, at: int, enough: int) -> bool:
    """Whether signs of judging are near a place of a text."""
    part = text[max(0, at - _BEFORE) : at + _BEHIND]
    words = _bytes_of(part).translate(_SPACES).split()
    signs = _word_signs(words, _KNOWN.intersection(words), is_latin=not _OTHER_SCRIPT.search(part))
    if _weighs(signs, _NEAR_WORDS, enough):
        return True
    return bool(_UNSPACED.search(part)) and _presses_unspaced(part)


# Signs near each other


def _presses(words: list[bytes], seen: frozenset[bytes], text: str, *, is_latin: bool) -> bool:
    """Whether signs of several kinds are near each other:
    in the whole text, or in its first or last paragraph.
    """
    if len(text) <= _SHORT:
        if _weighs(_word_signs(words, seen, is_latin=is_latin), _NEAR_WORDS, *_enough(text, seen)):
            return True
    elif is_latin and seen.isdisjoint(_ANCHOR_WORDS):
        return False
    elif _weighs(_word_signs(words, seen, is_latin=is_latin), _NEAR_WORDS, _ENOUGH_LONG):
        return True
    for paragraph in _outer_paragraphs(text):
        part = _bytes_of(paragraph).translate(_SPACES).split()
        signs = _word_signs(part, seen, is_latin=is_latin)
        if _weighs(signs, _NEAR_WORDS, *_enough(paragraph, frozenset(part))):
            return True
    return False


def _outer_paragraphs(text: str) -> list[str]:
    """The first and the last paragraph of a text that has several, where they are short."""
    if "\n\n" not in text:
        return []
    outer = (text.rstrip().rpartition("\n\n")[2], text.lstrip().partition("\n\n")[0])
    return [paragraph for paragraph in outer if len(paragraph) <= _SHORT]


def _enough(text: str, words: frozenset[bytes]) -> tuple[int, tuple[int, ...]]:
    """The weight that is enough in a short text, and the kinds of signs of which one must be there."""
    more = 0 if words.isdisjoint(_ELSEWHERE_WORDS) else -WEIGHT[ELSEWHERE]
    if len(text) <= _TINY:
        return _ENOUGH_TINY + more, (*ANCHORS, WEAK_EVAL)
    return _ENOUGH_SHORT + more, ANCHORS


def _presses_unspaced(text: str, more: int = 0) -> bool:
    if not _UNSPACED.search(text):
        return False
    if any(map(_presses_unspaced, _outer_paragraphs(text))):
        return True
    signs = ((match.start(), kind) for match in _PARTS.finditer(text) for kind in _PARTS_OF[match[0]])
    # A character says more than a letter: half the length counts as short.
    enough = (
        _ENOUGH_TINY + 1
        if len(text) <= _TINY // 2
        else _ENOUGH_SHORT
        if len(text) <= _TINY
        else _ENOUGH_LONG - 2 + more
    )
    return _weighs(
        signs, _NEAR_CHARACTERS, enough if not ELSEWHERE_PARTS.search(text) else enough - WEIGHT[ELSEWHERE]
    )


def _weighs(
    signs: Iterator[tuple[int, int]], distance: int, enough: int, anchors: tuple[int, ...] = ANCHORS
) -> bool:
    """Whether signs within this distance together have the weight; signs come with their places, in order."""
    last: dict[int, int] = {}
    for at, kind in signs:
        if kind != ELSEWHERE or enough == _ENOUGH_LONG:
            last[kind] = at
        if len(last) < (2 if enough <= _ENOUGH_TINY else 3):
            continue
        near = [known for known, place in last.items() if at - place <= distance]
        if sum(WEIGHT[known] for known in near) >= enough and any(known in anchors for known in near):
            return True
    return False


def _word_signs(words: list[bytes], seen: frozenset[bytes], *, is_latin: bool) -> Iterator[tuple[int, int]]:
    for at, word in enumerate(words):
        if word not in seen:
            if not is_latin and word.startswith(STEMS):
                yield at, next(kind for stem, kind in STEM_OF.items() if word.startswith(stem))
            continue
        before = words[at - 1] if at else b""
        if word in NUMBERS:
            behind = words[at + 1 : at + 4]
            if word != b"20" and (not behind or behind[0] in AFTER_SCORE or behind[0] in KIND_OF):
                yield at, TOP
            if word in behind and set(behind[: behind.index(word)]) <= OUT_OF:
                yield at, EVAL
                yield at, TOP
            continue
        if word in SELF_NOUNS and (
            before in SELF_BEFORE or word in SELF_ALONE or (at > 1 and words[at - 2] in POINTING)
        ):
            yield at, SELF
        elif word in NOUNS:
            is_named = (before in RIVAL_BEFORE and word not in ONLY_NAMED) or words[at + 1 : at + 2] in (
                [b"a"],
                [b"b"],
            )
            if is_named or word not in ONLY_NAMED:
                yield at, RIVAL if is_named else NOUN
        kind = KIND_OF.get(word)
        if kind is not None:
            yield at, kind


_REPEATED_FROM = 60


_FEWEST_REPEATS = 12


def _is_one_phrase_repeated(words: list[bytes]) -> bool:
    """Whether a long text says the same few words over and over, which moves some judges as an order does."""
    return (
        len(words) >= _REPEATED_FROM
        and len(set(words[:_REPEATED_FROM])) <= _REPEATED_FROM // 2
        and len(set(words)) * _FEWEST_REPEATS <= len(words)
    )


def _undisguised(text: str, data: bytes, words: list[bytes], seen: frozenset[bytes]) -> Iterator[str]:
    """The text as it reads without its disguises, where it seems to have one."""
    if not text.isascii():
        yield from _in_plain_letters(text, words)
    yield from _decoded(text, data, seen)


def _in_plain_letters(text: str, words: list[bytes]) -> Iterator[str]:
    """A text that is not ASCII without lookalike, accented
    and full-width letters, where it then has other words.
    """
    if not any(_bare(word) in _KNOWN for word in words if not word.isascii()):
        return
    plain = unicodedata.normalize("NFKC", text.translate(_TAG_BLOCK).translate(_INVISIBLE))
    latin = plain.translate(_LATIN_LOOKALIKES)
    bare = unicodedata.normalize("NFKD", latin)
    yield plain
    yield "".join(letter for letter in bare if not unicodedata.combining(letter))


@lru_cache(maxsize=8192)
def _bare(word: bytes) -> bytes:
    """A word with Latin letters in the place of lookalikes, without accents and punctuation."""
    latin = unicodedata.normalize("NFKC", word.decode("utf-8", "replace")).translate(_LATIN_LOOKALIKES)
    letters = unicodedata.normalize("NFKD", latin)
    return "".join(letter for letter in letters if letter.isalnum()).encode()


def _decoded(text: str, data: bytes, seen: frozenset[bytes]) -> Iterator[str]:
    """What a text says in another spelling: digits for letters, letters apart, entities, ROT13, backwards."""
    classes = data.translate(_CLASSES)
    if b"0a" in classes and classes.count(b"a0a") + classes.count(b"a00a") >= 2:
        yield text.translate(_LEET)
    if len(seen & _ALPHABET) >= 4:
        spelt = re.sub(r"[ ]{2,9}", "   ", text)
        yield re.sub(r" +", " ", _SPELT_OUT.sub(lambda match: re.sub(r"[ .*_-]", "", match[0]), spelt))
    if "&" in text and ("&#" in text or "&l" in text):
        yield unescape(text)
    if "%20" in text:
        yield unquote(text)
    if not _ROT13.isdisjoint(seen):
        yield codecs.decode(text, "rot13")
    if not _REVERSED.isdisjoint(seen):
        yield text[::-1]


def _has_coded_order(text: str) -> bool:
    """Whether base64 or hexadecimal digits stand for a text
    with signs of any two kinds: nobody writes an answer so.
    """
    for match in _CODES.finditer(text):
        for plain in _plain_of(match[0]):
            words = plain.lower().encode().translate(_SPACES).split()
            kinds = {kind for _, kind in _word_signs(words, _KNOWN.intersection(words), is_latin=True)}
            if (len(kinds) >= 2 and len(words) >= 3) or _is_suspect_form(plain):
                return True
    return False


def _plain_of(code: str) -> Iterator[str]:
    """The texts that base64 or hexadecimal digits stand for."""
    body = code.rstrip("=")
    with contextlib.suppress(binascii.Error, UnicodeDecodeError):
        yield base64.b64decode(body + "=" * (-len(body) % 4)).decode("ascii")
    with contextlib.suppress(ValueError):  # not hexadecimal, or not ASCII
        yield bytes.fromhex(body).decode("ascii")
