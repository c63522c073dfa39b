"""Read one score from a reply of unknown format.

The ladder: the whole reply is the score (strict); otherwise, as judges really write (anchored), what is
marked as the answer, the number that a reply opens with, the label of a criterion, a sentence that gives a
score, and last what is marked inside a code block. Every rung gives a value, a reason why not, or nothing,
and only nothing continues to the next: a rung that is in doubt is never overruled by a weaker one. A judge
that corrects itself behind the value that was read has the last word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from msgspec import structs

from ...errors import DataError
from ...lazy_patterns import lazily
from ...records import How, Reading, Scale, Status
from ..numbers.not_scores import (
    begins_range,
    counts_plural,
    is_a_list,
    is_answer_box,
    is_entry,
    is_legend,
    names_another,
)
from ..numbers.number import Number, number_at, numbers_between
from ..text.characters import folded, narrow, without_emphasis
from ..text.given import is_given
from ..text.invisible import read_visible
from ..text.own_voice import set_aside, window, without_code
from ..text.refusals import abstains, declines
from .corrections import Correction, corrections
from .marks import (
    ANSWER,
    ANSWER_WORDS,
    BOX,
    LABEL,
    PART,
    SCORE_WORDS,
    VERDICT_WORDS,
    AnswerMark,
    hard_marks,
    labels,
    part_labels,
    unread_behind,
)
from .said_scores import IN_PARTS, concluding, counts_things, is_taken_back, scores_said

_NUMBER = r"(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)"
_BARE = lazily(_NUMBER)
_BARE_MARKED = lazily(
    rf"\[\[\s?{_NUMBER}\s?\]\]|\[(?:result|score|rating)\]\s?{_NUMBER}|<(score|rating|result|"
    rf"grade)>\s?{_NUMBER}\s?</\3>",
    re.I,
)
_FILLER = lazily(
    r"[\s\"'`“”‘’(\[{<~≈:=|【]{0,10}"
    r"(?:(?:the|an?(?=\s)|my|is|of|as|i|would|give|it|this|response|score|scored|rating|rate|final|overall|result|"
    r"should\sbe|will\sbe|be|为|是|给|得|分数|得分|评分|점수|점수는|점수:)(?![a-z])[\s:\"'(\[]{0,4}){0,5}"
)
_SCALE_WRITTEN = lazily(
    r"[\])>}]?(?:[ \t|/·,]{1,3}(?:[\[(<{][ \t]?[0-9]{1,2}[ \t]?[\])>}]|[0-9]{1,2}(?![0-9]|\.[0-9]))){2,20}+"
)
_RINGED = lazily(r"[\[(<{][ \t]?([0-9]{1,2})[ \t]?[\])>}]")
_OPENING = lazily(r"(?:\ufffc++\s++)*+(?:-(?=\s)|[–—•·>(\[\"'“:`]|\s){0,6}")
_LIST_DOT = lazily(r"(?:[.)]|、)(?=\s)")
_HEAD_ENDS = lazily(
    r"\s{0,2}(?:$|\|(?![ "
    r"\t]{0,4}[0-9])|[\n,;:!(\[=}，；：！。"
    r"（\ufffc]|\.(?![0-9])|\)(?![a-z])|[-–—]\s?(?=\D)|[\"'”’`\]]|です|입니다|이다)|\s(?=(?:the|this|it|because|"
    r"although|while|reason|explanation|since|i|that)\b)|\s{2,}"
)
_ONE_OF = lazily(r"\s(?:that|the|this|it|i)\b")
_CLOSING = lazily(
    r"(?:(?:[^0-9\s]\s?(?<!\bno)[.!?。！？]|[\n\ufffc])[ \t]*+|[a-z][ "
    r"\t]\()(?<!\s\.)([0-9]++(?:\.[0-9]++)?+)\s?(?:/[0-9]++)?\)?[.。]?\s*$"
)
_CLOSING_SCORE = lazily(
    r"[(\[](?:final |overall )?(?:score|rating|grade|점수|评分|得分)\s?(?:of"
    r"|is)?\s?[:：=]?\s?([0-9]++(?:\.[0-9]++)?+)"
    r"\s?(?:/\s?[0-9]++)?[)\]][.。]?\s*$",
    re.I,
)
"""`(Score 5)` at the end of a reply."""
_NUMBERED = lazily(
    r"\b(?:figure|fig\.|table|criterion|step|section|item|point|equation|eq\.|part|option|example|chapter|"
    r"line|page|no\.|number|question|claim|"
    r"sentence|paragraph|response|answer|output|assistant)\s\(\s?$"
)
_IN_BRACKETS = lazily(r"\(([0-9]++(?:\.[0-9]++)?+)\)")
_ALONE_ON_LINE = lazily(r"\s++([0-9]++(?:\.[0-9]++)?+)[ \t]*+(?:\n|$)")
_LONE_LINE = lazily(
    r"^[ \t]{0,4}([0-9]++(?:\.[0-9]++)?+)[ \t]?(?:/[ \t]?[0-9]++|分|점)?[.。]?[ \t\r]*+$", re.M
)
MOST_LINES = 100
_WORD_THEN_NUMBER = lazily(r"(?:[a-z]{1,16}\s){1,3}\(\s?(?=[0-9])")
_BRACKET_ENDS = lazily(r"\)\s{0,2}(?:$|[\n.:;!。：；]|[-–—]\s)")


_DECLARED = lazily(
    r"(?:score|rating|rate|result|grade|level|verdict|점수|평점|评分|得分|分数|打分|判定)[^.!?。！？\n]{0,24}$",
    re.I,
)
"""What calls the number behind it a score."""
_GIVEN_AS = lazily(r"(?:으?로|을|를)?\s?(?:평가|매[기깁]|책정|채점|부여|주겠|줍니다|드립)")
_GIVES = lazily(r"(?:给|打|得|评)(?:出|了|为|予|个)?\s?$")
_DESERVES = lazily(r"\b(?:(?:deserves|merits|earns)\san?\s(?:\w{1,8}\s)?|i(?:'d|\swould)?\ssay\s(?:an?\s)?)$")
_SET_OFF = lazily(r"[ \t]{0,2}(?:[-–—:]\s|\((?!of\b))")
"""What stands between the score that a reply opens with and its reason: "4 - good overall"."""
_SAYS_MORE = lazily(
    r"(?:(?!(?:final|overall|my|the|is|so|score|rating|points?|stars?|marks?|out|of|입니다|점|점수|分|评分|"
    r"得分)(?![^\W\d_]))[^\W\d_]){3}"
)
"""Words beside a number, other than those for a score."""


def read_score(
    text: str,
    low: float,
    high: float,
    step: float | None = None,
    *,
    names: Mapping[float, str] | None = None,
) -> Reading:
    """The score that the reply gives on the scale from `low` to `high`, or the reason why there is none.

    `step` is the distance between the levels, none where any value between counts. `names` are words that
    stand for levels ({0: "fail", 1: "pass"}) and are read where a number would be.
    """
    scale = checked_scale(low, high, step)
    return read_visible(text, lambda reply: _read(reply, scale, names))


def checked_scale(low: float, high: float, step: float | None = None) -> Scale:
    """The scale that a caller gives by numbers; `DataError` where no score can be on it."""
    if not low < high:
        raise DataError(f"The scale from {low:g} to {high:g} is empty: low must be below high.")
    if step is not None and not 0 < step < math.inf:
        raise DataError(f"The step {step:g} is not above 0. Leave it out where any value between counts.")
    return Scale(low=low, high=high, best="unknown", step=step)


def _read(text: str, scale: Scale, names: Mapping[float, str] | None) -> Reading:
    start, end = window(text)
    reply = narrow(text[start:end])
    if not reply:
        return Reading()
    bare = _BARE.fullmatch(reply) or _BARE_MARKED.fullmatch(reply)
    how: How = "strict" if bare and text.strip() == text[start:end] else "anchored"
    reading: Reading | None
    if bare:
        place = bare.span(bare.lastindex or 0)
        reading = _sure(_judged(scale, [Number(float(reply[slice(*place)]), *place, place[1])]))
    else:
        reading = _anchored(reply, scale, _folded_names(names))
    if reading is None:
        return Reading(status="refused" if declines(reply) else "unparsed")
    if reading.status != "ok" or reading.span is None:
        return Reading(status=reading.status)
    span = (start + reading.span[0], start + reading.span[1])
    return Reading(value=reading.value, status="ok", how=how, span=span, is_sure=reading.is_sure)


def _sure(reading: Reading) -> Reading:
    return structs.replace(reading, is_sure=reading.status == "ok")


def _folded_names(names: Mapping[float, str] | None) -> dict[str, float]:
    return {folded(narrow(name)).strip(): value for value, name in (names or {}).items() if name.strip()}


def _anchored(reply: str, scale: Scale, names: dict[str, float]) -> Reading | None:
    judge_text = folded(without_emphasis(set_aside(reply)))
    reading = _spoken(judge_text, scale, names)
    if reading is None and ("```" in reply or "~~~" in reply):
        shown = folded(without_emphasis(set_aside(without_code(reply), fenced=False)))
        reading = _marked(shown, scale, names, _marks(shown, names))
    return corrected_reading(judge_text, scale, reading) if reading is not None and reading.span else reading


def is_corrected(text: str, scale: Scale, reading: Reading) -> bool:
    """Whether the judge replaces a value that was read in the whole reply by another one behind it."""
    if reading.span is None or not corrections(folded(narrow(text[reading.span[1] :])), 0):
        return False
    judge_text = folded(without_emphasis(set_aside(narrow(text))))
    if corrected_reading(judge_text, scale, reading).value != reading.value:
        return True
    return any(
        correction.announced and _gives_another(judge_text, correction.at, scale, reading)
        for correction in corrections(judge_text, reading.span[1])
    )


_REST_OF_SENTENCE = lazily(r"[^.!?。！？\n]{0,80}")
_SO = lazily(r"(?:\bso|\bto|\bis|\ba|\bthus|\bhence|[:=,，]|为|给|打|得)\s{0,2}(?:it'?s\s|an?\s)?$")


def _gives_another(judge_text: str, at: int, scale: Scale, reading: Reading) -> bool:
    """Whether the sentence of an announced correction leads to another value: "…, so 3"."""
    rest = _REST_OF_SENTENCE.match(judge_text, at)
    for number in numbers_between(judge_text, at, rest.end() if rest else at):
        is_led_to = _SO.search(judge_text, max(at, number.start - 12), number.start) is not None
        if (
            is_led_to
            and not counts_things(judge_text, number)
            and scale.status_of(_on(scale, number)) == "ok"
            and number.value != reading.value
        ):
            return True
    return False


def corrected_reading(judge_text: str, scale: Scale, reading: Reading) -> Reading:
    """The reading, or what the judge replaces it by further on; a conflict where that is not plain."""
    later: list[Number] | None = None
    for correction in corrections(judge_text, reading.span[1] if reading.span else 0):
        number = _replacement(judge_text, correction)
        if number is not None:
            changed = _sure(_judged(scale, [number]))
            reading = changed if changed.status == "ok" else Reading(status="conflicting")
        elif correction.announced and reading.status == "ok":
            if later is None:
                later = [statement.number for statement in scores_said(judge_text, scale.high or 0.0)]
            if any(
                statement.start > correction.start and statement.value != reading.value for statement in later
            ):
                reading = Reading(status="conflicting")
    return reading


def _replacement(judge_text: str, correction: Correction) -> Number | None:
    number = number_at(judge_text, correction.at) if correction.announced or correction.is_tied else None
    if number is None or counts_things(judge_text, number) or is_taken_back(judge_text, number):
        return None
    return number


def _spoken(judge_text: str, scale: Scale, names: dict[str, float]) -> Reading | None:
    marks = _marks(judge_text, names)
    reading = _said(judge_text, scale, names, marks)
    if reading is None or reading.span is None:
        return reading
    status = unread_behind(
        judge_text, marks, lambda mark: bool(_value_after(judge_text, mark.at, names)), reading.span[1]
    )
    return Reading(status=status) if status else reading


def _marks(judge_text: str, names: dict[str, float]) -> list[AnswerMark]:
    # Levels with names are also given as a verdict: "Verdict: pass".
    words = SCORE_WORDS + VERDICT_WORDS + ANSWER_WORDS if names else SCORE_WORDS
    return hard_marks(judge_text, words) + labels(judge_text, words)


def _said(judge_text: str, scale: Scale, names: dict[str, float], marks: list[AnswerMark]) -> Reading | None:
    opening, is_alone = _opening(judge_text, names)
    marked = _marked(judge_text, scale, names, marks, opening if is_alone else [])
    if marked is not None and (not is_alone or marked.status != "ok"):
        return marked
    terse = _terse(judge_text)
    if terse is not None:
        return _sure(_judged(scale, [terse]))
    parts = _parts(judge_text, names)
    if parts and (not opening or _LIST_DOT.match(judge_text, opening[0].until)):
        opening = parts
    statements = scores_said(judge_text, scale.high or 0.0)
    if opening is parts and _ends_with(judge_text, parts):
        return _sure(_judged(scale, parts))
    if opening:
        # A conclusion that takes the opening or a label back leaves open which of them was meant.
        reading = _judged(
            scale, [*(statement.number for statement in statements if statement.concludes), *opening]
        )
        return (
            _sure(reading)
            if opening is not parts
            and (
                _is_declared(judge_text, opening[0], is_alone) or _SET_OFF.match(judge_text, opening[0].until)
            )
            else reading
        )
    said = concluding(statements)
    if said:
        reading = _judged(scale, [statement.number for statement in said])
        is_declared = (
            said[-1].concludes or said[-1].number.top is not None or _is_declared(judge_text, said[-1].number)
        )
        return _sure(reading) if is_declared else reading
    numbers = _closing(judge_text) or _alone(judge_text)
    if not numbers:
        return None
    reading = _judged(scale, numbers)
    return _sure(reading) if _is_declared(judge_text, numbers[-1]) else reading


_TERSE = lazily(
    r"[\s\"'“(]{0,4}(?:(?:overall|so|then),?\s)?"
    r"(?:i(?:'d|'ll|\swould|\swill)?\s(?:say|call\s(?:it|this)|(?:give|rate|score|grade)\s(?:it|this)(?:\sas)?)\s"
    r"|(?:it|this|that)(?:'s|\sis)\s|(?:definitely|certainly|clearly|easily)\s|(?:level|score|rating|grade)\s(?=[0-9]))?"
    r"(?P<article>(?:an?|the)\s)?(?P<how>(?:solid|strong|weak|clear|firm|low|high|fair|good|decent|generous|full|"
    r"perfect|straight|comfortable|definite|bare)\s)?"
)
_TERSE_ENDS = lazily(
    r"(?:\s(?:from\sme|overall|in\smy\s(?:view|opinion|book)|for\sme|here))?"
    r"(?:[\s.!)\"'”]*+\Z|\s?[:–—]\s|\s-\s|[,.]\s(?:because|since|as)\b)"
)
"""A reply that says hardly more than its value: "a solid four", "Level 3: it serves the request"."""


_QUOTES = " \n\"'“("


def _terse(judge_text: str) -> Number | None:
    lead = _TERSE.match(judge_text)
    number = number_at(judge_text, lead.end()) if lead and lead[0].strip(_QUOTES) else None
    if lead is None or number is None or not _TERSE_ENDS.match(judge_text, number.until):
        return None
    # "This is one" names a thing.
    is_pronoun = number.in_words and number.value == 1 and not lead["article"] and not lead["how"]
    return None if is_pronoun or is_legend(judge_text, number) else number


def _ends_with(judge_text: str, numbers: Sequence[Number]) -> bool:
    """Whether the label of one criterion with its value has the last line of a reply to itself."""
    return len(numbers) == 1 and not judge_text[numbers[0].until :].strip(" .。)\n")


def _is_declared(judge_text: str, number: Number, is_alone: bool = False) -> bool:
    """Whether a number is called a score right before it, or has its line to itself."""
    if is_alone or _DECLARED.search(judge_text, max(0, number.start - 48), number.start):
        return True
    if _GIVEN_AS.match(judge_text, number.until) or _DESERVES.search(
        judge_text, max(0, number.start - 32), number.start
    ):
        return True
    if number.unit and _GIVES.search(judge_text, max(0, number.start - 8), number.start):
        return True
    start = judge_text.rfind("\n", 0, number.start) + 1
    end = judge_text.find("\n", number.until)
    rest = judge_text[start : number.start] + judge_text[number.until : end if end >= 0 else len(judge_text)]
    return not _SAYS_MORE.search(rest)


def _marked(
    judge_text: str,
    scale: Scale,
    names: dict[str, float],
    marks: list[AnswerMark],
    opening: Sequence[Number] = (),
) -> Reading | None:
    """What the strongest marks say; a score alone on the first line is as good as a mark."""
    strong = [mark for mark in marks if mark.rank >= LABEL]
    values = [*_values(judge_text, strong, names), *opening]
    if values:
        return _sure(_judged(scale, values))
    if any(abstains(judge_text, mark.at) for mark in strong):
        return Reading(status="refused")
    weak = [mark for mark in marks if mark.rank == PART]
    weak = (
        weak if _values(judge_text, weak, names) else [mark for mark in marks if _is_boxed(judge_text, mark)]
    )
    numbers = _values(judge_text, weak, names)
    return _sure(_judged(scale, numbers)) if numbers else None


def _is_boxed(judge_text: str, mark: AnswerMark) -> bool:
    return mark.rank == BOX and is_answer_box(judge_text, mark.start, mark.at)


def _values(judge_text: str, marks: Iterable[AnswerMark], names: dict[str, float]) -> list[Number]:
    numbers: list[Number] = []
    for mark in marks:
        after = _value_after(judge_text, mark.at, names)
        is_value = after and not is_entry(judge_text, mark.start, after[0], is_part=mark.rank == PART)
        if is_value and is_given(judge_text, mark.start, after[-1].until):
            numbers += after
    return numbers


def _parts(judge_text: str, names: dict[str, float]) -> list[Number]:
    """The values of criteria's labels that stand alone; those of an overall label, where there is one."""
    marks = part_labels(judge_text)
    for rank in (ANSWER, PART):
        values = _values(judge_text, [mark for mark in marks if mark.rank == rank], names)
        values = [number for number in values if _HEAD_ENDS.match(judge_text, number.until)]
        if values:
            return [part for number in values for part in (number, *_next_line(judge_text, number))]
    return []


def _next_line(judge_text: str, number: Number) -> list[Number]:
    """The number alone on the next line, where this one is alone on its own: a list of numbers has no
    score."""
    start = judge_text.rfind("\n", 0, number.start) + 1
    end = judge_text.find("\n", number.until)
    if end < 0 or judge_text[start : number.start].strip(" -•") or judge_text[number.until : end].strip():
        return []
    following = _ALONE_ON_LINE.match(judge_text, end)
    rival = number_at(judge_text, following.start(1)) if following else None
    return [rival] if rival is not None else []


def _value_after(judge_text: str, at: int, names: dict[str, float]) -> list[Number]:
    """The number or the named level that follows a mark; two where the mark is followed by two."""
    filler = _FILLER.match(judge_text, at)
    for place in (at, filler.end() if filler else at):
        number = number_at(judge_text, place) or _name_at(judge_text, place, names)
        if number is not None:
            is_bound = judge_text.endswith("<", 0, number.start) and not judge_text.startswith(
                ">", number.until
            )
            if is_bound or is_taken_back(judge_text, number):
                return []
            if counts_plural(judge_text, number) or begins_range(judge_text, number):
                return []
            if number.in_words and counts_things(judge_text, number):
                return []
            written = _SCALE_WRITTEN.match(judge_text, number.end)
            if written:
                return _ringed(judge_text, number, written.end())
            another = names_another(judge_text, number) or IN_PARTS.match(judge_text, number.until)
            doubt = [number._replace(value=float("nan"))] if another else []
            return [number, *doubt]
    return []


def _ringed(judge_text: str, number: Number, end: int) -> list[Number]:
    """The one number in brackets where a scale is written out: "1 2 [3] 4 5"; otherwise which is left
    open."""
    ringed = [ring.start(1) for ring in _RINGED.finditer(judge_text, max(0, number.start - 2), end)]
    chosen = number_at(judge_text, ringed[0]) if len(ringed) == 1 else None
    return [chosen] if chosen is not None else [number, number._replace(value=float("nan"))]


def _name_at(judge_text: str, at: int, names: dict[str, float]) -> Number | None:
    for name, value in names.items():
        end = at + len(name)
        if judge_text.startswith(name, at) and not judge_text[end : end + 1].isalpha():
            return Number(value, at, end, end)
    return None


def _opening(judge_text: str, names: dict[str, float]) -> tuple[list[Number], bool]:
    """The score that the reply opens with, with its rivals, and whether it stands alone on its line."""
    opening = _OPENING.match(judge_text)
    at = opening.end() if opening else 0
    number = number_at(judge_text, at) or _name_at(judge_text, at, names)
    if (
        number is not None
        and number.top is None
        and any(char.isdigit() for char in judge_text[at : number.start])
    ):
        # "2 + 2 = 4" at the beginning is a sum that the judge checks.
        return [], False
    if number is None:
        inside = _WORD_THEN_NUMBER.match(judge_text, at)
        number = number_at(judge_text, inside.end()) if inside else None
        if (
            number is None
            or not _BRACKET_ENDS.match(judge_text, number.until)
            or _names_place(judge_text, number)
        ):
            return [], False
        return [number], False
    if not _HEAD_ENDS.match(judge_text, number.until) or (
        number.in_words and _ONE_OF.match(judge_text, number.until)
    ):
        return [], False
    line_end = judge_text.find("\n", number.until)
    rest = judge_text[number.until : line_end if line_end >= 0 else len(judge_text)].strip(" .。*)`\"'")
    if is_legend(judge_text, number):
        return [], False
    if _LIST_DOT.match(judge_text, number.until) and (
        is_a_list(judge_text)
        or is_entry(judge_text, at, number, is_part=False)
        or (rest[:1].isdigit() and rest != judge_text[number.start : number.end])
    ):
        return [], False
    is_alone = not rest and not _LIST_DOT.match(judge_text, number.until)
    return [number, *_rivals(judge_text, number, line_end if is_alone else -1)], is_alone


def _rivals(judge_text: str, number: Number, line_end: int) -> list[Number]:
    """Other numbers that stand as the opening one does: beside it, or alone on the next line."""
    if names_another(judge_text, number):
        return [number._replace(value=float("nan"))]
    following = _ALONE_ON_LINE.match(judge_text, line_end) if line_end >= 0 else None
    rival = number_at(judge_text, following.start(1)) if following else None
    return [rival] if rival is not None else []


def _closing(judge_text: str) -> list[Number]:
    """The number with which a reply ends, alone after its last sentence or in brackets behind it."""
    closing = _CLOSING.search(judge_text, max(0, len(judge_text) - 24))
    closing = closing or _CLOSING_SCORE.search(judge_text, max(0, len(judge_text) - 48))
    number = number_at(judge_text, closing.start(1)) if closing else None
    if number is None or not number.start or _begins_list(judge_text, number):
        return []
    if judge_text[number.start - 1] == "(" and _names_place(judge_text, number):
        return []
    return [number]


def _names_place(judge_text: str, number: Number) -> bool:
    """Whether a number in brackets names something else, as in "Figure (3)", or is one of several."""
    if _NUMBERED.search(judge_text, max(0, number.start - 24), number.start):
        return True
    around = _IN_BRACKETS.findall(judge_text, max(0, number.start - 400), number.until + 400)
    return len(set(around)) > 1


def _alone(judge_text: str) -> list[Number]:
    """Numbers that have a line to themselves, as after "Here is my score:"."""
    lines = islice(_LONE_LINE.finditer(judge_text), MOST_LINES)
    numbers = [number_at(judge_text, line.start(1)) for line in lines]
    return [number for number in numbers if number is not None and not _begins_list(judge_text, number)]


def _begins_list(judge_text: str, number: Number) -> bool:
    """Whether a reply is cut off behind the number of a list's first entry: "Its strengths:\\n1"."""
    before = judge_text[: number.start].rstrip()
    return (
        number.value == 1
        and number.until >= len(judge_text.rstrip(" ."))
        and before.endswith(("s:", "点:", "점:"))
    )


def _judged(scale: Scale, numbers: list[Number]) -> Reading:
    """One value if all agree, on the scale or off it; otherwise a conflict."""
    values = {_on(scale, number) for number in numbers}
    if len(values) > 1:
        return Reading(status="conflicting")
    number = numbers[-1]
    status: Status = scale.status_of(_on(scale, number))
    if status != "ok":
        return Reading(status=status)
    return Reading(value=number.value, status="ok", span=(number.start, number.end))


def _on(scale: Scale, number: Number) -> float:
    """The value; infinite where the judge names another maximum than the scale's, so it is never rescaled."""
    return number.value if number.top is None or number.top == scale.high else float("inf")
