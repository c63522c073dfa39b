"""What a prompt judges, by its own words or by its name."""

from __future__ import annotations

import re

from ...asked.format import LOOKED_AT
from ..names import slug

_QUALITY = (
    r"(?:[a-z]+ )?(?:[a-z]{3,}(?:ness|ity|ence|ance|ency|ancy|acy)|quality|correctness|toxicity"
    r"|hallucinations?|bias|humor|"
    r"helpfulness|style|tone|factuality|harm|grammar|format|structure|depth|completion|agreement|similarity)"
)
_SAID = (
    re.compile(r"evaluation criteri(?:a|on):?\s*\n+\s*\W*([A-Z][\w -]{2,40}?)\s*[(（]\s*\d", re.IGNORECASE),
    re.compile(
        rf"\b(?:evaluat|judg|rat|scor|grad|assess|label)\w*\b[^.\n]{{0,80}}? (?:for|on"
        rf"|in terms of) (?:its |their |the )?({_QUALITY})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:evaluate|judge|rate|score|grade|assess|measure|determine|determining|evaluating"
        rf"|assessing|scoring|rating) (?:the |its |how )?(?:overall )?({_QUALITY}) of\b",
        re.IGNORECASE,
    ),
)
_DULL = {
    "prompt", "grader", "system", "user", "default", "template", "judge", "grading", "evaluation",
    "evaluator", "instructions",
    "rubric", "metric", "config", "classification", "eval", "wo", "with", "ref", "reference", "cot",
    "detailed", "v1", "v2", "v3",
    "single", "query", "score", "scoring", "comparison", "pairwise", "generate", "content", "message",
    "messages",
    "build", "get", "multi", "turn", "general", "context", "output", "input", "verdict", "verdicts",
    "gpt", "basic", "pair", "tie", "math", "relative", "absolute", "v0", "v4",
    "generatequerywithcontext", "generatequerynocontext", "base", "gen", "body", "task", "description",
    "list", "text", "main",
}  # fmt: skip


def guess_criterion(text: str, name: str, stated: str) -> tuple[str, str]:
    """A name for the criterion, and where it is from."""
    if stated:
        return slug([stated]) or name, "from the name in the file"
    telling = [word for word in name.split("-") if word not in _DULL and not word.isdigit()]
    for pattern in _SAID:
        if (match := pattern.search(text[:LOOKED_AT])) and (said := slug([match[1]])) not in (
            "",
            "performance",
        ):
            return said, f"the prompt says: {match[0].strip()[:60]}"
    if telling:
        return name, "from the name of the prompt"
    return "quality", "the prompt does not name what it judges in a way that is known; write its name"
