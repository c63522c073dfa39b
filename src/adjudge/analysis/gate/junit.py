"""The outcome of a gate as JUnit XML for Jenkins, GitLab and GitHub."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from .check import Check
from .gate_report import GateReport
from .outcome import WORDS

# XML 1.0 cannot hold these at all, not even escaped.
_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: GateReport, timestamp: str) -> str:
    """The whole document, ending with a line break. `timestamp` is ISO 8601, to the second."""
    counts = {
        "tests": str(len(report.checks)),
        "failures": str(sum(check.outcome in ("worse", "open") for check in report.checks)),
        "errors": str(sum(check.outcome == "failed" for check in report.checks)),
        "skipped": "0",
        "time": "0",
    }
    suites = Element("testsuites", {"name": "adjudge gate", **counts})
    suite = SubElement(
        suites,
        "testsuite",
        {"name": _clean(f"gate {report.run}"), "timestamp": timestamp, "hostname": "localhost", **counts},
    )
    _properties(suite, report)
    for check in report.checks:
        _case(suite, check, report)
    if report.notes:
        SubElement(suite, "system-out").text = _clean("\n".join(report.notes))
    indent(suites)
    # Attributes keep a line break only as a reference, which ElementTree writes.
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _properties(suite: Element, report: GateReport) -> None:
    values = {
        "run": report.run,
        "baseline": report.baseline or "",
        "outcome": WORDS[report.outcome],
        "exit_code": str(report.exit_code),
        "fake": str(report.is_fake).lower(),
        "corrected_by_labels": str(report.is_corrected).lower(),
    }
    properties = SubElement(suite, "properties")
    for name, value in values.items():
        SubElement(properties, "property", {"name": name, "value": _clean(value)})


def _case(suite: Element, check: Check, report: GateReport) -> None:
    flag = check.rule.replace("_", "-")
    name = f"{flag} {check.criterion} {check.asked} [{check.system}]"
    classname = f"adjudge.gate.{report.run}"
    case = SubElement(suite, "testcase", {"classname": _clean(classname), "name": _clean(name), "time": "0"})
    if check.outcome != "good":
        tag = "error" if check.outcome == "failed" else "failure"
        kind = {"failed": "judge_failed", "worse": "worse", "open": "not_enough_evidence"}[check.outcome]
        element = SubElement(case, tag, {"message": _clean(check.text), "type": kind})
        element.text = _clean("\n".join((check.text, *check.remarks)))
    fake = ("A fake judge for tests: this says nothing about any system.",) if report.is_fake else ()
    SubElement(case, "system-out").text = _clean("\n".join((*fake, check.text, *check.remarks)))


def _clean(text: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", text)
