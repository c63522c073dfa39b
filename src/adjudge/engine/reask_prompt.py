"""The reask: the prompt of the follow-up question to a
judge whose reply has no readable answer, and its call.
"""

from __future__ import annotations

import msgspec

from ..records import Call, Message, Protocol
from ..render import estimated_tokens, written_answer
from .call_keys import with_key
from .plan import PlannedCall

_REASK_SCORE = {
    "en": "Your reply holds no score that can be read. Reply with the score alone: {format}. Nothing else.",
    "zh": "您的回复中没有可以读取的分数。请只回复分数：{format}。不要写其他内容。",
    "ko": "답변에서 읽을 수 있는 점수를 찾지 못했습니다. 점수만 답하십시오: {format}. 다른 말은 쓰지 마십시오.",
}


_REASK_CHOICE = {
    "en": (
        "Your reply holds no choice that can be read. Reply with your choice alone: {format}. Nothing else."
    ),
    "zh": "您的回复中没有可以读取的选择。请只回复您的选择：{format}。不要写其他内容。",
    "ko": "답변에서 읽을 수 있는 선택을 찾지 못했습니다. 선택만 답하십시오: {format}. 다른 말은 쓰지 마십시오.",
}


_REASK_LIST = {
    "en": (
        "Your reply holds no list that can be read. Reply with the list alone: one entry a line, "
        "numbered, or NONE. Nothing else."
    ),
    "zh": "您的回复中没有可以读取的列表。请只回复列表：每行一条并编号；没有则回复 无。不要写其他内容。",
    "ko": "답변에서 읽을 수 있는 목록을 찾지 못했습니다. 목록만 답하십시오: 한 줄에 하나씩 번호를 붙이고, 없으면 없음. 다른 말은 쓰지 마십시오.",
}


_MOST_TOKENS = 1000
"""About how much of an unreadable reply its judge is shown again. A reply that ran away in thousands of tokens
would cost them once more, may not fit into the context, and invites the model to run on."""


def _shown_again(text: str) -> str:
    """A reply as its judge sees it again: a long one without its middle."""
    tokens = estimated_tokens(text)
    if tokens <= _MOST_TOKENS:
        return text or "…"
    kept = len(text) * _MOST_TOKENS // tokens
    start, end = kept // 3, len(text) - kept * 2 // 3
    return f"{text[:start]}\n[… {end - start:,} characters left out …]\n{text[end:]}"


def reask_call(call: Call, planned: PlannedCall, text: str) -> Call:
    """The follow-up question: the judge sees its reply, a long one in part, and is asked for the answer
    alone."""
    protocol = planned.protocol
    is_choice = bool(protocol.answer.options) or all(scale is None for scale in protocol.criteria.values())
    questions = _REASK_CHOICE if is_choice else _REASK_SCORE
    if protocol.answer.reader == "list":
        questions = _REASK_LIST
    question = questions.get(protocol.language.prompt, questions["en"]).format(format=_format_of(protocol))
    messages = (*call.messages, Message("assistant", _shown_again(text)), Message("user", question))
    follow_up = msgspec.structs.replace(call, key="", messages=messages, kind="reask", parent=call.key)
    return with_key(follow_up, planned.model, planned.params)


def _format_of(protocol: Protocol) -> str:
    """The form of the answer, without a value that the judge could copy."""
    if protocol.answer.reader == "json":
        return "the JSON object"
    if protocol.answer.options:
        return written_answer(protocol.answer, "WORD") + f" (WORD: {', '.join(protocol.answer.options)})"
    return written_answer(
        protocol.answer, "N" if any(scale is not None for scale in protocol.criteria.values()) else "LETTER"
    )
