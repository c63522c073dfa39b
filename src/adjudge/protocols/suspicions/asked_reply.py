"""What the prompt tells the judge to write: the objects of its orders, and the items of lists below."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .prompt import Prompt, PromptSentence

_VERB = (
    r"(?:provide|give|write|include|list|state|output|add|return|describe|highlight|offer|suggest|make|"
    r"summari[sz]e|present|"
    r"explain|justify|note)"
)


_START = r"(?:^|[.:;(]\s?|\b(?:and|then|also|please|must|should|finally|lastly|next|first|last),? )"


_ORDER = re.compile(rf"{_START}[\W\d_]{{0,8}}(?P<order>{_VERB}\b[^.\n]{{0,140}})", re.IGNORECASE)


_ORDER_EAST = re.compile(
    r"(?P<order>(?:请|并|需要?|给出|提供|输出|列出|写出)[^。"
    r"\n]{0,60}|[^.\n]{0,60}(?:제시|작성|제공|출력|나열|설명)(?:하|해))"
)


_LIST_HEAD = re.compile(
    rf"(?:{_VERB}|contain|consist of|have|following|as follows|以下内容|다음을[^\n]{{0,10}})\s?[:：]\s*\Z",
    re.IGNORECASE,
)


_ITEM = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s")


def orders_in(prompt: Prompt) -> Iterator[PromptSentence]:
    """Each thing that is asked for, with the start of the sentence that asks."""
    is_list = False
    for sentence in prompt.sentences:
        text = sentence.text
        is_item = bool(_ITEM.match(text))
        if is_list and is_item:
            yield sentence
        for pattern in (_ORDER, _ORDER_EAST):
            yield from (PromptSentence(sentence.start, match["order"]) for match in pattern.finditer(text))
        if not is_item:
            is_list = bool(_LIST_HEAD.search(text))
