"""May this change ship? Thresholds held against intervals, as an exit code and in the formats that CI reads."""

from .junit import junit
from .of_run import Judged, verdict_of
from .rules import Rules, make_rules
from .shapes import EXIT_CODES, Check, Verdict

__all__ = ["EXIT_CODES", "Check", "Judged", "Rules", "Verdict", "junit", "make_rules", "verdict_of"]
