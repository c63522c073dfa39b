"""`examples-promised`: the prompt announces examples and shows none, or fewer kinds than it said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from .prompt import BLOT, Prompt, Suspicion

EXAMPLES_PROMISED = "examples-promised"


_ANNOUNCED = re.compile(
    r"\b(?:here are|below are|the following are|following are|these are|i will (?:give|show) you|you will be"
    r" (?:given|shown))\s"
    r"(?:\w+[,\s]\s?){0,5}?examples\b|\b(?:use|consider|study|with) (?:the following|these) (?:\w+"
    r" ){0,3}?examples\b|^[ \t#*]{0,6}examples[*: \t]{0,4}$|\bsee the (?:\w+ )?examples (?:below|that"
    r" follow)|\b(?:the )?(?:\w+ )?examples (?:are )?(?:given )?below\b"
    r"|以下(?:是|为)[^。\n]{0,24}(?:示例|例子|样例|范例)|(?:参考|参照)(?:以下|下面|下列)[^。"
    r"\n]{0,8}(?:示例|例子|样例)|下面是[^。\n]{0,16}(?:示例|例子|样例)"
    r"|다음은[^.\n]{0,24}(?:예시|예제)|아래(?:는|의)[^.\n]{0,24}(?:예시|예제)",
    re.IGNORECASE | re.MULTILINE,
)


_KINDS = (
    (
        "positive",
        re.compile(r"\b(?:positive|good|correct|high[- ]scoring)\b|正面|正例|好的|긍정|좋은", re.IGNORECASE),
    ),
    (
        "negative",
        re.compile(
            r"\b(?:negative|bad|incorrect|low[- ]scoring|counter)\b|负面|反例|负例|不好的|부정|나쁜",
            re.IGNORECASE,
        ),
    ),
)


_EXAMPLE = re.compile(
    r"examples?|demonstrations?|shots?\b|示例|例子|样例|范例|例如|예시|예제|보기", re.IGNORECASE
)


_HEADING = re.compile(r"\n\s{0,3}(?:#{1,6}\s|---)")


_SHOWS = re.compile(r"example|demo|shot|示例|例子|样例|예시|예제", re.IGNORECASE)


_MOST = 20
"""How many announcements of one prompt are looked at."""


_LEAST = 30
"""Fewer characters than this behind the announcement hold no example."""


def examples_promised(prompt: Prompt) -> Iterator[Suspicion]:
    """Each announcement against what follows it."""
    for match in islice(_ANNOUNCED.finditer(prompt.words), _MOST):
        line_end = prompt.words.find("\n", match.end())
        after = prompt.words[line_end if line_end >= 0 else len(prompt.words) :]
        sentence = prompt.words[
            prompt.words.rfind("\n", 0, match.start()) + 1 : line_end if line_end >= 0 else None
        ]
        takes_slot = any(
            _SHOWS.search(f"{slot.name} {slot.field}") for slot in prompt.slots if slot.start > match.start()
        )
        if takes_slot and any(slot.name == "examples" for slot in prompt.slots):
            continue
        missing = _missing_kinds(match[0], after)
        if missing:
            yield Suspicion(
                match.start(),
                f"positive and negative examples are announced, but no {' and no '.join(missing)} one"
                " follows.",
                "Show both kinds, for instance by {{examples}}, or announce what is there.",
            )
            return
        if not takes_slot and not _holds_example(sentence[sentence.find(match[0]) + len(match[0]) :], after):
            yield Suspicion(
                match.start(),
                "examples are announced, but none follow.",
                "Show them, for instance by {{examples}}, or take the announcement out.",
            )
            return


def _missing_kinds(announcement: str, after: str) -> list[str]:
    promised = [name for name, pattern in _KINDS if pattern.search(announcement)]
    if len(promised) < 2:
        return []
    return [name for name, pattern in _KINDS if not pattern.search(after)]


def _holds_example(rest_of_line: str, after: str) -> bool:
    """Whether enough text stands before the next heading or the material to be judged."""
    heading = _HEADING.search(after)
    section = after[: heading.start()] if heading and not _EXAMPLE.search(heading[0]) else after
    if heading and _EXAMPLE.search(after[heading.start() : heading.end() + 80]):
        section = after
    section = rest_of_line + section
    slot = section.find(BLOT)
    section = section[:slot] if slot >= 0 else section
    return len("".join(section.split()).strip("*#-:：`.")) >= _LEAST
