"""`adjudge serve` in a process of its own, for tests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from running import EXAMPLES


class Served:
    """A server in a process of its own."""

    def __init__(self, folder: Path, *flags: str, run_file: str, **environment: str) -> None:
        if not (folder / "tact.toml").exists():
            shutil.copy(EXAMPLES / "tact.toml", folder)
        (folder / "adjudge.toml").write_text(run_file, encoding="utf-8")
        words = [sys.executable, "-c", "from adjudge.cli import main; main()", "serve", *flags]
        known = {**os.environ, "ADJUDGE_SERVE_TOKEN": "secret", "PYTHONUNBUFFERED": "1", **environment}
        self.process = subprocess.Popen(words, cwd=folder, env=known, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split(" at ")[1].strip().removesuffix("/v1")
        self.tokens: dict[str, str] = {}
        """of the clients"""
        for line in self.process.stdout:
            if line.startswith("Press"):
                break
            name, _, token = line.strip().partition("  ")
            self.tokens[name] = token

    def post(self, path: str, body: object, token: str = "secret") -> tuple[int, Any]:
        headers = {
            "content-type": "application/json",
            **({"authorization": f"Bearer {token}"} if token else {}),
        }
        request = urllib.request.Request(f"{self.url}{path}", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def metrics(self) -> tuple[str, list[str]]:
        """The type and the lines of /metrics."""
        request = urllib.request.Request(f"{self.url}/metrics", headers={"authorization": "Bearer secret"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.headers["content-type"], answer.read().decode().removesuffix("\n").split("\n")

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.communicate(timeout=30)
