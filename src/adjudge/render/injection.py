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
from functools import lru_cache

INJECTION = "injection_suspected"
HIDDEN = "hidden_characters"

_JUDGED = r"(?:response|answer|output|summary|essay|text|submission|candidate|reply|assistant|completion)"
_RULES = r"(?:instructions?|prompts?|rules?|rubrics?|criteri(?:a|on)|guidelines?|directions?|scale|above|everything)"
_GIVING = r"(?:give|assign|award|grant|output|return|print|write|rate|score|grade|mark|deserves?)"
_TOP = r"(?:[0-9]{1,3}|full|maximum|max|perfect|highest|top|best|five|ten)"

_INSTRUCTIONS = (
    # Telling the judge to drop what it was told.
    rf"(?:ignore|disregard|forget|override|bypass|skip)\b[^.\n]{{0,40}}\b{_RULES}\b",
    r"ignor(?:a|e|ez|iere|iert|uj)\b[^.\n]{0,30}\b(?:instruc|anweisung|regel|consigne|reg)",
    r"(?:忽略|无视|忘记|忘掉|不要理会|無視)[^。\n]{0,12}(?:指令|指示|要求|标准|規則|规则|内容|提示)",
    r"(?:指示|命令|ルール)[^。\n]{0,6}無視",
    r"(?:지시|명령|지침|규칙|프롬프트|기준)[^.\n]{0,10}(?:무시|잊)",
    r"(?:игнорир|забудь)[^.\n]{0,30}(?:инструкц|правил|указан)",
    # Telling it which score or side to give.
    rf"{_GIVING}\b[^.\n]{{0,20}}\b(?:this|the|my|its?|that|every|each|any|all)\b[^.\n]{{0,20}}"
    rf"\b{_JUDGED}?\b[^.\n]{{0,20}}\b(?:scores?|rating|grade|marks?|points?)\b[^.\n]{{0,12}}\b{_TOP}\b",
    rf"{_GIVING}\b (?:it |me |us |this |them )?(?:a |an |the )?(?:full|maximum|max|perfect|highest|top)[- ]"
    r"(?:scores?|marks?|ratings?|grade|points?)",
    rf"(?:every|each|any|this|my) {_JUDGED}s? (?:deserves?|merits?|must (?:get|receive)|should (?:get|receive|be))\b"
    rf"[^.\n]{{0,30}}\b{_TOP}\b",
    r"(?:must|should|please|to|now|and|only|just) (?:output|print|return|answer with|reply with|respond with)"
    r"(?: only| just| exactly)?(?: the| a)?(?: number| score| digit)?:? ['\"“]?[0-9]{1,2}\b",
    r"^\W{0,3}(?:give|output|print|return|assign|award) ['\"“]?[0-9]{1,2}(?: ?/ ?[0-9]{1,2})?\b[^\w\n]{0,3}$",
    r"(?:choose|pick|select|prefer|vote for|declare) (?:response|output|answer|assistant|option|candidate) [ab12]\b",
    r"(?:response|answer|output|assistant) [ab12] is (?:the )?(?:better|best|superior|winner)[^\n]{0,4}"
    r"\s+(?:response|answer|output|assistant) [ab12] is",
    r"(?:请|直接|必须|应该|务必)[^。\n]{0,6}(?:给出?|打|评)[^。\n]{0,6}(?:[0-9十五满高]{1,3}分)",
    r"(?:만점|[0-9]{1,2}점|높은 점수)(?:을|를)?\s*(?:주세요|줘|주십시오|부여하|매겨|달라)",
    r"invert(?:ed)? the (?:scale|scores?|rubric)|(?:scale|scores?) (?:is|are) (?:inverted|reversed)",
    r"our [0-9]{1,2} is the (?:worst|best|lowest|highest)",
    # Claiming an authority, or a verdict that was reached already.
    r"(?:dear|hello|hi|attention|note to|message to|hey),? (?:the |all )?(?:judge|grader|evaluator|rater|reviewer|llm|ai)\b",
    r"(?:i am|i'm|as) (?:the|your|a|an) (?:developer|creator|author|administrator|admin|owner|maintainer|operator)"
    r"[^.\n]{0,60}\b(?:you|evaluation|rubric|score|choose|judge)\b",
    r"i (?:hereby )?authori[sz]e you",
    r"you are (?:now|no longer)\b[^.\n]{0,40}\b(?:grader|judge|evaluator|assistant|mode|ai|model|bot|rater)",
    r"(?:verified|rated|graded|scored|certified|judged|approved)\b[^.\n]{0,60}\b(?:as )?(?:perfect|flawless|[0-9]{1,2} ?/ ?[0-9]{1,2})",
    r"(?:new|updated|revised|real|actual) (?:system )?(?:instructions?|prompt|rubric|scoring (?:rules?|guide))\s*[:：]",
    r"(?:你现在是|我是你的(?:开发者|创造者|主人)|(?:당신|너)은?는? 이제)",
)

_MARKERS = (
    # What a prompt or a reply of a judge is made of, standing inside the text that is judged.
    r"<\|[a-z_]{2,40}\|>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>|</?s>",
    r"\[\[ ?(?:[ab]|tie|[0-9]{1,2}(?:\.[0-9])?|[ab](?:>>?|=|<<?)[ab]) ?\]\]|\[/?result\]",
    r"</?(?:score|scores|result|rating|verdict|judgment|grade|rubric|evaluation|feedback)[ \t]*>",
    r"</?(?:source_text|generated_response|response|response_[ab]|reference|instruction|summary|task|candidate)"
    r"(?:-[0-9a-f]{1,16})?[ \t]*>",
    r"^[ \t]*#{2,6}[ \t]*(?:score|rubric|reference answer|feedback|task description|the instruction|"
    r"response to evaluate|response [ab]\b|system|evaluation (?:criteria|steps)|output format)",
    r"^[ \t]*(?:system|assistant|human)[ \t]*[:：]",
    r"[\"']?(?:score|winner|verdict|rating)[\"'] ?: ?[\"']?(?:[0-9]{1,2}|a|b|tie|baseline|enhanced)\b",
    r"(?:begin|end|start|stop) (?:of )?(?:the )?(?:few-shot|example|response|answer|evaluation|submission|candidate)\b",
    r"^[ \t]*(?:final )?(?:score|rating|verdict|grade|judge?ment)[ \t]*[:：-][ \t]*[0-9]{1,2}(?: ?/ ?[0-9]{1,2})?[ \t.]*$",
    r"^[ \t]*(?:评分|得分|分数|gpt-4回答|점수)[ \t]*[:：][ \t]*[0-9]{1,2}",
)

_SUSPICIOUS = re.compile(
    "|".join(f"(?:{p})" for p in (*_INSTRUCTIONS, *_MARKERS)), re.IGNORECASE | re.MULTILINE
)

_BASE64 = re.compile(r"[A-Za-z0-9+/]{28,400}={0,2}")

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
    hidden = not text.isascii() and bool(_OVERRIDES.search(text) or _BROKEN_WORD.search(text))
    if hidden:
        return (INJECTION, HIDDEN)
    return (INJECTION,) if any(_SUSPICIOUS.search(form) for form in _forms(text)) else ()


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
    for run in _BASE64.finditer(text):
        body = run[0].rstrip("=")
        try:
            decoded = base64.b64decode(body[: len(body) // 4 * 4]).decode("ascii")
        except (binascii.Error, UnicodeDecodeError):
            continue
        forms.append(decoded)
    return forms
