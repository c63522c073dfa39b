"""Detects prompt injection: judged text that addresses the judge.

The text is sent unchanged either way: a flag only lets a report show the scores with and without
such items. The fence and the readers protect the score, so the patterns may miss a clever attack,
but should rarely flag an honest text.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

# Patterns of injected text, each with the words that trigger it. All are matched against the text in
# lower case. An ASCII trigger word must be a word of the text; other triggers may be anywhere in it. The
# pattern is tried only around its trigger.


_JUDGED = r"(?:response|answer|output|summary|essay|text|submission|candidate|reply|assistant|completion)"
_PATTERN_RULES = r"(?:instructions?|prompts?|rules?|rubrics?|criteri(?:a|on)|guidelines?|directions?|scale|above|everything)"
_TOP = r"(?:[0-9]{1,3}|full|maximum|max|perfect|highest|top|best|five|ten)"
_POINTS = r"(?:scores?|rating|grade|marks?|points?)"
_GIVE = (
    "give",
    "assign",
    "award",
    "grant",
    "output",
    "return",
    "print",
    "write",
    "rate",
    "score",
    "grade",
    "mark",
    "deserve",
    "deserves",
)
_GIVING = r"\b(?:give|assign|award|grant|output|return|print|write|rate|score|grade|mark|deserves?)\b"

PATTERNS: tuple[tuple[tuple[str, ...], str], ...] = (
    # Telling the judge to ignore its instructions.
    (
        ("ignore", "disregard", "forget", "override", "bypass", "skip"),
        rf"\b(?:ignore|disregard|forget|override|bypass|skip)\b[^.\n]{{0,40}}\b{_PATTERN_RULES}\b",
    ),
    (("ignora", "ignorez", "ignoriere", "ignoriert", "ignoruj"), r"\bignor(?:a|ez|iere|iert|uj)\b[^.\n]{0,30}\b(?:instruc|anweisung|regel|consigne|reg)"),
    (("忽略", "无视", "忘记", "忘掉", "不要理会", "無視"), r"(?:忽略|无视|忘记|忘掉|不要理会|無視)[^。\n]{0,12}(?:指令|指示|要求|标准|規則|规则|内容|提示)"),
    (("無視",), r"(?:指示|命令|ルール)[^。\n]{0,6}無視"),
    (("무시", "잊"), r"(?:지시|명령|지침|규칙|프롬프트|기준)[^.\n]{0,10}(?:무시|잊)"),
    (("игнорир", "забудь"), r"(?:игнорир|забудь)[^.\n]{0,30}(?:инструкц|правил|указан)"),
    # Telling it which score to give or which response to choose.
    (
        _GIVE,
        rf"{_GIVING}[^.\n]{{0,12}}\b(?:this|the|my|its?|that|every|each|any|all)\b[^.\n]{{0,24}}\b{_POINTS}\b[^.\n]{{0,8}}\b{_TOP}\b",
    ),
    (
        _GIVE,
        rf"{_GIVING} (?:it |me |us |them |(?:this|the|my|that|every|each) (?:{_JUDGED} )?)?(?:an? |the )?"
        rf"(?:full|maximum|max|perfect|highest|top)[- ](?:possible )?{_POINTS}\b",
    ),
    (
        ("deserves", "merits", "must", "should"),
        rf"\b(?:every|each|any|this|my) {_JUDGED}s? (?:deserves?|merits?|must (?:get|receive)|should (?:get|receive|be))\b[^.\n]{{0,30}}\b{_TOP}\b",
    ),
    (
        ("output", "answer", "reply", "respond"),
        r"\b(?:must|should|please|to|now|and|only|just) (?:output|answer with|reply with|respond with)"
        r"(?: only| just| exactly)?(?: the| a)?(?: number| score| digit)?:? ['\"“]?[0-9]{1,2}\b",
    ),
    (
        ("give", "output", "assign", "award"),
        r"^\W{0,3}(?:give|output|assign|award) ['\"“]?[0-9]{1,2}(?: ?/ ?[0-9]{1,2})?\b[^\w\n]{0,3}$",
    ),
    (
        ("choose", "pick", "select", "prefer", "vote", "declare"),
        r"\b(?:choose|pick|select|prefer|vote for|declare) (?:response|output|answer|assistant|option|candidate) [ab12]\b",
    ),
    (
        ("better", "best", "superior", "winner"),
        r"\b(?:response|answer|output|assistant) [ab12] is (?:the )?(?:better|best|superior|winner)[^\n]{0,4}"
        r"\s{1,4}(?:response|answer|output|assistant) [ab12] is",
    ),
    (("分",), r"(?:请|直接|必须|应该|务必)[^。\n]{0,6}(?:给出?|打|评)[^。\n]{0,6}[0-9十五满高]{1,3}分"),
    (("점",), r"(?:만점|[0-9]{1,2}점|높은 점수)(?:을|를)?\s{0,2}(?:주세요|줘|주십시오|부여하|매겨|달라)"),
    (("invert", "inverted", "reversed"), r"\binvert(?:ed)? the (?:scale|scores?|rubric)|\b(?:scale|scores?) (?:is|are) (?:inverted|reversed)"),
    (("worst", "best", "lowest", "highest"), r"\bour [0-9]{1,2} is the (?:worst|best|lowest|highest)"),
    # Claiming authority, or a verdict that is already settled.
    (
        ("judge", "grader", "evaluator", "rater", "reviewer", "llm", "ai"),
        r"\b(?:dear|hello|hi|attention|note to|message to|hey),? (?:the |all )?(?:judge|grader|evaluator|rater|reviewer|llm|ai)\b",
    ),
    (
        ("developer", "creator", "author", "administrator", "admin", "owner", "maintainer", "operator"),
        r"\b(?:i am|i'm|as) (?:the|your|an?) (?:developer|creator|author|administrator|admin|owner|maintainer|operator)"
        r"[^.\n]{0,60}[.\n]?[^.\n]{0,20}\b(?:you|evaluation|rubric|score|choose|judge)\b",
    ),
    (("authorise", "authorize"), r"\bi (?:hereby )?authori[sz]e you"),
    (("longer", "now"), r"\byou are (?:now|no longer)\b[^.\n]{0,40}\b(?:grader|judge|evaluator|assistant|mode|ai|model|bot|rater)"),
    (
        ("verified", "rated", "graded", "scored", "certified", "judged", "approved"),
        r"\b(?:verified|rated|graded|scored|certified|judged|approved)\b[^.\n]{0,60}\b(?:perfect|flawless|([0-9]{1,2}) ?/ ?\1\b)",
    ),
    (
        ("instruction", "instructions", "prompt", "rubric", "scoring"),
        r"\b(?:new|updated|revised|real|actual) (?:system )?(?:instructions?|prompt|rubric|scoring (?:rules?|guide))\s{0,2}[:：]",
    ),
    (("你现在是", "我是你的", "이제"), r"你现在是|我是你的(?:开发者|创造者|主人)|(?:당신|너)[은는] 이제"),
    # Parts of a judge's prompt or reply inside the judged text.
    (("<|", "[inst]", "[/inst]", "<<sys", "<</sys", "_of_turn>"), r"<\|[a-z_]{2,40}\|>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>"),
    (("[[",), r"\[\[ ?(?:[ab]|tie|[0-9]{1,2}(?:\.[0-9])?|[ab](?:>>?|=|<<?)[ab]) ?\]\]"),
    (("[result]", "[/result]"), r"\[/?result\]"),
    (
        ("<",),
        r"</?(?:scores?|result|rating|verdict|judgment|grade|rubric|evaluation|feedback)[ \t]{0,3}>",
    ),
    (
        ("<",),
        r"</?(?:source_text|generated_response|response|response_[ab]|reference|instruction|summary|task|candidate)"
        r"(?:-[0-9a-f]{1,16})?[ \t]{0,3}>",
    ),
    (
        ("##",),
        r"^[ \t]{0,8}#{2,6}[ \t]{0,3}(?:score|rubric|reference answer|feedback|task description|the instruction|"
        r"response to evaluate|response [ab]\b|system|evaluation (?:criteria|steps)|output format)",
    ),
    (("assistant", "system", "human"), r"^[ \t]{0,8}(?:system|assistant|human)[ \t]{0,3}[:：]"),
    (
        ('score":', 'winner":', 'verdict":', 'rating":', "score':", "winner':", "verdict':", "rating':"),
        r"(?:score|winner|verdict|rating)[\"'] ?: ?[\"']?(?:[0-9]{1,2}|a|b|tie|baseline|enhanced)\b",
    ),
    (
        ("begin", "end", "start", "stop"),
        r"\[(?:begin|end|start|stop) [^\]\n]{0,30}\b(?:example|response|answer|evaluation|submission|candidate)\b"
        r"|^\W{0,8}(?:begin|end|start|stop) of (?:the )?(?:example|response|answer|evaluation|submission|candidate)\b",
    ),
    (
        ("score", "rating", "verdict", "grade", "judgment", "judgement"),
        r"^[ \t]{0,8}(?:final )?(?:score|rating|verdict|grade|judge?ment)[ \t]{0,3}[:：-][ \t]{0,3}[0-9]{1,2}(?: ?/ ?[0-9]{1,2})?[ \t.]{0,3}$",
    ),
    (("评分", "得分", "分数", "回答", "점수"), r"^[ \t]{0,8}(?:评分|得分|分数|gpt-4回答|점수)[ \t]{0,3}[:：][ \t]{0,3}[0-9]{1,2}"),
)  # fmt: skip

INJECTION = "injection_suspected"
HIDDEN = "hidden_characters"

_EXAMINED = 65_536
"""Characters examined at each end of a long text, where a judge would notice an instruction."""

_MOST_MATCHES = 64
"""How many occurrences of one trigger are examined."""
_BEFORE, _BEHIND = 80, 120
"""How many characters around its trigger a pattern may span."""


class _Rule(NamedTuple):
    words: frozenset[str]
    """ASCII words, of which one must be a word of the text"""
    signs: tuple[str, ...]
    """signs, and words of scripts without spaces, which may be anywhere in the text"""
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
    """Signs by a punctuation character in them: a text without that character has none of the signs."""
    by_mark: dict[str, dict[str, None]] = {}
    for sign in (sign for rule in rules for sign in rule.signs):
        mark = re.search(r"\W", sign)
        by_mark.setdefault(mark[0] if mark else sign, {})[sign] = None
    return tuple((mark, tuple(signs)) for mark, signs in by_mark.items())


_SIGNS = _by_mark(_RULES)
_ASCII_SIGNS = _by_mark(_ASCII_RULES)
_SPACED = str.maketrans(dict.fromkeys("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\u2019\u201c\u201d", " "))
# Most texts are ASCII, and translating bytes is several times as fast as translating characters.
_ASCII_SPACED = bytes(
    32 if chr(code).isspace() else ord(chr(code).translate(_SPACED)) for code in range(128)
) + bytes(128)
_ASCII_WORDS = frozenset(word.encode() for word in _WORDS)

_SHORTEST_CODE = 28
_BASE64 = re.compile(r"[A-Za-z0-9+/]{28,400}+={0,2}")
_CODE_BYTES = bytes(120 if re.match(r"[A-Za-z0-9+/]", chr(code), re.ASCII) else 32 for code in range(256))
_CODE = b"x" * _SHORTEST_CODE

# Characters that change how a text looks but not what a model reads: overrides of the writing
# direction, and the tag block, which is invisible ASCII.
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
    """The flags of one text: `injection_suspected`, `hidden_characters`, or none."""
    if len(text) > 2 * _EXAMINED:
        text = f"{text[:_EXAMINED]}\n{text[-_EXAMINED:]}"
    if not text.isascii() and (_OVERRIDES.search(text) or _BROKEN_WORD.search(text)):
        return (INJECTION, HIDDEN)
    return (INJECTION,) if any(_addresses_the_judge(form.lower()) for form in _undisguised(text)) else ()


def _addresses_the_judge(text: str) -> bool:
    rules, signs = (_ASCII_RULES, _ASCII_SIGNS) if text.isascii() else (_RULES, _SIGNS)
    words = _words_in(text)
    seen = {sign for mark, with_mark in signs if mark in text for sign in with_mark if sign in text}
    if not words and not seen:
        return False
    return any(
        rule.pattern.search(text, max(0, at - _BEFORE), at + _BEHIND) is not None
        for rule in rules
        for word in (*(rule.words & words), *(sign for sign in rule.signs if sign in seen))
        for at in _occurrences(text, word)
    )


def _occurrences(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    for _ in range(_MOST_MATCHES):
        if at < 0:
            return
        yield at
        at = text.find(word, at + _BEHIND // 2)


def _words_in(text: str) -> frozenset[str]:
    """The trigger words in the text."""
    if not text.isascii():
        return _WORDS.intersection(text.translate(_SPACED).split())
    words = _ASCII_WORDS.intersection(text.encode().translate(_ASCII_SPACED).split())
    return frozenset(word.decode() for word in words)


def _codes_in(text: str) -> Iterator[str]:
    """The words that may be base64. A scan over the bytes shows that most texts have none."""
    if _CODE in text.encode("utf-8", "replace").translate(_CODE_BYTES):
        yield from filter(_BASE64.fullmatch, text.split())


def _undisguised(text: str) -> list[str]:
    """The text as written, and without disguises: invisible and lookalike characters, base64."""
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
