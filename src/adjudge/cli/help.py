"""The help of commands: options by subject, commands by what they are for, and an example of each.

Every heading and example stands here; what an option means stands with the option.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..run_options.options import declared_options

COMMANDS: dict[str, dict[str, str]] = {
    "Start": {
        "demo": "See five screens without a key.",
        "init": "Write a run file for your data.",
        "run": "Judge items, and report the scores.",
        "report": "Show the scores of a run.",
        "view": "Browse runs, items, prompts and replies.",
    },
    "Trust the judge": {
        "annotate": "Label items in the browser, blind to the scores.",
        "sample": "Draw items to label, as a CSV file.",
        "labels": "Put labels of a file into the store.",
        "trust": "Show agreement with people, and corrected means.",
        "audit": "Measure length, tone and position bias, and injections.",
        "drift": "Say whether the judge changed since a run.",
        "plan": "Say how many items and labels a goal takes.",
    },
    "Decide": {
        "gate": "Compare a run with thresholds or a baseline.",
        "compare": "Compare two runs on the same items.",
        "pair": "Make pairs from the outputs of several systems.",
        "rank": "Rank systems: win rates, strengths, significance.",
    },
    "Better or cheaper judges": {
        "tune": "Choose the prompt or model that agrees best.",
        "calibrate": "Map a judge's scores to human labels.",
        "cascade": "Find where a cheap judge may decide.",
        "protocols": "List, show, check, write and import protocols.",
        "models": "List, download and test judge models.",
    },
    "Data and tools": {
        "runs": "List runs; show replies; rename, delete, merge.",
        "export": "Export a row for each score.",
        "reread": "Parse the stored replies again.",
        "traces": "Turn traces of agents and chats into items.",
        "pull": "Get traces from a platform, or a run from a hub.",
        "push": "Send scores to a platform, or a run to a hub.",
        "serve": "Serve judges over HTTP.",
        "doctor": "Check and repair a store.",
        "plugins": "List plug-ins.",
        "schema": "Print the JSON schema of the run file.",
    },
}
"""The commands by what they are for, in the order of the help, each in a few words."""


_SUBJECTS: dict[str, tuple[str, ...]] = {
    "What is judged": ("items", "protocols", "models"),
    "The audit": ("scores", "probes", "n", "response", "margin", "scale", "labels"),
    "The judge's answer": ("no_reask", "cascade", "check"),
    "Cost, speed and limits": (),
    "The run and its output": (),
}
"""The subjects of the help, with the parameters of `run` and `audit` that are no option of a run: an option
declares its subject."""


EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("adjudge demo --recorded",),
    "init": ("adjudge init answers.csv --yes -m openai:gpt-6-luna",),
    "run": (
        "adjudge run answers.csv --criterion 'Is the answer polite?' -m openai:gpt-6-luna",
        "adjudge run answers.csv -p prometheus/direct --rubric tact.toml -m ollama:NAME",
    ),
    "report": ("adjudge report answers --html report.html",),
    "view": ("adjudge view answers",),
    "annotate": ("adjudge annotate answers -n 30",),
    "sample": ("adjudge sample answers -n 50 -o labels.csv",),
    "labels add": ("adjudge labels add answers labels.csv",),
    "trust": ("adjudge trust answers --labels labels.csv",),
    "audit": ("adjudge audit answers.csv -p direct/helpful -m openai:gpt-6-luna -n 50",),
    "drift": ("adjudge drift answers --refresh",),
    "plan": ("adjudge plan answers --width 0.2",),
    "gate": (
        "adjudge gate answers --min helpfulness=4 --labels store",
        "adjudge gate change --max-drop helpfulness=0.2 --baseline main",
    ),
    "compare": ("adjudge compare prompt-a prompt-b --labels labels.csv",),
    "pair": ("adjudge pair clear.jsonl terse.jsonl -o pairs.jsonl",),
    "rank": ("adjudge rank pairs --next 20 -o more.jsonl",),
    "tune": ("adjudge tune answers --labels labels.csv -o tuned",),
    "calibrate": ("adjudge calibrate answers --labels labels.csv -o map.toml",),
    "cascade": ("adjudge cascade cheap dear --labels labels.csv --agree 0.9 -o cascade.toml",),
    "protocols show": ("adjudge protocols show direct/helpful",),
    "protocols check": ("adjudge protocols check my-protocol",),
    "protocols new": ("adjudge protocols new my-protocol",),
    "protocols import": ("adjudge protocols import prompts.md --to imported",),
    "models test": ("adjudge models test openai:gpt-6-luna",),
    "runs show": ("adjudge runs show answers --failed",),
    "export": ("adjudge export answers -o answers.csv",),
    "traces": ("adjudge traces traces.jsonl -o items.jsonl",),
    "pull": ("adjudge pull mlflow:EXPERIMENT --since 7d -o items.jsonl",),
    "push": ("adjudge push answers mlflow:EXPERIMENT --dry-run",),
    "serve": ("adjudge serve answers --port 8100",),
    "reread": ("adjudge reread answers",),
    "doctor": ("adjudge doctor --store adjudge.db",),
}
"""What a command looks like, by its words after `adjudge`."""


def heading_of(parameter: str) -> str:
    """The subject of an option of `run` or `audit`, by the name of its parameter."""
    options = declared_options()
    if parameter in options:
        return options[parameter].option.subject
    others = "The run and its output"
    return next((subject for subject, names in _SUBJECTS.items() if parameter in names), others)


MOST_IN_ONE_LIST = 25
"""More options than this are shown by subject."""


def by_heading(records: Iterable[tuple[str, tuple[str, str]]]) -> Mapping[str, list[tuple[str, str]]]:
    """The lines of the help by heading: those of a command with few options under one."""
    lines = list(records)
    if len(lines) <= MOST_IN_ONE_LIST:
        return {"Options": [record for _, record in lines]}
    by_subject: dict[str, list[tuple[str, str]]] = {subject: [] for subject in _SUBJECTS}
    for name, record in lines:
        by_subject[heading_of(name)].append(record)
    return {subject: records for subject, records in by_subject.items() if records}


def examples_of(path: str) -> tuple[str, ...]:
    """The examples of a command, by its whole path: `adjudge labels add`."""
    return EXAMPLES.get(path.partition(" ")[2], ())


def write_examples(formatter: Any, path: str) -> None:
    """The examples below the options, each on a line that can be copied."""
    if examples := examples_of(path):
        with formatter.section("Example" if len(examples) == 1 else "Examples"):
            for line in examples:
                formatter.write(f"{' ' * formatter.current_indent}{line}\n")
