"""Adjudge scores model outputs with LLM judges, and says how far each score can be trusted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .errors import AdjudgeError, NoScore
    from .judge import Judge, Verdict, Verdicts
    from .parse import read_choice, read_json, read_list, read_option, read_score
    from .protocols import load_protocol
    from .public import (
        Card,
        Comparison,
        Ranking,
        Report,
        Run,
        compare,
        open_run,
        rank,
        run,
        run_async,
        trust,
    )
    from .records import (
        Call,
        Estimate,
        Item,
        Judgment,
        Label,
        Listing,
        Message,
        Protocol,
        Reading,
        Reply,
        Result,
        Rubric,
        Scale,
        Score,
    )

__all__ = [
    "AdjudgeError",
    "Call",
    "Card",
    "Comparison",
    "Estimate",
    "Item",
    "Judge",
    "Judgment",
    "Label",
    "Listing",
    "Message",
    "NoScore",
    "Protocol",
    "Ranking",
    "Reading",
    "Reply",
    "Report",
    "Result",
    "Rubric",
    "Run",
    "Scale",
    "Score",
    "Verdict",
    "Verdicts",
    "__version__",
    "compare",
    "load_protocol",
    "open_run",
    "rank",
    "read_choice",
    "read_json",
    "read_list",
    "read_option",
    "read_score",
    "run",
    "run_async",
    "trust",
]

_HOMES = {
    "AdjudgeError": "errors",
    "Card": "public",
    "Comparison": "public",
    "Judge": "judge",
    "NoScore": "errors",
    "Ranking": "public",
    "Report": "public",
    "Run": "public",
    "Verdict": "judge",
    "Verdicts": "judge",
    "compare": "public",
    "load_protocol": "protocols",
    "open_run": "public",
    "rank": "public",
    "read_choice": "parse",
    "read_json": "parse",
    "read_list": "parse",
    "read_option": "parse",
    "read_score": "parse",
    "run": "public",
    "run_async": "public",
    "trust": "public",
}


def __getattr__(name: str) -> Any:
    # A name is imported when it is first used, so that a short command stays short.
    if name not in __all__:
        raise AttributeError(f"module 'adjudge' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES.get(name, 'records')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
