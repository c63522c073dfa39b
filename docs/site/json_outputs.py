"""The type of what each command prints with `--json`."""

from __future__ import annotations

from adjudge.analysis.audit.audit import Audit
from adjudge.analysis.calibrate import Calibrated
from adjudge.analysis.cascade.cascade import Cascade
from adjudge.analysis.compare.comparison import Comparison
from adjudge.analysis.drift import Drift
from adjudge.analysis.gate.gate_report import GateReport
from adjudge.analysis.plan import SamplePlan
from adjudge.analysis.rank.ranking import Ranking
from adjudge.analysis.report.summary import Summary
from adjudge.analysis.trust.card import Card
from adjudge.analysis.tune.tuning import Tuning

OUTPUTS: dict[str, type] = {
    "adjudge report": Summary,
    "adjudge trust": Card,
    "adjudge gate": GateReport,
    "adjudge compare": Comparison,
    "adjudge rank": Ranking,
    "adjudge audit": Audit,
    "adjudge calibrate": Calibrated,
    "adjudge cascade": Cascade,
    "adjudge tune": Tuning,
    "adjudge plan": SamplePlan,
    "adjudge drift": Drift,
}
