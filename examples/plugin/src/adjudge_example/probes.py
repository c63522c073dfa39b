"""`--probes emoji`: a probe is a folder with a probe.toml."""

from pathlib import Path

FOLDER = Path(__file__).parent / "emoji"
