"""The places where a judge marks its answer: [[x]], [RESULT] x, <score>x</score>, "Score: x", a JSON key.

A mark says where an answer begins and how strongly it claims to be the answer; what stands there is read by
others. The text must be narrow, folded and without emphasis, with everything repeated set aside.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

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
ANSWER_WORDS = tuple(
    "answer choice selection selected conclusion output 选择 选项 答案 结果 判断 결과 정답 결론 選択 結論".split()
)
"""Words that may also name something else: the judge's own answer to the task, a section."""

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


_SEPARATORS = (":", "=", "->", "→", "|", "- ", "– ", "— ")


@lru_cache(maxsize=8)
def _labels(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(words)})" + _AFTER_LABEL)


_AFTER_LABEL = (
    r"s?(?:[\s_](?:response|answer|output|option|summary))?"
    r"(?:\s{1,2}(?:for|on|in\sterms\sof)\s[^\n:.;,0-9=]{1,40})?(?:\s{0,2}\([^()\n]{0,48}\))?[\s\"'”’`\]]{0,4}"
    r"(?::|=|->|→|\||\s[-–—]\s|[-–—]\s{1,2})"
)
_COLON = re.compile(r":[ \t]*+(?:\n[ \t]*+){0,2}(?=[0-9\"'`(])")
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
    if not any(sign in text for sign in _SEPARATORS):
        return found
    for match in _labels(words).finditer(text):
        rank = _rank(text, match.start())
        if rank:
            found.append(Mark(match.start(), match.end(), rank))
            if len(found) >= MOST_MARKS:
                break
    return found


def part_labels(text: str) -> list[Mark]:
    """Any label alone before a value: at the start of a line, or as a key."""
    found: list[Mark] = []
    for colon in _COLON.finditer(text):
        # The label is the line so far, and short; a longer look back would cost time on long lines.
        before = text[max(0, colon.start() - 49) : colon.start()]
        line = before[before.rfind("\n") + 1 :]
        if 0 < len(line) <= 48 and ":" not in line:
            found.append(Mark(colon.start() - len(line), colon.end(), _rank_of_part(line)))
        if len(found) >= MOST_MARKS:
            break
    if '":' in text or "':" in text or '" :' in text:
        keys = islice(_KEY.finditer(text), MOST_MARKS)
        found += [Mark(key.start(), key.end(), _rank_of_part(key[1])) for key in keys]
    return [mark for mark in found if mark.rank]


def _rank_of_part(label: str) -> int:
    if _NOT_AN_ANSWER.search(label):
        return 0
    return ANSWER if len(label) < 24 and _FINAL.search(label) else PART


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
