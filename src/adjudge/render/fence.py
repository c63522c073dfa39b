"""Fences: tags around judged text that it cannot close.

The tags are the input's name, so that a prompt reads naturally and its beginning is the same for all items of
one source. Only where some text of the item contains such a tag, in any disguise, do both tags get a suffix:
a hash of the fenced text. It is stable, and no text of the item contains it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

_IGNORED = re.compile(r"[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")


def fenced(name: str, text: str, texts: Iterable[str]) -> str:
    """The text between tags named after its input; `texts` are all texts of the item."""
    tag = name
    if any(_contains_tag(other, name) for other in texts):
        seed = text
        while True:
            suffix = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            tag = f"{name}-{suffix}"
            if not any(suffix in other for other in texts):
                break
            seed += suffix
    return f"<{tag}>\n{text}\n</{tag}>"


def _contains_tag(text: str, name: str) -> bool:
    """Whether the text contains something that a model could read as one of the tags."""
    if "<" not in text and text.isascii():
        return False
    compact = _IGNORED.sub("", unicodedata.normalize("NFKC", text)).casefold()
    tag = name.casefold()
    return f"<{tag}" in compact or f"</{tag}" in compact
