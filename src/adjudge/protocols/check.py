"""`adjudge protocols check`: every problem of protocol folders at once, and the suspicions.

A problem makes a protocol unusable or contradicts one of its own cases; a suspicion is a likely
mistake in a prompt, which a person may accept with a reason. Nothing here changes a file, asks
a model, or raises for what a file contains.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..data import BrokenFileError, read_small
from ..parse import parse, read_list
from ..records import Choice, FieldValue, How, Item, Judgment, Listing, Protocol, Score, Status
from .builtins import builtin_root, find_folder
from .findings import (
    Finding,
    Mistake,
    key_meant,
    line_of,
    line_of_key,
    line_of_steps,
    mistakes_in,
    toml_mistake,
)
from .folder import read_folder
from .step_protocols import answer_about, shows_item, step_protocol
from .suspicions import NAMES, Prompt, Suspicion, suspicions_of, unlike_siblings

FILE = "cases.toml"
_KEY = "case"
_HEADING = re.compile(r"^[ \t]*(\[\[[ \t]*case[ \t]*\]\])", re.MULTILINE)


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reply and what must be read from it; what is left out may be anything."""

    name: str
    reply: str
    only: tuple[str, ...] | None = None
    status: Status | None = None
    value: float | None = None
    how: How | None = None
    choice: Choice | None = None
    choice_status: Status | None = None
    scores: dict[str, float | Status] = {}
    """criterion, or criterion/subject → the value, or the status where there is no value"""
    flags: tuple[str, ...] = ()
    fields: dict[str, FieldValue] = {}
    grounded: dict[str, float] = {}
    step: str = ""
    """the step whose reply it is; without a name, that of the check"""
    entries: tuple[str, ...] | None = None
    """extract: the list that must be read"""
    element: int = 1
    """check: the number of the element, where a reply is about several"""
    label: str | None = None
    """the option that must be read"""
    finish: str | None = None
    """why the model stopped: "length" means that the reply was cut off"""
    is_cut: bool | None = None
    """extract: whether the list was cut off"""


class Failure(NamedTuple):
    """Something about the cases of one protocol that is not as promised."""

    path: Path
    line: int
    message: str
    todo: str
    protocol: str = ""
    """empty where the file itself is at fault"""
    case: str = ""


def case_failures(folder: Path, protocol: Protocol, *, is_builtin: bool) -> list[Failure]:
    """Every case that does not read as promised, and cases that a built-in protocol should have."""
    if protocol.answer.reader == "likelihood":
        return []
    path = next((place / FILE for place in (folder, folder.parent) if (place / FILE).is_file()), None)
    if path is None:
        if not is_builtin:
            return []
        todo = "Write replies, each with the expected reading."
        return [Failure(folder / FILE, 1, f"a built-in protocol needs {FILE}.", todo, protocol.id)]
    failures: list[Failure] = []
    cases = [
        (line, case)
        for line, case in _read(path, failures)
        if case.only is None or protocol.id.rpartition("/")[2] in case.only
    ]
    for line, case in cases:
        # One reply that is read differently violates several expectations at once, and is one problem.
        if differences := list(_case_differences(protocol, case)):
            message = "; ".join(differences) + "."
            failures.append(
                Failure(path, line, message, "Fix the reader, or the case.", protocol.id, case.name)
            )
    has_unparsed = any("unparsed" in (case.status, case.choice_status) for _, case in cases)
    if is_builtin and not has_unparsed:
        todo = "Add a reply without a readable score."
        failures.append(Failure(path, 1, "no case is unparsed.", todo, protocol.id))
    return failures


def folded(failures: Iterable[Failure]) -> list[Finding]:
    """One finding for each case that fails in the same way under several protocols of a family."""
    failing: dict[tuple[Path, int, str, str, str], list[str]] = {}
    for path, line, message, todo, protocol, case in failures:
        failing.setdefault((path, line, message, todo, case), []).append(protocol)
    return [
        Finding(str(path), line, "case", f"{_whose(case, protocols)}{message}", todo)
        for (path, line, message, todo, case), protocols in failing.items()
    ]


def _whose(case: str, protocols: Sequence[str]) -> str:
    """The case and the protocols, before what is wrong: behind it, a name could be taken for what was read."""
    more = len(protocols) - 1
    others = f" and {more} other{'s' if more > 1 else ''}" if more else ""
    named = f"protocol '{protocols[0]}'{others}" if protocols[0] else ""
    if case:
        return f"'{case}' in {named}: "
    return f"{named}: " if named else ""


def _read(path: Path, failures: list[Failure]) -> Iterator[tuple[int, Case]]:
    """The cases of a file with their lines; what cannot be read goes to the failures."""
    text = ""
    try:
        text = read_small(path).decode("utf-8")
        settings = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, BrokenFileError) as error:
        message = f"{FILE} cannot be read as UTF-8 text ({error})."
        failures.append(Failure(path, 1, message, "Save it as UTF-8."))
        return
    except (
        ValueError,
        RecursionError,
    ) as error:  # ValueError: also of int(), which refuses thousands of digits
        failures.append(Failure(path, *toml_mistake(FILE, text, error, [_KEY])[:3]))
        return
    for key in settings:
        if key != _KEY:
            todo = key_meant(key, [_KEY])
            failures.append(Failure(path, line_of_key(text, key), f"unknown key '{key}'.", todo))
    entries = settings.get(_KEY, [])
    if not isinstance(entries, list):
        mistakes = mistakes_in(text, entries, list[Case], _KEY)
        failures += [Failure(path, *mistake[:3]) for mistake in mistakes]
        return
    lines = [line_of(text, heading.start(1)) for heading in _HEADING.finditer(text)]
    for number, entry in enumerate(entries):
        try:
            yield lines[number] if number < len(lines) else 1, msgspec.convert(entry, Case)
        except msgspec.ValidationError as error:
            mistakes = mistakes_in(text, entry, Case, _KEY, number)
            mistakes = mistakes or [Mistake(1, f"case {number + 1}: {error}.", "Correct the value.")]
            failures += [Failure(path, *mistake[:3]) for mistake in mistakes]


def _case_differences(protocol: Protocol, case: Case) -> Iterator[str]:
    """What is read from a reply otherwise than promised; in a protocol with steps, by the reader of the step."""
    if not protocol.pipeline:
        yield from _differences(case, _judgment(protocol, case))
        return
    asking = {step.name: step for step in protocol.pipeline if step.prompt}
    default = next((name for name, step in asking.items() if step.kind == "check"), "")
    step = asking.get(case.step or default)
    if step is None:
        yield f"there is no step '{case.step}' with a prompt, only {sorted(asking)}"
    elif step.kind == "extract":
        yield from _list_differences(case, read_list(case.reply, finish=case.finish))
    else:
        checked = step_protocol(protocol, step)
        answer = answer_about(checked.answer, case.element)
        yield from _differences(case, _judgment(msgspec.structs.replace(checked, answer=answer), case))


def _list_differences(case: Case, listing: Listing) -> Iterator[str]:
    if case.status is not None:
        yield from _unequal("status", case.status, listing.status)
    if case.entries is not None:
        yield from _unequal("the list", list(case.entries), list(listing.entries))
    if case.how is not None:
        yield from _unequal("how", case.how, listing.how)
    if case.is_cut is not None:
        yield from _unequal("is_cut", case.is_cut, listing.cut is not None)
    for flag in case.flags:
        if flag not in listing.flags:
            yield f"flag '{flag}' is expected, but the flags are {sorted(listing.flags)}"


def _judgment(protocol: Protocol, case: Case) -> Judgment:
    label = protocol.answer.labels[0] if protocol.answer.labels else ""
    criterion = next(iter(protocol.criteria), "")
    reply = case.reply.replace("{{label}}", label).replace("{{criterion}}", criterion)
    return parse(protocol, reply, item=Item("case", case.fields), finish=case.finish)


def _differences(case: Case, judgment: Judgment) -> Iterator[str]:
    named = _named(judgment)
    yield from _overall(case, judgment)
    for name, promised in case.scores.items():
        score = named.get(name)
        if score is None:
            yield f"there is no score '{name}', only {sorted(named)}"
        elif isinstance(promised, str):
            yield from _unequal(f"status of '{name}'", promised, score.status)
        else:
            yield from _unequal(f"'{name}'", promised, _value_or_status(score))
    for name, share in case.grounded.items():
        score = named.get(name)
        grounded = score.grounded if score else None
        if grounded is None or abs(grounded - share) > 1e-6:
            yield from _unequal(f"grounded share of '{name}'", share, grounded)
    for flag in case.flags:
        if flag not in judgment.flags:
            yield f"flag '{flag}' is expected, but the flags are {sorted(judgment.flags)}"


def _overall(case: Case, judgment: Judgment) -> Iterator[str]:
    """The promises that concern every score, or the choice."""
    if case.choice_status is not None:
        yield from _unequal("choice_status", case.choice_status, judgment.choice_status)
    if case.choice is not None:
        yield from _unequal("choice", case.choice, judgment.choice)
    scores = judgment.scores
    if case.status is not None and not scores and case.choice_status is None:
        yield from _unequal("status", case.status, judgment.choice_status)
    if case.label is not None:
        yield from _unequal("label", case.label, scores[0].label if scores else None)
    if not scores:
        if case.value is not None:
            yield f"value {case.value:g} is expected, but the protocol has no scores"
        if case.how is not None:
            yield from _unequal("how", case.how, judgment.choice_how)
        return
    for name, score in _named(judgment).items():
        if name in case.scores:
            continue
        of = f" of '{name}'" if len(scores) > 1 else ""
        is_other = case.status is not None and case.status != score.status
        if is_other:
            yield from _unequal(f"status{of}", case.status, score.status)
        if case.value is not None:
            # The status is said once.
            answer = "none" if is_other and score.value is None else _value_or_status(score)
            yield from _unequal(f"value{of}", case.value, answer)
        if case.how is not None and score.status == "ok":
            yield from _unequal(f"how{of}", case.how, score.how)


def _named(judgment: Judgment) -> dict[str, Score]:
    return {
        score.criterion + (f"/{score.subject}" if score.subject else ""): score for score in judgment.scores
    }


def _value_or_status(score: Score) -> float | str:
    return score.value if score.value is not None else score.status


def _unequal(what: str, promised: object, actual: object) -> Iterator[str]:
    if promised != actual:
        yield f"{what} should be {_text(promised)} but is {_text(actual)}"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


class _Read(NamedTuple):
    folder: Path
    protocol: Protocol | None
    findings: list[Finding]


def check_protocols(refs: Sequence[str | Path]) -> list[Finding]:
    """All findings for these protocols: ids or folders; a folder of protocol folders is checked whole.

    Raises `ProtocolError` only where a reference names nothing at all.
    """
    folders = list(dict.fromkeys(folder for ref in refs for folder in _folders(ref)))
    reader = _Reader()
    findings: list[Finding] = []
    failures: list[Failure] = []
    for folder in folders:
        findings += _check(folder, reader)
        if protocol := reader.read(folder).protocol:
            failures += case_failures(folder, protocol, is_builtin=_is_builtin(folder))
    return [*findings, *folded(failures)]


def _is_builtin(folder: Path) -> bool:
    return folder.resolve().is_relative_to(builtin_root().resolve())


def _folders(ref: str | Path) -> Iterator[Path]:
    family = builtin_root() / str(ref)
    is_family = (
        isinstance(ref, str) and ref not in ("", ".", "..") and not Path(ref).is_dir() and family.is_dir()
    )
    folder = family if is_family else find_folder(ref)[0]
    if (folder / "protocol.toml").is_file():
        yield folder
        return
    below = sorted(path.parent for path in folder.rglob("protocol.toml"))
    # A folder with nothing below it is reported by the loader as one without its files.
    yield from below or [folder]


class _Reader:
    """Reads each folder once, also where it is both checked and a sibling of others."""

    def __init__(self) -> None:
        self._read: dict[Path, _Read] = {}
        self._unlike: dict[Path, dict[Path, tuple[str, Suspicion]]] = {}

    def read(self, folder: Path) -> _Read:
        if folder not in self._read:
            protocol, findings = read_folder(folder, find_folder(folder)[1])
            self._read[folder] = _Read(folder, protocol, findings)
        return self._read[folder]

    def unlike(self, folder: Path) -> tuple[str, Suspicion] | None:
        """How a protocol stands apart from the others in the folder above it."""
        family = folder.resolve().parent
        if family not in self._unlike:
            places = sorted(path.parent for path in family.glob("*/protocol.toml"))
            prompts = [
                Prompt(protocol)
                for place in places
                if (protocol := self.read(place).protocol) and not protocol.pipeline
            ]
            self._unlike[family] = {
                Path(prompt.protocol.folder): (name, suspicion)
                for prompt, name, suspicion in unlike_siblings(prompts)
            }
        return self._unlike[family].get(folder.resolve())


def _check(folder: Path, reader: _Reader) -> list[Finding]:
    read = reader.read(folder)
    findings = list(read.findings)
    if read.protocol is None:
        return findings
    findings += _accept_findings(folder, read.protocol)
    findings += _endless_findings(folder, read.protocol)
    findings += _nothing_shown_findings(folder, read.protocol)
    prompt = Prompt(read.protocol)
    suspicions = [] if read.protocol.pipeline else list(suspicions_of(prompt))
    findings += _step_findings(folder, read.protocol)
    if unlike := reader.unlike(folder):
        suspicions.append(unlike)
    # Where the prompt contradicts itself, the suspicion says so; an undecided draft needs a decision.
    if not any(name == "direction" for name, _ in suspicions):
        findings += _undecided_findings(folder, read.protocol)
    accepted = {accept.name for accept in read.protocol.accept if accept.reason.strip()}
    findings += [
        _finding(folder, prompt, name, suspicion) for name, suspicion in suspicions if name not in accepted
    ]
    return findings


def _step_findings(folder: Path, protocol: Protocol) -> Iterator[Finding]:
    """What the rules notice in the prompts of steps, each looked at as if it were a protocol of its own."""
    accepted = {accept.name for accept in protocol.accept if accept.reason.strip()}
    for step in protocol.pipeline:
        if not step.prompt:
            continue
        prompt = Prompt(step_protocol(protocol, step))
        for name, suspicion in suspicions_of(prompt):
            if name not in accepted:
                finding = _finding(folder, prompt, name, suspicion)
                is_of_step = Path(finding.file).name == "user.md"
                yield (
                    msgspec.structs.replace(finding, file=str(folder / step.prompt))
                    if is_of_step
                    else finding
                )


def _finding(folder: Path, prompt: Prompt, name: str, suspicion: Suspicion) -> Finding:
    if suspicion.start is None:
        file, line = "protocol.toml", _line_in_settings(folder, suspicion.key)
    else:
        file, line = prompt.place(suspicion.start)
    return Finding(str(folder / file), line, name, suspicion.message, suspicion.todo, "suspicion")


def _endless_findings(folder: Path, protocol: Protocol) -> Iterator[Finding]:
    """A score that a judge writes, on an unbounded scale: any number in a reply would be read as one.

    A likelihood has no ends by nature. The protocol loads all the same, so that a draft can be looked at.
    """
    if protocol.answer.reader == "likelihood":
        return
    for at, (name, scale) in enumerate(protocol.criteria.items()):
        if scale is not None and scale.low is None and scale.high is None:
            message = f"criterion '{name}' has a scale without low and high, so any number in a reply counts as a score."
            todo = "Write both ends as the prompt names them; a count has low = 0 alone."
            line = line_of_steps(_settings_text(folder), ("criteria", at, "scale"))
            yield Finding(str(folder / "protocol.toml"), line, "scale-without-ends", message, todo)


def _nothing_shown_findings(folder: Path, protocol: Protocol) -> Iterator[Finding]:
    """A prompt that shows nothing of the item gives every item the same score."""
    if not shows_item(protocol):
        line = _line_in_settings(folder, "inputs")
        message = "the prompt shows nothing of an item: inputs is empty."
        todo = (
            "Put a placeholder such as {{response}} where the judged text belongs, and its name into inputs."
        )
        yield Finding(str(folder / "protocol.toml"), line, "nothing-shown", message, todo)


def _undecided_findings(folder: Path, protocol: Protocol) -> Iterator[Finding]:
    """An imported draft whose scale has no good end yet: its scores can be neither ranked nor normalised."""
    for at, (name, scale) in enumerate(protocol.criteria.items()):
        if scale is not None and scale.best == "unknown":
            message = f"criterion '{name}' has best = \"unknown\"."
            todo = "Say which end is good, as the prompt means it."
            line = line_of_steps(_settings_text(folder), ("criteria", at, "scale"))
            yield Finding(str(folder / "protocol.toml"), line, "scale-without-best", message, todo)


def _accept_findings(folder: Path, protocol: Protocol) -> Iterator[Finding]:
    """An `[[accept]]` without a reason, or with a name that no rule has, silences nothing.

    One whose suspicion is no longer raised is left alone: a better rule must not break a build.
    """
    file, line = str(folder / "protocol.toml"), _line_in_settings(folder, "accept")
    for accept in protocol.accept:
        if accept.name not in NAMES:
            near = difflib.get_close_matches(accept.name, NAMES, 1)
            todo = f"Did you mean '{near[0]}'?" if near else f"Suspicions: {', '.join(NAMES)}."
            yield Finding(file, line, "unknown-accept", f"there is no suspicion '{accept.name}'.", todo)
        elif not accept.reason.strip():
            message = f"'{accept.name}' is accepted without a reason."
            yield Finding(
                file, line, "accept-without-reason", message, "Say why it is right for this protocol."
            )


def _line_in_settings(folder: Path, key: str) -> int:
    return line_of_key(_settings_text(folder), key)


def _settings_text(folder: Path) -> str:
    """The text of the settings, to find lines in; empty where it can no longer be read."""
    try:
        return read_small(folder / "protocol.toml").decode("utf-8")
    except (OSError, UnicodeDecodeError, BrokenFileError):
        return ""
