"""Which parameter of a request a host will not take, by the words of its error.

Pure. Only a parameter that was sent and that the host calls unsupported is named: a value that is
out of range is the user's to correct, and a word that happens to stand in a message is no reason to
leave something out.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from .faults import Said

_UNSUPPORTED = re.compile(
    r"unsupport|not\s+(?:currently\s+)?(?:be\s+)?(?:support|permit|allow|implement|available|enabled|recogni)|unrecogni"
    r"|unknown|unexpected|extra (?:inputs|fields)|only the default|deprecated|does(?: not|n't) (?:accept|take|have)"
    r"|cannot be (?:used|set|combined)|incompatible|invalid schema|no longer|use '?\w+'? instead",
    re.IGNORECASE,
)

_OTHER_NAMES = {
    "response_format": ("json_schema", "json schema", "structured output", "guided", "grammar"),
    "logprobs": ("log probabilities", "log-probabilities", "logprob"),
    "tools": ("tool_choice", "tool use", "function calling", "input_schema"),
}


def refused_parameter(said: Said, sent: Collection[str]) -> str | None:
    """The parameter among those sent that the host will not take; none: it objects to something else."""
    if not _UNSUPPORTED.search(f"{said.code} {said.message}"):
        return None
    head = re.split(r"[.\[]", said.param)[0]
    if head in sent:
        return head
    if head not in ("", "body"):
        return None
    # Longest names first: "max_tokens" must not be found inside another name.
    places = [
        (found.start(), name) for name in sent if (found := re.search(rf"(?<!\w){name}(?!\w)", said.message))
    ]
    if places:
        return min(places)[1]
    lower = said.message.lower()
    return next(
        (
            name
            for name, words in _OTHER_NAMES.items()
            if name in sent and any(word in lower for word in words)
        ),
        None,
    )
