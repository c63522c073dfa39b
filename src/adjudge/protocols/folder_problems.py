"""The problems of a protocol folder, each with its file and line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .findings import Finding
from .setting_lines import Steps, line_of_key, line_of_steps
from .setting_mistakes import Mistake


class FolderProblems:
    """Collects what is wrong with a folder, and which of its settings could not be used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.toml_text = ""
        """the text of `protocol.toml`, once it was read"""
        self.findings: list[Finding] = []
        self.broken: set[str] = set()
        """keys whose values could not be used, so that nothing can be said of what depends on them"""

    def add(
        self,
        name: str,
        message: str,
        todo: str,
        file: str = "protocol.toml",
        *,
        key: str | None = None,
        steps: Steps = (),
    ) -> None:
        """Add a problem at a key of the settings, or at the place that `steps` leads to."""
        line = line_of_key(self.toml_text, key) if key else line_of_steps(self.toml_text, steps)
        self.add_at(line, name, message, todo, file)

    def add_at(self, line: int, name: str, message: str, todo: str, file: str) -> None:
        """Add a problem at a line of a file."""
        self.findings.append(Finding(str(self.folder / file), line, name, message, todo))

    def add_mistakes(self, mistakes: Iterable[Mistake]) -> None:
        """Add the mistakes of a value in the settings."""
        for line, message, todo, name in mistakes:
            self.add_at(line, name, message, todo, "protocol.toml")
