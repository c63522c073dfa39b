"""`adjudge schema`: the JSON schema of the run file."""

from __future__ import annotations

from .terminal import print_json


def schema_command() -> None:
    """The JSON schema of the run file, for editors."""
    from ..run_file.schema import json_schema

    print_json(json_schema())
