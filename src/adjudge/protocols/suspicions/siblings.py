"""`unlike-siblings`: one protocol of a family lacks what nearly all the others have.

Families are written by copying, and a part is easily lost on the way. Only what is missing or
different in one is reported, never what one has in addition; a family of fewer than four
protocols has no custom to depart from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence

from .prompt import Prompt, Suspicion, tokens_of

NAME = "unlike-siblings"

_AGREEING = 3
"""How many siblings must agree before a difference means anything."""

_PER_EXCEPTION = 8
"""One sibling in so many may be an exception too."""

_LONGEST_TITLE = 40
"""A longer line is a sentence, which every protocol words in its own way."""

_LINE = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*|\*\*|__|【)?([^\W\d_][^\n:：*】]{1,50}?)(?:\*\*|__|】)?[ \t]*[:：][ \t]*$",
    re.MULTILINE,
)
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]*([^\n]{2,60}?)[ \t]*$", re.MULTILINE)
_STEP = re.compile(r"^[ \t]*\d{1,2}[.)、][ \t]*\S", re.MULTILINE)
_EXPLAIN = re.compile(
    r"\b(?:explain|explanation of|justif\w+|rationale|reasoning|reasons? for)\b|(?:detailed|brief|short) (?:explanation|feedback)"
    r"|解释|理由|说明|설명하|이유",
    re.IGNORECASE,
)


def compare(prompts: Sequence[Prompt]) -> Iterator[tuple[Prompt, Suspicion]]:
    """Each protocol that stands apart from the rest of its family, with all its differences in one."""
    if len(prompts) <= _AGREEING:
        return
    seen = [(prompt, _settings(prompt), _sections(prompt)) for prompt in prompts]
    for prompt, settings, sections in seen:
        others = [
            (their_settings, their_sections)
            for other, their_settings, their_sections in seen
            if other is not prompt
        ]
        unlike = [
            *_lacking(sections, [their for _, their in others]),
            *_different(settings, [their for their, _ in others]),
        ]
        if unlike:
            yield (
                prompt,
                Suspicion(
                    prompt.user_start,
                    f"it differs from its {len(others)} siblings: {'; '.join(unlike)}.",
                    "Bring it into line, or accept the difference with a reason.",
                ),
            )


def _is_custom(count: int, others: int) -> bool:
    return count >= _AGREEING and others - count <= others // _PER_EXCEPTION


def _lacking(own: frozenset[str], others: Sequence[frozenset[str]]) -> list[str]:
    counts = Counter(section for sections in others for section in sections)
    return [
        f"it lacks {section}"
        for section in sorted(counts)
        if section not in own and _is_custom(counts[section], len(others))
    ]


def _different(own: Mapping[str, Hashable], others: Sequence[Mapping[str, Hashable]]) -> Iterator[str]:
    for key, mine in own.items():
        theirs, count = Counter(other[key] for other in others).most_common(1)[0]
        if theirs != mine and _is_custom(count, len(others)):
            yield f"its {key} is {_shown(mine)}, theirs is {_shown(theirs)}"


def _shown(value: Hashable) -> str:
    if isinstance(value, tuple | frozenset):
        return (
            "(" + ", ".join(map(str, sorted(value, key=str) if isinstance(value, frozenset) else value)) + ")"
        )
    return str(value)


def _settings(prompt: Prompt) -> dict[str, Hashable]:
    protocol = prompt.protocol
    scale = next((scale for _, scale in prompt.scales), None)
    return {
        "task": protocol.task,
        "reader": protocol.answer.reader,
        "scale": (scale.low, scale.high, scale.step, scale.best) if scale else None,
        "set of inputs": frozenset((*protocol.inputs, *protocol.optional)),
        "language": (protocol.language.prompt, protocol.language.reply),
    }


def _sections(prompt: Prompt) -> frozenset[str]:
    """The parts of a prompt by name: headings, labels, and the steps that are asked for.

    The words of the protocol's own name are left out, so that "Fluency Score" and "Clarity
    Score" are the same section.
    """
    words = prompt.words
    own = {
        token
        for name in (*prompt.protocol.criteria, prompt.protocol.id.rpartition("/")[2])
        for token in tokens_of(name)
    }
    found = {
        f"the section '{name}'"
        for pattern in (_LINE, _HEADING)
        for title in pattern.findall(words)
        if (name := _plain(title, own))
    }
    steps = [line for line in words.split("\n") if _STEP.match(line)]
    if any(_EXPLAIN.search(step) for step in steps):
        found.add("a step that asks for an explanation")
    return frozenset(found)


def _plain(title: str, own: set[str]) -> str:
    kept = [token for token in tokens_of(title) if token not in own and not token.isdigit()]
    name = " ".join(kept)
    return name if len(kept) <= 5 and len(name.encode()) <= _LONGEST_TITLE else ""
