"""Long texts (prompts, replies) by their beginning: a golden file shows that they changed, a diff of the code
how."""

from __future__ import annotations

import hashlib


def shortened(text: str, most: int = 400) -> str:
    """A long text by its beginning, its length and its digest: any change of it still shows."""
    if len(text) <= most:
        return text
    return f"{text[:160]}… ({len(text)} characters, sha256 {hashlib.sha256(text.encode()).hexdigest()[:12]})"
