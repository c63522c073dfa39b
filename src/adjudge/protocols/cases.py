"""Cases: replies that a protocol's reader must read as promised, kept beside the prompt.

`cases.toml` stands in the protocol's folder or is shared by siblings in the folder above. This
file runs the reader on each reply and says where it read something else. It judges no prompt.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..parse import parse
from ..records import Choice, FieldValue, Item, Judgment, Protocol, Score, Status
from .findings import Finding

FILE = "cases.toml"


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reply and what must be read from it; what is left out may be anything."""

    name: str
    reply: str
    only: tuple[str, ...] | None = None
    status: Status | None = None
    value: float | None = None
    how: str | None = None
    choice: Choice | None = None
    choice_status: Status | None = None
    scores: dict[str, float | Status] = {}
    """criterion, or criterion/subject → the value, or the status where there is no value"""
    flags: tuple[str, ...] = ()
    fields: dict[str, FieldValue] = {}
    grounded: dict[str, float] = {}


class Cases(NamedTuple):
    """The cases of one protocol and the file that they stand in."""

    path: Path
    text: str
    cases: tuple[Case, ...]
    findings: tuple[Finding, ...]


def read_cases(folder: Path, protocol: Protocol) -> Cases | None:
    """The cases of a protocol: its own file, or the one of its family; none where there is neither."""
    path = next((place / FILE for place in (folder, folder.parent) if (place / FILE).is_file()), None)
    if path is None:
        return None
    try:
        text = path.read_bytes().decode("utf-8")
        entries = tomllib.loads(text).get("case", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        problem = Finding(
            str(path), 1, "case", f"{FILE} is not valid TOML: {error}.", "Mend it at that place."
        )
        return Cases(path, "", (), (problem,))
    if not isinstance(entries, list):
        problem = Finding(str(path), 1, "case", "'case' is no list.", "Write each case under [[case]].")
        return Cases(path, text, (), (problem,))
    cases, findings = [], []
    for number, entry in enumerate(entries):
        try:
            case = msgspec.convert(entry, Case)
        except msgspec.ValidationError as error:
            line = _line(text, number)
            findings.append(
                Finding(
                    str(path), line, "case", f"case {number + 1}: {error}.", "Correct the key or its value."
                )
            )
            continue
        if case.only is None or protocol.id.rpartition("/")[2] in case.only:
            cases.append((number, case))
    findings += [
        finding for number, case in cases for finding in _run(protocol, case, path, _line(text, number))
    ]
    return Cases(path, text, tuple(case for _, case in cases), tuple(findings))


def case_findings(folder: Path, protocol: Protocol, *, is_builtin: bool) -> list[Finding]:
    """Every case that does not read as promised, and cases that a built-in protocol should have."""
    if protocol.answer.reader == "likelihood":
        return []
    found = read_cases(folder, protocol)
    if found is None:
        if not is_builtin:
            return []
        todo = "Write replies, and what must be read from each."
        return [Finding(str(folder / FILE), 1, "case", f"a built-in protocol needs {FILE}.", todo)]
    findings = list(found.findings)
    has_unparsed = any("unparsed" in (case.status, case.choice_status) for case in found.cases)
    if is_builtin and not has_unparsed:
        message = f"no case of '{protocol.id}' is unparsed."
        findings.append(
            Finding(str(found.path), 1, "case", message, "Add a reply from which nothing can be read.")
        )
    return findings


def _line(text: str, number: int) -> int:
    """The line of the n-th [[case]]: a hint for an editor, not a parser."""
    seen = -1
    for index, line in enumerate(text.split("\n"), start=1):
        seen += line.strip().startswith("[[case]]")
        if seen == number:
            return index
    return 1


def _run(protocol: Protocol, case: Case, path: Path, line: int) -> list[Finding]:
    label = protocol.answer.labels[0] if protocol.answer.labels else ""
    criterion = next(iter(protocol.criteria), "")
    reply = case.reply.replace("{{label}}", label).replace("{{criterion}}", criterion)
    judgment = parse(protocol, reply, item=Item("case", case.fields))
    return [
        Finding(
            str(path),
            line,
            "case",
            f"'{case.name}' under {protocol.id}: {difference}.",
            "Mend the reader, or the case.",
        )
        for difference in _differences(case, judgment)
    ]


def _differences(case: Case, judgment: Judgment) -> Iterator[str]:
    named = {
        score.criterion + (f"/{score.subject}" if score.subject else ""): score for score in judgment.scores
    }
    yield from _overall(case, judgment)
    for name, promised in case.scores.items():
        score = named.get(name)
        if score is None:
            yield f"there is no score '{name}', only {sorted(named)}"
        elif isinstance(promised, str):
            yield from _unequal(f"status of '{name}'", promised, score.status)
        else:
            yield from _unequal(f"'{name}'", promised, _read(score))
    for name, share in case.grounded.items():
        score = named.get(name)
        found = score.grounded if score else None
        if found is None or abs(found - share) > 1e-6:
            yield from _unequal(f"grounded share of '{name}'", share, found)
    for flag in case.flags:
        if flag not in judgment.flags:
            yield f"flag '{flag}' is promised, and the flags are {sorted(judgment.flags)}"


def _overall(case: Case, judgment: Judgment) -> Iterator[str]:
    """The promises that concern every score, or the choice."""
    if case.choice_status is not None:
        yield from _unequal("choice_status", case.choice_status, judgment.choice_status)
    if case.choice is not None:
        yield from _unequal("choice", case.choice, judgment.choice)
    scores = judgment.scores
    if case.status is not None and not scores and case.choice_status is None:
        yield from _unequal("status", case.status, judgment.choice_status)
    if not scores:
        if case.value is not None:
            yield f"value {case.value:g} is promised, and the protocol has no scores"
        if case.how is not None:
            yield from _unequal("how", case.how, judgment.choice_how)
        return
    for score in scores:
        name = score.criterion + (f"/{score.subject}" if score.subject else "")
        if name in case.scores:
            continue
        if case.status is not None:
            yield from _unequal(f"status of '{name}'", case.status, score.status)
        if case.value is not None:
            yield from _unequal(f"'{name}'", case.value, _read(score))
        if case.how is not None and score.status == "ok":
            yield from _unequal(f"how '{name}' was read", case.how, score.how)


def _read(score: Score) -> float | str:
    return score.value if score.value is not None else score.status


def _unequal(what: str, promised: object, found: object) -> Iterator[str]:
    if promised != found:
        yield f"{what} should be {_text(promised)} and is {_text(found)}"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
