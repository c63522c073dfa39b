"""`labels-not-blind`: the names of two compared responses tell the judge which is meant to win."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from .prompt_text import (
    BLOT,
    MODEL_NAME,
    TELLING_SIDES,
    Prompt,
    Sentence,
    Slot,
    Suspicion,
    objects_in,
    orders_in,
    places_of,
    tokens_of,
)

# `asked-not-in-format`: the prompt asks for something that the shown format of the reply cannot hold.
#
# Also the other way in: the words rely on something ("the expected elements") that no slot shows.
# An explanation is let pass wherever prose may surround the format, since it is good practice to tell judges
# to reason before they answer; it is missed only where the prompt forbids all but the score.


ASKED_NOT_IN_FORMAT = "asked-not-in-format"


class _Thing(NamedTuple):
    name: str
    asked: re.Pattern[str]
    place: re.Pattern[str]


def _thing(name: str, asked: str, place: str) -> _Thing:
    return _Thing(name, re.compile(asked, re.IGNORECASE), re.compile(place, re.IGNORECASE))


_EXPLAINS = (
    r"reason|rational|explan|explain|justif|feedback|analys|critique|comment|thought|think|evidence|why|note|summary|detail|narrat|diagnos|descri|message|conclusion|assess|review|"
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
        r"recommendations?\b|suggestions?\b(?! of)|improvement suggestions|改进建议|修改建议|개선 (?:제안|사항|권고)",
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
    r"\bexplain\b|\bjustify\b|explanation|rationale|justification|reasoning|reasons? for|feedback|理由|解释|이유|설명",
    _EXPLAINS,
)

_PROSE_ALLOWED = re.compile(
    r"\b(?:before|outside|after|above|below|prior to) (?:the |your )?(?:json|final|object|score|verdict|answer)",
    re.IGNORECASE,
)

_SAY = r"(?:output|return|respond|reply|answer|provide|give|print|write|generate|produce)(?: me)?(?: with)?"
_A_SCORE = r"(?:scores?|number|integer|digit|rating|numeral|letter|numeric value)\b"
_PARTLY = r"(?![^.\n]{0,40}\b(?:line|tag|bracket|field|between|inside|in the|at the end|followed|and (?!nothing|no\b))s?)"
_ONLY_SCORE = re.compile(
    rf"\b{_SAY} (?:with )?(?:\w+ ){{0,3}}?(?:only|just|nothing but) (?:with )?(?:\w+ ){{0,4}}?{_A_SCORE}{_PARTLY}"
    rf"|\b(?:must|should|may) (?:be|contain|consist of|hold) (?:\w+ ){{0,3}}?{_A_SCORE},? (?:only|alone|(?:and )?nothing else)\b"
    rf"|\bonly {_SAY} (?:\w+ ){{0,3}}?{_A_SCORE}{_PARTLY}"
    rf"|\b{_SAY} (?:\w+ ){{0,4}}?{_A_SCORE}(?: \([^()\n]{{1,30}}\))?,? (?:only|alone|(?:and )?nothing else|without (?:any )?(?:explanation|other text))\b"
    r"|(?:只|仅)(?:需|要|能)?(?:输出|返回|给出|回复)(?:一个)?(?:分数|数字|评分|分值)(?![^。\n]{0,12}行)|(?:점수|숫자)만 (?:출력|제시|작성|답)",
    re.IGNORECASE,
)
_ONLY_JSON = re.compile(
    r"\bonly (?:with )?(?:a |the |one |an )?(?:\w+ ){0,2}?json\b|\bjson(?: object)? (?:only|alone|and nothing else)|\bnothing but (?:the |a )?json"
    r"|(?:只|仅)(?:输出|返回)[^。\n]{0,8}json|json(?:만|으로만)",
    re.IGNORECASE,
)

_LINE = re.compile(r"\blines?\b|行|줄", re.IGNORECASE)
_WITHOUT = re.compile(r"\b(?:no|not|without|any)\b|不要|无需|없이|말고", re.IGNORECASE)

_RELIED_ON = re.compile(
    r"\b(?:(?:the|provided|given|listed) required|expected) (?:elements|points|facts|items|keywords|concepts)\b"
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
    shown = objects_in(prompt.words)
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
    if only is None or (is_json and not objects_in(prompt.words)):
        return
    for order in orders_in(prompt):
        if (
            order.start != only.start
            and _EXPLANATION.asked.search(order.text)
            and not _WITHOUT.search(order.text)
        ):
            yield Suspicion(
                only.start,
                f"the reply may hold {'the JSON' if is_json else 'the score'} only, but elsewhere the prompt asks for an explanation.",
                "Give the explanation a place in the format, or do not ask for one.",
            )
            return


def _keys(prompt: Prompt) -> set[str]:
    return {key for shown in objects_in(prompt.words) for key in shown.values}


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


# `confidence-without-field`: the judge is to say how sure it is, and the reply has no place for it.


CONFIDENCE_WITHOUT_FIELD = "confidence-without-field"

_VERB = r"(?:rate|provide|give|state|report|assign|include|indicate|output|express|specify|estimate|assess|add|return|write|note)"
_ASKED = re.compile(
    rf"(?:^|[^\w\s]\s?|\b(?:and|then|also|please|must|should|finally|to) )(?:\W{{0,6}}){_VERB}\b(?: me)?[\s*_]{{1,4}}"
    r"(?:(?:your|a|an|the|how|level|overall|numeric\w*|self-reported|own|of)\s){0,4}[*_]{0,2}(?:confidence|certainty|confident|sure|certain)\b"
    r"|\bhow (?:confident|sure|certain) you are\b|\bhow (?:confident|sure|certain) are you\b"
    r"|(?:给出|提供|输出|说明|评估|标明|注明)[^。\n]{0,10}(?:置信度|信心|把握程度|确信)"
    r"|(?:확신도|신뢰도|확신 정도|자신감)[^.\n]{0,12}(?:제시|표시|평가|적|쓰|쓰시|작성|출력|밝|매기|나타내)",
    re.IGNORECASE,
)
_ITEM = re.compile(r"[\W\d_]{1,8}(?:your |a |the )?(?:level of )?(?:confidence|certainty)\b", re.IGNORECASE)
_PLACE = re.compile(r"confiden|certain|probab|sure\b|置信|信心|把握|확신|신뢰도|자신감", re.IGNORECASE)
_EACH = re.compile(
    r"\b(?:for )?(?:each|every) (?:\w+ )?(?:dimension|criteri\w+|aspect|score|categor\w+|metric|attribute|item|axis|rating)"
    r"|\bper[- ](?:dimension|criterion|aspect|metric|category)|\bin the score\b|每个(?:维度|标准|方面|指标|评分)|각 (?:기준|항목|차원|평가|점수)",
    re.IGNORECASE,
)
_SCORED = re.compile(r"scores?\b|rating|grade|分数|评分|점수", re.IGNORECASE)


def confidence_without_field(prompt: Prompt) -> Iterator[Suspicion]:
    """The first sentence that asks for a confidence which nothing in the shown format can hold."""
    answer = prompt.protocol.answer
    if answer.reader in ("free", "likelihood"):
        return
    items = {order.start for order in orders_in(prompt) if _ITEM.match(order.text)}
    for sentence in prompt.sentences:
        if not _ASKED.search(sentence.text) and sentence.start not in items:
            continue
        is_each = len(prompt.scales) > 1 and _is_for_each(prompt, sentence)
        if answer.confidence or (_has_place_each(prompt) if is_each else _has_place(prompt)):
            return
        scope = "for each criterion" if is_each else "in the reply"
        yield Suspicion(
            sentence.start + len(sentence.text) - len(sentence.text.lstrip()),
            f"the prompt asks for a confidence, but the format has no field for it {scope}.",
            "Add a field for it to the format and its path as 'confidence', or do not ask.",
        )
        return


def _is_for_each(prompt: Prompt, sentence: Sentence) -> bool:
    """Whether the request belongs to every criterion: it says so, or the list that it stands in does."""
    before = prompt.words[max(0, sentence.start - 400) : sentence.start + len(sentence.text)]
    heading = before.rfind("\n#")
    return bool(_EACH.search(before[heading + 1 :] if heading >= 0 else before))


def _has_place(prompt: Prompt) -> bool:
    return bool(prompt.protocol.answer.choice_confidence) or any(map(_PLACE.search, places_of(prompt)))


def _has_place_each(prompt: Prompt) -> bool:
    """Whether the objects that hold a criterion's score also hold a confidence."""
    shown = objects_in(prompt.words)
    scored = [example for example in shown if any(_SCORED.match(key) for key in example.values)]
    if not scored:
        return _has_place(prompt)
    return any(_PLACE.search(key) for example in scored for key in example.values)


# `examples-promised`: the prompt announces examples and shows none, or fewer kinds than it said.


EXAMPLES_PROMISED = "examples-promised"

_ANNOUNCED = re.compile(
    r"\b(?:here are|below are|the following are|following are|these are|i will (?:give|show) you|you will be (?:given|shown))\s"
    r"(?:\w+[,\s]\s?){0,5}?examples\b|\b(?:use|consider|study|with) (?:the following|these) (?:\w+ ){0,3}?examples\b|^[ \t#*]{0,6}examples[*: \t]{0,4}$|\bsee the (?:\w+ )?examples (?:below|that follow)|\b(?:the )?(?:\w+ )?examples (?:are )?(?:given )?below\b"
    r"|以下(?:是|为)[^。\n]{0,24}(?:示例|例子|样例|范例)|(?:参考|参照)(?:以下|下面|下列)[^。\n]{0,8}(?:示例|例子|样例)|下面是[^。\n]{0,16}(?:示例|例子|样例)"
    r"|다음은[^.\n]{0,24}(?:예시|예제)|아래(?:는|의)[^.\n]{0,24}(?:예시|예제)",
    re.IGNORECASE | re.MULTILINE,
)
_KINDS = (
    (
        "positive",
        re.compile(r"\b(?:positive|good|correct|high[- ]scoring)\b|正面|正例|好的|긍정|좋은", re.IGNORECASE),
    ),
    (
        "negative",
        re.compile(
            r"\b(?:negative|bad|incorrect|low[- ]scoring|counter)\b|负面|反例|负例|不好的|부정|나쁜",
            re.IGNORECASE,
        ),
    ),
)
_EXAMPLE = re.compile(
    r"examples?|demonstrations?|shots?\b|示例|例子|样例|范例|例如|예시|예제|보기", re.IGNORECASE
)
_HEADING = re.compile(r"\n\s{0,3}(?:#{1,6}\s|---)")
_SHOWS = re.compile(r"example|demo|shot|示例|例子|样例|예시|예제", re.IGNORECASE)
_MOST = 20
"""How many announcements of one prompt are looked at."""

_LEAST = 30
"""Fewer characters than this behind the announcement hold no example."""


def examples_promised(prompt: Prompt) -> Iterator[Suspicion]:
    """Each announcement against what follows it."""
    for match in islice(_ANNOUNCED.finditer(prompt.words), _MOST):
        line_end = prompt.words.find("\n", match.end())
        after = prompt.words[line_end if line_end >= 0 else len(prompt.words) :]
        sentence = prompt.words[
            prompt.words.rfind("\n", 0, match.start()) + 1 : line_end if line_end >= 0 else None
        ]
        takes_slot = any(
            _SHOWS.search(f"{slot.name} {slot.field}") for slot in prompt.slots if slot.start > match.start()
        )
        if takes_slot and any(slot.name == "examples" for slot in prompt.slots):
            continue
        missing = _missing_kinds(match[0], after)
        if missing:
            yield Suspicion(
                match.start(),
                f"positive and negative examples are announced, but no {' and no '.join(missing)} one follows.",
                "Show both kinds, for instance by {{examples}}, or announce what is there.",
            )
            return
        if not takes_slot and not _holds_example(sentence[sentence.find(match[0]) + len(match[0]) :], after):
            yield Suspicion(
                match.start(),
                "examples are announced, but none follow.",
                "Show them, for instance by {{examples}}, or take the announcement out.",
            )
            return


def _missing_kinds(announcement: str, after: str) -> list[str]:
    promised = [name for name, pattern in _KINDS if pattern.search(announcement)]
    if len(promised) < 2:
        return []
    return [name for name, pattern in _KINDS if not pattern.search(after)]


def _holds_example(rest_of_line: str, after: str) -> bool:
    """Whether enough text stands before the next heading or the material to be judged."""
    heading = _HEADING.search(after)
    section = after[: heading.start()] if heading and not _EXAMPLE.search(heading[0]) else after
    if heading and _EXAMPLE.search(after[heading.start() : heading.end() + 80]):
        section = after
    section = rest_of_line + section
    slot = section.find(BLOT)
    section = section[:slot] if slot >= 0 else section
    return len("".join(section.split()).strip("*#-:：`.")) >= _LEAST


# `reference-mismatch`: the words speak of a reference answer that no slot shows, or the other way round.


REFERENCE_MISMATCH = "reference-mismatch"

_NAMED = re.compile(
    r"\b(?:reference|gold(?:en)?|ground[- ]truth)[- ](?:answers?|responses?|solutions?|summar(?:y|ies)|translations?|outputs?|labels?)\b"
    r"|\b(?:the|provided|given|following) ground[- ]truth\b"
    r"|\b(?:the|provided|given) (?:expected|official|known) (?:answer|output|response)\b(?! format)|参考答案|标准答案|参考回答|参考译文|参考摘要|참조 답변|참고 답변|모범 답안|모범 답변|기준 답변|참조 답안",
    re.IGNORECASE,
)
_NOT_THERE = re.compile(
    r"\b(?:no|not|without|if|when|optional\w*|may|absence|unless|available|lack\w*|don't|isn't|any)\b|没有|如果|若|无需|不提供|없|만약|경우",
    re.IGNORECASE,
)
_IS_ANOTHER = re.compile(r"\b(?:is|are|as)\s\Z", re.IGNORECASE)
"""Before "the ground truth": another input is called so."""

_SLOT_TOKENS = frozenset(
    "reference references ref refs gold golden truth expected ideal expert target correct label groundtruth gt oracle "
    "standard answer_key solution key".split()
)
_SHOWN_AS = re.compile(
    r"(?<!for )\b(?:reference|gold(?:en)?|ground[- ]?truth|expected|ideal|expert|correct|official|known|target|standard|model answer|solution)\b"
    r"|参考|标准|正确|预期|참조|참고|모범|정답|기준",
    re.IGNORECASE,
)
_LABELLED_BY_SLOT = re.compile(rf"[:：]\s?{BLOT}")
_IS_A_SIDE = re.compile(
    r"\b(?:assistant|response|answer|output|model|summary|candidate) ?(?:[ab12]|one|two)\b", re.IGNORECASE
)
_CALLED_REFERENCE = re.compile(
    r"(?<!for )\b(?:reference|gold|golden|ground[- ]?truth)\b|参考|标准答案|참조|참고|모범", re.IGNORECASE
)
_SYNONYMS = re.compile(
    r"\b(?:reference|gold|golden|ground[- ]?truth|expected|ideal|expert|correct[_ -](?:answers?|responses?|options?|"
    r"choices?|solutions?|output|labels?)|target|standard|true answer|right answer|known answer|answer key|benchmark)|参考|标准答案|正确答案|真实答案|参照|참조|참고|모범|정답|기준",
    re.IGNORECASE,
)


def reference_mismatch(prompt: Prompt) -> Iterator[Suspicion]:
    """Words without a slot, or a slot without words."""
    judged = {slot.field for slot in prompt.compared or ()}
    shown = [slot for slot in prompt.slots if slot.field not in judged and _shows_reference(slot)]
    if not shown:
        # A slot whose label is itself a slot may well be labelled as the reference.
        if not any(_LABELLED_BY_SLOT.match(prompt.words, slot.end) for slot in prompt.slots):
            yield from _words_alone(prompt)
    else:
        yield from _slot_alone(prompt, shown)


def _shows_reference(slot: Slot) -> bool:
    label = slot.label[-60:]
    if _IS_A_SIDE.search(label):
        return False
    tokens = {*tokens_of(slot.name), *tokens_of(slot.field)}
    return bool(tokens & _SLOT_TOKENS) or bool(_SHOWN_AS.search(f"{label} {slot.name}"))


def _words_alone(prompt: Prompt) -> Iterator[Suspicion]:
    for sentence in prompt.sentences:
        match = _NAMED.search(sentence.text)
        if match and not _is_hedged(sentence, match):
            yield Suspicion(
                sentence.start + match.start(),
                f"the prompt mentions '{match[0]}', but no slot shows one.",
                "Take the words out, or add the reference as an input and a slot.",
            )
            return


def _is_hedged(sentence: Sentence, match: re.Match[str]) -> bool:
    if _IS_ANOTHER.search(sentence.text[max(0, match.start() - 8) : match.start()]):
        return True
    near = sentence.text[max(0, match.start() - 60) : match.end() + 40]
    return bool(_NOT_THERE.search(near.replace(match[0], "")))


def _slot_alone(prompt: Prompt, shown: list[Slot]) -> Iterator[Suspicion]:
    """A reference answer whose only mention is the label above it.

    A prompt that is all labels explains nothing, so there silence about the reference is no sign.
    """
    # The judge sees the label; the name of a slot only where inputs are fenced.
    names = [
        (slot, slot.label[-60:] or (slot.field.replace("_", " ") if prompt.protocol.fence else ""))
        for slot in shown
    ]
    answers = [slot for slot, name in names if _CALLED_REFERENCE.search(name)]
    if not answers:
        return
    labels = {slot.label_start for slot in shown[:50] if len(slot.label) <= 60}
    instructions = 0
    for sentence in prompt.sentences:
        end = sentence.start + len(sentence.text)
        if any(sentence.start <= label <= end for label in labels):
            continue
        if _SYNONYMS.search(sentence.text):
            return
        instructions += len(sentence.text)
    if instructions >= 200:
        yield Suspicion(
            answers[0].start,
            f"slot {{{{{answers[0].name}}}}} shows a reference, but the instructions never mention it.",
            "Say what the reference is for, or leave the slot out.",
        )


LABELS_NOT_BLIND = "labels-not-blind"

_ALONE = frozenset(
    "baseline enhanced improved our ours competitor production proposed treatment challenger champion finetuned optimized 基线 改进 优化 베이스라인 개선 "
    "chosen rejected winner loser".split()
)
"""Words that tell by themselves; the others tell only as a pair."""

_PAIRS = (*TELLING_SIDES, ("旧", "新"), ("原始", "修改"), ("之前", "之后"), ("人工", "模型"), ("기존", "신규"), ("기존", "새"),
          ("이전", "이후"), ("원본", "수정"), ("원본", "수정본"), ("사람", "모델"))  # fmt: skip


def labels_not_blind(prompt: Prompt) -> Iterator[Suspicion]:
    """The labels, the words of the choice, and, where inputs are fenced, their names."""
    pair = prompt.compared
    if pair is None:
        return
    a, b = (_seen(prompt, slot, side) for slot, side in zip(pair, ("a", "b"), strict=True))
    revealing = _revealing(a, b)
    if revealing:
        yield Suspicion(
            pair[0].label_start,
            f"the two responses are called {revealing}, which reveals to the judge which one should win.",
            "Call them Response A and Response B, and judge both orders.",
        )


def _seen(prompt: Prompt, slot: Slot, side: str) -> tuple[str, ...]:
    """All that the judge reads as the name of one side."""
    answer = prompt.protocol.answer
    names = [slot.label]
    if prompt.protocol.fence:
        names.append(slot.field)
    names += [words[side] for words in (answer.choices, answer.subjects) if side in words]  # type: ignore[index]
    return tuple(names)


def _revealing(first_names: tuple[str, ...], second_names: tuple[str, ...]) -> str:
    for left, right in zip(first_names, second_names, strict=False):
        named = [match[0] for text in (left, right) if (match := MODEL_NAME.search(text))]
        if named and left.lower() != right.lower():
            return " and ".join(f"'{name}'" for name in named)
        is_revealed = any(_has(left, word) != _has(right, word) for word in _ALONE) or any(
            _has(left, a) and _has(right, b) and not _has(left, b)
            for pair in _PAIRS
            for a, b in (pair, pair[::-1])
        )
        if is_revealed:
            return f"'{left}' and '{right}'"
    return ""


def _has(name: str, word: str) -> bool:
    # Chinese and Korean names are not cut into words, so there a part of the name will do.
    return word in tokens_of(name) if word.isascii() else word in name
