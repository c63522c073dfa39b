"""`confidence-without-field`: the judge is to say how sure it is, and the reply has no place for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .asked_reply import orders_in
from .prompt import Prompt, PromptSentence, Suspicion
from .shown_format import places_of, shown_objects

CONFIDENCE_WITHOUT_FIELD = "confidence-without-field"


_VERB = (
    r"(?:rate|provide|give|state|report|assign|include|indicate|output|express|specify|estimate|assess|"
    r"add|return|write|note)"
)


_ASKED = re.compile(
    rf"(?:^|[^\w\s]\s?|\b(?:and|then|also|please|must|should|finally|to) )(?:\W{{0,6}}){_VERB}\b(?:"
    r" me)?[\s*_]{1,4}"
    r"(?:(?:your|a|an|the|how|level|overall|numeric\w*|self-reported|own|of)\s){0,4}[*_]{0,2}(?:confidence|"
    r"certainty|confident|sure|certain)\b"
    r"|\bhow (?:confident|sure|certain) you are\b|\bhow (?:confident|sure|certain) are you\b"
    r"|(?:给出|提供|输出|说明|评估|标明|注明)[^。\n]{0,10}(?:置信度|信心|把握程度|确信)"
    r"|(?:확신도|신뢰도|확신 정도|자신감)[^.\n]{0,12}(?:제시|표시|평가|적|쓰|쓰시|작성|출력|밝|매기|나타내)",
    re.IGNORECASE,
)


_ITEM = re.compile(r"[\W\d_]{1,8}(?:your |a |the )?(?:level of )?(?:confidence|certainty)\b", re.IGNORECASE)


_PLACE = re.compile(r"confiden|certain|probab|sure\b|置信|信心|把握|확신|신뢰도|자신감", re.IGNORECASE)


_EACH = re.compile(
    r"\b(?:for )?(?:each|every) (?:\w+"
    r" )?(?:dimension|criteri\w+|aspect|score|categor\w+|metric|attribute|item|axis|rating)"
    r"|\bper[- ](?:dimension|criterion|aspect|metric|category)|\bin the"
    r" score\b|每个(?:维度|标准|方面|指标|评分)|각 (?:기준|항목|차원|평가|점수)",
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


def _is_for_each(prompt: Prompt, sentence: PromptSentence) -> bool:
    """Whether the request belongs to every criterion: it says so, or the list that it stands in does."""
    before = prompt.words[max(0, sentence.start - 400) : sentence.start + len(sentence.text)]
    heading = before.rfind("\n#")
    return bool(_EACH.search(before[heading + 1 :] if heading >= 0 else before))


def _has_place(prompt: Prompt) -> bool:
    return bool(prompt.protocol.answer.choice_confidence) or any(map(_PLACE.search, places_of(prompt)))


def _has_place_each(prompt: Prompt) -> bool:
    """Whether the objects that hold a criterion's score also hold a confidence."""
    shown = shown_objects(prompt.words)
    scored = [example for example in shown if any(_SCORED.match(key) for key in example.values)]
    if not scored:
        return _has_place(prompt)
    return any(_PLACE.search(key) for example in scored for key in example.values)
