"""Read which of several named options a reply gives: supported / not supported / irrelevant, or a user's
classes.

The ladder is that of `score.py`. Names may contain one another: where "not supported" stands, "supported"
does not. A menu that the judge repeats ("supported or not supported"), a hedge ("supported, but only partly")
and a negation that is not itself an option ("not irrelevant") name no option. This file knows nothing of
scales or values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ...lazy_patterns import lazily
from ...records import Reading
from ..text.characters import folded, narrow, without_emphasis
from ..text.invisible import read_visible
from ..text.own_voice import set_aside, window, without_code
from ..text.refusals import abstains, declines
from .corrections import corrections
from .marks import ANSWER_WORDS, BOX, LABEL, VERDICT_WORDS, AnswerMark, hard_marks, labels, unread_behind
from .option_names import AROUND, HEAD_ENDS, HEDGE, QUESTION, FoundOption, OptionNames, option_names
from .said_scores import HEAD, TAIL, is_attributed

LABEL_WORDS = tuple(
    "label class classification category status finding 类别 類別 标签 分类 분류 라벨 판정".split()
)
_WORDS = VERDICT_WORDS + ANSWER_WORDS + LABEL_WORDS
_STRICT_MARKED = lazily(
    r"\[\[\s?([^\[\]\n]{1,200}?)\s?\]\]|\[(?:result|verdict|label)\]\s?([^\[\]\n]{1,200})"
    r"|<(verdict|answer|choice|result|label|class)>\s?([^<\n]{1,200}?)\s?</\3>",
    re.I,
)
_OPENING = lazily(r"(?:\ufffc++\s++)*+(?:[-•·>\"'“:`(\[]|\s){0,6}")
_SENTENCE_END = lazily(r"[.!?。！？\n](?:(?<=[。！？\n])|(?=\s|$))")
_LED_TO = lazily(
    r"(?:\b(?:is|are|was|be|as|label(?:l?ed)?|class(?:ified)?|category|choose|select|pick|deem(?:ed)?|"
    r"judge[ds]?|consider(?:ed)?|call|mark(?:ed)?)"
    r"(?:\s(?:it|this|the\s(?:claim|statement|fact|point|text|message|response|answer)))?"
    r"(?:\s(?:as|an?|the|clearly|definitely|plainly|indeed|thus|therefore|best|simply|fully|directly|well|"
    r"labell?ed))*[\s:]{0,2}|为|是|属于|는|은)"
    r"[\"'`“‘(\[]{0,2}$"
)
_NEGATED = lazily(
    r"(?:\b(?:not|never|hardly|neither|nor|no\slonger|cannot\sbe|without|rather\sthan|instead\sof)|n['’]t)"
    r"(?:\s(?:be|been|it|is|an?|the|as|being|really|simply|clearly|fully|entirely|directly|well|labell?ed|"
    r"considered)){0,3}\s{0,2}[\"'`“‘(\[]{0,2}$|[不没沒非未無无]\s?$"
)
_LAST_SENTENCE = lazily(r"[.!?。！？…]\s{1,2}([^\s.!?。…][^.!?。\n]{0,40}[.。]?)$")
_UNREAL = lazily(
    r"\b(?:if|whether|unless|(?<!i\s)would|could|might|may|should|had|were|to\sbe|considered|thought|tempted|"
    r"than|seem(?:s|ed)?\sto|appear(?:s|ed)?\sto)\b|如果|是否|려면"
)
_NOT_A_RULE = lazily(
    r"\s(?:means|requires|applies\s(?:if|when|to)|is\s(?:for|used|when|defined)|if|when|claims|facts|"
    r"statements)\b"
)
_CONCLUDES = lazily(
    r"\b(?:overall|therefore|thus|hence|final(?:ly)?|conclu\w+|in\s(?:summary|sum)|consequently|so|"
    r"accordingly|as\sa\sresult|i\s(?:would\s)?(?:choose|select|label|classify|judge|call|mark|pick))\b"
    r"|因此|所以|综上|最终|따라서|결론|최종"
)
_CLAUSE = 160


def read_option(text: str, options: Iterable[str]) -> Reading:
    """The option that the reply gives, by its name as it was offered, or the reason why there is none."""
    names = option_names(tuple(options))
    return read_visible(text, lambda reply: _read(reply, names))


def _read(text: str, names: OptionNames) -> Reading:
    start, end = window(text)
    reply = narrow(text[start:end])
    if not reply:
        return Reading()
    bare = _strict(reply, names)
    is_strict = bare is not None and text.strip() == text[start:end]
    option = bare or _anchored(names.unquoted(reply), names)
    if option is None:
        return Reading(status="refused" if declines(reply) else "unparsed")
    if isinstance(option, Reading):
        return option
    span = (start + option.start, start + option.end)
    return Reading(option.name, "ok", "strict" if is_strict else "anchored", span, is_sure=option.is_sure)


def _strict(reply: str, names: OptionNames) -> FoundOption | None:
    """The reply is an option and nothing else, as it was named or between the usual marks."""
    marked = _STRICT_MARKED.fullmatch(reply)
    start, end = marked.span(marked.lastindex or 0) if marked else (0, len(reply))
    if marked and marked[3]:
        start, end = marked.span(4)
    written = reply[start:end]
    name = names.exactly(written)
    return FoundOption(name, start, end) if name and written == written.strip(AROUND) else None


def _anchored(reply: str, names: OptionNames) -> FoundOption | Reading | None:
    judge_text = folded(without_emphasis(set_aside(reply)))
    option = _spoken(judge_text, names)
    if option is None and ("```" in reply or "~~~" in reply):
        shown = folded(without_emphasis(set_aside(without_code(reply), fenced=False)))
        option = _marked(shown, _marks(shown), names)
    return _corrected(judge_text, option, names) if isinstance(option, FoundOption) else option


def _corrected(judge_text: str, option: FoundOption, names: OptionNames) -> FoundOption:
    """The option, or the one that the judge replaces it by further on."""
    for correction in corrections(judge_text, option.end):
        changed = names.value_at(judge_text, correction.at)
        if changed is not None and (correction.announced or correction.is_tied):
            option = changed
    return option


def is_option_corrected(text: str, names: OptionNames, reading: Reading) -> bool:
    """Whether the judge replaces an option that was read in the whole reply by another one behind it."""
    if reading.span is None or not corrections(folded(narrow(text[reading.span[1] :])), 0):
        return False
    judge_text = folded(without_emphasis(set_aside(names.unquoted(narrow(text)))))
    return _corrected(judge_text, FoundOption(str(reading.value), *reading.span), names).name != reading.value


def _spoken(judge_text: str, names: OptionNames) -> FoundOption | Reading | None:
    marks = _marks(judge_text)
    option = _answer(judge_text, marks, names)
    if not isinstance(option, FoundOption):
        return option
    status = unread_behind(
        judge_text, marks, lambda mark: names.value_at(judge_text, mark.at) is not None, option.end
    )
    return Reading(status=status) if status else option


def _marks(judge_text: str) -> list[AnswerMark]:
    return [*hard_marks(judge_text, _WORDS), *labels(judge_text, _WORDS)]


def _answer(judge_text: str, marks: list[AnswerMark], names: OptionNames) -> FoundOption | Reading | None:
    marked = _marked(judge_text, marks, names)
    if marked is not None:
        return marked
    opening = _opening(judge_text, names)
    said = _said(judge_text, names)
    if opening is not None:
        is_contradicted = isinstance(said, FoundOption) and said.name != opening.name
        return Reading(status="conflicting") if is_contradicted else opening
    return said or _closing(judge_text, names)


def _marked(judge_text: str, marks: list[AnswerMark], names: OptionNames) -> FoundOption | Reading | None:
    """What brackets, markers, tags and labels of a verdict say."""
    strong = [mark for mark in marks if mark.rank >= LABEL]
    for some in (strong, [mark for mark in marks if 0 < mark.rank < LABEL], _boxes(marks)):
        options = [option for mark in some if (option := names.value_at(judge_text, mark.at)) is not None]
        if options:
            same = len({option.name for option in options}) == 1
            return options[-1] if same else Reading(status="conflicting")
    if any(abstains(judge_text, mark.at) and not names.value_at(judge_text, mark.at) for mark in strong):
        return Reading(status="refused")
    # A marker was given and holds no option: what the prose says is not the answer then.
    is_marker = any(mark.rank != BOX and _is_marker(judge_text, mark) for mark in strong)
    return Reading() if is_marker else None


def _is_marker(judge_text: str, mark: AnswerMark) -> bool:
    return judge_text[mark.start] in "[<(【" and not judge_text.startswith("[[", mark.start)


def _boxes(marks: Iterable[AnswerMark]) -> list[AnswerMark]:
    return [mark for mark in marks if mark.rank == BOX]


def _opening(judge_text: str, names: OptionNames) -> FoundOption | None:
    """The option that the reply opens with, set off from what
    follows; the heading of one section of several is none.
    """
    opening = _OPENING.match(judge_text)
    at = opening.end() if opening else 0
    option = names.value_at(judge_text, at)
    if option is None or option.start > at + 3 or not HEAD_ENDS.match(judge_text, option.end):
        return None
    return None if _heads_sections(judge_text, option, names) else option


_HEADING = lazily(r"^[ \t]{0,4}(?:[-•·][ \t])?([^\n:]{1,80}):", re.M)


def _heads_sections(judge_text: str, option: FoundOption, names: OptionNames) -> bool:
    """Whether the options head sections, "Supported: …" and "Not supported: …", so that neither is a
    verdict."""
    if not judge_text.startswith(":", option.end):
        return False
    headings = {names.exactly(heading[1]) for heading in _HEADING.finditer(judge_text, 0, HEAD)}
    return len(headings - {None}) > 1


def _closing(judge_text: str, names: OptionNames) -> FoundOption | None:
    """The option that has the last line or the last sentence to itself."""
    end = len(judge_text.rstrip())
    start = judge_text.rfind("\n", max(0, end - 250), end) + 1
    last = _LAST_SENTENCE.search(judge_text, max(0, end - 60), end)
    # "No. B" and "e.g. B" end no sentence.
    if last is not None and last.start(1) > start and judge_text[last.start() - 3 : last.start()].isalpha():
        start = last.start(1)
    opening = _OPENING.match(judge_text, start)
    option = names.value_at(judge_text, opening.end()) if start and opening else None
    if option is None or option.start > (opening.end() if opening else 0) + 3:
        return None
    return option if not judge_text[option.end : end].strip(" .。\"'`)]") else None


class _SaidOption(NamedTuple):
    option: FoundOption
    sentence: int
    concludes: bool
    is_denied: bool


def _said(judge_text: str, names: OptionNames) -> FoundOption | Reading | None:
    """What sentences near either end say: all where they
    agree, otherwise those of the last one that concludes.
    """
    length = len(judge_text)
    windows = [(0, length)] if length <= HEAD + TAIL else [(0, HEAD), (length - TAIL, length)]
    said = [statement for start, end in windows for statement in _said_between(judge_text, start, end, names)]
    if not _agree(said):
        concluded = [statement for statement in said if statement.concludes]
        said = [
            statement for statement in said if not concluded or statement.sentence >= concluded[-1].sentence
        ]
    if not _agree(said):
        return Reading(status="conflicting")
    # "It is not irrelevant" says only which option it is not.
    last = next((statement for statement in reversed(said) if not statement.is_denied), None)
    return last.option._replace(is_sure=last.concludes) if last is not None else None


def _agree(said: list[_SaidOption]) -> bool:
    """Whether sentences name one option at most, and do not deny it."""
    named = {statement.option.name for statement in said if not statement.is_denied}
    denied = {statement.option.name for statement in said if statement.is_denied}
    return len(named) <= 1 and not named & denied


def _said_between(judge_text: str, start: int, end: int, names: OptionNames) -> list[_SaidOption]:
    statements: list[_SaidOption] = []
    for option in names.mentions(judge_text, start, end):
        begin = max(start, option.start - _CLAUSE)
        for stop in _SENTENCE_END.finditer(judge_text, begin, option.start):
            begin = stop.end()
        left = judge_text[begin : option.start]
        clause = left[max(left.rfind(","), left.rfind("; ")) + 1 :]
        is_denied = _NEGATED.search(left[-60:]) is not None
        if not is_denied and not _LED_TO.search(left[-60:]):
            continue
        if _UNREAL.search(clause) or _NOT_A_RULE.match(judge_text, option.end) or is_attributed(clause):
            continue
        if QUESTION.match(judge_text, option.end) or names.is_in_menu(judge_text, option):
            continue
        if HEDGE.match(judge_text, option.end):
            is_denied = True
        statements.append(_SaidOption(option, begin, _CONCLUDES.search(left) is not None, is_denied))
    return statements
