"""The verdict of a gate as JUnit XML for Jenkins, GitLab and GitHub."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from .check import Check
from .outcome import WORDS
from .verdict import Verdict

# XML 1.0 cannot hold these at all, not even escaped.
_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(verdict: Verdict, timestamp: str) -> str:
    """The whole document, ending with a line break. `timestamp` is ISO 8601, to the second."""
    counts = {
        "tests": str(len(verdict.checks)),
        "failures": str(sum(check.outcome in ("worse", "open") for check in verdict.checks)),
        "errors": str(sum(check.outcome == "failed" for check in verdict.checks)),
        "skipped": "0",
        "time": "0",
    }
    suites = Element("testsuites", {"name": "adjudge gate", **counts})
    suite = SubElement(
        suites,
        "testsuite",
        {"name": _clean(f"gate {verdict.run}"), "timestamp": timestamp, "hostname": "localhost", **counts},
    )
    _properties(suite, verdict)
    for check in verdict.checks:
        _case(suite, check, verdict)
    if verdict.notes:
        SubElement(suite, "system-out").text = _clean("\n".join(verdict.notes))
    indent(suites)
    # Attributes keep a line break only as a reference, which ElementTree writes.
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _properties(suite: Element, verdict: Verdict) -> None:
    values = {
        "run": verdict.run,
        "baseline": verdict.baseline or "",
        "outcome": WORDS[verdict.outcome],
        "exit_code": str(verdict.exit_code),
        "fake": str(verdict.is_fake).lower(),
        "corrected_by_labels": str(verdict.is_corrected).lower(),
    }
    properties = SubElement(suite, "properties")
    for name, value in values.items():
        SubElement(properties, "property", {"name": name, "value": _clean(value)})


def _case(suite: Element, check: Check, verdict: Verdict) -> None:
    flag = check.rule.replace("_", "-")
    name = f"{flag} {check.criterion} {check.asked} [{check.system}]"
    classname = f"adjudge.gate.{verdict.run}"
    case = SubElement(suite, "testcase", {"classname": _clean(classname), "name": _clean(name), "time": "0"})
    if check.outcome != "good":
        tag = "error" if check.outcome == "failed" else "failure"
        kind = {"failed": "judge_failed", "worse": "worse", "open": "not_enough_evidence"}[check.outcome]
        element = SubElement(case, tag, {"message": _clean(check.text), "type": kind})
        element.text = _clean("\n".join((check.text, *check.remarks)))
    fake = ("A fake judge for tests: this says nothing about any system.",) if verdict.is_fake else ()
    SubElement(case, "system-out").text = _clean("\n".join((*fake, check.text, *check.remarks)))


def _clean(text: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", text)
