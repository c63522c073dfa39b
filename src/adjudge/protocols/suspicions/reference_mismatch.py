"""`reference-mismatch`: the words speak of a reference answer that no slot shows, or the other way round."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .prompt import BLOT, Prompt, PromptSentence, PromptSlot, Suspicion, tokens_of

REFERENCE_MISMATCH = "reference-mismatch"


_NAMED = re.compile(
    r"\b(?:reference|gold(?:en)?|ground[- ]truth)[-"
    r" ](?:answers?|responses?|solutions?|summar(?:y|ies)|translations?|outputs?|labels?)\b"
    r"|\b(?:the|provided|given|following) ground[- ]truth\b"
    r"|\b(?:the|provided|given) (?:expected|official|known) (?:answer|output|response)\b(?!"
    r" format)|参考答案|标准答案|参考回答|参考译文|参考摘要|참조 답변|참고 답변|모범 답안|모범 답변|기준"
    r" 답변|참조 답안",
    re.IGNORECASE,
)


_NOT_THERE = re.compile(
    r"\b(?:no|not|without|if|when|optional\w*|may|absence|unless|available|lack\w*|don't|isn't|any)\b|没有|如果|"
    r"若|无需|不提供|없|만약|경우",
    re.IGNORECASE,
)


_IS_ANOTHER = re.compile(r"\b(?:is|are|as)\s\Z", re.IGNORECASE)
"""Before "the ground truth": another input is called so."""


_SLOT_TOKENS = frozenset(
    "reference references ref refs gold golden truth expected ideal expert target correct label groundtruth"
    " gt oracle standard answer_key solution key".split()
)


_SHOWN_AS = re.compile(
    r"(?<!for )\b(?:reference|gold(?:en)?|ground[-"
    r" ]?truth|expected|ideal|expert|correct|official|known|target|standard|model answer|solution)\b"
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
    r"\b(?:reference|gold|golden|ground[- ]?truth|expected|ideal|expert|correct[_"
    r" -](?:answers?|responses?|options?|"
    r"choices?|solutions?|output|labels?)|target|standard|true answer|right answer|known answer|answer"
    r" key|benchmark)|参考|标准答案|正确答案|真实答案|参照|참조|참고|모범|정답|기준",
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


def _shows_reference(slot: PromptSlot) -> bool:
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


def _is_hedged(sentence: PromptSentence, match: re.Match[str]) -> bool:
    if _IS_ANOTHER.search(sentence.text[max(0, match.start() - 8) : match.start()]):
        return True
    near = sentence.text[max(0, match.start() - 60) : match.end() + 40]
    return bool(_NOT_THERE.search(near.replace(match[0], "")))


_IS_A_SENTENCE = re.compile(r"\b(?:is|are|was|were)\b", re.IGNORECASE)


_LISTS_INPUTS = re.compile(
    r"\b(?:is|are|been) (?:given|provided|shown)\b|\b(?:will be|are) (?:given|shown|provided with)\b"
    r"|\bgiven (?:an?|the|two|below)\b"
    r"|\byou (?:get|receive|see)\b|给出|给定|주어",
    re.IGNORECASE,
)
"""Words that list what the judge gets to see."""


def _slot_alone(prompt: Prompt, shown: list[PromptSlot]) -> Iterator[Suspicion]:
    """A reference answer whose only mention is the label above it.

    A prompt that is all labels explains nothing, so there silence about the reference is no sign.
    """
    # The judge sees the label; the name of a slot only where inputs are fenced.
    names = [
        (slot, slot.label[-60:] or (slot.field.replace("_", " ") if prompt.protocol.fence else ""))
        for slot in shown
    ]
    # "A correct output is:" says what the slot shows, and so does a prompt that never lists what is given.
    answers = [
        slot for slot, name in names if _CALLED_REFERENCE.search(name) and not _IS_A_SENTENCE.search(name)
    ]
    if not answers or not any(_LISTS_INPUTS.search(sentence.text) for sentence in prompt.sentences):
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
