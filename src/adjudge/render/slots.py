"""The slots of a template, `{{name}}`.

The one rule for layout: an empty block slot (`{{examples}}`, `{{steps}}`, `{{rubric}}`) alone on its line is
removed with its line and the blank line after it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

USER_SLOTS = frozenset({"rubric", "criterion", "steps"})
"""Slots that the user fills with `--rubric`, `--criterion`, `--steps`."""


PROTOCOL_SLOTS = frozenset({"low", "high", "examples", "system_message"})
"""Slots that the protocol fills."""


ELEMENT_SLOTS = frozenset({"element", "number", "elements", "before"})
"""Slots of a check step: the element, its number, all elements
with their numbers, and what stands before the element.
"""


_BLOCKS = "examples|steps|rubric"


_SLOT = re.compile(rf"^\{{\{{({_BLOCKS})\}}\}}(\n\n?|\Z)|\{{\{{([^\W\d][\w.-]*)\}}\}}", re.MULTILINE)


class TemplatePart(NamedTuple):
    """A piece of template text, and the slot after it (none at the end)."""

    literal: str
    slot: str | None
    after: str
    """the line ends that are removed with an empty block slot"""


@lru_cache(maxsize=256)
def parts_of(template: str) -> tuple[TemplatePart, ...]:
    """A template split at its slots."""
    parts: list[TemplatePart] = []
    end = 0
    for match in _SLOT.finditer(template):
        parts.append(TemplatePart(template[end : match.start()], match[1] or match[3], match[2] or ""))
        end = match.end()
    parts.append(TemplatePart(template[end:], None, ""))
    return tuple(parts)


@lru_cache(maxsize=256)
def slots_of(template: str) -> tuple[str, ...]:
    """The names of a template's slots in order, with repetitions."""
    return tuple(part.slot for part in parts_of(template) if part.slot is not None)
