"""The exceptions that a user can act on, as one tree.

    AdjudgeError
    ├── ProtocolError      a protocol folder, rubric or prompt document that cannot be used
    ├── DataError          items, labels, rubrics or recorded replies that cannot be read
    ├── ModelError         a judge that cannot be called
    │   ├── AuthError      the host refused the API key
    │   ├── RateLimited    the rate limit of the host was reached
    │   ├── HostDown       the host was down for longer than --patience; the run can be resumed
    │   └── BudgetReached  the budget or the quota is used up; the run can be resumed
    ├── StoreError         the store cannot be read or written
    ├── PluginError        a plug-in of another package cannot be used
    ├── PlatformError      a platform of traces, or a hub, cannot be reached or refused a request
    └── NoScore            a verdict was compared that has no score, because the judgment failed

A message has three parts: what happened, where, what to do. The command line prints it
without a traceback and exits with 2. A bad reply of a judge is not an exception: it is a
`Score` with a status.
"""

from __future__ import annotations

from collections.abc import Sequence


class AdjudgeError(Exception):
    """The root of the tree: a mistake or fault that a user can act on."""


class ProtocolError(AdjudgeError):
    """A protocol, or a rubric or criterion for it, cannot be used."""


class DataError(AdjudgeError):
    """A file of items, labels, examples or replies cannot be read."""


class ModelError(AdjudgeError):
    """A judge cannot be called."""


class AuthError(ModelError):
    """The host refused the API key."""


class RateLimited(ModelError):
    """The rate limit of the host was reached."""


class HostDown(ModelError):
    """The host was down for longer than `--patience`; the run can be resumed."""


class BudgetReached(ModelError):
    """The budget or the quota is used up; the run can be resumed."""


class StoreError(AdjudgeError):
    """The store cannot be read or written."""


class PluginError(AdjudgeError):
    """A plug-in of another package cannot be used."""


class PlatformError(AdjudgeError):
    """A platform of traces, or a hub, cannot be reached or refused a request."""


class NoScore(AdjudgeError, AssertionError):
    """A verdict was used as a number or a choice, and the judgment failed. In a test it is a failed
    assertion."""


def sentences(*texts: str) -> str:
    """Texts as sentences, each with one full stop, also where a host's own message has one already."""
    return " ".join(text if text.endswith((".", "!", "?", "…")) else f"{text}." for text in texts)


SHOWN_PROBLEMS = 50
"""How many problems of one file a message lists; the others are counted."""


def problem_list(where: str, problems: Sequence[str]) -> str:
    """All problems of one file as one message: a count, then a line each."""
    lines = [f"  {problem}" for problem in problems[:SHOWN_PROBLEMS]]
    if len(problems) > SHOWN_PROBLEMS:
        lines.append(f"  … and {len(problems) - SHOWN_PROBLEMS} more")
    noun = "problem" if len(problems) == 1 else "problems"
    return "\n".join([f"{where}: {len(problems)} {noun}", *lines])
