"""What must fit together around the inputs: the settings that name them, and the slots that show them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..did_you_mean import nearest
from ..records import Protocol
from ..render import ELEMENT_SLOTS, PROTOCOL_SLOTS, USER_SLOTS, slots_of, targets_of
from .folder_problems import FolderProblems
from .setting_lines import line_number

LEAST_TRANSCRIPT_TOKENS = 100
_QUOTED = {"response", "response_a", "response_b"}
"""Inputs in which quoted evidence is looked for."""
_LEVEL = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,6})?")


def check_input_settings(problems: FolderProblems, protocol: Protocol) -> None:
    """Settings that name inputs name inputs that are declared."""
    answer, declared = protocol.answer, {*protocol.inputs, *protocol.optional}
    targets = targets_of(protocol)
    for name in targets:
        if name not in protocol.inputs:
            message = f"target '{name}' is not in inputs {list(protocol.inputs)}."
            problems.add("bad-answer", message, "Name one of the inputs.", steps=("answer", "target"))
    if len(targets) > 2 or len(set(targets)) < len(targets):
        message = f"target '{answer.target}' names {len(targets)} inputs."
        todo = "Name one, or two different ones that are each asked given the other."
        problems.add("bad-answer", message, todo, steps=("answer", "target"))
    for name in (*answer.evidence_in, *protocol.numbered):
        if name not in declared:
            message = (
                f"'{name}' is in {'numbered' if name in protocol.numbered else 'evidence_in'}, but is no"
                " input."
            )
            problems.add("bad-value", message, "Name one of the inputs.", key="inputs")
    if answer.evidence is not None and not answer.evidence_in and not declared & _QUOTED:
        message = (
            "evidence is looked for in the input 'response' (or response_a, response_b), and there is none."
        )
        todo = "Give the judged text that name, or take evidence out of [answer]."
        problems.add("evidence-unchecked", message, todo, steps=("answer", "evidence"))
    for name in protocol.at_least_one:
        if name not in protocol.optional:
            message = f"at_least_one names '{name}', which is not in optional."
            problems.add("bad-value", message, "Add it to optional.", key="at_least_one")
    for name in protocol.transcripts:
        if name not in declared:
            message = f"transcripts names '{name}', which is not in inputs or optional."
            problems.add("bad-value", message, "Correct the name.", key="transcripts")
    if protocol.transcript_tokens < LEAST_TRANSCRIPT_TOKENS:
        message = f"transcript_tokens = {protocol.transcript_tokens} leaves nothing of a conversation."
        todo = f"Give at least {LEAST_TRANSCRIPT_TOKENS}."
        problems.add("bad-value", message, todo, key="transcript_tokens")
    _check_rule(problems, protocol, declared)
    for name in sorted({*protocol.inputs} & {*protocol.optional}):
        message = f"'{name}' is in both inputs and optional."
        problems.add("bad-value", message, "Keep it in one of them.", key="optional")
    reserved = PROTOCOL_SLOTS | USER_SLOTS | (ELEMENT_SLOTS if protocol.pipeline else frozenset())
    for name in sorted(declared & reserved):
        message = f"'{name}' cannot be an input: this slot name is reserved."
        problems.add("reserved-name", message, "Give the input another name.", key="inputs")


def _check_rule(problems: FolderProblems, protocol: Protocol, declared: set[str]) -> None:
    """A rule compares a response with a reference, and answers with the name of an end of the only
    scale."""
    if protocol.rule is None:
        return
    scales = list(protocol.criteria.values())
    is_named = len(scales) == 1 and scales[0] is not None and len(scales[0].names) == len(scales[0].values())
    if not {"response", "reference"} <= declared or not is_named or protocol.answer.reader == "json":
        message = "rule needs the inputs response and reference, and one scale with a name for each value."
        problems.add("bad-value", message, "Add them, or take rule out.", key="rule")


def check_slots(problems: FolderProblems, protocol: Protocol, answer: object) -> None:
    """Each slot is an input, and each input has a slot. `answer` is `[answer]` as it stands: a mistake
    elsewhere in it does not make the target unused.
    """
    known = {*protocol.inputs, *protocol.optional, "low", "high", *protocol.takes}
    if protocol.example_words is not None:
        known.add("examples")
    shown = {step.field for step in protocol.pipeline}
    checks = {step.prompt for step in protocol.pipeline if step.kind == "check"}
    for file, text in _prompts(protocol):
        names = known | ELEMENT_SLOTS if file in checks else known
        for slot in dict.fromkeys(slots_of(text)):
            name = protocol.alias.get(slot, slot)
            shown.add(name)
            is_part = slot in protocol.alias and _is_part(protocol, name)
            is_system = name == "system_message" and file == "user.md" and bool(protocol.system_text)
            if name not in names and not is_part and not is_system:
                where = line_number(text, text.index("{{" + slot + "}}"))
                _unknown_slot(problems, file, where, slot, sorted(names - {"low", "high"}))
        shown |= _spaced_slots(problems, file, text, names)
    target = answer.get("target") if isinstance(answer, dict) else None
    targets = [name.strip() for name in target.split(",")] if isinstance(target, str) else []
    for name in (*protocol.inputs, *protocol.optional, *protocol.takes):
        if name not in shown and name not in targets and not _is_in_single_braces(problems, protocol, name):
            message = f"'{name}' is declared, but no slot {{{{{name}}}}} shows it to the judge."
            problems.add("unused-input", message, "Show it in user.md, or take it out.", key="inputs")
    if protocol.example_words is not None and "examples" not in shown:
        message = "[examples] is declared, but no slot {{examples}} shows them."
        problems.add("unused-input", message, "Add {{examples}} on a separate line.", key="examples")


def _prompts(protocol: Protocol) -> list[tuple[str, str]]:
    """The files that are sent, each with its text."""
    steps = [(step.prompt, step.text) for step in protocol.pipeline if step.prompt]
    return [*(steps or [("user.md", protocol.user_text)]), ("system.md", protocol.system_text)]


def _unknown_slot(problems: FolderProblems, file: str, line: int, slot: str, known: Sequence[str]) -> None:
    near = nearest(slot, known)
    todo = f"Did you mean {{{{{near}}}}}?" if near else "Fix the name or add it."
    message = f"placeholder {{{{{slot}}}}} is not in inputs {list(known)}."
    problems.add_at(line, "unknown-placeholder", message, todo, file)


def _spaced_slots(problems: FolderProblems, file: str, text: str, known: set[str]) -> set[str]:
    """The names in `{{ name }}`: with spaces it is text, not a slot, and surely a slip where the name is
    known."""
    slots = set()
    for name in known:
        for slip in (f"{{{{ {name} }}}}", f"{{{{{name} }}}}", f"{{{{ {name}}}}}"):
            if slip in text:
                message = f"'{slip}' is sent as it stands: a placeholder has no spaces inside."
                problems.add_at(
                    line_number(text, text.index(slip)),
                    "spaced-placeholder",
                    message,
                    f"Write {{{{{name}}}}}.",
                    file,
                )
                slots.add(name)
    return slots


def _is_in_single_braces(problems: FolderProblems, protocol: Protocol, name: str) -> bool:
    """Whether an input that no slot shows stands in single braces, which are text; then that is the
    problem."""
    written = [name, *(slot for slot, field in protocol.alias.items() if field == name)]
    names = "|".join(map(re.escape, written))
    for file, text in _prompts(protocol):
        if match := re.search(rf"(?<!\{{)\{{[ \t]*({names})[ \t]*\}}(?!\}})", text):
            message = f"'{match[0]}' is sent as it stands: a placeholder has double braces."
            problems.add_at(
                line_number(text, match.start()), "single-braces", message, f"Write {{{{{match[1]}}}}}.", file
            )
            return True
    return False


def _is_part(protocol: Protocol, name: str) -> bool:
    """Whether a slot stands for a part of the rubric, a criterion or a level, or for a part of the one
    example."""
    whole, _, part = name.partition(".")
    if whole == "rubric":
        return part == "criterion" or _LEVEL.fullmatch(part) is not None
    return whole == "example" and part in ("judgment", *protocol.inputs)
