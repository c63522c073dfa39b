"""Whether a judge gives the answer behind a mark, or says what it would give, or what another person wrote.

"[RESULT] 5 if it had sources" and "the response ends with [RESULT] 5" give nothing. The text must be narrow,
folded and without emphasis. Only the sentence of the mark is looked at, so the search is short.
"""

from __future__ import annotations

from ...lazy_patterns import lazily

_REACH = 160
"""How far around a mark its sentence is looked at, in characters."""

_SENTENCE_END = lazily(r"[.!?。！？](?=\s|[가-힣\u4e00-\u9fff]|$)|\n")
_NOT_GIVEN = lazily(
    r"[ \t]?[\"'”)\]]?(?:</\w{1,20}>)?[ \t]{1,2}(?:(?:would|could|might)\s(?!be\b)\w"
    r"|(?:would|could|might)\s[^.;,\n]{0,40}\bif\b"
    r"|would\sbe\s(?:for|given|reserved|only|needed|required|too|the\s(?:mark|score|rating|grade|answer)\s"
    r"(?:for|of|if))\b"
    r"|(?:only\s)?if\s(?!i\b)\w|had\s(?:it|the|there|they)\b|were\s(?:it|the)\b|in\s(?:theory|an\sideal)\b"
    r"|(?:is|are)\s(?:reserved|defined|meant)\b|at\s(?:most|best)\b"
    r"|(?:is|was)\swhat\s(?!i\b|we\b)[^.;\n]{1,40}?\b(?:says?|said|wants?|asks?|demands?|claims?|requests?|suggests?|"
    r"tells?|told|insists?|would\slike)\b)"
    r"|\s?(?:였을|이었을|였겠|이었겠|일\s?수도|이었으면|점?\s?(?:이|가)?\s?되려면|점?\s?(?:을|를)?\s?받으려면|分的话|分本来)"
)
"""What follows an answer that is not given."""

_WOULD_GIVE = lazily(
    r"\b(?:would|could|might)\s(?:\w{1,12}\s){0,3}?(?:merit|deserve|earn|get|receive|reach|warrant|write|say|give|"
    r"given|put|score|rate|choose|pick)(?:\s(?:it|this|an?|the|full|marks?|score|rating|response|of|at|as|with|to))"
    r"{0,4}\s?[:,]?\s?[\[(]?$"
)
_CONDITION = lazily(
    r"\b(?:if\s(?!i\b|forced|pressed)|unless\s|had\sit\b|were\sit\b|provided\s(?:that|it|they|there)\b)|만약|다면|如果|要是|若"
)
_UNREAL = lazily(
    r"(?:^|[,;(]\s?)\s*(?:were|had|should)\s(?:the|it|this|these|they|there)\b[^.;\n]{0,100},\s?[\[(<]?$"
    r"|\bif\s(?!i\b|you\b)[^.;\n]{0,80}\b(?:were|had|hadn't|weren't)\b[^.;\n]{0,60},\s?[\[(<]?$"
)
"""A condition that is not met, right before the mark: "Were the proof complete, [RESULT] 5"."""
_WRITTEN_BY_OTHERS = lazily(
    r"\b(?:response|text|summary|answer|author|writer|student|assistant|user|prompt|article|passage|output|"
    r"candidate)\b[^.;\n]{0,24}\b(?:says|said|claims|states|writes|wrote|contains|ends(?:\swith)?|begins\swith|"
    r"starts\swith|includes|asks\sfor|demands|prints|tells\sme)\s?(?:the\s(?:line|words?|text|marker|tag|string|phrase|label)\s?)?[:,]?\s?"
    r"(?:(?:output|print|write|return|give)\s)?[\[(<]?$"
    r"|\b(?:tempt(?:ed|ing)|inclined)\sto\s(?:say|give|write|put|answer|go\s(?:for|with))\s(?:it\s)?(?:an?\s)?[\[(<]?$"
)


def is_taken_back_behind(plain: str, end: int) -> bool:
    """Whether the words behind an answer that ends at `end` say that it is not given."""
    return _NOT_GIVEN.match(plain, end) is not None


def is_given(plain: str, mark: int, end: int) -> bool:
    """Whether the judge gives the answer of the mark that begins at `mark`; its value ends at `end`."""
    if is_taken_back_behind(plain, end):
        return False
    begin = max(0, mark - _REACH)
    for stop in _SENTENCE_END.finditer(plain, begin, mark):
        begin = stop.end()
    left = plain[begin:mark]
    if _WRITTEN_BY_OTHERS.search(left) or _UNREAL.search(left):
        return False
    if not _WOULD_GIVE.search(left):
        return True
    behind = _SENTENCE_END.search(plain, end, end + _REACH)
    right = plain[end : behind.start() if behind else end + _REACH]
    return not (_CONDITION.search(left) or _CONDITION.search(right))
