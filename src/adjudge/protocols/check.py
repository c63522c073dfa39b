"""`adjudge protocols check`: every problem of protocol folders at once, and the suspicions.

A problem makes a protocol unusable or breaks a promise of its own; a suspicion is a likely
mistake in a prompt, which a person may accept with a reason. Nothing here changes a file, asks
a model, or raises for what a file contains.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..records import Protocol
from .cases import Failure, case_failures, folded
from .findings import Finding, line_of_key, line_of_steps
from .folder import read_folder
from .load import builtin_root, find_folder
from .suspicions import NAMES, Prompt, Suspicion, suspicions_of, unlike_siblings


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
            prompts = [Prompt(protocol) for place in places if (protocol := self.read(place).protocol)]
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
    prompt = Prompt(read.protocol)
    suspicions = list(suspicions_of(prompt))
    if unlike := reader.unlike(folder):
        suspicions.append(unlike)
    accepted = {accept.name for accept in read.protocol.accept if accept.reason.strip()}
    findings += [
        _finding(folder, prompt, name, suspicion) for name, suspicion in suspicions if name not in accepted
    ]
    return findings


def _finding(folder: Path, prompt: Prompt, name: str, suspicion: Suspicion) -> Finding:
    if suspicion.start is None:
        file, line = "protocol.toml", _line_in_settings(folder, suspicion.key)
    else:
        file, line = prompt.place(suspicion.start)
    return Finding(str(folder / file), line, name, suspicion.message, suspicion.todo, "suspicion")


def _endless_findings(folder: Path, protocol: Protocol) -> Iterator[Finding]:
    """A score that a judge writes, on a scale without any end: whatever number a reply holds would be read as one.

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
        return (folder / "protocol.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
