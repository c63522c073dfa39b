"""The places where a judge marks its answer: [[x]], [RESULT] x, <score>x</score>, "Score: x", a JSON key.

A mark says where an answer begins and how strongly it claims to be the answer; what stands there is read by
others. The text must be narrow, folded and without emphasis, with everything repeated set aside.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .text import places

ANSWER = 3
"""A bracket, a tag, a marker, or a label that says final or overall."""
LABEL = 2
"""A plain label: "Score:"."""
PART = 1
"""The label of one criterion among possibly several: "Coherence:"."""

MOST_MARKS = 2_000
"""No judge marks its answer more often; what comes later is not looked at."""

SCORE_WORDS = tuple(
    "score rating grade rated result 得分 评分 評分 分数 分數 打分 总分 總分 评价 점수 평점 총점 평가 스코어 スコア 点数 得点 評価".split()
)
VERDICT_WORDS = tuple(
    "verdict winner preference preferred decision result judgment judgement better best chosen vote "
    "结论 胜者 获胜者 判定 裁决 승자 판정 선택 勝者 判決".split()
)
CHOICE_WORDS = VERDICT_WORDS + tuple(
    "answer choice selection selected conclusion output 选择 选项 答案 结果 判断 결과 정답 결론 選択 結論".split()
)
"""Words for a verdict, and with them words that may name something else too: the judge's own answer, a section."""

_FINAL = re.compile(
    r"\b(?:final|overall|total|my|average|mean|aggregate|combined|conclusion|verdict)\b|最终|最終|总|總|综合|綜合|整体|최종|종합|전체|총"
)
_NOT_AN_ANSWER = re.compile(
    r"\b(?:max(?:imum)?|min(?:imum)?|perfect|possible|highest|lowest|passing|confidence|certainty|probability|weight|reference|"
    r"threshold|baseline|previous|expected|example|(?<!on\sa\s)scale|range|index|id|count|number|version|position|rank|year|date|page|"
    r"line|step|length|words?|tokens?|human|f1|bleu|rouge|credit)\b|满分|滿分|最高|最低|만점|置信|信心|신뢰"
)
_PLAIN = frozenset(
    "the a an this that its your our so therefore thus hence and is given here here's i give it would assistant assistant's "
    "response response's summary summary's answer answer's numeric numerical integer result evaluation quality for of".split()
)
_PLAIN_CJK = re.compile(r"助手|的|回答|该|这|本|文章|给|응답|답변|의")
_NOT_WORDS = re.compile(r"[-–—•·#>0-9.)(\]\[{}\"`*/\\]++")
_CLAUSE_ENDS = "\n.;!?|:,({[\"'“”。，；：！？、>\ufffc"


class Mark(NamedTuple):
    """Where a marked answer begins, where its mark begins, and how strong the claim is."""

    start: int
    at: int
    rank: int


@lru_cache(maxsize=8)
def _hard(words: tuple[str, ...]) -> re.Pattern[str]:
    either = "|".join(words)
    return re.compile(
        r"\[\[(?=[^\[\]\n]{1,40}\]\])"
        rf"|\[(?:(?:final|overall|my)[\s_])?(?:{either})s?(?:\s?\][:\s]{{0,4}}|[:\s]{{1,3}})"
        rf"|<(?:(?:final|overall)[\s_-])?(?:{either})s?\s{{0,4}}>"
        r"|\\boxed\{"
        rf"|【(?:最终|最終|总|综合|최종|final\s)?(?:{either})】[:\s]{{0,4}}"
    )


_AFTER_LABEL = re.compile(
    r"s?(?:[\s_](?:response|answer|output|option|summary))?"
    r"(?:\s{1,2}(?:for|on|in\sterms\sof)\s[^\n:.;,0-9=]{1,40})?(?:\s{0,2}\([^()\n]{0,48}\))?[\s\"'”’`\]]{0,4}"
    r"(?::|=|->|→|\||\s[-–—]\s|[-–—]\s{1,2})"
)
_LINE_LABEL = re.compile(r"^([^\n:]{1,48}):[ \t]*+(?:\n[ \t]*+){0,2}(?=[0-9\"'`(])", re.M)
_KEY = re.compile(r"[\"']([^\"'\n:]{1,40})[\"']\s{0,4}:\s{0,4}")


def hard_marks(text: str, words: tuple[str, ...]) -> list[Mark]:
    """Brackets, markers and tags, in order."""
    if "[" not in text and "<" not in text and "\\" not in text and "【" not in text:
        return []
    found: list[Mark] = []
    for match in _hard(words).finditer(text):
        found.append(Mark(match.start(), match.end(), ANSWER))
        if len(found) >= MOST_MARKS:
            break
    return found


def labels(text: str, words: tuple[str, ...]) -> list[Mark]:
    """Labels that name an answer, in order; the words before a label tell its rank."""
    found: list[Mark] = []
    for start, end in places(text, words, MOST_MARKS):
        after = _AFTER_LABEL.match(text, end)
        rank = _rank(text, start) if after else 0
        if after and rank:
            found.append(Mark(start, after.end(), rank))
    return found


def part_labels(text: str) -> list[Mark]:
    """Any label alone before a value: at the start of a line, or as a key."""
    found: list[Mark] = []
    if ":" not in text:
        return found
    for pattern in (_LINE_LABEL, _KEY):
        for match in pattern.finditer(text):
            if not _NOT_AN_ANSWER.search(match[1]):
                rank = ANSWER if _FINAL.search(match[1]) and len(match[1]) < 24 else PART
                found.append(Mark(match.start(), match.end(), rank))
            if len(found) >= MOST_MARKS:
                break
    return found


def _rank(text: str, start: int) -> int:
    """How strongly a label claims to be the answer, by the words before it; 0 where it cannot be one."""
    if start and (text[start - 1].isalnum() and text[start - 1].isascii()):
        return 0
    before = text[max(0, start - 40) : start]
    cut = max(before.rfind(end) for end in _CLAUSE_ENDS)
    before = before[cut + 1 :].replace("_", " ")
    if _NOT_AN_ANSWER.search(before):
        return 0
    if _FINAL.search(before):
        return ANSWER
    words = _NOT_WORDS.sub(" ", before if before.isascii() else _PLAIN_CJK.sub(" ", before)).split()
    return LABEL if _PLAIN.issuperset(words) else PART
