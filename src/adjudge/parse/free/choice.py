"""Read which of two options a reply chooses, in a format that is not known beforehand.

The ladder is that of `score.py`: the whole reply is the choice (strict); otherwise what is marked as the
answer, the option that a reply opens with, the sentence that names a winner, and last what is marked in a
code block. A judge that weighs and does not decide has chosen nothing; a tie that was not offered is no
choice either. A judge that corrects itself behind its choice has the last word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...lazy_patterns import lazily
from ...records import How, Reading
from ..numbers.not_scores import is_answer_box
from ..text.characters import folded, narrow, without_emphasis
from ..text.given import is_given
from ..text.invisible import read_visible
from ..text.own_voice import set_aside, window, without_code
from ..text.refusals import abstains, declines
from .corrections import corrections
from .marks import ANSWER_WORDS, BOX, VERDICT_WORDS, AnswerMark, hard_marks, labels, unread_behind
from .pair_names import FoundChoice, Options, Side, options_for
from .said_winners import is_quiz, verdict_said

_BARE_MARKED = lazily(
    r"\[\[\s?([^\[\]\n]{1,60}?)\s?\]\]|\[(?:result|verdict)\]\s?([^\[\]\n]{1,60})|<(verdict|winner|answer|"
    r"choice|result)>\s?([^<\n]{1,60}?)\s?</\3>",
    re.I,
)
_FILLER = lazily(
    r"[\s\"'`“”‘’(\[{:=|]{0,10}"
    r"(?:(?:the|my|is|i|would|choose|select|prefer|pick|final|verdict|winner|answer|choice|better|best|that|"
    r"an?\b(?=\s(?:tie|draw)))"
    r"(?![a-z])[\s:\"'(\[]{1,4}){0,5}"
)
_OPENING = lazily(r"(?:\ufffc++\s++)*+(?:[-•·>\"'“:`]|\s){0,6}")
_HEAD_ENDS = lazily(r"\s{0,2}(?:$|[\n,;!.(\[=，；！。（\ufffc)]|:|[-–—]\s)")
_LAST_BRACKETS = lazily(
    r"(?:\A|(?<=[.!?…。！？\n])|(?<=[.!?…。！？]\s))[\[(]([^\[\]()\n]{3,40})[\])][.\s]*+\Z"
)
_LAST_LINE = lazily(r"\n[ \t]*+([^\s][^\n]{0,40})$")
_LAST_SENTENCE = lazily(r"[.!?。][ \t]{1,2}([^\s.!?。][^\n.!?。]{0,20}[.。]?)$")
_LAST_CLAUSE = lazily(
    r"(?:[.!?。,;:\n]\s{0,2}|\A)(?:and\s)?(?:so|therefore|thus|hence|overall|ultimately|finally|in\sthe\send|on\sbalance|"
    r"all\sin\sall|also|insgesamt|daher|因此|所以|따라서)[,:]?\s{0,2}([^\s][^.!?。\n]{0,30}[.。!]?)\s*+\Z"
)
_REPLACED_ENDS = lazily(r"\s?(?:$|[.!,;\n)\]。]|(?:is|as|wins|gives|because|since|for)\b)")
_OF_TASK = lazily(r"(?:\b(?:own|correct|right|reference|true|actual|expected|gold)|'s)\s(?:final\s)?$")
_ENTRY = lazily(r"\.[ \t]++\S")
_AGAINST = lazily(r"[ ]?\([^()\n]{0,60}\)\s?(?:,\s)?(?:vs|versus|and|or|while|whereas|but)\b")
_ORDINAL_WINS = lazily(
    r"the\s(first|second)\s(?:response|answer|one|output|option|summary)\s(?:is|was|wins)\b(?:\s\w{1,16}){0,"
    r"2}"
)
_PLAIN_TIE = lazily(r"(?:an?\s)?(?:tie|draw|平|동점|무승부|引)")


def read_choice(text: str, options: tuple[str, str] = ("A", "B"), tie: bool = False) -> Reading:
    """The option that the reply chooses: `first`, `second` or `tie`, in the order shown.

    With `tie=True` a tie was offered, and a bare C means it. Without it a tie is `unparsed`.
    """
    names = options_for((options[0], options[1]), tie)
    return read_visible(text, lambda reply: _read(reply, names))


def _read(text: str, names: Options) -> Reading:
    start, end = window(text)
    reply = narrow(text[start:end])
    if not reply:
        return Reading()
    bare = _strict(reply, names)
    is_strict = bare is not None and text.strip() == text[start:end]
    choice = bare or _anchored(reply, names)
    if choice is None:
        return Reading(status="refused" if declines(reply) else "unparsed")
    if isinstance(choice, Reading):
        return choice
    if choice.side == "tie" and not names.tie:
        return Reading()
    span = (start + choice.start, start + choice.end)
    how: How = "strict" if is_strict else "anchored"
    return Reading(value=choice.side, status="ok", how=how, span=span, is_sure=choice.is_sure)


def _strict(reply: str, names: Options) -> FoundChoice | None:
    """The reply is an option and nothing else, as it was named or between the usual marks."""
    marked = _BARE_MARKED.fullmatch(reply)
    start, end = marked.span(marked.lastindex or 0) if marked else (0, len(reply))
    side = names.exactly(reply[start:end])
    return FoundChoice(side, start, end) if side else None


def _anchored(reply: str, names: Options) -> FoundChoice | Reading | None:
    cased = without_emphasis(set_aside(reply))
    judge_text = folded(cased)
    choice = _spoken(reply, cased, judge_text, names)
    return _corrected(cased, judge_text, choice, names) if isinstance(choice, FoundChoice) else choice


def is_choice_corrected(text: str, options: tuple[str, str], tie: bool, reading: Reading) -> bool:
    """Whether the judge replaces a choice that was read in the whole reply by the other one behind it."""
    side = _SIDES.get(reading.value)
    if reading.span is None or side is None:
        return False
    if not corrections(folded(narrow(text[reading.span[1] :])), 0):
        return False
    cased = without_emphasis(set_aside(narrow(text)))
    judge_text, names = folded(cased), options_for(options, tie)
    if _corrected(cased, judge_text, FoundChoice(side, *reading.span), names).side != side:
        return True
    for correction in corrections(judge_text, reading.span[1]):
        led = _LEADS_TO.match(judge_text, correction.at) if correction.announced else None
        changed = names.value_at(judge_text, led.end()) if led else None
        if changed is not None and changed.side != side:
            return True
    return False


_SIDES: dict[object, Side] = {"first": "first", "second": "second", "tie": "tie"}
_LEADS_TO = lazily(r"[^.!?:\n]{0,60}:\s{0,2}")
"""The words from an announced correction to the colon before the new choice."""


def _corrected(cased: str, judge_text: str, choice: FoundChoice, names: Options) -> FoundChoice:
    """The choice, or the one that the judge replaces it by further on."""
    if not names.may_name_other(choice, cased, judge_text):
        return choice
    for correction in corrections(judge_text, choice.end):
        changed = (
            names.value_at(judge_text, correction.at) if correction.announced or correction.is_tied else None
        )
        if changed is None or not _REPLACED_ENDS.match(judge_text, _closed(judge_text, changed.end)):
            continue
        # A small letter on its own is an article: "wait, a good answer …".
        is_letter = changed.end - changed.start == 1 and cased[changed.start].isalpha()
        if not is_letter or cased[changed.start].isupper():
            choice = changed
    return choice


def _spoken(reply: str, cased: str, judge_text: str, names: Options) -> FoundChoice | Reading | None:
    marks = _marks(judge_text)
    choice = _said(reply, cased, judge_text, marks, names)
    if not isinstance(choice, FoundChoice):
        return choice

    def is_read(mark: AnswerMark) -> bool:
        value = _value_after(judge_text, mark.at, names)
        return value is not None and not _is_asked(judge_text, value)

    status = unread_behind(judge_text, marks, is_read, choice.end)
    return Reading(status=status) if status else choice


def _marks(judge_text: str) -> list[AnswerMark]:
    return [*hard_marks(judge_text, VERDICT_WORDS + ANSWER_WORDS), *labels(judge_text, VERDICT_WORDS)]


def _said(
    reply: str, cased: str, judge_text: str, marks: list[AnswerMark], names: Options
) -> FoundChoice | Reading | None:
    marked = _marked(judge_text, marks, names)
    if marked is not None:
        return marked
    opening = _bracketed(judge_text, names) or _opening(cased, judge_text, names)
    verdict = _concluded(cased, judge_text, names) or verdict_said(cased, judge_text, names)
    if opening is not None:
        is_contradicted = isinstance(verdict, FoundChoice) and verdict.side != opening.side
        if verdict is None and judge_text.startswith(":", opening.end):
            # "A: The second response is better" answers a question; its A is no option.
            place = _ORDINAL_WINS.search(judge_text, opening.end, opening.end + 80)
            is_contradicted = place is not None and place[1] != opening.side
        return Reading(status="conflicting") if is_contradicted else opening
    if verdict is not None:
        return verdict
    answers = [mark for mark in labels(judge_text, ANSWER_WORDS) if not _is_of_task(judge_text, mark)]
    values = _values(judge_text, answers, names)
    labelled = _agreed(values if values and not is_quiz(cased) else [])
    if isinstance(labelled, FoundChoice):
        # "Answer: B" alone on its line is a choice; with words behind it, it may be the task's answer.
        line_end = judge_text.find("\n", labelled.end)
        rest = judge_text[_closed(judge_text, labelled.end) : line_end if line_end >= 0 else len(judge_text)]
        labelled = labelled._replace(is_sure=not rest.strip(" .。"))
    labelled = labelled or _closing(judge_text, names)
    if labelled is None and ("```" in reply or "~~~" in reply):
        shown = folded(without_emphasis(set_aside(without_code(reply), fenced=False)))
        return _marked(shown, _marks(shown), names)
    return labelled


def _marked(judge_text: str, marks: list[AnswerMark], names: Options) -> FoundChoice | Reading | None:
    """What brackets, markers, tags and verdict labels say."""
    hard = [mark for mark in marks if judge_text[mark.start] in "[<\\(【"]
    values = _values(judge_text, [mark for mark in marks if mark.rank != BOX], names)
    if values or not hard:
        return _agreed(values)
    strong = [mark for mark in hard if mark.rank != BOX]
    if not strong:
        return _agreed(
            _values(judge_text, [box for box in hard if is_answer_box(judge_text, box.start, box.at)], names)
        )
    if any(abstains(judge_text, mark.at) for mark in hard):
        return Reading(status="refused")
    # A marker was given and holds neither option: what the prose says is not the answer then.
    is_marker = any(not judge_text.startswith("[[", mark.start) for mark in strong)
    return Reading() if is_marker else None


def _is_of_task(judge_text: str, mark: AnswerMark) -> bool:
    """Whether a label announces the answer to the task: "My own answer:", "The correct answer:"."""
    return _OF_TASK.search(judge_text, max(0, mark.start - 16), mark.start) is not None


def _values(judge_text: str, marks: Iterable[AnswerMark], names: Options) -> list[FoundChoice]:
    marked = [(mark, value) for mark in marks if (value := _value_after(judge_text, mark.at, names))]
    return [value for mark, value in marked if not _is_no_choice(judge_text, mark, value, names)]


def _is_no_choice(judge_text: str, mark: AnswerMark, value: FoundChoice, names: Options) -> bool:
    """Whether what stands behind a mark is asked, or heads the first of two passages below it."""
    if _is_asked(judge_text, value) or not is_given(judge_text, mark.start, _closed(judge_text, value.end)):
        return True
    is_below = judge_text.find("\n", mark.at, value.start) >= 0 or names.keys[0].isdigit()
    return is_below and value.side != "tie" and _labels_other(judge_text, value, names)


def _is_asked(judge_text: str, value: FoundChoice) -> bool:
    return judge_text.startswith(("?", " ?"), _closed(judge_text, value.end))


def _agreed(values: list[FoundChoice]) -> FoundChoice | Reading | None:
    if not values:
        return None
    if len({value.side for value in values}) > 1:
        return Reading(status="conflicting")
    return values[-1]


def _value_after(judge_text: str, at: int, names: Options) -> FoundChoice | None:
    direct = names.value_at(judge_text, at)
    if direct is not None:
        return direct
    filler = _FILLER.match(judge_text, at)
    return names.value_at(judge_text, filler.end()) if filler else None


def _opening(cased: str, judge_text: str, names: Options) -> FoundChoice | None:
    """The option that the reply opens with, set off from what follows; a heading of a section is none."""
    opening = _OPENING.match(judge_text)
    at = opening.end() if opening else 0
    value = names.value_at(judge_text, at)
    if value is None:
        return None
    after = _closed(judge_text, value.end)
    is_bare_key = names.is_keyed and value.end - at == len(names.keys[0])
    if not _HEAD_ENDS.match(judge_text, after) and not (
        is_bare_key and judge_text.startswith(")", value.end)
    ):
        return None
    if (
        is_bare_key
        and cased[at : value.end] != cased[at : value.end].upper()
        and judge_text[after:].strip(" .")
    ):
        return None
    if judge_text.startswith(":", after) and not is_bare_key:
        return None
    if names.has_noun and is_bare_key and judge_text[at].isdigit() and _ENTRY.match(judge_text, after):
        return None
    if judge_text.startswith(("?", " ?"), after) or _AGAINST.match(judge_text, after):
        return None
    if is_bare_key and judge_text.startswith(" \ufffc", value.end) and names.keys[0] == "a" == judge_text[at]:
        # The article before a quotation: "A 'good' answer would …".
        return None
    if is_bare_key and _labels_other(judge_text, value, names):
        return None
    is_contest = "=" in judge_text[at : value.end] or "≈" in judge_text[at : value.end]
    if value.side == "tie" and not is_bare_key and not is_contest and not _PLAIN_TIE.match(judge_text, at):
        return None
    return value


def _bracketed(judge_text: str, names: Options) -> FoundChoice | None:
    """The option that stands in brackets at the end of a reply: "[Response B]"."""
    last = _LAST_BRACKETS.search(judge_text, max(0, len(judge_text) - 80))
    value = names.value_at(judge_text, last.start(1)) if last else None
    return value if value is not None and last is not None and value.end == last.end(1) else None


def _closing(judge_text: str, names: Options) -> FoundChoice | None:
    """The option that has the last line or the last sentence to itself."""
    end = len(judge_text.rstrip())
    last = _LAST_LINE.search(judge_text, max(0, end - 60), end) or _LAST_SENTENCE.search(
        judge_text, max(0, end - 26), end
    )
    # "No. B" and "e.g. B" end no sentence.
    if last is None or (
        judge_text[last.start()] == "." and not judge_text[max(0, last.start() - 3) : last.start()].isalpha()
    ):
        return None
    value = names.value_at(judge_text, last.start(1))
    return (
        value
        if value is not None and not judge_text[_closed(judge_text, value.end) : end].strip(" .。")
        else None
    )


def _concluded(cased: str, judge_text: str, names: Options) -> FoundChoice | None:
    """The option that the last clause concludes with and that ends the reply: "…, so B.", "Overall A."."""
    last = _LAST_CLAUSE.search(judge_text, max(0, len(judge_text) - 60))
    value = _value_after(judge_text, last.start(1), names) if last else None
    if value is None or judge_text[_closed(judge_text, value.end) :].strip(" .。!\n입니이다"):
        return None
    is_small_letter = value.end - value.start == 1 and cased[value.start].islower()
    return None if is_small_letter else value


def _closed(judge_text: str, end: int) -> int:
    while judge_text.startswith((")", "]", '"', "'", "`"), end):
        end += 1
    return end


def _labels_other(judge_text: str, value: FoundChoice, names: Options) -> bool:
    """Whether the other option labels a passage in the same way, so that neither label is a verdict."""
    other = names.keys[1] if value.side == "first" else names.keys[0]
    sign = judge_text[value.end : value.end + 1]
    return (
        sign in (":", ".", ")", "]")
        and re.search(rf"(?:^|[\s\[]){other}{re.escape(sign)}\s", judge_text[value.end :]) is not None
    )
