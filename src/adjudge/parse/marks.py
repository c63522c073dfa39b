"""Answers that stand behind or between marks that the prompt asked for: tag, marker, label, first line.

Each function takes the whole reply and gives one `Reading`. Marks that differ are a conflict, unless
all but one value stand in a quotation, a code fence or a thought: those are not the judge's own voice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from ..records import Reading, Scale, Status
from .numbers import Number, is_entry, number_at
from .prose import counts_things
from .text import ASIDE, Span, fences, lazily, narrow, set_aside, without_emphasis

# The places where a judge marks its answer: [[x]], [RESULT] x, <score>x</score>, "Score: x", a JSON key;
# and those where it takes an answer back: "Correction: x", "on second thought, x", "4 → 3", 更正, 수정.
#
# A mark says where an answer begins and how strongly it claims to be the answer; what stands there is read by
# others. The text must be narrow, folded and without emphasis, with everything repeated set aside.


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
    "score rating grade rated result 得分 评分 評分 分数 分數 打分 总分 總分 评价 점수 평점 총점 평가 스코어 スコア 点数 得点 評価".split()
)
VERDICT_WORDS = tuple(
    "verdict winner preference preferred decision result judgment judgement better best chosen vote overall "
    "结论 胜者 获胜者 判定 裁决 승자 판정 선택 勝者 判決".split()
)
ANSWER_WORDS = tuple(
    "answer choice selection selected conclusion output 选择 选项 答案 结果 判断 결과 정답 결론 選択 結論".split()
)
"""Words that may also name something else: the judge's own answer to the task, a section."""

_FINAL = lazily(
    r"\b(?:final|overall|total|my|average|mean|aggregate|combined|conclusion|verdict|revised|corrected|adjusted|updated)\b|最终|最終|总|總|综合|綜合|整体|최종|종합|전체|총"
)
_NOT_AN_ANSWER = lazily(
    r"\b(?:max(?:imum)?|min(?:imum)?|perfect|possible|highest|lowest|passing|confidence|certainty|probability|weight|reference|"
    r"threshold|baseline|previous|prior|earlier|initial|tentative|provisional|preliminary|requested|suggested|claimed|desired|target|expected|"
    r"deduct(?:ed|ions?)|penalt(?:y|ies)|errors|mistakes|example|(?<!on\sa\s)scale|range|index|id|count|number|version|position|rank|year|date|page|"
    r"line|step|length|words?|tokens?|human|f1|bleu|rouge|credit)\b|满分|滿分|最高|最低|之前|扣分|만점|감점|이전|置信|信心|신뢰"
)
_COUNTED = lazily(
    # Part labels only: "for this reason the score: 4" is one of a score.
    r"\b(?:strengths?|weakness(?:es)?|pros|cons|reasons?|issues?|problems?|faults?|lost|missed|found|priority|severity|temperature|improvements?|"
    r"suggestions?|recommendations?|findings|observations?|notes?|steps?|time|day|chapter|section|question|item|figure|table|"
    r"sources?|references?|citations?|examples?|instructions?|facts?|claims?|sentences?|paragraphs?)\b"
    r"|优点|缺点|不足|理由|原因|建议|장점|단점|이유|개선|참고|参考答案|标准答案|正确答案"
    r"|(?:'s|\b(?:student|reference|expected|correct|actual|true|ground|gold|right))\b[^\n]{0,24}\b(?:answer|result|solution|output|value|response)\b"
)
"""Labels of what a judge counts, numbers or quotes, and of another person's result."""
_PLAIN = frozenset(
    "the a an this that its your our so therefore thus hence and is given here here's i give it would assistant assistant's "
    "response response's summary summary's answer answer's numeric numerical integer result evaluation quality for of".split()
)
_PLAIN_CJK = lazily(r"助手|的|回答|该|这|本|文章|给|응답|답변|의")
_NOT_WORDS = lazily(r"[-–—•·#>0-9.)(\]\[{}\"`*/\\]++")
_CLAUSE_ENDS = frozenset("\n.;!?|:,({[\"'“”。，；：！？、>\ufffc")


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
_ROW = lazily(
    # A row of a table that gives one number: with two, it compares.
    r"^[ \t]{0,4}\|[ \t]{0,4}([^\W\d_][^|\n]{1,40})\|(?=[ \t]{0,4}[0-9][0-9./ ]{0,8}[ \t]{0,4}\|(?![ \t]{0,4}[0-9]))",
    re.M,
)
_LATER_LABEL = lazily(r"[.;,|][ \t]{0,2}([^\W\d_][^\n.;,|:]{1,30})$")
_KEY = lazily(r"[\"']([^\"'\n:]{1,40})[\"']\s{0,4}:\s{0,4}")


def hard_marks(text: str, words: tuple[str, ...]) -> list[Mark]:
    """Brackets, markers and tags, in order."""
    if "[" not in text and "<" not in text and "\\" not in text and "【" not in text:
        return []
    marks: list[Mark] = []
    for match in _hard(words).finditer(text):
        is_box = text[match.start()] == "\\" or (
            text.startswith("<answer", match.start()) and "answer" not in words
        )
        marks.append(Mark(match.start(), match.end(), BOX if is_box else ANSWER))
        if len(marks) >= MOST_MARKS:
            break
    return marks


def labels(text: str, words: tuple[str, ...]) -> list[Mark]:
    """Labels that name an answer, in order; the words before a label tell its rank."""
    marks: list[Mark] = []
    if ":" not in text and not any(sign in text for sign in _SEPARATORS):
        return marks
    for match in _labels(words).finditer(text):
        # "result = 1" is a line of code.
        is_code = text[match.end() - 1] == "=" and text.startswith("result", match.start())
        rank = 0 if is_code else _rank(text, match.start())
        if rank:
            marks.append(Mark(match.start(), match.end(), rank))
            if len(marks) >= MOST_MARKS:
                break
    return marks


def part_labels(text: str) -> list[Mark]:
    """Any label alone before a value: at the start of a line, or as a key."""
    marks: list[Mark] = []
    for colon in _COLON_BEFORE_ANSWER.finditer(text):
        # The label is the line so far, and short; a longer look back would cost time on long lines.
        before = text[max(0, colon.start() - 49) : colon.start()]
        line = before[before.rfind("\n") + 1 :]
        if 0 < len(line) <= 48 and ":" not in line:
            marks.append(Mark(colon.start() - len(line), colon.end(), _rank_of_part(line)))
        elif marks and text.find("\n", marks[-1].at, colon.start()) < 0:
            # One label behind the other on a line: "Content: 2/5. Style: 4/5."
            label = _LATER_LABEL.search(line)
            if label:
                marks.append(Mark(colon.start() - len(label[1]), colon.end(), _rank_of_part(label[1])))
        if len(marks) >= MOST_MARKS:
            break
    if '":' in text or "':" in text or '" :' in text:
        keys = islice(_KEY.finditer(text), MOST_MARKS)
        marks += [Mark(key.start(), key.end(), _rank_of_part(key[1])) for key in keys]
    if "|" in text:
        rows = islice(_ROW.finditer(text), MOST_MARKS)
        marks += [Mark(row.start(), row.end(), _rank_of_part(row[1])) for row in rows]
    return [mark for mark in marks if mark.rank]


def _rank_of_part(label: str) -> int:
    if _NOT_AN_ANSWER.search(label) or _COUNTED.search(label):
        return 0
    return ANSWER if len(label) < 24 and _FINAL.search(label) else PART


def _rank(text: str, start: int) -> int:
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


class Correction(NamedTuple):
    """Where a judge takes back what it said, and where the new answer would begin."""

    start: int
    at: int
    announced: bool
    """whether the words can mean nothing else; otherwise the new answer must stand close to them"""
    is_tied: bool
    """whether the words between make it an answer: "actually, I would give it"; or there are none"""


_CORRECTING: dict[str, str] = {
    "correction": r"\s?[:,–—-]",
    "edit": r"(?:ed)?\s?:",
    "update": r"d?\s?:",
    "on second ": r"(?:thoughts?|reading|look)\b",
    "on further ": r"(?:thought|reflection|consideration|reading|review)\b",
    "on closer ": r"(?:reading|inspection|look|reflection)\b",
    "on reflection": r"\b",
    "wait": r"(?=[\s,.!:;–—-])",
    "scratch that": r"\b",
    "changed my mind": r"\b",
    "let me ": r"(?:revise|correct|change|reconsider|rethink|adjust)\b",
    "reconsidering": r"\b",
    "i mean": r"t?\b(?=[\s,])",
    "oops": r"\b",
    "my mistake": r"\b",
    "i misread": r"\b",
    "no, ": r"",
    "sorry": r"\s?[,:]",
    "不,": r"",
    "更正": r"",
    "修正": r"",
    "纠正": r"",
    "정정": r"",
    "수정": r"",
    "다시 생각": r"[가-힣]{0,4}",
}
"""What announces a correction, each with what must follow it."""

_CHANGING: dict[str, str] = {
    "actually": r"\b",
    "rather": r"\b(?!\sthan)",
    "instead": r"\b(?!\sof)",
    "revis": r"(?:ed?|ing)\b",
    "lower": r"(?:ed|ing)?\b",
    "raise": r"d?\b",
    "reduc": r"(?:ed?|ing)\b",
    "increas": r"(?:ed?|ing)\b",
    "downgrad": r"(?:ed?|ing)\b",
    "adjust": r"(?:ed|ing)?\b",
    "chang": r"(?:ed?|ing)\b",
    "make that": r"\b",
    "no. ": r"",
    "->": r"",
    "=>": r"",
    "→": r"",
    "⇒": r"",
    "改为": r"",
    "改成": r"",
    "改到": r"",
    "调整为": r"",
    "降为": r"",
    "降到": r"",
    "升到": r"",
    "提高到": r"",
    "应为": r"",
}
"""What may change an answer, and may as well belong to the prose."""

_CUES = {
    word: (lazily(tail), words is _CORRECTING)
    for words in (_CORRECTING, _CHANGING)
    for word, tail in words.items()
}
_ASCII_CUES = [word for word in _CUES if word.isascii()]
MOST_CORRECTIONS = 20
"""How often one of these words is looked at."""

_TO_NEW_ANSWER = lazily(
    r"(?:[\s:,;.!\"'(\[…–—-]|(?:i'd|i'll|i'm|it's|that's|this|that|its|it|i|is|was|would|will|should|must|be|the|my|to|as|of|at|say|think|feel|no|wait|so|now|"
    r"again|after|upon|re-?reading|re-?considering|reflection|final|overall|correct|corrected|revised|revise|new|true|actual|right|more|like|fair|fairer|"
    r"too|high|low|generous|harsh|strict|lenient|down|up|only|just|better|best|winner|which|and|but|or|rather|actually|instead|"
    r"a(?=\s(?:[0-9]|zero|one|two|three|four|five|six|seven|eight|nine|ten|score|rating))"
    r"|scor(?:e|ing)|rat(?:e|ing)|grade|answer|verdict|choice|choose|choosing|select|pick|prefer|go|with|giv(?:e|ing)|mak(?:e|ing)|mean|meant|"
    r"lower(?:ing)?|rais(?:e|ing)|reduc(?:e|ing)|increas(?:e|ing)|chang(?:e|ed|ing)|set|assign|award|deserves|merits|response|summary|mind)(?![a-z])"
    r"|最终|得分|评分|分数|应该|[应为给打到是我后]|점수는|점수를|점수){0,40}+"
)
_TYING = lazily(
    r"scor|rat(?:e|ing)|grade|answer|verdict|choice|choos|select|pick|prefer|go with|giv|mak(?:e|ing)|lower|rais|chang|assign|award|deserve|merit|\bto\b|"
    r"i(?:'d|\swould)\ssay|分|给|打|점수"
)
_UNREAL = lazily(
    r"\b(?:(?<!i\s)would|could|might|may|can|not|never|consider(?:ed|ing)?|about|without|by|"
    r"(?<!had\s)(?<!have\s)(?<!need\s)(?<!decided\s)to)\s(?:\w{1,12}\s)?$|n't\s(?:\w{1,12}\s)?$"
)
"""What stands before a change that was not made: "more detail would raise it to 5"."""
_CHANGED_TO_KOREAN = lazily(r"([0-9]++(?:\.[0-9]++)?+)\s?점?으?로\s?(?:최종\s?)?$")


def corrections(text: str, start: int) -> list[Correction]:
    """Where the judge may replace an answer that ended at `start`, in order."""
    cues = _ASCII_CUES if text.isascii() else _CUES
    rest = text[start:]
    # Most replies have none of the words: nothing more is done for those.
    present = [word for word in cues if word in rest]
    return (
        sorted(correction for word in present for correction in _corrections_by(text, start, word))
        if present
        else []
    )


def _corrections_by(text: str, start: int, word: str) -> Iterator[Correction]:
    tail, announced = _CUES[word]
    at = text.find(word, start)
    for _ in range(MOST_CORRECTIONS):
        if at < 0:
            return
        end = tail.match(text, at + len(word))
        if end and not (word[0].isascii() and text[at - 1 : at].isalpha()):
            yield _correction(text, start, at, end.end(), announced)
        at = text.find(word, at + len(word))


def _correction(text: str, start: int, cue: int, end: int, announced: bool) -> Correction:
    before = _CHANGED_TO_KOREAN.search(text, max(start, cue - 16), cue)
    if before:
        return Correction(cue, before.start(1), announced, True)
    if not announced and _UNREAL.search(text, max(start, cue - 32), cue):
        return Correction(cue, cue, announced, False)
    filler = _TO_NEW_ANSWER.match(text, end)
    at = filler.end() if filler else end
    is_close = cue - start <= 12 and not text[start:cue].strip(" ,;:.!–—-점分(\n").removeprefix("or")
    return Correction(cue, at, announced, is_close or _TYING.search(text, end, at) is not None)


# A minus sign before a digit belongs to the number: "-1" is off the scale, not 1.
_BEFORE_VALUE = lazily(
    r"(?:[\s:=(\[{\"'“”‘’«`>|*_]|-(?![0-9])){0,12}"
    r"(?:(?:the\s)?(?:final\s|overall\s)?(?:score|rating|result|is|of|점수|评分|得分|分数)(?:[\s:=(\[*_]|-(?![0-9])){0,6}){0,2}",
    re.I,
)
_RANGE = lazily(
    r"\s{0,3}[(\[]?\s?[0-9]{1,3}\s?(?:-|–|—|~|〜|to|到|至|/|에서)\s?[0-9]{1,3}\s?(?:점|分)?\s?[)\]]", re.I
)
_COLON = lazily(r":")
_LEVEL_ECHO = lazily(r"[\s\"'*]{0,3}(?:[-–—:：=]|\bmeans\b)\s{0,3}\S")
_VALUE_ENDS = lazily(r"\s{0,3}(?:[^\w\s]|\n|\Z|[^\W\d])")


class MarkedValue(NamedTuple):
    """One mark with what stands behind it: a value, or a status that says why not."""

    value: float | str | None
    status: Status
    span: Span
    """the value alone"""
    mark: int
    """where the mark begins"""


Value = Callable[[str, int], tuple[float | str | None, Status, Span] | None]
"""Reads what stands at a place of a narrowed text; none where nothing readable does."""


def score_value(scale: Scale) -> Value:
    """A reader of the one number, or level name, that stands at a place."""

    def read(text: str, at: int) -> tuple[float | str | None, Status, Span] | None:
        number = number_at(text, at)
        if number is None or not _VALUE_ENDS.match(text, number.until):
            return _named_level(text, at, scale)
        return number.value, _fits(number, scale), (number.start, number.end)

    return read


def _fits(number: Number, scale: Scale) -> Status:
    """On the scale, and "out of" the scale's own top where the judge names one."""
    if number.top is not None and scale.high is not None and number.top != scale.high:
        return "out_of_range"
    return scale.status_of(number.value)


def _named_level(text: str, at: int, scale: Scale) -> tuple[float | str | None, Status, Span] | None:
    for level, name in scale.names.items():
        end = at + len(name)
        if text[at:end].casefold() == name.casefold() and not text[end : end + 1].isalnum():
            return level, "ok", (at, end)
    return None


def choice_value(options: tuple[str, str], tie: str | None) -> Value:
    """A reader of one of the words that the prompt offers: first, second or tie."""
    words = {options[0].casefold(): "first", options[1].casefold(): "second"}
    if tie is not None:
        words[tie.casefold()] = "tie"
    pattern = _choice_pattern(tuple(sorted(words, key=len, reverse=True)))

    def read(text: str, at: int) -> tuple[float | str | None, Status, Span] | None:
        match = pattern.match(text, at)
        return (words[match[1].casefold()], "ok", match.span(1)) if match else None

    return read


@lru_cache(maxsize=64)
def _choice_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        r"(?:(?:response|output|answer|assistant|option|model|candidate|the)\s{1,2}){0,2}[(\[\"'“‘*]{0,3}"
        + f"({'|'.join(map(re.escape, words))})"
        + r"(?![\w])(?!\s{0,2}(?:or|/|and)\s{0,2}\w{1,9}\b)",
        re.I,
    )


def settle(values: list[MarkedValue], text: str) -> Reading | None:
    """One reading of all marks: the judge's own voice counts, and must not contradict itself."""
    if not values:
        return None
    judge_text = set_aside(text)
    spoken = [mark for mark in values if judge_text[mark.mark] != ASIDE and judge_text[mark.span[0]] != ASIDE]
    if not spoken:
        spoken = _boxed(values, text)
    if not spoken:
        return unreadable()
    if len({mark.value for mark in spoken}) > 1:
        return Reading(status="conflicting", span=spoken[-1].span)
    last = spoken[-1]
    value = last.value if last.status == "ok" else None
    return Reading(value=value, status=last.status, how="anchored", span=last.span)


_BOXED_LINE = lazily(
    r"[\W_]*(?:(?:final|overall|my|the|score|rating|result|answer|점수|评分|得分)[\W_]*){0,3}", re.I
)


def _boxed(values: list[MarkedValue], text: str) -> list[MarkedValue]:
    """The answers in code that stand on a separate line: put into a box, not quoted from somewhere."""
    if len(values) > _MOST_BOXES:
        return []
    shown = set_aside(text, fenced=False, quoted=False)
    blocks = [(start, end) for start, end in fences(text) if end - start > _BOX]
    return [mark for mark in values if shown[mark.mark] != ASIDE and _is_boxed(mark, text, blocks)]


def _is_boxed(mark: MarkedValue, text: str, blocks: list[Span]) -> bool:
    if any(start <= mark.mark < end for start, end in blocks):
        return False
    start = text.rfind("\n", 0, mark.mark) + 1
    if text[start : mark.mark].lstrip().startswith(">"):
        return False
    end = text.find("\n", mark.span[1])
    tail = text[mark.span[1] : end if end >= 0 else len(text)]
    return _BOXED_LINE.fullmatch(text, start, mark.mark) is not None and len(tail) <= 16


_MOST_BOXES = 50
"""A judge that puts more answers into code than this has given none."""
_BOX = 160
"""How long a code block may be and still be a box around the answer."""


def _prepared(text: str) -> str:
    return without_emphasis(narrow(text))


def read_tag(text: str, tag: str, value: Value) -> Reading | None:
    """`<score>4</score>`; a list of levels that the judge repeats is passed over."""
    plain = _prepared(text)
    values = []
    matches = list(_tag_pattern(tag).finditer(plain))
    for match in matches:
        read = _value_from(plain, match.end(), len(plain), value)
        if read is None:
            continue
        closing = _closing_pattern(tag).match(plain, read[2][1])
        is_echo = closing is not None and _LEVEL_ECHO.match(plain, closing.end()) is not None
        if not (is_echo and _leads_line(plain, match.start())):
            values.append(MarkedValue(*read, match.start()))
    return settle(values, text) or (unreadable() if matches else None)


def read_marker(text: str, marker: str, value: Value) -> Reading | None:
    """`[RESULT] 4`, however it is set in bold, brackets or full width."""
    plain, pattern = _prepared(text), _marker_pattern(marker)
    reading = settle(_behind(plain, pattern, value), text)
    return reading or (unreadable() if pattern.search(plain) else None)


def unreadable() -> Reading:
    """A mark is there, and what stands behind it is no answer."""
    return Reading(status="unparsed")


def read_label(text: str, labels: tuple[str, ...], value: Value) -> Reading | None:
    """`Coherence Score (1-5): 4`. A label at the start of a line outranks one inside a sentence."""
    plain = _prepared(text)
    for label in labels:
        values = _behind(plain, _label_pattern(label), value)
        leading = [mark for mark in values if _leads_line(plain, mark.mark)]
        reading = settle(leading or values, text)
        if reading is not None:
            return reading
    is_there = any(_label_pattern(label).search(plain) for label in labels)
    return unreadable() if is_there else None


_FIRST_LINE = 480
"""More than a first line that holds a score, with white space before it."""


def read_first_line(text: str, value: Value) -> Reading | None:
    """The score alone on the first line; a label before it or a unit behind it do no harm."""
    # Where the judge does not begin by thinking aloud, the first line is all that is looked at.
    head = text if text.lstrip()[:1] in ("<", "`", "~") else text[:_FIRST_LINE]
    plain = set_aside(_prepared(head), quoted=False, fenced=False).replace(ASIDE, " ")
    start = len(plain) - len(plain.lstrip())
    end = plain.find("\n", start)
    end = len(plain) if end < 0 else end
    labelled = [place.end() for place in _COLON.finditer(plain, start, min(end, start + 400))]
    values = [read for at in labelled if (read := _value_from(plain, at, end, value)) is not None]
    if not values:
        opening = _value_from(plain, start, end, value)
        values = [opening] if opening is not None and not _is_no_score(plain, start, opening[2][0]) else []
    if len({read[0] for read in values}) > 1:
        return Reading(status="conflicting", span=values[0][2])
    if not values:
        return None
    number, status, span = values[0]
    return Reading(number if status == "ok" else None, status, "anchored", span)


def _is_no_score(plain: str, start: int, at: int) -> bool:
    """Whether the number that a reply opens with counts things or heads a list: "3个分论点", "1. 结构"."""
    number = number_at(plain, at)
    return number is not None and (
        is_entry(plain, start, number, is_part=False) or counts_things(plain, number)
    )


def _value_from(
    plain: str, at: int, end: int, value: Value
) -> tuple[float | str | None, Status, Span] | None:
    skipped = _BEFORE_VALUE.match(plain, at, end)
    read = value(plain, skipped.end() if skipped else at)
    return read if read is not None and read[2][1] <= end else None


def _behind(plain: str, pattern: re.Pattern[str], value: Value) -> list[MarkedValue]:
    values: list[MarkedValue] = []
    for count, match in enumerate(pattern.finditer(plain)):
        at = match.end()
        bounds = _RANGE.match(plain, at)
        read = _value_from(plain, bounds.end() if bounds else at, len(plain), value)
        # So many lists are no judge's; looking for the next entry of each would take long.
        if read is not None and (count > _MOST_LISTS or not _counts(plain, match.start(), read[2][0])):
            values.append(MarkedValue(*read, match.start()))
    return values


def _counts(plain: str, mark: int, at: int) -> bool:
    """Whether the number at a place is that of a list's first entry: "Score:\\n1. clear\\n2. short"."""
    number = number_at(plain, at)
    return number is not None and is_entry(plain, mark, number, is_part=False)


_MOST_LISTS = 200
_LINE_LEAD = 16
"""How much numbering and how many bullets may stand before a label that leads its line."""


def _leads_line(plain: str, at: int) -> bool:
    start = plain.rfind("\n", max(0, at - _LINE_LEAD), at) + 1
    if start == 0 and at > _LINE_LEAD:
        return False
    return not plain[start:at].strip(" \t-•>.0123456789)")


def _loosely(written: str) -> str:
    """A pattern for a mark as written, its white space and case left open."""
    return r"\s{0,3}".join(re.escape(piece) for piece in re.findall(r"\w+|[^\w\s]", narrow(written)))


@lru_cache(maxsize=64)
def _tag_pattern(tag: str) -> re.Pattern[str]:
    return re.compile(rf"<\s{{0,3}}{re.escape(tag)}\s{{0,3}}>", re.I)


@lru_cache(maxsize=64)
def _closing_pattern(tag: str) -> re.Pattern[str]:
    return re.compile(rf"[^<\n]{{0,24}}<\s{{0,3}}/\s{{0,3}}{re.escape(tag)}\s{{0,3}}>", re.I)


@lru_cache(maxsize=64)
def _marker_pattern(marker: str) -> re.Pattern[str]:
    return re.compile(_loosely(marker), re.I)


@lru_cache(maxsize=64)
def _label_pattern(label: str) -> re.Pattern[str]:
    # A label without its colon is a word of a sentence: "the score given was 4" is not an answer. A dash right
    # behind the label stands for the colon.
    return re.compile(
        rf"(?<![^\W\d_]){_loosely(label)}(?:\s{{0,3}}(?=[:=(\[]|is\b)|\s?[-–—](?!\s?[^\W\d]))", re.I
    )
