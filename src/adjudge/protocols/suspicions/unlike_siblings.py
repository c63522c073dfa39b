"""`unlike-siblings`: one protocol of a family differs from the others without saying so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence

from .prompt import BLOT, Prompt, Suspicion, tokens_of

UNLIKE_SIBLINGS = "unlike-siblings"


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


_EXPLAIN = re.compile(
    r"\bexplain\b|\bjustify\b|\b(?:provide|give|write|state|include|add|with)\b[^.\n]{0,40}\b(?:explanation|"
    r"justification|rationale|reason|feedback)"
    r"|(?:请|进行|给出|说明|写明|写出)[^。\n]{0,12}(?:解释|理由|原因)|(?:이유|근거)를|설명(?:하|해)",
    re.IGNORECASE,
)


_SHARED_LINE = 8
"""A line that is shorter than this in bytes is no sign of a common origin."""


_MOST_SHOWN = 5


def siblings_that_differ(prompts: Sequence[Prompt]) -> Iterator[tuple[Prompt, Suspicion]]:
    """Each protocol that stands apart from the rest of its family, with all its differences in one.

    Protocols that score and protocols that compare are separate families.
    """
    for task in ("score", "compare"):
        yield from _compare([prompt for prompt in prompts if prompt.protocol.task == task])


def _compare(prompts: Sequence[Prompt]) -> Iterator[tuple[Prompt, Suspicion]]:
    if len(prompts) <= _AGREEING:
        return
    seen = [(prompt, _settings(prompt), _sections(prompt), _lines(prompt)) for prompt in prompts]
    for prompt, settings, sections, lines in seen:
        others = [entry for entry in seen if entry[0] is not prompt]
        if not _is_of_the_family(lines, [their_lines for *_, their_lines in others]):
            continue
        unlike = [
            *_lacking(sections, [their_sections for _, _, their_sections, _ in others]),
            *_different(settings, [their_settings for _, their_settings, _, _ in others]),
        ]
        if unlike:
            more = len(unlike) - _MOST_SHOWN
            shown = "; ".join(unlike[:_MOST_SHOWN]) + (f"; and {more} more" if more > 0 else "")
            yield (
                prompt,
                Suspicion(
                    prompt.user_start,
                    f"it differs from its {len(others)} siblings: {shown}.",
                    "Align it with them, or accept the difference with a reason.",
                ),
            )


def _is_of_the_family(parts: frozenset[str], others: Sequence[frozenset[str]]) -> bool:
    """Whether a line of it stands in most of the others too: folders side by side may be strangers."""
    counts = Counter(line for lines in others for line in lines if line in parts)
    return any(count >= _AGREEING and 2 * count >= len(others) for count in counts.values())


def _lines(prompt: Prompt) -> frozenset[str]:
    lines = (line.strip(f" \t{BLOT}") for line in prompt.words.split("\n"))
    return frozenset(line for line in lines if len(line.encode()) >= _SHARED_LINE)


def _is_custom(count: int, others: int) -> bool:
    return count >= _AGREEING and others - count <= others // _PER_EXCEPTION


def _lacking(parts: frozenset[str], others: Sequence[frozenset[str]]) -> list[str]:
    counts = Counter(section for sections in others for section in sections)
    return [
        f"it lacks {section}"
        for section in sorted(counts)
        if section not in parts and _is_custom(counts[section], len(others))
    ]


def _different(settings: Mapping[str, Hashable], others: Sequence[Mapping[str, Hashable]]) -> Iterator[str]:
    for key, value in settings.items():
        theirs, count = Counter(other[key] for other in others).most_common(1)[0]
        if theirs != value and _is_custom(count, len(others)):
            yield f"its {key} is {_shown(value)}, theirs is {_shown(theirs)}"


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
        "reader": protocol.answer.reader,
        "scale": (scale.low, scale.high, scale.step, scale.best) if scale else None,
        "set of inputs": frozenset((*protocol.inputs, *protocol.optional)),
        "language": (protocol.language.prompt, protocol.language.reply),
    }


def _sections(prompt: Prompt) -> frozenset[str]:
    """The parts of a prompt by name: headings, labels, and whether an explanation is asked for.

    Each counts with and without the words of the protocol's own name: "Fluency Score" and "Clarity
    Score" are the same section, and so is "Instruction" in a protocol on following instructions.
    """
    words = prompt.words
    names_of_prompt = {
        token
        for name in (*prompt.protocol.criteria, prompt.protocol.id.rpartition("/")[2])
        for token in tokens_of(name)
    }
    titles = [title for pattern in (_LINE, _HEADING) for title in pattern.findall(words)]
    names = {_plain(title, left_out) for title in titles for left_out in (names_of_prompt, set[str]())} - {""}
    sections = {f"the section '{name}'" for name in names}
    if _EXPLAIN.search(words) or prompt.protocol.answer.reason:
        sections.add("a request for an explanation")
    return frozenset(sections)


def _plain(title: str, names_of_prompt: set[str]) -> str:
    kept = [token for token in tokens_of(title) if token not in names_of_prompt and not token.isdigit()]
    name = " ".join(kept)
    return name if len(kept) <= 5 and len(name.encode()) <= _LONGEST_TITLE else ""
