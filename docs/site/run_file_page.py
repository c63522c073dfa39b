"""The reference page of the run file, from its JSON schema."""

from __future__ import annotations

from typing import Any

from adjudge.run_file.schema import json_schema

_TITLES = {
    "ModelSettings": ("[models.ALIAS]", "A model with its key, price and parameters, under a short name."),
    "RunSettings": ("[runs.NAME]", "What `adjudge run NAME` does: items, judges, models, options of `run`."),
    "JudgeSettings": ("judge of [runs.NAME]", "A protocol with its rubric, or a criterion."),
}


def run_file_page() -> str:
    """Each table of `adjudge.toml` with its keys."""
    schema = json_schema()
    lines = [
        "# Run file",
        "",
        "The keys of `adjudge.toml`. For editors, `adjudge schema` prints the JSON schema;",
    ]
    lines += ["[The run file](../run-file.md) explains how it is used."]
    for name, (title, text) in _TITLES.items():
        lines += ["", f"## {title}", "", text, *_table(schema["$defs"][name])]
    gate = schema["$defs"]["RunFile"]["properties"]["gate"]
    lines += ["", "## [gate] and [gate.NAME]", "", "Thresholds, as flags of `adjudge gate`.", *_table(gate)]
    return "\n".join(lines) + "\n"


def _table(definition: dict[str, Any]) -> list[str]:
    rows = [
        f"| `{name}` | {_kind(entry)} | {' '.join(entry.get('description', '').split())} |".replace(
            "||", "| |"
        )
        for name, entry in definition["properties"].items()
    ]
    return ["", "| key | value | meaning |", "|---|---|---|", *rows]


def _kind(entry: dict[str, Any]) -> str:
    if "anyOf" in entry:
        return " or ".join(
            dict.fromkeys(_kind(each) for each in entry["anyOf"] if each.get("type") != "null")
        )
    if "enum" in entry:
        return ", ".join(f"`{each}`" for each in entry["enum"])
    if "$ref" in entry:
        return "table"
    kind = entry.get("type", "any")
    names = {"string": "text", "boolean": "true or false", "array": "list", "object": "table"}
    if isinstance(kind, list):
        return " or ".join(names.get(each, each) for each in kind)
    return names.get(kind, kind)
