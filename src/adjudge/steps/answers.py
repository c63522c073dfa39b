"""Reads the replies to the calls of a step: the list of an
extract step, the judgment of one element of a check step.
"""

from __future__ import annotations

from msgspec import Struct, structs

from ..parse import parse, read_list, unanswered
from ..parse.conversation import completed
from ..parse.decision import judgment_of, questions_in
from ..parse.reask_answers import REASKED, needs_reask, with_reasks
from ..protocols import answer_about
from ..records import QUESTIONS, Item, Judgment, Listing, Reply
from .prompts import StepPrompt


class StepAnswer(Struct):
    """What is known of one call: its key, the reply, and the replies to follow-up questions."""

    call: str = ""
    replies: tuple[Reply, ...] = ()
    """empty: it was never asked"""
    readings: dict[int, Judgment] = {}
    """the judgments of its elements, once they are read"""
    is_new: bool = False

    def needs_reask(self, prompt: StepPrompt, item: Item) -> bool:
        """Whether an answer is missing that a follow-up question may bring."""
        if prompt.step.kind == "extract":
            return read_extract(self).status in REASKED
        for number in prompt.elements:
            self.readings[number] = read_check(prompt, self, item, number)
        return any(needs_reask(judgment) for judgment in self.readings.values())


def read_extract(answer: StepAnswer) -> Listing:
    """The list in a reply, or in the reply to a follow-up question."""
    if not answer.replies:
        return Listing(status="no_reply")
    first = answer.replies[0]
    if first.error is not None:
        return Listing(status="refused" if first.error.kind == "filtered" else "no_reply")
    listing = read_list(first.text, finish=first.finish)
    for reply in answer.replies[1:]:
        if listing.status == "ok" or reply.error is not None:
            break
        again = read_list(reply.text, finish=reply.finish)
        listing = structs.replace(again, how="reask") if again.status == "ok" else listing
    return listing


def read_check(prompt: StepPrompt, answer: StepAnswer, item: Item, number: int) -> Judgment:
    """The judgment of one element in a reply, with missing answers from the replies to follow-up
    questions."""
    protocol = prompt.protocol
    if not answer.replies or answer.replies[0].error is not None:
        is_filtered = bool(answer.replies) and getattr(answer.replies[0].error, "kind", "") == "filtered"
        return unanswered(protocol, "refused" if is_filtered else "no_reply")
    if prompt.messages[-1].role == QUESTIONS:
        return judgment_of(questions_in(prompt.messages[-1].content), answer.replies[0].text, element=number)
    is_about_one = len(prompt.elements) == 1 and prompt.step.per_call == 1
    if not is_about_one:
        protocol = structs.replace(protocol, answer=answer_about(protocol.answer, number))
    judgments = [
        parse(protocol, reply.text, item=item, finish=reply.finish)
        for reply in answer.replies
        if reply.error is None
    ]
    if is_about_one and len(judgments) > 1:
        return completed(protocol, answer.replies[0].text, judgments[0], judgments[1:])
    return with_reasks(judgments[0], judgments[1:])
