"""The names of imported folders: from headings and variables, without words for layout."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from .found_prompt import FoundPrompt

_LAYOUT_WORDS = {
    "prompt", "prompts", "template", "templates", "the", "a", "an", "msg", "message", "user", "human",
    "content",
    "text",
}  # fmt: skip
_NAME_LENGTH = 60


def folder_names(prompts: Sequence[FoundPrompt], fallback: str = "prompt") -> list[str]:
    """A folder name for each: its own heading, with those around it where that is not enough."""
    slugs = [slug(prompt.names[:1]) for prompt in prompts]
    taken: set[str] = set()
    names = []
    for prompt, own in zip(prompts, slugs, strict=True):
        candidates = [own] if own and slugs.count(own) == 1 else []
        candidates += [slug(reversed(prompt.names[:2])), slug(reversed(prompt.names)), own]
        name = next((name for name in candidates if name and name not in taken), None)
        number = 2
        base = own or slug([fallback]) or "prompt"
        while name is None:
            name = base if base not in taken else None
            if name is None and f"{base}-{number}" not in taken:
                name = f"{base}-{number}"
            number += 1
        taken.add(name)
        names.append(name)
    return names


def slug(names: Iterable[str]) -> str:
    """Words in small letters joined by hyphens, in any script, without words for layout."""
    text = unicodedata.normalize("NFC", " ".join(names)).lower()
    words = re.findall(r"[^\W_]+", text)
    telling = list(dict.fromkeys(word for word in words if word not in _LAYOUT_WORDS))
    return "-".join(telling)[:_NAME_LENGTH].strip("-")
