"""Which parameter of a request a host refuses, by the wording of its error."""

from __future__ import annotations

import re
from collections.abc import Collection

from .http_errors import ErrorBody

_UNSUPPORTED = re.compile(
    r"unsupport|not\s+(?:currently\s+)?(?:be\s+)?(?:support|permit|allow|implement|available|enabled|"
    r"recogni)|unrecogni"
    r"|unknown|unexpected|extra (?:inputs|fields)|only the default|deprecated|does(?: not|n't)"
    r" (?:accept|take|have|support)"
    r"|cannot be (?:used|set|combined)|incompatible|invalid schema|no longer|use '?\w+'? instead",
    re.IGNORECASE,
)


_OTHER_NAMES = {
    "response_format": ("json_schema", "json schema", "structured output", "guided", "grammar"),
    "logprobs": ("log probabilities", "log-probabilities", "logprob"),
    "toolConfig": ("tool use", "tool choice", "toolchoice"),
    "tools": ("tool_choice", "tool use", "function calling", "input_schema"),
}


def refused_parameter(error: ErrorBody, sent: Collection[str]) -> str | None:
    """The sent parameter that the host calls unsupported; none where it objects to something else.

    A value out of range is for the user to correct, so it does not count.
    """
    if not _UNSUPPORTED.search(f"{error.code} {error.message}"):
        return None
    head = re.split(r"[.\[]", error.param)[0]
    if head in sent:
        return head
    if head not in ("", "body"):
        return None
    # Whole words only: "max_tokens" must not be found inside another name.
    mentions = [
        (match.start(), name) for name in sent if (match := re.search(rf"(?<!\w){name}(?!\w)", error.message))
    ]
    if mentions:
        return min(mentions)[1]
    lower = error.message.lower()
    return next(
        (
            name
            for name, words in _OTHER_NAMES.items()
            if name in sent and any(word in lower for word in words)
        ),
        None,
    )
