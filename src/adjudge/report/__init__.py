"""What a run found, for people and for programs: one `Summary`, printed in several forms."""

from __future__ import annotations

from .facts import ModelFacts, ProtocolFacts, RunFacts
from .markdown import markdown
from .of_run import facts_of, summary_of
from .panel import JudgeInPanel, PanelSummary
from .shapes import (
    Caution,
    Cell,
    Correlation,
    CriterionSummary,
    FailureShare,
    ModelSummary,
    PairSummary,
    Summary,
)
from .summary import summarise
from .terminal import print_report

__all__ = [
    "Caution",
    "Cell",
    "Correlation",
    "CriterionSummary",
    "FailureShare",
    "JudgeInPanel",
    "ModelFacts",
    "ModelSummary",
    "PairSummary",
    "PanelSummary",
    "ProtocolFacts",
    "RunFacts",
    "Summary",
    "facts_of",
    "markdown",
    "print_report",
    "summarise",
    "summary_of",
]
