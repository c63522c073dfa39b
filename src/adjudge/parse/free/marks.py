"""The places where a judge marks its answer: [[x]], [RESULT] x, <score>x</score>, "Score: x", a JSON key.

A mark says where an answer begins and how strongly it claims to be the answer; what stands there is read by
others. The text must be narrow, folded and without emphasis, with everything repeated set aside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from ...lazy_patterns import lazily
from ...records import Status
from ..numbers import european
from ..text.refusals import abstains

ANSWER = 3
"""A bracket, a tag, a marker, or a label that says final or overall."""

LABEL = 2
"""A plain label: "Score:"."""

PART = 1
"""The label of one criterion among possibly several: "Coherence:"."""

BOX = 0
"""A box around a result, which may be the task's: \\boxed{4}."""

MOST_MARKS = 2_000
"""No judge marks its answer more often; what comes later is not looked at."""

SCORE_WORDS = tuple(
    "score rating grade rated result 得分 评分 評分 分数 分數 打分 总分 總分 评价 점수 평점 별점 총점 평가"
    " 스코어 スコア 点数 得点 評価".split()
    + european.SCORE_WORDS
    + [european.FINAL_NOTE]
)
VERDICT_WORDS = tuple(
    "verdict winner preference preferred decision result judgment judgement better best chosen vote overall "
    "gewinner sieger urteil gagnant vainqueur ganador vincitore vencedor veredicto verdetto "
    "победитель вердикт "
    "结论 胜者 获胜者 判定 裁决 승자 판정 선택 勝者 判決".split()
)
ANSWER_WORDS = tuple(
    "answer choice selection selected conclusion output "
    "选择 选项 答案 结果 判断 결과 정답 결론 選択 結論".split()
)
"""Words that may also name something else: the judge's own answer to the task, a section."""

_FINAL = lazily(
    r"\b(?:final|overall|total|my|average|mean|aggregate|combined|conclusion|verdict|revised|corrected|"
    r"adjusted|updated)\b|最终|最終|总|總|综合|綜合|整体|更正|修正|[后後]的?\s?$|重新|최종|종합|전체|총|수정|정정"
)
_NOT_AN_ANSWER = lazily(
    r"\b(?:max(?:imum)?|min(?:imum)?|perfect|possible|highest|lowest|passing|confidence|certainty|"
    r"probability|weight|reference|impression|"
    r"threshold|baseline|previous|prior|earlier|initial|tentative|provisional|preliminary|requested|"
    r"suggested|claimed|desired|target|expected|"
    r"deduct(?:ed|ions?)|penalt(?:y|ies)|errors|mistakes|example|(?<!on\sa\s)scale|range|index|id|count|"
    r"number|version|position|rank(?:ing)?|year|date|page|"
    r"line|step|length|words?|tokens?|human|f1|bleu|rouge|credit)\b|初步|初始|满分|滿分|最高|最低|之前|扣分|만점|감점|이전|置信|信心|신뢰"
)
_COUNTED = lazily(
    # Part labels only: "for this reason the score: 4" is one of a score.
    r"\b(?:strengths?|weakness(?:es)?|pros|cons|reasons?|issues?|problems?|faults?|lost|missed|found|"
    r"priority|severity|temperature|improvements?|"
    r"suggestions?|recommendations?|findings|observations?|notes?|steps?|time|day|chapter|section|question|"
    r"item|figure|table|"
    r"sources?|references?|citations?|examples?|instructions?|facts?|claims?|sentences?|paragraphs?)\b"
    r"|优点|缺点|不足|理由|原因|建议|장점|단점|이유|개선|참고|参考答案|标准答案|正确答案"
    r"|(?:'s|\b(?:student|reference|expected|correct|actual|true|ground|gold|right))\b[^\n]{0,24}\b(?:answer|"
    r"result|solution|output|value|response)\b"
)
"""Labels of what a judge counts, numbers or quotes, and of another person's result."""

_PLAIN = frozenset(
    "the a an b this that its your our so therefore thus hence and is given here here's i give it "
    "would assistant assistant's "
    "response response's summary summary's answer answer's numeric numerical integer result "
    "evaluation quality for of".split()
)
_PLAIN_CJK = lazily(r"助手|的|回答|该|这|本|文章|给|응답|답변|의")
_NOT_WORDS = lazily(r"[-–—•·#>0-9.)(\]\[{}\"`*/\\]++[점分点]?")
_CLAUSE_ENDS = frozenset("\n.;!?|:,({[\"'“”。，；：！？、>…\ufffc")


class AnswerMark(NamedTuple):
    """Where a marked answer begins, where its mark begins, and how strong the claim is."""

    start: int
    at: int
    rank: int


@lru_cache(maxsize=8)
def _hard(words: tuple[str, ...]) -> re.Pattern[str]:
    either = "|".join(words)
    return re.compile(
        r"\[\[(?=[^\[\]]{0,40}\]\])"
        rf"|\[(?:(?:final|overall|my)[\s_])?(?:{either})s?(?:\s?\][:\s]{{0,4}}|[:\s]{{1,3}})"
        rf"|<(?:(?:final|overall)[\s_-])?(?:{either})s?\s{{0,4}}>"
        r"|(?:\A|(?<=\n)|(?<=[.!?。])|(?<=[.!?。"
        rf"]\s))\((?:(?:final|overall)\s)?(?:{either})s?[:\s]{{1,3}}(?=[^()\n]{{1,12}}\)[.。]?\s*+(?:\n|\Z))"
        r"|<answer>\s{0,2}|\\boxed\{(?:\\(?:text|mathrm|mathbf|textbf)\{)?"
        rf"|【(?:最终|最終|总|综合|최종|final\s)?(?:{either})】[:\s]{{0,4}}"
    )


_SEPARATORS = ("=", "->", "→", "⇒", "|", "- ", "– ", "— ")


@lru_cache(maxsize=8)
def _labels(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(words)})" + _AFTER_LABEL)


_AFTER_LABEL = (
    r"s?(?:[\s_](?:response|answer|output|option|summary))?"
    r"(?:\s{1,2}(?:for|on|in\sterms\sof)\s[^\n:.;,0-9=]{1,40})?(?:\s{0,2}\([^()\n]{0,48}\))?[\s\"'”’`\]]{0,4}"
    r"(?::|=|->|→|⇒|\||\s[-–—]\s|[-–—]\s{1,2})"
)
_COLON_BEFORE_ANSWER = lazily(r":[ \t]*+(?:\n[ \t]*+){0,2}(?=[0-9\"'`(])")
TABLE_ROW = lazily(
    # A row of a table that gives one number: with two, it compares.
    r"^[ \t]{0,4}\|[ \t]{0,4}([^\W\d_][^|\n]{1,40})\|(?=[ \t]{0,4}[0-9][0-9./ ]{0,8}[ \t]{0,4}\|(?![ "
    r"\t]{0,4}[0-9]))",
    re.M,
)
_LATER_LABEL = lazily(r"[.;,|][ \t]{0,2}([^\W\d_][^\n.;,|:]{1,30})$")
_KEY = lazily(r"[\"']([^\"'\n:]{1,40})[\"']\s{0,4}:\s{0,4}")


def hard_marks(text: str, words: tuple[str, ...]) -> list[AnswerMark]:
    """Brackets, markers and tags, in order."""
    if not any(sign in text for sign in "[<\\【("):
        return []
    marks: list[AnswerMark] = []
    for match in _hard(words).finditer(text):
        is_box = text[match.start()] == "\\" or (
            text.startswith("<answer", match.start()) and "answer" not in words
        )
        marks.append(AnswerMark(match.start(), match.end(), BOX if is_box else ANSWER))
        if len(marks) >= MOST_MARKS:
            break
    return marks


def labels(text: str, words: tuple[str, ...]) -> list[AnswerMark]:
    """Labels that name an answer, in order; the words before a label tell its rank."""
    marks: list[AnswerMark] = []
    if ":" not in text and not any(sign in text for sign in _SEPARATORS):
        return marks
    for match in _labels(words).finditer(text):
        # "result = 1" is a line of code.
        is_code = text[match.end() - 1] == "=" and text.startswith("result", match.start())
        rank = 0 if is_code else label_rank(text, match.start())
        if rank:
            marks.append(AnswerMark(match.start(), match.end(), rank))
            if len(marks) >= MOST_MARKS:
                break
    return marks


def unread_behind(
    text: str, marks: Iterable[AnswerMark], is_read: Callable[[AnswerMark], bool], at: int
) -> Status | None:
    """Why the answer that ends at `at` does not count: a mark behind it claims one that cannot be read; none
    otherwise. No earlier answer takes its place.

    A bracket, a tag or a marker claims an answer, and so does a label that ends the reply, behind which the
    judge abstains, or that announced an answer before.
    """
    known = list(marks)
    behind = [mark for mark in known if mark.start >= at and not is_read(mark)]
    if not behind:
        return None
    kinds = {_kind(text, mark) for mark in known if mark.start < at and is_read(mark)}
    claims = [mark for mark in behind if _kind(text, mark) in kinds or _claims(text, mark)]
    if any(abstains(text, mark.at) for mark in claims):
        return "refused"
    return "unparsed" if claims else None


_LAST_WORDS = lazily(r"(?:[ -~]{0,24}|[^\n]{0,8})\s*+\Z")
_ABOUT = ("result", "evaluat", "评价", "評価", "평가", "overall", "better", "best")
"""Labels that may head a remark as well as an answer."""


def _claims(text: str, mark: AnswerMark) -> bool:
    """Whether a mark that cannot be read leaves no doubt that it announces an answer."""
    if mark.rank < LABEL:
        return False
    if text[mark.start] in "[<(【" or abstains(text, mark.at) or not text[mark.at :].strip():
        return True
    is_remark = any(word in text[mark.start : mark.at] for word in _ABOUT)
    return not is_remark and _LAST_WORDS.match(text, mark.at) is not None


def _kind(text: str, mark: AnswerMark) -> str:
    return "".join(char for char in text[mark.start : mark.at] if not char.isspace() and char not in ":=\"'")


def part_labels(text: str) -> list[AnswerMark]:
    """Any label alone before a value: at the start of a line, or as a key."""
    marks: list[AnswerMark] = []
    for colon in _COLON_BEFORE_ANSWER.finditer(text):
        # The label is the line so far, and short; a longer look back would cost time on long lines.
        before = text[max(0, colon.start() - 49) : colon.start()]
        line = before[before.rfind("\n") + 1 :]
        if 0 < len(line) <= 48 and ":" not in line:
            marks.append(AnswerMark(colon.start() - len(line), colon.end(), _rank_of_part(line)))
        elif marks and text.find("\n", marks[-1].at, colon.start()) < 0:
            # One label behind the other on a line: "Content: 2/5. Style: 4/5."
            label = _LATER_LABEL.search(line)
            if label:
                marks.append(AnswerMark(colon.start() - len(label[1]), colon.end(), _rank_of_part(label[1])))
        if len(marks) >= MOST_MARKS:
            break
    if '":' in text or "':" in text or '" :' in text:
        keys = islice(_KEY.finditer(text), MOST_MARKS)
        marks += [AnswerMark(key.start(), key.end(), _rank_of_part(key[1])) for key in keys]
    if "|" in text:
        rows = islice(TABLE_ROW.finditer(text), MOST_MARKS)
        marks += [AnswerMark(row.start(), row.end(), _rank_of_part(row[1])) for row in rows]
    return [mark for mark in marks if mark.rank]


def _rank_of_part(label: str) -> int:
    if _NOT_AN_ANSWER.search(label) or _COUNTED.search(label):
        return 0
    return ANSWER if len(label) < 24 and _FINAL.search(label) else PART


def label_rank(text: str, start: int) -> int:
    """How strongly a label claims to be the answer, by the words before it; 0 where it cannot be one."""
    if start and (text[start - 1].isalnum() and text[start - 1].isascii()):
        return 0
    before = text[max(0, start - 40) : start]
    if "'s " in before:
        before = before.replace("'s ", "s  ")
    cut = len(before)
    while cut and before[cut - 1] not in _CLAUSE_ENDS:
        cut -= 1
    before = before[cut:].replace("_", " ")
    if _NOT_AN_ANSWER.search(before):
        return 0
    if _FINAL.search(before):
        return ANSWER
    words = _NOT_WORDS.sub(" ", before if before.isascii() else _PLAIN_CJK.sub(" ", before)).split()
    return LABEL if _PLAIN.issuperset(words) else PART
