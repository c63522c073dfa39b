"""`adjudge protocols check`: every problem of protocol folders at once, and the suspicions.

A problem makes a protocol unusable or contradicts one of its cases; a suspicion is a likely
mistake in a prompt, which a person may accept with a reason. Nothing here changes a file, asks
a model, or raises for what a file contains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..data import BrokenFileError, read_small
from ..did_you_mean import did_you_mean
from ..records import Protocol
from .asked.choices import further_response
from .asked.example_reply import asks_for_nothing, sent_text, unread_example
from .asked.format import asks_for_several, form_in_slot
from .builtins import builtin_root, find_folder
from .cases import Failure, case_failures, family_findings
from .findings import Finding
from .folder import read_folder
from .setting_lines import line_of_key, line_of_steps
from .step_protocols import shows_item, step_protocol
from .suspicions import NAMES, Prompt, Suspicion, suspicions_of, unlike_siblings
from .template_logic import template_logic


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
    return [*findings, *family_findings(failures)]


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
    findings += _logic_findings(folder, read.protocol)
    findings += _format_findings(folder, read.protocol)
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
    """What the rules notice in the prompts of steps, each looked at as if it were a separate protocol."""
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
            message = (
                f"criterion '{name}' has a scale without low and high, so any number in a reply counts as a"
                " score."
            )
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


def _logic_findings(folder: Path, protocol: Protocol) -> Iterator[Finding]:
    """A prompt has no logic here: a loop or a condition would be sent as it stands."""
    if (logic := template_logic(protocol)) is not None:
        file, statement = logic
        message = f"'{statement[:60]}' is template logic, and would be sent to the judge as it stands."
        todo = (
            "Write the text that it stands for, with {{name}} for a field of the item; use two "
            "protocols for two cases."
        )
        line = _line_of_text(folder / file, statement)
        yield Finding(str(folder / file), line, "template-logic", message, todo)


def _format_findings(folder: Path, protocol: Protocol) -> Iterator[Finding]:
    """Settings that cannot read the reply that the prompt asks for, or a draft whose form of reply is not
    known."""
    line = _line_in_settings(folder, "reader")
    file = str(folder / "protocol.toml")
    if protocol.imported and (slot := form_in_slot(protocol.user_text + protocol.system_text)):
        message = (
            f"the form of the reply stands in the placeholder {{{{{slot}}}}}, so the settings cannot know it."
        )
        todo = "Write the form into the prompt in its place, and name its reader under [answer]."
        yield Finding(file, line, "format-unknown", message, todo)
    elif protocol.imported and protocol.task == "compare" and (more := further_response(protocol.inputs)):
        message = f"the prompt shows more than two responses, in '{more}' too, and a protocol compares two."
        todo = 'Show two responses in the prompt, or one of them under task = "score".'
        yield Finding(file, _line_in_settings(folder, "inputs"), "several-responses", message, todo)
    elif (
        protocol.imported
        and len(protocol.criteria) == 1
        and (several := asks_for_several(sent_text(protocol)))
    ):
        message = f"the prompt says '{several}', and one criterion is declared."
        todo = 'Declare every criterion under [[criteria]], and read each by its key: score = "{criterion}".'
        yield Finding(file, line, "several-scores", message, todo)
    elif protocol.imported and protocol.answer.reader == "free" and asks_for_nothing(protocol):
        message = (
            "the prompt does not say in what form the answer is wanted, so any words of a "
            "reply could be read."
        )
        todo = "Say it in user.md, for example as <score>SCORE</score>, and name its reader under [answer]."
        yield Finding(file, line, "format-unknown", message, todo)
    elif protocol.imported and (unread := unread_example(protocol)) is not None:
        reply, why = unread
        message = (
            f"{why}, and a reply such as {reply[:80]!r} is not read by reader '{protocol.answer.reader}'."
        )
        todo = "Set the reader, its settings, the scale or the options to what the prompt asks for."
        yield Finding(file, line, "example-not-read", message, todo)


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
            todo = did_you_mean(accept.name, NAMES, f"Suspicions: {', '.join(NAMES)}.")
            yield Finding(file, line, "unknown-accept", f"there is no suspicion '{accept.name}'.", todo)
        elif not accept.reason.strip():
            message = f"'{accept.name}' is accepted without a reason."
            yield Finding(
                file, line, "accept-without-reason", message, "Say why it is right for this protocol."
            )


def _line_of_text(file: Path, words: str) -> int:
    """The line of a text in which these words stand."""
    try:
        text = read_small(file).decode("utf-8")
    except (OSError, UnicodeDecodeError, BrokenFileError):
        return 1
    return text.count("\n", 0, max(0, text.find(words))) + 1


def _line_in_settings(folder: Path, key: str) -> int:
    return line_of_key(_settings_text(folder), key)


def _settings_text(folder: Path) -> str:
    """The text of the settings, to find lines in; empty where it can no longer be read."""
    try:
        return read_small(folder / "protocol.toml").decode("utf-8")
    except (OSError, UnicodeDecodeError, BrokenFileError):
        return ""
