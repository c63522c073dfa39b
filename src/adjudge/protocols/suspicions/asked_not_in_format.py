"""`asked-not-in-format`: the prompt asks for something that the shown format of the reply cannot hold.

Also the other way in: the words rely on something ("the expected elements") that no slot shows.
An explanation is let pass wherever prose may surround the format, since it is good practice to tell judges
to reason before they answer; it is missed only where the prompt forbids all but the score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .asked_reply import orders_in
from .prompt import Prompt, Suspicion
from .shown_format import places_of, shown_objects

ASKED_NOT_IN_FORMAT = "asked-not-in-format"


class _Thing(NamedTuple):
    name: str
    asked: re.Pattern[str]
    place: re.Pattern[str]


def _thing(name: str, asked: str, place: str) -> _Thing:
    return _Thing(name, re.compile(asked, re.IGNORECASE), re.compile(place, re.IGNORECASE))


_EXPLAINS = (
    r"reason|rational|explan|explain|justif|feedback|analys|critique|comment|thought|think|evidence|why|note|"
    r"summary|detail|narrat|diagnos|descri|message|conclusion|assess|review|"
    r"理由|解释|原因|分析|说明|依据|反馈|이유|설명|근거|분석|피드백"
)


_THINGS = (
    _thing(
        "key differences",
        r"(?:key|main|major|notable) differences|关键差异|主要区别|主要差异|주요 차이",
        r"differ|compar|差异|区别|차이|비교",
    ),
    _thing(
        "recommendations",
        r"recommendations?\b|suggestions?\b(?! of)|improvement suggestions|改进建议|修改建议|개선"
        r" (?:제안|사항|권고)",
        r"recommend|suggest|improve|advice|tips|feedback|建议|改进|제안|개선|권고",
    ),
    _thing(
        "strengths and weaknesses",
        r"strengths and weaknesses|pros and cons|优缺点|강점과 약점|장단점",
        rf"strength|weak|pros|cons|优|缺|강점|약점|장점|단점|{_EXPLAINS}",
    ),
)


_EXPLANATION = _thing(
    "an explanation",
    r"\bexplain\b|\bjustify\b|explanation|rationale|justification|reasoning|reasons?"
    r" for|feedback|理由|解释|이유|설명",
    _EXPLAINS,
)


_PROSE_ALLOWED = re.compile(
    r"\b(?:before|outside|after|above|below|prior to) (?:the |your"
    r" )?(?:json|final|object|score|verdict|answer)",
    re.IGNORECASE,
)


_SAY = r"(?:output|return|respond|reply|answer|provide|give|print|write|generate|produce)(?: me)?(?: with)?"


_A_SCORE = r"(?:scores?|number|integer|digit|rating|numeral|letter|numeric value)\b"


_PARTLY = (
    r"(?![^.\n]{0,40}\b(?:line|tag|bracket|field|between|inside|in the|at the end|followed|and"
    r" (?!nothing|no\b))s?)"
)


_ONLY_SCORE = re.compile(
    rf"\b{_SAY} (?:with )?(?:\w+ ){{0,3}}?(?:only|just|nothing but) (?:with )?(?:\w+"
    rf" ){{0,4}}?{_A_SCORE}{_PARTLY}"
    rf"|\b(?:must|should|may) (?:be|contain|consist of|hold) (?:\w+ ){{0,3}}?{_A_SCORE},?"
    r" (?:only|alone|(?:and )?nothing else)\b"
    rf"|\bonly {_SAY} (?:\w+ ){{0,3}}?{_A_SCORE}{_PARTLY}"
    rf"|\b{_SAY} (?:\w+ ){{0,4}}?{_A_SCORE}(?: \([^()\n]{{1,30}}\))?,? (?:only|alone|(?:and )?nothing"
    r" else|without (?:any )?(?:explanation|other text))\b"
    r"|(?:只|仅)(?:需|要|能)?(?:输出|返回|给出|回复)(?:一个)?(?:分数|数字|评分|分值)(?![^。"
    r"\n]{0,12}行)|(?:점수|숫자)만 (?:출력|제시|작성|답)",
    re.IGNORECASE,
)


_ONLY_JSON = re.compile(
    r"\bonly (?:with )?(?:a |the |one |an )?(?:\w+ ){0,2}?json\b|\bjson(?: object)? (?:only|alone|and nothing"
    r" else)|\bnothing but (?:the |a )?json"
    r"|(?:只|仅)(?:输出|返回)[^。\n]{0,8}json|json(?:만|으로만)",
    re.IGNORECASE,
)


_LINE = re.compile(r"\blines?\b|行|줄", re.IGNORECASE)


_WITHOUT = re.compile(r"\b(?:no|not|without|any)\b|不要|无需|없이|말고", re.IGNORECASE)


_RELIED_ON = re.compile(
    r"\b(?:(?:the|provided|given|listed) required|expected)"
    r" (?:elements|points|facts|items|keywords|concepts)\b"
    r"|\b(?:the|provided|given|following) checklist\b"
    r"|预期要素|预期要点|기대 요소|필수 요소",
    re.IGNORECASE,
)


_SHOWS_ELEMENTS = re.compile(
    r"expect|element|require|point|fact|checklist|keyword|concept|criteri|rubric|item|要素|要点|요소",
    re.IGNORECASE,
)


_LISTED = re.compile(r"(?:expected|required) \w|checklist|要素|요소", re.IGNORECASE)


def asked_not_in_format(prompt: Prompt) -> Iterator[Suspicion]:
    """Things asked for without a place in the reply, then things relied on without a slot."""
    if prompt.protocol.answer.reader not in ("free", "likelihood"):
        yield from _without_place(prompt)
        yield from _forbidden_explanation(prompt)
    yield from _without_slot(prompt)


def _without_place(prompt: Prompt) -> Iterator[Suspicion]:
    shown = shown_objects(prompt.words)
    if prompt.protocol.answer.reader != "json" or not shown or _PROSE_ALLOWED.search(prompt.words):
        return
    places = places_of(prompt) - {""}
    orders = list(orders_in(prompt))
    missing: list[tuple[int, str]] = []
    for thing in _THINGS:
        asked = next((order.start for order in orders if thing.asked.search(order.text)), None)
        if asked is not None and not any(thing.place.search(place) for place in places):
            missing.append((asked, thing.name))
    if missing:
        names = " and ".join(name for _, name in missing)
        yield Suspicion(
            min(missing)[0],
            f"the prompt asks for {names}, but the JSON that it shows has no key for that.",
            "Add a key to the format, and its path under notes, or do not ask.",
        )


def _forbidden_explanation(prompt: Prompt) -> Iterator[Suspicion]:
    is_json = prompt.protocol.answer.reader == "json"
    if is_json and any(_EXPLANATION.place.search(place) for place in _keys(prompt)):
        return
    forbids = _ONLY_JSON if is_json else _ONLY_SCORE
    # "On the first line, write only the score" leaves the other lines free.
    only = next(
        (
            sentence
            for sentence in prompt.sentences
            if forbids.search(sentence.text) and not _LINE.search(sentence.text)
        ),
        None,
    )
    if only is None or (is_json and not shown_objects(prompt.words)):
        return
    for order in orders_in(prompt):
        if (
            order.start != only.start
            and _EXPLANATION.asked.search(order.text)
            and not _WITHOUT.search(order.text)
        ):
            yield Suspicion(
                only.start,
                f"the reply may hold {'the JSON' if is_json else 'the score'} only, but elsewhere the prompt"
                " asks for an explanation.",
                "Give the explanation a place in the format, or do not ask for one.",
            )
            return


def _keys(prompt: Prompt) -> set[str]:
    return {key for shown in shown_objects(prompt.words) for key in shown.values}


def _without_slot(prompt: Prompt) -> Iterator[Suspicion]:
    match = _RELIED_ON.search(prompt.words)
    if match is None:
        return
    shown = " ".join(f"{slot.name} {slot.field} {slot.label}" for slot in prompt.slots)
    is_written_out = any(_LISTED.search(place) for place in places_of(prompt))
    if not _SHOWS_ELEMENTS.search(shown) and not is_written_out:
        yield Suspicion(
            match.start(),
            f"the prompt relies on '{match[0]}', but no slot shows any.",
            "Add an input for it, or take the words out.",
        )
