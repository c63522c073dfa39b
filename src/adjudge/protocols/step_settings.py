"""What must fit together in `[[steps]]`: a list, checks of its elements, a score of each criterion."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..parse.elements import ELEMENT_RULES
from ..records import Protocol, Step
from ..render import slots_of
from .answer_settings import check_answer
from .folder_problems import FolderProblems
from .setting_lines import Steps
from .step_protocols import checked_criteria, criterion_of


def check_steps(problems: FolderProblems, protocol: Protocol, *, has_answer: bool) -> None:
    """The steps must lead from a list over its checks to a score of every criterion."""
    if "steps" in problems.broken:
        return
    if has_answer:
        message = "[answer] is set beside [[steps]]: each step has its own."
        problems.add("bad-step", message, "Move it to [steps.answer] of the check step.", key="answer")
    if protocol.task != "score":
        message = "a protocol with steps scores one response; task is 'compare'."
        problems.add("bad-step", message, 'Write task = "score".', key="task")
    kinds = [step.kind for step in protocol.pipeline]
    for kind, todo in (
        ("extract", "Add the step that makes the list."),
        ("check", "Add the step that checks each element."),
        ("combine", "Add the step that makes one score of the checks."),
    ):
        if kind not in kinds:
            problems.add("bad-step", f"there is no step of kind '{kind}'.", todo, key="steps")
    if kinds != sorted(kinds, key=("extract", "check", "combine").index):
        message = f"the steps stand in the order {', '.join(kinds)}."
        problems.add("bad-step", message, "Extract comes first, then check, then combine.", key="steps")
    names = [step.name for step in protocol.pipeline]
    for number, step in enumerate(protocol.pipeline):
        where: Steps = ("steps", number)
        if names.index(step.name) != number or not step.name.isidentifier():
            message = (
                f"step '{step.name}' needs a name that no other step has, of letters, digits and underscores."
            )
            problems.add("bad-step", message, "Rename it.", steps=where)
        for message, todo in _step_problems(protocol, step):
            problems.add("bad-step", f"step '{step.name}': {message}", todo, steps=where)
        if step.answer is not None and step.kind == "check" and "criteria" not in problems.broken:
            inner = msgspec.structs.replace(
                protocol,
                answer=step.answer,
                criteria={
                    name: scale
                    for name, scale in protocol.criteria.items()
                    if name in checked_criteria(protocol)
                },
            )
            check_answer(problems, inner, (*where, "answer"))
    scored = [criterion_of(protocol, step) for step in protocol.pipeline if step.kind == "combine"]
    for name in protocol.criteria:
        if scored and scored.count(name) != 1:
            message = f"criterion '{name}' is scored by {scored.count(name)} combine steps."
            problems.add("bad-step", message, "Each criterion needs one.", key="steps")


def _step_problems(protocol: Protocol, step: Step) -> Iterator[tuple[str, str]]:
    if step.kind == "extract":
        yield from _extract_problems(protocol, step)
    elif step.kind == "check":
        yield from _check_problems(protocol, step)
    else:
        yield from _combine_problems(protocol, step)


def _extract_problems(protocol: Protocol, step: Step) -> Iterator[tuple[str, str]]:
    declared = (*protocol.inputs, *protocol.optional)
    if bool(step.prompt) == bool(step.field):
        yield "it needs a prompt or a field, not both.", 'Set prompt = "FILE", or from = "FIELD".'
    if step.field and step.field not in declared:
        yield f"from = '{step.field}' is not in inputs {list(declared)}.", "Name one of the inputs."
    if step.rule not in ELEMENT_RULES:
        yield f"there is no rule '{step.rule}'.", f"The rules are: {', '.join(ELEMENT_RULES)}."
    if step.name in protocol.inputs:
        yield (
            f"its name is that of the input '{step.name}', which every item brings along.",
            "Move the input to optional, or leave the step's prompt out and write from.",
        )
    if step.answer is not None and step.answer.reader != "list":
        yield f"its reader is '{step.answer.reader}'.", 'An extract step reads a list: reader = "list".'


def _check_problems(protocol: Protocol, step: Step) -> Iterator[tuple[str, str]]:
    extracts = [other.name for other in protocol.pipeline if other.kind == "extract"]
    slots = slots_of(step.text)
    if step.elements and step.elements not in extracts:
        yield (
            f"elements = '{step.elements}' is no extract step.",
            f"The extract steps are: {', '.join(extracts)}.",
        )
    if not step.elements and len(extracts) > 1:
        yield "it does not say whose elements it checks.", f"Set elements to one of: {', '.join(extracts)}."
    if not step.prompt:
        yield "it has no prompt.", 'Set prompt = "FILE".'
    elif step.per_call == 1 and "element" not in slots:
        yield "its prompt does not show the element.", "Add {{element}} on a separate line."
    elif step.per_call != 1 and "elements" not in slots:
        yield "its prompt does not show the elements.", "Add {{elements}} on a separate line."
    if step.per_call < 0:
        yield f"per_call = {step.per_call}.", 'Give a number of elements, or "all".'
    if step.answer is None:
        yield "it does not say how its reply is read.", "Add [steps.answer]."
    elif step.answer.reader in ("list", "likelihood"):
        yield f"its reader is '{step.answer.reader}'.", "A check needs a score or an option."
    elif step.per_call != 1 and b"{number}" not in msgspec.json.encode(step.answer):
        todo = 'Write {number} into the paths or labels: score = "{number}.verdict".'
        yield "it checks several elements in one call, but reads one answer.", todo


def _combine_problems(protocol: Protocol, step: Step) -> Iterator[tuple[str, str]]:
    for key, name in (("criterion", step.criterion), ("of", step.of)):
        if name and name not in protocol.criteria:
            yield f"{key} = '{name}' is no criterion.", f"The criteria are: {', '.join(protocol.criteria)}."
            return
    if not step.criterion and len(protocol.criteria) > 1:
        yield "it does not say which criterion it scores.", "Set criterion."
    if not protocol.criteria:
        return
    scale = protocol.criteria[criterion_of(protocol, step)]
    if scale is None or scale.limits is None or scale.direction == 0:
        yield "its criterion needs a scale with both ends and a best one.", "Set low, high and best."
    elif step.how in ("share", "precision") and scale.limits != (0, 1):
        todo = 'Use scale = { low = 0, high = 1, best = 1 }, or how = "mean".'
        yield f"how = '{step.how}' is a share, but the scale is {scale.low:g} to {scale.high:g}.", todo
    if step.prompt or step.answer is not None:
        yield "it asks nothing, so it needs neither a prompt nor an answer.", "Remove them."
