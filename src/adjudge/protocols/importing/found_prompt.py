"""A prompt that was found in a document, and what counts as one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from .placeholders import Template

MIN_LITERAL = 12
"""Characters beside its placeholders that a text needs to be a prompt."""

MIN_UNANNOUNCED = 20
"""The same for a Python string whose name does not announce a prompt."""

MIN_PLAIN = 40
"""Characters that a text without placeholders needs."""

_JUDGE_WORDS = re.compile(
    r"\b(?:scor(?:e[sd]?|ing)|rat(?:e|es|ing|ings)|evaluat\w{1,6}|judg\w{1,8}|grad(?:e[sdr]?|ing)|assess\w{0,6}"
    r"|rank(?:s|ing)?|criteri(?:on|a)|rubrics?|verdict|compar(?:e|ing)|better|prefer\w{0,4}|classif\w{1,10})\b"
    r"|评分|打分|评价|评估|评判|得分|分数|평가|점수|채점|판단|評価|採点|比較",
    re.IGNORECASE,
)
_PROMPT_NAMES = re.compile(
    r"prompt|template|instruction|judge|rubric|system|提示|프롬프트|지시|プロンプト", re.IGNORECASE
)
_SYSTEM_NAMES = re.compile(
    r"\W*sys(?:tem)?\W*|.*\bsys(?:tem)?[\W_]*(?:prompt|message|msg|text|instruction|role|content).*"
    r"|\S*_sys(?:tem)?(?:_\S*)?|sys(?:tem)?_\S*|.*(?:系统|시스템|システム).*",
    re.IGNORECASE | re.DOTALL,
)
"""A heading that merely speaks of a system, such as the one that is judged, is not meant."""

_MARKUP = re.compile(r"</(?:div|html|body|table|tr|td|style|script|p)>", re.IGNORECASE)
_PART_NAMES = re.compile(
    r"prompt|instruction|letter|format|example|criteria|rubric|score|scale|schema|guideline|description|definition"
    r"|\Aname\Z|options?\Z|labels?\Z|steps\Z"
)
_WORD_BREAK = re.compile(r"\s")
_DENSE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")


class Facts(Struct, frozen=True):
    """What a file says of a prompt beside its words: the verdicts to choose from, and which end is good."""

    name: str = ""
    """what it says the prompt judges"""
    options: Mapping[str, float] = {}
    """verdict → its value"""
    classes: tuple[str, ...] = ()
    """verdicts without a value"""
    best: str = ""
    """"high" or "low" where the file says it"""
    why: str = ""
    """which setting of the file said so"""


class FoundPrompt(Struct, frozen=True):
    """A text that may be a prompt, with the names around it and its place in the document."""

    names: tuple[str, ...]
    """the heading or variable, then what stands around it, innermost first"""
    template: Template
    first_line: int
    last_line: int
    undone: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    role: str = ""
    """who says it, where the document tells: system, user or assistant"""
    group: str = ""
    """texts with the same group are sent together"""
    facts: Facts = Facts()

    @property
    def name(self) -> str:
        """The innermost name, or nothing."""
        return self.names[0] if self.names else ""


class Search(Struct):
    """All that was found, and what was left out with a reason."""

    prompts: list[FoundPrompt]
    notes: list[str]


def has_judge_words(text: str) -> bool:
    """Whether the text speaks of scoring, in English, Chinese, Korean or Japanese."""
    return _JUDGE_WORDS.search(text) is not None


def is_prompt_name(name: str) -> bool:
    """Whether a heading or a variable announces a prompt."""
    return _PROMPT_NAMES.search(name) is not None


def is_system(prompt: FoundPrompt) -> bool:
    """Whether a text is meant as a system message."""
    if prompt.role:
        return prompt.role == "system"
    return _SYSTEM_NAMES.fullmatch(prompt.name[:200]) is not None


def is_markup(text: str) -> bool:
    """Whether a text is a page of HTML, which has placeholders too."""
    return _MARKUP.search(text) is not None


def is_part(template: Template) -> bool:
    """Whether placeholders are for parts of a prompt or of a reply alone: such a text is a piece of a
    prompt."""
    slots = [slot.lower() for slot in template.slots]
    n_of_reply = sum(
        slot in ("score", "reason", "verdict", "explanation", "rating", "feedback") for slot in slots
    )
    return n_of_reply > 1 or (bool(slots) and all(_PART_NAMES.search(slot) for slot in slots))


def is_prose(template: Template, minimum: int = MIN_LITERAL) -> bool:
    """Whether there is enough text beside the placeholders, and more than a path or a key."""
    literal = template.literal.strip()
    breaks = len(_WORD_BREAK.findall(literal))
    return length_of(literal) >= minimum and breaks + len(_DENSE.findall(literal)) >= 3


def length_of(text: str) -> int:
    """Its characters; one that stands for a syllable or a word counts as three."""
    return len(text) + 2 * len(_DENSE.findall(text))
