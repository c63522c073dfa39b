"""Whether a reply declines to judge. Asked only where no
answer was found: a refusal beside an answer is prose.
"""

from __future__ import annotations

import re
from itertools import islice

from ...lazy_patterns import lazily
from .characters import folded, narrow
from .own_voice import places

MOST_SIGNS = 4
_HEAD = 300
"""How far into a reply a refusal begins, in characters."""

_TASK = (
    r"(?:evaluat|assess|rat(?:e|ing)|scor|judg|grad|compar|provid|assist|help|compl|fulfil|determin|choos|"
    r"select|giv|"
    r"answer|respond|engag|continu|do\s(?:that|this|so)|process|review|participat|offer|make|decid|pick|"
    r"support|generat|discuss)"
)
_SIGNS = (
    *(
        "n't",
        "n’t",
        "cant ",
        "cannot",
        "can not",
        "could not",
        "will not",
        "unable",
        "not able",
        "declin",
        "refuse",
        "wont ",
    ),
    *("comfortable", "sorry", "apolog", "impossible", "not possible", "n/a", "not applicable", "abstain"),
    *("no score", "no rating", "no verdict"),
)
_ASIAN_SIGN = lazily(
    "无法|無法|不能|还没|不便|拒绝|拒絕|没有办法|없|불가|어렵|않겠|못|거부|거절|できません|できない|しかね"
)
_AROUND = 80
"""How far around one of these words a refusal reaches: most text is then never searched at all."""

_REFUSAL = lazily(
    rf"\bi(?:['’]m|\sam)?\s(?:\w+\s)?(?:cannot|can['’]?t|can\snot|could\snot|couldn['’]t|won['’]?t|will\snot|"
    rf"unable|"
    rf"not\sable|must\s(?:respectfully\s)?decline|decline|refuse|do\snot\sfeel\scomfortable|"
    rf"don['’]t\sfeel\scomfortable|"
    rf"not\scomfortable|have\sto\sdecline)\b[^.\n]{{0,40}}?\b{_TASK}"
    r"|\b(?:sorry|apologi[sz]e|apologies)\b[^.\n]{0,30}\b(?:but|cannot|can['’]?t|unable|not\sable)\b"
    rf"|^(?:unable|impossible|not\spossible)\sto\s{_TASK}|^(?:\w+\s){{1,4}}cannot\sbe\s(?:evaluated|rated|"
    rf"scored|judged|assessed|graded)"
    r"|^(?:n/a|not\sapplicable|(?:i\s)?abstain|no\s(?:score|rating|verdict))\b"
    r"|(?:抱歉|对不起|對不起|很遗憾|很遺憾)[^。\n]{0,30}(?:无法|無法|不能|不便|没有办法|还没学)"
    r"|(?:我|本人|作为|因此)?[^。\n]{0,12}(?:无法|無法|不能|拒绝|拒絕|不便)[^。"
    r"\n]{0,12}(?:评价|评分|评估|評|打分|判断|判斷|提供|回答|协助|比较|完成|给出|满足|回应|处理)"
    r"|(?:평가|판단|채점|답변|제공|비교|점수|선택|도와|응답|결정)[^.\n]{0,16}(?:수\s?없|불가|어렵습니다|않겠|못\s?합니다|거부|거절)"
    r"|(?:죄송|유감)[^.\n]{0,40}(?:없|불가|어렵)"
    r"|(?:評価|判断|回答|採点|お答え)[^。\n]{0,10}(?:できません|できない|致しかね|いたしかね)",
)


_ABSTAINS = lazily(
    r"[\s\"'`“”‘’(\[{:=|<>*_-]{0,8}(?:(?:is|the|score|rating|answer|result|grade|a|as)\s){0,3}[\"'`(\[]{0,2}"
    r"(?:n\s?/\s?a\b|n\.a\.|na(?=\s?(?:[.<)\]]|$))|none\b|not\s(?:applicable|available|given|possible|"
    r"ratable|scor(?:ed|able)|assess|rated|sure)|"
    r"no\s(?:score|rating|grade|answer|verdict|result|winner)|unable|(?:i\s)?(?:cannot|can['’]?t\b|can\snot|won['’]t\b)|"
    r"declin|refus|abstain|undetermined|unrated|"
    r"withh(?:e|o)ld|무응답|(?:평가|채점|판단|점수)[^.\n]{0,8}(?:수\s?없|불가|어렵)|无法|無法|不适用|不適用|无(?!疑)|無|不能|不予|없음|없습니다|불가|해당\s?없|모름|なし|該当なし)",
    re.I,
)
"""What stands behind a mark in place of an answer."""


def abstains(text: str, at: int) -> bool:
    """Whether a judge abstains behind a mark that ends at a place: "[RESULT] N/A", "Score: none"."""
    return _ABSTAINS.match(text, at) is not None


def declines(text: str) -> bool:
    """Whether the beginning of the reply says that the judge cannot or will not judge."""
    head = folded(narrow(text[: 2 * _HEAD])).strip()[:_HEAD]
    signs = places(head, _SIGNS, MOST_SIGNS)
    if not head.isascii():
        signs += [match.span() for match in islice(_ASIAN_SIGN.finditer(head), MOST_SIGNS)]
    return any(_REFUSAL.search(head, max(0, start - _AROUND), end + _AROUND) for start, end in signs)
