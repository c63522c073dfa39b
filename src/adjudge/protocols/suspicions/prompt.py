"""A protocol's texts as the rules look at them: one string, its slots, the labels before them, and the two
responses that it compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from ...records import Protocol, Scale

BLOT = "\ufffc"
"""What stands in `Prompt.words` for each character of a slot; it is no letter, digit or space."""


_SLOT = re.compile(r"\{\{([^\W\d][\w.-]*)\}\}")


_GAP = "\n\n"


class Suspicion(NamedTuple):
    """What a rule saw: where, what, and what a person may do about it."""

    start: int | None
    """an offset in `Prompt.words`; none: the settings"""
    message: str
    todo: str
    key: str = "criteria"
    """the setting to point at where there is no offset"""


class PromptSlot(NamedTuple):
    """A place that is filled: its own name, the field that fills it, and the words before it."""

    name: str
    field: str
    start: int
    end: int
    label: str
    label_start: int


class PromptSentence(NamedTuple):
    """A sentence or a line of a prompt."""

    start: int
    text: str


class Prompt:
    """The system text and the user text of one protocol, seen as one."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.has_system = bool(protocol.system_text)
        before = protocol.system_text + _GAP if self.has_system else ""
        self.whole = before + protocol.user_text
        self.user_start = len(before)
        self.words = _SLOT.sub(lambda match: BLOT * len(match[0]), self.whole)

    def place(self, start: int) -> tuple[str, int]:
        """The file and the line of an offset."""
        if start < self.user_start:
            return "system.md", self.whole.count("\n", 0, start) + 1
        return "user.md", self.whole.count("\n", self.user_start, start) + 1

    @cached_property
    def slots(self) -> tuple[PromptSlot, ...]:
        slots = []
        for match in _SLOT.finditer(self.whole):
            label, where = _label_before(self.words, match.start())
            name = match[1]
            field = self.protocol.alias.get(name, name)
            slots.append(PromptSlot(name, field, match.start(), match.end(), label, where))
        return tuple(slots)

    @cached_property
    def sentences(self) -> tuple[PromptSentence, ...]:
        return tuple(_sentences(self.words))

    @cached_property
    def scales(self) -> tuple[tuple[str, Scale], ...]:
        """The criteria that are scored, with their scales."""
        return tuple((name, scale) for name, scale in self.protocol.criteria.items() if scale is not None)

    @cached_property
    def compared(self) -> tuple[PromptSlot, PromptSlot] | None:
        """The slots of the two responses that are compared, if the prompt shows two."""
        return _compared(self)


_LABEL_TRIM = " \t*_#>`'\"“”[]<>|:：-–—=" + BLOT


_MAX_LABEL = 80


_SENTENCE = re.compile(r"[.!?。！？][\"'”)*]{0,3}\s*\Z")


_NOTHING_BUT_MARKS = re.compile(r"[\W_]*\Z")


def _label_before(words: str, start: int) -> tuple[str, int]:
    """The words that announce a slot: on its own line, or the last line above that has any.

    Fences, rules and tags without words are passed over; a line that ends like a sentence is no
    label. A line is looked at up to a limit, so that one long line costs no more than any other.
    """
    end = start
    for _ in range(4):
        line_start = words.rfind("\n", max(0, end - 4 * _MAX_LABEL), end) + 1 or max(0, end - 4 * _MAX_LABEL)
        line = words[line_start:end]
        is_above = end != start
        if is_above and _SENTENCE.search(line):
            return "", start
        if not _NOTHING_BUT_MARKS.match(line):
            if BLOT in line:
                line = line[line.rfind(BLOT) + 1 :]
                if _NOTHING_BUT_MARKS.match(line):
                    return "", start
            return line.strip(_LABEL_TRIM), end - len(line)
        if BLOT in line or words[line_start - 1 : line_start] != "\n":
            break
        end = line_start - 1
    return "", start


# The point after a number ("1. Read") ends no sentence.
_SENTENCE_END = re.compile(
    r"\n|(?<=[^\d\W][.!?])[ \t]+(?=[^\sa-z])|(?<=[)\]\"”*][.!?])[ \t]+(?=[^\sa-z])|(?<=[。！？；])"
)


def _sentences(words: str) -> Iterator[PromptSentence]:
    start = 0
    for match in _SENTENCE_END.finditer(words):
        if words[start : match.start()].strip():
            yield PromptSentence(start, words[start : match.start()])
        start = match.end()
    if words[start:].strip():
        yield PromptSentence(start, words[start:])


_NEUTRAL_SIDES = (("a", "b"), ("1", "2"), ("0", "1"), ("one", "two"), ("first", "second"), ("x", "y"),
                  ("left", "right"), ("", "2"), ("", "b"), ("i", "ii"))  # fmt: skip


TELLING_SIDES = (
    ("baseline", "enhanced"), ("baseline", "improved"), ("baseline", "candidate"), ("baseline", "new"),
    ("baseline", "treatment"), ("baseline", "test"), ("baseline", "ours"), ("baseline", "model"),
    ("control", "treatment"), ("control", "test"), ("control", "variant"), ("old", "new"),
    ("before", "after"), ("original", "revised"), ("original", "improved"), ("original", "enhanced"),
    ("original", "optimized"), ("original", "rewritten"), ("original", "new"), ("original", "edited"),
    ("champion", "challenger"), ("ours", "theirs"), ("human", "model"), ("human", "ai"),
    ("human", "machine"), ("previous", "current"), ("previous", "new"), ("weak", "strong"),
    ("chosen", "rejected"), ("base", "finetuned"), ("base", "tuned"), ("student", "teacher"),
    ("good", "bad"), ("golden", "candidate"), ("v1", "v2"),
)  # fmt: skip
"""Names of two sides that say which of them is meant to be better, or where they come from."""


_TELLING = {frozenset(pair) for pair in TELLING_SIDES}


_PAIRS = {frozenset(pair) for pair in _NEUTRAL_SIDES} | _TELLING


_JUDGED = frozenset(
    "response responses answer answers output outputs completion completions summary reply replies "
    "assistant model candidate generation translation text prediction pred result story essay "
    "conversation solution gen ans resp".split()
)


_JUDGED_EAST = ("回答", "答案", "输出", "回复", "模型", "응답", "답변", "출력", "모델")


_ASKED = frozenset("question questions query queries prompt turn instruction user".split())


_COMPARING = re.compile(
    r"\b(?:two|both|pair of|either|which|better|winner|compar\w+|prefer\w*)\b|两个|哪个|哪一个|更好|比较|두"
    r" |어느|비교|더 나은",
    re.IGNORECASE,
)


MODEL_NAME = re.compile(
    r"\b(?:chatgpt|gpt-?[345][\w.-]*|claude[\w.-]*|gemini[\w.-]*|llama-?\d?[\w.-]*|mistral[\w.-]*|"
    r"qwen[\w.-]*|deepseek[\w.-]*|"
    r"palm-?2|vicuna[\w.-]*|alpaca|bard|davinci[\w-]*)\b",
    re.IGNORECASE,
)


_LABELS = re.compile(rf"[:：]\s?{BLOT}")


_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")


def tokens_of(name: str) -> tuple[str, ...]:
    """The parts of a slot's name in small letters: `orig_response_A` → orig, response, a."""
    return tuple(token.lower() for token in _TOKEN.findall(name))


def _compared(prompt: Prompt) -> tuple[PromptSlot, PromptSlot] | None:
    first: dict[str, PromptSlot] = {}
    for slot in prompt.slots:
        first.setdefault(slot.field, slot)
    if "response_a" in first and "response_b" in first:
        return first["response_a"], first["response_b"]
    # A slot before a colon and another slot is filled with a label, not with a response.
    inputs = [
        slot for slot in first.values() if "." not in slot.field and not _LABELS.match(prompt.words, slot.end)
    ]
    inputs = inputs[:24]
    pairs = [
        (a, b, base)
        for a, b in combinations(inputs, 2)
        for name, other in ((a.field, b.field), _labels(a, b))
        if (base := _base_of(tokens_of(name), tokens_of(other))) is not None
    ]
    # question_1, answer_1, question_2, answer_2 are the turns of one conversation.
    if any(_ASKED & set(base) for _, _, base in pairs):
        return None
    for a, b, base in pairs:
        if _is_judged(base) and (prompt.protocol.task == "compare" or _COMPARING.search(prompt.words)):
            return a, b
    return None


def _labels(a: PromptSlot, b: PromptSlot) -> tuple[str, str]:
    """The two labels, with names of models made into sides."""
    left, right = a.label[-60:], b.label[-60:]
    if MODEL_NAME.search(left) and MODEL_NAME.search(right):
        return MODEL_NAME.sub("a", left), MODEL_NAME.sub("b", right)
    return left, right


def _base_of(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...] | None:
    """What the two names share, where they differ in their side alone."""
    rest_left = [token for token in left if token not in right]
    rest_right = [token for token in right if token not in left]
    if len(rest_left) > 1 or len(rest_right) > 1 or not left:
        return None
    sides = frozenset(("".join(rest_left), "".join(rest_right)))
    if sides not in _PAIRS:
        return None
    shared = tuple(token for token in left if token in right)
    # Two slots called A and B may be the options of a question; "baseline" and "enhanced" are not.
    return shared if shared or sides in _TELLING else None


def _is_judged(base: tuple[str, ...]) -> bool:
    return not base or any(token in _JUDGED or any(noun in token for noun in _JUDGED_EAST) for token in base)
