"""What is wrong, or looks wrong, with a protocol: one line each, for a person, an editor or CI.

Settings of a wrong type are put into the words of someone who writes TOML by hand: the key, where it
stands, what may stand there. This file does not know what the settings mean.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Finding(Struct, frozen=True):
    """One problem (the protocol cannot be used) or suspicion (a person should look)."""

    file: str
    line: int
    name: str
    message: str
    todo: str
    kind: Literal["problem", "suspicion"] = "problem"

    def text(self) -> str:
        """The form that editors and compilers share: file:line: kind: message. what to do"""
        return f"{self.file}:{self.line}: {self.kind} [{self.name}] {self.message} {self.todo}"

    def github(self) -> str:
        """The form that GitHub shows beside the line in a pull request."""
        level = "error" if self.kind == "problem" else "warning"
        where = f"file={_property(self.file)},line={self.line},title={_property(self.name)}"
        return f"::{level} {where}::{_data(f'{self.message} {self.todo}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
