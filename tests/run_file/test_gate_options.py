"""An option of a gate is declared once, in `run_file/gate_options.py`; flags, keys, the schema and the rules
follow from it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from adjudge.analysis.gate.rules import Rules, make_rules
from adjudge.cli.app import app
from adjudge.run_file.gate_options import GATE_OPTIONS
from adjudge.run_file.read import read_run_file
from adjudge.run_file.schema import json_schema
from adjudge.run_options.options import flag_of

WRITTEN = {
    "thresholds": ('{ clarity = "50%", tact = 4 }', ["clarity=50%", "tact=4"]),
    "threshold": ("0.1", "10%"),
    "allowed": ('"7%"', "7%"),
    "text": ('"main"', "main"),
    "file": ('"store"', "store"),
    "names": ('"a"', ["a"]),
}
"""for each kind: how a run file has it, and the flag"""


@pytest.mark.parametrize("name", GATE_OPTIONS)
def test_an_option_is_a_flag_a_key_and_a_rule(name: str, tmp_path: Path) -> None:
    option = GATE_OPTIONS[name]
    command = get_command(app).commands["gate"]  # type: ignore[attr-defined]
    (flag,) = (parameter for parameter in command.params if flag_of(name) in parameter.opts)
    assert (flag.help, flag.metavar) == (option.help, option.metavar)
    gate = json_schema()["$defs"]["RunFile"]["properties"]["gate"]
    assert gate["properties"][name]["description"] == option.help

    in_file, as_flag = WRITTEN[option.kind]
    is_audit = name in ("max_shift", "max_injection")
    more = {} if is_audit or name in ("min", "max", "max_drop") else {"max": ["tact=5"]}
    if name == "max_drop":
        more["baseline"] = "main"
    file = tmp_path / "adjudge.toml"
    file.write_text(f"[gate]\n{name} = {in_file}\n", encoding="utf-8")
    by_file = make_rules(read_run_file(file, for_gate=True), is_audit=is_audit, **more)
    by_flag = make_rules(None, is_audit=is_audit, **more, **{name: as_flag})
    assert getattr(by_file, name) == getattr(by_flag, name) != getattr(Rules(), name)


def test_rules_have_no_other_thresholds() -> None:
    assert set(Rules.__struct_fields__) == {*GATE_OPTIONS, "is_failed_given", "is_audit"}
